"""Settings by the flat names that they have on the command line and in study files.

`configure` is where a run's settings are settled: what follows from the algorithm, the solver or
the regulariser is filled in once, and then the settings are frozen.
"""

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Any, TypeVar, cast, get_args, get_type_hints

from etairl.algorithms.registry import ALGORITHMS, Algorithm
from etairl.costs.family import CostConfig
from etairl.decoding import checked
from etairl.demos.sources import located
from etairl.eta import parse_eta
from etairl.regularisers import parse_regulariser
from etairl.solvers.players import SOLVERS, family_of
from etairl.solvers.solver import SolverConfig
from etairl.training.horizons import implied_demonstrations, implied_horizon
from etairl.training.presets import preset
from etairl.training.settings import TrainConfig
from etairl.types import InputError, check_choice, did_you_mean

Settings = TypeVar("Settings")


def known() -> dict[str, Any]:
    """The type of every setting, of all solvers and all costs, by its flat name."""
    return _known((TrainConfig, *SOLVERS.values(), *(type(a.cost) for a in ALGORITHMS.values())))


@cache
def _known(parts: tuple[Any, ...]) -> dict[str, Any]:
    hints = {name: hint for part in parts for name, hint in _hints(part)}
    return hints | {"solver": str}


def _hints(cls: Any) -> Iterator[tuple[str, Any]]:
    for name, hint in get_type_hints(cls).items():
        if name not in {f.name for f in fields(cls)} or name == "cost":
            continue
        if is_dataclass(hint):
            yield from _hints(hint)
        else:
            yield name, hint


def flatten(settings: Any) -> dict[str, Any]:
    """Every setting by its flat name."""
    flat: dict[str, Any] = {}
    for f in fields(settings):
        value = getattr(settings, f.name)
        flat |= flatten(value) if is_dataclass(value) else {f.name: value}
        if isinstance(value, SolverConfig):
            flat["solver"] = value.kind
    return flat


def configure(start: TrainConfig | str = "default", **settings: Any) -> TrainConfig:
    """The settings of a run: those of `start`, a preset or a configuration, with some changed.

    Names are those of the command line. What is not given follows from what is: another algorithm
    brings its costs and its weighting, `idle` its weighting, a regulariser without a target a fixed
    temperature, another environment or other demonstrations their length of episodes.

    Args:
        start: the name of a preset, or settings.
        settings: by flat name, for instance `algorithm="gail", hidden=(64, 64)`.
    """
    start = preset(start) if isinstance(start, str) else start
    given = {name: check_setting(name, value) for name, value in settings.items()}
    name = given.pop("algorithm", start.algorithm)
    parts = {
        "girl": start.girl,
        "generator": start.generator,
        "cost": _cost(start, name),
        "solver": _solver(start, given.pop("solver", None) or _default_solver(start, name)),
    }
    plain = {f.name: getattr(start, f.name) for f in fields(start) if f.name not in parts}
    flat = plain | {k: v for part in parts.values() for k, v in flatten(part).items()}
    given = _implied(start, name, flat, given)
    if absent := [name for name in given if name not in flat]:
        raise InputError(
            f"{absent[0]} is not a setting of {name} with the solver {parts['solver'].kind}"
            + _remedy(absent[0], name)
        )
    own = {k: v for k, v in given.items() if k in plain} | {"algorithm": name}
    return replace(start, **own, **{k: _replaced(part, given) for k, part in parts.items()})


def _remedy(setting: str, algorithm: str) -> str:
    """Which solver has the setting, or where to look."""
    for kind, solver in SOLVERS.items():
        if setting in flatten(solver()) and ALGORITHMS[algorithm].goes_with(kind):
            return f"; it is one of {kind}: add --solver {kind}"
    return "; see etairl train --help"


def _cost(start: TrainConfig, name: str) -> CostConfig:
    """The costs of an algorithm, with what the start has under the same names."""
    check_choice("algorithm", name, ALGORITHMS)
    algorithm = ALGORITHMS[name]
    if algorithm.fits(start.cost):
        return start.cost
    apart = (*algorithm.fixed, *algorithm.own, *start.choices.own)
    old = {k: v for k, v in flatten(start.cost).items() if k not in apart}
    return _replaced(algorithm.cost, old)


def _default_solver(start: TrainConfig, name: str) -> str:
    """The solver of an algorithm: its own, else that of the start, else the first that there is."""
    kinds = (start.solver.kind, *SOLVERS)
    return ALGORITHMS[name].solver or next(k for k in kinds if ALGORITHMS[name].goes_with(k))


def _solver(start: TrainConfig, kind: str) -> SolverConfig:
    """A solver; from another one of its family with what that has under the same names."""
    check_choice("solver", kind, SOLVERS)
    if kind == start.solver.kind:
        return start.solver
    solver = SOLVERS[kind]()
    if family_of(solver) != family_of(start.solver):
        return solver
    return _replaced(solver, flatten(start.solver))


def _implied(
    start: TrainConfig, name: str, flat: dict[str, Any], given: dict[str, Any]
) -> dict[str, Any]:
    """What was given, and what follows from it."""
    settings, algorithm = dict(given), ALGORITHMS[name]
    for key in ("eta", "idle"):
        if settings.get(key) is not None:
            settings[key] = str(parse_eta(settings[key]))
    # A run may be asked about from another folder.
    settings["demos"] = located(settings.get("demos", start.demos))
    if "horizon" not in given and ("env" in given or "demos" in given):
        horizon = implied_horizon(settings.get("env", start.env), settings["demos"])
        settings |= {} if horizon is None else {"horizon": horizon}
    if "demonstrations" not in given and "demos" in given:
        many = implied_demonstrations(settings["demos"], start.demonstrations)
        settings["demonstrations"] = many
    if settings.get("idle") is not None:
        settings.setdefault("eta", settings["idle"])
    elif "idle" in settings and start.idle is not None:
        settings.setdefault("eta", algorithm.eta)
    elif name != start.algorithm and not (algorithm.any_eta and start.eta != start.choices.eta):
        # A weighting of its own, unless the start names one that it can take.
        settings.setdefault("eta", algorithm.eta)
    return settings | _temperature(start, algorithm, flat, settings)


def _temperature(
    start: TrainConfig, algorithm: Algorithm, flat: dict[str, Any], given: dict[str, Any]
) -> dict[str, Any]:
    """The price of the regulariser, and its target, where they follow from something else."""
    if "temperature" not in flat:
        return {}
    settled, implied = flat | given, dict[str, Any]()
    if "target_entropy" not in flat:  # it never adapts
        wanted = algorithm.cost.temperature if settled["frozen_cost"] is None else None
        if wanted is None:
            return {}
        fixed = {"temperature": wanted, "last_temperature": 1.0}
        return {name: value for name, value in fixed.items() if name not in given}
    other_omega = settled["omega"] != start.omega
    # A solver of its own comes with a temperature of its own.
    other_costs = not algorithm.solver and algorithm.cost.temperature != start.cost.temperature
    if other_omega or other_costs:
        # They belong to the regulariser, or to the costs, that they were given with.
        implied = {k: None for k in ("temperature", "target_entropy") if k not in given}
    if (settled | implied)["temperature"] is not None:
        return implied
    if algorithm.cost.temperature is not None and settled["frozen_cost"] is None:
        return implied | {"temperature": algorithm.cost.temperature}
    if not parse_regulariser(settled["omega"]).adaptive:
        # An adaptive temperature aims at an entropy or a divergence.
        return implied | {"temperature": settled["first_temperature"]}
    return implied


def _replaced(settings: Settings, changes: Mapping[str, Any]) -> Settings:
    """With those of the changes that are settings of it, at any depth."""
    own: dict[str, Any] = {}
    for f in fields(cast(Any, settings)):
        value = getattr(settings, f.name)
        if is_dataclass(value):
            own[f.name] = _replaced(value, changes)
        elif f.name in changes:
            own[f.name] = changes[f.name]
    return cast(Any, replace)(settings, **own)


def check_setting(name: str, value: Any) -> Any:
    """A value as its setting takes it; "none" stands for no value where that is allowed."""
    hints = known()
    if name not in hints:
        hint = did_you_mean(name, hints, "see etairl train --help")
        raise InputError(f"unknown setting {name!r}; {hint}")
    if value in ("none", "None") and type(None) in get_args(hints[name]):
        return None
    return checked(name, value, hints[name])
