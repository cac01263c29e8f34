"""Moving pictures become files: captions by Pillow, encoding by the ffmpeg of `imageio-ffmpeg`."""

import os
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

import imageio_ffmpeg
import numpy as np
from jaxtyping import UInt8
from PIL import Image, ImageDraw, ImageFont, ImageOps

from etairl.types import InputError

SUFFIXES = (".mp4", ".gif")
_GIF_FPS = 50  # browsers slow down what is faster
_INK, _LINE, _PAPER = (32, 32, 32), (160, 160, 160), (255, 255, 255)
_ENCODING = {
    ".mp4": ("-c:v", "libx264", "-crf", "20", "-pix_fmt", "yuv420p", "-movflags", "+faststart"),
    ".gif": ("-c:v", "gif", "-loop", "0"),
}
_PALETTE = "split[a][b];[a]palettegen=stats_mode=single[p];[b][p]paletteuse=new=1"

Picture = UInt8[np.ndarray, "_ _ 3"]
"""height, width, and red, green, blue; pictures of several sizes go together"""


def compose(pictures: Sequence[tuple[Picture, str]], size: tuple[int, int]) -> Picture:
    """Pictures side by side, each with its caption above; even in width and height.

    Args:
        pictures: and what stands above each.
        size: width and height of one panel; a picture of another size is scaled to fit inside.
    """
    width, height = size
    strip = max(16, height // 15)
    whole = (len(pictures) * width, strip + height)
    canvas = Image.new("RGB", (whole[0] + whole[0] % 2, whole[1] + whole[1] % 2), _PAPER)
    pen = ImageDraw.Draw(canvas)
    for column, (picture, caption) in enumerate(pictures):
        panel = Image.fromarray(picture)
        if panel.size != size:
            panel = ImageOps.pad(panel, size, color=_PAPER)
        canvas.paste(panel, (column * width, strip))
        font = _fitting_font(caption, width, strip)
        middle = (column * width + width // 2, strip // 2)
        pen.text(middle, caption, fill=_INK, font=font, anchor="mm")
        if column:
            pen.line([(column * width, 0), (column * width, whole[1])], fill=_LINE)
    return np.asarray(canvas)


def _fitting_font(caption: str, width: int, strip: int) -> ImageFont.FreeTypeFont:
    """The font in the box of Pillow, smaller where the caption is too long for its panel."""
    points = 0.7 * strip
    font = ImageFont.load_default(points)
    taken = font.getlength(caption)
    if taken > 0.94 * width:
        font = ImageFont.load_default(max(6.0, points * 0.94 * width / taken))
    return font  # pyright: ignore[reportReturnType]


class Clip:
    """A file that grows frame by frame. It appears under its name once it is whole, or never."""

    def __init__(self, path: Path, fps: float):
        if path.suffix.lower() not in SUFFIXES:
            raise InputError(f"{path}: the name of a clip ends in {' or '.join(SUFFIXES)}")
        self._path, self._fps = path, fps
        self._beside = path.with_name(f".{path.stem}-{os.getpid()}{path.suffix.lower()}")
        self._process: subprocess.Popen[bytes] | None = None
        self._said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        try:
            self._program = imageio_ffmpeg.get_ffmpeg_exe()
        except RuntimeError:
            raise InputError(
                "imageio-ffmpeg brings no encoder for this platform; install ffmpeg and name it in "
                "IMAGEIO_FFMPEG_EXE"
            ) from None
        self.frames = 0

    def __enter__(self) -> "Clip":
        self._path.parent.mkdir(parents=True, exist_ok=True)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if self._process is not None and kind is None:
                self._finish(self._process)
        finally:
            if self._process is not None and self._process.poll() is None:
                self._process.kill()
                self._process.wait()
            if self._process is not None and self._process.stdin is not None:
                with suppress(BrokenPipeError):  # what it did not read is not wanted any more
                    self._process.stdin.close()
            self._said.close()
            self._beside.unlink(missing_ok=True)

    def write(self, frame: Picture) -> None:
        """One frame more; all are of one size."""
        if self._process is None:
            self._process = self._start(frame.shape[1], frame.shape[0])
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(np.ascontiguousarray(frame).tobytes())
        except BrokenPipeError:
            raise self._failure() from None
        self.frames += 1

    def _start(self, width: int, height: int) -> subprocess.Popen[bytes]:
        suffix = self._beside.suffix
        filters: tuple[str, ...] = ()
        if suffix == ".gif":
            filters = ("-vf", f"fps={min(self._fps, _GIF_FPS)},{_PALETTE}")
        rate = f"{self._fps:g}"
        source = ("-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", rate)
        command = [self._program, "-v", "error", "-y", *source, "-i", "-", *filters]
        command += [*_ENCODING[suffix], str(self._beside)]
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=self._said,
            start_new_session=True,  # Ctrl-C is ours to handle
        )

    def _finish(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        try:
            process.stdin.close()
        except BrokenPipeError:
            raise self._failure() from None
        if process.wait() != 0:
            raise self._failure()
        os.replace(self._beside, self._path)

    def _failure(self) -> InputError:
        if self._process is not None:
            self._process.wait()
        self._said.seek(0)
        words = " ".join(self._said.read().decode(errors="replace").split())
        return InputError(f"{self._path} cannot be written: ffmpeg says: {words[-300:]}")
