"""The page about a study, from data that are made up, as a browser sees it."""

import json
import re
from itertools import pairwise

import numpy as np
import pytest
from browser import browse, needs_chromium, on_a_phone

from etairl.figures.page import study_page
from etairl.figures.page.extras import with_extras

# As two studies that are not finished might have left them: in no order at all.
CELLS = [
    ("Hopper-v5", "default", "poisson:100", 0.2),
    ("Hopper-v5", "default", "geometric:1", 0.12),
    ("Hopper-v5", "gamma_rl=0.999", "geometric:0", 0.25),
    ("Hopper-v5", "default", "geometric:0.99", 0.15),
    ("Hopper-v5", "default", "poisson:1", 0.16),
    ("Hopper-v5", "default", "geometric:0", 0.2),
    ("Hopper-v5", "gamma_rl=0.9", "geometric:0", 0.3),
    ("Hopper-v5", "bare", "geometric:1", 0.05),
]


def mean(value: float) -> dict:
    return {"value": value, "low": 0.8 * value, "high": 1.2 * value}


def paired(other: float, ours: float) -> dict:
    change = {"value": ours / other - 1, "low": -0.5, "high": 0.1, "note": None}
    difference = {"value": ours - other, "low": None, "high": None}
    return {"other": other, "ours": ours, "difference": difference, "relative": change, "p_t": 0.02}


@pytest.fixture
def data() -> dict:
    settings, rows, curves = [], [], {}
    for env, arm, eta, value in CELLS:
        gail = eta == "geometric:0"
        entry = {"env": env, "arm": arm, "eta": eta, "seeds": [0, 1]}
        entry |= {"baseline": None if gail else "geometric:0"}
        for metric, factor in (("mmd2_mu", 1.0), ("mmd2_rho", 0.8), ("score", 3.0)):
            both = mean(factor * value)
            versus = None if gail else paired(factor * 0.2, factor * value)
            entry[metric] = {"mean": both, "iqm": both, "against_baseline": versus}
        settings.append(entry)
        for seed in (0, 1):
            run = f"{eta}-{arm}-{seed}"
            row = {"run": run, "env": env, "arm": arm, "eta": eta, "seed": seed}
            gamma = float(arm.partition("=")[2] or 0.99) if "=" in arm else 0.99
            row |= {"gamma_rl": gamma, "cycles": 222 + 300 * seed, "transitions": 1000}
            row |= {"mmd2_mu": value, "mmd2_rho": 0.8 * value, "score": 3 * value, "return": 1.0}
            rows.append(row | {"mmd2_mu_floor": 0.01, "mmd2_rho_floor": 0.01, "diagnostics": ""})
            points = [[500, 2 * value], [1000, value]]
            curves[run] = {"mmd2_mu": points, "mmd2_rho": points, "return": points}
    prediction = {"env": "Hopper-v5", "arm": "default", "eta": "geometric:0.99", "small": False}
    prediction |= {"tv": 0.2, "tv_at_length": 0.3, "length": 400}
    prediction |= {"changes": {"mmd2_mu": paired(0.2, 0.15)}}
    return {
        "name": "mine",
        "scale": "quick",
        "versions": {},
        "counts": {"finished": len(rows)},
        "failures": [],
        "rows": rows,
        "settings": settings,
        "across": {},
        "findings": [],
        "predictions": [prediction],
        "trends": [],
        "curves": curves,
        "differences": {
            "names": ["eta", "cost_updates"],
            "rows": [{"cell": list(c[:3]), "values": [c[2], 50]} for c in CELLS],
            "common": {"solver_updates": 500, "cost_every": 2},
        },
        "diagnostics": [],
    }


def test_order_levels_and_efforts(data):
    found = with_extras(data)
    assert list(found["weightings"]) == [
        "geometric:0",
        "geometric:0.99",
        "geometric:1",
        "poisson:1",
        "poisson:100",
    ]
    default = [e["eta"] for e in found["settings"] if e["arm"] == "default"]
    assert default == list(found["weightings"])
    # 222 cycles have 111 rounds of cost updates, one every second cycle; 522 have 261.
    effort = {"cycles": [222, 522], "cost": [5550, 13050], "policy": [111_000, 261_000]}
    assert all(e["effort"] == effort for e in found["settings"])
    assert found["floors"] == {"Hopper-v5": {"mmd2_rho": 0.01, "mmd2_mu": 0.01}}
    (discounts,) = found["discounts"]
    assert [g["gamma"] for g in discounts["gail"]] == [0.9, 0.99, 0.999]
    # The bare arm has other players: it is not the best MEGAN of this comparison.
    assert discounts["megan"] == {"arm": "default", "eta": "geometric:1"}


def test_a_report_that_does_not_say_how_many_updates(data):
    data["differences"] = {"names": [], "rows": [], "common": {}}
    effort = with_extras(data)["settings"][0]["effort"]
    assert effort == {"cycles": [222, 522], "cost": None, "policy": None}


LOOK = r"""<script>
const texts = (at, selector) => [...at.querySelectorAll(selector)].map((x) => x.textContent);
const table = (id) => texts(document.getElementById(id), "tr").map((_, i) =>
  [...document.getElementById(id).rows[i].cells].map((c) => c.textContent));
const first = document.querySelector("#panels figure");
const boxes = [...first.querySelectorAll(".tick")].map((x) => x.getBoundingClientRect());
const turned = [...first.querySelectorAll(".tick")].filter((x) => x.hasAttribute("transform"));
const at = document.querySelectorAll("#panels .hit")[1], b = at.getBoundingClientRect();
at.dispatchEvent(new PointerEvent("pointermove", { clientX: b.left + 2, clientY: b.top + 2 }));
const tip = document.getElementById("tip"), box = tip.getBoundingClientRect();
const tipBox = [box.left, box.right, tip.scrollWidth - tip.clientWidth], told = tip.textContent;
const touch = (node, kind) => node.dispatchEvent(new PointerEvent(kind,
  { bubbles: true, pointerType: "touch", clientX: b.left + 2, clientY: b.top + 2 }));
// Shown or not: after a tap, with the finger gone, after a tap elsewhere, after a scroll.
const taps = [...document.querySelectorAll("#panels .hit"), document.querySelector("#curves .hit")]
  .slice(-2).map((hit) => {
    tip.hidden = true;
    touch(hit, "pointerdown"); const down = !tip.hidden;
    touch(hit, "pointerup"); touch(hit, "pointerleave"); const gone = !tip.hidden;
    touch(document.querySelector("h1"), "pointerdown"); const elsewhere = !tip.hidden;
    touch(hit, "pointerdown"); touch(hit, "pointercancel");
    return [down, gone, elsewhere, !tip.hidden];
  });
const colours = (selector) => [...document.querySelectorAll(selector)].map((x) =>
  [x.matches("circle") ? getComputedStyle(x).fill : getComputedStyle(x).stroke,
    getComputedStyle(x.closest("figure")).backgroundColor, getComputedStyle(x).opacity]);
const key = (x) => [getComputedStyle(x).stroke, x.getAttribute("stroke-dasharray")].join();
const seen = {
  innerWidth, taps, tipBox,
  inks: colours(".curve, .line, .level, figure circle:not(.run)"),
  keys: [...document.querySelectorAll("#curve-legend line")].map(key),
  drawn: [...document.querySelectorAll(".curve")].map(key),
  sentence: document.getElementById("prediction-sentence").textContent,
  widths: Object.fromEntries([...document.querySelectorAll("table")].map((x) =>
    [x.id, x.scrollWidth])),
  broken: [...document.querySelectorAll("td")].filter((x) => /^[\d.,]+ \[/.test(x.textContent)
    && getComputedStyle(x).whiteSpace !== "nowrap").length,
  turned: turned.length, overlaps: boxes.filter((x, i) => i && x.left < boxes[i - 1].right).length,
  ticks: texts(first, ".tick"), lines: [...first.querySelectorAll(".line")].map((x) =>
    x.getAttribute("d").match(/[ML]/g).length), floors: first.querySelectorAll(".floor").length,
  runs: first.querySelectorAll(".run").length, tip: told,
  discounts: texts(document, "#discounts figcaption"),
  gammas: texts(document.querySelector("#discounts figure"), ".tick"),
  bands: document.querySelectorAll("#discounts .band").length,
  arms: texts(document.querySelector("#arms figure"), "text"),
  results: table("result-table"), prediction: table("prediction-table"),
  trends: table("trend-table"), noTrends: document.getElementById("trends").hidden,
  runHead: texts(document, "#run-table th"), legend: texts(document, "#curve-legend span"),
  wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
};
const left = document.createElement("pre");
left.id = "seen"; left.textContent = JSON.stringify(seen); document.body.append(left);
</script>"""


def look(data, tmp_path, *options: str) -> dict:
    page = tmp_path / "page.html"
    page.write_text(study_page(data).replace("</body>", LOOK + "</body>"))
    elements, console = browse(on_a_phone(page), tmp_path, "--dump-dom", *options)
    assert console == ""
    inner = re.search(r'<pre id="seen">(.*?)</pre>', elements, re.DOTALL)
    assert inner is not None, elements[-2000:]
    seen = json.loads(inner[1].replace("&gt;", ">").replace("&lt;", "<").replace("&amp;", "&"))
    assert seen["innerWidth"] == 390
    return seen


@needs_chromium
def test_charts_and_tables(data, tmp_path):
    seen = look(data, tmp_path)
    assert seen["ticks"] == ["κ=0", "κ=0.99", "κ=1", "λ=1", "λ=100"]
    assert (seen["turned"], seen["overlaps"]) == (0, 0)
    assert seen["lines"] == [3, 2]  # κ and λ are never joined
    assert (seen["floors"], seen["runs"]) == (1, 10)
    assert "beside κ=0, default: 0.16 → 0.12: −25.0 % [−50.0 %, +10.0 %]" in seen["tip"]
    assert "222 to 522 cycles" in seen["tip"]
    assert len(seen["discounts"]) == seen["bands"] == 3
    assert all("best MEGAN (κ=1, the lowest of 4)" in text for text in seen["discounts"])
    assert seen["gammas"] == ["0.9", "0.99", "0.999"]
    assert {"gamma_rl=0.9, κ=0", "gamma_rl=0.999, κ=0", "bare, κ=1"} <= set(seen["arms"])
    head, *rows = seen["results"]
    assert len(rows) == len(CELLS)
    named = dict(zip(head, rows[1], strict=False))
    assert named["weighting"] == "κ=0.99"
    assert named["cycles"] == "222 to 522"
    assert named["discriminator updates"] == "5,550 to 13,050"
    assert named["policy updates"] == "111,000 to 261,000"
    assert named["MMD² of μ, 95 %"] == "0.15 [0.12, 0.18]"
    assert named["beside"] == "κ=0, default"
    assert named["MMD² of μ, change"] == "0.2 → 0.15: −25.0 % [−50.0 %, +10.0 %]"
    assert seen["legend"] == ["κ=0", "κ=0.99", "κ=1", "λ=1", "λ=100"]
    assert seen["wide"] == 0
    assert seen["noTrends"]


@needs_chromium
def test_lines_through_all_settings(data, tmp_path):
    change = {"value": -0.4, "low": -0.6, "high": 0.1, "note": None}
    line = {"env": "Hopper-v5", "arm": "default", "to": "geometric:1", "settings": 7, "runs": 21}
    line |= {"metric": "mmd2_mu", "start": 0.2, "end": 0.12, "change": mean(-0.08)}
    line |= {"relative": change, "p": 0.031, "power": 0.62}
    none = {"value": None, "low": None, "high": None, "note": "at its floor"}
    wide = {"value": -0.4, "low": None, "high": None, "note": "no bounds"}
    data["trends"] = [line, line | {"metric": "shortfall", "relative": none, "power": None}]
    data["trends"].append(line | {"metric": "mmd2_rho", "relative": wide})
    seen = look(data, tmp_path)
    assert not seen["noTrends"]
    head, first, second, third = seen["trends"]
    named = dict(zip(head, first, strict=True))
    assert named["change, as a share"] == "−40.0 % [−60.0 %, +10.0 %]"
    assert named["at the farthest"] == "κ=1: 0.12"
    assert (named["p"], named["power for 25 %"]) == ("0.031", "62.0 %")
    assert third[4] == "−40.0 % (no bounds)"
    assert second[4] == "it begins at the floor"
    assert seen["wide"] == 0


@needs_chromium
def test_what_newer_reports_know_is_shown(data, tmp_path):
    """A baseline in another arm, no share at the floor, the default arm, tasks solved, verdicts."""
    for entry in data["settings"]:
        entry["success"] = {"mean": mean(0.5), "iqm": mean(0.5)}
        if entry["baseline"] is not None:
            entry["baseline_arm"] = "gamma_rl=0.9"
    for row in data["rows"]:
        row["success"] = 0.5
    none = paired(0.2, 0.05) | {
        "relative": {"value": None, "low": None, "high": None, "note": "at the floor"}
    }
    bare = next(e for e in data["settings"] if e["arm"] == "bare")
    bare["mmd2_mu"] |= {"against_baseline": none, "against_default": paired(0.12, 0.05)}
    data["predictions"][0] |= {"verdict": "undecided", "note": "too few seeds"}
    seen = look(data, tmp_path)
    head, *rows = seen["results"]
    row = next(r for r in rows if r[1] == "bare")
    named = dict(zip(head, row, strict=True))
    assert named["beside"] == "κ=0, gamma_rl=0.9"
    assert named["MMD² of μ, change"] == "0.2 → 0.05: no share (at the floor)"
    assert named["MMD² of μ, change from the base arm"].startswith("0.12 → 0.05: −58.3 %")
    assert named["share of tasks solved, 95 %"] == "0.5 [0.4, 0.6]"
    assert "solved" in seen["runHead"]
    head, row = seen["prediction"]
    assert (head[3], row[3]) == ("verdict", "undecided")
    assert (head[-1], row[-1]) == ("note", "too few seeds")


@needs_chromium
def test_many_weightings_are_turned(data, tmp_path):
    start = next(e for e in data["settings"] if e["eta"] == "poisson:1")
    more = [start | {"eta": f"geometric:{k}"} for k in (0.25, 0.5, 0.75, 0.9)]
    more += [start | {"eta": f"poisson:{rate}"} for rate in (5, 10, 25, 40)]
    rows = [data["rows"][0] | {"eta": e["eta"], "run": e["eta"]} for e in more]
    data["settings"] += more
    data["rows"] += rows
    data["curves"] |= {row["run"]: next(iter(data["curves"].values())) for row in rows}
    seen = look(data, tmp_path)
    assert seen["ticks"] == [
        *(f"κ={k}" for k in (0, 0.25, 0.5, 0.75, 0.9, 0.99, 1)),
        *(f"λ={rate}" for rate in (1, 5, 10, 25, 40, 100)),
    ]
    assert (seen["turned"], seen["lines"]) == (13, [7, 6])


FLOOR = {"note": "the base is at or below its floor: there is no share to speak of"}
UNBOUNDED = {"note": "the base is not clearly above 0: the share has no bounds"}


@needs_chromium
def test_the_prediction_counts_every_small_setting(data, tmp_path):
    def small(value: float | None, low: float | None, high: float | None, **more) -> dict:
        relative = {"value": value, "low": low, "high": high, "note": None} | more
        change = paired(0.2, 0.15) | {"relative": relative}
        found = {"env": "Hopper-v5", "arm": "default", "eta": "geometric:0.75", "small": True}
        found |= {"tv": 0.006, "tv_at_length": 0.02, "length": 150, "note": "at the floor. " * 30}
        return found | {"changes": {"mmd2_mu": change}}

    none = small(None, None, None, **FLOOR)
    wide = small(-0.25, None, None, **UNBOUNDED)
    data["predictions"] = 2 * [none]
    seen = look(data, tmp_path)
    assert "Of 2 settings with κ up to 0.75, 2 have κ = 0 at its floor." in seen["sentence"]
    assert "at most 0.6 % other frames in whole episodes" in seen["sentence"]
    assert "2.0 % in episodes as long as those of the last cycles" in seen["sentence"]

    # A change of 1 to 3 % may be of the 2 % of frames; one of 3 to 9 % is of more.
    data["predictions"] += [small(0.02, 0.01, 0.03), small(0.06, 0.03, 0.09), wide]
    data["predictions"].append(none | {"changes": {"mmd2_mu": None}})
    seen = look(data, tmp_path)
    said = seen["sentence"]
    assert "Of 6 settings with κ up to 0.75, 2 have an interval of the change in MMD² of μ" in said
    assert "(1 of them differs by more than predicted, about 0.1 would by chance)" in said
    assert "1 has no bounds, 2 have κ = 0 at its floor, 1 has no seed in common with κ" in said
    assert "The mean of MMD² of μ differs from that of κ = 0 by up to 25.0 %." in said
    # Notes are wrapped; the page does not scroll sideways.
    assert seen["widths"]["prediction-table"] < 1600
    assert seen["wide"] == 0

    data["predictions"] = []
    assert look(data, tmp_path)["sentence"] == (
        "The finished runs have no κ up to 0.75 beside κ = 0."
    )


@needs_chromium
def test_a_phone_has_tips_and_tables_that_fit(data, tmp_path):
    for entry in data["settings"]:
        entry["env"] = "A-task-with-a-name-that-has-more-letters-than-others-v5"
    for row in data["rows"]:
        row["env"] = data["settings"][0]["env"]
    for entry in data["settings"]:
        for metric in ("mmd2_mu", "mmd2_rho", "score"):
            if entry["baseline"] is not None:
                none = {"value": None, "low": None, "high": None} | FLOOR
                versus = entry[metric]["against_baseline"] | {"relative": none}
                entry[metric] |= {"against_baseline": versus, "against_default": versus}
    seen = look(data, tmp_path)
    left, right, hidden = seen["tipBox"]
    assert left >= 0
    assert right <= 390
    assert hidden <= 0
    # A tap shows it, and it stays until a tap elsewhere or a scroll.
    assert seen["taps"] == 2 * [[True, True, False, False]]
    # Six columns with reasons, each of two lines or three; means with intervals are never broken.
    assert seen["widths"]["result-table"] < 3000
    assert seen["broken"] == 0
    assert seen["wide"] == 0


def luminance(colour: str) -> float:
    """Relative luminance of WCAG 2."""
    parts = np.array([int(x) for x in re.findall(r"\d+", colour)[:3]]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


@needs_chromium
@pytest.mark.parametrize("scheme", ["0", "1"], ids=["dark", "light"])
def test_curves_stand_out_and_differ_by_more_than_hue(data, tmp_path, scheme):
    seen = look(data, tmp_path, f"--blink-settings=preferredColorScheme={scheme}")
    for ink, ground, opacity in seen["inks"]:
        low, high = sorted((luminance(ink), luminance(ground)))
        assert opacity == "1"
        assert (high + 0.05) / (low + 0.05) >= 3, (ink, ground)
    # Five weightings, in a legend as in the chart, and neighbours with unlike dashes.
    assert len(seen["keys"]) == len(set(seen["keys"])) == 5
    assert set(seen["drawn"]) == set(seen["keys"])
    dashes = [key.rpartition(")")[2] for key in seen["keys"]]
    assert all(a != b for a, b in pairwise(dashes))


@needs_chromium
def test_a_run_that_was_measured_once_is_a_dot(data, tmp_path):
    data["rows"], data["settings"] = data["rows"][:1], data["settings"][:1]
    data["curves"] = {data["rows"][0]["run"]: {"mmd2_mu": [[1000, 0.2]], "mmd2_rho": []}}
    page = tmp_path / "page.html"
    page.write_text(study_page(data))
    seen, said = browse(page, tmp_path, "--dump-dom")
    assert not said
    chart = seen[seen.index('id="curve-chart"') : seen.index('id="curve-legend"')]
    assert re.search(r'd="M[\d.]+ [\d.]+h0"[^>]*data-alone', chart)
    levels = re.findall(r'text-anchor="end">([\d.]+)<', chart)
    assert len(levels) >= 3  # the axis of the values has a range
