"""Public addresses of the Internet Protocol.

What is public is said by the tables here and not by the standard library, whose answer changed
between patch releases of Python.
"""

import ipaddress
import re

from corpus_assets.scrub.kernels.candidates import HEX, QUAD
from corpus_assets.scrub.rule import Rule, Span

# What may touch an address is ASCII only: in Chinese or Japanese no space stands around it.
IPV4 = re.compile(rb"(?<![A-Za-z0-9_.])(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?![A-Za-z0-9_]|\.[0-9])")
# Public IPv6 is 2000::/3 so far; `Face::Bad` of a programming language is outside it.
IPV6 = re.compile(
    rb"(?<![A-Za-z0-9_:.])[23][0-9A-Fa-f]{3}(?::[0-9A-Fa-f]{0,4}){2,7}(?![A-Za-z0-9_:])"
)
VERSION_WORD = re.compile(
    rb"(?:(?<![A-Za-z0-9_])(?:v|ver|vers|version|versions|release|releases|rel|build|firmware"
    rb"|revision|rev|patch|update|section|sec|chapter|clause|article|figure|table|oid"
    rb"|versi\xc3\xb3n|vers\xc3\xa3o|versione|versie|wersja|verze|fassung|kapitel|abschnitt)"
    rb"|\xd0\xb2\xd0\xb5\xd1\x80\xd1\x81\xd0\xb8[\x80-\xd1]{1,4}"  # Russian version, any ending
    rb"|\xe7\x89\x88\xe6\x9c\xac|\xe3\x83\x90\xe3\x83\xbc\xe3\x82\xb8\xe3\x83\xa7\xe3\x83\xb3"
    rb"|\xeb\xb2\x84\xec\xa0\x84|\xc2\xa7"
    rb"|(?<![A-Za-z])(?:chrome|chromium|edg|opr|firefox|electron)/)[.:]?[ \t]{0,2}\Z",
    re.IGNORECASE,
)

_SMALL = 40
_NAME_SERVERS = frozenset((b"1.1.1.1", b"1.0.0.1", b"8.8.8.8", b"8.8.4.4", b"9.9.9.9"))
_ADDRESS_TAIL = re.compile(rb":[0-9]{2,5}(?![0-9])|/[0-9]{1,2}(?![0-9.])")
_ADDRESS_WORD = re.compile(
    rb"(?<![A-Za-z])(?:ip|ipv4|host|server|servers|dns|ping|address|adresse|addr|router|gateway"
    rb"|proxy|client|remote|login)(?![A-Za-z])|://\Z|\xd0\xb0\xd0\xb4\xd1\x80\xd0\xb5\xd1\x81"
    rb"|\xe5\x9c\xb0\xe5\x9d\x80",
    re.IGNORECASE,
)

_RESERVED = (
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16",
    "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16",
    "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
)  # fmt: skip
"""The special-purpose registry (RFC 6890 and what followed), multicast and the reserved rest."""

_RESERVED_V6 = ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")


def _nets(written: tuple[str, ...]) -> list[tuple[int, int]]:
    nets = map(ipaddress.ip_network, written)
    return [(int(net.network_address), int(net.netmask)) for net in nets]


_SPECIAL_V4, _SPECIAL_V6 = _nets(_RESERVED), _nets(_RESERVED_V6)


def _public_v4(doc: bytes, match: re.Match[bytes]) -> Span | None:
    groups = match.group().split(b".")
    if any(len(group) > 1 and group.startswith(b"0") for group in groups):
        return None
    parts = [int(group) for group in groups]
    if max(parts) > 255 or not any(parts[1:]):
        return None
    value = int.from_bytes(bytes(parts), "big")
    if any(value & mask == net for net, mask in _SPECIAL_V4):
        return None
    if max(parts) <= _SMALL and not _is_called_address(doc, match):
        return None
    return None if _is_version(doc, match.start()) else match.span()


def _is_called_address(doc: bytes, match: re.Match[bytes]) -> bool:
    """Whether four small numbers are an address all the same.

    Sections of standards and versions are written so (15.4.4.18); of the addresses in use only
    about one in 1,700 is.
    """
    start, end = match.span()
    return (
        match.group() in _NAME_SERVERS
        or _ADDRESS_TAIL.match(doc, end) is not None
        or _ADDRESS_WORD.search(doc, max(0, start - 48), start) is not None
    )


def _public_v6(doc: bytes, match: re.Match[bytes]) -> Span | None:
    try:
        value = int(ipaddress.IPv6Address(match.group().decode("ascii")))
    except ValueError:
        return None
    if any(value & mask == net for net, mask in _SPECIAL_V6):
        return None
    return None if _is_version(doc, match.start()) else match.span()


def _is_version(doc: bytes, start: int) -> bool:
    return VERSION_WORD.search(doc, max(0, start - 20), start) is not None


RULES = (Rule("ipv4", "ip", QUAD, IPV4, _public_v4), Rule("ipv6", "ip", HEX, IPV6, _public_v6))
