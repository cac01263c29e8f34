"""Tables with a header: columns found by name or by options, mistakes said with their line."""

from pathlib import Path

import numpy as np
import pytest

from etairl.demos import Demos, Importing, load_demos
from etairl.types import InputError


def table(folder: Path, text: str | bytes, **options) -> Demos:
    path = folder / "table.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_demos(path, importing=Importing(**options))


def test_columns_named_by_options(tmp_path):
    text = "run;x;v;force;over\nred;1;2;3;no\n"
    text = text.replace("no", "0") + "red;4;5;6;1\nblue;7;8;9;0\n"
    demos = table(
        tmp_path, text, episode="run", observations=("v", "x"), actions=("force",), end="over"
    )
    t = demos.trajectories
    assert t.observations.tolist() == [[2, 1], [5, 4], [8, 7]]
    assert t.actions.ravel().tolist() == [3, 6, 9]
    assert t.lengths.tolist() == [2, 1]
    assert t.terminated.tolist() == [False, True, False]
    assert demos.spec.observation_names == ("v", "x")
    assert t.rewards is None


def test_numbered_columns_are_put_in_order_and_have_no_names(tmp_path):
    names = [f"obs_{i}" for i in (0, 1, 10, 2)]
    demos = table(tmp_path, ",".join(names) + ",act_0,done\n0,1,10,2,0.5,true\n")
    assert demos.trajectories.observations.tolist() == [[0, 1, 2, 10]]
    assert demos.spec.observation_names is None
    assert demos.trajectories.terminated.tolist() == [True]


def test_ends_without_an_episode_column(tmp_path):
    text = "state[x]\taction[u]\ttimeout\tterminated\n"
    rows = [(0, 0, 0), (1, 1, 0), (2, 0, 1), (3, 0, 0)]
    text += "".join(f"{x}\t{x}\t{out}\t{over}\n" for x, out, over in rows)
    demos = table(tmp_path, text)
    assert demos.trajectories.lengths.tolist() == [2, 1, 1]
    assert demos.trajectories.terminated.tolist() == [False, False, True, False]
    assert demos.trajectories.truncated.tolist() == [False, True, False, True]
    assert demos.spec.action_names == ("u",)
    assert any("cut off" in note for note in demos.notes)


def test_what_was_decided_is_said(tmp_path):
    """Also of a column without a name, such as the row numbers that pandas writes first."""
    demos = table(tmp_path, ",episode,obs_x,act_u,act_v,weather\n0,1,1,1,2,5\n1,1,2,1,2,5\n")
    assert "observations are obs_x, in this order" in demos.notes
    assert "actions are act_u, act_v, in this order" in demos.notes
    assert "not used: one without a name, weather" in demos.notes


@pytest.mark.parametrize("name", ["tabel.csv", "table.cvs", "tables.csv"])
def test_a_mistyped_table_is_suggested(tmp_path, name):
    table(tmp_path, GOOD)
    with pytest.raises(InputError, match=r"no such file: .*; did you mean .*table\.csv\?$"):
        load_demos(tmp_path / name)


def test_indices_of_actions(tmp_path):
    demos = table(tmp_path, "ep,obs_x,action\n1,0.5,2\n1,0.25,0\n", discrete=3)
    assert demos.spec.discrete_actions == 3
    assert demos.trajectories.actions.dtype == np.int64


GOOD = "episode,obs_x,act_u\n1,1,1\n1,2,2\n"


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("obs_x,act_u\n1,1\n", {}, "no column tells episodes apart; .* there are obs_x, act_u$"),
        ("episode,x,act_u\n1,1,1\n", {}, "no column is called obs_…; name .* episode, x, act_u$"),
        ("episode,obs_x,u\n1,1,1\n", {}, "no column is called act_…; name .* episode, obs_x, u$"),
        (GOOD, {"actions": ("w",)}, "no column 'w'; there are episode, obs_x, act_u"),
        (GOOD, {"episode": "run"}, "no column 'run'"),
        (GOOD, {"reward": "atc_u"}, "no column 'atc_u'; did you mean act_u\\?; there are episode"),
        (GOOD, {"observations": ("obs_x", "obs_x")}, "asked for twice"),
        (GOOD.replace("2,2", "2,fast"), {}, "line 3, column act_u: 'fast' is not a number; write"),
        (GOOD.replace("2,2", "2,"), {}, "line 3, column act_u: there is nothing; fill it in"),
        (GOOD.replace("2,2", "2"), {}, "line 3 has 2 values, but the header has 3 columns"),
        (GOOD.replace("2,2", "2,nan"), {}, "line 3, column act_u: nan is not finite; fill it in"),
        (GOOD + "2,1,1\n1,1,1\n", {}, "line 5: episode '1' appears again"),
        (GOOD.splitlines()[0] + "\n", {}, "there are no steps"),
        ("1,2,3\n4,5,6\n", {}, "first line holds numbers; it must name the columns"),
        ("0,0,3\n4,5,6\n", {}, "first line holds numbers; it must name the columns"),
        ("a,a,b\n", {}, "two columns are called 'a'; give each a name of its own"),
        ('episode,obs_x,act_u\n1,"1,1\n', {}, "cannot be read as a CSV table"),
        ("no table\n", {}, "is not a CSV table: write text in UTF-8"),
        ("", {}, "it is empty"),
        ("episode,obs_größe,act_u\n1,1,1\n".encode("latin-1"), {}, "is not a CSV table: .* UTF-8"),
        (
            "episode;obs_x;act_u\n1;0,5;1\n",
            {},
            "'0,5' is not a number; write decimals with a point",
        ),
    ],
)
def test_mistakes_are_named_with_the_file(tmp_path, text, options, message):
    with pytest.raises(InputError, match=message) as caught:
        table(tmp_path, text, **options)
    assert "table.csv: " in str(caught.value)


def test_tables_beyond_the_limit_are_not_read(tmp_path):
    (tmp_path / "table.csv").write_text(GOOD)
    with pytest.raises(InputError, match="more than the limit"):
        load_demos(tmp_path / "table.csv", importing=Importing(), max_bytes=10)
