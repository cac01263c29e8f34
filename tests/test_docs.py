"""What the documentation says is run, and compared with what it shows."""

import contextlib
import io
import re
import shlex
from importlib.util import find_spec
from pathlib import Path
from typing import get_args

import pytest
import tyro
from programs import call

import etairl
from etairl.algorithms.registry import ALGORITHMS
from etairl.eta import parse_eta
from etairl.measures import FutureSampler, Method, summarise_law

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w*)(?: [^\n]*)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
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


@pytest.mark.slow
@pytest.mark.usefixtures("unchecked")
def test_the_columns_of_etairl_beside_other_libraries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """They belong together, and run as they are, but for the number of transitions."""
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs/coming-from.md").read_text().replace("300_000", "2000")
    columns = re.findall(r'^```py title="etairl"\n(.*?)^```$', text, re.M | re.S)
    names: dict[str, object] = {"observation": [1.0, 0.0, 0.0]}
    with contextlib.redirect_stdout(io.StringIO()) as stream:
        for column in columns:
            exec(column, names)
    assert len(columns) == 4
    assert "learner, greedy: " in stream.getvalue()


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


@pytest.mark.parametrize("page", ["paper-map.md", "errata.md", "notation.md", "architecture.md"])
def test_named_modules_and_tests_exist(page: str):
    """A test that is named exists; so does a module, unless its line says planned."""
    for number, line in enumerate((ROOT / "docs" / page).read_text().splitlines(), 1):
        for test in re.findall(r"tests/[\w/]+\.py", line):
            assert (ROOT / test).is_file(), f"{page}:{number} names {test}"
        for file in re.findall(r"`((?!tests/|benchmarks/)[\w/]+\.py)`", line):
            assert (ROOT / "src/etairl" / file).is_file(), f"{page}:{number} names {file}"
        if "planned" not in line:
            for module in re.findall(r"`(etairl(?:\.\w+)+)`", line):
                known = module.removeprefix("etairl.") in etairl.__all__ or find_spec(module)
                assert known, f"{page}:{number} names {module}"


def test_the_reference_has_every_module():
    """Commands have a page of their own; what a package re-exports is not shown twice."""
    shown = set(
        re.findall(
            r"^::: (\S+)$",
            "".join(p.read_text() for p in (ROOT / "docs/reference").glob("*.md")),
            re.M,
        )
    )
    shown |= {name.rpartition(".")[0] for name in shown}  # a function or a class alone
    source = ROOT / "src"
    paths = [p.relative_to(source).with_suffix("") for p in (source / "etairl").rglob("*.py")]
    modules = {".".join(p.parts) for p in paths if not p.name.startswith("__")}
    assert not {m for m in modules - shown if not m.startswith("etairl.cli.")}


@pytest.mark.parametrize("name", sorted(ALGORITHMS))
def test_every_algorithm_has_a_page_that_says_the_same_things(name):
    """Its game, pseudo-code, deviations, and what it reached, with a formula and its own name."""
    page = {"gail": "megan"}.get(name, name)
    text = (ROOT / "docs" / "algorithms" / f"{page}.md").read_text()
    sections = re.findall(r"^##+ (.*)$", text, re.MULTILINE)
    for wanted in ("What it solves", "Pseudo-code", "Deviations from the published", "checked"):
        assert any(wanted in section for section in sections), wanted
    assert any(re.search(r"^What (is|single runs) reached", section) for section in sections)
    assert name == "megan" or f"--algorithm {name}" in text  # megan is the default
    assert "$$" in text
    assert ALGORITHMS[name].assumes


def test_the_paper_map_lists_every_module_and_no_other():
    """By its own name or by that of its package; `.name` stands beside the module before it."""
    text = (ROOT / "docs/paper-map.md").read_text().partition("## Modules of this release")[2]
    listed, beside = set(), ""
    for cell in re.findall(r"^\| (`.*?) \|", text, re.M):
        for name in re.findall(r"`([\w.]+)`", cell):
            beside = beside if name.startswith(".") else name.rpartition(".")[0]
            listed.add(beside + name if name.startswith(".") else name)
    source = ROOT / "src"
    paths = [p.relative_to(source).with_suffix("") for p in (source / "etairl").rglob("*.py")]
    modules = {p.parts for p in paths if not p.name.startswith("__")}
    held = {m: {".".join(m[: end + 1]) for end in range(1, len(m))} for m in modules}
    assert not [".".join(module) for module, names in held.items() if not names & listed]
    assert listed <= set().union(*held.values())


def headings(page: Path) -> set[str]:
    """What a link to a place in a page may name: titles, as they are written there, and ids."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
    titles = re.findall(r"^#+ (.*)$", text, re.M)
    plain = {re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in titles}
    return plain | set(re.findall(r'id="([\w-]+)"', text))


def test_links_of_the_readme_lead_somewhere():
    text = (ROOT / "README.md").read_text()
    for target, place in re.findall(r"\]\(([^)#:]+)(?:#([^)]*))?\)", text):
        assert (ROOT / target).exists(), target
        assert not place or place in headings(ROOT / target), f"{target}#{place}"


PICTURE = re.compile(r"!\[(.*?)\]\((?!https?:)(\S+?)\)(?:\{.*?\})?")


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=str(page.relative_to(ROOT)))
        for page in PAGES
        if PICTURE.search(page.read_text())
    ],
)
def test_every_picture_says_what_it_shows_and_the_command_that_made_it(page: Path):
    """In the paragraph below, after the words "Made by"."""
    text = page.read_text()
    for found in PICTURE.finditer(text):
        words, file = found.groups()
        assert words, f"{file} has no words for those who do not see it"
        assert (page.parent / file).is_file(), file
        below = text[found.end() :].strip().split("\n\n")[0]
        _, _, made = below.partition("Made by")
        commands = re.findall(r"`([^`]+)`", made)
        assert commands, f"{file}: no command below it"
        for command in commands:
            check_command(command)


def plain_commands(page: Path) -> list[str]:
    """Lines of blocks that are not run, without their comments."""
    text = "\n".join(content for language, content in blocks(page) if language in ("", "sh"))
    lines = re.sub(r"\\\n\s*", "", text).splitlines()
    commands = [re.split(r"\s#\s|\s{3,}|\s[|>]\s|\s&&\s", line)[0].strip() for line in lines]
    # "etairl resume: …" is what a command says.
    return [c for c in commands if re.match(r"(\w+=\S* )*etairl [\w-]+(?: [^…]*)?$", c)]


@pytest.mark.parametrize(
    "page",
    [pytest.param(p, id=str(p.relative_to(ROOT))) for p in PAGES if plain_commands(p)],
)
def test_commands_that_are_not_run_are_understood(page: Path):
    for command in plain_commands(page):
        check_command(re.sub(r"^(\w+=\S* )+", "", command))


def check_command(command: str) -> None:
    """The program knows these options; a script is there."""
    words = shlex.split(command)
    match words[0]:
        case "python":
            assert (ROOT / words[1]).is_file(), command
        case "chromium":
            pass
        case "etairl":
            assert understood(words[1:]), command
        case other:
            raise AssertionError(f"{other}: not a program that a reader has")


class Understood(BaseException):
    """Raised in the place of what a command would do."""


def understood(words: list[str]) -> bool:
    """Whether a command reads its arguments without complaint; it is stopped there."""
    read = tyro.cli

    def stop(*given, **options):
        read(*given, **options)
        raise Understood

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tyro, "cli", stop)
        try:
            return call(*words).returncode == 0
        except Understood:
            return True


@pytest.mark.parametrize(
    "page", [pytest.param(page, id=str(page.relative_to(ROOT))) for page in PAGES]
)
def test_pages_have_words_of_the_field(page: Path):
    """Those that readers stumbled over."""
    odd = (
        r"in the box (?!\$)|\btroubles?\b|\bis no (?!longer|more|better|μ)[a-z]|"
        r"\bgo(?:es|ing)? on\b|D right\b|everything random|foretold|"
        r"has to say|[Mm]oving pictures|\binvents?\b|\btwins\b"
    )
    text = re.sub(r"there is no", "", page.read_text(), flags=re.I)
    assert not re.findall(odd, text)
