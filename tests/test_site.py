"""The site of the documentation as a visitor without a network sees it, on a phone."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from browser import needs_chromium
from devtools import driven

ROOT = Path(__file__).parents[1]
LEFT = (
    "document.querySelectorAll('.arithmatex').length - document.querySelectorAll('.katex').length"
)


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
