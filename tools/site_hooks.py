"""What the documentation needs beside its pages; `mkdocs.yml` names this file."""

import re
import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

sys.path.append(str(Path(__file__).parent))
from notebooks import page as page_of
from notebooks import read


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """A page, with its pictures, for every notebook."""
    for file in files.documentation_pages() + files.media_files():
        if file.src_uri.endswith(".ipynb"):
            path = Path(file.src_uri)
            text, pictures = page_of(path.stem, read(Path(config.docs_dir) / path))
            files.append(File.generated(config, str(path.with_suffix(".md")), content=text))
            for name, picture in pictures.items():
                files.append(File.generated(config, str(path.parent / name), content=picture))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Links to a notebook lead to its page; only there it can be downloaded."""
    own = Path(page.file.src_uri).stem
    return re.sub(rf"(?<=\w)(?<!\({own})\.ipynb\)", ".md)", markdown)


def on_page_content(html: str, **_: object) -> str:
    """Formulas stay out of the index: a result of the search would show them as LaTeX."""
    return html.replace('class="arithmatex"', 'class="arithmatex" data-search-exclude')
