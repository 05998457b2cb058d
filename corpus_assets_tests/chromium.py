"""A real Chromium without a screen, driven over its DevTools protocol: mouse, keyboard, what is
there to be read, pictures. Tests skip where there is none; `CHROMIUM` names another program."""

import base64
import itertools
import json
import os
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, connect

PROGRAM = os.environ.get("CHROMIUM", "chromium")
PICTURES = os.environ.get("CORPUS_TEST_PICTURES")  # a folder for them
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--hide-scrollbars",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--remote-debugging-port=0",
)
FIND = """(words, kinds, nth) => {
  const shown = (e) => e.getClientRects().length && getComputedStyle(e).visibility !== 'hidden';
  const said = (e) => (e.innerText || e.value || e.getAttribute('aria-label') || '').trim();
  const found = [...document.querySelectorAll(kinds)].filter((e) => shown(e) && !e.disabled
    && e.getAttribute('aria-disabled') !== 'true' && (words === null || said(e) === words));
  const inner = found.filter((e) => !found.some((o) => o !== e && e.contains(o)));
  const one = inner.at(nth);
  if (!one) return null;
  one.scrollIntoView({block: 'center', inline: 'center'});
  const place = one.getBoundingClientRect();
  return [place.x + place.width / 2, place.y + place.height / 2];
}"""
ANYTHING = "a, button, [role], label, input, select, summary, span, div, td, th, h1, h2, p"


class Page:
    """One tab."""

    def __init__(self, connection: ClientConnection, patience_s: float) -> None:
        self._connection, self.patience_s = connection, patience_s
        self._numbers, self._shots = itertools.count(1), itertools.count(1)
        for domain in ("Page", "Runtime"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> Any:
        """Ask the browser; what it reports meanwhile is passed over."""
        number = next(self._numbers)
        self._connection.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            told = json.loads(self._connection.recv(timeout=60))
            if told.get("id") == number:
                assert "error" not in told, f"{method}: {told['error']}"
                return told["result"]

    def size(self, width: int, height: int) -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=width < 600)  # fmt: skip

    def open(self, address: str) -> None:
        answer = self.call("Page.navigate", url=address)
        assert "errorText" not in answer, f"{address}: {answer['errorText']}"

    def value(self, expression: str) -> Any:
        """What JavaScript makes of an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        return answer["result"].get("value")

    @property
    def text(self) -> str:
        return str(self.value("document.body ? document.body.innerText : ''"))

    @property
    def address(self) -> str:
        return str(self.value("location.href"))

    def until(self, is_so: Any, what: str) -> None:
        """Wait for something; what is on the page is said where it does not come."""
        end = time.monotonic() + self.patience_s
        while not is_so():
            if time.monotonic() > end:
                self.picture("stuck")
                raise AssertionError(f"{what}: not at {self.address}, which has:\n{self.text}")
            time.sleep(0.25)

    def shows(self, words: str) -> None:
        self.until(lambda: words in self.text, f"no {words!r}")

    def click(self, words: str | None, kinds: str = ANYTHING, nth: int = 0) -> None:
        """Press the mouse on what says just these words, and nothing else, once it is there."""
        place: list[float] = []

        def is_there() -> bool:
            asked = f"({FIND})({json.dumps(words)}, {json.dumps(kinds)}, {nth})"
            place[:] = self.value(asked) or []
            return bool(place)

        self.until(is_there, f"nothing that says {words!r} ({kinds})")
        x, y = place
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        time.sleep(0.3)

    def write(self, text: str) -> None:
        """Type where the cursor is, over what is chosen there."""
        self.call("Input.insertText", text=text)

    def press(self, key: str, code: int, control: bool = False) -> None:
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code,
                      modifiers=2 * control)  # fmt: skip

    def picture(self, name: str) -> None:
        """Take a picture, where `CORPUS_TEST_PICTURES` names a folder for them."""
        if PICTURES:
            shot = self.call("Page.captureScreenshot", format="png")["data"]
            path = Path(PICTURES) / f"{next(self._shots):02d}-{name}.png"
            path.write_bytes(base64.b64decode(shot))


@contextmanager
def chromium(folder: Path, patience_s: float = 300.0) -> Iterator[Page]:
    """Open a browser with a profile of its own."""
    program = shutil.which(PROGRAM)
    if program is None:
        pytest.skip(f"{PROGRAM} is not installed; CHROMIUM names another browser of its kind")
    profile = folder / "chromium"
    command = [program, *FLAGS, f"--user-data-dir={profile}", "about:blank"]
    with open(folder / "chromium.log", "ab") as log:
        browser = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        told = profile / "DevToolsActivePort"
        end = time.monotonic() + 60
        while not told.exists() or not told.read_text().strip():
            is_late = time.monotonic() > end or browser.poll() is not None
            assert not is_late, f"{program} did not start: see {log.name}"
            time.sleep(0.1)
        port = told.read_text().split()[0]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list") as answer:
            tabs = [tab for tab in json.load(answer) if tab["type"] == "page"]
        with connect(tabs[0]["webSocketDebuggerUrl"], max_size=None) as connection:
            page = Page(connection, patience_s)
            page.size(1400, 900)
            yield page
    finally:
        browser.terminate()
        browser.wait(30)
