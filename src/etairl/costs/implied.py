"""The settings of a game without a cost player: the solver itself says what its steps cost."""

from dataclasses import dataclass
from typing import ClassVar

from typing_extensions import override

from etairl.costs.family import Cost, CostConfig
from etairl.experience import World
from etairl.types import InputError


@dataclass(frozen=True)
class ImpliedConfig(CostConfig):
    """Nothing to set: the cost is read from the critics of the solver."""

    kind: ClassVar[str] = "implied"

    @property
    def needs_next(self) -> bool:
        """A critic's reward is about two states."""
        return True

    @override
    def make(self, world: World) -> Cost:
        raise InputError("this cost is one that a solver implies: it goes with --solver iq")
