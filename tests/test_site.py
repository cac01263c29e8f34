"""The site of the documentation as a visitor without a network sees it, on a phone."""

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import markdown
import pytest
from browser import needs_chromium
from devtools import driven

ROOT = Path(__file__).parents[1]
LEFT = (
    "document.querySelectorAll('.arithmatex').length - document.querySelectorAll('.katex').length"
)
# As a hosting site sets a README: sizes and distances.
STYLE = """
body { margin: 0; font: 16px/1.5 "Segoe UI", "Noto Sans", Helvetica, Arial, sans-serif }
article { width: 1012px }
h1 { font-size: 2em; line-height: 1.25; margin: 0 0 16px; padding-bottom: 9px }
h1 { border-bottom: 1px solid }
p, ul, table, pre { margin: 0 0 16px }
li + li { margin-top: 4px }
table { border-collapse: collapse } th, td { padding: 6px 13px; border: 1px solid }
code, pre { font: 85%/1.45 Consolas, "Liberation Mono", monospace } code { padding: 3px 6px }
pre { padding: 16px } pre code { padding: 0; font-size: 100% }
"""


@needs_chromium
def test_the_readme_is_one_screen(tmp_path: Path):
    """Of 1080 pixels, with its clip."""
    text = (ROOT / "README.md").read_text().replace("](docs/", f"]({ROOT.as_uri()}/docs/")
    inner = markdown.markdown(text, extensions=["tables", "fenced_code"])
    file = tmp_path / "readme.html"
    file.write_text(f"<!doctype html><style>{STYLE}</style><article>{inner}</article>")
    with driven() as page:
        page.look(1280, 1080)
        page.open(file.as_uri())
        assert page.js("document.images[0].naturalHeight") > 100
        assert page.js("document.querySelector('article').offsetHeight") <= 1080
        assert page.js("document.querySelectorAll('table').length") == 1
        assert page.js("document.querySelectorAll('li').length") == 5  # limits


def test_the_clip_is_that_of_the_recorded_run():
    """Its record has the command that the README names, and the digest of the file."""
    clip = ROOT / "docs" / "figures" / "cheetah.gif"
    record = json.loads(clip.with_suffix(".json").read_text())
    assert hashlib.sha256(clip.read_bytes()).hexdigest() == record["sha256"]["cheetah.gif"]
    assert clip.stat().st_size < 3_000_000
    (named,) = re.findall(r"`(etairl render [^`]*)`", (ROOT / "README.md").read_text())
    assert record["commands"][-1] == named


@pytest.mark.slow
@needs_chromium
def test_every_page_works_offline_and_fits_a_phone(tmp_path: Path):
    """No request but for files that are there, no formula unset, nothing sticks out."""
    words = ["-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(tmp_path / "site")]
    surroundings = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    subprocess.run([sys.executable, *words], cwd=ROOT, env=surroundings, check=True)
    files = sorted((tmp_path / "site").rglob("index.html"))
    assert len(files) > 150
    with driven() as page:
        page.look(390, 844)
        for file in files:
            page.requests.clear()
            page.open(file.as_uri())
            for address in page.requests:
                assert address.startswith("file://"), f"{file}: {address}"
                assert Path(address[7:].partition("?")[0]).is_file(), f"{file}: {address}"
            assert page.console == [], file
            assert page.js(LEFT) <= 0, file
            assert page.js("document.documentElement.scrollWidth") <= 390, file
            footer = page.js("document.querySelectorAll('.md-footer__link').length")
            assert footer >= 1, f"{file}: no link to the previous or the next page"
