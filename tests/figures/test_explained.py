"""The page about what a run learned, as a browser sees it; and the command that writes it."""

import copy
import json
import re

import numpy as np
import pytest
from browser import browse, needs_chromium, on_a_phone
from tiny import TINY

import etairl
from etairl.cli.app import main
from etairl.eta import parse_eta
from etairl.figures.page.explained import explanation_page
from etairl.measures.index_laws import Method, index_law
from etairl.training.explained_data import explanation_data
from etairl.training.explaining import RunExplanation
from etairl.training.filming import Film, FilmFrame
from etairl.types import InputError

NASTY = "</script><img src=x onerror=alert(1)>"
LAWS: list[tuple[str, float, float, Method]] = [
    ("geometric", 0.0, 1.0, "exact"),
    ("geometric", 0.9, 1.0, "two_stage"),
    ("geometric", 0.97, 0.95, "exact"),
    ("geometric", 1.0, 1.0, "two_stage"),
    ("poisson", 7.0, 1.0, "two_stage"),
    ("poisson", 30.0, 0.9, "exact"),
]


@pytest.fixture(scope="module")
def result(tmp_path_factory) -> etairl.Result:
    return etairl.train(TINY, tmp_path_factory.mktemp("run") / "one")


@pytest.fixture(scope="module")
def found(result) -> RunExplanation:
    return result.explain(episodes=4)


@pytest.fixture(scope="module")
def data(result, found) -> dict:
    pixels = np.zeros((12, 16, 3), np.uint8)
    pictures = tuple(FilmFrame(step, pixels + np.uint8(5 * step)) for step in (0, 20, 40))
    both = {0: pictures}, {0: pictures}
    return explanation_data(result, found, Film(None, *both))


def test_a_run_explains_itself(result, found):
    t = found.learner.trajectories
    assert found.names == ("cos angle", "sin angle", "angular velocity", "torque")
    expected = result.cost(t.observations, t.actions)
    assert found.learner.costs == pytest.approx(expected, abs=1e-5)
    assert found.learner.by_time == pytest.approx(expected.reshape(4, 50).mean(axis=0), abs=1e-5)
    assert found.law.sum() == pytest.approx(1.0)
    assert [q.begin for q in found.quarters] == [0, 12, 25, 38]
    assert found.features is None
    again = result.explain(episodes=4)
    assert [m.shares.tolist() for m in again.moments] == [m.shares.tolist() for m in found.moments]
    with pytest.raises(InputError, match="episodes must be at least 2"):
        result.explain(episodes=1)


def test_the_page_asks_nobody_for_anything(data):
    page = explanation_page(data)
    assert "default-src 'none'" in page
    assert re.findall(r"https?://(?!www\.w3\.org/2000/svg)", page) == []
    assert len(page) < 5_000_000


USE = r"""<script>
const text = (id) => document.getElementById(id).textContent;
const drag = (id, value) => {
  const slider = document.getElementById(id);
  slider.value = value; slider.dispatchEvent(new Event("input", { bubbles: true }));
};
const numbers = () => Object.fromEntries([...document.querySelectorAll("#weight-numbers dt")].map(
  (x) => [x.textContent, x.nextSibling.textContent]));
const pictures = () => [...document.querySelectorAll("#film img")].map((x) => x.alt);
const seen = { run: numbers(), innerWidth };
drag("step", 17); seen.step = text("step-value"); seen.alts = pictures();
seen.spoken = document.getElementById("step").getAttribute("aria-valuetext");
drag("kappa", 0.9); seen.kappa = numbers();
seen.chosen = document.querySelector("[name=law]:checked").value;
drag("lambda", 10); seen.lambda = numbers();
document.querySelector("#moment-list button").click();
seen.moment = [text("step-value"), document.getElementById("pick-learner").value,
  document.activeElement.id];
seen.laws = LAWS.map((a) => Array.from(weights.law(...a, 40)));
seen.wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
seen.title = document.title;
seen.columns = [...document.querySelectorAll("#column-table tbody th")].map((x) => x.textContent);
seen.images = [...document.querySelectorAll("img")].filter((x) => x.alt === "").length;
const fields = [...document.querySelectorAll("input, select")];
const drawings = [...document.querySelectorAll("svg, canvas")]
  .filter((x) => !x.closest("[hidden]"));
seen.unnamed = fields.filter((x) => !x.labels.length).length
  + drawings.filter((x) => !x.getAttribute("aria-label")).length;
const left = document.createElement("pre");
left.id = "seen"; left.textContent = JSON.stringify(seen); document.body.append(left);
</script>"""


def use(data: dict, tmp_path) -> dict:
    page = tmp_path / "page.html"
    script = USE.replace("LAWS", json.dumps(LAWS))
    page.write_text(explanation_page(data).replace("</body>", script + "</body>"))
    elements, console = browse(on_a_phone(page), tmp_path, "--dump-dom")
    assert console == ""
    inner = re.search(r'<pre id="seen">(.*?)</pre>', elements, re.DOTALL)
    assert inner is not None, elements[-2000:]
    text = inner[1].replace("&gt;", ">").replace("&lt;", "<").replace("&amp;", "&")
    return json.loads(text)


def mean_step(law: np.ndarray) -> float:
    return float(np.arange(len(law)) @ law)


@needs_chromium
def test_sliders_move_the_numbers_of_a_phone(data, found, tmp_path):
    seen = use(data, tmp_path)
    assert (seen["innerWidth"], seen["wide"], seen["unnamed"], seen["images"]) == (390, 0, 0, 0)
    costs = [side.costs[17] for side in (found.learner, found.demonstrations)]
    said = re.findall(r"[−\d.]+(?=,|$)", seen["step"])
    assert [float(x.replace("−", "-")) for x in said] == pytest.approx(costs, rel=0.01)
    assert seen["spoken"] == seen["step"]
    assert seen["alts"] == ["learner at step 20", "demonstration at step 20"]
    assert float(seen["run"]["mean step"]) == pytest.approx(mean_step(found.law), rel=1e-3)
    method = TINY.future.method
    for name, eta in (("kappa", "geometric:0.9"), ("lambda", "poisson:10")):
        law = index_law(parse_eta(eta), 1.0, method, 50)
        assert float(seen[name]["mean step"]) == pytest.approx(mean_step(law), rel=1e-3)
        cost = seen[name]["mean cost, learner"].replace("−", "-")
        assert float(cost) == pytest.approx(law @ found.learner.by_time, rel=2e-3)
    assert seen["chosen"] == "geometric"
    moment = found.moments[0]
    assert seen["moment"][0].startswith(f"step {moment.step}:")
    assert seen["moment"][1:] == [str(moment.episode), "step"]
    for (kind, number, gamma, how), law in zip(LAWS, seen["laws"], strict=True):
        assert law == pytest.approx(index_law(parse_eta(f"{kind}:{number}"), gamma, how, 40))


@needs_chromium
def test_names_are_text(data, tmp_path):
    nasty = copy.deepcopy(data)
    nasty["run"] = nasty["about"] = NASTY
    for column in (*nasty["columns"], *(c for m in nasty["moments"] for c in m["columns"])):
        column["name"] = NASTY
    nasty["features"] = [{"name": NASTY, "weight": 0.5, "gap": -1.0, "standard_error": 0.1}]
    seen = use(nasty, tmp_path)
    assert seen["title"] == f"What {NASTY} learned"
    assert set(seen["columns"]) == {NASTY}


def test_the_command(result, tmp_path, capsys):
    page = tmp_path / "page.html"
    options = ["-o", str(page), "--episodes", "3", "--no-pictures"]
    assert main(["explain", str(result.path), *options]) == 0
    said = capsys.readouterr().out
    assert "Mean cost of the learner less that of the demonstrations" in " ".join(said.split())
    assert f"page: {page}" in said
    assert page.read_text().startswith("<!doctype html>")
    assert main(["explain", str(result.path), "-o", "page.txt"]) == 2
    assert "the name of a page ends in .html" in capsys.readouterr().err
    assert main(["explain", str(tmp_path / "none")]) == 2
    assert main(["explain", str(result.path), "--episodes", "1"]) == 2
