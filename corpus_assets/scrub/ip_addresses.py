"""Public addresses of the Internet Protocol.

What is public is decided by the tables here and not by the standard library, whose answer changed
between patch releases of Python. Three things look like an address and are none that identifies
anybody:

* addresses everybody writes: public resolvers, root servers by name, `1.2.3.4`, reverse zones;
* numbers of sections: at the start of a line with a title or a dot behind, or among numbers that
  are written so (7.3.44.1, 7.3.44.2, 7.3.44.). Their groups have one or two digits; of addresses in
  use one in forty has;
* versions: behind a word that says so or the name of a program that counts its versions in four
  numbers, or, with groups of one or two digits, a comparison or a package's name. Four small numbers are a version or a section unless something beside them says
  that they are an address.
"""

import ipaddress
import re
from itertools import pairwise

from corpus_assets.scrub.kernels.triggers import HEX, QUAD
from corpus_assets.scrub.rule import PatternRule, Span

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
_PROGRAM = re.compile(
    rb"(?<![A-Za-z0-9.-])(?:nginx|apache|httpd|tomcat|php|mysql|mariadb|postgresql|openssl|samba"
    rb"|chrome|chromium|chromedriver|firefox|thunderbird|opera|vivaldi|brave|flash player|acrobat"
    rb"|reader|shockwave|silverlight|itunes|quicktime|skype|teams|winrar|virtualbox|vmware|wireshark|jre|jdk"
    rb"|directx|bios|drivers?|kernel|webview2?|bootloader|plug-?in|add-?on)(?:/| {1,2})\Z",
    re.IGNORECASE,
)
"""Programs, and parts of machines, whose versions have four numbers; an address behind such a name has a
port, a net or a colon."""
_RELEASE_WORDS = re.compile(
    rb"(?<![A-Za-z])(?:upgrad(?:ed?|ing) to|downgrad(?:ed?|ing) to"
    rb"|(?:versions?|releases?|firmware|build) (?:is|was|number|no\.?|to|from|of)"
    rb"|(?:new|added|fixed|changed|removed|introduced|deprecated|released|resolved|obsoleted?)"
    rb" (?:in|with|since|as of))[ \t]{1,2}\Z",
    re.IGNORECASE,
)
"""What is said of versions, whatever their numbers."""
_VERSION_WORDS = re.compile(
    rb"(?<![A-Za-z\x80-\xff])(?:as of|since|until|till|before|prior to|up to|available (?:in|since)"
    rb"|starting (?:with|from|in)|updat(?:ed?|ing) to"
    rb"|seit|ab|bis|depuis|jusqu'\xc3\xa0|desde|hasta|dal|fino a|vanaf|od|do)[ \t]{1,2}\Z"
    rb"|(?:[=~!<>]=|~>)[ \t]?\Z|[A-Za-z]-\Z",  # conditions and names of packages
    re.IGNORECASE,
)
"""What stands before versions, and before addresses hardly ever."""
_VERSION_TAIL = re.compile(
    rb"-?(?:alpha|beta|rc|dev|snapshot|final|release)(?![A-Za-z])|\.(?:tar|tgz|zip|gz|exe|msi|deb|rpm"
    rb"|jar|whl|dmg|apk)(?![A-Za-z])",
    re.IGNORECASE,
)
_REVERSE_ZONE = re.compile(
    rb"\.(?:in-addr|(?:[0-9a-f]\.){0,32}ip6)\.arpa(?![A-Za-z0-9-])", re.IGNORECASE
)

_LINE_START = re.compile(rb"(?:\A|[\r\n])[ \t#>*|+-]{0,8}(?:\xe2\x80\xa2 ?)?\Z")
_TITLE = re.compile(
    rb"\.?(?:[ \t]|\xc2\xa0){0,4}\||\.(?=[ \t\r\n]|\xc2\xa0|\Z)"
    rb"|(?:[ \t]|\xc2\xa0){1,4}[\"'(`<]?(?:[A-Z][a-z]|[\xc3-\xf4][\x80-\xbf])"
)
"""What follows a section's number: a dot, a cell, a title."""

_TWO_DIGITS, _FIRST, _SMALL = 99, 20, 40
_NEAR = 4096  # bytes on either side where numbers of the same family are looked for
_NAME_SERVERS = frozenset(
    b"1.1.1.1 1.1.1.2 1.1.1.3 1.0.0.1 1.0.0.2 1.0.0.3 8.8.8.8 8.8.4.4 9.9.9.9 9.9.9.10 9.9.9.11 "
    b"149.112.112.112 149.112.112.10 149.112.112.11 208.67.222.222 208.67.220.220 208.67.222.123 "
    b"208.67.220.123 4.2.2.1 4.2.2.2 4.2.2.3 4.2.2.4 4.2.2.5 4.2.2.6 64.6.64.6 64.6.65.6 77.88.8.8 "
    b"77.88.8.1 94.140.14.14 94.140.15.15 76.76.2.0 76.76.10.0 76.76.19.19 76.223.122.150 "
    b"185.228.168.9 185.228.169.9 114.114.114.114 114.114.115.115 223.5.5.5 223.6.6.6 119.29.29.29 "
    b"180.76.76.76 101.101.101.101 168.126.63.1".split()
)
"""Public name servers: they are in every manual, and identify no one."""
_NAME_SERVERS_V6 = frozenset(
    int(ipaddress.IPv6Address(written))
    for written in (
        "2001:4860:4860::8888", "2001:4860:4860::8844", "2606:4700:4700::1111",
        "2606:4700:4700::1001", "2620:fe::fe", "2620:fe::9", "2620:119:35::35", "2620:119:53::53",
        "2a10:50c0::ad1:ff", "2a10:50c0::ad2:ff", "2a02:6b8::feed:ff",
    )
)  # fmt: skip
_ROOT_SERVER = re.compile(
    rb"(?<![A-Za-z0-9.-])[a-m]\.root-servers\.net[^\r\n]{0,64}\Z", re.IGNORECASE
)
"""The name of a root server, which its addresses stand behind in lists and hints files."""
_ADDRESS_TAIL = re.compile(
    rb":[0-9]{2,5}(?![0-9])|/[0-9]{1,2}(?![0-9.])| - [^ \r\n]{1,64} \["  # the last: a server's log
)
_IN_BRACKETS = re.compile(rb"\](?!\()")  # as mail servers write one; `](` is a link in Markdown
_ADDRESS_WORD = re.compile(
    rb"(?<![A-Za-z])(?:ip|ips|ipv4|inet|host|hostname|server|servers|dns|nameserver|ping"
    rb"|traceroute|whois|ssh|telnet|address|addresses|adresse|addr|router|gateway|proxy|client|clients"
    rb"|remote|peer|login|src|dst|listen|bind|x-forwarded-for|banned|blocked)(?![A-Za-z])"
    rb"[ -/:-~]{0,16}\Z|(?:\xd0\xb0\xd0\xb4\xd1\x80\xd0\xb5\xd1\x81|\xe5\x9c\xb0\xe5\x9d\x80)"
    rb"[^0-9\r\n]{0,16}\Z|://\Z|@\Z",
    re.IGNORECASE,
)

_RESERVED = (
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16",
    "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24",
    "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24",
    "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
)  # fmt: skip
"""IANA's registry of special-purpose addresses (RFC 6890; RFC 1918, 5737, 6598, 7450, 7534 and
7535 among others), multicast (RFC 5771), and the reserved rest (RFC 1112), which holds netmasks."""

_RESERVED_V6 = ("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20")
"""The same for IPv6 (RFC 6890; RFC 2928, 3056, 3849, 7534 and 9637), inside of 2000::/3."""


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
    if _is_everybodys(match.group(), parts) or _REVERSE_ZONE.match(doc, match.end()):
        return None
    if _is_root_server(doc, match):
        return None
    if _is_version(doc, match) or (max(parts) <= _TWO_DIGITS and _is_numbering(doc, match, parts)):
        return None
    is_small = max(parts) <= (_TWO_DIGITS if parts[0] <= _FIRST else _SMALL)
    return None if is_small and not _is_called_address(doc, match) else match.span()


def _is_everybodys(written: bytes, parts: list[int]) -> bool:
    """Whether an address is a public name server, or stands for any: 1.2.3.4, 123.123.123.123."""
    steps = {after - before for before, after in pairwise(parts)}
    return steps in ({0}, {1}, {-1}) or written in _NAME_SERVERS


def _is_numbering(doc: bytes, match: re.Match[bytes], parts: list[int]) -> bool:
    """Whether four numbers of one or two digits number a section or a version."""
    start, end = match.span()
    if _VERSION_WORDS.search(doc, max(0, start - 20), start):
        return True
    if _LINE_START.search(doc, max(0, start - 12), start) and _TITLE.match(doc, end):
        return True
    return _has_family(doc, match, parts)


def _has_family(doc: bytes, match: re.Match[bytes], parts: list[int]) -> bool:
    """Whether the number before, the one behind or the one above is a section's by its form."""
    low, high = max(0, match.start() - _NEAR), match.end() + _NEAR
    stem = match.group().rpartition(b".")[0]
    others = [stem + b".%d" % last for last in (parts[3] - 1, parts[3] + 1) if last > 0]
    for other in (stem, *others):
        at = doc.find(other, low, high)
        while at >= 0:
            end = at + len(other)
            is_whole = not doc[end : end + 1].isdigit() and not doc[end + 1 : end + 2].isdigit()
            if is_whole and _LINE_START.search(doc, max(0, at - 12), at) and _TITLE.match(doc, end):
                return True
            at = doc.find(other, end, high)
    return False


def _is_called_address(doc: bytes, match: re.Match[bytes]) -> bool:
    """Whether four small numbers are an address all the same, by what stands beside them.

    Sections of standards and versions are written so (15.4.4.18, 1.7.99.23); of the addresses in
    use about one in 200 is.
    """
    start, end = match.span()
    return (
        _ADDRESS_TAIL.match(doc, end) is not None
        or (doc[start - 1 : start] == b"[" and _IN_BRACKETS.match(doc, end) is not None)
        or _ADDRESS_WORD.search(doc, max(0, start - 48), start) is not None
    )


def _public_v6(doc: bytes, match: re.Match[bytes]) -> Span | None:
    try:
        value = int(ipaddress.IPv6Address(match.group().decode("ascii")))
    except ValueError:
        return None
    if value in _NAME_SERVERS_V6 or any(value & mask == net for net, mask in _SPECIAL_V6):
        return None
    return None if _is_root_server(doc, match) or _is_version(doc, match) else match.span()


def _is_root_server(doc: bytes, match: re.Match[bytes]) -> bool:
    start = match.start()
    return _ROOT_SERVER.search(doc, max(0, start - 84), start) is not None


def _is_version(doc: bytes, match: re.Match[bytes]) -> bool:
    start, end = match.span()
    return (
        VERSION_WORD.search(doc, max(0, start - 20), start) is not None
        or _RELEASE_WORDS.search(doc, max(0, start - 24), start) is not None
        or _VERSION_TAIL.match(doc, end) is not None
        or (
            _PROGRAM.search(doc, max(0, start - 24), start) is not None
            and _ADDRESS_TAIL.match(doc, end) is None
        )
    )


RULES = (
    PatternRule("ipv4", "ip", QUAD, IPV4, _public_v4),
    PatternRule("ipv6", "ip", HEX, IPV6, _public_v6),
)
