"""One name for one page: canonical URLs and their sort-friendly keys.

Ingestion, takedown requests and look-ups all come through here, so that a page asked for is
found under the name it was stored by. Two spellings meet when they differ only in scheme
(http, https), case of the host, `www.`, a default port, user name, fragment, percent-encoding,
order of query parameters, parameters that only track who clicked where, or the name of a session.
An IPv4 address meets itself in octal, hexadecimal and with fewer parts, as browsers read it. Path
and query keep their case: servers tell them apart. Nothing is fetched and no table of registered
domains is used, so the answer never changes with time.

Names of sessions are those that archives' canonicalizers strip: what only a session is called
whatever its value, `sid` and the like where the value is as long as such names are, since a short
one may be the page.

Takedowns go one step further (`one_spelling`). RFC 3986 lets a server tell `'` from `%27`, so they
are two keys; but where a reserved character separates nothing, hardly one does, and people copy
either form. A request means the page in both. Keys themselves stay as they are: they name documents
that were built long ago.
"""

import ipaddress
import re
import unicodedata
from itertools import product
from math import prod

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

SESSION_PARAMETERS = frozenset({"jsessionid", "phpsessid", "cftoken"})
LONG_SESSION_PARAMETERS = frozenset({"sid", "sessionid", "session_id", "oscsid", "zenid"})

_LONG_SESSION = re.compile(r"[0-9A-Za-z]{24,}")
_ASP_SESSION = re.compile(r"aspsessionid[a-z]{8}")
_PATH_SESSION = re.compile(r";jsessionid=[^;/]*", re.IGNORECASE)
_SESSION_SEGMENT = re.compile(r"\((?:[a-z]\([0-9a-z]{24}\))+\)", re.IGNORECASE)  # ASP.NET
_NUMBER = re.compile(r"[0-9]+|0[xX][0-9A-Fa-f]*")
_URL = re.compile(r"(?s)(?:([A-Za-z][A-Za-z0-9+.\-]*):)?//([^/?#]*)([^?#]*)(?:\?([^#]*))?(?:#.*)?")
_WITH_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*://")
_OTHER_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:(?!\d)")
_HOST = re.compile(r"[a-z0-9_](?:[a-z0-9_\-]*[a-z0-9_])?")
_ESCAPE = re.compile(rb"%[0-9A-Fa-f]{2}|[^!-~]|[\"<>\\^`{|}%]", re.DOTALL)
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


MOST_SPELLINGS = 64  # that are worth looking up one by one
BARE_IN_PATH = "!$&'()*+,:;=@[]"
BARE_IN_NAME = "!$'()*,/:;?@[]"  # of a query parameter
BARE_IN_VALUE = f"{BARE_IN_NAME}="
"""Reserved characters that separate nothing at that place. `+` in a query is a space."""


def canonical_url(url: str) -> str:
    """Return the one spelling of `url`: `http://host[:port]/path[?query]`. ValueError when it is
    none."""
    host, port, path, query = _parts(url)
    return f"http://{host}{port}{path}{query}"


def url_key(url: str) -> str:
    """Return the SURT form: `com,example)/path?query`. Pages of one site, then of one path, sort
    together. ValueError when `url` is not a web address."""
    host, port, path, query = _parts(url)
    return f"{_reversed(host)}{port}){path}{query}"


def one_spelling(key: str) -> str:
    """Return a url_key, or the beginning of some, in the form that takedowns compare: reserved
    characters bare where they separate nothing, a space in a query as `+`. Record keys, and all
    keys without `%`, are in it already."""
    place, end, rest = key.partition(")/")
    if "%" not in rest:
        return key
    path, mark, query = rest.partition("?")
    items = []
    for item in query.split("&"):
        name, equals, value = item.partition("=")
        items.append(_bare(name, BARE_IN_NAME, "+") + equals + _bare(value, BARE_IN_VALUE, "+"))
    return f"{place}{end}{_bare(path, BARE_IN_PATH)}{mark}{'&'.join(sorted(items))}"


def spellings(key: str) -> list[str] | None:
    """Return every url_key that is `key` in one spelling; None where they are very many."""
    place, end, rest = one_spelling(key).partition(")/")
    if not end:
        return [key]
    path, mark, query = rest.partition("?")
    parts = [[_forms(char, BARE_IN_PATH) for char in path]]
    for item in query.split("&") if mark else ():
        name, equals, value = item.partition("=")
        forms = [_forms(char, BARE_IN_NAME, "+") for char in name]
        parts.append([*forms, [equals], *(_forms(char, BARE_IN_VALUE, "+") for char in value)])
    if prod(len(form) for part in parts for form in part) > MOST_SPELLINGS:
        return None
    written = [["".join(chosen) for chosen in product(*part)] for part in parts]
    return [
        f"{place}{end}{path}{mark}{'&'.join(sorted(items))}" for path, *items in product(*written)
    ]


def _forms(char: str, bare: str, space: str = "") -> list[str]:
    """Return how keys may write a character of one spelling."""
    if char == space:
        return [char, "%20"]
    return [char, f"%{ord(char):02X}"] if char in bare else [char]


def _bare(text: str, chars: str, space: str = "%20") -> str:
    """Write some escaped characters bare."""

    def written(found: re.Match[str]) -> str:
        char = chr(int(found[1], 16))
        return char if char in chars else space if char == " " else found[0]

    return re.sub("%([0-9A-F]{2})", written, text) if "%" in text else text


def address_of(kind: str, value: str) -> str:
    """Return the value of a standing order as people write it: `example.com/path` of a key."""
    place, end, rest = value.partition(")")
    bracket = place.rfind("]")
    host, colon, port = (place, "", "") if bracket >= 0 else place.partition(":")
    if kind not in ("url_key", "url_prefix") or not (end or kind == "url_prefix"):
        return value
    if bracket < 0:
        host = ".".join(reversed(host.rstrip(",").split(",")))
    return f"{host}{colon}{port}{rest}"


def canonical_host(host: str) -> str:
    """Return the host as it stands in canonical URLs: lower case, ASCII, without `www.`."""
    _refuse_odd(host)
    return _host(_decoded(host.strip()))


def host_key(host: str) -> str:
    """Return the start of the SURT form of every page of `host`: `com,example`.

    `com,example)` begins its own pages, `com,example,` those of its subdomains, and
    `com,example:` those at a port of their own.
    """
    return _reversed(canonical_host(host))


def _parts(url: str) -> tuple[str, str, str, str]:
    """Return host, `:port` or nothing, path, `?query` or nothing."""
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
    """Undo percent-escapes of a host; bytes that are not UTF-8 are refused."""
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
        return f"[{_ipv6(ipaddress.IPv6Address(inside))}]"
    host = re.sub("[\u3002\uff0e\uff61]", ".", host).removesuffix(".")
    labels = [_label(label) for label in host.split(".")]
    if not all(_HOST.fullmatch(label) and len(label) <= 63 for label in labels):
        raise ValueError(f"not a host: {host[:80]!r}")
    if _NUMBER.fullmatch(labels[-1]):
        return _ipv4(labels)
    while labels[0] == "www" and len(labels) > 2:
        labels = labels[1:]
    name = ".".join(labels)
    if len(name) > 253:
        raise ValueError(f"a host of {len(name)} characters is longer than 253")
    return name


def _ipv4(parts: list[str]) -> str:
    """Return the address that a host means whose last label is a number (WHATWG URL, IPv4
    parser)."""
    if len(parts) > 4 or not all(_NUMBER.fullmatch(part) for part in parts):
        raise ValueError(f"not a host: {'.'.join(parts)[:80]!r}")
    *first, last = (_number(part) for part in parts)
    if any(number > 255 for number in first) or last >= 256 ** (5 - len(parts)):
        raise ValueError(f"not an IPv4 address: {'.'.join(parts)[:80]!r}")
    value = last + sum(number << 8 * (3 - place) for place, number in enumerate(first))
    return str(ipaddress.IPv4Address(value))


def _number(part: str) -> int:
    """Read a number: decimal, octal after 0, hexadecimal after 0x; ValueError for an octal number with 8 or 9."""
    if part[:2].lower() == "0x":
        return int(part[2:] or "0", 16)
    return int(part, 8 if part.startswith("0") else 10)


def _ipv6(address: ipaddress.IPv6Address) -> str:
    """Write by RFC 5952 without dots, as browsers write it; the library's form follows its release."""
    pieces = [f"{int(address) >> shift & 0xFFFF:x}" for shift in range(112, -1, -16)]
    text = ":".join(pieces)
    runs = re.finditer(r"\b0(?::0)+\b", text)
    zeros = max(runs, key=lambda run: run.end() - run.start(), default=None)
    if zeros is None:
        return text
    before, after = text[: zeros.start()], text[zeros.end() :]
    return f"{before.removesuffix(':')}::{after.removeprefix(':')}"


def _label(label: str) -> str:
    """Return one label in ASCII by IDNA 2003; letters younger than that are taken as they are."""
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
    segments = _PATH_SESSION.sub("", _escaped(path)).split("/")
    for segment in segments[1:]:
        if _SESSION_SEGMENT.fullmatch(segment):
            continue
        if segment == "..":
            del kept[-1:]
        elif segment != ".":
            kept.append(segment)
    if segments[-1] in (".", ".."):
        kept.append("")
    return "/" + "/".join(kept)


def _query(query: str) -> str:
    kept = []
    items = [(item.partition("=")[0].lower(), item) for item in _escaped(query).split("&")]
    names = {name for name, _ in items}
    for name, item in items:
        if name in TRACKING_PARAMETERS or name.startswith(TRACKING_PREFIXES):
            continue
        is_session = _is_session(name, item.partition("=")[2]) or (
            name == "cfid" and "cftoken" in names
        )
        if item and not is_session:
            kept.append(item)
    return "?" + "&".join(sorted(kept)) if kept else ""


def _is_session(name: str, value: str) -> bool:
    if name in LONG_SESSION_PARAMETERS:
        return _LONG_SESSION.fullmatch(value) is not None
    return name in SESSION_PARAMETERS or _ASP_SESSION.fullmatch(name) is not None


def _escaped(text: str) -> str:
    """Bring percent-encoding into one form: unreserved characters bare, all else in capital hex."""
    return _ESCAPE.sub(_escape, text.encode("utf-8")).decode("ascii")


def _escape(found: re.Match[bytes]) -> bytes:
    taken = found[0]
    value = int(taken[1:], 16) if len(taken) == 3 else taken[0]
    return bytes([value]) if value in _UNRESERVED else b"%%%02X" % value


def _reversed(host: str) -> str:
    """Reverse the labels of a name; addresses made of numbers stay as they are."""
    if host.startswith("[") or re.fullmatch(r"\d+(?:\.\d+){3}", host):
        return host
    return ",".join(reversed(host.split(".")))
