"""A model card: a folder with what it takes to load a policy, and a page that a hub reads.

    README.md  config.json  result.json  versions.json  metrics.jsonl
    policy.safetensors  cost.safetensors  …  demonstrations.npz

It is a run directory without what belongs to the machine: `Result`, `load` and every command
that takes a finished run take it, wherever it is moved to.
"""

import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from etairl.decoding import encode, for_json
from etairl.demos import load_demos, save_demos
from etairl.demos.sources import bundled_demos
from etairl.markup import plain_text
from etairl.runs import EVALUATION, RunDirectory, read_metrics, read_result, read_versions
from etairl.storage import read_bytes, reading, write_atomic, write_json
from etairl.training.card_text import CardFacts, card_text
from etairl.training.preparation import Prepared
from etairl.training.preset_changes import without_folders
from etairl.training.settings import TrainConfig
from etairl.types import InputError

_DEMONSTRATIONS = "demonstrations.npz"
_WEIGHTS = (
    *("policy.safetensors", "best-policy.safetensors"),
    *("cost.safetensors", "clone.safetensors"),
)
_OURS = ("result.json", "README.md", "config.json", "metrics.jsonl", _DEMONSTRATIONS, *_WEIGHTS)
_LICENSE = re.compile(r"[a-z0-9.+-]{1,60}")


@dataclass(frozen=True)
class CardOptions:
    """What a card is asked to be."""

    name: str | None = None
    """of the model; algorithm and environment if left out"""
    license: str | None = None
    """of the weights, in the short form of model hubs, for instance mit"""
    with_demonstrations: bool = False
    """put demonstrations of one's own into the folder, too"""
    overwrite: bool = False
    """replace the card that is there"""

    def __post_init__(self):
        if self.license is not None and not _LICENSE.fullmatch(self.license):
            shown = plain_text(self.license)[:60]
            raise InputError(f"{shown!r} is not the short name of a license, such as mit")


def write_card(prepared: Prepared, run: Path, folder: Path, options: CardOptions) -> Path:
    """Write a folder to share a finished run with; returns its card.

    Args:
        prepared: the run.
        run: its folder.
        folder: where to write; it may hold other files.
        options: what is asked for.
    """
    if folder.resolve() == run.resolve():
        raise InputError(f"{folder} is the run itself; choose another folder with -o")
    config, source, origin = _shared(prepared, options.with_demonstrations)
    result = without_folders(for_json(read_result(run)))
    _check_free(folder, options.overwrite)
    versions = {k: plain_text(v) for k, v in read_versions(run).items()}
    name = plain_text(options.name or f"{config.algorithm}-{config.env}")
    rows = _rows(run, result)
    demos = prepared.demos
    facts = CardFacts(name, config, result, rows, versions, demos, source, origin, options.license)
    with reading(run):
        text = card_text(facts)
    for file in _OURS:
        (folder / file).unlink(missing_ok=True)
    for file in _WEIGHTS:
        if (run / file).is_file():
            write_atomic(folder / file, read_bytes(run / file))
    if config.demos == _DEMONSTRATIONS:
        whole = load_demos(prepared.config.demos)
        save_demos(whole, folder / _DEMONSTRATIONS, overwrite=True)
    lines = "".join(json.dumps(row) + "\n" for row in read_metrics(run))
    write_atomic(folder / "metrics.jsonl", lines.encode())
    write_json(folder / "versions.json", versions)
    write_json(folder / "config.json", encode(config))
    write_atomic(folder / "README.md", text.encode())
    write_json(folder / "result.json", result)  # the last one: without it there is no run
    return folder / "README.md"


def _shared(prepared: Prepared, with_demonstrations: bool) -> tuple[TrainConfig, str, str]:
    """Settings without the machine, what the demonstrations are called, where others find them."""
    config = prepared.config
    frozen = config.frozen_cost and Path(config.frozen_cost).name
    shown = config.demos
    source = Path(shown).name
    if shown in bundled_demos():
        source, origin = shown, "They come with etairl."
    elif shown.startswith("minari:"):
        source, origin = shown, "They are a Minari dataset, which whoever plays on needs."
    else:
        origin = (
            "They are not part of this folder: put that file beside `config.json` to evaluate, "
            "render or explain."
        )
    if with_demonstrations and shown not in bundled_demos():
        origin = f"They are in `{_DEMONSTRATIONS}`."
        shown = _DEMONSTRATIONS
    else:
        shown = source
    return replace(config, demos=shown, frozen_cost=frozen), source, origin


def _check_free(folder: Path, overwrite: bool) -> None:
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; name a folder")
    existing = [name for name in _OURS if (folder / name).exists()]
    if existing and not overwrite:
        raise InputError(
            f"{folder} has a {existing[0]} already; choose another folder, or replace it "
            "(--overwrite)"
        )
    if existing and (RunDirectory(folder).begun and not _is_card(folder)):
        raise InputError(f"{folder} is a run and not a card; choose another folder")


def _is_card(folder: Path) -> bool:
    card = folder / "README.md"
    return card.is_file() and read_bytes(card).startswith(b"---\n")


def _rows(run: Path, result: dict[str, Any]) -> list[dict[str, Any]]:
    """Policies in fresh episodes: as a study evaluated them, else as the run did at its end."""
    file = run / EVALUATION
    with reading(file):
        rows = json.loads(read_bytes(file)) if file.is_file() else result.get("fresh")
        return [dict(row) for row in for_json(rows or [])]
