"""What sites asked of machines at the time of a crawl, as an index by host.

1. `read_site_files`: the robots.txt, ai.txt and tdmrep.json of a few files become rows of
   SITE_FILES, and so does whatever a robots.txt could redirect to.
2. `build_index`: of several answers of an address the latest success counts, else the latest
   answer; redirects are followed among the rows; equal rules are stored once.

Nothing is taken for granted. A robots.txt that is too large, or whose coding breaks off, is read
as far as it goes; where no group can be read the host is not known. Neither is one whose redirect
leads to no record, in a circle, or on for more than five steps. The recipe's `missing` says what
becomes of hosts that are not known.

A page's fate depends on its own host's files only: no statistic over documents is taken.
Sources are web archives with the records of such files (Common Crawl's `robotstxt`), or folders
`HOST/robots.txt`, `HOST/ai.txt`, `HOST/tdmrep.json`.
Memory of step 2: about 250 bytes a record, and each distinct set of rules once.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple
from urllib.parse import urljoin

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pydantic import Field

from corpus_assets.sources.base import RawRecord, SourceFile
from corpus_assets.sources.opening import Opener, open_pinned
from corpus_assets.sources.path_rules import path_of
from corpus_assets.sources.record_beginning import body_beginning
from corpus_assets.sources.robots import MAX_BYTES, parse_robots
from corpus_assets.sources.site_index import site_hash, site_of, twin, write_index
from corpus_assets.sources.site_rules import (
    AI_TXT,
    DISALLOW_ALL,
    FILE_NAMES,
    PATHS,
    ROBOTS,
    TDMREP,
    ai_txt_rules,
    licence_lines,
    robots_rules,
    tdmrep_rules,
    to_bytes,
    usage_rules,
)
from corpus_assets.sources.warc import read_warc
from corpus_assets.step import Settings, canonical_json

VERSION = 4
MAX_FILE_BYTES = 16 << 20  # of a larger file the beginning is read
MAX_REDIRECTS = 5

KINDS = (ROBOTS, AI_TXT, TDMREP)
UNFINISHED = ("too_large", "bad_http")  # whole as records, but their bodies are not to be had

SITE_FILES = pa.schema(
    [
        ("file", pa.uint64()),  # hash of authority and path
        ("kind", pa.uint8()),  # number in KINDS
        ("site", pa.uint64()),  # hash of the authority; 0: not its own, redirects may lead here
        ("success", pa.bool_()),
        ("fetched", pa.int64()),  # yyyymmddhhmmss; 0 when unknown
        ("redirect", pa.uint64()),  # the file of the same kind that stands for it, 0: none
        ("redirect_twin", pa.uint64()),  # and the same with or without its `www.`
        ("rules", pa.binary()),  # JSON
    ]
)


class SiteFileSettings(Settings):
    """Whose rules are taken from robots.txt and ai.txt."""

    agents: tuple[str, ...] = Field(default=(), description="product tokens, such as GPTBot")
    ai_agents: tuple[str, ...] = Field(
        default=(),
        description="agents that train: whom preferences are told where `agents` is empty",
    )


class SiteFile(NamedTuple):
    """One answer of a host; a row of SITE_FILES."""

    file: int
    kind: int
    site: int
    success: bool
    fetched: int
    redirect: int
    redirect_twin: int
    rules: bytes


def read_site_files(
    files: Iterable[SourceFile], settings: SiteFileSettings, open_file: Opener = open_pinned
) -> pa.Table:
    """Rows of SITE_FILES, each once and sorted, from web archives and folders of such files."""
    rows: set[SiteFile] = set()
    for file in files:
        rows.update((_from_folder if file.members else _from_archive)(file, settings, open_file))
    columns = list(zip(*sorted(rows), strict=True)) or [()] * len(SITE_FILES)
    arrays = [
        pa.array(column, type=field.type) for column, field in zip(columns, SITE_FILES, strict=True)
    ]
    return pa.table(arrays, schema=SITE_FILES)


def build_index(tables: Iterable[pa.Table], agents: Sequence[str]) -> tuple[bytes, bytes]:
    """The files `sites.arrow` and `rules.arrow` of the index (`sources.site_index`).

    1. Rows that are nobody's own file and that no redirect names are left out.
    2. The others sorted by (file, kind, success, time, rules); the last of a file and kind counts.
    3. Redirects are followed, all of them a step at a time.
    4. Sites with the same files share a rule set; rule sets are numbered by their bytes.
    """
    table, bodies = _numbered(tables)
    targets = np.concatenate([table["redirect"], table["redirect_twin"]])
    used = (table["site"] != 0) | np.isin(table["file"], targets)
    table = {name: column[used] for name, column in table.items()}
    keys = ("redirect", "rules", "fetched", "success", "kind", "file")
    order = np.lexsort([table[name] for name in keys])
    rows = {name: column[order] for name, column in table.items()}
    last = np.ones(len(order), dtype=bool)
    same = (rows["file"][1:] == rows["file"][:-1]) & (rows["kind"][1:] == rows["kind"][:-1])
    last[:-1] = ~same
    rows = {name: column[last] for name, column in rows.items()}
    rules = np.full(len(rows["file"]), -1, dtype=np.int64)
    for kind in range(len(KINDS)):
        here = rows["kind"] == kind
        rules[here] = _followed({name: column[here] for name, column in rows.items()})
    known = (rows["site"] != 0) & (rules >= 0)
    sites, places = np.unique(rows["site"][known], return_inverse=True)
    by_kind = np.full((len(sites), len(KINDS)), -1, dtype=np.int64)
    by_kind[places.reshape(-1), rows["kind"][known].astype(np.int64)] = rules[known]
    distinct, numbers = np.unique(by_kind, axis=0, return_inverse=True)
    sets = [_joined(row, bodies) for row in distinct.tolist()]
    by_bytes = {body: number for number, body in enumerate(sorted(set(sets)))}
    renumbered = np.array([by_bytes[body] for body in sets], dtype=np.int32)
    chosen = renumbered[numbers.reshape(-1)] if len(sets) else np.zeros(0, dtype=np.int32)
    return write_index(sites, chosen, list(by_bytes), agents)


def _numbered(tables: Iterable[pa.Table]) -> tuple[dict[str, npt.NDArray[Any]], list[bytes]]:
    """All rows as arrays, the rules by their rank among all distinct ones."""
    seen: dict[bytes, int] = {}
    columns: dict[str, list[npt.NDArray[Any]]] = {name: [] for name in SITE_FILES.names}
    for table in tables:
        encoded = table["rules"].combine_chunks().dictionary_encode()
        known = [seen.setdefault(body, len(seen)) for body in encoded.dictionary.to_pylist()]
        lookup = np.array(known, dtype=np.int64)
        columns["rules"].append(lookup[encoded.indices.to_numpy(zero_copy_only=False)])
        for name in SITE_FILES.names[:-1]:
            columns[name].append(table[name].to_numpy())
    bodies = sorted(seen)
    rank = np.empty(len(bodies), dtype=np.int64)
    for place, body in enumerate(bodies):
        rank[seen[body]] = place
    joined = {
        name: np.concatenate(arrays) if arrays else np.zeros(0, dtype=np.int64)
        for name, arrays in columns.items()
    }
    joined["rules"] = rank[joined["rules"].astype(np.int64)]
    return joined, bodies


def _followed(answers: dict[str, npt.NDArray[Any]]) -> npt.NDArray[np.int64]:
    """For each file (sorted) the rules that hold, past redirects (RFC 9309, section 2.3.1.2); -1
    for a redirect that leads to none."""
    files = answers["file"]
    at = np.arange(len(files))
    if len(files):
        for _ in range(MAX_REDIRECTS):
            by_twin, twin_leads = _found(files, answers["redirect_twin"][at])
            itself, leads = _found(files, answers["redirect"][at])
            at = np.where(leads, itself, np.where(twin_leads, by_twin, at))
    followed: npt.NDArray[np.int64] = np.where(
        answers["redirect"][at] == 0, answers["rules"][at], -1
    )
    return followed


def _found(
    files: npt.NDArray[np.uint64], wanted: npt.NDArray[np.uint64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Where each wanted file stands, and whether it does; 0 is wanted by nobody."""
    place = np.minimum(np.searchsorted(files, wanted), len(files) - 1)
    return place, (wanted != 0) & (files[place] == wanted)


def _joined(row: Sequence[int], bodies: Sequence[bytes]) -> bytes:
    robots, ai_txt, tdmrep = (None if each < 0 else json.loads(bodies[each]) for each in row)
    robots = robots or {"rules": None, "usage": (), "licences": ()}
    return to_bytes(robots["rules"], ai_txt, tdmrep, robots["usage"], robots["licences"])


def _from_archive(
    file: SourceFile, settings: SiteFileSettings, open_file: Opener
) -> Iterator[SiteFile]:
    cut_off: list[RawRecord] = []
    with open_file(file) as stream:
        for record in read_warc(stream, file.name, MAX_FILE_BYTES):
            if record.http_status is None or record.damage not in (None, *UNFINISHED):
                continue
            if record.damage is None or not _is_success(record):
                yield from _answer(record, settings)
            elif _holds_groups(record):
                cut_off.append(replace(record, payload=b""))
        for record in cut_off:
            beginning = body_beginning(stream, record, MAX_BYTES)
            if parse_robots(beginning):
                yield from _answer(replace(record, payload=beginning), settings)


def _answer(record: RawRecord, settings: SiteFileSettings) -> Iterator[SiteFile]:
    """The row of a record; none for one without a web address."""
    url = record.url or ""
    site = site_of(url)
    if site is None:
        return
    own = _own_kind(url)
    kind = own or ROBOTS
    redirect = redirect_twin = 0
    if 300 <= (record.http_status or 0) < 400:
        target = urljoin(url, record.header("location"))
        to = site_of(target)
        if to is None or (kind != ROBOTS and _own_kind(target) != kind):
            to, target = site, url  # leads nowhere
        redirect, redirect_twin = _file_hash(to, target), _file_hash(twin(to), target)
    yield SiteFile(
        _file_hash(site, url),
        KINDS.index(kind),
        0 if own is None else site_hash(site),
        _is_success(record),
        _moment(record.fetched_at),
        redirect,
        redirect_twin,
        _rules_of_answer(record, kind, site, settings),
    )


def _rules_of_answer(record: RawRecord, kind: str, site: str, settings: SiteFileSettings) -> bytes:
    if _is_success(record):
        is_page = kind == ROBOTS and not _holds_groups(record)
        return _rules(b"" if is_page else record.payload, kind, site, settings)
    if (record.http_status or 0) >= 500 and kind == ROBOTS:
        closed = [[DISALLOW_ALL]] * len(settings.agents)
        return canonical_json({"rules": closed, "usage": [], "licences": []})
    return _rules(b"", kind, site, settings)


def _holds_groups(record: RawRecord) -> bool:
    """Whether a record may be a file of groups: by its path, its name, or for being no HTML."""
    url = record.url or ""
    own = _own_kind(url)
    if own is not None:
        return own != TDMREP
    return "robots" in url.lower() or "html" not in record.content_type.lower()


def _own_kind(url: str) -> str | None:
    """Which of its host's own files an address is."""
    return PATHS.get("/" + url.partition("//")[2].partition("/")[2])


def _is_success(record: RawRecord) -> bool:
    return 200 <= (record.http_status or 0) < 300


def _file_hash(site: str, url: str) -> int:
    return site_hash(site + path_of(url).decode("ascii"))


def _from_folder(
    file: SourceFile, settings: SiteFileSettings, open_file: Opener
) -> Iterator[SiteFile]:
    for member in file.members:
        host, _, name = member.name.rpartition("/")
        kind = FILE_NAMES.get(name)
        site = site_of(f"http://{host}/") if kind and host and "/" not in host else None
        if kind is None or site is None:
            continue
        whole = SourceFile(member.name, f"{file.uri}/{member.name}", member.size, member.sha256)
        with open_file(whole) as stream:
            content = stream.read(MAX_FILE_BYTES)
        rules = _rules(content, kind, site, settings)
        path = next(path for path, each in PATHS.items() if each == kind)
        own = site_hash(site)
        yield SiteFile(
            _file_hash(site, f"http://{host}{path}"), KINDS.index(kind), own, True, 0, 0, 0, rules
        )


def _rules(content: bytes, kind: str, site: str, settings: SiteFileSettings) -> bytes:
    if kind == TDMREP:
        return canonical_json(tdmrep_rules(content, site))
    if kind == AI_TXT:
        return canonical_json(ai_txt_rules(content, settings.agents))
    return canonical_json(
        {
            "rules": robots_rules(content, settings.agents),
            "usage": usage_rules(content, settings.agents, settings.ai_agents),
            "licences": licence_lines(content),
        }
    )


def _moment(fetched_at: str) -> int:
    """`2024-03-01T12:00:00Z` as 20240301120000."""
    digits = "".join(filter(str.isdigit, fetched_at[:19]))
    return int(digits) if len(digits) == 14 else 0
