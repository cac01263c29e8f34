"""`--config FILE` and `--dry-run`: the settings of a run as TOML, by their flat names."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

import tomlkit

from etairl import __version__
from etairl.costs.maps import Own, parse_features
from etairl.studies.toml_source import FAILURES, TomlSource, reason
from etairl.tasks.environments import imported
from etairl.training.config_files import check_trust
from etairl.training.flat import configure, flatten
from etairl.training.presets import preset
from etairl.training.settings import TrainConfig
from etairl.types import InputError


def read_settings(file: Path, trust: bool = False, named: Collection[str] = ()) -> TrainConfig:
    """The settings that a TOML file asks for, from a preset that it may name.

    Demonstrations and runs in it are looked for beside it. Code that it names is imported with the
    user's word alone.
    """
    source = TomlSource(file)
    given = dict(source.content)
    with source.at("", "preset"):
        start = preset(str(given.pop("preset", "default")))
    settings = {key: source.setting(key, value) for key, value in given.items()}
    _refuse_code(source, settings, trust, named)
    try:
        if "env" in settings:
            imported(settings["env"])
        config = configure(start, **settings)
    except FAILURES as error:
        guilty = next((key for key in settings if key in str(error).split()), "")
        raise source.refuse(reason(error), "", guilty) from None
    check_trust(config, file, trust, named)
    return config


def _refuse_code(
    source: TomlSource, settings: dict[str, Any], trust: bool, named: Collection[str]
) -> None:
    """Before anything is imported, even to ask for a time limit."""
    env, features = settings.get("env", ""), settings.get("features")
    with source.at("", "features"):
        own = features is not None and isinstance(parse_features(features), Own)
    code = {"env": env} if ":" in env else {}
    code |= {"features": features} if own else {}
    for key, text in code.items():
        if text not in named and not trust:
            raise source.refuse(
                f"{text} is code that would be imported; if you trust it, say --trust", "", key
            )


def as_toml(config: TrainConfig) -> str:
    """Every setting of a run, for `read_settings`; no value is "none"."""
    document = tomlkit.document()
    document.add(tomlkit.comment(f"settings of etairl {__version__}: train --config FILE"))
    for name, value in flatten(config).items():
        document.add(name, _plain(value))
    return tomlkit.dumps(document)


def _plain(value: Any) -> Any:
    if value is None:
        return "none"
    return list(value) if isinstance(value, tuple) else value


def refuse_two_starts(**starts: object) -> None:
    """A run starts from one thing: a preset, a file, or a run."""
    given = [f"--{name}" for name, value in starts.items() if value is not None]
    if len(given) > 1:
        raise InputError(
            f"{' and '.join(given)} both say where the settings start from; leave one out"
        )
