"""The page about a study, from data that are made up, as a browser sees it."""

import json
import re

import pytest
from browser import browse, needs_chromium

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
        for metric, factor in (("mmd2_mu", 1.0), ("mmd2_rho", 0.8), ("cost", 3.0)):
            both = mean(factor * value)
            versus = None if gail else paired(factor * 0.2, factor * value)
            entry[metric] = {"mean": both, "iqm": both, "against_baseline": versus}
        settings.append(entry)
        for seed in (0, 1):
            run = f"{eta}-{arm}-{seed}"
            row = {"run": run, "env": env, "arm": arm, "eta": eta, "seed": seed}
            gamma = float(arm.partition("=")[2] or 0.99) if "=" in arm else 0.99
            row |= {"gamma_rl": gamma, "cycles": 222 + 300 * seed, "transitions": 1000}
            row |= {"mmd2_mu": value, "mmd2_rho": 0.8 * value, "cost": 3 * value, "return": 1.0}
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


LOOK = """<script>
const texts = (at, selector) => [...at.querySelectorAll(selector)].map((x) => x.textContent);
const table = (id) => texts(document.getElementById(id), "tr").map((_, i) =>
  [...document.getElementById(id).rows[i].cells].map((c) => c.textContent));
const first = document.querySelector("#panels figure");
const boxes = [...first.querySelectorAll(".tick")].map((x) => x.getBoundingClientRect());
const turned = [...first.querySelectorAll(".tick")].filter((x) => x.hasAttribute("transform"));
const at = document.querySelectorAll("#panels .hit")[1], b = at.getBoundingClientRect();
at.dispatchEvent(new PointerEvent("pointermove", { clientX: b.left + 2, clientY: b.top + 2 }));
const seen = {
  turned: turned.length, overlaps: boxes.filter((x, i) => i && x.left < boxes[i - 1].right).length,
  ticks: texts(first, ".tick"), lines: [...first.querySelectorAll(".line")].map((x) =>
    x.getAttribute("d").match(/[ML]/g).length), floors: first.querySelectorAll(".floor").length,
  runs: first.querySelectorAll(".run").length, tip: document.getElementById("tip").textContent,
  discounts: texts(document, "#discounts figcaption"),
  gammas: texts(document.querySelector("#discounts figure"), ".tick"),
  bands: document.querySelectorAll("#discounts .band").length,
  arms: texts(document.querySelector("#arms figure"), "text"),
  results: table("result-table"), prediction: table("prediction-table"),
  trends: table("trend-table"), noTrends: document.getElementById("trends").hidden,
  runHead: texts(document, "#run-table th"), legend: texts(document, "#curve-legend span"),
  interval: document.getElementById("interval").textContent,
  wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
};
const left = document.createElement("pre");
left.id = "seen"; left.textContent = JSON.stringify(seen); document.body.append(left);
</script>"""


def look(data, tmp_path) -> dict:
    page = tmp_path / "page.html"
    page.write_text(study_page(data).replace("</body>", LOOK + "</body>"))
    elements, console = browse(page, tmp_path, "--dump-dom", "--window-size=390,844")
    assert console == ""
    inner = re.search(r'<pre id="seen">(.*?)</pre>', elements, re.DOTALL)
    assert inner is not None, elements[-2000:]
    return json.loads(inner[1].replace("&gt;", ">").replace("&lt;", "<").replace("&amp;", "&"))


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
    assert seen["interval"] == "bootstrap intervals"
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
    data["trends"] = [line, line | {"metric": "cost", "relative": none, "power": None}]
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
        entry["mmd2_mu"]["mean_by"] = "Student's t"
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
    assert named["MMD² of μ, change from the default arm"].startswith("0.12 → 0.05: −58.3 %")
    assert named["share of tasks solved, 95 %"] == "0.5 [0.4, 0.6]"
    assert "solved" in seen["runHead"]
    assert seen["interval"] == "t-intervals"
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
