"""The studies of the paper, run by run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from etairl.arms import PENALISED
from etairl.costs.discriminator import GanConfig
from etairl.studies.jobs import SCALES, Job, StudyScale, check_distinct, rescaled
from etairl.studies.study_folder import Study
from etairl.tasks import ends_early
from etairl.training.flat import configure, flatten
from etairl.training.presets import preset
from etairl.training.settings import TrainConfig
from etairl.types import InputError, did_you_mean

_KAPPAS = (0.0, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0)
LAMBDAS = (1, 5, 10, 25, 40, 100)
"""the rates of the paper"""
CYCLES = {"Ant-v5": (10,), "HalfCheetah-v5": (6,), "Hopper-v5": (142, 70)}
"""steps of the movement cycle of the demonstrations in use, by `etairl.evaluation.cycle`; in those
of Hopper also a lower peak, at half of it"""
PAPER_CYCLES = {"Ant-v5": 10, "HalfCheetah-v5": 25, "Hopper-v5": 40}
"""the same of the paper's experts, in its words"""
DISCOUNTS = (0.9, 0.99, 0.999)
COLUMNS = {
    "Hopper-v5": "paper/hopper",
    "HalfCheetah-v5": "paper/halfcheetah",
    "Ant-v5": "paper/ant",
    "FetchReach-v4": "paper/fetchreach",
    "etairl/Navigation-v0": "paper/navigation",
}
"""the column of the paper's table of each environment"""
_GAIL, _NEAR, _UNIFORM = "geometric:0", "geometric:0.7", "geometric:1"
_REGULARISERS: dict[str, dict[str, object]] = {
    "no-penalty": {"gradient_penalty": 0.0},
    "spectral-norm": {"gradient_penalty": 0.0, "spectral_norm": True},
    "entropy-bonus": {"gradient_penalty": 0.0, "entropy_bonus": 0.01},
    "label-smoothing": {"gradient_penalty": 0.0, "label_smoothing": 0.1},
    "weight-decay": {"gradient_penalty": 0.0, "weight_decay": 0.001},
    "input-noise": {"gradient_penalty": 0.0, "input_noise": 0.1},
}


def penalised(env: str) -> TrainConfig:
    """The preset of the paper, but for the discriminator.

    It has a gradient penalty, and half of its negatives are from the newest cycle.
    """
    return configure(bare(env), **flatten(GanConfig()), fresh_share=0.5)


def bare(env: str) -> TrainConfig:
    """The preset of the paper: its discriminator is small, and nothing regularises it."""
    return preset(COLUMNS[env])


def rates(env: str) -> list[int]:
    """Of the Poisson weightings: those of the paper, and the movement cycle as it is here."""
    return sorted({*LAMBDAS, *CYCLES[env]})


Arms = list[tuple[str, TrainConfig]]


def _weighted(config: TrainConfig, arm: str, etas: Sequence[str]) -> Arms:
    return [(arm, replace(config, eta=eta)) for eta in etas]


def _figure1(env: str) -> Arms:
    geometric = [f"geometric:{kappa:g}" for kappa in _KAPPAS]
    return _weighted(penalised(env), PENALISED, geometric) + _weighted(
        bare(env), "bare", [_GAIL, _UNIFORM]
    )


def _figure2(env: str) -> Arms:
    poisson = [f"poisson:{rate}" for rate in rates(env)]
    return _weighted(penalised(env), PENALISED, [_GAIL, *poisson, _UNIFORM])


def _figure3(env: str) -> Arms:
    start = penalised(env)
    arms = _weighted(start, PENALISED, [_GAIL, "geometric:0.99", _UNIFORM])
    for gamma in DISCOUNTS:
        if gamma != start.solver.gamma_rl:
            other = configure(start, **{"gamma_rl": gamma})
            arms += _weighted(other, f"gamma_rl={gamma:g}", [_GAIL])
    return arms


def _many_tasks(env: str) -> Arms:
    start = penalised(env)
    generated = configure(start, **{"idle": _NEAR, "eta": _NEAR})
    return [*_weighted(start, PENALISED, [_GAIL, _NEAR, _UNIFORM]), ("idle", generated)]


def _ablation(env: str) -> Arms:
    start, ends = penalised(env), [_GAIL, _UNIFORM]
    arms = _weighted(start, PENALISED, [_GAIL, "geometric:0.99", _UNIFORM])
    for arm, settings in _REGULARISERS.items():
        arms += _weighted(configure(start, **settings), arm, ends)
    exact = configure(start, **{"sampler": "exact"})
    arms += _weighted(exact, "exact-sampler", ["geometric:0.99", _UNIFORM])
    if ends_early(env):  # elsewhere all episodes are of one length, and count alike
        weighed = configure(start, **{"choice": "by_weight"})
        arms += _weighted(weighed, "by-weight", [_GAIL, "geometric:0.99", _UNIFORM])
        for mode in ("fixed", "absorbing"):
            arms += _weighted(configure(start, **{"mode": mode}), mode, ends)
    return arms


@dataclass(frozen=True)
class PaperStudy:
    """A study of the paper."""

    about: str
    envs: tuple[str, ...]
    arms: Callable[[str], Arms]


_CONTROL = ("Hopper-v5", "HalfCheetah-v5", "Ant-v5")
STUDIES = {
    "figure1": PaperStudy("geometric weightings, kappa from 0 to 1", _CONTROL, _figure1),
    "figure2": PaperStudy("Poisson weightings", _CONTROL, _figure2),
    "figure3": PaperStudy("discounts of GAIL beside MEGAN", _CONTROL, _figure3),
    "fetch": PaperStudy("reaching with an arm, short episodes", ("FetchReach-v4",), _many_tasks),
    "navigation": PaperStudy("around the lakes", ("etairl/Navigation-v0",), _many_tasks),
    "ablation": PaperStudy(
        "regularisers, samplers, choices of episodes, early ends",
        ("HalfCheetah-v5", "Hopper-v5"),
        _ablation,
    ),
}


def named_jobs(
    name: str, scale: StudyScale, seeds: Sequence[int], envs: Sequence[str] | None = None
) -> list[Job]:
    """The runs of one of `STUDIES`, `rescaled`; the first seed of everything comes first."""
    if name not in STUDIES:
        hint = did_you_mean(name, STUDIES, f"choose from {', '.join(STUDIES)},")
        raise InputError(f"unknown study {name!r}; {hint} or name a .toml file")
    study = STUDIES[name]
    chosen = study.envs if envs is None else tuple(envs)
    can = _CONTROL if study.envs[0] in _CONTROL else study.envs
    odd = [env for env in chosen if env not in can]
    if odd or not chosen:
        what = f"{name} has no environment {', '.join(odd)}" if odd else "no environment is named"
        raise InputError(f"{what}; choose from {', '.join(can)}")
    jobs = [
        Job(arm, replace(rescaled(config, scale), seed=seed))
        for seed in seeds
        for env in chosen
        for arm, config in study.arms(env)
    ]
    check_distinct(jobs)
    return jobs


def whole_parts(study: Study, name: str, partly: bool = False) -> tuple[str | None, Sequence[Job]]:
    """Scale and runs of a study of the paper, of the environments and seeds that it is whole in.

    Other studies may share some of its runs. With `partly`, any run of it counts; no run, and the
    scale of the whole folder, where none does.
    """
    every = set(study.jobs)
    kinds = dict.fromkeys((job.config.env, job.config.seed) for job in study.jobs)
    for scale in (s for s in SCALES if study.scale in (None, s)):
        part: list[Job] = []
        for env, seed in kinds:
            try:
                asked = named_jobs(name, scale, [seed], [env])
            except InputError:  # it has no such environment
                continue
            part += asked if every.issuperset(asked) or (partly and every & set(asked)) else []
        if part:
            return scale, part
    return study.scale, []
