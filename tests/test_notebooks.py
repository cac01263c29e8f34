"""The notebooks run, at small size, and show what their pages show."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import notebooks
import pytest
from matplotlib import pyplot

FOLDER = Path(__file__).parents[1] / "docs" / "notebooks"
TOOL = Path(notebooks.__file__)
NUMBER = re.compile(r"[-+]?\d[\d.,]*(?:e-?\d+)?")
SMALL: dict[str, dict[str, Any]] = {
    "choosing_eta": {"frequencies": 32},
    "own_demonstrations": {"transitions": 2000, "episodes": 2},
    "own_environment": {"transitions": 2000, "episodes": 2},
    "reading_an_explanation": {"transitions": 2000, "longer": 4000, "episodes": 2},
    "sweeps_on_ray": {"transitions": 2000, "episodes": 2},
}
# Words that follow from numbers.
VERDICT = re.compile(r"\bsignal\b|: (?:real|noise)|, (?:real|noise)|η can .*|less than .*")


def test_every_notebook_is_listed_here():
    assert sorted(path.stem for path in FOLDER.glob("*.ipynb")) == sorted(SMALL)


@pytest.mark.usefixtures("unchecked")  # as users run them
@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.slow if n != "choosing_eta" else ()) for n in SMALL],
)
def test_a_notebook_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Texts are those of its page, but for their numbers; as many pictures."""
    stored = notebooks.read(FOLDER / f"{name}.ipynb")
    if name == "sweeps_on_ray":  # Ray forks, which JAX of this process would not survive
        again = in_a_process(name, tmp_path)
    else:
        again = notebooks.execute(stored, tmp_path, SMALL[name])
    for before, after in zip(stored["cells"], again["cells"], strict=True):
        if before["cell_type"] == "code":
            assert [shown(o) for o in after["outputs"]] == [shown(o) for o in before["outputs"]]


def in_a_process(name: str, folder: Path) -> dict[str, Any]:
    output = folder / "again.json"
    code = (
        "import json, sys, notebooks; from pathlib import Path; "
        "_, path, folder, small, output = sys.argv; "
        "done = notebooks.execute(notebooks.read(Path(path)), Path(folder), json.loads(small)); "
        "notebooks.write(Path(output), done)"
    )
    words = [FOLDER / f"{name}.ipynb", folder, json.dumps(SMALL[name]), output]
    paths = [str(TOOL.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    surroundings = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    subprocess.run([sys.executable, "-c", code, *map(str, words)], check=True, env=surroundings)
    return notebooks.read(output)


def shown(output: dict[str, Any]) -> str:
    """An output without its numbers: a picture, or words."""
    if "image/png" in output.get("data", {}):
        return "a picture"
    text = "".join(output.get("text") or output["data"]["text/plain"])
    return " ".join(NUMBER.sub("#", VERDICT.sub("?", text)).replace("?", "").split())


@pytest.mark.parametrize("name", SMALL)
def test_pages_show_outputs_and_stay_small(name: str):
    path = FOLDER / f"{name}.ipynb"
    notebook = notebooks.read(path)
    text, pictures = notebooks.page(name, notebook)
    assert text.startswith("# ")
    assert pictures
    assert "```text" in text
    assert f"({name}.ipynb)" in text
    assert path.stat().st_size < 200_000
    for cell in notebook["cells"]:
        if any("image/png" in o.get("data", {}) for o in cell.get("outputs", ())):
            assert cell["metadata"]["alt"], "words for those who do not see the picture"
    tags = [t for cell in notebook["cells"] for t in cell["metadata"].get("tags", ())]
    assert tags == ["parameters"]


def test_values_prints_and_plots_become_outputs(tmp_path: Path):
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": ["# T\n", "words"]},
        {"cell_type": "code", "metadata": {"tags": ["parameters"]}, "source": ["n = 1"]},
        {"cell_type": "code", "metadata": {"alt": "a line"}, "source": ["print(n)\nn + 1"]},
    ]
    done = notebooks.execute({"cells": cells}, tmp_path, {"n": 5})
    assert [len(c.get("outputs", ())) for c in done["cells"]] == [0, 0, 2]
    text, pictures = notebooks.page("t", done)
    assert "```text\n5\n```\n\n```text\n6\n```" in text
    assert not pictures
    assert not pyplot.get_fignums()
    with pytest.raises(KeyError, match="no parameters"):
        notebooks.execute({"cells": cells}, tmp_path, {"m": 5})
