"""A way to an S3 server on which things go wrong, by chance and by a seed."""

import contextlib
import random
import socket
import struct
import threading
from collections import Counter
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

FAULTS = ("503", "reset before", "reset after", "truncated")
SLOW_DOWN = (
    b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"
)
OF_A_CONNECTION = {"transfer-encoding", "connection", "content-length"}


class FaultyProxy(ThreadingHTTPServer):
    """Passes requests on to `target`; a share of them meets a fault.

    `503`: refused. `reset before`, `reset after`: the connection is reset, with the request not
    passed on or carried out. `truncated`: half of the answer arrives, then the connection ends.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, target: str, share: float, dice: random.Random) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.target = urlsplit(target).netloc
        self.endpoint = f"http://127.0.0.1:{self.server_port}"
        self.met: Counter[str] = Counter()
        self._share, self._dice, self._turn = share, dice, threading.Lock()

    def fault(self) -> str:
        with self._turn:
            found = self._dice.choice(FAULTS) if self._dice.random() < self._share else "none"
            self.met[found] += 1
        return found

    def handle_error(self, *_: object) -> None:
        return  # a client that went away


class _Handler(BaseHTTPRequestHandler):
    server: FaultyProxy
    protocol_version = "HTTP/1.1"

    def _pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fault = self.server.fault()
        if fault == "reset before":
            self._reset()
            return
        if fault == "503":
            self._answer(503, [("Content-Type", "application/xml")], SLOW_DOWN)
            return
        way = HTTPConnection(self.server.target, timeout=120)
        try:
            way.request(self.command, self.path, body, dict(self.headers))
            found = way.getresponse()
            answer = found.read()
        except (OSError, HTTPException):
            self._reset()
            return
        finally:
            way.close()
        if fault == "reset after":
            self._reset()
            return
        headers = [(k, v) for k, v in found.getheaders() if k.lower() not in OF_A_CONNECTION]
        length = found.getheader("Content-Length") if self.command == "HEAD" else None
        self._answer(found.status, headers, answer, length, fault == "truncated")

    def _answer(
        self,
        status: int,
        headers: list[tuple[str, str]],
        body: bytes,
        length: str | None = None,
        is_cut: bool = False,
    ) -> None:
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        if status not in (204, 304):
            self.send_header("Content-Length", length or str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body[: len(body) // 2] if is_cut else body)
        if is_cut:
            self._reset()

    def _reset(self) -> None:
        self.close_connection = True
        with contextlib.suppress(OSError):
            self.wfile.flush()
            now = struct.pack("ii", 1, 0)  # no polite end: what is on its way is lost
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, now)
            self.connection.close()

    do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = _pass_on

    def log_message(self, *_: object) -> None:
        return


@contextlib.contextmanager
def faulty_proxy(target: str, share: float, dice: random.Random) -> Iterator[FaultyProxy]:
    with FaultyProxy(target, share, dice) as proxy:
        thread = threading.Thread(target=proxy.serve_forever)
        thread.start()
        try:
            yield proxy
        finally:
            proxy.shutdown()
            thread.join()
