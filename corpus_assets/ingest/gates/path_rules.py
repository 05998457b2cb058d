"""Path patterns of robots.txt (RFC 9309, section 2.2): `*`, `$`, the longest match wins.

Patterns and paths are brought into one spelling first (section 2.2.2): unreserved characters
bare, all others percent-encoded in capitals. Reserved ones stay as they came, since `/a%2Fb` is
another path than `/a/b`; only in a query, where they separate nothing, `:` and `/` are the same
bare and encoded (table 1). A literal `*` or `$` of a path is written `%2A` or
`%24`, so that only a pattern's own are special. Matching splits a pattern at its stars and looks
for the pieces from left to right: linear in the path for each piece, no regular expression.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

_TO_ESCAPE = re.compile(rb"%[0-9A-Fa-f]{2}|[^!-~]|[\"<>\\^`{|}%]", re.DOTALL)
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_PLAIN = re.compile(rb"[A-Za-z0-9/_.~=&?;:,+@!'()\[\]-]*")


class PathRule(NamedTuple):
    """One pattern: its pieces between stars, and whether it ends the path."""

    allow: bool
    pattern: bytes
    pieces: tuple[bytes, ...]
    anchored: bool


def one_spelling(raw: bytes) -> bytes:
    """Percent-encoding in its one form, stars and dollars as they are."""
    if _PLAIN.fullmatch(raw):
        return raw
    path, mark, query = _TO_ESCAPE.sub(_escape, raw).partition(b"?")
    return path + mark + query.replace(b"%3A", b":").replace(b"%2F", b"/")


def path_of(url: str) -> bytes:
    """Path and query of a web address as patterns are compared with them."""
    start = url.find("://") + 3
    end = len(url)
    for mark in "/?#":
        found = url.find(mark, start)
        end = found if 0 <= found < end else end
    raw = url[end:].partition("#")[0].encode("utf-8", "replace")
    path = one_spelling(raw if raw.startswith(b"/") else b"/" + raw)
    if b"*" in path or b"$" in path:
        path = path.replace(b"*", b"%2A").replace(b"$", b"%24")
    return path


def pattern_rule(allow: bool, raw: bytes) -> PathRule | None:
    """Return a rule from what stands behind `Allow:` or `Disallow:`; None for what is no pattern."""
    if not raw.startswith((b"/", b"*")):
        return None
    pattern = one_spelling(raw)
    body = pattern.removesuffix(b"$")
    anchored = body != pattern
    body = body.replace(b"$", b"%24")
    while b"**" in body:
        body = body.replace(b"**", b"*")
    return PathRule(allow, body + b"$" if anchored else body, tuple(body.split(b"*")), anchored)


def in_order(rules: Iterable[PathRule]) -> tuple[PathRule, ...]:
    """Each rule once, so that the first that matches decides: the longest, of equals `Allow`."""
    return tuple(
        sorted(set(rules), key=lambda rule: (-len(rule.pattern), not rule.allow, rule.pattern))
    )


def is_allowed(path: bytes, rules: Iterable[PathRule]) -> bool:
    """Whether a path may be fetched under rules that are in order."""
    for rule in rules:
        if matches(rule, path):
            return rule.allow
    return True


def matches(rule: PathRule, path: bytes) -> bool:
    pieces = rule.pieces
    if not path.startswith(pieces[0]):
        return False
    at = len(pieces[0])
    if len(pieces) == 1:
        return not rule.anchored or at == len(path)
    last = pieces[-1] if rule.anchored else b""
    for piece in pieces[1:-1] if rule.anchored else pieces[1:]:
        found = path.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    return path.endswith(last) and len(path) - len(last) >= at


def _escape(found: re.Match[bytes]) -> bytes:
    taken = found[0]
    value = int(taken[1:], 16) if len(taken) == 3 else taken[0]
    return bytes([value]) if value in _UNRESERVED else b"%%%02X" % value
