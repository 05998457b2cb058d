"""What a publisher says about training: a preference (allow, disallow, unknown), and where it said so.

* `Content-Usage: train-ai=n` (IETF AIPREF, drafts `aipref-vocab` and `aipref-attach`), as a header
  or in robots.txt: a dictionary of RFC 9651. Labels and values that are not known say nothing,
  and a line that is no dictionary says nothing at all. A refusal in the words of earlier drafts
  counts: `train-genai=n`, and `bots=n` (any automated use) where training itself is not
  mentioned. Permission needs today's word.
* `Content-Signal: ai-train=no` (Cloudflare's content signals), as a header or in robots.txt: pairs
  with commas between them, read without case.
* RSL (Really Simple Licensing): `License: URL` in robots.txt, a `Link` header or a `<link>` with
  the type `application/rsl+xml`. That terms apply is recorded with where they stand; they are not
  fetched, so the preference is unknown.

Each mechanism is resolved by itself, and the most restrictive of several statements counts: what a
publisher says by one does not take back what it says by another. Opt-outs of other kinds (`optout`,
`site_gate`) are statements too.
"""

import re
from collections.abc import Iterable, Sequence
from html import unescape
from typing import NamedTuple

from corpus_assets.ingest.gates.path_rules import PathRule, matches, pattern_rule
from corpus_assets.ingest.kernels.landmarks import RSL_TYPE

ALLOW, DISALLOW, UNKNOWN = "allow", "disallow", "unknown"
NOTHING_SAID = UNKNOWN
CONTENT_USAGE, CONTENT_SIGNAL = "Content-Usage", "Content-Signal"
TRAINING_DISALLOWED = "training_disallowed"
MAX_VALUE_CHARS = 8192
MAX_SOURCE_CHARS = 1000

_ORDER = (DISALLOW, ALLOW, UNKNOWN)
_WORDS = {CONTENT_USAGE: ("train-ai", "y", "n"), CONTENT_SIGNAL: ("ai-train", "yes", "no")}
_GENERATIVE, _ANY_USE = "train-genai", "bots"  # of earlier drafts of aipref-vocab

_KEY = r"[a-z*][a-z0-9_.*-]*+"
_BARE = (
    r"(?:-?[0-9]{1,15}(?:\.[0-9]{1,3})?"
    r"|\"(?:[ !#-\[\]-~]|\\[\"\\])*+\""
    r"|[A-Za-z*][!#$%&'*+.^_`|~:/0-9A-Za-z-]*+"
    r"|:[A-Za-z0-9+/=]*+:|\?[01]|@-?[0-9]{1,15}|%\"[ !#$&-~]*+(?:%[0-9a-f]{2}[ !#$&-~]*+)*+\")"
)
_PARAMETERS = rf"(?:; *+{_KEY}(?:={_BARE})?)*+"
_ITEM = rf"{_BARE}{_PARAMETERS}"
_INNER_LIST = rf"\( *+(?:{_ITEM}(?: ++{_ITEM})*+)? *+\)"
_MEMBER = re.compile(rf"({_KEY})(?:=({_INNER_LIST}|{_BARE}))?{_PARAMETERS}")
_COMMA = re.compile(r"[ \t]*,[ \t]*")

_LINK = re.compile(r"<([^>]*)>((?:\s*;\s*[^\s=;,\"]+(?:\s*=\s*(?:\"[^\"]*\"|[^\s;,\"]*))?)*)")
_PARAMETER = re.compile(r"([^\s=;,\"]+)\s*=\s*(?:\"([^\"]*)\"|([^\s;,\"]*))")
_LINK_TAG = re.compile(rb"<link\b[^>]{1,4096}", re.IGNORECASE)
_ATTRIBUTE = re.compile(rb"([a-z]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))", re.IGNORECASE)


class Statement(NamedTuple):
    """One statement about training."""

    value: str  # allow, disallow or unknown
    source: str  # where, and in which words
    reason: str = TRAINING_DISALLOWED  # the reason of a page that is dropped for it


class Preference(NamedTuple):
    """What all statements about a page come to."""

    value: str = UNKNOWN
    source: str | None = None  # of all statements, the most restrictive first; None: there is none


class UsageRule(NamedTuple):
    """What robots.txt says of the training use of some paths."""

    value: str
    signal: str  # Content-Usage or Content-Signal
    rule: PathRule  # an empty pattern: all paths


def combined(statements: Iterable[Statement]) -> Preference:
    """Return the most restrictive statement, with the places of all."""
    ordered = sorted(statements, key=lambda each: _ORDER.index(each.value))
    if not ordered:
        return Preference()
    source = "; ".join(dict.fromkeys(each.source for each in ordered))
    return Preference(ordered[0].value, source[:MAX_SOURCE_CHARS])


def in_words(signal: str, value: str) -> str:
    """Return a statement as it is usually written: `Content-Usage: train-ai=n`."""
    label, yes, no = _WORDS[signal]
    return f"{signal}: {label}={yes if value == ALLOW else no}"


def training_preference(signal: str, *values: str) -> str:
    """Return what `Content-Usage` or `Content-Signal` says about training; `values` are the lines of
    one field."""
    label, yes, no = _WORDS[signal]
    read = _dictionary if signal == CONTENT_USAGE else _pairs
    pairs = [pair for value in values for pair in read(value[:MAX_VALUE_CHARS])]
    if signal == CONTENT_USAGE:  # of equal names the last, over all lines (RFC 9651, section 4.2)
        by_name = dict(pairs)
        stated = by_name.get(label) in (yes, no)
        if by_name.get(_GENERATIVE) == no or (by_name.get(_ANY_USE) == no and not stated):
            return DISALLOW
        pairs = list(by_name.items())
    words = {word for name, word in pairs if name == label}
    return DISALLOW if no in words else ALLOW if yes in words else UNKNOWN


def usage_rule(value: str, signal: str, path: bytes) -> UsageRule:
    """Return a rule for the paths that begin like `path`, or match it as a pattern; empty: for all."""
    return UsageRule(value, signal, pattern_rule(True, path) or PathRule(True, b"", (b"",), False))


def usage_in_order(rules: Iterable[UsageRule]) -> tuple[UsageRule, ...]:
    """Each rule once, so that the first that matches decides: the longest, of equals the most
    restrictive."""

    def place(each: UsageRule) -> tuple[int, int, str, bytes]:
        return -len(each.rule.pattern), _ORDER.index(each.value), each.signal, each.rule.pattern

    return tuple(sorted(set(rules), key=place))


def usage_statements(path: bytes, rules: Sequence[UsageRule]) -> list[Statement]:
    """Return what rules that are in order say of training on a path, by each mechanism.

    The longest path is found for `Content-Usage` and `Content-Signal` apart: a rule of one never
    hides a rule of the other.
    """
    found = []
    for signal in (CONTENT_USAGE, CONTENT_SIGNAL):
        first = next(
            (one for one in rules if one.signal == signal and matches(one.rule, path)), None
        )
        if first is not None and first.value != UNKNOWN:
            found.append(Statement(first.value, f"file robots.txt {in_words(signal, first.value)}"))
    return found


def header_statements(headers: Sequence[tuple[str, str]]) -> list[Statement]:
    """Return what the headers of a response say; names in lower case."""
    found: list[Statement] = []
    for signal in (CONTENT_USAGE, CONTENT_SIGNAL):
        lines = [text for name, text in headers if name == signal.lower()]
        preference = training_preference(signal, *lines)
        if preference != UNKNOWN:
            found.append(Statement(preference, f"header {in_words(signal, preference)}"))
    links = ", ".join(text for name, text in headers if name == "link")[:MAX_VALUE_CHARS]
    for url, parameters in _LINK.findall(links) if RSL_TYPE.decode() in links.lower() else ():
        values = {
            name.lower(): quoted or bare for name, quoted, bare in _PARAMETER.findall(parameters)
        }
        if _is_licence(values.get("rel", ""), values.get("type", "")):
            found.append(Statement(UNKNOWN, f"header Link: {url.strip()}"))
    return found


def markup_statements(markup: bytes) -> list[Statement]:
    """Return the RSL licences that a page links to; `markup` is compatible with ASCII."""
    found = []
    for tag in _LINK_TAG.findall(markup):
        values = {
            name.lower(): unescape((double or single or bare).decode("utf-8", "replace"))
            for name, double, single, bare in _ATTRIBUTE.findall(tag)
        }
        if _is_licence(values.get(b"rel", ""), values.get(b"type", "")):
            found.append(Statement(UNKNOWN, f"markup link: {values.get(b'href', '').strip()}"))
    return found


def _is_licence(rel: str, media_type: str) -> bool:
    return "license" in rel.lower().split() and media_type.strip().lower() == RSL_TYPE.decode()


def _dictionary(value: str) -> list[tuple[str, str]]:
    """Members of a dictionary of RFC 9651, of equal names the last; none where it is malformed."""
    value = value.strip(" ")
    members: dict[str, str] = {}
    at = 0
    while at < len(value):
        member = _MEMBER.match(value, at)
        if member is None:
            return []
        members[member[1]] = member[2] or "?1"
        at = member.end()
        if at < len(value):
            comma = _COMMA.match(value, at)
            if comma is None or comma.end() == len(value):
                return []
            at = comma.end()
    return list(members.items())


def _pairs(value: str) -> list[tuple[str, str]]:
    items = (item.partition("=") for item in value.lower().split(","))
    return [(name.strip(), word.strip()) for name, _, word in items]
