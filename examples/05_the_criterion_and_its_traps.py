"""The η-weighted criterion on a chain of two states: who is optimal, and for what.

Run it as `python examples/05_the_criterion_and_its_traps.py [FOLDER]`; with a folder it draws the
three figures of the documentation there.
"""

import sys
from pathlib import Path

from etairl.eta import Geometric, parse_eta
from etairl.figures.chain_figures import (
    duality_gap_figure,
    occupancy_curve_figure,
    stay_or_go_figure,
)
from etairl.figures.save import save_figure
from etairl.tabular import (
    best_stationary,
    criterion,
    go_stay,
    go_stay_policy,
    phase_optimal,
    planning_gap,
    policy_iteration,
    time_optimal,
)


def main() -> None:
    """Two chains: one where planning with γ is wrong, one where every class of policy differs."""
    mdp = go_stay(stay=0.4, go=1.0, after=0.0, gamma=0.5)
    print("go/stay(0.4, 1, 0), γ = 0.5: staying is γ-optimal, yet")
    for spec in ("dirac:0", "geometric:0.25", "geometric:0.5", "poisson:2"):
        eta = parse_eta(spec)
        stay, go = (criterion(mdp, go_stay_policy(p), eta) for p in (1.0, 0.0))
        print(f"  {spec:<16} stay {stay:.4f}   go {go:.4f}")
    gap = planning_gap(mdp, Geometric(0.5))
    print(f"planning loses {gap.heuristic - gap.stationary:.4f}, never more than {gap.bound:.4f}\n")

    mdp, eta = go_stay(stay=0.75, go=0.0, after=1.0, gamma=0.5), Geometric(0.5)
    best = best_stationary(mdp, eta)
    print("go/stay(0.75, 0, 1), γ = κ = 0.5: the more a policy knows, the less it pays")
    print(f"  γ-optimal policy   {criterion(mdp, policy_iteration(mdp).policy, eta):.4f}")
    print(f"  best stationary    {best.value:.4f}   stay with probability {best.policy[0, 0]:.4f}")
    print(f"  knows the time     {time_optimal(mdp, eta).value:.4f}")
    print(f"  knows the phase    {phase_optimal(mdp, eta.kappa).value:.4f}")
    if len(sys.argv) > 1:
        for name, figure in (
            ("stay-or-go", stay_or_go_figure()),
            ("occupancy-curve", occupancy_curve_figure()),
            ("duality-gap", duality_gap_figure()),
        ):
            save_figure(figure, Path(sys.argv[1]) / f"{name}.png")
        print(f"drawn into {sys.argv[1]}")


if __name__ == "__main__":
    main()
