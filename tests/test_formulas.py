"""Formulas of the documentation are set without a network, each of them without an error."""

import ast
import html
import re
from pathlib import Path

import pytest
from browser import browse, needs_chromium

markdown = pytest.importorskip("markdown", reason="the extra docs is not installed")
ROOT = Path(__file__).parents[1]
SCRIPTS = ROOT / "docs" / "javascripts"
PLACE = re.compile(r'<(span|div) class="arithmatex">(.*?)</\1>', re.DOTALL)


def formulas(text: str) -> list[str]:
    """Places of formulas in Markdown, as HTML."""
    extensions = ["tables", "pymdownx.arithmatex", "pymdownx.superfences"]
    settings = {"pymdownx.arithmatex": {"generic": True, "smart_dollar": False}}
    page = markdown.markdown(text, extensions=extensions, extension_configs=settings)
    return [found.group() for found in PLACE.finditer(page)]


def docstrings(module: ast.Module) -> list[str]:
    """Of a module and all that it defines; also texts below fields."""
    return [
        node.value.value
        for node in ast.walk(module)
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    ]


@needs_chromium
@pytest.mark.parametrize("folder", ["docs", "src"])
def test_every_formula_is_set(folder: str, tmp_path: Path):
    """The console stays silent, and no LaTeX is left to be seen."""
    if folder == "docs":
        texts = [p.read_text() for p in sorted((ROOT / "docs").rglob("*.md"))]
    else:
        modules = sorted((ROOT / "src").rglob("*.py"))
        texts = [t for p in modules for t in docstrings(ast.parse(p.read_text())) if "$" in t]
    found = list(dict.fromkeys(place for text in texts for place in formulas(text)))
    assert len(found) > 300
    assert all(re.search(r">\s*\\[(\[].*\\[)\]]\s*<", place, re.S) for place in found)
    page = tmp_path / "formulas.html"
    katex = (SCRIPTS / "katex").as_uri()
    page.write_text(
        f'<!doctype html><meta charset="utf-8"><link rel="stylesheet" href="{katex}/katex.min.css">'
        f'{"".join(found)}<script src="{katex}/katex.min.js"></script>'
        f'<script src="{(SCRIPTS / "formulas.js").as_uri()}"></script>'
    )
    shown, said = browse(page, tmp_path, "--dump-dom", "--host-resolver-rules=MAP * ~NOTFOUND")
    assert not said
    assert shown.count('class="katex-html"') >= len(found)
    wrong = re.findall(r'class="katex-error" title="(.*?)"', shown)
    assert not wrong, html.unescape(wrong[0])


def test_nothing_is_loaded_from_elsewhere():
    """Scripts, styles and fonts lie in the repository, and stay small."""
    settings = (ROOT / "mkdocs.yml").read_text()
    named = re.findall(r"^  - (\S+\.(?:js|css))$", settings, re.M)
    assert len(named) == 4
    for name in named:
        assert (ROOT / "docs" / name).is_file(), name
    assert not re.search(r"https?://", settings)
    styles = (SCRIPTS / "katex" / "katex.min.css").read_text()
    for font in re.findall(r"url\((\S+?\.woff2)\)", styles):
        assert (SCRIPTS / "katex" / font).is_file(), font
    assert (SCRIPTS / "katex" / "LICENSE").is_file()
    assert sum(p.stat().st_size for p in SCRIPTS.rglob("*") if p.is_file()) < 2.5e6
