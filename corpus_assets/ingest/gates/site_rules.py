"""What a site asks of machines, as of the crawl: robots.txt, ai.txt and tdmrep.json of one host.

Each file is boiled down to the rules that can decide anything here (`SiteRules`), as a few bytes
of JSON. Hosts that say the same, and that is most of them, share these bytes in the index.

* robots.txt: the rules of each agent of the recipe (`ingest.gates.robots`), what the file says about
  training to them (to anyone and to agents that train, where the recipe names none), and the
  licences it names.
* ai.txt as Spawning defines it: the same grammar, the rules of the same agents; those for `*`
  where the recipe names none. Its patterns mostly speak of kinds of files (`*.html`), so a page is
  also compared as if its address ended in the suffix of its media type.
* tdmrep.json of the TDM Reservation Protocol: path patterns with a reservation, longest first.

What cannot be read is no rule, in all three: what answers there is often a page for people.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from corpus_assets.core.identity import canonical_json
from corpus_assets.ingest.gates.path_rules import PathRule, is_allowed, matches, pattern_rule
from corpus_assets.ingest.gates.preferences import (
    ALLOW,
    CONTENT_SIGNAL,
    CONTENT_USAGE,
    DISALLOW,
    UNKNOWN,
    Statement,
    UsageRule,
    usage_rule,
    usage_statements,
)
from corpus_assets.ingest.gates.robots import (
    ANY_AGENT,
    MAX_BYTES,
    licences_in,
    parse_robots,
    rules_for,
    usage_for,
)
from corpus_assets.ingest.gates.tdm_reservation import is_reserved

ROBOTS, AI_TXT, TDMREP = "robots", "ai_txt", "tdmrep"
PATHS = {"/robots.txt": ROBOTS, "/ai.txt": AI_TXT, "/.well-known/tdmrep.json": TDMREP}
FILE_NAMES = {"robots.txt": ROBOTS, "ai.txt": AI_TXT, "tdmrep.json": TDMREP}
DISALLOW_ALL = "-/"

_SUFFIXES = {
    "text/html": (b"/x.html", b"/x.htm"),
    "application/xhtml+xml": (b"/x.xhtml", b"/x.html"),
    "text/plain": (b"/x.txt",),
}
MAX_TDM_RULES = 10_000

MAX_LICENCES = 10
MAX_LICENCE_CHARS = 500

_SIGNS = {"+": ALLOW, "-": DISALLOW, "?": UNKNOWN}
_SIGNALS = {"u": CONTENT_USAGE, "s": CONTENT_SIGNAL}
_SURPLUS_COMMA = re.compile(r",(?=\s*[\]}])")
_ABSOLUTE = re.compile(r"(?:https?:)?//([^/?#]*)(.*)", re.IGNORECASE | re.DOTALL)
_USUAL_PORT = re.compile(r":(?:80|443)?\Z")


AgentRules = tuple[tuple[str, tuple[PathRule, ...]], ...]


class SiteRules(NamedTuple):
    """The rules of one host, ready to be asked."""

    agents: AgentRules | None  # None: no robots.txt is known
    ai_txt: AgentRules = ()
    tdmrep: tuple[PathRule, ...] = ()  # `allow` means: not reserved
    usage: tuple[tuple[UsageRule, ...], ...] = ()  # those of different agents
    licences: tuple[str, ...] = ()

    def disallowed(self, path: bytes) -> list[str]:
        """Return the agents that may not fetch a path, in the recipe's order."""
        if self.agents is None or path == b"/robots.txt":
            return []
        return [agent for agent, rules in self.agents if rules and not is_allowed(path, rules)]

    def refused_by_ai_txt(self, path: bytes, media_type: str) -> list[str]:
        """Return the agents that may not use a page, in the recipe's order; `*` where it names
        none."""
        paths = (path, *_SUFFIXES.get(media_type, ()))
        return [agent for agent, rules in self.ai_txt if _is_refused(paths, rules)]

    def reserved_by_tdmrep(self, path: bytes) -> bool:
        return not is_allowed(path, self.tdmrep)

    def robots_statements(self, path: bytes) -> list[Statement]:
        """Return what robots.txt says about training on a page."""
        found = [statement for rules in self.usage for statement in usage_statements(path, rules)]
        named = [Statement(UNKNOWN, f"file robots.txt License: {each}") for each in self.licences]
        return [*found, *named]


def robots_rules(content: bytes, agents: Sequence[str]) -> list[list[str]]:
    """For each agent its rules as `+PATTERN` or `-PATTERN`, in the order they are asked."""
    groups = parse_robots(content)
    return [_written(rules_for(groups, agent)) for agent in agents]


def usage_rules(content: bytes, agents: Sequence[str], ai_agents: Sequence[str]) -> list[list[str]]:
    """Return what robots.txt says about training, each different set of rules once.

    Rules are written as `+uPATTERN`: allow, disallow or unknown (`+-?`), by `Content-Usage` or
    `Content-Signal` (`us`).
    """
    if b"content-" not in content.lower():
        return []
    groups = parse_robots(content)
    usages = {usage_for(groups, agent) for agent in agents or (ANY_AGENT, *ai_agents)}
    signs = {value: sign for sign, value in _SIGNS.items()}
    letters = {signal: letter for letter, signal in _SIGNALS.items()}
    return sorted(
        [
            signs[each.value] + letters[each.signal] + each.rule.pattern.decode("ascii")
            for each in rules
        ]
        for rules in usages
        if rules
    )


def licence_lines(content: bytes) -> list[str]:
    """Return the addresses of the licences that a robots.txt names."""
    return [each[:MAX_LICENCE_CHARS] for each in licences_in(content)[:MAX_LICENCES]]


def ai_txt_rules(content: bytes, agents: Sequence[str]) -> list[list[str]]:
    """As `robots_rules`; where no agent is given, the rules for any."""
    return robots_rules(content, agents or (ANY_AGENT,))


def tdmrep_rules(content: bytes, site: str) -> list[str]:
    """Rules of the tdmrep.json of a host; a file that is none reserves nothing."""
    listed = _lenient_json(content[:MAX_BYTES])
    if isinstance(listed, dict):
        listed = [listed]
    rules: list[PathRule] = []
    for entry in listed[:MAX_TDM_RULES] if isinstance(listed, list) else ():
        location = entry.get("location") if isinstance(entry, dict) else None
        path = _path_on(site, location) if isinstance(location, str) else None
        if path:
            raw = path if path.startswith(("/", "*")) else f"/{path}"
            free = not is_reserved(entry.get("tdm-reservation"))
            rule = pattern_rule(free, raw.encode("utf-8", "replace"))
            rules += [rule] if rule else []
    ordered = sorted(set(rules), key=lambda rule: (-len(rule.pattern), rule.allow, rule.pattern))
    return _written(ordered)


def to_bytes(
    robots: list[list[str]] | None,
    ai_txt: list[list[str]] | None,
    tdmrep: list[str] | None,
    usage: Sequence[Sequence[str]] = (),
    licences: Sequence[str] = (),
) -> bytes:
    """Return the rules of a host in one canonical form; equal rules give equal bytes."""
    body: dict[str, Any] = {}
    by_agent = {"a": robots, "i": ai_txt if ai_txt and any(ai_txt) else None}
    sets = sorted({tuple(rules) for each in by_agent.values() for rules in each or ()})
    for key, listed in by_agent.items():
        if listed is not None:
            body[key] = [sets.index(tuple(rules)) for rules in listed]
            body["s"] = [list(rules) for rules in sets]
    for key, found in (("t", tdmrep), ("u", usage), ("l", licences)):
        if found:
            body[key] = found
    return canonical_json(body)


def from_bytes(data: bytes, agents: Sequence[str]) -> SiteRules:
    body = json.loads(data)
    sets = [_read(rules) for rules in body.get("s", ())]
    robots = _by_agent(body.get("a"), agents, sets)
    ai_txt = _by_agent(body.get("i"), agents or (ANY_AGENT,), sets)
    usage = tuple(tuple(_usage(rule) for rule in rules) for rules in body.get("u", ()))
    return SiteRules(
        robots, ai_txt or (), _read(body.get("t", ())), usage, tuple(body.get("l", ()))
    )


def _usage(written: str) -> UsageRule:
    return usage_rule(_SIGNS[written[0]], _SIGNALS[written[1]], written[2:].encode("ascii"))


def _by_agent(
    numbers: list[int] | None, agents: Sequence[str], sets: Sequence[tuple[PathRule, ...]]
) -> AgentRules | None:
    if numbers is None:
        return None
    return tuple(zip(agents, (sets[number] for number in numbers), strict=True))


def _lenient_json(content: bytes) -> Any:
    """Return what a JSON file says, commas after a last entry forgiven; None when it is none."""
    text = content.decode("utf-8-sig", "replace")
    for attempt in (text, _SURPLUS_COMMA.sub("", text)):
        try:
            return json.loads(attempt)
        except (ValueError, RecursionError):
            continue
    return None


def _path_on(site: str, location: str) -> str | None:
    """Return the path of a location on a host, with or without its `www.`; None when it is
    elsewhere."""
    absolute = _ABSOLUTE.fullmatch(location)
    if absolute is None:
        return location
    host = _USUAL_PORT.sub("", absolute[1].lower())
    is_here = host.removeprefix("www.") == site.removeprefix("www.")
    return (absolute[2] or "/") if is_here else None


def _is_refused(paths: Sequence[bytes], rules: Sequence[PathRule]) -> bool:
    """Whether the first rule that matches refuses; only one for a kind of files is asked of all."""
    for rule in rules:
        if any(matches(rule, each) for each in paths[: None if _is_kind(rule) else 1]):
            return not rule.allow
    return False


def _written(rules: Sequence[PathRule]) -> list[str]:
    return [("+" if rule.allow else "-") + rule.pattern.decode("ascii") for rule in rules]


def _read(rules: Sequence[str]) -> tuple[PathRule, ...]:
    """Rules as they were written, in the same order."""
    read = (pattern_rule(rule[0] == "+", rule[1:].encode("ascii")) for rule in rules)
    return tuple(rule for rule in read if rule is not None)


def _is_kind(rule: PathRule) -> bool:
    return rule.pattern.startswith((b"*.", b"/*."))
