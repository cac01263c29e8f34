"""Results, verdicts and the page about a study, the page as a browser sees it."""

import csv
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from browser import browse, needs_chromium, on_a_phone
from made_up import made_up_study

from etairl.cli.app import main
from etairl.evaluation.statistics import Interval
from etairl.figures.page import study_page
from etairl.replication.findings import decide, decide_similar, findings
from etairl.replication.paper_report import paper_command, paper_data
from etairl.replication.paper_studies import named_jobs
from etairl.studies.report_data import report_data
from etairl.studies.study_folder import Study
from etairl.studies.summary import result_rows, statistics
from etairl.training.flat import configure
from etairl.types import InputError

ENVS = ["HalfCheetah-v5", "Hopper-v5"]


def kappa(job) -> float:
    return float(job.config.eta.partition(":")[2])


def level(job) -> float:
    """HalfCheetah gains 40 % by κ = 1, Hopper nothing; seeds differ by a percent."""
    gain = 0.4 * kappa(job) ** 8 if job.config.env == "HalfCheetah-v5" else 0.0
    own = 0.01 * np.sin(1 + 7 * job.config.seed + 3 * kappa(job))
    return 0.2 * (1.0 - gain) * (1.0 + own)


@pytest.fixture(scope="module")
def study(tmp_path_factory) -> Study:
    path = tmp_path_factory.mktemp("made-up") / "study"
    return made_up_study(path, named_jobs("figure1", "quick", range(3), ENVS), level)


@pytest.fixture(scope="module")
def page(study) -> Path:
    assert main(["report", str(study.path)]) == 0
    return study.path / "report.html"


def test_rows_and_score(study):
    rows = result_rows(study)
    assert len(rows) == len(study.jobs) == 3 * 2 * 9
    first = rows[0]
    # Return 1000 (1 - 3 v), expert 1000, random 0: the score is 1 - 3 v.
    assert first["score"] == pytest.approx(1 - 3 * first["mmd2_mu"])
    assert first["score"] == pytest.approx(1 - 3 * level(study.jobs[0]))


def test_statistics_by_hand(study):
    entries = statistics(result_rows(study), study.jobs)
    found = next(
        e
        for e in entries
        if (e["env"], e["arm"], e["eta"]) == (ENVS[0], "penalised", "geometric:1")
    )
    ours, others = (
        [level(j) for j in study.jobs if j.cell == (ENVS[0], "penalised", f"geometric:{k}")]
        for k in (1, 0)
    )
    assert found["seeds"] == [0, 1, 2]
    assert found["mmd2_mu"]["mean"]["value"] == pytest.approx(np.mean(ours))
    versus = found["mmd2_mu"]["against_baseline"]
    assert versus["relative"]["value"] == pytest.approx(np.mean(ours) / np.mean(others) - 1)
    assert found["tv_from_gail"] == pytest.approx(0.3672, abs=1e-4)  # 500 steps, two_stage


def test_verdicts_on_what_is_known(study):
    found = findings(result_rows(study), study.jobs)
    said = {(f.env, f.arm, f.claim.split(" as ")[0]): f.verdict for f in found}
    assert said[ENVS[0], "penalised", "MMD² of μ falls by at least 25 %"] == "replicated"
    assert said[ENVS[1], "penalised", "MMD² of ρ falls by at least 25 %"] == "not replicated"
    assert said[ENVS[0], "penalised", "the cost falls to a half or less"] == "not replicated"
    assert said[ENVS[1], "penalised", "the cost stays about the same"] == "replicated"
    assert all(re.search(r"−?\d+ % \[.*3 seeds", f.sentence) for f in found)


@pytest.mark.parametrize(
    ("interval", "verdict"),
    [
        ((-0.4, -0.5, -0.3), "replicated"),
        ((-0.4, -0.9, 0.1), "undecided"),
        ((-0.1, -0.2, 0.0), "not replicated"),
        ((-0.2, -0.3, -0.1), "undecided"),  # something, but is it 25 %?
        ((0.3, 0.2, 0.4), "not replicated"),
        ((-0.4, None, None), "undecided"),
    ],
)
def test_the_rule(interval, verdict):
    assert decide(Interval(*interval), 0.25) == verdict


def test_the_rule_of_similar():
    assert decide_similar(Interval(0.0, -0.2, 0.2), False) == "replicated"
    assert decide_similar(Interval(-0.5, -0.6, -0.4), False) == "not replicated"
    assert decide_similar(Interval(-0.5, -0.6, -0.4), True) == "replicated"
    assert decide_similar(Interval(0.2, 0.0, 0.4), True) == "undecided"


def test_poisson_and_discounts(tmp_path):
    """λ = 6 is the best on HalfCheetah, clearly; GAIL is worse than MEGAN at any discount."""

    def value(job) -> float:
        name, _, number = job.config.eta.partition(":")
        if name == "poisson":
            base = 0.10 + 0.01 * abs(float(number) - 6)
        else:
            base = 0.11 if number == "1" else 0.2
        return base * (1 + 0.01 * np.sin(5 * job.config.seed + base))

    jobs = {j.name: j for j in named_jobs("figure2", "quick", range(3), ENVS[:1])}
    jobs |= {j.name: j for j in named_jobs("figure3", "quick", range(3), ENVS[:1])}
    study = made_up_study(tmp_path / "s", list(jobs.values()), value)
    said = {f.claim: f for f in findings(result_rows(study), study.jobs)}
    for metric in ("MMD² of ρ", "MMD² of μ"):
        best = said[f"λ = 6, the movement cycle of the demonstrations, is the best in {metric}"]
        assert best.verdict == "replicated"
        assert "3 seeds in common" in best.sentence
        beside = f"the demonstrations, is as good as κ = 1, or better, in {metric}"
        assert said[f"λ = 6, the movement cycle of {beside}"].verdict == "replicated"
        discount = said[f"with no discount does GAIL match as well as the best MEGAN in {metric}"]
        assert discount.verdict == "replicated"
        assert "picked, on the same runs" in discount.sentence
        assert all(f"γ = {g}" in discount.sentence for g in ("0.9", "0.99", "0.999"))


def test_the_prediction_stands_beside_what_was_measured(study):
    predicted = paper_data(study, report_data(study))["predictions"]
    found = [p for p in predicted if p["env"] == ENVS[1]]
    small = {p["eta"]: p for p in found if p["small"]}
    assert list(small) == ["geometric:0.25", "geometric:0.5", "geometric:0.75"]
    assert small["geometric:0.75"]["tv"] == pytest.approx(0.0060, abs=5e-5)
    assert all(p["tv"] < 0.01 for p in small.values())
    assert small["geometric:0.75"]["length"] == 350  # half of the cycles 200, half 500 steps
    assert abs(small["geometric:0.5"]["changes"]["mmd2_mu"]["relative"]["value"]) < 0.03


def test_tables_and_figures(study, page):
    with (study.path / "results.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == len(study.jobs)
    assert json.loads((study.path / "results.json").read_text())[0]["run"] == rows[0]["run"]
    kinds = json.loads((study.path / "statistics.json").read_text())["across_tasks"]["mmd2_mu"]
    uniform = next(k for k in kinds if (k["arm"], k["eta"]) == ("penalised", "geometric:1"))
    assert (uniform["tasks"], uniform["seeds"]) == (2, 6)
    assert uniform["mean"]["value"] == pytest.approx((0.6 + 1.0) / 2, abs=0.02)
    for name in ("weightings-penalised", "weightings-bare", "arms"):
        assert (study.path / "figures" / f"{name}.png").stat().st_size > 10_000
        assert "<svg" in (study.path / "figures" / f"{name}.svg").read_text()[:2000]
    told = (study.path / "README.md").read_text().partition("## Small κ")[2].partition("## ")[0]
    assert told.count("geometric:0.75 |") == 2  # one arm, two environments
    shares = re.findall(r"geometric:0\.75: (\d\.\d)\s% other frames in episodes as long", told)
    assert shares == ["0.9", "0.9"]  # 0.6 at 500 steps; the first cycles fell after 200


def test_what_was_measured_before_version_03_says_so(study, page, tmp_path):
    told = "Measured by the yardstick of versions before 0.3"
    assert told not in (study.path / "README.md").read_text()
    old = tmp_path / "old"
    shutil.copytree(study.path, old)
    shutil.rmtree(old / "runs")
    lines = [json.loads(line) for line in (old / "summary.jsonl").read_text().splitlines()]
    for line in lines[:30]:
        del line["result"]["remaining"]["beside"]
    (old / "summary.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert main(["report", str(old)]) == 0
    for name in ("README.md", "report.html"):
        assert f"{told} (30 of 54 runs): " in (old / name).read_text()
    rows = json.loads((old / "results.json").read_text())
    for name in ("beside", "mmd2_mu_floor"):
        assert [row[name] for row in rows].count(None) == 30


def test_runs_that_a_study_no_longer_has_are_not_called_its_own(study, tmp_path):
    """Those of another version of `figure1`: its command would not make them, and nothing is said
    about claims that it was to test."""
    jobs = [replace(j, config=configure(j.config, demonstrations=7)) for j in study.jobs]
    other = made_up_study(tmp_path / "s", jobs, level)
    (other.path / "claims.json").write_text("{}")
    for job in jobs:
        (other.run_path(job) / "versions.json").write_text('{"etairl": "0.1.0"}')
    assert main(["report", str(other.path)]) == 0
    text = (other.path / "README.md").read_text()
    assert "Made by version 0.1.0, with what was its command then:" in text
    assert f"etairl study figure1 --scale quick --seeds 3 --envs {' '.join(ENVS)} -o" in text
    assert "The runs of `figure1` are others now" in text
    assert "makes only what is missing" not in text
    assert "Claims of the paper" not in text
    assert not (other.path / "claims.json").exists()
    own = made_up_study(tmp_path / "own", jobs, level, None)  # of a file figure1.toml
    assert paper_command(own, "figure1") == "etairl study figure1.toml"


def test_several_studies_and_runs_together(study, tmp_path):
    runs = sorted((study.path / "runs").glob("Hopper*penalised*"))[:2]
    assert main(["report", *map(str, runs), "-o", str(tmp_path / "both")]) == 0
    assert len(Study(tmp_path / "both").jobs) == 2
    assert (tmp_path / "both" / "report.html").is_file()


def test_nothing_finished_is_said(tmp_path, capsys):
    Study.open(tmp_path / "s", "figure1", "quick", named_jobs("figure1", "quick", [0], ENVS))
    assert main(["report", str(tmp_path / "s")]) == 2
    assert "has no finished run yet" in capsys.readouterr().err


def test_a_report_on_nothing_leaves_nothing_behind(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["report"]) == 2
    assert "name a study" in capsys.readouterr().err
    jobs = named_jobs("figure1", "quick", [0], ENVS)
    for name in "ab":
        Study.open(tmp_path / name, "figure1", "quick", jobs)
    assert main(["report", "a", "b"]) == 2
    assert "has no finished run yet" in capsys.readouterr().err
    assert not (tmp_path / "report").exists()


def test_a_study_file_without_runs_is_named(tmp_path):
    (tmp_path / "study.json").write_text("{}")
    with pytest.raises(InputError, match=r"study\.json: it is damaged"):
        Study(tmp_path)


def test_smoke_says_nothing_about_claims(tmp_path):
    jobs = named_jobs("figure1", "smoke", range(2), ENVS)
    made = made_up_study(tmp_path / "s", jobs, level, "smoke")
    assert paper_data(made, report_data(made))["findings"] == []


def test_the_page_asks_nobody_for_anything_and_runs_no_text(study):
    data = report_data(study)
    data["name"] = "</script><script>alert(1)</script> NaN"
    data["rows"][0]["score"] = float("nan")
    text = study_page(data)
    assert not re.search(r"""(?:src|href)=["'](?!data:,|#)""", text)
    assert "http" not in text.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")
    assert "<script>alert" not in text
    inner = re.search(r'id="data">(.*?)</script>', text, re.DOTALL)
    assert inner is not None
    again = json.loads(inner[1])
    assert again["name"] == data["name"]
    assert again["rows"][0]["score"] is None
    assert len(text) < 1_000_000


# What a visitor does: sorts, filters, hovers; what they see is left in the page.
VISIT = """<script>
const seen = {};
const first = () => document.querySelector("#run-table tbody td").textContent;
const heads = [...document.querySelectorAll("#run-table th button")];
const click = (name) => heads.find((b) => b.textContent === name).click();
click("MMD² μ"); seen.lowest = first(); click("MMD² μ"); seen.highest = first();
const filter = document.getElementById("run-filter");
filter.value = "hopper geometric:0.5"; filter.dispatchEvent(new Event("input"));
seen.filtered = document.getElementById("run-count").textContent;
const over = (node) => {
  const b = node.getBoundingClientRect();
  const at = { clientX: b.left + b.width / 2, clientY: b.top + 5 };
  node.dispatchEvent(new PointerEvent("pointermove", at));
  return document.getElementById("tip").textContent;
};
seen.curve = over(document.querySelector("#curve-chart .hit"));
seen.dot = over(document.querySelector("#panels .hit"));
document.querySelector("#panels .hit").dispatchEvent(new PointerEvent("pointerleave"));
seen.wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
seen.innerWidth = innerWidth;
seen.ready = document.body.dataset.ready;
const loaded = performance.getEntriesByType("navigation")[0].responseEnd;
seen.milliseconds = performance.now() - loaded;
seen.background = getComputedStyle(document.body).backgroundColor;
const left = document.createElement("pre");
left.id = "seen"; left.textContent = JSON.stringify(seen); document.body.append(left);
</script>"""


@needs_chromium
@pytest.mark.parametrize(
    ("width", "scheme", "background"),
    [(390, "0", "rgb(18, 22, 29)"), (1280, "1", "rgb(255, 255, 255)")],
    ids=["phone, dark", "desk, light"],
)
def test_in_a_browser(study, page, tmp_path, width, scheme, background):
    visited = tmp_path / "visited.html"
    visited.write_text(page.read_text().replace("</body>", VISIT + "</body>"))
    if width == 390:
        visited = on_a_phone(visited)
    look = ("--window-size=1280,900", f"--blink-settings=preferredColorScheme={scheme}")
    elements, console = browse(visited, tmp_path, "--dump-dom", *look)
    assert console == ""
    inner = re.search(r'<pre id="seen">(.*?)</pre>', elements, re.DOTALL)
    assert inner is not None, elements[-2000:]
    seen = json.loads(inner[1])
    values = {row["run"]: row["mmd2_mu"] for row in result_rows(study)}
    assert values[seen["lowest"]] == min(values.values())
    assert values[seen["highest"]] == max(values.values())
    assert seen["filtered"] == "3 of 54 runs"
    assert re.search(r"transitions\nκ=0 +-?\d+\.?\d* +\(3 seeds\)", seen["curve"])
    assert re.search(r"\nexpert +1000\b", seen["curve"])
    assert "interquartile mean" in seen["dot"]
    assert seen["innerWidth"] == width
    assert seen["wide"] == 0  # nothing sticks out of a phone
    assert (seen["ready"], seen["background"]) == ("yes", background)
    assert seen["milliseconds"] < 2000
    # Two environments with two arms each, three metrics; all settings of each; curves of return and
    # both MMD². Two claims on MMD² and one on 1 − score, each a line of one table.
    assert elements.count("<figure>") == 12 + 2 + 3
    assert elements.count('<tr class="claim') == 12
    assert elements.index('id="figures"') < elements.index('id="claims"')
    assert elements.count('class="finding') == 1  # one kind of warning
    assert "discriminator_saturated" in elements
    assert "0.9 % in episodes as long as those of the last cycles" in elements


@needs_chromium
def test_screenshot(page, tmp_path):
    shot = tmp_path / "page.png"
    browse(page, tmp_path, f"--screenshot={shot}", "--window-size=1280,3000")
    from PIL import Image

    picture = np.asarray(Image.open(shot).convert("RGB"))
    assert picture.shape == (3000, 1280, 3)
    # Charts have colour, and text has dark pixels, in the upper half as in the lower.
    for half in (picture[:1500], picture[1500:]):
        spread = half.max(axis=2).astype(int) - half.min(axis=2)
        assert (spread > 60).mean() > 0.001
        assert (half.max(axis=2) < 110).mean() > 0.001
