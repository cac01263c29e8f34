"""The policies of experts: bundled ones, and those of one's own runs."""

from pathlib import Path

import jax
import numpy as np

from etairl.demos import bundled_demos, load_demos
from etairl.demos.sources import BUNDLED
from etairl.solvers.learned import load_player
from etairl.solvers.sac import SAC
from etairl.storage import read_json
from etairl.tasks import make_task, planned_expert
from etairl.tasks.catalogue import planned_names
from etairl.training.config_files import expert_config
from etairl.training.settings import TrainConfig
from etairl.types import InputError, Policy


def load_expert(source: str | Path, trust: bool = False) -> Policy:
    """The policy of an expert, as a function of a random generator (or None) and observations.

    Args:
        source: an environment whose expert is bundled, such as `Pendulum-v1`, or that needs
            none to learn, such as `etairl/Navigation-v0`, or the folder of a finished run of
            `etairl expert`.
        trust: import code of your own that the run names as its environment.

    Returns:
        The policy that recorded the demonstrations; without a generator its most likely actions.
    """
    planned = planned_expert(str(source))
    if planned is not None:
        return planned
    folder = Path(source)
    recorded = [name for name in bundled_demos() if name.rpartition("-")[0] == str(source)]
    if recorded:
        file = BUNDLED / f"{recorded[0]}.json"
        config = expert_config(read_json(file)["training"], file)
        weights, spec = BUNDLED / f"{source}-policy.safetensors", load_demos(recorded[0]).spec
    elif (folder / "policy.safetensors").is_file() and (folder / "config.json").is_file():
        settings = read_json(folder / "config.json")
        if "judge_every" not in settings:
            raise InputError(f"{folder} is not a run of `etairl expert`; see etairl.Result")
        config = expert_config(settings, folder / "config.json", trust)
        weights = folder / "policy.safetensors"
        spec = make_task(config.env, 1, horizon=config.horizon).spec
    else:
        weighed = (path.name for path in BUNDLED.glob("*-policy.safetensors"))
        learned = [name.removesuffix("-policy.safetensors") for name in weighed]
        known = ", ".join(sorted([*learned, *planned_names()]))
        raise InputError(
            f"no expert {source}: name an environment with a bundled one ({known}), or the folder "
            "of a finished run of `etairl expert`"
        )
    solver = SAC(config.sac, spec)
    fresh = solver.init(jax.random.key(0))
    actor, normaliser = load_player(weights, (fresh.actor, fresh.normaliser))
    return solver.policy(fresh._replace(actor=actor, normaliser=normaliser))


def expert_of(config: TrainConfig) -> Policy | None:
    """The policy behind the demonstrations of a run, where they are bundled, planned or learned."""
    if config.demos not in bundled_demos():
        return None
    policy = planned_expert(config.env)
    if policy is None:
        spec = load_demos(config.demos).spec
        if (BUNDLED / f"{spec.environment}-policy.safetensors").is_file():
            policy = load_expert(str(spec.environment))
    if policy is None or config.mode != "absorbing":
        return policy
    known = policy

    def unmarked(rng: np.random.Generator | None, observations: np.ndarray) -> np.ndarray:
        return known(rng, observations[:, :-1])

    return unmarked
