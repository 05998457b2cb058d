"""What sites asked of machines at the time of a crawl, as an index by host.

1. `read_site_files`: the robots.txt, ai.txt and tdmrep.json of a few files become rows of SITE_FILES.
2. `build_index`: of several answers of a host the latest success counts, else the latest answer;
   redirects to another host's file are followed; equal rules are stored once.

A page's fate depends on its own host's files only: no statistic over documents is taken.
Sources are web archives with the records of such files (Common Crawl's `robotstxt`), or folders
`HOST/robots.txt`, `HOST/ai.txt`, `HOST/tdmrep.json`.
Memory of step 2: about 250 bytes a host, and each distinct set of rules once.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple
from urllib.parse import urljoin

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pydantic import Field

from corpus_assets.sources.base import RawRecord, SourceFile
from corpus_assets.sources.opening import Opener, open_pinned
from corpus_assets.sources.site_index import site_hash, site_of, twin, write_index
from corpus_assets.sources.site_rules import (
    AI_TXT,
    DISALLOW_ALL,
    FILE_NAMES,
    PATHS,
    ROBOTS,
    TDMREP,
    ai_txt_rules,
    robots_rules,
    tdmrep_rules,
    to_bytes,
)
from corpus_assets.sources.warc import read_warc
from corpus_assets.step import Settings, canonical_json

VERSION = 2
MAX_FILE_BYTES = 16 << 20  # robots.txt is cut at 500 KiB when it is parsed, not when it is read
MAX_REDIRECTS = 5

KINDS = (ROBOTS, AI_TXT, TDMREP)

SITE_FILES = pa.schema(
    [
        ("site", pa.uint64()),  # hash of the authority
        ("kind", pa.uint8()),  # number in KINDS
        ("success", pa.bool_()),
        ("fetched", pa.int64()),  # yyyymmddhhmmss; 0 when unknown
        ("redirect", pa.uint64()),  # site whose file of the same kind stands for it, 0: none
        ("redirect_twin", pa.uint64()),  # and the same with or without its `www.`
        ("rules", pa.binary()),  # JSON
    ]
)


class SiteFileSettings(Settings):
    """Whose rules are taken from robots.txt and ai.txt."""

    agents: tuple[str, ...] = Field(default=(), description="product tokens, such as GPTBot")


class SiteFile(NamedTuple):
    """One answer of a host; a row of SITE_FILES."""

    site: int
    kind: int
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

    1. All rows sorted by (site, kind, success, time, rules); the last of a site and kind counts.
    2. Redirects are followed, all of them a step at a time.
    3. Sites with the same files share a rule set; rule sets are numbered by their bytes.
    """
    table, bodies = _numbered(tables)
    order = np.lexsort(
        (table["rules"], table["fetched"], table["success"], table["kind"], table["site"])
    )
    rows = {name: column[order] for name, column in table.items()}
    last = np.ones(len(order), dtype=bool)
    same = (rows["site"][1:] == rows["site"][:-1]) & (rows["kind"][1:] == rows["kind"][:-1])
    last[:-1] = ~same
    rows = {name: column[last] for name, column in rows.items()}
    sites = np.unique(rows["site"])
    by_kind = np.full((len(sites), len(KINDS)), -1, dtype=np.int64)
    for kind in range(len(KINDS)):
        here = rows["kind"] == kind
        answers = {name: column[here] for name, column in rows.items()}
        by_kind[np.searchsorted(sites, answers["site"]), kind] = _followed(answers)
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
    """For each site (sorted) the rules that hold, past redirects; one that leads nowhere is no
    rule (RFC 9309, section 2.3.1.2)."""
    sites = answers["site"]
    at = np.arange(len(sites))
    if len(sites):
        for _ in range(MAX_REDIRECTS):
            by_twin, twin_leads = _found(sites, answers["redirect_twin"][at])
            itself, leads = _found(sites, answers["redirect"][at])
            at = np.where(leads, itself, np.where(twin_leads, by_twin, at))
    followed: npt.NDArray[np.int64] = answers["rules"][at]
    return followed


def _found(
    sites: npt.NDArray[np.uint64], wanted: npt.NDArray[np.uint64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Where each wanted site stands, and whether it does; 0 is wanted by nobody."""
    place = np.minimum(np.searchsorted(sites, wanted), len(sites) - 1)
    return place, (wanted != 0) & (sites[place] == wanted)


def _joined(row: Sequence[int], bodies: Sequence[bytes]) -> bytes:
    robots, ai_txt, tdmrep = (None if each < 0 else json.loads(bodies[each]) for each in row)
    return to_bytes(robots, ai_txt, tdmrep)


def _from_archive(
    file: SourceFile, settings: SiteFileSettings, open_file: Opener
) -> Iterator[SiteFile]:
    with open_file(file) as stream:
        for record in read_warc(stream, file.name, MAX_FILE_BYTES):
            if record.damage is not None or not record.url or record.http_status is None:
                continue
            kind = PATHS.get("/" + record.url.partition("//")[2].partition("/")[2])
            site = site_of(record.url)
            if kind is not None and site is not None:
                yield _answer(record, site, kind, settings)


def _answer(record: RawRecord, site: str, kind: str, settings: SiteFileSettings) -> SiteFile:
    status = record.http_status or 0
    redirect = None
    success = 200 <= status < 300
    if 300 <= status < 400:
        target = urljoin(record.url or "", record.header("location"))
        redirect = site_of(target)
        if PATHS.get("/" + target.partition("//")[2].partition("/")[2]) != kind:
            redirect = None  # to a page that is no such file: there are no rules
    if success:
        rules = _rules(record.payload, kind, site, settings)
    elif status >= 500 and kind == ROBOTS:
        rules = canonical_json([[DISALLOW_ALL]] * len(settings.agents))
    else:
        rules = _rules(b"", kind, site, settings)
    return SiteFile(
        site_hash(site),
        KINDS.index(kind),
        success,
        _moment(record.fetched_at),
        0 if redirect is None else site_hash(redirect),
        0 if redirect is None else site_hash(twin(redirect)),
        rules,
    )


def _from_folder(
    file: SourceFile, settings: SiteFileSettings, open_file: Opener
) -> Iterator[SiteFile]:
    for member in file.members:
        host, _, name = member.name.rpartition("/")
        kind = FILE_NAMES.get(name)
        site = site_of(f"http://{host}/") if kind and host and "/" not in host else None
        if kind is None or site is None or member.size > MAX_FILE_BYTES:
            continue
        whole = SourceFile(member.name, f"{file.uri}/{member.name}", member.size, member.sha256)
        with open_file(whole) as stream:
            content = stream.read()
        rules = _rules(content, kind, site, settings)
        yield SiteFile(site_hash(site), KINDS.index(kind), True, 0, 0, 0, rules)


def _rules(content: bytes, kind: str, site: str, settings: SiteFileSettings) -> bytes:
    if kind == TDMREP:
        return canonical_json(tdmrep_rules(content, site))
    read = robots_rules if kind == ROBOTS else ai_txt_rules
    return canonical_json(read(content, settings.agents))


def _moment(fetched_at: str) -> int:
    """`2024-03-01T12:00:00Z` as 20240301120000."""
    digits = "".join(filter(str.isdigit, fetched_at[:19]))
    return int(digits) if len(digits) == 14 else 0
