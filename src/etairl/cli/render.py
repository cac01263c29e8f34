"""`etairl render`: a clip of the learner beside a demonstration."""

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import tyro

from etairl.cli.arguments import KeptPolicy, RunFolder, Trusted
from etairl.cli.console import out, parse, track, working
from etairl.types import InputError, check_seed

_LARGEST = 2048


@dataclass(frozen=True)
class RenderConfig:
    """Draw the learner beside a demonstration, as .mp4 or .gif."""

    run: RunFolder
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"], metavar="FILE")]
    """the clip; its name ends in .mp4 or .gif"""
    policy: KeptPolicy = "final"
    beside: Literal["demonstrations", "nothing"] = "demonstrations"
    """what is shown beside the learner"""
    demonstration: int = 0
    """which demonstration, counted from 0"""
    steps: int | None = None
    """steps to show; at most, and by default, the horizon of the run"""
    seed: int = 0
    """random seed of the learner's episode"""
    fps: float | None = None
    """frames per second, one step each; those of the environment if left out"""
    width: int = 480
    """of one panel, in pixels"""
    height: int = 480
    """of one panel, in pixels; its caption comes on top"""
    overwrite: bool = False
    """replace an existing file"""
    trust: Trusted = False


def run(arguments: list[str]) -> int:
    """Write a clip of the learner beside a demonstration."""
    config = parse(RenderConfig, arguments, "render")
    _check(config)
    # The packages that draw are an extra; they are looked for before anything slow.
    from etairl.tasks.offscreen import need

    need("imageio_ffmpeg", "writing a clip")
    need("PIL", "writing a clip")
    from etairl.figures.clip import Clip, compose
    from etairl.training.result import Result
    from etairl.training.scenes import demonstration, learner, make_scene, side_by_side

    size = (config.width, config.height)
    with ExitStack() as stack:
        with working("loading"):
            result = Result(config.run, config.policy, config.trust)
            steps = min(config.steps or result.config.horizon, result.config.horizon)
            rng = np.random.default_rng([result.config.seed, config.seed, 13])
            scene = make_scene(result, size, config.seed)
            stack.callback(scene.close)
            sides = [learner(result, scene, steps, rng)]
            if config.beside == "demonstrations":
                other = make_scene(result, size, config.seed)
                stack.callback(other.close)
                number = config.demonstration
                sides.append(demonstration(result.demonstrations, number, other, steps))
        clip = stack.enter_context(Clip(config.output, config.fps or scene.fps))
        panels = []
        for panels in track(side_by_side(sides), "rendering", steps + 1):
            clip.write(compose([(p.picture, p.caption) for p in panels], size))
    captions = "; ".join(panel.caption for panel in panels)
    out().print(f"{clip.frames} frames; {captions} → {config.output}")
    return 0


def _check(config: RenderConfig) -> None:
    if config.output.suffix.lower() not in (".mp4", ".gif"):
        raise InputError(f"{config.output}: the name of a clip ends in .mp4 or .gif")
    if config.output.exists() and not config.overwrite:
        raise InputError(
            f"{config.output} exists already; choose another name, or overwrite it (--overwrite)"
        )
    if config.steps is not None and config.steps < 1:
        raise InputError(f"--steps must be at least 1, got {config.steps}")
    check_seed(config.seed)
    if config.fps is not None and not 1 <= config.fps <= 1000:
        raise InputError(f"--fps must lie in [1, 1000], got {config.fps:g}")
    for name in ("width", "height"):
        if not 16 <= getattr(config, name) <= _LARGEST:
            raise InputError(f"--{name} must lie in [16, {_LARGEST}], got {getattr(config, name)}")
