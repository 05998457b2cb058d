"""What a site asks of machines, as of the crawl: robots.txt, ai.txt and tdmrep.json of one host.

Each file is boiled down to the rules that can decide anything here (`SiteRules`), as a few bytes
of JSON. Hosts that say the same, and that is most of them, share these bytes in the index.

* robots.txt: the rules of each agent of the recipe (`sources.robots`).
* ai.txt as Spawning defines it: the same grammar, rules for `*`. Its patterns mostly speak of
  kinds of files (`*.html`), so a page is also compared as if its address ended in the suffix of
  its media type.
* tdmrep.json of the TDM Reservation Protocol: path patterns with a reservation, longest first.
"""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from corpus_assets.sources.path_rules import Rule, is_allowed, matches, pattern_rule
from corpus_assets.sources.robots import MAX_BYTES, parse_robots, rules_for
from corpus_assets.step import canonical_json

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


class SiteRules(NamedTuple):
    """The rules of one host, ready to be asked."""

    agents: tuple[tuple[str, tuple[Rule, ...]], ...] | None  # None: no robots.txt is known
    ai_txt: tuple[Rule, ...] = ()
    tdmrep: tuple[Rule, ...] = ()  # `allow` means: not reserved

    def disallowed(self, path: bytes) -> list[str]:
        """The agents that may not fetch a path, in the recipe's order."""
        if self.agents is None or path == b"/robots.txt":
            return []
        return [agent for agent, rules in self.agents if rules and not is_allowed(path, rules)]

    def refused_by_ai_txt(self, path: bytes, media_type: str) -> bool:
        paths = (path, *_SUFFIXES.get(media_type, ()))
        for rule in self.ai_txt:
            if any(matches(rule, each) for each in paths[: None if _is_kind(rule) else 1]):
                return not rule.allow
        return False

    def reserved_by_tdmrep(self, path: bytes) -> bool:
        return not is_allowed(path, self.tdmrep)


def robots_rules(content: bytes, agents: Sequence[str]) -> list[list[str]]:
    """For each agent its rules as `+PATTERN` or `-PATTERN`, in the order they are asked."""
    groups = parse_robots(content)
    return [_written(rules_for(groups, agent)) for agent in agents]


def ai_txt_rules(content: bytes) -> list[str]:
    return _written(rules_for(parse_robots(content), "*"))


def tdmrep_rules(content: bytes) -> list[str]:
    """Rules of a tdmrep.json; a file that is none reserves nothing."""
    try:
        listed = json.loads(content[:MAX_BYTES].decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return []
    if isinstance(listed, dict):
        listed = [listed]
    rules: list[Rule] = []
    for entry in listed[:MAX_TDM_RULES] if isinstance(listed, list) else ():
        location = entry.get("location") if isinstance(entry, dict) else None
        if isinstance(location, str) and location:
            raw = location if location.startswith(("/", "*")) else f"/{location}"
            free = not is_reserved(entry.get("tdm-reservation"))
            rule = pattern_rule(free, raw.encode("utf-8", "replace"))
            rules += [rule] if rule else []
    ordered = sorted(set(rules), key=lambda rule: (-len(rule.pattern), rule.allow, rule.pattern))
    return _written(ordered)


def is_reserved(value: Any) -> bool:
    """Whether the value of a `tdm-reservation` reserves: 1, as number or text."""
    return str(value).strip() == "1" and not isinstance(value, bool)


def to_bytes(
    robots: list[list[str]] | None, ai_txt: list[str] | None, tdmrep: list[str] | None
) -> bytes:
    """The rules of a host in one canonical form; equal rules give equal bytes."""
    body: dict[str, Any] = {}
    if robots is not None:
        sets = sorted({tuple(rules) for rules in robots})
        body["a"] = [sets.index(tuple(rules)) for rules in robots]
        body["s"] = [list(rules) for rules in sets]
    if ai_txt:
        body["i"] = ai_txt
    if tdmrep:
        body["t"] = tdmrep
    return canonical_json(body)


def from_bytes(data: bytes, agents: Sequence[str]) -> SiteRules:
    body = json.loads(data)
    by_agent = None
    if "a" in body:
        sets = [_read(rules) for rules in body["s"]]
        by_agent = tuple(zip(agents, (sets[number] for number in body["a"]), strict=True))
    return SiteRules(by_agent, _read(body.get("i", ())), _read(body.get("t", ())))


def _written(rules: Sequence[Rule]) -> list[str]:
    return [("+" if rule.allow else "-") + rule.pattern.decode("ascii") for rule in rules]


def _read(rules: Sequence[str]) -> tuple[Rule, ...]:
    """Rules as they were written, in the same order."""
    read = (pattern_rule(rule[0] == "+", rule[1:].encode("ascii")) for rule in rules)
    return tuple(rule for rule in read if rule is not None)


def _is_kind(rule: Rule) -> bool:
    return rule.pattern.startswith((b"*.", b"/*."))
