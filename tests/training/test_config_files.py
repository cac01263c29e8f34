"""Settings as files keep them: of today, of older versions, damaged, and naming code."""

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tiny import TINY

import etairl
from etairl.algorithms.registry import ALGORITHMS
from etairl.cli.app import main
from etairl.cli.settings_file import read_settings
from etairl.decoding import encode
from etairl.demos import load_demos
from etairl.runs import versions
from etairl.solvers.players import SOLVERS
from etairl.training.config_files import config_from, read_config, read_finished
from etairl.training.flat import check_setting, configure, flatten, known
from etairl.training.presets import PRESETS
from etairl.types import InputError

OLD = Path(__file__).parent / "fixtures"
FILE = Path("config.json")


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_comes_back_from_its_file(name):
    plain = json.loads(json.dumps(encode(PRESETS[name])))
    assert config_from(plain, FILE) == PRESETS[name]


@pytest.mark.parametrize(
    ("algorithm", "solver"),
    [
        (algorithm, solver)
        for algorithm in ALGORITHMS
        for solver in SOLVERS
        if (algorithm == "iq") == (solver == "iq")
        and not (algorithm in ("airl", "rairl", "eairl") and solver.endswith("-eta"))
    ],
)
def test_every_kind_comes_back_from_its_file(algorithm, solver):
    config = configure(TINY, algorithm=algorithm, solver=solver)
    assert config_from(json.loads(json.dumps(encode(config))), FILE) == config
    assert flatten(config)["solver"] == solver


def test_every_setting_has_a_flat_name_of_its_own():
    """A name that two parts of one configuration share would be ambiguous."""
    for algorithm in ALGORITHMS:
        config = configure(TINY, algorithm=algorithm)
        parts = (config.girl, config.generator, config.cost, config.solver)
        names = [name for part in parts for name in flatten(part)]
        assert len(set(names)) == len(names)
        assert set(flatten(config)) - {"algorithm"} <= set(known())


class TestOldRuns:
    """Directories that versions 0.1.0, 0.2.0 and 0.3.0 wrote."""

    def test_settings(self):
        config = read_config(OLD / "run-0.1-pendulum")
        assert (config.algorithm, config.eta, config.omega) == (
            "megan",
            "geometric:0.99",
            "entropy",
        )
        assert config.solver.play.solver_updates == 2
        assert config.solver.sac.hidden == config.cost.network.hidden_d == (8,)
        config = read_config(OLD / "run-0.1-navigation")
        assert (config.algorithm, config.omega, config.solver.kind) == ("emma", "kl", "sac-eta")
        assert config.solver.plain.play.warm_start
        assert (config.cost.weights, config.cost.features) == ("ball", "identity")

    def test_settings_that_the_first_runs_did_not_write_down(self):
        data = json.loads((OLD / "run-0.1-pendulum" / "config.json").read_text())
        whole = config_from(data, FILE)
        for name in ("omega", "solver", "frozen_cost", "linear", "cloning", "idle", "generator"):
            del data[name]
        assert config_from(data, FILE) == whole

    @pytest.mark.parametrize(
        "name",
        ["run-0.1-pendulum", "run-0.1-navigation", "run-0.2-pendulum", "run-0.3-pendulum"],
    )
    def test_evaluate_reads_them(self, name, capsys):
        assert main(["evaluate", str(OLD / name), "--episodes=4", "--no-cloning", "--json"]) == 0
        rows = json.loads(capsys.readouterr().out)
        assert rows[0]["name"] == "learner"
        assert np.isfinite(rows[0]["score"])

    @pytest.mark.parametrize("version", ["0.1", "0.2", "0.3"])
    def test_their_policies_act(self, version):
        policy = etairl.load(OLD / f"run-{version}-pendulum")
        action = policy.predict(np.array([1.0, 0.0, 0.0], np.float32))[0]
        assert np.isfinite(action).all()

    @pytest.mark.parametrize("version", ["0.1", "0.2", "0.3"])
    def test_render_reads_them(self, version, tmp_path):
        clip, run = tmp_path / "clip.gif", OLD / f"run-{version}-pendulum"
        small = ["--steps=3", "--width=64", "--height=64"]
        assert main(["render", str(run), "-o", str(clip), *small]) == 0
        assert clip.read_bytes()[:3] == b"GIF"

    def test_report_reads_them(self, tmp_path):
        runs = [str(path) for path in sorted(OLD.glob("run-*"))]
        assert len(runs) == 4
        assert main(["report", *runs, "-o", str(tmp_path / "page")]) == 0
        assert "Pendulum-v1" in (tmp_path / "page" / "report.html").read_text()

    def test_the_normalised_cost_is_read_as_a_score(self):
        result = etairl.Result(OLD / "run-0.1-navigation")
        raw = json.loads((OLD / "run-0.1-navigation" / "result.json").read_text())
        cost = raw["remaining"]["normalised_cost"]
        assert result.metrics["remaining"]["score"] == pytest.approx(1.0 - cost)

    @pytest.mark.parametrize("version", ["0.1", "0.2", "0.3"])
    def test_resume_refuses_them_and_changes_nothing(self, version, tmp_path, capsys):
        path = shutil.copytree(OLD / f"stopped-{version}-pendulum", tmp_path / "old")
        before = {p: p.read_bytes() for p in path.rglob("*") if p.is_file()}
        assert len([p for p in before if p.suffix == ".safetensors"]) == 3 + 4
        assert main(["resume", str(path)]) == 2
        said = capsys.readouterr().err
        assert f"was begun with other versions (etairl {version}.0 →" in said
        assert said.count("\n") == 1
        assert {p: p.read_bytes() for p in path.rglob("*") if p.is_file()} == before

    @pytest.mark.parametrize("version", ["0.1", "0.2", "0.3"])
    def test_their_checkpoints_are_not_taken_for_ours(self, version, tmp_path, capsys):
        """Even where the file that says the versions is changed."""
        path = shutil.copytree(OLD / f"stopped-{version}-pendulum", tmp_path / "old")
        about = json.loads((path / "versions.json").read_text()) | versions()
        (path / "versions.json").write_text(json.dumps(about))
        assert main(["resume", str(path)]) == 2
        assert "holds a run with other settings" in capsys.readouterr().err


def _damaged() -> list[tuple[str, str]]:
    whole = json.dumps(encode(TINY))
    data = json.loads(whole)

    def changed(**values) -> str:
        return json.dumps(data | values)

    solver, cost = data["solver"], data["cost"]
    return [
        ("5", "it is not a JSON object"),
        ("{", "cannot be read"),
        ("[" * 100_000, "cannot be read"),
        (whole[:-40], "cannot be read"),
        ("{}", "no settings of a solver"),
        (changed(eta=1), "eta must be text, got 1"),
        (changed(omega=[]), "omega must be text"),
        (changed(idle=0.5), 'idle must be text or "none"'),
        (changed(seed=True), "seed must be a whole number"),
        (changed(horizon=10**30), "between -2"),
        (changed(girl=7), "girl is not an object"),
        (changed(solver="sac"), "no settings of a solver"),
        (changed(solver=solver | {"kind": ["sac"]}), "no settings of a solver"),
        (changed(solver=solver | {"kind": "trpo"}), "no settings of a solver"),
        (
            changed(solver=solver | {"sac": solver["sac"] | {"target_entropy": "x"}}),
            "must be a num",
        ),
        (changed(cost=cost | {"kind": "linear"}), "unknown or missing settings"),
        (changed(generator={}), "unknown or missing settings"),
        (json.dumps({"sac": 1}), "version 0.1"),
        (json.dumps(data | {"sac": {}}), "version 0.1"),
    ]


@pytest.mark.parametrize(("text", "message"), _damaged())
def test_a_damaged_file_gets_one_sentence(tmp_path, text, message, capsys):
    (tmp_path / "config.json").write_text(text)
    for command in (["evaluate", str(tmp_path)], ["resume", str(tmp_path)]):
        assert main(command) == 2
        said = capsys.readouterr().err
        assert message in said
        assert "config.json" in said
        assert len(said.splitlines()) == 1
        assert len(said) < 600


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    config = configure(TINY, algorithm="emma", features="identity")
    return etairl.train(config, tmp_path_factory.mktemp("trust") / "run").path


class TestTrust:
    """A file that names code is read only with the user's word."""

    @pytest.fixture
    def run(self, trained, tmp_path, monkeypatch) -> Path:
        """A run whose settings name a module, and the module, which leaves a mark."""
        (tmp_path / "evil.py").write_text(
            "from pathlib import Path\nPath(__file__).with_name('ran').touch()\n"
            "import jax.numpy as jnp\n\n\ndef f(obs, act):\n"
            "    return jnp.concatenate([obs, act], axis=-1)\n"
        )
        shutil.copytree(trained, tmp_path / "run")
        file = tmp_path / "run" / "config.json"
        file.write_text(file.read_text().replace('"identity"', '"evil:f"'))
        monkeypatch.chdir(tmp_path)
        monkeypatch.syspath_prepend(tmp_path)
        yield tmp_path / "run"
        sys.modules.pop("evil", None)

    @pytest.mark.parametrize(
        "command",
        [
            ["evaluate", "run"],
            ["resume", "run"],
            ["render", "run", "-o", "clip.mp4"],
            ["report", "run", "-o", "page"],
            ["train", "-o", "new", "--cost", "run"],
        ],
    )
    def test_no_command_imports_it(self, run, command, capsys):
        assert main(command) == 2
        said = capsys.readouterr().err
        assert "names code of its own (evil:f)" in said
        assert "--trust" in said
        assert not (run.parent / "ran").exists()

    def test_an_environment_is_code_as_well(self, run, capsys):
        file = run / "config.json"
        text = file.read_text().replace('"evil:f"', '"identity"')
        file.write_text(text.replace('"Pendulum-v1"', '"evil:Pendulum-v1"'))
        for command in (["evaluate", "run"], ["report", "run", "-o", "page"]):
            assert main(command) == 2
            assert "names code of its own (evil:Pendulum-v1)" in capsys.readouterr().err
        assert not (run.parent / "ran").exists()

    def test_with_the_word_it_is_imported(self, run):
        with pytest.raises(InputError, match="say --trust"):
            etairl.Result(run)
        config = read_config(run, trust=True)
        assert config.cost.features == "evil:f"
        assert read_config(run, named=["evil:f"]) == config
        with pytest.raises(InputError, match="feature map edited since"):  # not those it had
            etairl.Result(run, trust=True)
        assert (run.parent / "ran").exists()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("transitons", 5, "did you mean transitions"),
        ("zebra", 5, "see etairl train --help"),
        ("transitions", "many", "transitions must be a whole number, got 'many'"),
        ("demonstrations", "all", 'demonstrations must be a whole number or "none"'),
        ("hidden", [64, "x"], "hidden must be a list of whole numbers"),
        ("form", "logd", "form must be one of log_d, logit, log_not_d"),
        ("normalise", 1, "normalise must be one of none, running, demonstrations"),
    ],
)
def test_settings_that_are_refused(name, value, message):
    with pytest.raises(InputError, match=message):
        check_setting(name, value)


def test_none_is_a_value_where_it_is_allowed():
    assert check_setting("demonstrations", "none") is None
    assert configure(TINY, demonstrations="none").demonstrations is None
    assert configure(TINY, hidden=[32, 32]).solver.sac.hidden == (32, 32)


def test_prices_belong_to_their_regulariser_and_their_costs():
    airl = configure(TINY, algorithm="airl")
    assert airl.solver.temperature == 1.0
    assert configure(airl, algorithm="megan").solver.temperature is None
    fixed = configure(TINY, omega="none")
    assert fixed.solver.temperature == TINY.solver.sac.first_temperature
    assert configure(fixed, omega="entropy").solver.temperature is None
    assert configure("near-clone", omega="entropy").solver.temperature is None
    assert configure("near-clone", omega="entropy", temperature=0.2).solver.temperature == 0.2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"horizon": 50.5}, "horizon must be a whole number"),
        ({"env": None}, "env must be text"),
        ({"gamma_irl": 2.0}, "gamma must lie in"),
        ({"sampler": "xx"}, "sampler must be one of"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_settings_built_by_hand_are_checked_too(change, message):
    with pytest.raises(InputError, match=message):
        replace(TINY, **change)


@pytest.mark.parametrize("name", ["x" * 5000, "a\x00b", "x/" * 3000])
def test_names_that_no_file_can_have(tmp_path, name):
    """The system refuses even to look for some."""
    file = tmp_path / "run.toml"
    file.write_text(f'env = "Pendulum-v1"\ndemos = {json.dumps(name)}\n')
    assert read_settings(file).demos == name
    with pytest.raises(InputError, match="no such file"):
        load_demos(name)
    config = encode(replace(TINY, demos=name))
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(InputError, match="are not here"):
        read_finished(tmp_path)
