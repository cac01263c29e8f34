"""Workers on a Ray cluster that are killed, and a node that is lost."""

import os
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
from processes import running

from torture.kills import PATIENCE, KilledError, Toll, finish_study, kill, say, study_differs


def kill_on_ray(rng: np.random.Generator, folder: Path, many: int, whole: Path | None) -> Toll:
    """A cluster of two nodes; the second is lost in the middle of every study, and one comes."""
    from ray.cluster_utils import Cluster

    assert whole is not None
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ.setdefault("RAY_worker_niceness", "0")  # 15 of Ray's own: on a busy machine, hours
    small = {"num_cpus": 1, "object_store_memory": 100 * 2**20}
    cluster = Cluster(initialize_head=True, head_node_args={**small, "include_dashboard": False})
    kills, runs, wrong, lost = 0, 0, [], 0
    try:
        while kills < many:
            node = cluster.add_node(**small)
            name = f"ray-{runs}"
            here, dead = _one_on_ray(rng, folder / name, cluster, node, many - kills)
            kills, lost, runs = kills + here, lost + dead, runs + 1
            finish_study(name, folder)
            wrong += study_differs(folder / name, whole)
            shutil.rmtree(folder / name)
            say("ray", kills, runs, wrong)
    finally:
        cluster.shutdown()
    return Toll(f"ray, {lost} nodes lost", kills, runs, wrong)


def _one_on_ray(
    rng: np.random.Generator, path: Path, cluster: Any, node: Any, most: int
) -> tuple[int, int]:
    """A study of two runs; Ray begins a run again three times: so at most three kills of workers.

    Returns the kills, and whether the node was lost.
    """
    from etairl.studies.cluster import run_on_ray
    from etairl.studies.grid import read_grid
    from etairl.studies.report_data import write_tables
    from etairl.studies.study_folder import Study

    study = Study.open(path, "grid", None, read_grid(path.parent / "grid.toml").jobs)
    kills, lost, wait = 0, False, float(rng.uniform(2.0, 10.0))
    last = begun = time.monotonic()
    for _ in run_on_ray(study, study.jobs, cluster.address, 0.0):
        now = time.monotonic()
        if now - begun > PATIENCE:
            raise KilledError("a study on Ray did not end")
        under_way = [p for p in map(study.progress, study.jobs) if p.state == "running"]
        if not lost and len(under_way) == 2 and all(p.transitions for p in under_way):
            cluster.remove_node(node, allow_graceful=False)
            lost, last = True, now
        found = [p for p, line in running().items() if line.startswith("ray::_task")]
        if kills < min(most, 3) and found and now - last > wait:
            kills += kill(int(rng.choice(sorted(found))))
            last, wait = now, float(rng.uniform(2.0, 10.0))
    if not lost:
        cluster.remove_node(node)
    write_tables(study)
    return kills, int(lost)
