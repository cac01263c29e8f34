"""Everything that a run needs, loaded and checked before anything is written."""

import hashlib
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from etairl.algorithms.girl import Expert, Girl
from etairl.algorithms.registry import SOLVERS, CostSettings, SolverSettings
from etairl.costs.discriminator import Discriminator
from etairl.costs.family import Cost
from etairl.costs.frozen import Frozen
from etairl.costs.linear import LinearCost
from etairl.demos import Demos, Selection, load_demos
from etairl.demos.sources import located
from etairl.evaluation.futures import Futures
from etairl.evaluation.matching import Reference
from etairl.regularisers import parse_regulariser
from etairl.runs import load_tree
from etairl.solvers.policy import ActionScaling
from etairl.solvers.sac_eta import SACEta
from etairl.tasks import ends_early, make_task, with_absorbing
from etairl.tasks.product import ProductTask, check_tasks
from etairl.training.settings import TrainConfig
from etairl.types import InputError, Spec, Task, Trajectories

_MOST_OUTSIDE = 0.1
"""share of demonstrated actions that may lie beyond the bounds of the environment"""
_MUCH_BEYOND = 0.05
"""share of a weighting beyond the horizon that is worth a remark"""


class Setting(NamedTuple):
    """Everything a run needs that does not change."""

    config: TrainConfig
    demos: Demos
    task: Task
    game: Girl
    expert: Expert
    reference: Reference
    cost: Any
    """the first state of the cost: fresh, or learned in another run"""
    futures: Futures | None = None
    """what the generator of futures is worth, where there is one"""

    @property
    def digest(self) -> str:
        """SHA-256 of what is shown: the observations and the actions of the demonstrations."""
        shown, found = self.demos.trajectories, hashlib.sha256()
        for array in (shown.observations, shown.actions):
            found.update(np.ascontiguousarray(array).tobytes())
        return found.hexdigest()


def at_home_anywhere(config: TrainConfig) -> TrainConfig:
    """With the whole path of a file of demonstrations: a run may be asked from another folder."""
    return replace(config, demos=located(config.demos))


def prepare(
    config: TrainConfig, threads: int | None = None, cost_from: Path | None = None
) -> Setting:
    """Load and check everything before anything is written.

    Args:
        config: what is asked for.
        threads: of the simulator.
        cost_from: a finished run whose cost to begin with; that of `config` if left out.
    """
    select = Selection(config.demonstrations, config.horizon)
    task = make_task(
        config.env,
        config.girl.episodes,
        horizon=config.horizon,
        mode=config.mode,
        seed=config.seed,
        threads=threads,
    )
    if config.idle is not None and task.spec.discrete_actions is not None:
        raise InputError(f"--idle invents continuous actions, those of {config.env} are discrete")
    demos = fitting_demos(config, task, select)
    trajectories = demos.trajectories
    absorbing = config.mode == "absorbing"
    if absorbing:
        trajectories = with_absorbing(trajectories, config.horizon)
    cost = make_cost(config, task.spec)
    omega = parse_regulariser("kl" if config.anchor else config.omega)
    solver = SOLVERS[config.solver](
        SolverSettings(
            *(config.sac, task.spec, absorbing, omega),
            *(config.future.eta, config.horizon, config.cloning),
        )
    )
    game = Girl(config.girl, config.seed, cost, solver, config.future)
    expert = Expert.of(trajectories, ActionScaling(task.spec), cost.needs_next)
    first = game.init(expert).cost
    if cost_from is None and config.frozen_cost is not None:
        cost_from = Path(config.frozen_cost)
    if cost_from is not None:
        first = load_cost(cost_from, cost, first)
    reference = Reference(demos.trajectories, demos.standardiser)
    return Setting(config, demos, task, game, expert, reference, first)


def make_cost(config: TrainConfig, spec: Spec) -> Cost:
    """The cost family of the algorithm; with a frozen cost, what of it can be carried."""
    absorbing = config.mode == "absorbing"
    cost = config.choices.make_cost(
        CostSettings(config.cost, config.linear, spec, absorbing, config.sac.gamma_rl)
    )
    return cost if config.frozen_cost is None else Frozen(cost.portable())


def load_cost(run: Path, cost: Cost, like: Any) -> Any:
    """The learned cost of a finished run; refused where it is not one of the family."""
    file = run / "cost.safetensors"
    if not file.is_file():
        raise InputError(f"{run} has no learned cost ({file} is missing); is it a finished run?")
    state = load_tree(file, cost.stored(like))
    try:
        cost.check(state)
        if isinstance(cost, LinearCost):
            cost.basis.check_same(like.features, state.features)
    except InputError as error:
        raise InputError(f"{file}: {error}") from None
    return state


def fitting_demos(config: TrainConfig, task: Task, select: Selection | None) -> Demos:
    """Demonstrations in the action bounds of the task; refused where they belong to another."""
    demos = load_demos(config.demos, select=select)
    spec = task.spec
    world = spec.obs_dim - (config.mode == "absorbing")
    for name, found, wanted in (
        ("observations", demos.spec.obs_dim, world),
        ("actions", demos.spec.act_dim, spec.act_dim),
    ):
        if found != wanted:
            raise InputError(
                f"{config.demos}: {name} have {found} columns, but {config.env} has {wanted}; "
                "are these demonstrations of this environment?"
            )
    if (spec.discrete_actions is None) != (demos.spec.discrete_actions is None) and (
        spec.discrete_actions is None or demos.trajectories.actions.dtype.kind == "f"
    ):
        whole = np.array_equal(demos.trajectories.actions, np.floor(demos.trajectories.actions))
        if spec.discrete_actions is None or not whole:
            kinds = {True: "continuous", False: "discrete"}
            raise InputError(
                f"{config.demos}: actions are {kinds[demos.spec.discrete_actions is None]}, but "
                f"those of {config.env} are {kinds[spec.discrete_actions is None]}"
            )
    _check_bounds(config, demos, spec)
    if isinstance(task, ProductTask):
        check_demonstrated_tasks(config.demos, demos.trajectories, task)
    try:
        return Demos(demos.trajectories, replace(spec, obs_dim=world), demos.name, demos.clipped)
    except InputError as error:
        raise InputError(f"{config.demos}: {error}") from None


def _check_bounds(config: TrainConfig, demos: Demos, spec: Spec) -> None:
    """Refuse demonstrations whose actions have other bounds, or mostly lie beyond them."""
    if spec.action_low is None or spec.action_high is None:
        return
    low, high = np.asarray(spec.action_low), np.asarray(spec.action_high)
    if demos.spec.action_low is not None and demos.spec.action_high is not None:
        own = np.asarray(demos.spec.action_low), np.asarray(demos.spec.action_high)
        if not (np.allclose(own[0], low) and np.allclose(own[1], high)):
            raise InputError(
                f"{config.demos}: its actions have bounds {_interval(*own)}, those of {config.env} "
                f"are {_interval(low, high)}; rescale them, or write them anew with the right "
                "--bounds (etairl demos import)"
            )
        return
    outside = ((demos.trajectories.actions < low) | (demos.trajectories.actions > high)).any(axis=1)
    if outside.mean() > _MOST_OUTSIDE:
        raise InputError(
            f"{config.demos}: {100 * outside.mean():.0f} % of its actions lie beyond the bounds "
            f"{_interval(low, high)} of {config.env}; are they in other units?"
        )


def _interval(low: np.ndarray, high: np.ndarray) -> str:
    return f"[{low.min():g}, {high.max():g}]"


def check_demonstrated_tasks(source: str, t: Trajectories, task: ProductTask) -> None:
    """Refuse demonstrations whose tasks are missing, of another size, or not those observed."""
    environment = task.spec.environment
    if t.tasks is None:
        raise InputError(
            f"{source}: these demonstrations have no tasks, but {environment} has many; store the "
            "task of each episode as `tasks`, or record some with `etairl expert`"
        )
    try:
        tasks = check_tasks(task.space, t.tasks, environment)
    except InputError as error:
        raise InputError(f"{source}: {error}") from None
    seen = t.observations[:, -task.space.dim :]
    wrong = ~np.isclose(seen, tasks[t.episode_numbers], rtol=1e-5, atol=1e-5).all(axis=1)
    if wrong.any():
        episode = int(t.episode_numbers[np.argmax(wrong)])
        raise InputError(
            f"{source}: the observations of episode {episode} do not end with its task"
        )


def remarks(setting: Setting) -> list[str]:
    """What should be known before a run learns: of its data, solver, cost and features."""
    said = _on_the_demonstrations(setting) + _on_the_solver(setting) + _on_the_cost(setting)
    cost = setting.game.cost
    if not isinstance(cost, LinearCost):
        return said
    return said + cost.basis.remarks(setting.cost.features, setting.expert.points())


def _on_the_cost(setting: Setting) -> list[str]:
    config, cost, said = setting.config, setting.game.cost, []
    idle = [
        f"--{name.replace('_', '-')}"
        for part in (config.cost, config.linear)
        for name, value in asdict(part).items()
        if name in config.choices.unused and value != getattr(type(part)(), name)
    ]
    if idle:
        said.append(f"no effect on {config.algorithm}: {', '.join(idle)}")
    cost = cost.cost if isinstance(cost, Frozen) else cost
    below = isinstance(cost, Discriminator) and cost.config.form == "log_d"
    if config.mode == "terminating" and ends_early(config.env) and not below:
        said.append(
            f"this cost can be above 0, and where episodes of {config.env} end early it is paid no "
            "more: a learner may find that dying pays; --mode absorbing keeps it from that"
        )
    return said


def _on_the_demonstrations(setting: Setting) -> list[str]:
    demos, horizon = setting.demos, setting.config.horizon
    t, said = demos.trajectories, []
    if demos.clipped:
        said.append(f"{demos.clipped} of {t.steps} demonstrated actions were clipped to the bounds")
    short = (t.lengths < horizon) & ~t.terminated[t.last_rows]
    if short.any():
        said.append(
            f"{short.sum()} of {len(t)} demonstrations were cut before {horizon} steps, the "
            "horizon of the learner: the two sides see different times; lower --horizon"
        )
    return said


def _on_the_solver(setting: Setting) -> list[str]:
    config = setting.config
    if config.solver != "sac-eta":
        return []
    beta = config.future.eta.discount(config.sac.gamma_rl)
    said = []
    if beta is not None:
        said.append(f"with eta {config.eta}, sac-eta is sac with discount {beta:g}: one critic")
    solver, beyond = setting.game.solver, config.future.eta.tail(config.horizon) or 0.0
    if isinstance(solver, SACEta) and solver.clock.face.shape[1] and beyond > _MUCH_BEYOND:
        said.append(
            f"{beyond:.0%} of eta {config.eta} lie beyond the horizon of {config.horizon} steps: "
            "for sac-eta they lie at its end"
        )
    if config.gamma_irl != config.sac.gamma_rl:
        said.append(
            f"the cost weighs time with gamma_irl {config.gamma_irl:g}, sac-eta with gamma_rl "
            f"{config.sac.gamma_rl:g}: the players have different criteria unless these are equal"
        )
    return said
