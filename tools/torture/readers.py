"""What is read: for each kind of file valid ones, made here, and the call that reads them."""

import atexit
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

import etairl
from etairl.checkpoints import Manifest
from etairl.decoding import encode
from etairl.demos import Demos, Importing, limit_cycle, load_demos, save_demos
from etairl.eta import parse_eta
from etairl.storage import checksum

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "tests" / "fixtures" / "demos"
DEMOS = "demos.npz"


class Reader(NamedTuple):
    """One kind of input."""

    make: Callable[[Path], object]
    """writes valid inputs, each in a folder of its own, into this folder"""
    read: Callable[[Path], object]
    """reads the one in a folder; what it returns is not looked at"""
    attacked: tuple[str, ...] = ("**/*",)
    """patterns of files that are damaged; all others stay as they are"""
    texts: st.SearchStrategy[str] | None = None
    """what hypothesis writes into the damaged file instead: of every twentieth input"""
    sealed: Callable[[Path], object] | None = None
    """makes checksums fit what was damaged: of every second input"""


def _copies(*names: str) -> Callable[[Path], object]:
    def make(folder: Path) -> None:
        for number, name in enumerate(names):
            place = folder / str(number)
            place.mkdir(parents=True)
            source = FIXTURES / name
            (shutil.copytree if source.is_dir() else shutil.copy)(source, place / source.name)

    return make


def _import(folder: Path, **options: Any) -> object:
    return load_demos(next(folder.iterdir()), importing=Importing(**options))


def _import_hdf5(folder: Path) -> object:
    robot = (folder / "robomimic.hdf5").is_file()
    return _import(folder, observations=("object", "robot_pos") if robot else ())


def _demonstrations() -> Demos:
    return limit_cycle(np.random.default_rng(1), episodes=3, length=7, period=5.0)


def _npz(folder: Path) -> None:
    demos = _demonstrations()
    names = ("a", "b", "c", "d")
    spec = replace(
        demos.spec,
        environment="Somewhere-v0",
        observation_names=names[: demos.spec.obs_dim],
        action_names=names[: demos.spec.act_dim],
    )
    save_demos(replace(demos, spec=spec, playing="drawn"), folder / "whole" / DEMOS)
    from etairl.demos import Selection

    save_demos(
        load_demos(folder / "whole" / DEMOS, select=Selection(every=3)), folder / "thin" / DEMOS
    )
    states = Demos.of(replace(demos.trajectories, actions=np.zeros((21, 0), np.float32)), spec, "s")
    save_demos(states, folder / "states" / DEMOS)


def _minari(folder: Path) -> None:
    os.environ["MINARI_DATASETS_PATH"] = str(folder / "0")
    save_demos(_demonstrations(), "minari:torture/walk-v0")


def _read_minari(folder: Path) -> object:
    os.environ["MINARI_DATASETS_PATH"] = str(folder)
    return load_demos("minari:torture/walk-v0")


@cache
def tiny() -> Any:
    """Settings of a run that takes seconds; its demonstrations come with the package."""
    from etairl.training.flat import configure

    return configure(
        env="Pendulum-v1",
        demos="Pendulum-v1-25x200",
        demonstrations=4,
        horizon=20,
        episodes=2,
        transitions=240,
        solver="sac",
        rollout="episodes",
        solver_updates=2,
        solver_batch=8,
        cost_updates=1,
        cost_batch=8,
        remaining_cycles=3,
        measure_every=2,
        hidden=(8,),
        hidden_d=(8,),
    )


@cache
def _finished() -> Path:
    """A run that is made once."""
    place = Path(tempfile.mkdtemp(prefix="torture-run-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    run = etairl.train(tiny(), place / "run").path
    shutil.rmtree(run / "tensorboard", ignore_errors=True)
    rows = [_evaluated(name) for name in ("learner", "expert")]
    (run / "evaluation.json").write_text(json.dumps(rows))
    return run


def _run(folder: Path) -> None:
    shutil.copytree(_finished(), folder / "run")
    for old in (ROOT / "tests" / "training" / "fixtures").glob("run-*"):
        shutil.copytree(old, folder / old.name)


def _evaluated(name: str) -> dict[str, Any]:
    distance = {"value": 0.1, "floor": 0.02, "floor_by": None}
    return {
        **{
            "name": name,
            "episodes": 2,
            "return_mean": -3.0,
            "return_std": 1.0,
            "score": 0.5,
            "success": None,
        },
        **{"playing": "drawn", "beside": "demonstrations", "compared": None, "timeline": None},
        **{"mmd2_rho": distance, "mmd2_mu": distance, "generalisation": None, "longer": None},
    }


def _read_run(folder: Path) -> object:
    from etairl.runs import read_metrics, read_result
    from etairl.studies.digest import digest_of
    from etairl.training.config_files import read_finished

    return read_finished(folder), read_metrics(folder), read_result(folder), digest_of(folder)


def _read_result(folder: Path) -> object:
    from etairl.training.result import Result

    return Result(folder)


def _read_policy(folder: Path) -> object:
    policy = etairl.load(folder)
    return policy.predict(np.zeros(policy.spec.obs_dim, np.float32))


def _card(folder: Path) -> None:
    from etairl.training.result import Result

    # As if never evaluated: its scores are those of its result.
    run = shutil.copytree(_finished(), folder.parent / "plain")
    (run / "evaluation.json").unlink()
    Result(run).card(folder / "card", with_demonstrations=True)


def _read_card(folder: Path) -> object:
    from etairl.studies.digest import digest_of
    from etairl.training.config_files import read_finished

    return etairl.load(folder), read_finished(folder), digest_of(folder)


def _stopped(folder: Path) -> None:
    from etairl.training.session import open_run

    run = folder / "run"
    with open_run(tiny(), run, checkpoint_seconds=0.0) as session:
        reports = session.play()
        for _ in range(3):
            next(reports)
        reports.close()
    shutil.rmtree(run / "tensorboard", ignore_errors=True)


@cache
def _prepared() -> Any:
    from etairl.training.preparation import prepare

    prepared = prepare(tiny(), threads=1)
    return prepared, prepared.begin(cloned=False)


def _read_checkpoint(folder: Path) -> object:
    """As a run is resumed, without making the simulator anew."""
    from etairl.runs import RunDirectory
    from etairl.training.deciding import copy_player
    from etairl.training.session import Session

    prepared, state = _prepared()
    directory = RunDirectory(folder)
    directory.check_versions()
    directory.check_demonstrations(prepared.digest)
    if not directory.open(encode(prepared.config), demonstrations=prepared.digest):
        return None
    session = Session(directory, prepared, True)
    return session._restore(state, copy_player(prepared, state), prepared.make_buffer())


def _sealed(folder: Path) -> None:
    """Checksums of checkpoints and segments are made to fit, as an attacker would."""
    for segment in (folder / "replay").glob("*-*-*.safetensors"):
        begin, end, _ = segment.name.split("-")
        data = segment.read_bytes()
        segment.rename(segment.with_name(f"{begin}-{end}-{checksum(data)[:16]}.safetensors"))
    for file in (folder / "checkpoints").glob("*/checkpoint.json"):
        try:
            plain = json.loads(file.read_bytes())
            files = {f.name: checksum(f.read_bytes()) for f in file.parent.glob("*.safetensors")}
            metrics = (folder / "metrics.jsonl").read_bytes()
            logged = {"bytes": len(metrics), "sha256": checksum(metrics)}
            Manifest(plain["values"], files, logged).write(file.parent)
        except (ValueError, LookupError, TypeError, RecursionError, OSError):
            continue  # too far gone


def _study(folder: Path) -> None:
    from etairl.studies.jobs import Job
    from etairl.studies.study_folder import Study

    place = folder / "study"
    jobs = [Job(arm, replace(tiny(), seed=seed)) for arm in ("a", "b") for seed in (0, 1)]
    study = Study.open(place, "torture", None, jobs, evaluate=2)
    shutil.copytree(_finished(), study.run_path(jobs[0]))
    digest = study.digests()[jobs[0].name]
    study.keep({job.name: replace(digest, config=encode(job.config)) for job in jobs[1:3]})
    study.fail(jobs[3], "OSError", "the disk was full")


def _read_study(folder: Path) -> object:
    from etairl.studies.report_data import report_data
    from etairl.studies.study_folder import Study

    study = Study(folder)
    return [study.failure(job) for job in study.jobs], report_data(study)


def _study_files(folder: Path) -> None:
    for number, text in enumerate(_STUDIES):
        (folder / str(number)).mkdir(parents=True)
        (folder / str(number) / "study.toml").write_text(text)


def _read_study_file(folder: Path) -> object:
    from etairl.studies.grid import read_grid

    return read_grid(folder / "study.toml")


def _settings(folder: Path) -> None:
    from etairl.cli.settings_file import as_toml
    from etairl.training.presets import preset

    for name in ("default", "off-policy"):
        (folder / name).mkdir(parents=True)
        text = as_toml(replace(preset(name), demos="Pendulum-v1-25x200", env="Pendulum-v1"))
        (folder / name / "run.toml").write_text(text)


def _read_settings(folder: Path) -> object:
    from etairl.cli.settings_file import read_settings

    return read_settings(folder / "run.toml")


def _etas(folder: Path) -> None:
    for number, text in enumerate(_ETAS):
        (folder / str(number)).mkdir(parents=True)
        (folder / str(number) / "eta").write_text(text)


def _read_eta(folder: Path) -> object:
    text = (folder / "eta").read_bytes().decode(errors="surrogateescape")
    eta = parse_eta(text)
    return str(eta), eta.pmf(50)


_ETAS = (
    *("dirac:0", "geometric:0.99", "uniform", "poisson:25", "table:0.2,0.3,0.5"),
    *("zero-modified:0.995,0.99", "mixture:0.5*dirac:0+0.5*poisson:25"),
)
_STUDIES = (
    'seeds = 2\n[settings]\nenv = "Pendulum-v1"\ndemos = "Pendulum-v1-25x200"\nhorizon = 50\n'
    'hidden = [8]\n[grid]\neta = ["dirac:0", "geometric:0.75"]\nepisodes = [2, 3]\n',
    'preset = "default"\nseeds = [1, 5]\nevaluate = 4\n[settings]\nenv = "Pendulum-v1"\n'
    'demos = "Pendulum-v1-25x200"\nlr_d = 1e-3\n[[runs]]\narm = "far"\neta = "poisson:10"\n'
    '[[runs]]\npreset = "off-policy"\nhorizon = 100\n',
)
_words = st.sampled_from(
    [*_ETAS, *(eta.partition(":")[0] for eta in _ETAS), *":+*,.", "1e9", "-0", "0.5", "1e400"]
)
_eta_texts = st.lists(st.one_of(_words, st.text(max_size=5)), max_size=12).map("".join)
_keys = st.sampled_from(["env", "demos", "eta", "horizon", "hidden", "seeds", "preset", "runs"])
_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(_keys, inner, max_size=4)),
    max_leaves=12,
)
_tables = st.dictionaries(_keys | st.text(max_size=8), _values, max_size=6)
_toml_texts = _tables.map(
    lambda table: "".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items())
)
_json_texts = _tables.map(json.dumps)

READERS = {
    "eta": Reader(_etas, _read_eta, texts=_eta_texts),
    "npz": Reader(_npz, lambda folder: load_demos(folder / DEMOS)),
    "npz of others": Reader(
        _copies("d4rl.npz", "stable_baselines.npz", "trajectories.npz", "transitions.npz"), _import
    ),
    "csv": Reader(_copies("table.csv"), _import, texts=st.text()),
    "hdf5": Reader(_copies("d4rl.hdf5", "robomimic.hdf5"), _import_hdf5),
    "arrow": Reader(_copies("imitation_folder", "imitation_folder_index"), _import),
    "parquet": Reader(_copies("lerobot"), _import, ("**/*.parquet", "**/*.json*")),
    "minari": Reader(_minari, _read_minari),
    "run": Reader(
        _run,
        _read_run,
        ("*.json", "*.jsonl"),
        texts=_json_texts,
    ),
    "policy": Reader(_run, _read_policy, ("policy.safetensors",)),
    "result": Reader(_run, _read_result, ("*.json", "*.safetensors")),
    "card": Reader(_card, _read_card),
    "checkpoint": Reader(
        _stopped,
        _read_checkpoint,
        ("checkpoints/*/*", "replay/*", "metrics.jsonl", "*.json"),
        sealed=_sealed,
    ),
    "study": Reader(_study, _read_study, ("*.json*", "failures/*", "runs/*/*.json*")),
    "study file": Reader(_study_files, _read_study_file, texts=_toml_texts),
    "config file": Reader(_settings, _read_settings, texts=_toml_texts),
}
