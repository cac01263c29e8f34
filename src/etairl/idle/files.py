"""A generator on disk: what it is and how good as idle.json, weights and units as safetensors."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import jax

from etairl.decoding import decode
from etairl.eta import parse_eta
from etairl.evaluation.generated_futures import Futures
from etairl.idle.generator import Generator, IdleConfig, Units
from etairl.idle.learning import IdleState
from etairl.idle.quality import Trained
from etairl.measures import FutureSampler
from etairl.storage import checksum, read_bytes, read_json, write_atomic, write_json
from etairl.trees import tree_bytes, tree_from
from etairl.types import InputError
from etairl.types.task_space import Mend

_WEIGHTS, _ABOUT = "idle.safetensors", "idle.json"


def _checksum(about: dict[str, Any], weights: bytes) -> str:
    return checksum(json.dumps(about, sort_keys=True).encode() + weights)


def has_generator(folder: Path) -> bool:
    """Whether one was saved here."""
    return (folder / _WEIGHTS).is_file()


def save_generator(folder: Path, trained: Trained, config: IdleConfig) -> None:
    """What it is and what it is worth as idle.json, then weights and units as idle.safetensors."""
    generator, units = trained.generator, trained.generator.units
    about = {
        "eta": str(generator.sampler.eta),
        "gamma_irl": generator.sampler.gamma_irl,
        "sampler": generator.sampler.method,
        "choice": generator.sampler.choice,
        "sizes": [len(units.state_mean), len(units.lowest)],
        "config": asdict(config),
        "quality": asdict(trained.quality),
    }
    weights = tree_bytes((generator.network, units))
    write_json(folder / _ABOUT, about | {"sha256": _checksum(about, weights)})
    write_atomic(folder / _WEIGHTS, weights)


def load_generator(folder: Path, mend: Mend | None = None) -> Trained:
    """As it was saved."""
    file = folder / _ABOUT
    about, weights = read_json(file), read_bytes(folder / _WEIGHTS)
    if about.pop("sha256", None) != _checksum(about, weights):
        raise InputError(
            f"{file}: the checksum of the generator is wrong; remove {_ABOUT} and {_WEIGHTS}, and "
            "it is trained again"
        )
    try:
        config = decode(IdleConfig, about["config"], f"{file}: its config")
        quality = decode(Futures, about["quality"], f"{file}: its quality")
        method, choice = about["sampler"], about["choice"]
        sampler = FutureSampler(parse_eta(about["eta"]), about["gamma_irl"], method, choice)
        obs, act = about["sizes"]
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(f"{file}: cannot be read ({error!r})") from None
    like = IdleState.start(config, jax.random.key(0), Units.blank(obs, act))
    network, units = tree_from(folder / _WEIGHTS, weights, (like.averaged, like.units))
    return Trained(Generator(network, units, sampler, mend), quality)
