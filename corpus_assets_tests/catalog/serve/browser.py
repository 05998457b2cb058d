"""The pages of `catalog serve`, served for a test and asked for as a browser asks."""

import html
import re
import socket
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import uvicorn

TOKEN = "a token of more than sixteen letters & signs"


@dataclass(frozen=True)
class Answer:
    status: int
    body: str
    headers: dict[str, str]

    @property
    def text(self) -> str:
        """What a reader sees, markup taken away."""
        return html.unescape(re.sub(r"<[^>]*>", "", self.body))


@dataclass(frozen=True)
class Browser:
    address: str

    def get(
        self, path: str, method: str = "GET", data: bytes | None = None, **headers: str
    ) -> Answer:
        asked = urllib.request.Request(self.address + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(asked) as answer:
                return Answer(answer.status, answer.read().decode(), dict(answer.headers))
        except urllib.error.HTTPError as answer:
            with answer:
                return Answer(answer.code, answer.read().decode(), dict(answer.headers))

    def find(self, asked: str, **more: str) -> Answer:
        return self.get("/find?" + urllib.parse.urlencode({"q": asked, **more}))


@contextmanager
def served(app: Any) -> Iterator[Browser]:
    """Serve an application on a port of its own until the block ends."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical"))
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield Browser(f"http://127.0.0.1:{listening.getsockname()[1]}")
        finally:  # or a test that fails here would never end
            server.should_exit = True
            thread.join()
