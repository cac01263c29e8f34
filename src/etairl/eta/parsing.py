"""Weightings in words: `geometric:0.99` and the like."""

import math
from difflib import get_close_matches

from etairl.eta.law import Eta
from etairl.eta.laws import (
    Dirac,
    Geometric,
    Mixture,
    Poisson,
    Table,
    Uniform,
    ZeroModifiedGeometric,
)
from etairl.types import InputError

_FORMS = {
    "dirac": "dirac:0",
    "geometric": "geometric:0.99",
    "uniform": "uniform",
    "poisson": "poisson:25",
    "table": "table:0.2,0.3,0.5",
    "zero-modified": "zero-modified:0.995,0.99",
    "mixture": "mixture:0.5*dirac:0+0.5*poisson:25",
}


def parse_eta(text: str) -> Eta:
    """Read the one-line form of a weighting, such as `geometric:0.99`.

    Args:
        text: `dirac:k`, `geometric:kappa`, `uniform`, `poisson:lam`, `table:p0,p1,…`,
            `zero-modified:beta,gamma` (gamma 0.99 if left out) or `mixture:p*eta+q*eta`.

    Returns:
        The weighting; `str` of it reads back as the same weighting.
    """
    name, colon, rest = text.strip().partition(":")
    if name not in _FORMS:
        close = get_close_matches(name, _FORMS, n=1)
        known = f"it is one of {', '.join(_FORMS.values())}"
        hint = f"did you mean {_FORMS[close[0]]!r}?" if close else known
        raise InputError(f"unknown weighting {text!r}: {hint}")
    if name == "uniform":
        if colon:
            raise InputError(f"'uniform' takes no number, got {text!r}")
        return Uniform()
    if not rest:
        raise InputError(f"{name!r} needs its numbers, for instance {_FORMS[name]!r}")
    if name == "mixture":
        return _parse_mixture(text, rest)
    return _from_numbers(name, text, [_parse_number(text, part) for part in rest.split(",")])


def _from_numbers(name: str, text: str, numbers: list[float]) -> Eta:
    if name == "table":
        return Table(tuple(numbers))
    if name == "zero-modified" and len(numbers) in (1, 2):
        return ZeroModifiedGeometric(*numbers)
    if len(numbers) != 1:
        raise InputError(f"{text!r} has {len(numbers)} numbers; write it like {_FORMS[name]!r}")
    if name == "dirac":
        if numbers[0] != int(numbers[0]):
            raise InputError(f"dirac needs a whole number of steps >= 0, got {text!r}")
        return Dirac(int(numbers[0]))
    return Geometric(numbers[0]) if name == "geometric" else Poisson(numbers[0])


def _parse_mixture(text: str, rest: str) -> Mixture:
    shares, components = [], []
    for part in rest.split("+"):
        share, star, component = part.partition("*")
        if not star:
            raise InputError(f"cannot read {part!r} in {text!r}: write {_FORMS['mixture']!r}")
        shares.append(_parse_number(text, share))
        components.append(parse_eta(component))
    return Mixture(tuple(components), tuple(shares))


def _parse_number(text: str, part: str) -> float:
    try:
        value = float(part)
    except ValueError:
        raise InputError(
            f"cannot read {part!r} in {text!r} as a number; write it like 0.99"
        ) from None
    if not math.isfinite(value):
        raise InputError(f"{part!r} in {text!r} is not a finite number")
    return value
