"""The page of an explanation as people use it: by pointer, by keys alone, by ear, in the dark."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from browser import needs_chromium
from devtools import Page, driven
from tiny import NAVIGATION, TINY

import etairl
from etairl.eta import parse_eta
from etairl.figures.page.explained import explanation_page
from etairl.measures.index_laws import index_law
from etairl.training import filming
from etairl.training.explained_data import explanation_data
from etairl.training.explaining import RunExplanation
from etairl.training.filming import Film, FilmFrame, film, with_others
from etairl.training.flat import configure

pytestmark = needs_chromium
PHONE, DESK = (390, 844), (1280, 900)


@pytest.fixture(scope="module")
def result(tmp_path_factory) -> etairl.Result:
    config = configure(
        TINY,
        env="etairl/Navigation-v0",
        demos=NAVIGATION,
        demonstrations=10,
        eta="geometric:0.7",
        transitions=400,
        episodes=4,
    )
    return etairl.train(config, tmp_path_factory.mktemp("run") / "one")


@pytest.fixture(scope="module")
def found(result) -> RunExplanation:
    return result.explain(episodes=14)


@pytest.fixture(scope="module")
def drawn(result, found) -> Film:
    return with_others(result, found, film(result))


@pytest.fixture(scope="module")
def file(result, found, drawn, tmp_path_factory) -> Path:
    file = tmp_path_factory.mktemp("page") / "page.html"
    file.write_text(explanation_page(explanation_data(result, found, drawn)))
    return file


@pytest.fixture(scope="module")
def browser() -> Iterator[Page]:
    with driven() as page:
        yield page


@pytest.fixture
def page(browser, file) -> Page:
    browser.requests.clear()
    browser.console.clear()
    browser.look(*DESK)
    browser.open(file.as_uri())
    return browser


def text(page: Page, name: str) -> str:
    return page.js(f"document.getElementById({json.dumps(name)}).textContent")


def numbers(page: Page) -> dict[str, float]:
    got = page.js(
        "Object.fromEntries([...document.querySelectorAll('#weight-numbers dt')].map("
        "(x) => [x.textContent, parseFloat(x.nextSibling.textContent.replace('−', '-'))]))"
    )
    return got


def test_pictures_of_all_shown_episodes_are_of_the_same_steps(found, drawn):
    """Drawn in the real world of the run; those of moments, too."""
    assert drawn.notes == ()
    assert set(drawn.learner) >= {0, *(moment.episode for moment in found.moments)}
    assert len(drawn.learner) == 12  # of 14
    assert list(drawn.demonstrations) == list(range(10))
    steps = [{frame.step for frame in drawn.learner[0]}, {f.step for f in drawn.demonstrations[0]}]
    assert steps[0] == steps[1] == set(range(50))
    for moment in found.moments:
        assert moment.step in {frame.step for frame in drawn.learner[moment.episode]}
    places = found.learner.trajectories.observations[:50, :2]
    far = int(np.argmax(np.hypot(*(places - places[0]).T)))
    pixels = [drawn.learner[0][step].pixels.astype(int) for step in (0, far)]
    assert (pixels[0] != pixels[1]).any()  # it moves


def test_the_page_opens_at_once_and_asks_nobody(page, file):
    assert file.stat().st_size < 5_000_000
    assert page.js("performance.timing.loadEventEnd - performance.timing.navigationStart") < 2000
    assert page.requests == [file.as_uri()]
    assert page.console == []


def test_every_episode_can_be_chosen(page, found, drawn):
    """All have a curve; those without pictures and maps say so."""
    sides = {"learner": found.learner, "demonstrations": found.demonstrations}
    for name, side in sides.items():
        numbers = page.js(
            f"[...document.getElementById('pick-{name}').options].map("
            "(x) => parseInt(x.textContent.match(/\\d+/)[0]))"
        )
        assert numbers == list(range(len(side.trajectories)))
    bare = next(n for n in range(14) if n not in drawn.learner)
    page.js(
        f"(() => {{ const pick = document.getElementById('pick-learner'); pick.value = {bare}; "
        "pick.dispatchEvent(new Event('change', { bubbles: true })); })()"
    )
    page.js("document.getElementById('step').focus()")
    page.press("Home")
    cost = float(text(page, "step-value").split("learner ")[1].split(",")[0].replace("−", "-"))
    assert cost == pytest.approx(found.learner.costs[50 * bare], rel=0.01)
    assert f"There are no pictures of learner {bare}" in text(page, "film-notes")
    page.js(
        "(() => { const pick = document.getElementById('pick-map'); pick.value = 'learner'; "
        "pick.dispatchEvent(new Event('change', { bubbles: true })); })()"
    )
    assert f"There is no map for learner {bare}" in text(page, "map-none")
    assert page.console == []


def test_the_page_begins_at_the_moment_that_differs_most(page, found):
    first = found.moments[0]
    assert text(page, "step-value").startswith(f"step {first.step}:")
    assert page.js("document.getElementById('pick-learner').selectedOptions[0].textContent") == (
        f"learner {first.episode}, with pictures, 50 steps"
    )


def test_the_same_moment_of_another_episode_is_short(browser, result, found, tmp_path):
    data = explanation_data(result, found, Film())
    first = data["moments"][0]
    data["moments"] = [first, {**first, "episode": 1, "number": 1}]
    file = tmp_path / "page.html"
    file.write_text(explanation_page(data))
    browser.open(file.as_uri())
    seen = browser.js(
        "[...document.querySelectorAll('#moment-list article')].map("
        "(x) => [x.querySelectorAll('li').length, x.querySelector('p').textContent])"
    )
    assert [many for many, _ in seen] == [4, 1]
    assert "Much as" not in seen[0][1]
    assert seen[1][1].endswith(f". Much as learner {first['number']}")


def test_episodes_for_which_there_is_no_room_are_counted(
    browser, result, found, tmp_path, monkeypatch
):
    monkeypatch.setattr(filming, "_POINTS", 8 * 50)
    monkeypatch.setattr(filming, "_FILMED", 1)
    data = explanation_data(result, found, Film())
    kept = [e["number"] for e in data["sides"]["learner"]["episodes"]]
    assert {0, *(m.episode for m in found.moments)} <= set(kept)
    assert len(kept) == 8
    file = tmp_path / "page.html"
    file.write_text(explanation_page(data))
    browser.open(file.as_uri())
    said = text(browser, "film-notes")
    assert "of the learner 6 more" in said
    assert "of the demonstrations 2 more" in said


def test_the_pointer_drags_both_sliders(page, found, result):
    """To where the pointer lets go, and the numbers are those of the law there."""
    method = result.config.future.method
    for name, kind, share in (("kappa", "geometric", 0.9), ("lambda", "poisson", 0.3)):
        left, top, width, height = page.box(f"#{name}")
        middle = top + height / 2
        value = f"Number(document.getElementById('{name}').value)"
        low, high = page.js(
            f"[Number(document.getElementById('{name}').min), "
            f"Number(document.getElementById('{name}').max)]"
        )
        now = (page.js(value) - low) / (high - low)
        page.drag(
            (left + 8 + now * (width - 16), middle), (left + 8 + share * (width - 16), middle)
        )
        number = page.js(value)
        assert number == pytest.approx(low + share * (high - low), abs=0.02 * (high - low))
        law = index_law(parse_eta(f"{kind}:{number}"), 1.0, method, 50)
        seen = numbers(page)
        assert seen["mean step"] == pytest.approx(np.arange(50) @ law, rel=1e-3)
        assert seen["mean cost, learner"] == pytest.approx(law @ found.learner.by_time, rel=2e-3)
    assert page.console == []


def test_keys_alone_reach_and_move_everything(page):
    """Tab comes by every control; what has the focus is seen; arrows move the sliders."""
    met = []
    page.js("document.activeElement.blur()")
    for _ in range(60):
        page.press("Tab")
        name, outline = page.js(
            "(() => { const a = document.activeElement, s = getComputedStyle(a); "
            "return [a.id || a.name || a.getAttribute('href') || a.getAttribute('aria-label') || "
            "a.tagName, s.outlineStyle]; })()"
        )
        if name == "BODY" and met:
            break
        assert outline != "none", name
        met.append(name)
    assert {
        "pick-learner",
        "pick-demonstrations",
        "step",
        "pick-map",
        "law",
        "kappa",
        "lambda",
    } <= set(met)
    assert any(name.startswith("Show learner") for name in met)
    page.js("document.getElementById('step').focus()")
    page.press("Home")
    page.press("ArrowRight", 3)
    assert text(page, "step-value").startswith("step 3:")
    alts = page.js("[...document.querySelectorAll('#film img')].map((x) => x.alt)")
    assert alts == ["learner at step 3", "demonstration at step 3"]
    page.press("End")
    assert text(page, "step-value").startswith("step 49:")
    page.js("document.querySelector('#moment-list button').focus()")
    page.press("Enter")
    assert page.js("document.activeElement.id") == "step"
    page.js("document.getElementById('kappa').focus()")
    before = numbers(page)["mean step"]
    page.press("ArrowLeft", 200)
    assert numbers(page)["mean step"] < before
    assert page.js("document.querySelector('[name=law]:checked').value") == "geometric"


def test_by_ear(page):
    """What a screen reader meets: headings, named controls with values, tables with heads."""
    spoken = page.spoken()
    names = {role: [n for r, n in spoken if r == role] for role, _ in spoken}
    assert [n for n in names["heading"] if n in ("In short", "Cost along episodes")]
    assert len(names["heading"]) > 8
    assert {"Step", "κ", "λ"} <= set(names["slider"])
    assert len(names["combobox"]) == 3
    assert len(names["radio"]) == 3
    assert all(name for role in ("slider", "combobox", "radio", "button") for name in names[role])
    assert all(names["image"]), "a picture without words"
    assert "columnheader" in names
    assert "rowheader" in names
    assert "main" in names
    step = page.js("document.getElementById('step').getAttribute('aria-valuetext')")
    assert re.fullmatch(r"step \d+: cost of the learner \S+, of the demonstration \S+", step)


CONTRAST = """(() => {
  const parts = (c) => (c.match(/[\\d.]+/g) ?? []).map(Number);
  const light = (c) => { const [r, g, b] = c.slice(0, 3).map((v) => {
    v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const ground = (e) => { for (; e; e = e.parentElement) {
    const c = parts(getComputedStyle(e).backgroundColor);
    if (c.length === 3 || c[3] > 0) return c; }
    return [255, 255, 255]; };
  const found = [];
  for (const e of document.querySelectorAll("body *")) {
    if (![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())) continue;
    if (["SCRIPT", "STYLE", "NOSCRIPT"].includes(e.tagName) || !e.getClientRects().length) continue;
    const style = getComputedStyle(e), ink = parts(e.closest("svg") ? style.fill : style.color);
    const [a, b] = [light(ink), light(ground(e))].sort((x, y) => y - x);
    found.push([(a + 0.05) / (b + 0.05), e.tagName, e.textContent.slice(0, 30)]);
  }
  return found.sort((x, y) => x[0] - y[0])[0];
})()"""


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("size", [PHONE, DESK])
def test_it_fits_and_can_be_read(browser, file, size, dark):
    """Nothing sticks out; letters have a contrast of 4.5 with what is behind them."""
    browser.look(*size, dark=dark)
    browser.open(file.as_uri())
    assert browser.js("innerWidth") == size[0]
    assert browser.js("document.documentElement.scrollWidth") <= size[0]
    assert browser.js(CONTRAST)[0] >= 4.5, browser.js(CONTRAST)
    ground = browser.js("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", ground))) < 200) == dark


def test_a_page_with_too_many_pictures_leaves_some_out(result, found, drawn):
    noise = np.frombuffer(os.urandom(210 * 280 * 3), np.uint8).reshape(210, 280, 3)
    many = {n: tuple(FilmFrame(step, noise) for step in range(80)) for n in range(4)}
    data = explanation_data(result, found, Film(None, many, many))
    page = explanation_page(data)
    assert 3_000_000 < len(page.encode()) < 5_000_000
    left = json.loads(page.split('id="data">')[1].split("</script>")[0])["film"]
    assert list(left["learner"]) == list(left["demonstrations"]) == ["0", "1", "2", "3"]
