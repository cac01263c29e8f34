"""Reports of whatever users call their things, and reports on a phone."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from browser import browse, needs_chromium, on_a_phone
from devtools import driven
from made_up import made_up_study

from etairl.cli.app import main
from etairl.figures.page import study_page
from etairl.replication.paper_studies import named_jobs
from etairl.storage import write_json
from etairl.studies.report_data import as_study, report_data
from etairl.studies.study_folder import Study

ROOT = Path(__file__).parents[2]
NASTY = "</script><img src=x onerror=alert(1)> | `$x^$` [a](javascript:alert(1)) **b** http://e.x"
ENV = "<i>Hopper|v5`$y_$"
PAGES = ROOT / "src" / "etairl" / "figures" / "page"


@pytest.fixture(scope="module")
def study(tmp_path_factory) -> Study:
    path = tmp_path_factory.mktemp("nasty") / "study"
    jobs = named_jobs("figure1", "quick", range(2), ["Hopper-v5"])
    jobs = [job for job in jobs if job.config.eta in ("geometric:0", "geometric:1")]
    jobs = [
        replace(
            job,
            arm=NASTY + job.arm,
            config=replace(job.config, env=ENV, demos="~/x/mine.npz"),
        )
        for job in jobs
    ]
    study = made_up_study(path, jobs, lambda job: 0.2, None, NASTY)
    for job in study.jobs:
        write_json(study.run_path(job) / "versions.json", {"etairl": NASTY, "<b>|": "1"})
    assert main(["report", str(path)]) == 0
    return study


def test_the_notes_have_no_syntax_of_users(study):
    text = (study.path / "README.md").read_text()
    shown = re.sub(r"^```\n.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    assert "<img" not in shown
    assert "](javascript" not in shown
    assert "http://" not in shown
    rows = [line for line in shown.splitlines() if line.startswith("| ")]
    assert {line.count("|") for line in rows} == {9}
    links = re.findall(r"!\[[^]]*\]\(([^)]*)\)", shown)
    assert links
    assert all((study.path / link).is_file() for link in links)


def test_figures_take_dollars_for_letters(study):
    pictures = {path.suffix for path in (study.path / "figures").iterdir()}
    assert pictures == {".png", ".svg"}


@needs_chromium
def test_the_page_shows_texts(study, tmp_path):
    elements, console = browse(study.path / "report.html", tmp_path, "--dump-dom")
    assert console == ""
    assert 'data-ready="yes"' in elements
    shown = elements.partition('<script type="application/json"')[0]
    assert "<img" not in shown
    assert "<i>" not in shown
    assert "&lt;img src=x onerror=alert(1)&gt;" in shown
    assert "/x/mine.npz" not in elements  # nobody's folders are sent around
    assert "mine.npz" in elements


def test_no_page_asks_anybody():
    """Scripts, styles and pages: no address but the namespace of SVG, nothing loaded."""
    files = [p for p in PAGES.iterdir() if p.suffix in (".js", ".css", ".html")]
    assert len(files) >= 9
    for path in files:
        text = path.read_text().replace("http://www.w3.org/2000/svg", "")
        asks = r"https?:|@import|url\(|\bfetch\(|XMLHttp|\bimport\("
        assert re.findall(asks, text) == [], path
        assert re.findall(r"""(?:src|href)=["'](?!data:,|#)""", text) == [], path
        if path.suffix == ".html":
            assert "default-src 'none'" in text


HEIGHT = """<script>
const left = document.createElement("pre");
const boxes = [...document.querySelectorAll(".scroll")];
const wide = boxes.filter((x) => x.scrollWidth > x.clientWidth + 4);
left.id = "seen";
left.textContent = [document.documentElement.scrollHeight, document.documentElement.scrollWidth,
  wide.length, wide.filter((x) => x.matches(".more") && x.tabIndex === 0).length].join(" ");
document.body.append(left);
</script>"""


@needs_chromium
def test_figure_1_on_a_phone(tmp_path):
    """Real results, with as many claims as the study has."""
    shutil.copytree(ROOT / "results" / "figure1", tmp_path / "figure1")
    data = report_data(as_study([tmp_path / "figure1"], None))
    assert len(data["rows"]) == 81
    claim = "MMD² of μ falls by at least 25 % as κ goes from 0 to 1"
    told = "−12 % [−40 %, 16 %] with 3 seeds; a change of 25 % would show with power 0.4. " * 2
    data["findings"] = [
        {"verdict": verdict, "env": env, "arm": arm, "claim": claim, "sentence": told}
        for env in ("Hopper-v5", "HalfCheetah-v5", "Ant-v5")
        for arm in ("default", "bare")
        for verdict in ("replicated", "not replicated", "undecided")
    ]
    data |= {"predictions": [], "trends": []}
    page = tmp_path / "page.html"
    page.write_text(study_page(data).replace("</body>", HEIGHT + "</body>"))
    elements, console = browse(on_a_phone(page), tmp_path, "--dump-dom")
    assert console == ""
    seen = re.search(r'<pre id="seen">([\d ]+)</pre>', elements)
    assert seen is not None
    height, width, wide, marked = map(int, seen[1].split())
    assert height < 6000
    assert width <= 390  # less the width of a scroll bar
    assert wide == marked  # whatever scrolls says so, and is reached by the keyboard
    assert wide > 0
    assert elements.count('<tr class="claim') == 18


@needs_chromium
def test_names_of_levels_that_are_alike_do_not_cover_each_other(tmp_path):
    written = study_page(report_data(as_study([ROOT / "results" / "figure1"], None)))
    head, data = written.split('id="data">')
    data, rest = data.split("</script>", 1)
    shown = json.loads(data)
    for levels in shown["levels"].values():
        for metric in levels:
            levels[metric] = {"expert": 0.05, "clone": 0.051, "floor": 0.049}
    written = f'{head}id="data">{json.dumps(shown)}</script>{rest}'
    page = tmp_path / "page.html"
    page.write_text(written)
    with driven() as browser:
        browser.open(page.as_uri())
        boxes = browser.js(
            "[...document.querySelectorAll('#curve-chart svg')].map((x) => "
            "[...x.querySelectorAll('.halo')].map((t) => { const b = t.getBoundingClientRect(); "
            "return [b.left, b.right, b.top, b.bottom]; }))"
        )
    assert any(len(texts) == 3 for texts in boxes)
    for texts in boxes:
        for i, (left, right, top, bottom) in enumerate(texts):
            for other in texts[:i]:
                apart = right <= other[0] or other[1] <= left
                assert apart or bottom <= other[2] or other[3] <= top
