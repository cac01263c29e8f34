"""Everything that a run needs, loaded and checked before anything is written."""

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from etairl.algorithms.girl import Cycle, Generated, Girl, State, as_points, girl
from etairl.buffers import EpisodeBuffer
from etairl.costs.family import Cost
from etairl.costs.frozen import Frozen
from etairl.demos import Demos, Selection
from etairl.evaluation.generated_futures import Futures
from etairl.evaluation.matching import Reference
from etairl.experience import ExpertBuffer, World
from etairl.idle import (
    Trained,
    Watch,
    check_quality,
    check_shown,
    has_generator,
    load_generator,
    nearest_possible,
    save_generator,
    train_generator,
)
from etairl.networks import MLP
from etairl.solvers.cloning import CloningConfig, clone
from etairl.solvers.policy import ActionScaling
from etairl.storage import holds_anything
from etairl.tasks import ends_early, make_task, with_absorbing
from etairl.tasks.column_names import named
from etairl.training.carrying import check_columns, same_demonstrations
from etairl.training.fitting import fitting_demos, other_names
from etairl.training.settings import TrainConfig
from etairl.training.watching import Watched
from etairl.trees import load_tree
from etairl.types import InputError, Task


class Prepared(NamedTuple):
    """Everything a run needs that does not change."""

    config: TrainConfig
    demos: Demos
    task: Task
    game: Girl
    expert: ExpertBuffer
    reference: Reference
    cost: Any
    """the first state of the cost: fresh, or learned in another run"""
    generator: Trained | None = None
    """of the expert's futures, and how good it is, where there is one"""
    watched: Watched | None = None
    """what the run is measured against where it decides something by that"""

    @property
    def digest(self) -> str:
        """SHA-256 of the observations and the actions of the demonstrations, and of their times."""
        t, sha = self.demos.trajectories, hashlib.sha256()
        for array in (t.observations, t.actions, t.spans, t.next_observations):
            if array is not None:
                sha.update(np.ascontiguousarray(array).tobytes())
        return sha.hexdigest()

    @property
    def futures(self) -> Futures | None:
        """How good the generator is."""
        return None if self.generator is None else self.generator.quality

    def begin(self, cloned: bool = True) -> State:
        """Untrained players, or an actor that starts as a clone of the expert.

        Args:
            cloned: train the clone that the solver asks for; shapes are the same without.
        """
        state = self.game.init(self.expert)._replace(cost=self.cost)
        if not self.game.solver.needs_clone:
            return state
        actor, spec = state.solver.actor, self.demos.spec
        widths = tuple(bias.shape[0] for bias in actor.biases)
        if cloned:
            settings = CloningConfig(hidden=widths[:-1], activation=actor.activation)
            actor = clone(self.demos.trajectories, spec, settings, self.config.seed).actor
        else:
            actor = MLP.init(jax.random.key(0), (spec.obs_dim, *widths), actor.activation)
        return state._replace(solver=self.game.solver.from_clone(state.solver, actor))

    def make_buffer(self) -> EpisodeBuffer:
        """Memory for the replay."""
        return self.game.make_buffer(self.task)

    def cycles(
        self, state: State | None = None, buffer: EpisodeBuffer | None = None
    ) -> Iterator[Cycle]:
        """The game from there on; if left out, from its beginning."""
        state = self.begin() if state is None else state
        buffer = self.make_buffer() if buffer is None else buffer
        return girl(self.game, self.task, self.expert, buffer, state)

    def warnings(self) -> list[str]:
        """What a user should know before a run begins: of its data, solver and cost."""
        config, cost = self.config, self.game.cost
        said = self._about_demonstrations()
        said += config.solver.warnings(config.future.eta, config.gamma_irl, config.horizon)
        if config.mode == "terminating" and ends_early(config.env) and not cost.never_positive:
            said.append(
                f"this cost can be above 0, and where episodes of {config.env} end early it is "
                "paid no more: a learner may find that dying pays; --mode absorbing prevents that"
            )
        return said + cost.warnings(self.cost, as_points(self.expert.transitions()))

    def _about_demonstrations(self) -> list[str]:
        horizon, t, said = self.config.horizon, self.demos.trajectories, []
        if self.demos.clipped:
            clipped = f"{self.demos.clipped} of {t.steps}"
            said.append(f"{clipped} demonstrated actions were clipped to the bounds")
        if (strange := other_names(self.demos, self.task.spec)) is not None:
            said.append(strange)
        if t.act_dim == 0:
            said.append(
                "the demonstrations have no actions: MMD² compares states alone, and behaviour "
                "cloning is left out"
            )
        short = (t.durations < horizon) & ~t.terminated[t.last_rows]
        if short.any():
            said.append(
                f"{short.sum()} of {len(t)} demonstrations were cut before {horizon} steps, the "
                "horizon of the learner: the two sides see different times; lower --horizon"
            )
        return said


def prepare(
    config: TrainConfig,
    threads: int | None = None,
    cost_from: Path | None = None,
    copies: int | None = None,
) -> Prepared:
    """Load and check everything before anything is written.

    Args:
        config: what is asked for.
        threads: of the simulator.
        cost_from: a finished run whose cost to begin with; that of `config` if left out.
        copies: of the simulator; as many as a cycle has if left out.
    """
    task = make_task(
        config.env,
        config.girl.episodes if copies is None else copies,
        horizon=config.horizon,
        mode=config.mode,
        seed=config.seed,
        threads=threads,
    )
    if config.idle is not None and task.spec.discrete_actions is not None:
        raise InputError(f"--idle generates continuous actions; those of {config.env} are discrete")
    absorbing = config.mode == "absorbing"
    world = World(
        task.spec,
        absorbing,
        config.horizon,
        config.future.eta,
        config.regulariser,
        config.solver.gamma_rl,
        config.future,
    )
    solver = config.solver.make(world)
    cost = solver.implied_cost() or config.cost.make(world)
    if config.frozen_cost is not None:
        cost_from = cost_from or Path(config.frozen_cost)
        check_columns(cost_from, cost, task)
    select = Selection(config.demonstrations, config.horizon, config.every)
    demos = fitting_demos(config, task, select)
    if solver.implied_cost() is None:
        names = named(task.spec, demos.spec, task.spec, absorbing=absorbing)
        cost = config.cost.make(world._replace(spec=names))
    if config.frozen_cost is not None:
        cost = Frozen(cost.portable(), same_demonstrations(config))
    game = Girl(config.girl, config.seed, cost, solver, config.future)
    expert = _expert(config, demos, task, cost.needs_next or solver.needs_next)
    first = game.init(expert).cost
    if cost_from is not None:
        first = load_cost(cost_from, cost, first)
    reference = Reference.of(demos.trajectories, demos.standardiser)
    watched = Watched.of(config, task, demos) if config.watches else None
    return Prepared(config, demos, task, game, expert, reference, first, watched=watched)


def _expert(config: TrainConfig, demos: Demos, task: Task, with_next: bool) -> ExpertBuffer:
    """The demonstrations as the players see them; refused where they do not show enough."""
    trajectories = with_absorbing(demos.trajectories, task)
    actions = ActionScaling(task.spec).to_solver(trajectories.actions)
    try:
        if config.idle is not None:
            check_shown(trajectories)
        return ExpertBuffer.of(trajectories, actions, with_next)
    except InputError as error:
        raise InputError(f"{config.demos}: {error}") from None


def load_cost(run: Path, cost: Cost, fresh: Any) -> Any:
    """The learned cost of a finished run; refused where it is not one of the family."""
    file = run / "cost.safetensors"
    if not file.is_file():
        raise InputError(f"{run} has no learned cost ({file} is missing); is it a finished run?")
    state = load_tree(file, cost.stored(fresh))
    try:
        cost.check(state, cost.stored(fresh))
    except InputError as error:
        raise InputError(f"{file}: {error}") from None
    return state


def with_generator(prepared: Prepared, run: Path, watch: Watch | None = None) -> Prepared:
    """With a generator of futures, where the settings ask for one: the run's own, or a new one."""
    config = prepared.config
    if config.idle is None:
        return prepared
    begun = (run / "config.json").is_file()
    if not begun and holds_anything(run):
        raise InputError(f"{run} exists and is not a run; choose another folder")
    mend = nearest_possible(prepared.task.spec)
    if begun and has_generator(run):
        trained = load_generator(run, mend)
    else:
        shown = prepared.expert.buffer.trajectories(prepared.expert.episodes)
        trained = train_generator(config.generator, config.future, shown, config.seed, watch, mend)
        check_quality(trained.quality, config.idle_gate)
    generated = Generated(trained.generator, config.idle_share, config.idle_warmup)
    return prepared._replace(game=replace(prepared.game, generated=generated), generator=trained)


def keep_generator(prepared: Prepared, run: Path) -> None:
    """Save the generator beside a run that begins, for when it is resumed."""
    if prepared.generator is not None and not has_generator(run):
        save_generator(run, prepared.generator, prepared.config.generator)
