"""The examples, called as scripts in this process; one of them also in a process of its own."""

import contextlib
import io
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("lasting", "unchecked")  # as users run them
EXAMPLES = Path(__file__).parents[1] / "examples"
# What each example must print; the words that a reader is promised.
EXPECTED = {
    "01_weightings.py": ("geometric:0     two_stage      0.00%", "36.72%", "drawn into"),
    "02_sample_futures.py": ("rho, gamma 1 (GAIL)", "mu, geometric:0.99, exact", "steps apart"),
    "03_is_it_the_expert.py": (
        "the expert again",
        "cannot be told from the expert",
        "not the expert",
    ),
    "04_your_own_demonstrations.py": ("6 episodes, 810 steps", "same pairs: True"),
    "05_the_criterion_and_its_traps.py": (
        "poisson:2        stay 0.8000   go 0.1353",
        "planning loses 0.3000, never more than 1.0000",
        "best stationary    1.4375   stay with probability 0.6667",
        "knows the time     1.3750",
        "knows the phase    1.0000",
    ),
    "06_exact_inverse_rl.py": ("LPAL, phase aware", "MEGAN as it is run: policy off by"),
    "07_imitate_pendulum.py": ("before: cycle 1", "after: cycles 16 to 20", "expert  "),
    "08_what_explains_the_expert.py": ("feature", "learner            returns", "±"),
    "09_pay_early.py": (
        "GoStay-v0      sac      ends at 0.",
        "GoStay-v0      sac-eta  ends at 0.5",
        "Insulation-v0  sac-eta  ends at 0.5",
    ),
    "10_many_tasks.py": ("8 columns", "planner  solves 5 of 5", "around the lakes, at most 1.2"),
    "11_generated_futures.py": ("times what two true draws differ by", "walking"),
}


def run(name: str, folder: Path, *arguments: str) -> str:
    """What an example prints when it is run in a folder; warnings are errors here."""
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()) as out:
        patch.chdir(folder)
        patch.setattr(sys, "argv", [str(EXAMPLES / name), *arguments])
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    return out.getvalue()


def test_every_example_is_listed_here():
    assert sorted(path.name for path in EXAMPLES.glob("*.py")) == sorted(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_example_runs_without_arguments(name: str, tmp_path: Path):
    printed = run(name, tmp_path)
    for words in EXPECTED[name]:
        assert words in printed
    assert not list(tmp_path.iterdir()), "an example must not write where it is run"


def test_the_noisy_and_the_fast_are_told_from_the_expert(tmp_path: Path):
    lines = run("03_is_it_the_expert.py", tmp_path).splitlines()
    verdicts = {line[:22].strip(): line.endswith("not the expert") for line in lines[3:]}
    assert verdicts == {
        "the expert again": False,
        "twice the noise": True,
        "five times the noise": True,
        "20 steps a turn": True,
    }


def test_the_figure_goes_where_it_is_asked_to(tmp_path: Path):
    words = [sys.executable, "-W", "error", str(EXAMPLES / "01_weightings.py"), "figure.png"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


def test_the_figures_of_the_criterion_are_those_of_the_documentation(tmp_path: Path):
    """Drawn again, they show the same; pixels may differ between versions of the font renderer."""
    from matplotlib.image import imread

    run("05_the_criterion_and_its_traps.py", tmp_path, "drawn")
    for name in ("stay-or-go", "occupancy-curve", "duality-gap"):
        again = imread(tmp_path / "drawn" / f"{name}.png")
        stored = imread(EXAMPLES.parent / "docs" / "figures" / f"{name}.png")
        assert again.shape == stored.shape
        assert abs(again - stored).mean() < 0.01, name


@pytest.mark.parametrize("name", EXPECTED)
def test_examples_stay_short(name: str):
    assert len((EXAMPLES / name).read_text().splitlines()) < 60
