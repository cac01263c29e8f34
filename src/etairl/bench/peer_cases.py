"""What etairl is compared at with its peers: the same sizes on both sides."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from etairl.demos.sources import BUNDLED

_OURS, _THEIRS = "HalfCheetah-v5", "HalfCheetah-v4"
"""imitation asks for an old Gymnasium, which has no v5; its episodes never end early"""
_DEMOS = "HalfCheetah-v5-25x500"
_COPIES = 8
_STORED = 100_000


class Library(NamedTuple):
    """A peer."""

    title: str
    environment: str
    """which one it is in"""
    works: str
    packages: tuple[str, ...]


_WORKS = "works_of_baselines.py"
LIBRARIES = {
    "sb3": Library("Stable-Baselines3", "baselines", _WORKS, ("stable-baselines3", "torch")),
    "sbx": Library("SBX", "baselines", _WORKS, ("sbx-rl", "jax")),
    "imitation": Library(
        "imitation", "imitation", "works_of_imitation.py", ("imitation", "stable-baselines3")
    ),
}


class Doer(NamedTuple):
    """Who does what: a work of `timed_works.py`."""

    who: str
    work: str
    settings: dict[str, Any]
    units: int
    """in one repetition"""


class Theirs(NamedTuple):
    """A peer's column of a case."""

    beside: str
    doer: Doer
    note: str = ""
    limit: float | None = None


class Case(NamedTuple):
    """Something that is timed on all sides in turn."""

    what: str
    unit: tuple[str, float]
    """its name, and how many are in a second"""
    ours: Doer
    theirs: tuple[Theirs, ...]
    absent: tuple[tuple[str, str], ...] = ()
    """peers that have nothing comparable, and why"""

    @property
    def doers(self) -> list[Doer]:
        """Ours first."""
        return [self.ours, *(their.doer for their in self.theirs)]


class Start(NamedTuple):
    """Something that fresh processes do until their first cycle is over."""

    what: str
    ours: Doer
    theirs: tuple[Theirs, ...]

    @property
    def doers(self) -> list[Doer]:
        """Ours first."""
        return [self.ours, *(their.doer for their in self.theirs)]


def all_cases(cores: int) -> Iterator[Case]:
    """All but the starts."""
    micro, milli = ("µs", 1e6), ("ms", 1e3)
    ours = {"environment": _OURS, "copies": _COPIES, "cores": cores, "hidden": [64, 64]}
    old = ours | {"environment": _THEIRS}
    yield Case(
        "simulator alone, a step",
        micro,
        Doer("etairl", "simulator", ours, 8000),
        (
            _their("sb3", "simulator", ours, 4000, "its default, one copy after another"),
            _their("imitation", "simulator", old, 4000, "the same, of Gymnasium 0.29"),
        ),
        (("SBX", "has none of its own"),),
    )
    yield Case(
        "rollouts with the policy, a step",
        micro,
        Doer("etairl", "rollouts", ours, 4000),
        (
            _their("sb3", "rollouts", ours | {"library": "sb3"}, 1600),
            _their("sbx", "rollouts", ours | {"library": "sbx"}, 1600),
            _their("imitation", "rollouts", old, 4000, "policy of PPO"),
        ),
    )
    for width in (64, 128, 256):
        yield _updates(width, milli)
    yield Case(
        "an update of a discriminator",
        milli,
        Doer("etairl", "cost_updates", _gail(cores), 200),
        (_their("imitation", "cost_updates", _their_gail(), 20),),
        (("Stable-Baselines3, SBX", "have none"),),
    )
    stored = {"stored": _STORED, "batch": 256, "sizes": [17, 6], "eta": "geometric:0.99"}
    uniform = {"environment": _OURS, "library": "sb3", "hidden": [64, 64]} | stored
    shown = {"demos": str(BUNDLED / f"{_DEMOS}.npz")} | stored
    plainly = "uniform: it knows no weighting"
    yield Case(
        "a transition drawn by its index",
        micro,
        Doer("etairl", "draws", stored, 256 * 200),
        (
            _their("sb3", "draws", uniform, 256 * 200, plainly),
            _their("imitation", "draws", shown, 256 * 200, plainly),
        ),
        (("SBX", "takes that of Stable-Baselines3"),),
    )
    samples = {"points": 5000, "dims": 23}
    yield Case(
        "MMD² of two samples of 5,000",
        milli,
        Doer("etairl", "distances", samples, 2),
        (
            Theirs(
                "its matrix products alone",
                Doer("etairl", "products", samples, 2),
                "our own, as a measure of it",
                1 / 3,
            ),
        ),
        (("all three", "have none"),),
    )
    replay = {"environment": _OURS, "hidden": [256, 256], "stored": _STORED}
    yield Case(
        f"checkpoint, {_STORED:,} stored",
        milli,
        Doer("etairl", "checkpoint", _gail_off_policy(cores) | {"stored": _STORED}, 5),
        tuple(
            _their(name, "checkpoint", replay | {"library": name}, 3, "all of the replay, unsynced")
            for name in ("sb3", "sbx")
        ),
        (("imitation", "has none to resume from"),),
    )
    yield Case(
        "cycle, GAIL on PPO, a transition",
        micro,
        Doer("etairl", "cycle", _gail(cores), 4000),
        (_their("imitation", "cycle", _their_gail(), 4000, "published settings of Hopper"),),
        (("Stable-Baselines3, SBX", "have none"),),
    )
    yield Case(
        "cycle, GAIL on SAC, a transition",
        micro,
        Doer("etairl", "cycle", _gail_off_policy(cores), 500),
        (_their("imitation", "cycle_off_policy", _their_gail_off_policy(), 500, "SAC of SB3"),),
        (("Stable-Baselines3, SBX", "have none"),),
    )
    own, theirs = _on_rewards(cores)
    yield Case("cycle, SAC on rewards, a transition", micro, own, theirs)


def _their(
    who: str,
    work: str,
    settings: dict[str, Any],
    units: int,
    note: str = "",
    limit: float | None = None,
) -> Theirs:
    return Theirs(LIBRARIES[who].title, Doer(who, work, settings, units), note, limit)


def _updates(width: int, unit: tuple[str, float]) -> Case:
    settings = {"environment": _OURS, "hidden": [width, width], "stored": _STORED}
    theirs = [
        _their(
            library,
            "updates",
            settings | {"library": library, "calls": calls},
            units,
            f"{calls} in a call" + (", its default" if calls == 1 else ""),
            limit,
        )
        for library, limit, units in (("sb3", 5.0, 50), ("sbx", 1.3, 200))
        for calls in (1, units)
    ]
    absent = ("imitation", "takes solvers of Stable-Baselines3")
    what = f"an update of SAC, {width} wide"
    ours = Doer("etairl", "updates", settings, 200)
    return Case(what, unit, ours, tuple(theirs), (absent,))


def _gail(cores: int) -> dict[str, Any]:
    """What imitation published for Hopper, on HalfCheetah."""
    config = {"env": _OURS, "demos": _DEMOS}
    return {"preset": "imitation/hopper", "config": config, "cores": cores}


def _their_gail() -> dict[str, Any]:
    """The same settings in its own words."""
    return {
        "environment": _THEIRS,
        "copies": 8,
        "batch": 4000,
        "hidden": [64, 64],
        "demos": str(BUNDLED / f"{_DEMOS}.npz"),
        "trainer": {
            "demo_batch_size": 128,
            "gen_replay_buffer_capacity": 4000,
            "n_disc_updates_per_round": 8,
        },
        "ppo": {
            "batch_size": 500,
            "clip_range": 0.1,
            "ent_coef": 0.0,
            "gae_lambda": 0.98,
            "gamma": 0.995,
            "learning_rate": 4.4e-5,
            "max_grad_norm": 0.9,
            "n_epochs": 20,
            "vf_coef": 0.2,
        },
    }


_UPDATES, _PAIRS, _LENGTH = 12, 256, 125


def _gail_off_policy(cores: int) -> dict[str, Any]:
    config = {
        "env": _OURS,
        "demos": _DEMOS,
        "algorithm": "gail",
        "horizon": _LENGTH,
        "updates_per_step": 1.0,
        "hidden": (256, 256),
        "layer_norm": False,
        "actor_average": 0.0,
        "cost_updates": _UPDATES,
        "cost_updates_per_step": None,
        "cost_batch": _PAIRS,
        "hidden_d": (32, 32),
        "activation_d": "relu",
        "gradient_penalty": 0.0,
    }
    return {"preset": "off-policy", "config": config, "cores": cores}


def _their_gail_off_policy() -> dict[str, Any]:
    return {
        "environment": _THEIRS,
        "horizon": _LENGTH,
        "demos": str(BUNDLED / f"{_DEMOS}.npz"),
        "sac": {"policy_kwargs": {"net_arch": [256, 256]}},
        "trainer": {
            "demo_batch_size": _PAIRS,
            "gen_train_timesteps": 4 * _LENGTH,
            "gen_replay_buffer_capacity": _STORED,
            "n_disc_updates_per_round": _UPDATES,
        },
    }


def _on_rewards(cores: int) -> tuple[Doer, tuple[Theirs, ...]]:
    settings = {"environment": _OURS, "hidden": [256, 256], "warmup": 100, "cores": cores}
    return Doer("etairl", "cycle_on_rewards", settings, 512), tuple(
        _their(name, "cycle", settings | {"library": name}, 512, "an update in a call")
        for name in ("sb3", "sbx")
    )


def all_starts(cores: int) -> Iterator[Start]:
    """Until the first cycle is over, imports and compiling included."""
    imitation = _their("imitation", "cycle", _their_gail(), 4000)
    yield Start("start of GAIL on PPO", Doer("etairl", "cycle", _gail(cores), 4000), (imitation,))
    yield Start("start of SAC on rewards", *_on_rewards(cores))
