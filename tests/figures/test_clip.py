"""Clips are encoded for real, and decoded again."""

import numpy as np
import pytest

from etairl.figures.clip import Clip, compose
from etairl.types import InputError


def moving(frames: int, width: int = 64, height: int = 48):
    """A red bar that goes to the right."""
    for i in range(frames):
        frame = np.full((height, width, 3), 255, np.uint8)
        frame[:, 4 * i : 4 * i + 4] = (200, 0, 0)
        yield frame


def test_mp4(tmp_path, decode):
    with Clip(tmp_path / "deep" / "bar.MP4", 12.5) as clip:
        for frame in moving(10):
            clip.write(frame)
    about, frames = decode(tmp_path / "deep" / "bar.MP4")
    assert all(word in about for word in ("h264", "yuv420p", "64x48", "12.50 fps"))
    assert frames.shape == (10, 48, 64, 3)
    where = [int(frame[24, :, 1].argmin()) // 4 for frame in frames]
    assert where == list(range(10))
    assert clip.frames == 10


@pytest.mark.parametrize(("fps", "count", "rate"), [(20.0, 10, 20), (125.0, 4, 50)])
def test_gif(tmp_path, decode, fps, count, rate):
    """Viewers slow down what is faster than 50 frames per second, so it has fewer frames."""
    with Clip(tmp_path / "bar.gif", fps) as clip:
        for frame in moving(10):
            clip.write(frame)
    about, frames = decode(tmp_path / "bar.gif")
    assert about.startswith("Video: gif")
    assert f"{rate} fps" in about
    assert frames.shape == (count, 48, 64, 3)


@pytest.mark.parametrize("trouble", [KeyboardInterrupt, InputError])
def test_no_half_file(tmp_path, trouble):
    (tmp_path / "bar.mp4").write_text("what was there before")
    with pytest.raises(trouble):
        write_all(tmp_path / "bar.mp4", trouble)
    assert [path.name for path in tmp_path.iterdir()] == ["bar.mp4"]
    assert (tmp_path / "bar.mp4").read_text() == "what was there before"


# The library leaves the pipe to an encoder open that ended by itself.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_an_encoder_that_fails_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", "/bin/false")
    with pytest.raises(InputError, match=r"bar.mp4 cannot be written"):
        write_all(tmp_path / "bar.mp4")
    monkeypatch.delenv("IMAGEIO_FFMPEG_EXE")
    (tmp_path / "folder.mp4").mkdir()
    with pytest.raises(OSError, match=r"folder.mp4"):
        write_all(tmp_path / "folder.mp4")
    assert [path.name for path in tmp_path.iterdir()] == ["folder.mp4"]
    with pytest.raises(InputError, match=r"clip.avi: the name of a clip ends in .mp4 or .gif"):
        Clip(tmp_path / "clip.avi", 20.0)


def write_all(path, trouble=None) -> None:
    with Clip(path, 20.0) as clip:
        for number, frame in enumerate(moving(10)):
            clip.write(frame)
            if number == 5 and trouble is not None:
                raise trouble


def test_panels_stand_side_by_side_below_their_captions():
    red, green = (np.full((30, 41, 3), colour, np.uint8) for colour in ((255, 0, 0), (0, 128, 0)))
    whole = compose([(red, "left"), (green, "right")], (41, 30))
    assert whole.shape == (46, 82, 3)
    assert whole[30, 20].tolist() == [255, 0, 0]
    assert whole[30, 60].tolist() == [0, 128, 0]
    assert whole[:16].min() < 100  # the captions
    assert compose([(red, "alone")], (41, 31)).shape == (48, 42, 3)  # even, for the encoder
    long = compose([(red, "a caption that is far too long for its panel")], (410, 300))
    assert (long[:20, [0, -1]] == 255).all()
    assert compose([(red, "smaller")], (64, 64))[40, 32].tolist() == [255, 0, 0]
