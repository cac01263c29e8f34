"""`make sbom`: a software bill of materials (CycloneDX 1.5, JSON) of what is installed here.

Name, version, licence and dependencies of `etairl` and of everything that it pulls in, with the
SHA-256 of the lock's files where the lock has them. Equal environments, equal bytes.
"""

import json
import re
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


def plain(name: str) -> str:
    """The name of a package as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def needed(package: Distribution, extras: frozenset[str]) -> dict[str, frozenset[str]]:
    """What a package needs on this machine, and with which extras."""
    found: dict[str, frozenset[str]] = {}
    for line in package.requires or ():
        wanted = Requirement(line)
        asked = [{"extra": extra} for extra in extras or {""}]
        if wanted.marker is None or any(wanted.marker.evaluate(one) for one in asked):
            name = plain(wanted.name)
            found[name] = found.get(name, frozenset()) | frozenset(wanted.extras)
    return found


def installed(root: str, extras: frozenset[str]) -> dict[str, tuple[Distribution, list[str]]]:
    """Packages by name, each with the names of those that it needs; what is absent is left out."""
    found: dict[str, tuple[Distribution, list[str]]] = {}
    seen: dict[str, frozenset[str]] = {}
    todo = [(root, extras)]
    while todo:
        name, asked = todo.pop()
        asked |= seen.get(name, frozenset())
        if seen.get(name) == asked and name in found:
            continue
        try:
            package = distribution(name)
        except PackageNotFoundError:
            continue
        seen[name] = asked
        below = needed(package, asked)
        found[name] = package, sorted(below)
        todo += list(below.items())
    return {name: (p, [n for n in below if n in found]) for name, (p, below) in found.items()}


def locked_hashes(lock: Path) -> dict[tuple[str, str], list[str]]:
    """SHA-256 of the files of each package and version, as the lock has them."""
    found: dict[tuple[str, str], list[str]] = {}
    for part in re.split(r"\n(?=\S)", lock.read_text()):
        name, version = part.split()[0].split("==")
        found[plain(name), version] = _HASH.findall(part)
    return found


def licence(package: Distribution) -> list[dict[str, Any]]:
    """As the package says it, in one line."""
    about = package.metadata
    said = about.get("License-Expression") or about.get("License") or ""
    said = said.strip().splitlines()[0][:200] if said.strip() else ""
    if not said:
        kinds = [c.split(" :: ")[-1] for c in about.get_all("Classifier") or () if "License" in c]
        said = " and ".join(kinds)
    return [{"license": {"name": said}}] if said else []


def bill(root: str = "etairl", extras: frozenset[str] = frozenset()) -> dict[str, Any]:
    """The bill of materials of a package that is installed here."""
    packages, hashes = installed(root, extras), locked_hashes(ROOT / "requirements.lock")
    links = {name: f"pkg:pypi/{name}@{p.version}" for name, (p, _) in packages.items()}

    def component(name: str) -> dict[str, Any]:
        package, _ = packages[name]
        locked = hashes.get((name, package.version), ())
        part = {
            "type": "application" if name == root else "library",
            "bom-ref": links[name],
            "name": name,
            "version": package.version,
            "purl": links[name],
            "licenses": licence(package),
            "properties": [{"name": "lock:sha256", "value": s} for s in locked],
        }
        return {key: value for key, value in part.items() if value}

    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": component(root)},
        "components": [component(name) for name in sorted(packages) if name != root],
        "dependencies": [
            {"ref": links[name], "dependsOn": [links[n] for n in packages[name][1]]}
            for name in sorted(packages)
        ],
    }


def main(arguments: list[str]) -> int:
    """Write the bill to a file; further arguments are extras."""
    target, *extras = arguments
    made = bill(extras=frozenset(extras))
    Path(target).write_text(json.dumps(made, indent=2, ensure_ascii=False) + "\n")
    print(f"{len(made['components'])} packages → {target}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
