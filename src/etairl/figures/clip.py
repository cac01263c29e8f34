"""Video files: captions by Pillow, encoding by the ffmpeg of `imageio-ffmpeg`."""

import os
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import imageio_ffmpeg
import numpy as np
from jaxtyping import UInt8
from PIL import Image, ImageDraw, ImageFont, ImageOps

from etairl.types import InputError

CLIP_SUFFIXES = (".mp4", ".gif")
_GIF_FPS = 50  # browsers slow down what is faster
_INK, _LINE, _PAPER = (32, 32, 32), (160, 160, 160), (255, 255, 255)
_PALETTE = "split[a][b];[a]palettegen=stats_mode=single[p];[b][p]paletteuse=new=1"

Picture = UInt8[np.ndarray, "_ _ 3"]
"""height, width, and red, green, blue; pictures of several sizes go together"""


def compose(pictures: Sequence[tuple[Picture, str]], size: tuple[int, int]) -> Picture:
    """Pictures side by side, each with its caption above; even in width and height.

    A picture of another size than that of one panel is scaled to fit inside.
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
    """The bundled font of Pillow, smaller where the caption is too long for its panel."""
    points = 0.7 * strip
    font = ImageFont.load_default(points)
    taken = font.getlength(caption)
    if taken > 0.94 * width:
        font = ImageFont.load_default(max(6.0, points * 0.94 * width / taken))
    return font  # pyright: ignore[reportReturnType]


class Clip:
    """A file that grows frame by frame. It appears under its name once it is whole, or never."""

    def __init__(self, path: Path, fps: float):
        if path.suffix.lower() not in CLIP_SUFFIXES:
            raise InputError(f"{path}: the name of a clip ends in {' or '.join(CLIP_SUFFIXES)}")
        self._path, self._fps = path, fps
        self._beside = path.with_name(f".{path.stem}-{os.getpid()}{path.suffix.lower()}")
        self._encoder: Generator[None, Any, None] | None = None
        try:
            imageio_ffmpeg.get_ffmpeg_exe()
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
            if self._encoder is not None:
                self._encoder.close()  # waits until all is encoded
            if self.frames and kind is None:
                self._check()
                os.replace(self._beside, self._path)
        finally:
            self._beside.unlink(missing_ok=True)

    def write(self, frame: Picture) -> None:
        """One frame more; all are of one size."""
        if self._encoder is None:
            self._encoder = self._start(frame.shape[1], frame.shape[0])
        try:
            self._encoder.send(np.ascontiguousarray(frame))
        except OSError as error:
            raise self._failure(error) from None
        self.frames += 1

    def _start(self, width: int, height: int) -> Generator[None, Any, None]:
        options: dict[str, Any] = {"fps": self._fps, "quality": None, "macro_block_size": 1}
        if self._beside.suffix == ".gif":
            filters = f"fps={min(self._fps, _GIF_FPS)},{_PALETTE}"
            options |= {"codec": "gif", "pix_fmt_out": "pal8"}
            options["output_params"] = ["-vf", filters, "-loop", "0"]
        else:
            options["codec"] = "libx264"
            options["output_params"] = ["-crf", "20", "-movflags", "+faststart"]
        # Else it forks with a hook, which is not safe beside the threads of JAX.
        os.environ.setdefault("IMAGEIO_FFMPEG_NO_PREVENT_SIGINT", "1")
        encoder = imageio_ffmpeg.write_frames(
            self._beside, (width, height), ffmpeg_log_level="error", **options
        )
        encoder.send(None)
        return encoder

    def _check(self) -> None:
        """The encoder does not say how it ended: what it wrote must have frames."""
        try:
            frames, _ = imageio_ffmpeg.count_frames_and_secs(self._beside)
        except RuntimeError as error:
            raise self._failure(error) from None
        if not frames:
            raise self._failure("there are no frames in it")

    def _failure(self, why: object) -> InputError:
        words = " ".join(str(why).partition("FFMPEG COMMAND")[0].split())
        return InputError(f"{self._path} cannot be written: ffmpeg failed: {words[:300]}")
