"""Ranged GET requests over HTTPS with the standard library.

Servers are not trusted: redirects stay on http(s), never from https to http, and never lead to
an address inside the local network unless the recipe's own server is in one. Names are resolved
here and the connection goes to the very address that was looked at. Bodies are read no further
than what was asked for, whatever their headers say.
"""

import base64
import http.client
import ipaddress
import re
import socket
import ssl
from collections.abc import Iterator, Mapping
from functools import cache, cached_property, partial
from importlib.metadata import PackageNotFoundError, version
from threading import get_ident
from typing import Any
from urllib.parse import quote, unquote, urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass

from corpus_assets.core.errors import SourceError
from corpus_assets.ingest.fetch.http_answer import (
    LINE_ERRORS,
    HttpAnswer,
    etag_of,
    failure,
    line_trouble,
)
from corpus_assets.ingest.fetch.settings import ALLOW_HTTP
from corpus_assets.ingest.fetch.transport import (
    Limits,
    OneMore,
    Refused,
    Stat,
    Trouble,
    host_of,
    shown_url,
)

CONNECT_TIMEOUT_S = 10.0
MAX_REDIRECTS = 4


class HttpTransport:
    """`base` is the recipe's own address: what it is allowed to be, others may be too. It may be
    inside the local network unless `is_public` says that it must not."""

    def __init__(
        self,
        base: str,
        one_more: OneMore,
        allow_http: bool = False,
        is_public: bool = False,
        tokens: Mapping[str, str] | None = None,
    ) -> None:
        host = urlsplit(base).hostname or host_of(base)
        self._is_plain = base.startswith("http://")
        if self._is_plain and not allow_http and (is_public or not _is_loopback(host)):
            raise SourceError(
                f"{shown_url(base)} is not encrypted; use https://, or set {ALLOW_HTTP}=1"
            )
        self._one_more = one_more
        self._tokens = dict(tokens or {})  # by host and port, as they stand in an address
        self._base_host = host
        self._must_be_public = is_public
        self._inside: bool | None = None
        self._idle: dict[tuple[int, str], http.client.HTTPConnection] = {}  # by thread, server

    def stat(self, url: str, limits: Limits) -> Stat:
        """Ask for the first byte: its Content-Range has the size, and a body to check it by."""
        answer = self._request(url, {"Range": "bytes=0-0"}, limits, 1, ranged=True)
        try:
            if answer.status == 416:
                total = re.search(r"/(\d+)$", answer.header("content-range"))
                if total is None or int(total.group(1)) != 0:
                    raise Trouble("a wrong answer about the size (416)")
                return Stat(0, etag_of(answer), answer.header("last-modified"))
            if answer.status == 206:
                _, end, total_size = answer.content_range()
                if end != 0 or total_size is None or len(b"".join(answer.pieces())) != 1:
                    raise Trouble("a wrong answer about the size")
                size = total_size
            else:
                declared = answer.header("content-length")
                if not declared.isdigit():
                    raise Refused("the server does not report the file size")
                size = int(declared)
            return Stat(size, etag_of(answer), answer.header("last-modified"))
        finally:
            answer.close()

    def get(self, url: str, start: int, end: int, stat: Stat, limits: Limits) -> "HttpAnswer":
        headers = {"Range": f"bytes={start}-{end - 1}"}
        if stat.etag and not stat.etag.startswith("W/"):
            headers["If-Match"] = f'"{stat.etag}"'
        elif stat.modified and not stat.etag:
            headers["If-Unmodified-Since"] = stat.modified
        answer = self._request(url, headers, limits, end - start, ranged=True)
        try:
            answer.check(start, end, stat)
        except BaseException:
            answer.close()
            raise
        return answer

    def answer(self, url: str, max_bytes: int, limits: Limits) -> bytes:
        answer = self._request(url, {}, limits, max_bytes, ranged=False)
        try:
            return answer.rest(max_bytes)
        finally:
            answer.close()

    def listed(self, url: str) -> Iterator[tuple[str, Stat]]:
        raise Refused("folders cannot be listed over https; name a file, or use s3://")

    def folders(self, url: str) -> list[str]:
        raise Refused("folders cannot be listed over https; name a list, or use s3://")

    # Connections.

    def _request(
        self, url: str, headers: dict[str, str], limits: Limits, size: int, ranged: bool
    ) -> "HttpAnswer":
        for _ in range(MAX_REDIRECTS + 1):
            answer = self._send(url, headers, limits, size)
            if answer.status not in (301, 302, 303, 307, 308):
                break
            location = answer.header("location")
            answer.close()
            url = self._redirected(url, location)
            self._one_more(url)
        else:
            raise Refused(f"more than {MAX_REDIRECTS} redirects")
        fine = (200, 206, 416) if ranged else (200,)
        if answer.status in fine:
            return answer
        answer.close()
        raise failure(answer)

    def _send(self, url: str, headers: dict[str, str], limits: Limits, size: int) -> "HttpAnswer":
        """One request on a kept or a new connection. A kept one that the server has closed in
        the meantime says nothing about the server: a new one is opened at the next turn."""
        host_of(url)
        parts = urlsplit(url)
        path = parts.path or "/"
        if parts.query:
            path += f"?{parts.query}"
        path = re.sub(r"[^\x00-\x7f]+", lambda found: quote(found[0]), path)
        sent = {"User-Agent": _agent(), "Accept": "*/*", "Accept-Encoding": "identity"} | headers
        token = self._tokens.get(parts.netloc.lower())
        if token and (parts.scheme == "https" or _is_loopback(parts.hostname or "")):
            sent["Authorization"] = f"Bearer {token}"
        place = f"{parts.scheme}://{parts.netloc}"
        keep = partial(self._keep, place)
        kept = self._idle.pop((get_ident(), place), None)
        if kept is not None:
            try:
                response = _ask(kept, place, path, sent, limits)
                return HttpAnswer(keep, kept, response, limits.deadline_s(size))
            except (ConnectionError, http.client.RemoteDisconnected):
                kept.close()
                self._one_more(url)
            except LINE_ERRORS as error:
                kept.close()
                raise Trouble(line_trouble(error)) from error
        line = self._open(parts.scheme, parts.hostname or "", parts.port)
        try:
            response = _ask(line, place, path, sent, limits)
        except LINE_ERRORS as error:
            line.close()
            raise Trouble(line_trouble(error)) from error
        return HttpAnswer(keep, line, response, limits.deadline_s(size))

    def _open(self, scheme: str, host: str, port: int | None) -> http.client.HTTPConnection:
        proxy = None if _is_loopback(host) or proxy_bypass(host) else getproxies().get(scheme)
        if proxy:
            return self._through_proxy(proxy, scheme, host, port)
        connection: http.client.HTTPConnection
        if scheme == "https":
            connection = http.client.HTTPSConnection(
                host, port, timeout=CONNECT_TIMEOUT_S, context=self._tls
            )
        else:
            connection = http.client.HTTPConnection(host, port, timeout=CONNECT_TIMEOUT_S)
        connection._create_connection = self._dial  # type: ignore[attr-defined]
        return connection

    def _through_proxy(
        self, proxy: str, scheme: str, host: str, port: int | None
    ) -> http.client.HTTPConnection:
        """By the usual variables (HTTPS_PROXY ...); where the request goes from there is its affair."""
        via = urlsplit(proxy)
        where = (via.hostname or "", via.port or 3128)
        headers: dict[str, str] = {}
        if via.username:
            secret = f"{unquote(via.username)}:{unquote(via.password or '')}".encode()
            headers["Proxy-Authorization"] = f"Basic {base64.b64encode(secret).decode()}"
        if scheme == "http":
            return _Proxied(*where, headers)
        tunnel = http.client.HTTPSConnection(*where, timeout=CONNECT_TIMEOUT_S, context=self._tls)
        tunnel.set_tunnel(host, port, headers)
        return tunnel

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        """Made once: to read the certificates of all authorities takes 40 ms of CPU time."""
        return ssl.create_default_context()

    def _dial(self, place: tuple[str, int], timeout: float, source: Any = None) -> socket.socket:
        """Connect to an address that was looked at, not to a name that may change its mind."""
        host, port = place
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = [str(entry[4][0]) for entry in found]
        is_base = host.lower() == self._base_host.lower()
        if self._must_be_public or not (is_base or self._base_is_inside()):
            for address in addresses:
                if not _is_public(address):
                    raise Refused(f"{host} is an address of the local network")
        failure: OSError | None = None
        for address in addresses:
            try:
                return socket.create_connection((address, port), timeout, source)
            except OSError as error:
                failure = error
        raise failure or OSError(f"{host} has no address")

    def _base_is_inside(self) -> bool:
        if self._inside is None:
            found = socket.getaddrinfo(self._base_host, None, type=socket.SOCK_STREAM)
            self._inside = not all(_is_public(str(entry[4][0])) for entry in found)
        return self._inside

    def _redirected(self, url: str, location: str) -> str:
        """Return the URL that a redirect leads to, refused where it may not lead there."""
        try:
            target = urljoin(url, location)
            scheme = urlsplit(target).scheme
        except ValueError as error:
            raise Refused("it redirects to an invalid URL") from error
        if scheme != "https" and not (scheme == "http" and self._is_plain):
            raise Refused(f"it redirects to {shown_url(target)}, which is not https")
        try:
            host_of(target)
        except SourceError as error:
            raise Refused("it redirects to an invalid URL") from error
        return target

    def _keep(self, place: str, connection: http.client.HTTPConnection) -> None:
        """Take a connection back whose answer was read to its end."""
        old = self._idle.pop((get_ident(), place), None)
        if old is not None:
            old.close()
        self._idle[(get_ident(), place)] = connection

    def close(self) -> None:
        while self._idle:
            self._idle.popitem()[1].close()


class _Proxied(http.client.HTTPConnection):
    """A connection to a proxy that is asked for whole addresses."""

    def __init__(self, host: str, port: int, headers: dict[str, str]) -> None:
        super().__init__(host, port, timeout=CONNECT_TIMEOUT_S)
        self.more_headers = headers


def _ask(
    line: http.client.HTTPConnection,
    place: str,
    path: str,
    headers: dict[str, str],
    limits: Limits,
) -> http.client.HTTPResponse:
    if line.sock is None:
        line.connect()
    line.sock.settimeout(limits.timeout_s)
    if isinstance(line, _Proxied):
        path, headers = f"{place}{path}", headers | line.more_headers
    line.request("GET", path, headers=headers)
    return line.getresponse()


def _is_public(address: str) -> bool:
    found = ipaddress.ip_address(address.partition("%")[0])
    mapped = getattr(found, "ipv4_mapped", None)
    return (mapped or found).is_global


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


@cache
def _agent() -> str:
    try:
        return f"corpus-assets/{version('corpus-assets')}"
    except PackageNotFoundError:
        return "corpus-assets"
