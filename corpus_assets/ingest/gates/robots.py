"""robots.txt by RFC 9309: which rules hold for an agent, and whether a path is allowed.

* At most 500 KiB are read; a line cut there is left out.
* Lines end with CR, LF or both; `#` begins a comment; keys are compared without case, and the
  misspellings that crawlers commonly forgive are forgiven.
* Groups that name the same agent are one. An agent that no group names is under `*`; where that
  is missing too, everything is allowed. Names are compared without case, as whole tokens.
* Rules before the first `User-agent`, patterns that begin with neither `/` nor `*`, and empty
  ones are no rules.
* `Content-Usage` and `Content-Signal` are rules of a group as well, with a path or without; for
  each of them the longest path counts, of equals the most restrictive value
  (`draft-ietf-aipref-attach`, section 3). In front of all groups, or in a file without any, they
  apply to every agent. A `License` line (RSL) belongs to no group.

By status (section 2.3.1): a success is read; a client error means that there are no rules; a
server error means that nothing may be fetched; redirects are followed, five at most.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from corpus_assets.ingest.gates.path_rules import PathRule, in_order, pattern_rule
from corpus_assets.ingest.gates.preferences import (
    CONTENT_SIGNAL,
    CONTENT_USAGE,
    UsageRule,
    training_preference,
    usage_in_order,
    usage_rule,
)

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
class UserAgentGroup:
    """Agents and the rules that hold for them."""

    agents: list[str] = field(default_factory=list)  # in lower case, as written; none: all agents
    rules: list[PathRule] = field(default_factory=list)
    usage: list[UsageRule] = field(default_factory=list)


def parse_robots(content: bytes) -> list[UserAgentGroup]:
    """Return the groups of a file, in its order. Never fails: what cannot be read is no rule."""
    groups: list[UserAgentGroup] = []
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
                groups.append(UserAgentGroup())
                open_to_agents = True
            groups[-1].agents.append(value.decode("utf-8", "replace").lower())
        elif kind in (CONTENT_USAGE, CONTENT_SIGNAL):
            open_to_agents = False
            groups = groups or [UserAgentGroup()]
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


def rules_for(groups: Sequence[UserAgentGroup], agent: str) -> tuple[PathRule, ...]:
    """Return the rules that hold for an agent, in the order they are asked."""
    return in_order(rule for group in _groups_of(groups, agent) for rule in group.rules)


def usage_for(groups: Sequence[UserAgentGroup], agent: str) -> tuple[UsageRule, ...]:
    """Return the rules about training that apply to an agent, in the order they are asked."""
    applying = [*(group for group in groups if not group.agents), *_groups_of(groups, agent)]
    return usage_in_order(rule for group in applying for rule in group.usage)


def _groups_of(groups: Sequence[UserAgentGroup], agent: str) -> list[UserAgentGroup]:
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
