"""What a finished run gives: a policy, a cost, and a table that says how well they match."""

import shutil
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Num
from numpy.typing import ArrayLike

from etairl.algorithms.girl import as_points
from etairl.costs.family import Cost
from etairl.demos import Playing
from etairl.demos.action_kind import playing_of
from etairl.evaluation.explanation import FeatureGap, feature_gaps, weighted_means
from etairl.experience import ExpertBuffer
from etairl.runs import RunDirectory, read_result
from etairl.solvers.learned import load_player
from etairl.solvers.policy import ActionScaling, HeadPolicy, action_rows, observation_rows
from etairl.tasks import with_absorbing
from etairl.tasks.horizon import marked
from etairl.training.behaviour import Behaviour
from etairl.training.card import CardOptions, write_card
from etairl.training.cloned import clone_policy, kept_clone
from etairl.training.config_files import read_config, read_finished
from etairl.training.explaining import RunExplanation, explain_run
from etairl.training.flat import configure
from etairl.training.judging import CLONING, LEARNER, Stage, judge_all
from etairl.training.loading import Which
from etairl.training.preparation import prepare
from etairl.training.session import open_run
from etairl.training.settings import TrainConfig
from etairl.types import InputError, Policy, Spec, Trajectories, check_seed


class Result:
    """A finished run; one that names code of its own is loaded only with `trust`."""

    def __init__(self, path: str | Path, which: Which = "final", trust: bool = False):
        path = Path(path)
        self.path, self.which = path, which
        self.config = read_config(path, trust)
        if not RunDirectory(path).finished:
            raise InputError(f"{path} is not finished yet; resume it: etairl resume {path}")
        self.config = read_finished(path, trust)
        self.metrics: dict[str, Any] = read_result(path)
        # Whoever plays makes copies of its own.
        self._prepared = prepare(self.config, cost_from=path, copies=1)
        state = self._prepared.begin(cloned=False)
        name = "policy" if which == "final" else "best-policy"
        actor, normaliser = load_player(
            path / f"{name}.safetensors", (state.solver.actor, state.solver.normaliser)
        )
        solver = state.solver._replace(actor=actor, normaliser=normaliser)
        self._policy = self._prepared.game.solver.policy(solver)
        self._cost = self._prepared.cost

    @property
    def demonstrations(self) -> Trajectories:
        """The demonstrations that were learned from."""
        return self._prepared.demos.trajectories

    @property
    def spec(self) -> Spec:
        """Sizes of observations and actions, and bounds, as the environment has them."""
        return self._prepared.demos.spec

    @property
    def learned_cost(self) -> tuple[Cost, Any]:
        """The cost as a function of its state and of rows as the players see them; the state."""
        return self._prepared.game.cost.portable(), self._cost

    @property
    def playing(self) -> tuple[Playing | None, bool]:
        """How the demonstrations were played, and whether that is a guess; None if not known."""
        return playing_of(self._prepared.demos)

    @property
    def network(self) -> HeadPolicy:
        """The policy that plays; in the mode absorbing its observations have a mark."""
        assert isinstance(self._policy, HeadPolicy), "a solver with a policy of another kind"
        return self._policy

    def policy(
        self, observations: ArrayLike, rng: np.random.Generator | None = None
    ) -> Num[np.ndarray, "*batch act"]:
        """Actions, in the units of the environment; drawn with `rng`, else the most likely ones.

        One observation has one action, rows have rows; lists are fine.
        """
        rows, alone = self._rows(observations)
        actions = self._policy(rng, rows)
        return actions[0] if alone else actions

    def cost(
        self,
        observations: ArrayLike,
        actions: ArrayLike,
        next_observations: ArrayLike | None = None,
    ) -> Float[np.ndarray, " *batch"]:
        """The learned cost: low where the expert would be; of airl, without the shaping.

        One observation and its action have one number, rows have a number each; lists are fine.
        """
        cost = self._prepared.game.cost.portable()
        if next_observations is None and cost.needs_next:
            raise InputError("this cost is one of states and next states; give both")
        rows, alone = self._rows(observations)
        following = rows if next_observations is None else self._rows(next_observations)[0]
        if len(following) != len(rows):
            raise InputError(
                f"there are {len(following)} next observations, but {len(rows)} observations; give "
                "one for each"
            )
        spec = self._prepared.task.spec
        scaled = ActionScaling(spec).to_solver(action_rows(actions, len(rows), spec.act_dim))
        costs = np.asarray(cost(self._cost, *map(jnp.asarray, (rows, scaled, following))))
        return costs.reshape(()) if alone else costs

    def _rows(self, observations: ArrayLike) -> tuple[np.ndarray, bool]:
        """Rows as the players see them, and whether there was one observation alone."""
        rows, alone = observation_rows(observations, self.demonstrations.obs_dim, self.config.env)
        return (marked(rows) if self.config.mode == "absorbing" else rows), alone

    def save(self, folder: str | Path) -> None:
        """Copy the run directory."""
        if Path(folder).exists():
            raise InputError(f"{folder} exists already; choose another name")
        shutil.copytree(self.path, folder)

    def card(
        self,
        folder: str | Path,
        name: str | None = None,
        license: str | None = None,
        with_demonstrations: bool = False,
        overwrite: bool = False,
    ) -> Path:
        """Write a folder to share this run with, in the layout of model hubs.

        It has weights, settings, results and a model card, and nothing of this machine. `load`,
        `Result` and the commands take it like a run, wherever it is moved to.

        Args:
            folder: where to write; it may hold other files.
            name: of the model; algorithm and environment if left out.
            license: of the weights, in the short form of model hubs, for instance mit.
            with_demonstrations: put demonstrations of one's own into the folder, too.
            overwrite: replace the card that is there.

        Returns:
            The card, README.md.
        """
        card = CardOptions(name, license, with_demonstrations, overwrite)
        return write_card(self._prepared, self.path, Path(folder), card)

    def evaluate(
        self,
        episodes: int = 50,
        seed: int = 0,
        cloning: bool = True,
        longer: bool = False,
        say: Callable[[str], None] | None = None,
    ) -> list[Behaviour]:
        """Learner, clone, expert and a random policy, drawn and greedy, beside the expert.

        The rows that act like the demonstrations come first. Where there are many tasks, those of
        the demonstrations are played with the horizon of the training, and then all of them with
        twice that.

        Args:
            episodes: of each policy, for either kind.
            seed: of the episodes and of the resampling.
            cloning: train and judge a behaviour-cloned policy, too; takes some seconds. Where the
                demonstrations have no actions there is nothing to clone.
            longer: also play episodes of twice the horizon.
            say: told what is being done.
        """
        check_seed(seed)
        say, prepared = say or (lambda _: None), self._prepared
        policies: dict[str, Policy] = {LEARNER: self._policy}
        if cloning and self.demonstrations.act_dim:
            say("cloning the expert")
            policies[CLONING] = clone_policy(kept_clone(prepared, self.path), prepared.demos.spec)
        return judge_all(Stage(prepared, policies, episodes, seed, say), longer, self.gaps)

    def explain(
        self, episodes: int = 20, seed: int = 0, filmed: Trajectories | None = None
    ) -> RunExplanation:
        """What the run learned to pay for, as arrays: the numbers of `etairl explain`.

        Args:
            episodes: of the learner, acting as the demonstrations do, drawn or greedy.
            seed: of the episodes and of all draws.
            filmed: an episode of the learner that comes before them.
        """
        return explain_run(self._prepared, self._policy, self.gaps, episodes, seed, filmed)

    def gaps(
        self, behaviour: Trajectories, beside: Trajectories | None = None
    ) -> list[FeatureGap] | None:
        """How far a behaviour is from the demonstrations in each feature; None without features.

        Means are those of what the cost was trained on: of the law of the run's sampler, and in
        the absorbing mode with its self-loops. The heaviest features come first. `beside` takes the
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
        t = with_absorbing(t, self._prepared.task)
        actions = ActionScaling(self._prepared.task.spec).to_solver(t.actions)
        seen = ExpertBuffer.of(t, actions, cost.needs_next)
        features = cost.features_of(self._cost, as_points(seen.transitions()))
        if features is None:
            return None
        names, weights, values = features
        if t.spans is not None:
            values = values[t.row_of_step]
        return names, weights, weighted_means(values, seen.episodes.offsets, self.config.future)


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
