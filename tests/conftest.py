import gc
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import jax
import numpy as np
import pytest
from hypothesis import settings
from imageio_ffmpeg import get_ffmpeg_exe
from jaxtyping import config
from threadpoolctl import threadpool_limits

from etairl.demos import Demos, limit_cycle
from etairl.tasks.offscreen import choose_backend
from etairl.training import cloned
from etairl.types import InputError, Trajectories

if "PYTEST_XDIST_WORKER" in os.environ and hasattr(os, "sched_setaffinity"):
    # A core for each worker, before JAX begins its threads: they take turns, and lose a third of
    # the time when one wakes on another core.
    _cores = sorted(os.sched_getaffinity(0))
    _number = int(os.environ["PYTEST_XDIST_WORKER"].removeprefix("gw"))
    os.sched_setaffinity(0, {_cores[_number % len(_cores)]})

# Programs for one core, here and in processes that are started: they are compared with each other.
os.environ.setdefault("NPROC", "1")

if "OPENBLAS_NUM_THREADS" not in os.environ:
    # A second thread of NumPy's library, here or in a process that is started, spins while it waits
    # for the next of many small products: a tiny run took 3.7 s of the processor instead of 2.1 s.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    threadpool_limits(1, "blas")  # of this process, which may have begun them

THIRD_PARTY = Path(__file__).parents[2] / "shared" / "demos"
LONGEST = (
    *("test_resume.py", "test_study.py", "test_app.py", "test_project.py", "test_examples.py"),
    *("test_expert.py", "test_docs.py"),
)
# XLA spends most of a test run on making small programs fast that run once. Without its loop
# emitters and LLVM's optimisations a program is compiled in a seventh of the time.
HASTY = (
    "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1 "
    "--xla_backend_optimization_level=1"  # where JAX does not ask for 0, see `lasting`
)

# On a busy machine an example takes as long as it takes; no test is about that.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")


def pytest_configure(config: pytest.Config) -> None:
    """Programs compiled once, in haste, serve all workers and the processes that they start.

    The slow tests run long enough for programs as users have them. XLA_FLAGS of one's own, even
    empty, turn the haste off: a jaxlib that does not know ours would stop.
    """
    if config.option.markexpr != "slow" and "XLA_FLAGS" not in os.environ:
        os.environ["XLA_FLAGS"] = HASTY
        _configure("jax_disable_most_optimizations", True)
    if "JAX_COMPILATION_CACHE_DIR" in os.environ:
        return
    folder = tempfile.mkdtemp(prefix="etairl-compiled-")
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
    _configure("jax_compilation_cache_dir", folder)
    _configure("jax_persistent_cache_min_compile_time_secs", 0.0)


def _configure(name: str, value: str | float | bool) -> None:
    """Here and in the processes that are started, unless the surroundings say otherwise."""
    if name.upper() not in os.environ:
        os.environ[name.upper()] = str(value)
        jax.config.update(name, value)


@pytest.fixture(autouse=True, scope="session")
def short_cloning() -> Iterator[None]:
    """Runs of tests have a clone of few updates beside them, made in a fraction of the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cloned, "_FEWEST", 50)
        patch.setattr(cloned, "_MOST", 50)
        yield


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first: nobody is left alone with one while the other workers are done."""
    items.sort(key=lambda item: item.path.name not in LONGEST)


def pytest_collection_finish() -> None:
    """What was imported and collected stays: looking for garbage in it again and again is slow."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture
def demos() -> Demos:
    return limit_cycle(np.random.default_rng(1), episodes=8, length=60, period=15.0)


@pytest.fixture
def unchecked() -> Iterator[None]:
    """Without the run-time shape checker, as users run: our own words must catch the mistake."""
    config.update("jaxtyping_disable", True)
    yield
    config.update("jaxtyping_disable", False)


@pytest.fixture
def lasting(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """For programs that run for seconds, here or in a process: somewhat optimised, it pays."""
    before = jax.config.read("jax_disable_most_optimizations")
    jax.config.update("jax_disable_most_optimizations", False)
    monkeypatch.setenv("JAX_DISABLE_MOST_OPTIMIZATIONS", "0")
    yield
    jax.config.update("jax_disable_most_optimizations", before)


@pytest.fixture
def optimised() -> dict[str, str]:
    """Surroundings of a process whose programs are those of a user: not compiled in haste."""
    hasty = ("XLA_FLAGS", "JAX_DISABLE_MOST_OPTIMIZATIONS")
    return {name: value for name, value in os.environ.items() if name not in hasty}


@pytest.fixture
def third_party() -> Path:
    """Folder of demonstrations recorded by others, where it is present."""
    if not THIRD_PARTY.is_dir():
        pytest.skip("third-party demonstrations are not on this machine")
    return THIRD_PARTY


@pytest.fixture(scope="session")
def offscreen() -> None:
    """A library that draws without a screen, where there is one."""
    try:
        choose_backend()
    except InputError as error:
        pytest.skip(str(error))


@pytest.fixture
def decode() -> Callable[[Path], tuple[str, np.ndarray]]:
    """Reads a clip: what ffmpeg says of it, and its frames."""

    def read(path: Path) -> tuple[str, np.ndarray]:
        raw = ("-fps_mode", "passthrough", "-f", "rawvideo", "-pix_fmt", "rgb24", "-")
        done = subprocess.run([get_ffmpeg_exe(), "-i", path, *raw], capture_output=True, check=True)
        about = re.search(r"Video: .*", done.stderr.decode())
        assert about is not None
        size = re.search(r" (\d\d+)x(\d+)", about[0])
        assert size is not None
        frames = np.frombuffer(done.stdout, np.uint8)
        return about[0], frames.reshape(-1, int(size[2]), int(size[1]), 3)

    return read


@pytest.fixture
def minari_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home for Minari datasets."""
    folder = tmp_path / "minari"
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(folder))
    return folder


@pytest.fixture
def assert_same() -> Callable[[Trajectories, Trajectories], None]:
    """Compares two sets of trajectories to the last bit, types and shapes included."""

    def compare(a: Trajectories, b: Trajectories) -> None:
        for name in a.__dataclass_fields__:
            x, y = getattr(a, name), getattr(b, name)
            assert (x is None) == (y is None), name
            if x is not None:
                assert (x.dtype, x.shape) == (y.dtype, y.shape), name
                assert x.tobytes() == y.tobytes(), name

    return compare
