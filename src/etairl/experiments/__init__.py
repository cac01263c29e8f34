"""Whole runs: an algorithm, a run directory, and what is measured along the way."""
