"""A study on a real Ray cluster of two nodes on this machine, with a worker killed mid-run."""

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tiny
from processes import running

from etairl.studies.cluster import run_on_ray
from etairl.studies.grid import read_grid
from etairl.studies.processes import Ended, environment, run_locally
from etairl.studies.report_data import write_tables
from etairl.studies.study_folder import Study
from etairl.types import InputError

ray = pytest.importorskip("ray", reason="Ray has no wheel for this platform")

pytestmark = [
    # Ray's own background threads and sockets are not ours to tidy.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]

GRID = tiny.GRID.replace("transitions = 2000", "transitions = 4000")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory) -> Iterator[Any]:
    """Two nodes with one core each: two raylets, as two machines would run them."""
    from ray.cluster_utils import Cluster

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    # Compiled once for all workers of this file; the nodes hand their surroundings on.
    os.environ["JAX_COMPILATION_CACHE_DIR"] = str(tmp_path_factory.mktemp("cache"))
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    small = {"num_cpus": 1, "object_store_memory": 100 * 2**20, "include_dashboard": False}
    nodes = Cluster(initialize_head=True, head_node_args=small)
    nodes.add_node(num_cpus=1, object_store_memory=100 * 2**20)
    yield nodes
    ray.shutdown()
    nodes.shutdown()
    for name in ("JAX_COMPILATION_CACHE_DIR", "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"):
        os.environ.pop(name, None)


def begin(folder: Path, name: str) -> Study:
    path = folder / "grid.toml"
    path.write_text(GRID)
    return Study.open(folder / name, "grid", None, read_grid(path).jobs)


def workers() -> list[int]:
    """Processes of Ray in which one of our tasks runs."""
    return [p for p, line in running().items() if line.startswith("ray::") and "_task" in line]


@pytest.mark.slow
def test_a_killed_worker_changes_nothing(cluster, tmp_path):
    """The task is tried again by Ray, goes on from its checkpoint, and ends with the same bytes."""
    alone = begin(tmp_path, "alone")
    ended = [e for e in run_locally(alone, alone.jobs, 2, 1000.0) if e is not None]
    assert [e.code for e in ended] == [0, 0]
    study, killed, done = begin(tmp_path, "ray"), 0, []
    assert len([n for n in ray_nodes(cluster) if n["Alive"]]) == 2
    begun = time.monotonic()
    for step in run_on_ray(study, study.jobs, cluster.address, 0.0):
        assert time.monotonic() - begun < 300
        if isinstance(step, Ended):
            done.append(step)
        under_way = [study.progress(job) for job in study.jobs]
        some = [p for p in under_way if p.state == "running" and 600 <= p.transitions < 3000]
        if not killed and some and (found := workers()):
            os.kill(found[0], signal.SIGKILL)
            killed += 1
    assert killed == 1
    assert [e.code for e in done] == [0, 0]
    write_tables(alone)
    write_tables(study)
    for name in ("results.csv", "results.json", "statistics.json"):
        assert (study.path / name).read_bytes() == (alone.path / name).read_bytes(), name


def ray_nodes(cluster: Any) -> list[dict[str, Any]]:
    ray.init(address=cluster.address, log_to_driver=False, logging_level="error")
    try:
        return ray.nodes()
    finally:
        ray.shutdown()


@pytest.mark.slow
def test_a_run_that_fails_is_not_tried_again_and_stops_no_other(cluster, tmp_path):
    study = begin(tmp_path, "spoiled")
    for job in study.jobs:
        blocked = study.run_path(job)
        blocked.mkdir(parents=True)
        (blocked / "notes.txt").write_text("mine")
    ended = [e for e in run_on_ray(study, study.jobs, cluster.address, 60.0) if e is not None]
    assert [e.code for e in ended] == [1, 1]
    assert all("exists and is not a run" in (study.failure(job) or "") for job in study.jobs)


def test_no_cluster_there(tmp_path):
    study = begin(tmp_path, "nowhere")
    with pytest.raises(InputError, match=r"no Ray cluster at 127\.0\.0\.1:1 "):
        next(run_on_ray(study, study.jobs, "127.0.0.1:1", 60.0))


def test_without_ray(tmp_path, monkeypatch):
    study = begin(tmp_path, "without")
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"etairl\[ray\]"):
        next(run_on_ray(study, study.jobs, "auto", 60.0))
    assert environment()["OMP_NUM_THREADS"] == "1"
