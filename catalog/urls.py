"""One name for one page: canonical URLs and their sort-friendly keys.

Ingestion, takedown requests and look-ups all come through here, so that a page asked for is
found under the name it was stored by. Two spellings meet when they differ only in scheme
(http, https), case of the host, `www.`, a default port, user name, fragment, percent-encoding,
order of query parameters, or parameters that only track who clicked where. Path and query keep
their case: servers tell them apart. Nothing is fetched and no table of registered domains is
used, so the answer never changes with time.
"""

import ipaddress
import re
import unicodedata

MAX_CHARS = 65_536

TRACKING_PREFIXES = ("utm_",)
TRACKING_PARAMETERS = frozenset(
    {
        "_ga",
        "_gl",
        "_hsenc",
        "_hsmi",
        "dclid",
        "fbclid",
        "gad_source",
        "gbraid",
        "gclid",
        "gclsrc",
        "igshid",
        "li_fat_id",
        "mc_cid",
        "mc_eid",
        "mkt_tok",
        "msclkid",
        "oly_anon_id",
        "oly_enc_id",
        "s_cid",
        "srsltid",
        "ttclid",
        "twclid",
        "vero_id",
        "wbraid",
        "wickedid",
        "yclid",
    }
)

_URL = re.compile(r"(?s)(?:([A-Za-z][A-Za-z0-9+.\-]*):)?//([^/?#]*)([^?#]*)(?:\?([^#]*))?(?:#.*)?")
_WITH_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*://")
_OTHER_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:(?!\d)")
_HOST = re.compile(r"[a-z0-9_](?:[a-z0-9_\-]*[a-z0-9_])?")
_ESCAPE = re.compile(rb"%[0-9A-Fa-f]{2}|[^!-~]|[\"<>\\^`{|}%]", re.DOTALL)
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def canonical_url(url: str) -> str:
    """The one spelling of `url`: `http://host[:port]/path[?query]`. ValueError when it is none."""
    host, port, path, query = _parts(url)
    return f"http://{host}{port}{path}{query}"


def url_key(url: str) -> str:
    """The SURT form: `com,example)/path?query`. Pages of one site, then of one path, sort
    together. ValueError when `url` is not a web address."""
    host, port, path, query = _parts(url)
    return f"{_reversed(host)}{port}){path}{query}"


def canonical_host(host: str) -> str:
    """The host as it stands in canonical URLs: lower case, ASCII, without `www.`."""
    _refuse_odd(host)
    return _host(_decoded(host.strip()))


def host_key(host: str) -> str:
    """The start of the SURT form of every page of `host`: `com,example`.

    `com,example)` begins its own pages, `com,example,` those of its subdomains, and
    `com,example:` those at a port of their own.
    """
    return _reversed(canonical_host(host))


def _parts(url: str) -> tuple[str, str, str, str]:
    """Host, `:port` or nothing, path, `?query` or nothing."""
    _refuse_odd(url)
    url = url.strip("".join(map(chr, range(33)))).replace("\t", "").replace("\n", "")
    url = url.replace("\r", "")
    before_query = len(url.partition("?")[0].partition("#")[0])
    url = url[:before_query].replace("\\", "/") + url[before_query:]
    if not url.startswith("//") and not _WITH_SCHEME.match(url):
        if _OTHER_SCHEME.match(url):
            raise ValueError(f"not a web address: {url[:80]!r}")
        url = f"//{url}"
    match = _URL.fullmatch(url)
    if match is None:
        raise ValueError(f"not a web address: {url[:80]!r}")
    scheme, authority, path, query = match.groups()
    if (scheme or "http").lower() not in ("http", "https"):
        raise ValueError(f"not an http or https address: {url[:80]!r}")
    host, port = _authority(_decoded(authority))
    return host, port, _path(path), _query(query or "")


def _refuse_odd(text: str) -> None:
    """Half characters and endless strings end here, so that what follows need not mind them."""
    if len(text) > MAX_CHARS:
        raise ValueError(f"a URL of {len(text)} characters is longer than {MAX_CHARS}")
    text.encode("utf-8")  # UnicodeEncodeError, which is a ValueError, for a lone surrogate


def _decoded(text: str) -> str:
    """Percent-escapes of a host undone; bytes that are not UTF-8 are refused."""
    if "%" not in text:
        return text
    raw = re.sub(
        rb"%([0-9A-Fa-f]{2})",
        lambda found: bytes([int(found[1], 16)]),
        text.encode("utf-8"),
    )
    return raw.decode("utf-8")


def _authority(authority: str) -> tuple[str, str]:
    place = authority.rpartition("@")[2]
    host, port = place, ""
    if place.startswith("["):
        host, bracket, port = place.partition("]")
        host += bracket
        if port and not port.startswith(":"):
            raise ValueError(f"not a host: {place[:80]!r}")
        port = port[1:]
    elif ":" in place:
        host, _, port = place.partition(":")
    if port:
        if not (port.isascii() and port.isdigit()) or len(port) > 5 or int(port) > 65535:
            raise ValueError(f"not a port: {port[:80]!r}")
        port = "" if int(port) in (80, 443) else f":{int(port)}"
    return _host(host), port


def _host(host: str) -> str:
    if host.startswith("["):
        inside = host[1:-1]
        if not host.endswith("]") or "%" in inside:
            raise ValueError(f"not a host: {host[:80]!r}")
        return f"[{ipaddress.IPv6Address(inside).compressed}]"
    host = re.sub("[\u3002\uff0e\uff61]", ".", host).removesuffix(".")
    labels = [_label(label) for label in host.split(".")]
    if not all(_HOST.fullmatch(label) and len(label) <= 63 for label in labels):
        raise ValueError(f"not a host: {host[:80]!r}")
    while labels[0] == "www" and len(labels) > 2:
        labels = labels[1:]
    name = ".".join(labels)
    if len(name) > 253:
        raise ValueError(f"a host of {len(name)} characters is longer than 253")
    return name


def _label(label: str) -> str:
    """One label in ASCII by IDNA 2003; letters younger than that are taken as they are."""
    if label.isascii():
        return label.lower()
    try:
        return label.encode("idna").decode("ascii").lower()
    except UnicodeError:
        folded = unicodedata.ucd_3_2_0.normalize("NFKC", label).lower()
        if folded.isascii():
            return folded
        return "xn--" + folded.encode("punycode").decode("ascii").lower()


def _path(path: str) -> str:
    kept: list[str] = []
    segments = _escaped(path).split("/")
    for segment in segments[1:]:
        if segment == "..":
            del kept[-1:]
        elif segment != ".":
            kept.append(segment)
    if segments[-1] in (".", ".."):
        kept.append("")
    return "/" + "/".join(kept)


def _query(query: str) -> str:
    kept = []
    for item in _escaped(query).split("&"):
        name = item.partition("=")[0].lower()
        if item and name not in TRACKING_PARAMETERS and not name.startswith(TRACKING_PREFIXES):
            kept.append(item)
    return "?" + "&".join(sorted(kept)) if kept else ""


def _escaped(text: str) -> str:
    """Percent-encoding in one form: unreserved characters bare, all else in capital hex."""
    return _ESCAPE.sub(_escape, text.encode("utf-8")).decode("ascii")


def _escape(found: re.Match[bytes]) -> bytes:
    taken = found[0]
    value = int(taken[1:], 16) if len(taken) == 3 else taken[0]
    return bytes([value]) if value in _UNRESERVED else b"%%%02X" % value


def _reversed(host: str) -> str:
    """Labels of a name last to first; addresses made of numbers stay as they are."""
    if host.startswith("[") or re.fullmatch(r"\d+(?:\.\d+){3}", host):
        return host
    return ",".join(reversed(host.split(".")))
