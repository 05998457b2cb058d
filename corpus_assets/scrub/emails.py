"""E-mail addresses.

The part before the @ and the labels behind it may hold letters of Latin, Greek and Cyrillic
script (RFC 6531); scripts without spaces are left out, because there an address touches the words
around it. Addresses that are spelled against collectors are found where brackets say so (`jane (at)
widgets (dot) org`), or capitals among small letters (`jane AT widgets DOT org`), or the text calls them
so (`E-mail: jane at widgets.org`, `email jane.doe at widgets.org`, `mail jane at widgets dot org`); other
words alone would be guessing.
"""

import re

from corpus_assets.scrub.kernels.triggers import AT, MARK
from corpus_assets.scrub.rule import PatternRule, Span

_WIDE = rb"[\xc3-\xd3][\x80-\xbf]"  # U+00C0 to U+04FF
EMAIL = re.compile(
    rb"(?<![A-Za-z0-9._%+-])(?<!" + _WIDE + rb")"
    rb"(?:[A-Za-z0-9._%+-]|" + _WIDE + rb"){1,64}"
    rb"@(?:(?:[A-Za-z0-9-]|" + _WIDE + rb"){1,63}\.){1,8}"
    rb"(?:xn--[A-Za-z0-9-]{1,59}|(?:[A-Za-z]|" + _WIDE + rb"){2,24})(?![A-Za-z0-9]|" + _WIDE + rb")"
)
_FILES = frozenset(
    b"png jpg jpeg gif svg webp ico bmp css scss less js jsx tsx mjs html htm json xml pdf tgz "
    b"gz whl jar min map mp4 mp3 woff woff2 ttf".split()
)
"""Endings of file names such as `logo@2x.png`; none is a top-level domain."""
_DOMAINS = frozenset(b"com org net edu gov int info biz io co eu de uk fr ru cn jp".split())


def _address(doc: bytes, match: re.Match[bytes]) -> Span | None:
    start, end = match.span()
    while doc[start] in b".%+-":
        start += 1
    if doc[start] == 0x40:
        return None
    ending = match.group().rpartition(b".")[2].lower()
    if ending in _FILES or doc[start : start + 4] == b"git@":
        return None
    if doc[end : end + 1] == b"(" and ending not in _DOMAINS:
        return None  # a call in a program: x@weights.mean()
    return start, end


SPELLED_AT = tuple(
    word + space + close
    for word in (b"at", b"At", b"AT", b"arroba")
    for space in (b"", b" ")
    for close in (b")", b"]", b"}", b">")
)
"""What stands behind the opening bracket."""
SHOUTED_AT = (b"AT ", b"AT-")
"""The same without brackets."""
_SPELLED = re.compile(
    rb"(?:(?<=[(\[{<])|(?<=[(\[{<] ))(?:at|At|AT|arroba) ?[)\]}>] ?"
    rb"(?:[A-Za-z0-9-]{1,63}(?:\.| ?[(\[{<] ?(?i:dot|punkt|punto|ponto|point|kropka) ?[)\]}>] ?)){1,8}"
    rb"[A-Za-z]{2,24}(?![A-Za-z0-9])"
)
_SPELLED_LOCAL = re.compile(
    rb"(?<![A-Za-z0-9._%+-])[A-Za-z0-9_%+-](?:\.?[A-Za-z0-9_%+-]){0,63} ?[(\[{<] ?\Z"
)


def _spelled(doc: bytes, match: re.Match[bytes]) -> Span | None:
    local = _SPELLED_LOCAL.search(doc, max(0, match.start() - 72), match.start())
    return (local.start(), match.end()) if local else None


_SHOUTED = re.compile(
    rb"(?<=[ -])AT(?: (?:[A-Za-z0-9-]{1,63} DOT ){1,8}|-(?:[A-Za-z0-9]{1,63}-DOT-){1,8})"
    rb"[A-Za-z]{2,24}(?![A-Za-z0-9])"
)
_SHOUTED_LOCAL = re.compile(
    rb"(?<![A-Za-z0-9._%+-])[A-Za-z0-9_%+](?:(?:\.| DOT )?[A-Za-z0-9_%+]){0,63}[ -]\Z"
)


def _shouted(doc: bytes, match: re.Match[bytes]) -> Span | None:
    local = _SHOUTED_LOCAL.search(doc, max(0, match.start() - 72), match.start())
    if local is None or doc[match.start() - 1] != doc[match.start() + 2]:
        return None  # by itself, or with other marks on either side
    domain = match.group().replace(b"DOT", b"")[2:]
    is_all_capitals = local.group().isupper() or domain.isupper()
    return None if is_all_capitals else (local.start(), match.end())


MAIL_WORDS = tuple(
    word + mark for word in (b"mail", b"Mail", b"email", b"Email") for mark in (b" ", b":")
)
"""What a written-out address stands behind; of `e-mail` the second half."""
_TOLD = re.compile(
    rb"(?:e-?)?mail(?P<says>(?: address)?(?::| is:?))? {1,2}"
    rb"(?P<local>[A-Za-z0-9_%+-]{1,64}(?P<dotted>(?:\.[A-Za-z0-9_%+-]{1,64}){1,8})?) at "
    rb"[A-Za-z0-9-]{1,63}(?:(?:\.[A-Za-z0-9-]{1,63}){0,7}\.[A-Za-z]{2,24}"
    rb"|(?P<dot>(?: dot [A-Za-z0-9-]{1,63}){0,7} dot [A-Za-z]{2,24}))(?![A-Za-z0-9])",
    re.IGNORECASE,
)
_NO_LOCAL = frozenset(
    b"me us him her them you it one is are was sent available address addresses".split()
)


def _told(doc: bytes, match: re.Match[bytes]) -> Span | None:
    """Where a mark says that an address follows, or its own form does: `email us at` is none."""
    local = match["local"].lower()
    is_address = match["says"] not in (None, b" is") or match["dotted"] or match["dot"]
    return None if local in _NO_LOCAL or not is_address else (match.start("local"), match.end())


def rules(
    spelled: frozenset[int], shouted: frozenset[int], told: frozenset[int]
) -> tuple[PatternRule, ...]:
    """Return the rules; the kernel's numbers of `SPELLED_AT`, `SHOUTED_AT` and `MAIL_WORDS`."""
    return (
        PatternRule("email", "email", AT, EMAIL, _address),
        PatternRule("spelled_email", "email", MARK, _SPELLED, _spelled, spelled),
        PatternRule("shouted_email", "email", MARK, _SHOUTED, _shouted, shouted),
        PatternRule("told_email", "email", MARK, _TOLD, _told, told),
    )
