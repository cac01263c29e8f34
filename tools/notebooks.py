"""Notebooks of the documentation: run them and keep what they show, or turn one into a page.

    python tools/notebooks.py docs/notebooks/*.ipynb

runs every cell in an empty folder and writes texts and pictures into the notebooks. Jupyter is not
needed, and gives the same. The first code cell tagged `parameters` has the sizes; tests put smaller
ones in their place.
"""

import ast
import base64
import contextlib
import io
import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

_DPI = 80
plt.switch_backend("agg")


def read(path: Path) -> dict[str, Any]:
    """A notebook as it lies on the disk."""
    return json.loads(path.read_text(encoding="utf-8"))


def write(path: Path, notebook: Mapping[str, Any]) -> None:
    """As Jupyter writes it."""
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def execute(
    notebook: Mapping[str, Any], folder: Path, parameters: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Run all cells in a folder; returns the notebook with what they show.

    Args:
        notebook: is not changed.
        folder: where the cells run.
        parameters: take the place of the values of the cell tagged `parameters`.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    cells, count = [], 0
    with contextlib.chdir(folder):
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                count += 1
                outputs = _run("".join(cell["source"]), names, count)
                cell = cell | {"execution_count": count, "outputs": outputs}
                if "parameters" in cell["metadata"].get("tags", ()):
                    strange = (parameters or {}).keys() - names.keys()
                    if strange:
                        raise KeyError(f"the notebook has no parameters {sorted(strange)}")
                    names.update(parameters or {})
            cells.append(cell)
    return {**notebook, "cells": cells}


def _run(source: str, names: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """What a cell prints, its plots, and the value of its last expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    stream = io.StringIO()
    value = None
    with contextlib.redirect_stdout(stream):
        exec(compile(tree, f"cell {count}", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), f"cell {count}", "eval"), names)
    outputs: list[dict[str, Any]] = []
    if printed := stream.getvalue():
        text = printed.splitlines(keepends=True)
        outputs.append({"name": "stdout", "output_type": "stream", "text": text})
    for figure in map(plt.figure, plt.get_fignums()):
        outputs.append({"data": _shown(figure), "metadata": {}, "output_type": "display_data"})
    plt.close("all")
    if value is not None:
        shown = {"execution_count": count, "metadata": {}, "output_type": "execute_result"}
        outputs.append(shown | {"data": _shown(value)})
    return outputs


def _shown(value: Any) -> dict[str, Any]:
    text = {"text/plain": repr(value).splitlines(keepends=True)}
    if not isinstance(value, Figure):
        return text
    picture = io.BytesIO()
    value.savefig(picture, format="png", dpi=_DPI, metadata={"Software": None})
    return {"image/png": base64.b64encode(picture.getvalue()).decode()} | text


def page(name: str, notebook: Mapping[str, Any]) -> tuple[str, dict[str, bytes]]:
    """A notebook as Markdown, and its pictures by their names."""
    parts: list[str] = []
    pictures: dict[str, bytes] = {}
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell["outputs"]:
            data = output.get("data", {})
            if "image/png" in data:
                picture = f"{name}-{len(pictures) + 1}.png"
                pictures[picture] = base64.b64decode(data["image/png"])
                parts.append(f"![{cell['metadata']['alt']}]({picture})")
            else:
                text = "".join(output.get("text") or data["text/plain"]).rstrip()
                parts.append(f"```text\n{text}\n```")
    title, _, rest = "\n\n".join(parts).partition("\n")
    note = f"*This page is a notebook with its outputs: [download it]({name}.ipynb).*"
    return f"{title}\n\n{note}\n{rest}\n", pictures


def main(paths: list[str]) -> int:
    """Run notebooks in empty folders, each in a process of its own; keep what they show."""
    if len(paths) > 1:
        return max(subprocess.call([sys.executable, __file__, path]) for path in paths)
    path = Path(paths[0])
    warnings.filterwarnings("error")
    warnings.filterwarnings("ignore", message=".*non-interactive")  # plt.show()
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        done = execute(read(path), Path(folder))
    write(path, done)
    size, seconds = path.stat().st_size / 1024, time.monotonic() - begin
    print(f"{path}: {size:.0f} kB, {seconds:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
