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

from etairl.algorithms.girl import as_points
from etairl.evaluation.explanation import FeatureGap, feature_gaps, weighted_means
from etairl.evaluation.matching import Reference
from etairl.experience import ExpertBuffer
from etairl.rollouts import UniformPolicy
from etairl.runs import RunDirectory, read_result
from etairl.solvers.policy import ActionScaling
from etairl.storage import load_tree
from etairl.tasks import planned_expert, with_absorbing
from etairl.tasks.product import ProductTask
from etairl.training.behaviour import Behaviour, judge
from etairl.training.config_files import read_config
from etairl.training.flat import configure
from etairl.training.multitask import EXPERT, Outcome, generalise, success_rate
from etairl.training.playing import cloned_policy, held_out_demos, play_again, playing_seed
from etairl.training.preparation import prepare
from etairl.training.session import open_run
from etairl.training.settings import TrainConfig
from etairl.types import InputError, Policy, Trajectories, check_seed

_HALF = "expert, second half"
"""of the demonstrations beside their first half, where none are left over"""
Which = Literal["final", "best"]


class Result:
    """A finished run; one that names code of its own is loaded only with `trust`."""

    def __init__(self, path: str | Path, which: Which = "final", trust: bool = False):
        path = Path(path)
        self.path, self.which = path, which
        self.config = read_config(path, trust)
        if not RunDirectory(path).finished:
            raise InputError(f"{path} is not finished yet; resume it: etairl resume {path}")
        self.metrics: dict[str, Any] = read_result(path)
        self._prepared = prepare(self.config, cost_from=path)
        state = self._prepared.begin(cloned=False)
        name = "policy" if which == "final" else "best-policy"
        actor, normaliser = load_tree(
            path / f"{name}.safetensors", (state.solver.actor, state.solver.normaliser)
        )
        solver = state.solver._replace(actor=actor, normaliser=normaliser)
        self._policy = self._prepared.game.solver.policy(solver)
        self._cost = self._prepared.cost

    @property
    def demonstrations(self) -> Trajectories:
        """The demonstrations that were learned from."""
        return self._prepared.demos.trajectories

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
        cost = self._prepared.game.cost.portable()
        if next_observations is None and cost.needs_next:
            raise InputError("this cost is one of states and next states; give both")
        spec = self._prepared.task.spec
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
    ) -> list[Behaviour]:
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
        prepared = self._prepared
        used = prepared.demos.trajectories
        policies: dict[str, Policy] = {"learner": self._policy}
        if cloning:
            say("cloning the expert")
            policies["behaviour cloning"] = cloned_policy(prepared, seed)
        outcomes: dict[str, Outcome] = {}
        if isinstance(prepared.task, ProductTask):
            say(f"playing {episodes} episodes of each on all tasks")
            outcomes = generalise(
                prepared, policies, episodes, playing_seed(self.config, seed + 1_000)
            )
        policies["random"] = UniformPolicy(prepared.task)
        expert = planned_expert(prepared.task.spec.environment or self.config.env)
        if expert is not None:
            policies[EXPERT] = expert
        played = {}
        for name, policy in policies.items():
            say(f"playing {episodes} episodes: {name}")
            played[name] = play_again(prepared, policy, episodes, seed)
        held_out = held_out_demos(prepared)
        if held_out is not None:
            played["expert, held out"] = held_out
        elif expert is None and len(used) >= 4:
            played[_HALF] = used.take(np.arange(len(used) // 2, len(used)))
        random = played["random"].returns
        assert random is not None
        reference = Reference(used, prepared.demos.standardiser)
        rng = np.random.default_rng([seed, 5])
        verdicts = []
        for name, trajectories in played.items():
            say(f"comparing with the demonstrations: {name}")
            first, beside = used, reference
            if name == _HALF:
                first = used.take(np.arange(len(used) // 2))
                beside = Reference(first, prepared.demos.standardiser)
            gaps = self.gaps(trajectories, first)
            verdict = judge(rng, name, trajectories, beside, float(random.mean()), gaps)
            success = success_rate(prepared, trajectories)
            verdicts.append(replace(verdict, success=success, generalisation=outcomes.get(name)))
        return verdicts

    def gaps(
        self, behaviour: Trajectories, beside: Trajectories | None = None
    ) -> list[FeatureGap] | None:
        """How far a behaviour is from the demonstrations in each feature; None without features.

        Means are those of what the cost was trained on: of the law of the run's sampler, and in
        the absorbing mode with the padding. The heaviest features come first. `beside` takes the
        place of the demonstrations.
        """
        own, expert = self._features(behaviour), self._features(beside or self.demonstrations)
        if own is None or expert is None:
            return None
        names, weights, means = own
        return feature_gaps(names, weights, means, expert[2])

    def _features(self, t: Trajectories) -> tuple[tuple[str, ...], np.ndarray, Any] | None:
        """Names and weights of a linear cost, and means of its features with standard errors."""
        cost = self._prepared.game.cost
        if self.config.mode == "absorbing":
            t = with_absorbing(t, self.config.horizon)
        actions = ActionScaling(self._prepared.task.spec).to_solver(t.actions)
        seen = ExpertBuffer.of(t, actions, cost.needs_next)
        features = cost.features_of(self._cost, as_points(seen.transitions()))
        if features is None:
            return None
        names, weights, values = features
        return names, weights, weighted_means(values, seen.episodes.offsets, self.config.future)


def _check_rows(name: str, rows: np.ndarray, columns: int) -> None:
    if rows.ndim != 2 or rows.shape[1] != columns:
        raise InputError(
            f"{name} must be rows of {columns} columns, got shape {rows.shape}; one row is "
            f"{name}[None]"
        )


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
    with open_run(configure(config), path) as run, closing(run.play()) as reports:
        if say is not None:
            for sentence in run.prepared.warnings():
                say(sentence)
        for report in reports:
            if watch is not None:
                watch(report.row)
    return Result(path, trust=True)
