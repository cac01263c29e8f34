"""Solvers of the regularised RL problem."""
