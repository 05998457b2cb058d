"""What a site asks of machines in robots.txt, ai.txt and tdmrep.json: rules, index, gate."""

import hashlib
import json
import re
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pydantic import Field, field_validator

from corpus_assets.core.errors import CorruptArtifact
from corpus_assets.core.identity import Settings, canonical_json
from corpus_assets.core.urls import Address, address_of
from corpus_assets.ingest.gates.addresses import CategoryIndex
from corpus_assets.ingest.gates.optout import (
    OPTED_OUT,
    OptOutSettings,
    checked_token,
    frees_itself,
    is_reserved,
)
from corpus_assets.ingest.gates.robots import (
    ALLOW,
    ANY_AGENT,
    CONTENT_SIGNAL,
    CONTENT_USAGE,
    DISALLOW,
    MAX_BYTES,
    UNKNOWN,
    Rule,
    Statement,
    UsageRule,
    is_allowed,
    licences_in,
    matches,
    parse_robots,
    path_of,
    pattern_rule,
    rules_for,
    usage_for,
    usage_rule,
    usage_statements,
)
from corpus_assets.ingest.records import RawRecord, Refusal

# What a site asks of machines, as of the crawl: robots.txt, ai.txt and tdmrep.json of one host.
#
# Each file is boiled down to the rules that can decide anything here (`SiteRules`), as a few bytes
# of JSON. Hosts that say the same, and that is most of them, share these bytes in the index.
#
# * robots.txt: the rules of each agent of the recipe (`ingest.gates.robots`), what the file says about
#   training to them (to anyone and to agents that train, where the recipe names none), and the
#   licences it names.
# * ai.txt as Spawning defines it: the same grammar, the rules of the same agents; those for `*`
#   where the recipe names none. Its patterns mostly speak of kinds of files (`*.html`), so a page is
#   also compared as if its address ended in the suffix of its media type.
# * tdmrep.json of the TDM Reservation Protocol: path patterns with a reservation, longest first.
#
# What cannot be read is no rule, in all three: what answers there is often a page for people.

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


AgentRules = tuple[tuple[str, tuple[Rule, ...]], ...]


class SiteRules(NamedTuple):
    """The rules of one host, ready to be asked."""

    agents: AgentRules | None  # None: no robots.txt is known
    ai_txt: AgentRules = ()
    tdmrep: tuple[Rule, ...] = ()  # `allow` means: not reserved
    usage: tuple[tuple[UsageRule, ...], ...] = ()  # what different agents are told
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

    def said_in_robots(self, path: bytes) -> list[Statement]:
        """Return what robots.txt says about training on a page."""
        found = [said for rules in self.usage for said in usage_statements(path, rules)]
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
    told = {usage_for(groups, agent) for agent in agents or (ANY_AGENT, *ai_agents)}
    signs = {value: sign for sign, value in _SIGNS.items()}
    letters = {signal: letter for letter, signal in _SIGNALS.items()}
    return sorted(
        [
            signs[each.value] + letters[each.signal] + each.rule.pattern.decode("ascii")
            for each in rules
        ]
        for rules in told
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
    rules: list[Rule] = []
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
    numbers: list[int] | None, agents: Sequence[str], sets: Sequence[tuple[Rule, ...]]
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


def _is_refused(paths: Sequence[bytes], rules: Sequence[Rule]) -> bool:
    """Whether the first rule that matches refuses; only one for a kind of files is asked of all."""
    for rule in rules:
        if any(matches(rule, each) for each in paths[: None if _is_kind(rule) else 1]):
            return not rule.allow
    return False


def _written(rules: Sequence[Rule]) -> list[str]:
    return [("+" if rule.allow else "-") + rule.pattern.decode("ascii") for rule in rules]


def _read(rules: Sequence[str]) -> tuple[Rule, ...]:
    """Rules as they were written, in the same order."""
    read = (pattern_rule(rule[0] == "+", rule[1:].encode("ascii")) for rule in rules)
    return tuple(rule for rule in read if rule is not None)


def _is_kind(rule: Rule) -> bool:
    return rule.pattern.startswith((b"*.", b"/*."))


# Which rules hold for a page: a file that is mapped into memory and looked up, never loaded.
#
# Layout (Arrow IPC, uncompressed): one batch with an answer a row, sorted by `file` (uint64: hash of
# kind, host and path) and `since` (int64: when it was given), with `rules` (int32: number of the
# rule set; below 0 a redirect, -1 - the place of the first answer of its target), and, as schema
# metadata, the agents; a second file holds the distinct rule sets. 20 bytes an answer, and answers
# that repeat the one before are not there, so that tens of millions of hosts are a few hundred
# megabytes of address space, of which a part touches what it asks for. Rule sets are kept decoded
# while a part is read.
#
# A host is the authority of an address: `www.` and ports count (RFC 9309, section 2.3), schemes do
# not. A file that is not known of a host is asked for again with or without its `www.`, each file by
# itself: an ai.txt of example.org says nothing about the robots.txt of www.example.org.

KEPT_DECODED = 4096
AGENTS = b"agents"
MAX_REDIRECTS = 5
LATEST = 2**63 - 1
NOTHING = SiteRules(None)


def site_of(url: str, address: Address | None = None) -> str | None:
    """Return the authority of a web address in one spelling, `www.` kept; None when it is none."""
    address = address or address_of(url)
    if address is None:
        return None
    site = address.canonical[7:].partition("/")[0]
    start = url.find("//") + 2
    host = url[start : start + 512].partition("/")[0].rpartition("@")[2].lower()
    return f"www.{site}" if host.startswith("www.") and not site.startswith("www.") else site


def twin(site: str) -> str:
    """Return the same host with `www.`, or without."""
    return site[4:] if site.startswith("www.") else f"www.{site}"


def file_hash(kind: str, site: str, path: str) -> int:
    name = f"{kind} {site}{path}".encode()
    return int.from_bytes(hashlib.blake2b(name, digest_size=8).digest(), "little")


def moment(fetched_at: str) -> int:
    """`2024-03-01T12:00:00.5Z` as 20240301120000500; 0 when it is no such time."""
    digits = "".join(filter(str.isdigit, fetched_at[:23]))
    return int(digits.ljust(17, "0")) if len(digits) >= 14 else 0


def write_index(
    files: npt.NDArray[np.uint64],
    since: npt.NDArray[np.int64],
    numbers: npt.NDArray[np.int32],
    rule_sets: Sequence[bytes],
    agents: Sequence[str],
) -> tuple[bytes, bytes]:
    """Return the two files, from sorted answers; equal content gives equal bytes."""
    metadata = {AGENTS: json.dumps(list(agents)).encode()}
    columns = [("file", pa.uint64()), ("since", pa.int64()), ("rules", pa.int32())]
    arrays = [pa.array(files), pa.array(since), pa.array(numbers)]
    answers = pa.record_batch(arrays, schema=pa.schema(columns, metadata=metadata))
    bodies = pa.record_batch([pa.array(rule_sets, pa.large_binary())], names=["body"])
    return _ipc(answers), _ipc(bodies)


class SiteIndex:
    """Rules by host and time, from the two files of an index."""

    def __init__(self, sites: Path, rules: Path) -> None:
        answers, bodies = _mapped(sites), _mapped(rules)
        self.agents: tuple[str, ...] = tuple(json.loads(answers.schema.metadata[AGENTS]))
        self._files, self._since, self._numbers = (
            memoryview(answers.column(name).to_numpy(zero_copy_only=True))
            for name in ("file", "since", "rules")
        )  # bisect is quicker in those than in arrays
        self._bodies = bodies.column("body")
        self._decoded: OrderedDict[int, SiteRules] = OrderedDict()

    def __len__(self) -> int:
        return len(self._files)

    def find(self, site: str, fetched_at: str = "") -> SiteRules | None:
        """Return the rules of a host for a page of that time, file by file those of its twin where
        it has none; None when no file of either was seen.

        Of each file the last answer that is no later than the page counts; where there is none,
        the first; for a page of unknown time the last.
        """
        at = moment(fetched_at) or LATEST
        found = [
            self._answer(file_hash(kind, site, path), at)
            or self._answer(file_hash(kind, twin(site), path), at)
            for path, kind in PATHS.items()
        ]
        if not any(found):
            return None
        robots, ai_txt, tdmrep = (rules or NOTHING for rules in found)
        return robots._replace(ai_txt=ai_txt.ai_txt, tdmrep=tdmrep.tdmrep)

    def _answer(self, file: int, at: int) -> SiteRules | None:
        """Return what a file said at a time, past redirects."""
        place = bisect_left(self._files, file)
        if place == len(self._files) or self._files[place] != file:
            return None
        for _ in range(MAX_REDIRECTS + 1):
            end = bisect_right(self._files, self._files[place], place)
            later = bisect_right(self._since, at, place, end)
            number = self._numbers[max(later - 1, place)]
            if number >= 0:
                return self._rules(number)
            place = -1 - number
        return None

    def _rules(self, number: int) -> SiteRules:
        rules = self._decoded.get(number)
        if rules is None:
            rules = from_bytes(self._bodies[number].as_py(), self.agents)
            self._decoded[number] = rules
            if len(self._decoded) > KEPT_DECODED:
                self._decoded.popitem(last=False)
        return rules


def _ipc(batch: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, batch.schema) as writer:
        writer.write_batch(batch)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def _mapped(path: Path) -> pa.RecordBatch:
    try:
        return pa.ipc.open_file(pa.memory_map(str(path))).get_batch(0)
    except (pa.ArrowException, OSError) as error:
        raise CorruptArtifact(f"{path} is not a readable index of site rules: {error}") from error


# Lists that a page's address is looked up in, beside the recipe's own blocklist.


@dataclass(frozen=True)
class UrlLists:
    """None: the recipe asks for no such list."""

    categories: CategoryIndex | None = None
    sites: SiteIndex | None = None


# A site's own files, robots.txt, tdmrep.json and ai.txt as they were when a page was fetched:
# whether it may be, and what they say about training on it.
#
# Cost: about 80 us a page with 30 rules a host on a Neoverse N1 (`benchmarks/gates.py`); a host's
# rules are decoded once.

NO_ROBOTS = "no_robots_txt"


class RobotsSettings(Settings):
    """Whose robots.txt rules are honoured, by RFC 9309. Needs `site_files` of the source, or the
    robots.txt records of its crawl."""

    agents: tuple[str, ...] = Field(
        min_length=1, description="product tokens, such as GPTBot and CCBot"
    )
    rule: Literal["any", "all"] = Field(
        default="any", description="drop a page that is closed to `any` agent, or to `all` of them"
    )
    missing: Literal["allow", "refuse"] = Field(
        default="allow", description="what a host means whose robots.txt is not known"
    )

    @field_validator("agents")
    @classmethod
    def _tokens(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(checked_token(agent) for agent in value)


def ask_site(
    record: RawRecord,
    address: Address,
    media_type: str,
    robots: RobotsSettings | None,
    optout: OptOutSettings,
    sites: SiteIndex,
) -> tuple[Refusal | None, list[Statement]]:
    """Return what the files of a page's host say against fetching it, and about training on it."""
    url = record.url or ""
    site = site_of(url, address)
    rules = None if site is None else sites.find(site, record.fetched_at)
    path = path_of(url)
    if robots is not None:
        if rules is None or rules.agents is None:
            if robots.missing == "refuse":
                return Refusal("robots_disallowed", NO_ROBOTS), []
        else:
            closed = rules.disallowed(path)
            if _is_closed(len(closed), len(robots.agents), robots):
                return Refusal("robots_disallowed", closed[0]), []
    if rules is None:
        return None, []
    said = rules.said_in_robots(path)
    if optout.tdm_reservation and rules.tdmrep and rules.reserved_by_tdmrep(path):
        markup = b"" if media_type == "text/plain" else record.payload
        if not frees_itself(markup, record.header("tdm-reservation")):
            said.append(Statement(DISALLOW, "file tdmrep.json", OPTED_OUT))
    if optout.ai_txt and rules.ai_txt:
        refused = rules.refused_by_ai_txt(path, media_type)
        if _is_closed(len(refused), len(rules.ai_txt), robots):
            said.append(Statement(DISALLOW, "file ai.txt", OPTED_OUT))
    return None, said


def _is_closed(n_refused: int, n_agents: int, robots: RobotsSettings | None) -> bool:
    needed = n_agents if robots is not None and robots.rule == "all" else 1
    return n_refused >= needed
