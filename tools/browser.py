"""A browser without a window, for pages of reports: Debian's chromium, through the pipe of its DevTools protocol."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

PROGRAM = "chromium"
WIDE, NARROW = (1200, 900), (390, 844)
_KEYS = {"Tab": 9, "Enter": 13}
# A browser that does not answer in this time has failed.
_PATIENCE_S = 120


class Browser:
    """A chromium with one page; used as a context."""

    def __init__(self, program: str = PROGRAM) -> None:
        self._profile = tempfile.mkdtemp(prefix="palaver-browser-")
        words = [
            *(program, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"),
            *("--remote-debugging-pipe", f"--user-data-dir={self._profile}", "about:blank"),
        ]
        # It reads commands from descriptor 3, and writes answers to 4.
        self._process = subprocess.Popen(
            ["sh", "-c", 'exec "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1', "sh", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._number = 0
        self._rest = b""
        self._session = ""
        self.events: list[Mapping[str, Any]] = []
        target = self.command("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.command("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.command(f"{domain}.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        shutil.rmtree(self._profile, ignore_errors=True)

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        while b"\0" not in self._rest:
            piece = self._process.stdout.read1(1 << 16)  # type: ignore[attr-defined]
            if not piece:
                raise RuntimeError("the browser has ended")
            self._rest += piece
        text, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        return message

    def command(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Give a command, and wait for its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\0")
        self._process.stdin.flush()
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def open(self, file: Path) -> None:
        """Load a page from a file, and wait until it is there."""
        self.events.clear()
        self.command("Page.navigate", url=file.resolve().as_uri())
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._read())

    def run(self, code: str) -> Any:
        """The value of an expression in the page; a promise is waited for."""
        found = self.command("Runtime.evaluate", expression=code, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in found:
            raise RuntimeError(found["exceptionDetails"])
        return found["result"].get("value")

    def press(self, key: str) -> None:
        """Press a key that has a name and no character, or Enter."""
        named: dict[str, Any] = {"key": key, "code": key, "windowsVirtualKeyCode": _KEYS[key]}
        text = {"text": "\r"} if key == "Enter" else {}
        self.command("Input.dispatchKeyEvent", type="keyDown", **named, **text)
        self.command("Input.dispatchKeyEvent", type="keyUp", **named)

    def look(self, size: tuple[int, int] = WIDE, *, is_dark: bool = False, is_printed: bool = False) -> None:
        """Have a screen of this size, in these colours."""
        width, height = size
        self.command(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=size == NARROW,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}
        self.command("Emulation.setEmulatedMedia", media="print" if is_printed else "", features=[scheme])

    def screenshot(self, file: Path, height: int | None = None) -> None:
        """Write what is seen as PNG; with a height, from the top of the page on."""
        options: dict[str, Any] = {"format": "png"}
        if height is not None:
            width = self.run("innerWidth")
            clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
            options |= {"clip": clip, "captureBeyondViewport": True}
        file.write_bytes(base64.b64decode(self.command("Page.captureScreenshot", **options)["data"]))

    @property
    def complaints(self) -> list[str]:
        """Exceptions, errors and warnings of the page, as its console shows them."""
        found = []
        for event in self.events:
            details = event.get("params", {})
            match event.get("method"):
                case "Runtime.exceptionThrown":
                    found.append(json.dumps(details["exceptionDetails"]))
                case "Log.entryAdded" if details["entry"]["level"] in ("error", "warning"):
                    found.append(details["entry"]["text"])
                case "Runtime.consoleAPICalled" if details["type"] in ("error", "warning"):
                    found.append(json.dumps(details["args"]))
        return found
