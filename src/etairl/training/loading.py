"""The policy of a finished run, for use: without a simulator, without the demonstrations."""

from pathlib import Path
from typing import Literal, get_args

from etairl.runs import no_run
from etairl.solvers.learned import LearnedPolicy, load_learned
from etairl.types import InputError, check_choice, check_seed

Which = Literal["final", "best"]
"""the policy that a run kept, or the best by its own measurements"""


def load(
    run: str | Path, which: Which = "final", *, seed: int | None = None, trust: bool = False
) -> LearnedPolicy:
    """Load the policy of a finished run of `etairl train` or `etairl expert`.

    Only its weights are read. Runs before 0.4 do not say the bounds of their actions: for those,
    environment and demonstrations are loaded once, too.

    Args:
        run: the run directory, or a file `policy.safetensors` alone.
        which: the policy that the run kept, or the best by its own measurements.
        seed: of the actions that are drawn.
        trust: import code that a run before 0.4 names.

    Returns:
        An object with `predict`, as in Stable-Baselines3.
    """
    path = Path(run)
    check_choice("which", which, get_args(Which))
    if seed is not None:
        check_seed(seed)
    file = path
    if not path.is_file():
        file = path / ("policy.safetensors" if which == "final" else "best-policy.safetensors")
        if not file.is_file():
            raise InputError(_missing(path, which))
    policy = load_learned(file, seed)
    return policy if policy is not None else _old(file, which, trust)


def _missing(path: Path, which: Which) -> str:
    if (path / "result.json").is_file() and which == "best":
        return f"{path} has no best policy; take the final one"
    if (path / "config.json").is_file():
        return f"{path} is not finished yet; resume it: etairl resume {path}"
    return no_run(path)


def _old(file: Path, which: Which, trust: bool) -> LearnedPolicy:
    """From a run before 0.4, with what its environment says."""
    from etairl.solvers.learned import learned_from
    from etairl.training.result import Result

    if not (file.parent / "config.json").is_file():
        raise InputError(
            f"{file} does not say what its environment is like (files before 0.4 do not); name the "
            "folder of its run"
        )
    result = Result(file.parent, which, trust)
    return learned_from(result.network, result.config.mode == "absorbing")
