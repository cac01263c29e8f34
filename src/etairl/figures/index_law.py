"""The law of the frames a discriminator sees, next to the uniform law."""

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from etairl.figures.panels import BLUE, unframed


def index_law_figure(law: Float[np.ndarray, " horizon"], title: str) -> Figure:
    """Relative weight of each frame: the law times the horizon, so that uniform is 1."""
    horizon = len(law)
    factor = law * horizon
    figure = Figure(figsize=(6.4, 3.6), layout="constrained")
    axes = figure.add_subplot()
    axes.axhline(1.0, color="0.5", linewidth=1.0, linestyle="--", label="uniform (GAIL)")
    axes.plot(np.arange(horizon), factor, color=BLUE, linewidth=1.8, label=title)
    axes.fill_between(np.arange(horizon), 1.0, factor, color=BLUE, alpha=0.15)
    # One piled-up last frame must not flatten the rest.
    top = max(2.0, 1.15 * float(np.quantile(factor, 0.995)))
    if factor.max() > top:
        at = int(factor.argmax())
        axes.annotate(
            f"frame {at}: ×{factor.max():.3g}",
            xy=(at, top),
            xytext=(-8, -6),
            textcoords="offset points",
            ha="right",
            va="top",
            fontsize=9,
        )
        axes.plot([at], [top], marker="^", color=BLUE, clip_on=False, markersize=6)
    axes.set(xlim=(0, max(horizon - 1, 1)), ylim=(0, top))
    axes.set(xlabel="frame n = t + k", ylabel="weight relative to uniform")
    axes.legend(loc="upper left", frameon=False, fontsize=9)
    unframed(axes)
    return figure
