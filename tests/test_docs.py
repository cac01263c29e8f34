"""What the documentation says is run, and compared with what it shows."""

import contextlib
import io
import re
import shlex
from importlib.util import find_spec
from pathlib import Path
from typing import get_args

import pytest
from programs import call

from etairl.eta import parse_eta
from etairl.measures import FutureSampler, Method, summarise_law

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
# What training ends with depends on the machine and on the simulator.
TRAINING = ("expert", "train", "evaluate")


def blocks(page: Path) -> list[tuple[str, str]]:
    """Language and content of the fenced blocks of a page, in order."""
    return BLOCK.findall(page.read_text())


def with_language(language: str) -> list:
    return [
        pytest.param(page, id=str(page.relative_to(ROOT)))
        for page in PAGES
        if any(name == language for name, _ in blocks(page))
    ]


def assert_shown(shown: str, printed: str, figures: bool = True) -> None:
    """Every shown line was printed, in this order. Spaces do not matter, last digits neither."""
    if not figures:
        shown, printed = NUMBER.sub("0", shown), NUMBER.sub("0", printed)
    rest = iter(printed.splitlines())
    for line in shown.splitlines():
        if line.strip() not in ("", "…"):
            assert any(alike(line, other) for other in rest), f"not printed: {line}\n\n{printed}"


def alike(shown: str, printed: str) -> bool:
    if NUMBER.sub("#", shown).split() != NUMBER.sub("#", printed).split():
        return False
    pairs = zip(NUMBER.findall(shown), NUMBER.findall(printed), strict=True)
    return all(a == b or float(a) == pytest.approx(float(b), rel=0.02) for a, b in pairs)


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("mean  3.10 of 5", "mean 3.11 of 5  ", True),
        ("mean 3.1 of 5", "mean 3.9 of 5", False),
        ("mean 3.1", "median 3.1", False),
        ("-2.85e-04, below", "-2.86e-04, below", True),
    ],
)
def test_lines_are_compared_with_a_tolerance_for_rounding(shown: str, printed: str, same: bool):
    assert alike(shown, printed) is same


@pytest.mark.parametrize("page", with_language("python"))
def test_python_blocks(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Blocks of a page share their names; a `text` block after one is what it prints.

    Blocks marked `py` take minutes and are not run.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    names: dict[str, object] = {"__name__": "__main__"}
    printed = None
    for language, content in blocks(page):
        if language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as stream:
                exec(compile(content, str(page), "exec"), names)
            printed = stream.getvalue()
        elif language == "text" and printed is not None:
            assert_shown(content, printed)
            printed = None


@pytest.mark.usefixtures("unchecked")  # as users run it
@pytest.mark.parametrize("page", with_language("console"))
def test_console_blocks(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The commands of a page are run one after the other in one folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    commands = re.split(
        r"^\$ ",
        "".join(text for language, text in blocks(page) if language == "console"),
        flags=re.M,
    )[1:]
    code = None
    for i, command in enumerate(commands):
        line, _, shown = command.partition("\n")
        if line == "echo $?":
            assert shown.strip() == str(code), f"exit code of {commands[i - 1]}"
            continue
        code, printed = run_etairl(shlex.split(line))
        asked = i + 1 < len(commands) and commands[i + 1].startswith("echo $?")
        assert code == 0 or asked, f"{line} ended with {code}\n{printed}"
        if "bench" not in line:
            assert_shown(shown, printed, figures=line.split()[1] not in TRAINING)


def run_etairl(words: list[str]) -> tuple[int, str]:
    assert words[0] == "etairl", f"only etairl is run here, not {words[0]}"
    if words[1] == "bench":  # its figures belong to a machine; tests/test_bench.py has the rest
        words = [*words, "--help"]
    done = call(*words[1:])
    return done.returncode, done.stdout + done.stderr


def distance_and_last_frame(spec: str, method: Method) -> tuple[float, float]:
    facts = summarise_law(FutureSampler(parse_eta(spec), method=method).law(500))
    return 100 * facts["tv_from_uniform"], facts["last_frame_factor"]


def test_table_of_weightings():
    row = re.compile(r"^\| `(\S+)` \| ([\d.]+) % \| ([\d.]+) % \| ([\d.]+) \| ([\d.]+) \|$", re.M)
    rows = row.findall((ROOT / "docs/concepts/eta.md").read_text())
    assert len(rows) == 12
    for spec, *shown in rows:
        two_stage, exact = (distance_and_last_frame(spec, m) for m in get_args(Method))
        found = (two_stage[0], exact[0], two_stage[1], exact[1])
        assert [float(x) for x in shown] == pytest.approx(found, abs=0.00501), spec


@pytest.mark.parametrize("method", get_args(Method))
def test_table_of_kappas_among_the_results(method: Method):
    text = (ROOT / "docs/results.md").read_text()
    kappas = re.findall(r"[\d.]+", re.search(r"^\| κ \|(.*)$", text, re.M)[1])
    shown = re.findall(r"([\d.]+) %", re.search(rf"^\| `{method}`, (.*)$", text, re.M)[1])
    found = [distance_and_last_frame(f"geometric:{kappa}", method)[0] for kappa in kappas]
    assert [float(x) for x in shown] == pytest.approx(found, abs=0.00501)


@pytest.mark.parametrize("page", ["paper-map.md", "errata.md", "notation.md"])
def test_named_modules_and_tests_exist(page: str):
    """A test that is named exists; so does a module, unless its line says planned."""
    for number, line in enumerate((ROOT / "docs" / page).read_text().splitlines(), 1):
        for test in re.findall(r"tests/[\w/]+\.py", line):
            assert (ROOT / test).is_file(), f"{page}:{number} names {test}"
        if "planned" not in line:
            for module in re.findall(r"`(etairl(?:\.\w+)+)`", line):
                assert find_spec(module) is not None, f"{page}:{number} names {module}"


def test_links_of_the_readme_lead_somewhere():
    text = (ROOT / "README.md").read_text()
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (ROOT / target).exists(), target
