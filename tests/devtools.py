"""A browser driven as visitors drive it, with keys and a pointer; and what it asks the network."""

import base64
import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from browser import CHROMIUM

_SEPARATOR = b"\0"
_KEYS = {"Tab": 9, "Enter": 13, " ": 32, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowRight": 39}


class Page:
    """One tab of Chromium, over the pipe of its developer tools."""

    def __init__(self, to: int, back: int):
        self._to, self._back = to, back
        self._number, self._rest = 0, b""
        self._session: str | None = None
        self.requests: list[str] = []
        """addresses that were asked for, but for those within the page"""
        self.console: list[str] = []
        """what the console had to say, errors too"""
        target = self("Target.createTarget", url="about:blank")["targetId"]
        self._session = self("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log", "Accessibility"):
            self(f"{domain}.enable")

    def __call__(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Ask, and wait for the answer."""
        self._number += 1
        asked: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            asked["sessionId"] = self._session
        os.write(self._to, json.dumps(asked).encode() + _SEPARATOR)
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]

    def _read(self) -> dict[str, Any]:
        while _SEPARATOR not in self._rest:
            got = os.read(self._back, 1 << 20)
            assert got, "the browser has gone"
            self._rest += got
        line, _, self._rest = self._rest.partition(_SEPARATOR)
        said = json.loads(line)
        self._note(said.get("method"), said.get("params", {}))
        return said

    def _note(self, method: str | None, given: dict[str, Any]) -> None:
        if method == "Network.requestWillBeSent":
            address = given["request"]["url"]
            if not address.startswith(("data:", "blob:")):
                self.requests.append(address)
        elif method == "Runtime.consoleAPICalled":
            self.console.append(" ".join(str(a.get("value")) for a in given["args"]))
        elif method == "Runtime.exceptionThrown":
            self.console.append(str(given["exceptionDetails"]))
        elif method == "Log.entryAdded":
            self.console.append(given["entry"]["text"])

    def look(self, width: int, height: int, dark: bool = False) -> None:
        """A screen of this size; below 600 pixels it is a phone."""
        phone = width < 600
        self(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=phone,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, address: str) -> float:
        """Go there; seconds until everything is drawn."""
        self("Page.navigate", url=address)
        while self.js("document.readyState") != "complete" or self.js("location.href") != address:
            pass
        # Two frames later what the scripts made is on the screen.
        self.js("new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r)))")
        return self.js("performance.now()") / 1000.0

    def js(self, expression: str) -> Any:
        """The value of an expression, or what it promises."""
        got = self("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in got, got["exceptionDetails"]
        return got["result"].get("value")

    def press(self, key: str, times: int = 1, shift: bool = False) -> None:
        """Press a key."""
        text = {"Enter": "\r", " ": " "}.get(key)
        words: dict[str, Any] = {"key": key, "windowsVirtualKeyCode": _KEYS[key], "code": key}
        words["modifiers"] = 8 if shift else 0
        for _ in range(times):
            down = {"type": "keyDown", "text": text} if text else {"type": "rawKeyDown"}
            self("Input.dispatchKeyEvent", **down, **words)
            self("Input.dispatchKeyEvent", type="keyUp", **words)

    def drag(self, start: tuple[float, float], end: tuple[float, float], steps: int = 5) -> None:
        """Press the pointer at a point of the window, move it, let go."""
        self._mouse("mousePressed", *start)
        for i in range(1, steps + 1):
            far = i / steps
            self._mouse("mouseMoved", *(a + far * (b - a) for a, b in zip(start, end, strict=True)))
        self._mouse("mouseReleased", *end)

    def click(self, selector: str) -> None:
        """The pointer on the middle of an element, which is scrolled to."""
        left, top, width, height = self.box(selector)
        point = (left + width / 2, top + height / 2)
        self.drag(point, point, 0)

    def box(self, selector: str) -> tuple[float, float, float, float]:
        """Left, top, width and height of an element in the window, after it was scrolled to."""
        found = self.js(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); "
            "e.scrollIntoView({ block: 'center', behavior: 'instant' }); "
            "const b = e.getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; })()"
        )
        return tuple(found)

    def _mouse(self, kind: str, x: float, y: float) -> None:
        buttons = 0 if kind == "mouseReleased" else 1
        self(
            "Input.dispatchMouseEvent",
            type=kind,
            x=x,
            y=y,
            button="left",
            buttons=buttons,
            clickCount=1,
        )

    def spoken(self) -> list[tuple[str, str]]:
        """Role and name of everything that a screen reader meets, in order."""
        nodes = self("Accessibility.getFullAXTree")["nodes"]
        return [
            (n["role"]["value"], n.get("name", {}).get("value", ""))
            for n in nodes
            if not n.get("ignored") and "role" in n
        ]

    def picture(self, file: Path, whole: bool = True) -> None:
        """A picture of the page."""
        got = self("Page.captureScreenshot", captureBeyondViewport=whole, **self._clip(whole))
        file.write_bytes(base64.b64decode(got["data"]))

    def _clip(self, whole: bool) -> dict[str, Any]:
        if not whole:
            return {}
        size = self("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        return {"clip": clip}


@contextmanager
def driven() -> Iterator[Page]:
    """A browser of one's own, which ends with the block."""
    assert CHROMIUM is not None
    theirs_in, to = os.pipe()
    back, theirs_out = os.pipe()
    with tempfile.TemporaryDirectory() as folder:
        flags = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--remote-debugging-pipe",
            "--host-resolver-rules=MAP * ~NOTFOUND",
            f"--user-data-dir={folder}",
        ]
        redirected = f'exec "$0" "$@" 3<&{theirs_in} 4>&{theirs_out}'
        process = subprocess.Popen(
            ["bash", "-c", redirected, CHROMIUM, *flags],
            pass_fds=(theirs_in, theirs_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        try:
            yield Page(to, back)
        finally:
            process.terminate()
            process.wait()
            os.close(to)
            os.close(back)
