"""Grids from TOML, and the studies of the paper: what they ask for, and what is refused."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from etairl.cli.app import main
from etairl.replication.paper_studies import COLUMNS, STUDIES, named_jobs, penalised
from etairl.studies.grid import read_grid
from etairl.studies.jobs import SCALES, check_distinct, check_ready, rescaled
from etairl.training.flat import flatten
from etairl.training.presets import preset
from etairl.types import InputError

GRID = """\
preset = "default"
seeds = 2

[settings]
env = "Pendulum-v1"
demos = "Pendulum-v1-25x200"
horizon = 50
gamma_rl = 0

[grid]
eta = ["dirac:0",
       "geometric:0.9"]
hidden = [[16, 16], [8]]

[[runs]]
eta = "poisson:5"
patience = "none"
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "grid.toml"
    path.write_text(text, newline="")
    return path


def test_a_grid_is_every_combination_and_the_further_runs(tmp_path):
    jobs = read_grid(write(tmp_path, GRID)).jobs
    assert len(jobs) == 2 * (2 * 2 + 1)
    assert [job.config.seed for job in jobs] == [0] * 5 + [1] * 5
    first, last = jobs[0], jobs[4]
    assert first.name == "Pendulum-v1_dirac-0_hidden=16x16_s0"
    assert (flatten(first.config)["hidden"], first.config.solver.gamma_rl) == ((16, 16), 0.0)
    assert (last.config.eta, last.config.patience) == ("poisson:5", None)
    check_ready(jobs)


def test_the_example_is_ready(tmp_path):
    jobs = read_grid(Path(__file__).parents[2] / "examples" / "study.toml").jobs
    assert len(jobs) == 3 * (3 * 2 + 1)
    check_ready(jobs)


def test_runs_may_have_a_name_a_preset_and_environment_variables(tmp_path, monkeypatch):
    monkeypatch.setenv("ETAIRL_HERE", str(tmp_path))
    text = """seeds = 1
evaluate = 20
[[runs]]
arm = "near"
preset = "near-clone"
demos = "${ETAIRL_HERE}/mine.npz"
[[runs]]
preset = "near-clone"
horizon = 100
"""
    asked = read_grid(write(tmp_path, text))
    assert asked.evaluate == 20
    first, second = asked.jobs
    assert (first.arm, second.arm) == ("near", "preset=near-clone,horizon=100")
    assert first.config.demos == f"{tmp_path}/mine.npz"
    assert first.config.omega == "kl"
    assert second.config == replace(preset("near-clone"), horizon=100)


REFUSED = [
    ('seeds = 2\nfoo = 1\n[grid]\neta = ["dirac:0"]', "line 2: unknown key 'foo'"),
    ("[settings]\nhidden = [16]\ngama_rl = 0.9", "line 3: unknown setting 'gama_rl'; did you mean"),
    ('[settings]\nhorizon = "long"', "line 2: horizon must be a whole number, got 'long'"),
    ("[settings]\nhorizon = true", "line 2: horizon must be a whole number"),
    ("[settings]\n\nhorizon = 0", "line 3: horizon must be at least 1"),
    ('[grid]\nsampler = ["exact", "odd"]', "line 2: sampler must be one of two_stage, exact"),
    ('[grid]\neta = ["dirac:0", "geometric:2"]', "line 2: .*geometric"),
    ('[grid]\neta = "dirac:0"', "line 2: eta must be a list"),
    ("[grid]\neta = []", "line 2: eta must be a list"),
    ('[grid]\neta = ["dirac:0", "dirac:0"]', "line 2: eta has 'dirac:0' twice"),
    ('[grid]\neta = ["dirac:0", "geometric:0"]', "line 1: the run .* is asked for twice"),
    ('[grid]\neta = ["dirac:0"]\n[[runs]]\neta = "dirac:0"', "line 3: .*twice .*line 1"),
    ("seeds = 0", "line 1: seeds is how many"),
    ("seeds = [1, 1]", "line 1: seeds is how many"),
    ("[settings]\nseed = 3", "line 2: give seeds"),
    ('preset = "defualt"', "line 1: unknown preset .* did you mean default"),
    ("[grid]\neta = [", "line 2"),
    ("[[runs]]\npatience = 3\n[[runs]]\npatience = 0", "line 4: patience"),
    ('[settings]\nalgorithm = "gail"\neta = "uniform"', "line 3: "),
    ("seeds = 100000000000\n[settings]\nhorizon = 9", "100,000,000,000 runs are too many"),
    (
        f"[grid]\nhorizon = {list(range(1, 300))}\nepisodes = {list(range(1, 300))}",
        "line 1: 268,203 runs are too many",
    ),
    ("", "it asks for no run"),
    ("seeds = 2", "it asks for no run"),
    ("settings.hidden = [16]\nsettings.horizon = 0", "line 2: horizon must be at least 1"),
    ("\nsettings = { hidden = [16], horizon = 0 }", "line 2: horizon must be at least 1"),
    ("seeds = 1\n\n[[grid]]\nhorizon = [1]", "line 3: grid must be a table"),
    ("[settings]\nhorizon = 9\n[settings.girl]\nepisodes = 1", "line 3: unknown setting 'girl'"),
    ('[grid]\nsampler = ["two_stage", "exact"]\neta = ["dirac:0"]', "asked for twice"),
    ("[grid]\nhorizon = [1, 2.5]", "line 2: horizon must be a whole number, got 2.5"),
    ("\nseeds = 100000\n[settings]\nhorizon = 9", "line 2: 100,000 runs are too many"),
    (f"\nseeds = [0, {10**23}]\n[settings]\nhorizon = 9", "line 2: the seed must be"),
    ("\nruns = 3", "line 2: runs must be a list of tables"),
    ("\nevaluate = 1\n[settings]\nhorizon = 9", "line 2: evaluate is a number of episodes"),
    ("\nevaluate = true\n[settings]\nhorizon = 9", "line 2: evaluate is a number of episodes"),
    ('[settings]\ndemos = "${ETAIRL_NO}/x.npz"', "line 2: the environment variable ETAIRL_NO is"),
    ('[grid]\neta = ["${ETAIRL_NO}"]', "line 2: the environment variable ETAIRL_NO is not set"),
    ('[[runs]]\narm = "a"\npreset = "defualt"', "line 3: unknown preset .* did you mean default"),
    ("[[runs]]\nhorizon = 9\narm = 3", "line 3: arm takes text, got 3"),
    ('[[runs]]\narm = "a"\n[[runs]]\narm = "b"', "line 3: .*twice"),
]


@pytest.mark.parametrize(("text", "why"), REFUSED, ids=[why[:40] for _, why in REFUSED])
def test_what_is_wrong_is_refused_with_its_line(tmp_path, text, why):
    with pytest.raises(InputError, match=f"grid.toml.*{why}"):
        read_grid(write(tmp_path, text))


WRITTEN_ODDLY = [
    ('\n["settings"]\n\nhorizon = 0', 4),
    ("\n[ 'settings' ]\n\nhorizon = 0", 4),
    ('[settings]\nepisodes = 9\n"h\\u006frizon" = 0', 3),
    ("seeds = 1\nsettings . horizon = 0", 2),
    ('[settings]\nhidden = [8]\n"foo bar" = 1', 3),
    ('runs = [\n{eta = "dirac:0"},\n{eta = "bad"}]', 3),
    ('runs = [ # {\n{hidden = [8,\n8], eta = "uniform"},\n\n{eta = "}"}]', 5),
    ('[settings]\nenv = """\n[grid]\nhorizon = 1"""\nhorizon = 0', 5),
    ("[settings]\nenv = '''\n\"\"\"\n[grid]''''\nhorizon = 0", 5),
    ('[settings]\nenv = "\\"[" # [\nhorizon = 0', 3),
    ("[settings]\r\nhidden = [\r\n8]\r\nhorizon = 0", 4),
    ("[[runs]]\nhorizon = 9\n[[runs]]\nhorizon = 8\n[runs.sac]\nhidden = [8]", 5),
]


@pytest.mark.parametrize(("text", "line"), WRITTEN_ODDLY)
def test_the_line_is_found_however_it_is_written(tmp_path, text, line):
    with pytest.raises(InputError, match=rf"grid\.toml, line {line}: "):
        read_grid(write(tmp_path, text))


HUGE = f"0x{'f' * 5000}"
DEEP = f"{'.a' * 3000} = 1"
BREAKING = {
    "a float of 401 digits": (f"[settings]\n\ngamma_rl = {10**400}", "between -2^63 and 2^63"),
    "a whole number": (f"[settings]\n\nhorizon = {10**21}", "between -2^63 and 2^63"),
    "hexadecimal": (f"[settings]\n\nhorizon = {HUGE}", "between -2^63 and 2^63"),
    "in a list": (f"[settings]\n\nhidden = [{10**21}]", "between -2^63 and 2^63"),
    "digits": (f"[settings]\n\nhorizon = {'9' * 5000}\nepisodes = 3", "too many digits"),
    "digits of no list": (f"\n[grid]\nhorizon = {HUGE}", "too many digits"),
    "digits of a seed": (f"\n\nseeds = [-1, {HUGE}]", "too many digits"),
    "lists": (f"[settings]\n\nhidden = {'[' * 2000}{']' * 2000}\nhorizon = 9", "nested"),
    "tables": (f"[settings]\n\nhidden{DEEP}", "nested"),
    "tables of a grid": (f"[grid]\n\nhidden{DEEP}", "nested"),
    "tables of seeds": (f"\n\nseeds{DEEP}\n[settings]\nhorizon = 9", "nested"),
    "tables of a preset": (f"\n\npreset{DEEP}", "nested"),
}


@pytest.mark.parametrize(("text", "why"), BREAKING.values(), ids=BREAKING)
def test_what_would_break_the_reader_is_refused_with_its_line(tmp_path, text, why):
    with pytest.raises(InputError, match=rf"grid\.toml, line 3: .*{re.escape(why)}"):
        read_grid(write(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            '[settings]\ndemos = "Pendulum-v1-25x200"\nenv = "Pendulum-v1"\nhorizon = 3000000000',
            "line 4: Pendulum-v1 takes no horizon of 3000000000 steps",
        ),
        ('[settings]\nenv = "Pendulum-v1"\ndemos = "mine.npz"', "line 3: .*no such file: mine.npz"),
        ('[settings]\nenv = "Nonsense-v0"\ndemos = "Pendulum-v1-25x200"', "line 2: .*Nonsense"),
        (
            '[settings]\nenv = "Pendulum-v1"\ndemos = "Pendulum-v1-25x200"\ndemonstrations = 99',
            "line 4: .*99",
        ),
        (
            '[settings]\nenv = "Pendulum-v1"\ndemos = "Pendulum-v1-25x200"\nhorizon = 50\n'
            'frozen_cost = "missing-run"',
            "line 5: missing-run is not a finished run",
        ),
        (
            '[settings]\nenv = "Hopper-v5"\ndemos = "Pendulum-v1-25x200"\nhorizon = 50',
            "line 3: .*3 columns",
        ),
        (f'[settings]\nenv = "Hopper-v5"\ndemos = "{"x" * 5000}"', "line 3: .*no such file"),
        (
            f'[settings]\nenv = "Hopper-v5"\nfrozen_cost = "{"x" * 5000}"',
            "line 3: .*is not a finished run",
        ),
    ],
)
def test_what_could_not_start_is_refused_with_its_line(tmp_path, text, why):
    jobs = read_grid(write(tmp_path, text)).jobs
    with pytest.raises(InputError, match=f"grid.toml, {why}"):
        check_ready(jobs)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match=r"no such file: .*no\.toml"):
        read_grid(tmp_path / "no.toml")


@pytest.mark.parametrize("name", STUDIES)
@pytest.mark.parametrize("scale", SCALES)
def test_studies_of_the_paper(name, scale):
    jobs = named_jobs(name, scale, range(3))
    check_distinct(jobs)
    for job in jobs:
        start = penalised(job.config.env)
        column = start.girl
        # As many updates in every cycle, and (but for smoke) as many cycles, as the paper.
        assert flatten(job.config)["solver_updates"] == flatten(start)["solver_updates"]
        assert job.config.girl.cost_updates == column.cost_updates
        if scale != "smoke":
            cycles = job.config.girl.transitions // (job.config.girl.episodes * job.config.horizon)
            assert cycles == column.transitions // (column.episodes * job.config.horizon)


def test_quick_is_222_cycles_of_ten_episodes():
    config = named_jobs("figure1", "quick", [0])[0].config
    assert (config.girl.episodes, config.girl.transitions) == (10, 222 * 10 * 500)


def test_quick_never_plays_more_than_was_asked_for():
    config = replace(preset("default"), horizon=50)
    small = replace(config, girl=replace(config.girl, episodes=4, transitions=150))
    assert rescaled(small, "quick").girl == replace(small.girl, transitions=4 * 50)


def test_figure1_asks_for_what_the_paper_shows():
    jobs = named_jobs("figure1", "paper", [0, 1], ["Ant-v5"])
    etas = [job.config.eta for job in jobs if job.arm == "penalised" and job.config.seed == 0]
    assert etas == [f"geometric:{k}" for k in ("0", "0.25", "0.5", "0.75", "0.9", "0.99", "1")]
    assert [job.config.eta for job in jobs if job.arm == "bare"] == [
        "geometric:0",
        "geometric:1",
    ] * 2
    assert all(job.config.sampler == "two_stage" for job in jobs)


VARIED = {
    "penalised": {"fresh_share", *flatten(preset("default").cost)},
    "gamma_rl=0.9": {"fresh_share", *flatten(preset("default").cost), "gamma_rl"},
    "gamma_rl=0.999": {"fresh_share", *flatten(preset("default").cost), "gamma_rl"},
    "bare": set(),
}
"""what an arm has of its own beside the weighting: `penalised` its discriminator"""


@pytest.mark.parametrize("name", ["figure1", "figure2", "figure3"])
def test_arms_are_the_presets_of_the_paper_but_for_what_the_figure_varies(name):
    for job in named_jobs(name, "paper", [0]):
        arm, column = flatten(job.config), flatten(preset(COLUMNS[job.config.env]))
        assert arm.keys() == column.keys()
        differing = {key for key in column if arm[key] != column[key]}
        assert differing <= VARIED[job.arm] | {"eta"}
        own = "gamma_rl" if job.arm.startswith("gamma_rl") else "gradient_penalty"
        assert (own in differing) == (job.arm != "bare")
        assert (arm["capacity"], arm["demonstrations"], arm["first_temperature"]) == (
            10**6,
            None,
            1,
        )
        assert (arm["sampler"], arm["choice"]) == ("two_stage", "uniform")


@pytest.mark.parametrize("name", STUDIES)
def test_quick_remembers_as_many_cycles_as_the_paper(name):
    """Rows of whole episodes, and where each led to; of the expert, steps alone."""
    for quick, paper in zip(
        named_jobs(name, "quick", [0]), named_jobs(name, "paper", [0]), strict=True
    ):
        held, known = (
            (
                c.girl.capacity // (c.girl.episodes * (c.horizon + 1)),
                c.girl.expert_capacity // (c.girl.episodes * c.horizon),
            )
            for c in (quick.config, paper.config)
        )
        assert held == known
        if name.startswith("figure"):
            assert (held, quick.config.girl.capacity) == ((22, 22), 111_111)


def test_what_the_choice_of_episodes_changes_is_asked_where_episodes_end_early():
    jobs = named_jobs("ablation", "quick", [0], ["HalfCheetah-v5", "Hopper-v5", "Ant-v5"])
    weighed = [job for job in jobs if job.arm == "by-weight"]
    assert {job.config.env for job in weighed} == {"Hopper-v5", "Ant-v5"}
    for job in jobs:
        assert job.config.choice == ("by_weight" if job.arm == "by-weight" else "uniform")
    by_cell = {(*job.cell[:1], job.arm, job.config.eta): job.config for job in jobs}
    for job in weighed:
        twin = by_cell[job.config.env, "penalised", job.config.eta]
        assert replace(job.config, choice="uniform") == twin


def test_unknown_studies_and_environments():
    with pytest.raises(InputError, match="did you mean figure1"):
        named_jobs("figur1", "quick", [0])
    with pytest.raises(InputError, match="has no environment Pendulum"):
        named_jobs("figure1", "quick", [0], ["Pendulum-v1"])
    with pytest.raises(InputError, match="fetch has no environment Hopper-v5; choose from Fetch"):
        named_jobs("fetch", "quick", [0], ["Hopper-v5"])
    with pytest.raises(InputError, match="no environment is named; choose from Hopper-v5"):
        named_jobs("figure1", "quick", [0], [])
    with pytest.raises(InputError, match=r"choose from figure1, .*, or name a \.toml file"):
        named_jobs("qqq", "quick", [0])
    with pytest.raises(InputError, match="is asked for twice"):
        named_jobs("figure1", "quick", [0], ["Hopper-v5", "Hopper-v5"])


def test_code_that_a_file_names_is_imported_only_if_it_is_trusted(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, '[settings]\nenv = "nobodys_module:Env-v0"')
    assert main(["study", "grid.toml", "--dry-run"]) == 2
    assert "names code of its own (nobodys_module:Env-v0)" in capsys.readouterr().err
    assert main(["study", "grid.toml", "--dry-run", "--trust"]) == 2
    assert "names code" not in capsys.readouterr().err  # but there is no such module


def test_an_environment_of_ones_own_says_its_time_limit(tmp_path, monkeypatch):
    """As in `etairl train`: where neither the file nor the demonstrations say the horizon."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "limited_module.py").write_text(
        "import gymnasium\n"
        "point = 'gymnasium.envs.classic_control.pendulum:PendulumEnv'\n"
        "gymnasium.register('Limited-v0', entry_point=point, max_episode_steps=37)\n"
    )
    settings = '[settings]\nenv = "limited_module:Limited-v0"\ndemos = "to-come.npz"'
    file = write(tmp_path, settings)
    assert {job.config.horizon for job in read_grid(file, trust=True).jobs} == {37}
