"""A browser without a window, to look at pages as visitors do."""

import html
import shutil
import subprocess
from pathlib import Path

import pytest

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")


# The frame's elements take the place of its surroundings, so that `--dump-dom` shows them.
_FRAME = """<!doctype html>
<meta charset="utf-8"><meta name="color-scheme" content="light dark">
<body><iframe width="390" height="844" style="border: 0" srcdoc="{}"></iframe>
<script>
addEventListener("load", () => {{
  document.documentElement.innerHTML = frames[0].document.documentElement.innerHTML;
}});
</script>"""


def on_a_phone(page: Path) -> Path:
    """The page in a frame of 390 pixels; a window has never less than 500."""
    framed = page.with_name(f"phone-{page.name}")
    framed.write_text(_FRAME.format(html.escape(page.read_text())))
    return framed


def browse(page: Path, tmp_path: Path, *options: str) -> tuple[str, str]:
    """The page's elements after its scripts, spaces all alike, and what the console had to say."""
    assert CHROMIUM is not None
    flags = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--enable-logging=stderr",
    ]
    done = subprocess.run(
        [CHROMIUM, *flags, f"--user-data-dir={tmp_path / 'profile'}", *options, page.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    said = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return done.stdout.replace("&nbsp;", " "), "\n".join(said)
