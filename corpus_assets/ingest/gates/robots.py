"""robots.txt: path rules, preferences about training, and the groups of agents.

Preferences (`Content-Usage`, `Content-Signal`) are also read from headers and markup.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import unescape
from typing import NamedTuple

from corpus_assets.ingest.kernels.landmarks import RSL_TYPE

# Path patterns of robots.txt (RFC 9309, section 2.2): `*`, `$`, the longest match wins.
#
# Patterns and paths are brought into one spelling first (section 2.2.2): unreserved characters
# bare, all others percent-encoded in capitals. Reserved ones stay as they came, since `/a%2Fb` is
# another path than `/a/b`; only in a query, where they separate nothing, `:` and `/` are the same
# bare and encoded (table 1). A literal `*` or `$` of a path is written `%2A` or
# `%24`, so that only a pattern's own are special. Matching splits a pattern at its stars and looks
# for the pieces from left to right: linear in the path for each piece, no regular expression.

_TO_ESCAPE = re.compile(rb"%[0-9A-Fa-f]{2}|[^!-~]|[\"<>\\^`{|}%]", re.DOTALL)
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_PLAIN = re.compile(rb"[A-Za-z0-9/_.~=&?;:,+@!'()\[\]-]*")


class Rule(NamedTuple):
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


def pattern_rule(allow: bool, raw: bytes) -> Rule | None:
    """Return a rule from what stands behind `Allow:` or `Disallow:`; None for what is no pattern."""
    if not raw.startswith((b"/", b"*")):
        return None
    pattern = one_spelling(raw)
    body = pattern.removesuffix(b"$")
    anchored = body != pattern
    body = body.replace(b"$", b"%24")
    while b"**" in body:
        body = body.replace(b"**", b"*")
    return Rule(allow, body + b"$" if anchored else body, tuple(body.split(b"*")), anchored)


def in_order(rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """Each rule once, so that the first that matches decides: the longest, of equals `Allow`."""
    return tuple(
        sorted(set(rules), key=lambda rule: (-len(rule.pattern), not rule.allow, rule.pattern))
    )


def is_allowed(path: bytes, rules: Iterable[Rule]) -> bool:
    """Whether a path may be fetched under rules that are in order."""
    for rule in rules:
        if matches(rule, path):
            return rule.allow
    return True


def matches(rule: Rule, path: bytes) -> bool:
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


# What a publisher says about training: a preference (allow, disallow, unknown), and where it said so.
#
# * `Content-Usage: train-ai=n` (IETF AIPREF, drafts `aipref-vocab` and `aipref-attach`), as a header
#   or in robots.txt: a dictionary of RFC 9651. Labels and values that are not known say nothing,
#   and a line that is no dictionary says nothing at all. A refusal in the words of earlier drafts
#   counts: `train-genai=n`, and `bots=n` (any automated use) where nothing is said of training
#   itself. Permission needs today's word.
# * `Content-Signal: ai-train=no` (Cloudflare's content signals), as a header or in robots.txt: pairs
#   with commas between them, read without case.
# * RSL (Really Simple Licensing): `License: URL` in robots.txt, a `Link` header or a `<link>` with
#   the type `application/rsl+xml`. That terms apply is recorded with where they stand; they are not
#   fetched, so the preference is unknown.
#
# Each mechanism is resolved by itself, and the most restrictive of several statements counts: what a
# publisher says by one does not take back what it says by another. Opt-outs of other kinds (`ingest.gates.optout`,
# `ingest.gates.sites`) are statements too.

ALLOW, DISALLOW, UNKNOWN = "allow", "disallow", "unknown"
CONTENT_USAGE, CONTENT_SIGNAL = "Content-Usage", "Content-Signal"
TRAINING_DISALLOWED = "training_disallowed"
MAX_VALUE_CHARS = 8192
MAX_SAID_CHARS = 1000

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
    """One thing that was said about training."""

    value: str  # allow, disallow or unknown
    said: str  # where, and in which words
    reason: str = TRAINING_DISALLOWED  # the reason of a page that is dropped for it


class Preference(NamedTuple):
    """What all statements about a page come to."""

    value: str = UNKNOWN
    source: str | None = None  # all that was said, the most restrictive first; None: nothing


class UsageRule(NamedTuple):
    """What robots.txt says of the training use of some paths."""

    value: str
    signal: str  # Content-Usage or Content-Signal
    rule: Rule  # an empty pattern: all paths


def combined(statements: Iterable[Statement]) -> Preference:
    """Return the most restrictive statement, with the places of all."""
    ordered = sorted(statements, key=lambda each: _ORDER.index(each.value))
    if not ordered:
        return Preference()
    said = "; ".join(dict.fromkeys(each.said for each in ordered))
    return Preference(ordered[0].value, said[:MAX_SAID_CHARS])


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
        said = dict(pairs)
        stated = said.get(label) in (yes, no)
        if said.get(_GENERATIVE) == no or (said.get(_ANY_USE) == no and not stated):
            return DISALLOW
        pairs = list(said.items())
    words = {word for name, word in pairs if name == label}
    return DISALLOW if no in words else ALLOW if yes in words else UNKNOWN


def usage_rule(value: str, signal: str, path: bytes) -> UsageRule:
    """Return a rule for the paths that begin like `path`, or match it as a pattern; empty: for all."""
    return UsageRule(value, signal, pattern_rule(True, path) or Rule(True, b"", (b"",), False))


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


# robots.txt by RFC 9309: which rules hold for an agent, and whether a path is allowed.
#
# * At most 500 KiB are read; a line cut there is left out.
# * Lines end with CR, LF or both; `#` begins a comment; keys are compared without case, and the
#   misspellings that crawlers commonly forgive are forgiven.
# * Groups that name the same agent are one. An agent that no group names is under `*`; where that
#   is missing too, everything is allowed. Names are compared without case, as whole tokens.
# * Rules before the first `User-agent`, patterns that begin with neither `/` nor `*`, and empty
#   ones are no rules.
# * `Content-Usage` and `Content-Signal` are rules of a group as well, with a path or without; for
#   each of them the longest path counts, of equals the most restrictive value
#   (`draft-ietf-aipref-attach`, section 3). In front of all groups, or in a file without any, they
#   are said to every agent. A `License` line (RSL) belongs to no group.
#
# By status (section 2.3.1): a success is read; a client error means that there are no rules; a
# server error means that nothing may be fetched; redirects are followed, five at most.

MAX_BYTES = 500 * 1024
ANY_AGENT = "*"

_LINE = re.compile(rb"[\r\n]+")
_KEYS = {
    b"user-agent": "agent", b"useragent": "agent", b"user agent": "agent",
    b"allow": "allow", b"alow": "allow",
    b"disallow": "disallow", b"dissallow": "disallow", b"dissalow": "disallow",
    b"disalow": "disallow", b"diasllow": "disallow", b"disallaw": "disallow",
    b"content-usage": CONTENT_USAGE, b"content-signal": CONTENT_SIGNAL,
}  # fmt: skip
_PATH = re.compile(r"(/\S*)(?:\s+|\Z)")
_TOKEN_END = re.compile(r"[^a-z0-9_-]")


@dataclass(slots=True)
class Group:
    """Agents and the rules that hold for them."""

    agents: list[str] = field(default_factory=list)  # in lower case, as written; none: all agents
    rules: list[Rule] = field(default_factory=list)
    usage: list[UsageRule] = field(default_factory=list)


def parse_robots(content: bytes) -> list[Group]:
    """Return the groups of a file, in its order. Never fails: what cannot be read is no rule."""
    groups: list[Group] = []
    open_to_agents = False
    for line in _lines(content):
        key, colon, value = line.partition(b":")
        if not colon:
            key, _, value = line.strip().replace(b"\t", b" ").partition(b" ")  # which is forgiven
        kind = _KEYS.get(key.strip().lower())
        if kind is None:
            continue
        value = value.strip()
        if kind == "agent":
            if not open_to_agents:
                groups.append(Group())
                open_to_agents = True
            groups[-1].agents.append(value.decode("utf-8", "replace").lower())
        elif kind in (CONTENT_USAGE, CONTENT_SIGNAL):
            open_to_agents = False
            groups = groups or [Group()]
            groups[-1].usage.append(_usage(kind, value.decode("utf-8", "replace")))
        elif groups:
            open_to_agents = False
            rule = pattern_rule(kind == "allow", value)
            if rule is not None:
                groups[-1].rules.append(rule)
    return groups


def licences_in(content: bytes) -> list[str]:
    """Return the addresses of the `License` lines of a file."""
    found = []
    for line in _lines(content):
        key, _, value = line.partition(b":")
        if key.strip().lower() == b"license" and value.strip():
            found.append(value.split()[0].decode("utf-8", "replace"))
    return list(dict.fromkeys(found))


def rules_for(groups: Sequence[Group], agent: str) -> tuple[Rule, ...]:
    """Return the rules that hold for an agent, in the order they are asked."""
    return in_order(rule for group in _groups_of(groups, agent) for rule in group.rules)


def usage_for(groups: Sequence[Group], agent: str) -> tuple[UsageRule, ...]:
    """Return what an agent is told about training, in the order it is asked."""
    told = [*(group for group in groups if not group.agents), *_groups_of(groups, agent)]
    return usage_in_order(rule for group in told for rule in group.usage)


def _groups_of(groups: Sequence[Group], agent: str) -> list[Group]:
    agent = agent.lower()
    own = [group for group in groups if any(_names(value, agent) for value in group.agents)]
    return own or [group for group in groups if any(_is_any(value) for value in group.agents)]


def _usage(signal: str, value: str) -> UsageRule:
    """Return a rule about use; a value that begins with `/` has a path in front."""
    path = _PATH.match(value)
    preference = training_preference(signal, value[path.end() :] if path else value)
    return usage_rule(preference, signal, path[1].encode() if path else b"")


def _lines(content: bytes) -> list[bytes]:
    content = content.removeprefix(b"\xef\xbb\xbf")
    if len(content) > MAX_BYTES:
        whole = content[:MAX_BYTES]
        cut = max(whole.rfind(b"\n"), whole.rfind(b"\r"))
        content = whole[: cut + 1]
    return [line.partition(b"#")[0] for line in _LINE.split(content)]


def _names(value: str, agent: str) -> bool:
    """`gptbot/1.0` names gptbot, `gptbot-image` does not."""
    if not value.startswith(agent):
        return False
    return len(value) == len(agent) or _TOKEN_END.match(value, len(agent)) is not None


def _is_any(value: str) -> bool:
    return value == ANY_AGENT or value.startswith(("* ", "*\t"))
