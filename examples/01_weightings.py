"""What a weighting does to the frames a discriminator sees: a table, and a figure.

Run it as `python examples/01_weightings.py [FIGURE]`; without a name the figure goes to a
temporary folder.
"""

import sys
import tempfile
from pathlib import Path
from typing import get_args

from matplotlib.figure import Figure

from etairl.eta import parse_eta
from etairl.figures.save import save_figure
from etairl.measures import FutureSampler, Method, summarise_law

HORIZON = 500
COLOURS = {
    "geometric:0": "0.5",
    "geometric:0.9": "#7fb069",
    "geometric:0.99": "#1b6ca8",
    "poisson:25": "#e09f3e",
    "geometric:1": "#9e2a2b",
}


def main() -> None:
    """Print one row per weighting and sampler, then draw both samplers side by side."""
    figure = Figure(figsize=(9.0, 3.6), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    print(f"{'weighting':<16}{'sampler':<11}from GAIL  last quarter  last frame")
    for axes, method in zip(panels, get_args(Method), strict=True):
        for spec, colour in COLOURS.items():
            law = FutureSampler(parse_eta(spec), method=method).law(HORIZON)
            facts = summarise_law(law)
            print(
                f"{spec:<16}{method:<11}{100 * facts['tv_from_uniform']:>8.2f}%"
                f"{100 * facts['last_quarter']:>13.1f}%{facts['last_frame_factor']:>11.2f}x"
            )
            style = "--" if spec == "geometric:0" else "-"
            axes.plot(law * HORIZON, style, color=colour, label=spec, linewidth=1.8)
        axes.set(title=f"{method} sampler", xlabel="frame n = t + k", xlim=(0, HORIZON - 1))
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set(ylabel="weight relative to uniform", ylim=(0, 4))
    panels[0].legend(frameon=False, fontsize=9, title="η (geometric:0 is GAIL)")
    temporary = Path(tempfile.gettempdir()) / "etairl-weightings.png"
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else temporary
    save_figure(figure, path)
    print(f"drawn into {path}")


if __name__ == "__main__":
    main()
