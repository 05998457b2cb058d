"""Ranges of remote files over HTTP: our transport beside urllib3 and httpx.

    python benchmarks/http_transport.py

A server in a process of its own gives ranges of one file, plain and with TLS. Each client asks the
address that was looked up, names the host for TLS and in `Host`, insists on the ETag, reads the body
in pieces of 64 KiB and stops at the last byte that it asked for. Ours also checks the address, the
headers of the answer and the time. CPU time of the client alone, the smallest of the rounds, in
which the clients take turns; `http.client` is what ours and urllib3 are made on.
"""

import argparse
import http.client
import os
import re
import socket
import ssl
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Protocol
from unittest.mock import patch
from urllib.parse import urlsplit

import httpx2
import urllib3
from machine import machine

from corpus_assets.ingest.fetch.http import HttpTransport
from corpus_assets.ingest.fetch.transport import PIECE_BYTES, Limits, Stat
from corpus_assets_tests.crawl_server import write_certificate

MIB = 1 << 20
SIZE = 16 * MIB
SMALL = 1 << 10
STAT = Stat(SIZE, "one-state-of-the-file")
HOST = "localhost"


class Client(Protocol):
    """One client of one server; it keeps its connection."""

    def get(self, start: int, end: int) -> int:
        """Return the number of bytes that came."""
        ...

    def close(self) -> None: ...


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=500, help="of 1 KiB")
    parser.add_argument("--ranges", type=int, default=12, help="of 8 MiB")
    parser.add_argument("--connections", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print(f"{machine()}\n")
    print(f"| | {' | '.join(CLIENTS)} |")
    print("|---" * (len(CLIENTS) + 1) + "|")
    with tempfile.TemporaryDirectory() as folder:
        certificate = Path(folder) / "certificate.pem"
        write_certificate(certificate, HOST)
        with patch.dict(os.environ, SSL_CERT_FILE=str(certificate)):  # read by ours, as by all
            for scheme in ("http", "https"):
                with serving(certificate if scheme == "https" else None) as port:
                    measure(f"{scheme}://{HOST}:{port}/file", options)


def measure(url: str, options: argparse.Namespace) -> None:
    scheme = urlsplit(url).scheme

    def row(what: str, spent: Callable[[type[Client]], float]) -> None:
        best = dict.fromkeys(CLIENTS, float("inf"))
        for _ in range(options.rounds):
            for name, client in CLIENTS.items():
                best[name] = min(best[name], spent(client))
        cells = " | ".join(f"{value:.3f}" for value in best.values())
        print(f"| {scheme}, {what} | {cells} |", flush=True)

    def kept(count: int, size: int) -> Callable[[type[Client]], float]:
        def spent(make: type[Client]) -> float:
            client = make(url)
            expect(client.get(0, SMALL) == SMALL)
            before = time.process_time()
            for number in range(count):
                start = number * size % (SIZE - size + 1)
                expect(client.get(start, start + size) == size)
            took = time.process_time() - before
            client.close()
            return 1000 * took

        return spent

    def new(make: type[Client]) -> float:
        before = time.process_time()
        for _ in range(options.connections):
            client = make(url)
            expect(client.get(0, SMALL) == SMALL)
            client.close()
        return 1000 * (time.process_time() - before) / options.connections

    small, large = kept(options.requests, SMALL), kept(options.ranges, 8 * MIB)
    row("ms a request of 1 KiB, connection kept", lambda make: small(make) / options.requests)
    row("ms a MiB, in ranges of 8 MiB", lambda make: large(make) / options.ranges / 8)
    row("ms a client with its connection and first request", new)


# The clients.


class Ours:
    def __init__(self, url: str) -> None:
        self.url = url
        self.transport = HttpTransport(url, lambda url: None, allow_http=True)

    def get(self, start: int, end: int) -> int:
        answer = self.transport.get(self.url, start, end, STAT, Limits())
        try:
            return sum(map(len, answer.pieces()))
        finally:
            answer.close()

    def close(self) -> None:
        self.transport.close()


class Urllib3:
    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.headers = {"Host": parts.netloc} | HEADERS
        self.path = parts.path
        if parts.scheme == "https":
            context = ssl.create_default_context()
            self.pool: urllib3.HTTPConnectionPool = urllib3.HTTPSConnectionPool(
                address_of(url), parts.port, ssl_context=context, server_hostname=HOST
            )
        else:
            self.pool = urllib3.HTTPConnectionPool(address_of(url), parts.port)

    def get(self, start: int, end: int) -> int:
        response = self.pool.urlopen(
            "GET",
            self.path,
            headers=self.headers | {"Range": f"bytes={start}-{end - 1}"},
            timeout=urllib3.Timeout(connect=10, read=60),
            retries=False,
            redirect=False,
            preload_content=False,
            decode_content=False,
        )
        read, left = 0, end - start
        while left:
            piece = response.read1(min(PIECE_BYTES, left))
            read += len(piece)
            left -= len(piece)
        response.close()
        return read

    def close(self) -> None:
        self.pool.close()


class Httpx:
    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        context = ssl.create_default_context() if parts.scheme == "https" else False
        self.client = httpx2.Client(verify=context, timeout=60, trust_env=False)
        self.url = f"{parts.scheme}://{address_of(url)}:{parts.port}{parts.path}"
        self.headers = {"Host": parts.netloc} | HEADERS

    def get(self, start: int, end: int) -> int:
        with self.client.stream(
            "GET",
            self.url,
            headers=self.headers | {"Range": f"bytes={start}-{end - 1}"},
            extensions={"sni_hostname": HOST},
        ) as response:
            return sum(map(len, response.iter_raw()))

    def close(self) -> None:
        self.client.close()


class Plain:
    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        kind = {"http": http.client.HTTPConnection, "https": http.client.HTTPSConnection}
        self.line = kind[parts.scheme](HOST, parts.port, timeout=60)
        self.path = parts.path

    def get(self, start: int, end: int) -> int:
        self.line.request("GET", self.path, headers=HEADERS | {"Range": f"bytes={start}-{end - 1}"})
        response = self.line.getresponse()
        read = 0
        while piece := response.read(PIECE_BYTES):
            read += len(piece)
        return read

    def close(self) -> None:
        self.line.close()


HEADERS = {
    "User-Agent": "corpus-assets",
    "Accept": "*/*",
    "Accept-Encoding": "identity",
    "If-Match": f'"{STAT.etag}"',
}
CLIENTS: dict[str, type[Client]] = {
    "ours": Ours,
    f"urllib3 {urllib3.__version__}": Urllib3,
    f"httpx {httpx2.__version__}": Httpx,
    "http.client, nothing checked": Plain,
}


def address_of(url: str) -> str:
    return str(socket.getaddrinfo(HOST, urlsplit(url).port, socket.AF_INET)[0][4][0])


# The server.


@contextmanager
def serving(certificate: Path | None) -> Iterator[int]:
    here, there = get_context("spawn").Pipe()
    server = get_context("spawn").Process(target=serve, args=(there, certificate), daemon=True)
    server.start()
    try:
        yield here.recv()
    finally:
        server.terminate()
        server.join()


def serve(port: Connection, certificate: Path | None) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    port.send(server.server_address[1])
    server.serve_forever()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # header and body in one piece where they are small
    data = memoryview(os.urandom(SIZE))

    def do_GET(self) -> None:
        found = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers["Range"])
        if found is None:
            self.send_error(400)
            return
        start, last = map(int, found.groups())
        self.send_response(206)
        self.send_header("ETag", f'"{STAT.etag}"')
        self.send_header("Content-Range", f"bytes {start}-{last}/{SIZE}")
        self.send_header("Content-Length", str(last + 1 - start))
        self.end_headers()
        self.wfile.write(self.data[start : last + 1])

    def log_message(self, format: str, *arguments: object) -> None:
        return


def expect(holds: bool) -> None:
    if not holds:
        raise SystemExit("a client did not get its bytes: the numbers would mean nothing")


if __name__ == "__main__":
    main()
