"""The criterion and its traps on the go/stay chain: three figures for the documentation."""

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from etairl.eta import Geometric
from etairl.figures.panels import BLUE, DARK_RED, GREY, unframed
from etairl.tabular.eta_criterion import criterion
from etairl.tabular.exact_measures import mu
from etairl.tabular.generators import go_stay, go_stay_policy

PolicyCurve = Float[np.ndarray, " points"]


def stay_or_go_figure(gamma: float = 0.5) -> Figure:
    r"""$J_\eta$ of staying and of going against $\kappa$: where the planner is wrong."""
    mdp, kappas = go_stay(0.4, 1.0, 0.0, gamma), np.linspace(0.0, 0.98, 50)
    stay, go = (
        np.array([criterion(mdp, go_stay_policy(p), Geometric(float(k))) for k in kappas])
        for p in (1.0, 0.0)
    )
    planned, other = (stay, go) if stay[0] <= go[0] else (go, stay)  # κ = 0 is the planner's view
    figure, axes = _axes()
    for value, color, name in ((stay, BLUE, "always stay"), (go, DARK_RED, "go at once")):
        label = f"{name}, γ-optimal" if value is planned else name
        axes.plot(kappas, value, color=color, linewidth=1.8, label=label)
    if (other < planned).any():
        axes.fill_between(
            kappas, other, planned, where=(other < planned).tolist(), color=DARK_RED, alpha=0.12
        )
        place = (0.75, float(np.interp(0.75, kappas, 0.5 * (planned + other))))
        axes.annotate("what planning\nwith γ loses", place, color=DARK_RED, fontsize=9, ha="center")
    axes.set(xlabel="κ of η = Geom(κ)", ylabel="criterion $J_η$ (lower is better)")
    axes.set(xlim=(0, 0.98), ylim=(0, 1.1 * float(max(stay.max(), go.max()))))
    axes.legend(loc="lower left", frameon=False, fontsize=9)
    return figure


def occupancy_curve_figure(gamma: float = 0.5, kappa: float = 0.5) -> Figure:
    r"""The occupancies of all stationary policies: a curve, where convexity needs its chord."""
    stays = np.linspace(0.0, 1.0, 201)
    curve, chord = (_occupancies(stays, gamma, k) for k in (kappa, 0.0))
    ends = curve[[0, -1]]
    middle = ends.mean(axis=0)
    read = float(middle[0] / middle.sum())
    own = _occupancies(np.array([read]), gamma, kappa)[0]
    figure, axes = _axes()
    axes.plot(*curve.T, color=BLUE, linewidth=1.8, label=f"μ of every policy, κ = {kappa:g}")
    axes.plot(*ends.T, "--", color=GREY, linewidth=1.2, label="mixtures of stay and go")
    axes.plot(*chord.T, color=DARK_RED, linewidth=1.2, label="κ = 0, classical: a segment")
    axes.plot(*middle, "o", color=GREY)
    axes.plot(*own, "o", color=BLUE)
    arrow, wide = {"arrowstyle": "-", "color": GREY}, float(ends[-1, 0])
    words = f"the midpoint reads as p = {_short(read)} …"
    axes.annotate(words, middle, (0.15 * wide, 0.08), arrowprops=arrow)
    axes.annotate("… whose own μ is here", own, (0.65 * wide, 0.5), arrowprops=arrow)
    axes.set(xlabel="μ(0, stay)", ylabel="μ(0, go)", xlim=(0, 1.025 * wide), ylim=(0, 1.05))
    axes.legend(loc="upper right", frameon=False, fontsize=9)
    return figure


def duality_gap_figure(gamma: float = 0.5, kappa: float = 0.5) -> Figure:
    """WIEM's game on the chain: the two orders of play do not meet."""
    stays = np.linspace(0.0, 1.0, 401)
    features = _occupancies(stays, gamma, kappa) * np.array([1.0, 4.0])
    expert = _occupancies(np.array([0.8]), gamma, kappa)[0] * np.array([1.0, 4.0])
    excess = features - expert
    weights = np.linspace(0.0, 1.0, 601)
    dual = np.array([(excess @ np.array([w, 1.0 - w])).min() for w in weights])
    figure = Figure(figsize=(9.0, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    unframed(left, right)
    left.plot(stays, excess.max(axis=1), color=BLUE, linewidth=1.8)
    left.set(xlabel="p, the learner's probability to stay", title="the cost answers the policy")
    right.plot(weights, dual, color=DARK_RED, linewidth=1.8)
    right.set(xlabel="w, weight of the first feature", title="the policy answers the cost")
    primal = excess.max(axis=1)
    upper, lower = float(primal.min()), float(dual.max())
    for axes in (left, right):
        axes.axhline(upper, color=BLUE, linestyle=":", linewidth=1.2)
        axes.axhline(lower, color=DARK_RED, linestyle=":", linewidth=1.2)
        axes.axhspan(lower, upper, color=GREY, alpha=0.2, linewidth=0)
        axes.set(xlim=(0, 1), ylim=(lower - 1.0, upper + 1.2))
    p, w = float(stays[primal.argmin()]), float(weights[dual.argmax()])
    left.plot(p, upper, "o", color=BLUE)
    right.plot(w, lower, "o", color=DARK_RED)
    words = f"min max = {_short(upper)}, at p = {_short(p)}, the expert"
    left.annotate(words, (0.03, upper + 0.06), color=BLUE, fontsize=9)
    words = f"max min = {_short(lower)}, at w = {_short(w)}"
    right.annotate(words, (w, lower - 0.8), color=DARK_RED, fontsize=9, ha="center")
    words = f"gap {_short(upper - lower)}"
    right.annotate(words, (0.02, upper + 0.06), color=GREY, fontsize=9)
    left.set(ylabel="excess cost over the expert")
    return figure


def _short(x: float) -> str:
    return f"{round(x, 3) + 0.0:.3g}".replace("-", "−")


def _occupancies(stays: PolicyCurve, gamma: float, kappa: float) -> Float[np.ndarray, "points 2"]:
    mdp = go_stay(0.0, 0.0, 0.0, gamma)
    eta = Geometric(kappa)
    return np.stack([mu(mdp, go_stay_policy(float(p)), eta).values[0] for p in stays])


def _axes() -> tuple[Figure, Axes]:
    figure = Figure(figsize=(6.4, 3.8), layout="constrained")
    axes = figure.add_subplot()
    unframed(axes)
    return figure, axes
