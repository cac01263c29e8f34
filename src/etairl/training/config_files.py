"""Settings of runs as files keep them; a file that names code is read only with the user's word."""

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from etairl.algorithms.expert import ExpertConfig
from etairl.algorithms.registry import cost_kinds
from etairl.decoding import decode
from etairl.demos.sources import is_missing
from etairl.regularisers import Entropy, KullbackLeibler
from etairl.runs import no_run
from etairl.solvers.players import SOLVERS
from etairl.storage import read_json
from etairl.training.settings import TrainConfig
from etairl.types import InputError

_CLASSIFIER = (
    *("hidden_d", "activation_d", "lr_d", "gradient_penalty", "gradient_target", "spectral_norm"),
    *("entropy_bonus", "label_smoothing", "weight_decay", "input_noise"),
)
_PLAY = ("solver_updates", "solver_batch", "critic_cycles")


def read_config(run: Path, trust: bool = False, named: Collection[str] = ()) -> TrainConfig:
    """The settings of a run directory.

    Args:
        run: the run directory.
        trust: the user allows code that the file names to be imported.
        named: code that the user has named in this very command.
    """
    if not (run / "config.json").is_file():
        raise InputError(no_run(run))
    data = read_json(run / "config.json")
    if "judge_every" in data and "girl" not in data:
        raise InputError(
            f"{run} is a run of `etairl expert`, which imitates nobody; to resume it, or to record "
            "again, run the same `etairl expert` command again"
        )
    return config_from(data, run / "config.json", trust, named)


def read_finished(run: Path, trust: bool = False) -> TrainConfig:
    """The settings of a finished run, wherever its folder is now.

    Demonstrations that are no longer where they were may stand beside its config.json.
    """
    config = read_config(run, trust)
    if not is_missing(config.demos):
        return config
    beside = run / Path(config.demos).name
    if os.path.isfile(beside):
        return replace(config, demos=str(beside.resolve()))
    raise InputError(
        f"{run}: the demonstrations it learned from are not here; put {beside.name} beside its "
        "config.json (etairl.load and etairl export need none)"
    )


def config_from(
    data: Any, file: Path, trust: bool = False, named: Collection[str] = ()
) -> TrainConfig:
    """Settings from the JSON object that a file holds, also of version 0.1."""
    if isinstance(data, dict) and "sac" in data:
        data = _from_0_1(data, file)
    try:
        kinds = {"solver": SOLVERS, "cost": cost_kinds()}
        players = {name: _player(data, name, known) for name, known in kinds.items()}
        config = decode(TrainConfig, data, "the file", players)
    except InputError as error:
        raise InputError(
            f"{file}: {error}; is it damaged, or of another version (see versions.json)?"
        ) from None
    check_trust(config, file, trust, named)
    return config


def _player(data: Any, name: str, known: Mapping[str, Callable[..., Any]]) -> Any:
    part = data.get(name) if isinstance(data, dict) else None
    kind = part.get("kind") if isinstance(part, dict) else None
    if not isinstance(kind, str) or kind not in known:
        raise InputError(f"it has no settings of a {name} that this version knows; train it again")
    return decode(known[kind], part, name)


def code_in(config: TrainConfig) -> list[str]:
    """What of a user's own code the settings name: an environment, a feature map."""
    own = [config.env] if ":" in config.env else []
    return [*own, *config.cost.code(), *config.solver.code()]


def trust_option(config: TrainConfig) -> str:
    """What a command that reads these settings from a file must say, behind a space; or nothing."""
    return " --trust" if code_in(config) else ""


def check_trust(config: TrainConfig, file: Path, trust: bool, named: Collection[str] = ()) -> None:
    """Refuse a file that names code, unless the user allows it."""
    _refuse_code([code for code in code_in(config) if code not in named], file, trust)


def _refuse_code(names: list[str], file: Path, trust: bool) -> None:
    if names and not trust:
        raise InputError(
            f"{file} names code of its own ({', '.join(names)}), which would be imported; if you "
            "trust it, say --trust (in Python: trust=True)"
        )


def expert_config(data: Any, file: Path, trust: bool = True) -> ExpertConfig:
    """Settings of an expert as its run directory and its card keep them."""
    config = decode(ExpertConfig, data, str(file))
    _refuse_code([config.env] if ":" in config.env else [], file, trust)
    return config


def _from_0_1(data: dict[str, Any], file: Path) -> dict[str, Any]:
    """The settings of version 0.1 in today's shape."""
    old = _DEFAULTS_0_1 | data
    try:
        girl, cost, linear, sac = (dict(old[name]) for name in ("girl", "cost", "linear", "sac"))
        linear = {"radius": 1.0} | linear
        play = {name: girl.pop(name) for name in _PLAY}
        play |= {"warm_start": old.pop("warm_start"), "cloning": old.pop("cloning")}
        plain = {"play": play, "sac": sac}
        kind = old["solver"]
        old["solver"] = (
            {"kind": "sac", **plain} if kind == "sac" else {"kind": kind, "plain": plain}
        )
        network = {name: cost[name] for name in _CLASSIFIER}
        seen = {"inputs": cost["inputs"]}
        old["cost"] = {
            "megan": {"kind": "discriminator", **seen, "form": cost["form"], "network": network},
            "emma": {"kind": "linear", "weights": "ball", **seen, **linear},
            "wiem": {"kind": "linear", "weights": "simplex", **seen, **linear},
            "airl": {"kind": "shaped", "network": network},
        }["megan" if old["algorithm"] == "gail" else old["algorithm"]]
        if old.pop("anchor"):
            old["omega"] = KullbackLeibler.name
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{file} is not one of version 0.1 either: {error!r}"[:300]) from None
    return {name: value for name, value in old.items() if name not in ("sac", "linear")} | {
        "girl": girl
    }


_DEFAULTS_0_1 = {
    "cloning": 0.0,
    "omega": Entropy.name,
    "solver": "sac",
    "frozen_cost": None,
    "linear": {
        "features": "quadratic",
        "radius": 1.0,
        "both_signs": True,
        "cost_step": "closed",
        "cost_rate": 0.1,
    },
    "idle": None,
    "idle_share": 0.5,
    "idle_warmup": 0,
    "idle_gate": 4.0,
    "generator": {
        "hidden_idle": [64, 64, 64],
        "activation_idle": "relu",
        "idle_noise": 16,
        "idle_steps": 10_000,
        "idle_batch": 256,
        "lr_idle": 4e-3,
        "idle_penalty": 1.0,
        "idle_average": 0.999,
    },
}
"""settings that the first runs of version 0.1 did not write down, with what they ran with"""
