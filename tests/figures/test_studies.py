"""Figures of studies: what is drawn where, from settings and rows that are made up."""

import re
from itertools import pairwise

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from PIL import Image

from etairl.cli.report import _draw
from etairl.figures.panels import BLUE, RED
from etairl.figures.results import Results, in_order, weighting
from etairl.figures.save import save_figure
from etairl.figures.study_figures import (
    arms_figure,
    discount_figure,
    families_figure,
    weighting_figure,
)

KAPPAS = ("0", "0.25", "0.5", "0.75", "0.9", "0.99", "1")
RATES = ("1", "5", "10", "25", "40", "100")
ETAS = [f"geometric:{k}" for k in KAPPAS] + [f"poisson:{r}" for r in RATES]


def results(cells, seeds: int = 3) -> Results:
    """Settings (environment, arm, weighting, value of μ); ρ is 0.8 and the score 3 times μ."""
    settings, rows = [], []
    for env, arm, eta, value in cells:
        entry = {"env": env, "arm": arm, "eta": eta, "seeds": list(range(seeds))}
        gamma = float(arm.partition("=")[2] or 0.99) if arm != "bare" else 0.99
        for seed in range(seeds):
            row = {"env": env, "arm": arm, "eta": eta, "seed": seed, "gamma_rl": gamma}
            row["run"] = f"{env}-{arm}-{eta}-{seed}"
            own = value * (1 + 0.1 * (seed - (seeds - 1) / 2))
            row |= {"mmd2_mu": own, "mmd2_rho": 0.8 * own, "score": 3 * own, "cycles": 40}
            rows.append(row | {"mmd2_mu_floor": 0.011, "mmd2_rho_floor": 0.009})
        for metric, factor in (("mmd2_mu", 1.0), ("mmd2_rho", 0.8), ("score", 3.0)):
            v = factor * value
            entry[metric] = {"mean": {"value": v, "low": 0.7 * v, "high": 1.3 * v}}
        settings.append(entry)
    return Results(settings, rows)


def report(name: str, scale: str | None, found: Results) -> dict:
    data = {"name": name, "scale": scale, "settings": found.settings, "rows": found.rows}
    return data | {"evaluation": [], "curves": {}}


def scrambled(envs=("Hopper-v5",), arm="default") -> list:
    """Both families in the order in which two partial studies might have finished."""
    order = np.random.default_rng(3).permutation(len(ETAS))
    return [(env, arm, ETAS[i], 0.1 + 0.01 * i) for env in envs for i in order]


def drawn(figure: Figure) -> Figure:
    FigureCanvasAgg(figure).draw()
    return figure


def lines(axes, ink=None):
    """Lines that join means: they have a marker and a name."""
    named = [x for x in axes.get_lines() if x.get_marker() == "o" and x.get_label()[0] != "_"]
    return [x for x in named if ink is None or to_hex(x.get_color()) == ink]


def labels(axes) -> list[str]:
    return [t.get_text() for t in axes.get_xticklabels()]


def test_order_and_words():
    etas = ["poisson:5", "uniform", "geometric:0.9", "table:0.5,0.5", "poisson:25", "dirac:0"]
    assert in_order(etas) == [
        "dirac:0",
        "geometric:0.9",
        "uniform",
        "poisson:5",
        "poisson:25",
        "table:0.5,0.5",
    ]
    assert weighting("geometric:1").label == "κ=1"
    assert weighting("poisson:1").label == "λ=1"
    assert weighting("dirac:0").is_gail
    assert not weighting("dirac:3").is_gail
    assert weighting("dirac:3").family != weighting("dirac:0").family


def test_a_line_per_family_in_order():
    figure = weighting_figure(results(scrambled()), "default", "t")
    assert figure is not None
    axes = figure.axes[0]
    assert labels(axes) == [f"κ={k}" for k in KAPPAS] + [f"λ={r}" for r in RATES]
    for side, metrics in ((axes, 2), (figure.axes[1], 1)):
        found = lines(side)
        assert [len(x.get_xdata()) for x in found] == [7, 6] * metrics
        for line in found:
            x = np.asarray(line.get_xdata(), float)
            assert (np.diff(x) > 0).all()
            # Values were made to grow with the place in ETAS.
            assert (np.diff(np.asarray(line.get_ydata(), float)) > 0).all()
        first, second = (np.asarray(x.get_xdata(), float) for x in found[:2])
        assert second[0] - first[-1] > 1.5


@pytest.mark.parametrize("envs", [("Hopper-v5",), ("Hopper-v5", "HalfCheetah-v5", "Ant-v5")])
def test_labels_have_room_and_the_title_is_whole(envs):
    title = (
        "figure1-quick+figure2-quick, scale quick, arm default: mean over seeds, 95 % t-intervals"
    )
    whole = results(scrambled(envs))
    for figure in (
        weighting_figure(whole, "default", title),
        families_figure(whole, "default", title),
        arms_figure(whole, "mmd2_mu", title),
    ):
        assert figure is not None
        drawn(figure)
        for axes in figure.axes:
            for axis in filter(lambda a: a.get_visible(), (axes.xaxis, axes.yaxis)):
                shown = [t for t in axis.get_ticklabels() if t.get_visible() and t.get_text()]
                boxes = [t.get_window_extent() for t in shown]
                assert not any(a.overlaps(b) for a, b in pairwise(boxes))
        box, page = figure._suptitle.get_window_extent(), figure.bbox  # pyright: ignore
        assert page.x0 <= box.x0
        assert box.x1 <= page.x1
        assert figure._suptitle.get_text().replace("\n", " ") == title  # pyright: ignore


def test_figure2_families_by_ink_and_measures_by_dashes():
    figure = families_figure(results(scrambled()), "default", "t")
    assert figure is not None
    for ink, number, first in ((BLUE, 7, 0.1), (RED, 6, 0.17)):
        found = {x.get_linestyle(): x for x in lines(figure.axes[0], ink)}
        assert set(found) == {"-", "--"}
        assert all(len(x.get_xdata()) == number for x in found.values())
        assert found["--"].get_ydata()[0] == pytest.approx(first)
        assert found["-"].get_ydata()[0] == pytest.approx(0.8 * first)
    only = results([c for c in scrambled() if c[2].startswith("geometric")])
    assert families_figure(only, "default", "t") is None


def test_figure3_gail_against_its_discount_and_the_best_megan_across():
    cells = [
        ("Hopper-v5", "gamma_rl=0.999", "geometric:0", 0.25),
        ("Hopper-v5", "default", "geometric:1", 0.12),
        ("Hopper-v5", "default", "geometric:0", 0.2),
        ("Hopper-v5", "default", "geometric:0.99", 0.11),
        ("Hopper-v5", "gamma_rl=0.9", "geometric:0", 0.3),
        ("Hopper-v5", "bare", "geometric:1", 0.05),  # other players: not to be compared with
    ]
    figure = discount_figure(results(cells), "t")
    assert figure is not None
    axes = figure.axes[0]
    assert labels(axes) == ["0.9", "0.99", "0.999"]
    found = {x.get_linestyle(): x for x in lines(axes, BLUE)}
    assert found["--"].get_ydata() == pytest.approx([0.3, 0.2, 0.25])
    assert found["-"].get_ydata() == pytest.approx([0.24, 0.16, 0.2])
    across = [
        x for x in axes.get_lines() if to_hex(x.get_color()) == RED and x.get_label()[0] != "_"
    ]
    assert {x.get_linestyle(): x.get_ydata()[0] for x in across} == pytest.approx(
        {"-": 0.8 * 0.11, "--": 0.11}
    )
    bands = sorted((p.get_y(), p.get_height()) for p in axes.patches)
    assert bands == [pytest.approx((0.7 * m, 0.6 * m)) for m in (0.088, 0.11)]
    assert "κ=0.99, the lowest of 2" in axes.get_title()
    assert discount_figure(results(scrambled()), "t") is None


def test_the_expert_itself_and_zero():
    whole = results(scrambled())
    for figure in (weighting_figure(whole, "default", "t"), families_figure(whole, "default", "t")):
        assert figure is not None
        axes = figure.axes[0]
        floors = [x for x in axes.get_lines() if "expert's floor" in str(x.get_label())]
        assert sorted(x.get_ydata()[0] for x in floors) == pytest.approx([0.009, 0.011])
        assert all(x.get_linestyle() == "--" and x.get_linewidth() < 1 for x in floors)
        assert axes.get_ylim()[0] == 0.0
    axes = arms_figure(whole, "mmd2_mu", "t").axes[0]
    (floor,) = [x for x in axes.get_lines() if "expert" in str(x.get_label())]
    assert floor.get_xdata()[0] == pytest.approx(0.011)
    assert axes.get_xlim()[0] == 0.0


@pytest.mark.parametrize(("seeds", "shown"), [(3, 3), (12, 0)])
def test_few_runs_are_dots(seeds, shown):
    cells = [c for c in scrambled() if c[2] in ("geometric:0", "geometric:1")]
    figure = weighting_figure(results(cells, seeds), "default", "t")
    assert figure is not None
    dots = [x for x in figure.axes[0].get_lines() if x.get_marker() == "."]
    assert sum(len(x.get_ydata()) for x in dots) == shown * 2 * 2  # weightings, ρ and μ
    if shown:
        first = sorted(dots[0].get_ydata())[:3]
        assert first == pytest.approx([0.8 * 0.1 * f for f in (0.9, 1, 1.1)])


def test_files_are_the_same_again_sharp_and_small(tmp_path):
    others = [("Hopper-v5", "bare", eta, 0.2) for eta in ETAS[:7:6]]
    others += [("Hopper-v5", f"gamma_rl={g}", "geometric:0", 0.2) for g in (0.9, 0.999)]
    found = results(scrambled() + others)
    data = report("figure1", "quick", found)
    files = _draw(data, tmp_path / "one")
    names = ("discounts", "weightings-default", "families-default", "weightings-bare", "arms")
    assert [f.name for f in files] == [f"{n}{s}" for n in names for s in (".png", ".svg")]
    with Image.open(files[0]) as picture:
        assert round(picture.info["dpi"][0]) == 300
    again = discount_figure(found, "t"), discount_figure(found, "t")
    for suffix in (".svg", ".png"):
        for number, figure in enumerate(again):
            assert figure is not None
            save_figure(figure, tmp_path / f"{number}{suffix}", colours=256)
        first, second = ((tmp_path / f"{n}{suffix}").read_bytes() for n in (0, 1))
        assert first == second


def test_the_largest_figure_stays_small(tmp_path):
    whole = results(scrambled(("Hopper-v5", "HalfCheetah-v5", "Ant-v5")))
    figure = weighting_figure(whole, "default", "mean over seeds, 95 % t-intervals, dots are runs")
    assert figure is not None
    for suffix in (".png", ".svg"):
        file = tmp_path / f"large{suffix}"
        save_figure(figure, file, dpi=300, colours=256)
        assert 20_000 < file.stat().st_size < 300_000


@pytest.mark.parametrize(
    ("seeds", "words"),
    [
        (3, "mean over seeds, 95 % t-intervals, dots are runs"),
        (12, "mean over seeds, 95 % t-intervals"),
    ],
)
def test_the_title_says_what_the_bars_are(seeds, words, tmp_path):
    cells = [c for c in scrambled() if c[2] in ("geometric:0", "geometric:1")]
    found = results(cells, seeds)
    data = report("mine", None, found)
    files = _draw(data, tmp_path)
    assert [file.name for file in files] == ["weightings-default.png", "weightings-default.svg"]
    # Every text of an SVG is a drawing, with what it says in a comment.
    said = re.findall(r"<!-- (.*?) -->", files[1].read_text(), re.DOTALL)
    title = f"mine, arm default: {words}"
    assert title in " ".join(" ".join(said).split())


def test_long_arms_have_short_names_and_labels(tmp_path):
    """Two that begin alike have files of their own."""
    arms = ["default", *(f"{'gradient_penalty=10,' * 20}end={n}" for n in (1, 2))]
    cells = [("Hopper-v5", a, e, 0.2) for a in arms for e in ("geometric:0", "geometric:1")]
    found = results([(e, a.replace("=", "~"), eta, v) for e, a, eta, v in cells])
    data = report("mine", None, found)
    files = _draw(data, tmp_path)
    assert len(set(files)) == 2 * (len(arms) + 1)
    assert all(file.is_file() and len(file.name.encode()) <= 110 for file in files)
    figure = drawn(arms_figure(found, "mmd2_mu", "t"))
    shown = [t.get_text() for t in figure.axes[0].get_yticklabels()]
    assert shown[:2] == ["default, κ=0", "default, κ=1"]
    assert shown[2].startswith("gradient_penalty~10,")
    assert len(set(shown)) == 6
    assert max(map(len, shown)) < 40
