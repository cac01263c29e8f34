"""Demonstrations made worse on purpose: Gaussian noise on what was observed or done."""

from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from etairl.types import InputError, Trajectories, check_choice, check_range, check_seed

NoisyPart = Literal["observations", "actions"]
NO_CONTINUOUS = (
    "there are no continuous actions that noise could be added to; leave --noise out, or add it "
    "with --noise-on observations"
)


@dataclass(frozen=True)
class Noise:
    """How much noise to add, and to what."""

    noise: float = 0.0
    """add Gaussian noise with this standard deviation, in units of each column's own one"""
    noise_on: NoisyPart | None = None
    """what gets the noise: observations or actions"""
    noise_seed: int = 0
    """random seed of the noise"""

    def __post_init__(self):
        check_range(self, "[0, inf)", "noise")
        check_seed(self.noise_seed)
        if self.noise_on is not None:
            check_choice("noise_on", self.noise_on, get_args(NoisyPart))
        if (self.noise > 0.0) != (self.noise_on is not None):
            raise InputError(
                "--noise SIGMA needs --noise-on observations or --noise-on actions, and the other "
                "way round"
            )

    @property
    def note(self) -> str | None:
        """What was done, in a sentence; None where nothing was."""
        if self.noise_on is None:
            return None
        return (
            f"Gaussian noise of {self.noise:g} standard deviations of each column was added to the "
            f"{self.noise_on} (seed {self.noise_seed})"
        )

    def __call__(self, t: Trajectories) -> Trajectories:
        """With the noise; a column that never varies gets none."""
        if self.noise_on is None:
            return t
        names = ("observations", "final_observations", "next_observations")
        if self.noise_on == "actions":
            names = ("actions",)
            if t.act_dim == 0 or t.actions.dtype.kind != "f":
                raise InputError(NO_CONTINUOUS)
        rng = np.random.default_rng(self.noise_seed)
        scale = self.noise * getattr(t, names[0]).astype(np.float64).std(axis=0)
        arrays = {name: getattr(t, name) for name in names}
        return replace(
            t,
            **{
                name: (array + scale * rng.standard_normal(array.shape)).astype(array.dtype)
                for name, array in arrays.items()
                if array is not None
            },
        )
