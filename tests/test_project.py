"""The project keeps its own rules, beside those that `make check` looks after."""

import ast
import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest

import etairl

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "etairl"


def test_versions_agree():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = (ROOT / "CITATION.cff").read_text()
    assert project["version"] == etairl.__version__
    assert f"version: {etairl.__version__}" in citation
    assert f"## [{etairl.__version__}]" in (ROOT / "CHANGELOG.md").read_text()


def test_the_lock_holds_every_dependency_and_no_address():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lock = (ROOT / "requirements.lock").read_text()
    assert "://" not in lock
    locked = {line.split("==")[0] for line in lock.splitlines() if "==" in line}
    wanted = [
        *project["dependencies"],
        *project["optional-dependencies"]["dev"],
        *project["optional-dependencies"]["docs"],
    ]
    names = {re.split(r"[\[<>=]", requirement)[0] for requirement in wanted}
    assert names <= locked


def test_every_file_of_the_lock_has_its_hash_and_installing_verifies_them():
    """Several each: of all platforms, and of the source archive."""
    lock = (ROOT / "requirements.lock").read_text()
    packages = re.split(r"\n(?=\S)", lock.strip())
    assert len(packages) > 100
    for package in packages:
        first, *hashes = re.split(r" \\\n\s+", package)
        assert re.fullmatch(r"\S+==\S+( ; .+)?", first)
        assert hashes, first
        assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", one) for one in hashes), first
    jaxlib = next(package for package in packages if package.startswith("jaxlib=="))
    assert jaxlib.count("--hash") > 10
    makefile = (ROOT / "Makefile").read_text()
    assert "--require-hashes --requirement requirements.lock" in makefile
    assert "--generate-hashes" in makefile


def test_every_dependency_range_is_bounded():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [r for group in project["optional-dependencies"].values() for r in group]
    assert {"ray", "docs", "dev"} <= project["optional-dependencies"].keys()
    for requirement in project["dependencies"] + extras:
        assert ">=" in requirement, requirement
        assert "<" in requirement, requirement


def test_the_python_face_is_what_it_lists():
    for name in etairl.__all__:
        assert getattr(etairl, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = etairl.nonsense


def test_no_file_can_run_code_when_loaded():
    source = "\n".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    assert not re.search(r"allow_pickle\s*=\s*True|\bpickle\.load|\beval\(|\bexec\(", source)


def test_files_stay_short():
    long = {p.name: n for p in SOURCE.rglob("*.py") if (n := len(p.read_text().splitlines())) > 300}
    assert not long


def test_no_two_modules_have_one_name():
    names = Counter(p.stem for p in SOURCE.rglob("*.py") if not p.stem.startswith("__"))
    commands = {p.stem for p in (SOURCE / "cli").glob("*.py")}  # a command has the name of its task
    packages = {p.name for p in SOURCE.rglob("*") if p.is_dir()}
    twins = {name for name, many in names.items() if many > 1} | (names.keys() & packages)
    assert not twins - commands


def test_no_two_public_things_have_one_name():
    """Types, type aliases, constants and functions: what a module could be asked for."""
    homes: dict[str, list[str]] = {}
    for path in SOURCE.rglob("*.py"):
        for name in defined(ast.parse(path.read_text())):
            homes.setdefault(name, []).append(str(path.relative_to(SOURCE)))
    entry_points = {"Config", "run", "main", "WORKS"}
    measures = {"rho", "mu", "future"}  # exact ones of `tabular`, and the samplers of each
    twins = {name: files for name, files in homes.items() if len(files) > 1}
    assert set(twins) <= entry_points | measures, twins


def defined(module: ast.Module) -> set[str]:
    """Public names that a module itself defines."""
    names: list[str] = []
    for node in module.body:
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                names.append(name)
            case ast.AnnAssign(target=ast.Name(id=name)):
                names.append(name)
            case ast.Assign(targets=targets):
                every = [part for target in targets for part in ast.walk(target)]
                names += [part.id for part in every if isinstance(part, ast.Name)]
    return {name for name in names if not name.startswith("_")}


def test_docstrings_say_something_themselves():
    source = "\n".join(path.read_text() for path in SOURCE.rglob("*.py"))
    assert not re.findall(r'"""(?:See `[^`]+`\.?|The command\.)"""', source)


def test_words_of_the_field():
    """Words that readers stumbled over, in code and messages."""
    odd = (
        r"in the box|\btrouble|(?<!there )is no (?!longer|more|μ)|D right\b|everything random|"
        r"foretold|has to say|[Mm]oving pictures|\binvents?\b|\btwins\b"
    )
    found = [
        f"{path.name}: {match}"
        for path in SOURCE.rglob("*.py")
        for match in re.findall(odd, path.read_text())
    ]
    assert not found


def test_results_are_not_called_found_or_there():
    """A variable says what it holds; these say nothing."""
    stored = [
        f"{path.name}:{node.lineno}: {node.id}"
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        if node.id in ("found", "here", "there", "twins", "meant")
    ]
    assert not stored


def test_decisions_are_numbered_without_gaps():
    numbers = sorted(int(p.name[:3]) for p in (ROOT / "docs" / "decisions").glob("[0-9]*.md"))
    assert numbers == list(range(1, len(numbers) + 1))
