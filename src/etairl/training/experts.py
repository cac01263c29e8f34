"""The policies of experts: those in the box, and those of one's own runs."""

import json
from pathlib import Path

import jax

from etairl.demos import bundled_demos, load_demos
from etairl.demos.sources import BUNDLED
from etairl.runs import load_tree
from etairl.solvers.sac import SAC
from etairl.tasks import make_task, planned_expert
from etairl.tasks.catalogue import planned_names
from etairl.training.settings import expert_config
from etairl.types import InputError, Policy


def load_expert(source: str | Path) -> Policy:
    """The policy of an expert, as a function of a random generator (or None) and observations.

    Args:
        source: an environment whose expert is in the box, such as `Pendulum-v1`, or that needs
            none to learn, such as `etairl/Navigation-v0`, or the folder of a finished run of
            `etairl expert`.

    Returns:
        The policy that recorded the demonstrations; without a generator its most likely actions.
    """
    planned = planned_expert(str(source))
    if planned is not None:
        return planned
    folder = Path(source)
    recorded = [name for name in bundled_demos() if name.rpartition("-")[0] == str(source)]
    if recorded:
        settings = json.loads((BUNDLED / f"{recorded[0]}.json").read_text())["training"]
        weights, spec = BUNDLED / f"{source}-policy.safetensors", load_demos(recorded[0]).spec
    elif (folder / "policy.safetensors").is_file() and (folder / "config.json").is_file():
        settings = json.loads((folder / "config.json").read_text())
        if "judge_every" not in settings:
            raise InputError(f"{folder} is no run of `etairl expert`; see etairl.Result")
        weights = folder / "policy.safetensors"
        spec = make_task(settings["env"], 1, horizon=settings["horizon"]).spec
    else:
        weighed = (path.name for path in BUNDLED.glob("*-policy.safetensors"))
        learned = [name.removesuffix("-policy.safetensors") for name in weighed]
        known = ", ".join(sorted([*learned, *planned_names()]))
        raise InputError(
            f"no expert {source}: name an environment in the box ({known}), or the folder of a "
            "finished run of `etairl expert`"
        )
    solver = SAC(expert_config(settings).sac, spec)
    fresh = solver.init(jax.random.key(0))
    actor, normaliser = load_tree(weights, (fresh.actor, fresh.normaliser))
    return solver.policy(fresh._replace(actor=actor, normaliser=normaliser))
