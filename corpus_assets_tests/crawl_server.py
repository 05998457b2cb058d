"""A server that speaks Common Crawl's layout, and fails in every way it is told to.

Files are bytes by path. Each GET asks `faults` what goes wrong this time; every request is noted,
so that tests can count them. Range, If-Match, ETag and Content-Range work as on the real one.
Folders can be listed as on S3, the first part of a path being the bucket.
"""

import gzip
import hashlib
import json
import re
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from urllib.parse import parse_qs, urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

FAULTS = (
    "reset",
    "close",
    "503",
    "403",
    "429",
    "500",
    "502",
    "slow",
    "long_length",
    "short_length",
    "wrong_range",
    "wrong_total",
    "hang_up",
    "garbage",
    "ignore_range",
)
"""Every fault from which a reader can recover."""

PAGE_KEYS = 1000

SLOW_DOWN = (
    b"<?xml version='1.0'?><Error><Code>SlowDown</Code><Message>Please reduce your request rate."
    b"</Message></Error>"
)


@dataclass
class Seen:
    """One request, and how it was answered."""

    path: str
    range: str
    fault: str | None
    headers: Message = field(default_factory=Message)  # names in any case
    status: int = 0
    at: float = field(default_factory=time.monotonic)


class CrawlServer:
    """Use it in a `with` statement; `base` is what a recipe writes."""

    def __init__(self, files: Mapping[str, bytes] | None = None) -> None:
        self.files: dict[str, bytes] = dict(files or {})
        self.faults: Callable[[str, int], str | None] = lambda path, number: None
        self.etags: dict[str, str] = {}  # what to say in place of the content's own
        self.seen: list[Seen] = []
        self.retry_after = "0"
        self.connections = 0
        self._lock = threading.Lock()
        server = self

        class Handler(_Handler):
            owner = server

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.base = f"http://127.0.0.1:{self._http.server_address[1]}/"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self) -> "CrawlServer":
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def encrypt(self, certificate: Path) -> list[str]:
        """Speak TLS from now on; return the names that clients ask for, as they come."""
        said: list[str] = []
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        context.sni_callback = lambda line, name, context: said.append(name)
        self._http.socket = context.wrap_socket(self._http.socket, server_side=True)
        self.base = self.base.replace("http:", "https:")
        return said

    def etag(self, path: str) -> str:
        return self.etags.get(path) or hashlib.md5(self.files[path]).hexdigest()

    def note(self, path: str, headers: Message) -> Seen:
        """Note a request and decide what goes wrong with it, in the order of requests."""
        with self._lock:
            fault = self.faults(path, len(self.seen))
            self.seen.append(Seen(path, headers.get("Range") or "", fault, headers))
            return self.seen[-1]

    def requests(self, part: str = "") -> int:
        return sum(part in seen.path for seen in self.seen)


def every_other(kinds: Iterable[str] = FAULTS) -> Callable[[str, int], str | None]:
    """Each fault in turn, with one sound answer between two of them."""
    listed = tuple(kinds)
    count = iter(range(10**9))

    def choose(path: str, number: int) -> str | None:
        turn = next(count)
        return listed[turn // 2 % len(listed)] if turn % 2 == 0 else None

    return choose


class _Handler(BaseHTTPRequestHandler):
    owner: CrawlServer
    protocol_version = "HTTP/1.1"
    timeout = 30

    def setup(self) -> None:
        super().setup()
        with self.owner._lock:
            self.owner.connections += 1

    def log_message(self, format: str, *arguments: object) -> None:
        return

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = self.path.lstrip("/")
        seen = self.owner.note(path, self.headers)
        seen.status = self._answer(path, seen.range, seen.fault)

    def _answer(self, path: str, wanted: str, fault: str | None) -> int:
        if fault == "hang_up":
            self.close_connection = True
            return 0
        if fault == "garbage":
            self.wfile.write(b"I am a teapot, not a protocol\r\n\r\n")
            self.close_connection = True
            return 0
        if fault is not None and fault.isdigit():
            return self._plain(int(fault), SLOW_DOWN)
        if fault is not None and fault.startswith("redirect:"):
            return self._plain(302, b"", ("Location", fault.removeprefix("redirect:")))
        if "list-type=2" in path:
            return self._plain(200, listing(self.owner.files, path))
        if path not in self.owner.files:
            return self._plain(404, b"not here")
        data = self.owner.files[path]
        etag = f'"{self.owner.etag(path)}"'
        match = self.headers.get("If-Match")
        if match is not None and match not in (etag, "*"):
            return self._plain(412, b"")
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", wanted)
        if asked is None or fault == "ignore_range":
            return self._body(200, data, 0, data, etag, fault)
        start, last = int(asked.group(1)), int(asked.group(2) or len(data) - 1)
        if start >= len(data):
            return self._plain(416, b"", ("Content-Range", f"bytes */{len(data)}"))
        return self._body(206, data[start : last + 1], start, data, etag, fault)

    def _plain(self, status: int, body: bytes, *headers: tuple[str, str]) -> int:
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        if status in (429, 503):
            self.send_header("Retry-After", self.owner.retry_after)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
        return status

    def _body(
        self, status: int, body: bytes, start: int, data: bytes, etag: str, fault: str | None
    ) -> int:
        length = len(body) + {"long_length": 1000, "short_length": -len(body) // 3}.get(
            fault or "", 0
        )
        self.send_response(status)
        self.send_header("ETag", etag)
        self.send_header("Content-Length", str(length))
        self.send_header("Content-Type", "application/octet-stream")
        if status == 206:
            first = start + (7 if fault == "wrong_range" else 0)
            # A lie about the size at the first question cannot be told from the truth.
            lies = fault == "wrong_total" and len(body) > 1
            total = len(data) + (99 if lies else 0)
            self.send_header("Content-Range", f"bytes {first}-{first + len(body) - 1}/{total}")
        self.send_header("Last-Modified", "Mon, 04 Mar 2024 10:00:00 GMT")
        self.end_headers()
        if self.command == "HEAD":
            return status
        try:
            if fault in ("reset", "close"):
                self.wfile.write(body[: len(body) // 2])
                self.wfile.flush()
                self.close_connection = True
                if fault == "reset":
                    linger = struct.pack("ii", 1, 0)
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                    self.connection.close()
            elif fault == "slow":
                piece = max(1, len(body) // 8)
                for at in range(0, len(body), piece):
                    self.wfile.write(body[at : at + piece])
                    self.wfile.flush()
                    time.sleep(0.002)
            elif fault == "stall":
                self.wfile.write(body[: len(body) // 2])
                self.wfile.flush()
                time.sleep(1.0)
                self.close_connection = True
            else:
                self.wfile.write(body)
                if fault in ("long_length", "short_length"):
                    self.close_connection = True
        except OSError:
            self.close_connection = True
        return status

    def finish(self) -> None:
        try:
            super().finish()
        except (OSError, ValueError):
            self.close_connection = True


def listing(files: Mapping[str, bytes], request: str) -> bytes:
    """A page of ListObjectsV2: keys of a bucket below a prefix, a thousand at most."""
    asked = {name: values[0] for name, values in parse_qs(urlsplit(request).query).items()}
    bucket = urlsplit(request).path.strip("/")
    prefix, after = asked.get("prefix", ""), asked.get("continuation-token", "")
    delimiter = asked.get("delimiter")
    folders: set[str] = set()
    keys: list[str] = []
    for path in sorted(files):
        key = path.removeprefix(f"{bucket}/")
        if path == key or not key.startswith(prefix) or key <= after:
            continue
        name, found, _ = key.removeprefix(prefix).partition(delimiter or "\0")
        if delimiter and found:
            folders.add(f"{prefix}{name}{delimiter}")
        else:
            keys.append(key)
    body = "".join(
        f"<Contents><Key>{key}</Key><Size>{len(files[f'{bucket}/{key}'])}</Size>"
        "<LastModified>2024-03-04T10:00:00.000Z</LastModified></Contents>"
        for key in keys[:PAGE_KEYS]
    )
    body += "".join(
        f"<CommonPrefixes><Prefix>{f}</Prefix></CommonPrefixes>" for f in sorted(folders)
    )
    more = len(keys) > PAGE_KEYS
    body += f"<IsTruncated>{str(more).lower()}</IsTruncated>"
    if more:
        body += f"<NextContinuationToken>{keys[PAGE_KEYS - 1]}</NextContinuationToken>"
    return f"<?xml version='1.0'?><ListBucketResult>{body}</ListBucketResult>".encode()


def crawl_files(
    crawl: str,
    files: Mapping[str, bytes],
    kind: str = "warc",
    robots: Mapping[str, bytes] | None = None,
) -> dict[str, bytes]:
    """One crawl as Common Crawl lays it out: files by name, their lists, and the crawl list.

    Files go to segments in turn; the keys are bare file names.
    """
    found: dict[str, bytes] = {}

    def lay(named: Mapping[str, bytes], kind: str, listed: str) -> None:
        paths = []
        for number, (name, data) in enumerate(sorted(named.items())):
            path = f"crawl-data/{crawl}/segments/1700000000.{number % 2}/{kind}/{name}"
            found[path] = data
            paths.append(path)
        text = "".join(f"{path}\n" for path in paths)
        found[f"crawl-data/{crawl}/{listed}.paths.gz"] = gzip.compress(text.encode(), mtime=0)

    lay(files, kind, kind)
    if robots is not None:
        lay(robots, "robotstxt", "robotstxt")
    return found


def index_files(crawl: str, index: Mapping[str, bytes]) -> dict[str, bytes]:
    """The columnar URL index of a crawl and its list, by path; `index` by bare names."""
    folder = f"cc-index/table/cc-main/warc/crawl={crawl}/subset=warc"
    found = {f"{folder}/{name}": data for name, data in index.items()}
    other = f"{folder.replace('subset=warc', 'subset=robotstxt')}/part-00000.gz.parquet"
    listed = "".join(f"{path}\n" for path in [*sorted(found), other])
    found[f"crawl-data/{crawl}/cc-index-table.paths.gz"] = gzip.compress(listed.encode(), mtime=0)
    return found


def crawl_list(*crawls: str) -> bytes:
    """collinfo.json: the newest crawl first."""
    listed = [
        {
            "id": crawl,
            "name": f"{crawl} Index",
            "timegate": f"https://index.example/{crawl}/",
            "cdx-api": f"https://index.example/{crawl}-index",
        }
        for crawl in sorted(crawls, reverse=True)
    ]
    return json.dumps(listed).encode()


def write_certificate(target: Path, host: str) -> Path:
    """A key and a certificate of a host, which it signs itself, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, host)])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    form = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    target.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, *form)
        + signed.public_bytes(serialization.Encoding.PEM)
    )
    return target
