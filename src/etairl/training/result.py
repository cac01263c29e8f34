"""What a finished run gives: a policy, a cost, and a table that says how well they match."""

import shutil
import tempfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Num

from etairl.algorithms.girl import Expert
from etairl.costs.frozen import linear_in
from etairl.costs.linear import LinearCost
from etairl.demos import Selection
from etairl.evaluation.explanation import FeatureGap, feature_gaps, weighted_means
from etairl.evaluation.matching import Reference
from etairl.locks import held
from etairl.rollouts import UniformPolicy, collect
from etairl.runs import RunDirectory, load_tree, read_json
from etairl.solvers.cloning import CloningConfig, clone
from etairl.solvers.heads import make_head
from etairl.solvers.policy import ActionScaling, HeadPolicy
from etairl.tasks import make_task, planned_expert, with_absorbing, without_absorbing
from etairl.tasks.product import ProductTask
from etairl.training.augmentation import augmented
from etairl.training.behaviour import Verdict, judge
from etairl.training.loop import begin, run
from etairl.training.multitask import (
    EXPERT,
    Outcome,
    demonstrated_tasks,
    generalise,
    play_tasks,
    success_rate,
)
from etairl.training.preparation import (
    Setting,
    at_home_anywhere,
    fitting_demos,
    prepare,
    remarks,
)
from etairl.training.settings import TrainConfig, read_config
from etairl.types import InputError, Policy, Trajectories, check_seed

_HALF = "expert, second half"
"""of the demonstrations beside their first half, where none are left over"""
Which = Literal["final", "best"]


class Result:
    """A finished run."""

    def __init__(self, path: str | Path, which: Which = "final"):
        path = Path(path)
        self.path, self.which = path, which
        self.config = read_config(path)
        if not RunDirectory(path).finished:
            raise InputError(f"{path} is not finished yet; go on with it: etairl resume {path}")
        self.metrics: dict[str, Any] = read_json(path / "result.json")
        self._setting = prepare(self.config, cost_from=path)
        state, _, _ = begin(_without_cloning(self._setting))
        name = "policy" if which == "final" else "best-policy"
        actor, normaliser = load_tree(
            path / f"{name}.safetensors", (state.solver.actor, state.solver.normaliser)
        )
        solver = state.solver._replace(actor=actor, normaliser=normaliser)
        self._policy = self._setting.game.solver.policy(solver)
        self._cost = self._setting.cost

    @property
    def demonstrations(self) -> Trajectories:
        """The demonstrations that were learned from."""
        return self._setting.demos.trajectories

    def policy(
        self, observations: Float[np.ndarray, "batch obs"], rng: np.random.Generator | None = None
    ) -> Num[np.ndarray, "batch act"]:
        """Actions, in the units of the environment; drawn with `rng`, else the most likely ones."""
        return self._policy(rng, self._marked(observations))

    def cost(
        self,
        observations: Float[np.ndarray, "batch obs"],
        actions: Num[np.ndarray, "batch act"],
        next_observations: Float[np.ndarray, "batch obs"] | None = None,
    ) -> Float[np.ndarray, " batch"]:
        """The learned cost: low where the expert would be; of airl, without the shaping."""
        following = observations if next_observations is None else next_observations
        cost = self._setting.game.cost.portable()
        if next_observations is None and cost.needs_next:
            raise InputError("this cost is one of states and next states; give both")
        spec = self._setting.task.spec
        _check_rows("actions", actions, spec.act_dim)
        scaled = ActionScaling(spec).to_solver(actions)
        columns = (self._marked(observations), scaled, self._marked(following))
        return np.asarray(cost(self._cost, *map(jnp.asarray, columns)))

    def _marked(self, observations: np.ndarray) -> np.ndarray:
        _check_rows("observations", observations, self.demonstrations.obs_dim)
        x = observations.astype(np.float32)
        if self.config.mode != "absorbing":
            return x
        return np.concatenate([x, np.zeros((len(x), 1), np.float32)], axis=1)

    def save(self, folder: str | Path) -> None:
        """Copy the run directory."""
        if Path(folder).exists():
            raise InputError(f"{folder} exists already; choose another name")
        shutil.copytree(self.path, folder)

    def evaluate(
        self,
        episodes: int = 50,
        seed: int = 0,
        cloning: bool = True,
        say: Callable[[str], None] | None = None,
    ) -> list[Verdict]:
        """Learner, behaviour cloning, a random policy and the expert beside the demonstrations.

        Where there are many tasks, those of the demonstrations are played with the horizon of the
        training, and then all of them with twice that.

        Args:
            episodes: of each policy.
            seed: of the episodes and of the resampling.
            cloning: train and judge a behaviour-cloned policy, too; takes some seconds.
            say: told what is being done.
        """
        check_seed(seed)
        say = say or (lambda _: None)
        setting = self._setting
        used = setting.demos.trajectories
        policies: dict[str, Policy] = {"learner": self._policy}
        if cloning:
            say("cloning the expert")
            policies["behaviour cloning"] = _clone(setting, seed)
        outcomes: dict[str, Outcome] = {}
        if isinstance(setting.task, ProductTask):
            say(f"playing {episodes} episodes of each on all tasks")
            outcomes = generalise(
                setting, policies, episodes, playing_seed(self.config, seed + 1_000)
            )
        policies["random"] = UniformPolicy(setting.task)
        expert = planned_expert(setting.task.spec.environment or self.config.env)
        if expert is not None:
            policies[EXPERT] = expert
        played = {}
        for name, policy in policies.items():
            say(f"playing {episodes} episodes: {name}")
            played[name] = self._play(policy, episodes, seed)
        held_out = _held_out(self.config, setting, len(used))
        if held_out is not None:
            played["expert, held out"] = held_out
        elif expert is None and len(used) >= 4:
            played[_HALF] = used.take(np.arange(len(used) // 2, len(used)))
        random = played["random"].returns
        assert random is not None
        reference = Reference(used, setting.demos.standardiser)
        rng = np.random.default_rng([seed, 5])
        verdicts = []
        for name, trajectories in played.items():
            say(f"comparing with the demonstrations: {name}")
            first, beside = used, reference
            if name == _HALF:
                first = used.take(np.arange(len(used) // 2))
                beside = Reference(first, setting.demos.standardiser)
            gaps = self.gaps(trajectories, first)
            verdict = judge(rng, name, trajectories, beside, float(random.mean()), gaps)
            success = success_rate(setting, trajectories)
            verdicts.append(replace(verdict, success=success, generalisation=outcomes.get(name)))
        return verdicts

    def _play(self, policy: Policy, episodes: int, seed: int) -> Trajectories:
        if not isinstance(self._setting.task, ProductTask):
            return play(self.config, policy, episodes, seed)
        tasks = demonstrated_tasks(self._setting, episodes, seed)
        return play_tasks(self.config, policy, playing_seed(self.config, seed), tasks)

    def gaps(
        self, behaviour: Trajectories, beside: Trajectories | None = None
    ) -> list[FeatureGap] | None:
        """How far a behaviour is from the demonstrations in each feature; None without features.

        Means are those of what the cost was trained on: of the law of the run's sampler, and in
        the absorbing mode with the padding. The heaviest features come first. `beside` takes the
        place of the demonstrations.
        """
        cost = linear_in(self._setting.game.cost)
        if cost is None:
            return None
        beside = self.demonstrations if beside is None else beside
        sides = (self._means(cost, side) for side in (behaviour, beside))
        names, weights = cost.names(self._cost), np.asarray(self._cost.weights, np.float64)
        return feature_gaps(names, weights, *sides)

    def _means(self, cost: LinearCost, t: Trajectories) -> tuple[np.ndarray, np.ndarray]:
        if self.config.mode == "absorbing":
            t = with_absorbing(t, self.config.horizon)
        seen = Expert.of(t, ActionScaling(self._setting.task.spec), cost.needs_next)
        values = np.asarray(cost.features(self._cost, *seen.points()), np.float64)
        return weighted_means(values, seen.episodes.offsets, self.config.future)


def _check_rows(name: str, rows: np.ndarray, columns: int) -> None:
    if rows.ndim != 2 or rows.shape[1] != columns:
        raise InputError(
            f"{name} must be rows of {columns} columns, got shape {rows.shape}; one row is "
            f"{name}[None]"
        )


def _without_cloning(setting: Setting) -> Setting:
    """Shapes are all that is needed: no cloning before loading weights."""
    plain = replace(setting.config, warm_start=False, anchor=False, omega="entropy")
    return setting._replace(config=plain)


def train(
    config: TrainConfig,
    output: str | Path | None = None,
    watch: Callable[[dict[str, Any]], None] | None = None,
    say: Callable[[str], None] | None = None,
) -> Result:
    """Learn a policy and a cost from demonstrations.

    Args:
        config: what to learn, from what, and how.
        output: the run directory; a temporary one if left out (`Result.save` keeps it).
        watch: called with the metrics of each cycle.
        say: told what should be known before anything is learned, for instance `print`.

    Returns:
        The policy, the cost, and how well they match.
    """
    path = Path(tempfile.mkdtemp(prefix="etairl-")) / "run" if output is None else Path(output)
    _refuse_a_run(path)
    config = at_home_anywhere(config)
    directory = RunDirectory(path)
    setting = augmented(prepare(config), path)
    if say is not None:
        for sentence in remarks(setting):
            say(sentence)
    with held(path):
        _refuse_a_run(path)  # of another command, begun just now
        directory.open(config, digest=setting.digest)
        with closing(run(setting, directory)) as reports:
            for report in reports:
                if watch is not None:
                    watch(report.row)
    return Result(path)


def _refuse_a_run(path: Path) -> None:
    if (path / "config.json").is_file():
        raise InputError(f"{path} holds a run already; choose another folder")


def play(config: TrainConfig, policy: Policy, episodes: int, seed: int) -> Trajectories:
    """Whole episodes with seeds that no training episode had."""
    copies = min(episodes, 25)
    task = make_task(
        config.env,
        copies,
        horizon=config.horizon,
        mode=config.mode,
        seed=playing_seed(config, seed),
    )
    rng = np.random.default_rng([config.seed, seed, 11])
    played = collect(rng, task, policy, episodes)
    return without_absorbing(played) if config.mode == "absorbing" else played


def playing_seed(config: TrainConfig, seed: int) -> int:
    """The seed of a task whose episodes were not trained on."""
    return config.seed + 3_000_017 * (seed + 1)


def _clone(setting: Setting, seed: int) -> Policy:
    spec = setting.demos.spec
    cloned = clone(setting.demos.trajectories, spec, CloningConfig(), seed)
    policy = HeadPolicy(cloned.actor, make_head(spec), spec)
    return _Greedy(policy, spec.obs_dim)


class _Greedy:
    """The most likely actions of a policy, from the columns it knows."""

    def __init__(self, policy: Policy, columns: int):
        self._policy, self._columns = policy, columns

    def __call__(self, rng: np.random.Generator | None, observations: np.ndarray) -> np.ndarray:
        return self._policy(None, observations[:, : self._columns])


def _held_out(config: TrainConfig, setting: Setting, used: int) -> Trajectories | None:
    """Demonstrations that the learner did not see, if there are enough to compare."""
    every = fitting_demos(config, setting.task, Selection(None, config.horizon)).trajectories
    if len(every) < used + 2:
        return None
    return every.take(np.arange(used, len(every)))
