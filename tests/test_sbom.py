"""`make sbom`: all that is installed for the package, each once, with whom it needs."""

import json
from importlib.metadata import version

import sbom

import etairl


def test_the_bill_is_complete_and_its_references_hold(tmp_path, capsys):
    assert sbom.main([str(tmp_path / "sbom.json"), "import"]) == 0
    assert "packages → " in capsys.readouterr().out
    made = json.loads((tmp_path / "sbom.json").read_text())
    assert (made["bomFormat"], made["specVersion"]) == ("CycloneDX", "1.5")
    assert made["metadata"]["component"]["version"] == etairl.__version__
    found = {part["name"]: part for part in made["components"]}
    assert len(found) == len(made["components"])
    assert {"numpy", "jax", "h5py", "minari", "pyarrow", "optax"} <= found.keys()
    assert not {"pytest", "ruff", "mkdocs", "torch"} & found.keys()
    assert all(part["version"] == version(name) for name, part in found.items())
    assert all(part["licenses"] for name, part in found.items() if name in ("numpy", "jax"))
    assert all(part["properties"] for part in found.values() if part["name"] in ("numpy", "jax"))
    known = {part["bom-ref"] for part in (*found.values(), made["metadata"]["component"])}
    assert {row["ref"] for row in made["dependencies"]} == known
    assert all(set(row["dependsOn"]) <= known for row in made["dependencies"])


def test_extras_are_left_out_unless_asked_for():
    names = {part["name"] for part in sbom.bill()["components"]}
    assert "pyarrow" not in names
    assert sbom.bill() == sbom.bill()


def test_hashes_are_those_of_the_version_that_is_installed(tmp_path):
    (tmp_path / "lock").write_text(
        f"a-b==1 ; python_version < '3.12' \\\n    --hash=sha256:{'1' * 64}\n"
        f"a_b==2 ; python_version >= '3.12' \\\n    --hash=sha256:{'2' * 64}\n"
    )
    assert sbom.locked_hashes(tmp_path / "lock") == {
        ("a-b", "1"): ["1" * 64],
        ("a-b", "2"): ["2" * 64],
    }
