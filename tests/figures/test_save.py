"""A figure's file is whole or not there."""

from pathlib import Path

import pytest
from matplotlib.figure import Figure

from etairl.figures.save import FIGURE_SUFFIXES, save_figure


@pytest.mark.parametrize("suffix", FIGURE_SUFFIXES)
def test_a_figure_that_fails_leaves_the_old_file(tmp_path, monkeypatch, suffix):
    def fails(figure, target, **options):
        if isinstance(target, Path):
            target.write_bytes(b"half")
        raise OSError(28, "No space left")

    file = tmp_path / f"f{suffix}"
    save_figure(Figure(), file)
    before = file.read_bytes()
    monkeypatch.setattr(Figure, "savefig", fails)
    with pytest.raises(OSError, match="No space left"):
        save_figure(Figure(), file)
    assert file.read_bytes() == before


def test_a_kill_before_the_last_moment_leaves_the_old_file(tmp_path, monkeypatch):
    def killed(source, target):
        raise KeyboardInterrupt

    file = tmp_path / "f.png"
    file.write_bytes(b"old")
    monkeypatch.setattr("os.replace", killed)
    with pytest.raises(KeyboardInterrupt):
        save_figure(Figure(), file, colours=16)
    assert file.read_bytes() == b"old"
    monkeypatch.undo()
    save_figure(Figure(), file, colours=16)
    assert [p.name for p in tmp_path.iterdir()] == ["f.png"]
