"""What sites asked of machines at the time of a crawl, as an index by host and time.

1. `read_site_files`: the robots.txt, ai.txt and tdmrep.json of a few files become rows of
   SITE_FILES, and so does whatever a robots.txt could redirect to.
2. `build_index`: the answers of each address in order of time, as far as they changed something.

A page is judged by the answer that was in force when it was fetched (`SiteIndex.find`; ADR 22). An
error counts until the first success or redirect. A redirect stands for what its target answers at
the time of the page; one that leads to no record, or from http to https and so to itself, does not
count. Of answers of the same time a success comes before others, then their bytes decide. One
without a time counts as the earliest.

Nothing is taken for granted. A robots.txt that is too large, or whose coding breaks off, is read
as far as it goes; where no group can be read it says nothing. Nor does a redirect in a circle, or
on for more than five steps. The recipe's `missing` says what becomes of hosts that are not known.

Whether a page is kept depends on its own host's files only: no statistic over documents is taken.
Sources are web archives with the records of such files (Common Crawl's `robotstxt`), or folders
`HOST/robots.txt`, `HOST/ai.txt`, `HOST/tdmrep.json`.
Memory of step 2: about 180 bytes a record, and each distinct set of rules once.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple
from urllib.parse import urljoin

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pydantic import Field

from corpus_assets.core.identity import Settings
from corpus_assets.ingest.fetch import Opener, open_pinned
from corpus_assets.ingest.formats import body_beginning, read_warc
from corpus_assets.ingest.gates import path_rules, robots, site_index, site_rules
from corpus_assets.ingest.records import RawRecord, SourceFile

VERSION = 6
MAX_FILE_BYTES = 16 << 20  # of a larger file the beginning is read

UNFINISHED = ("too_large", "bad_http")  # whole as records, but their bodies are not to be had

SITE_FILES = pa.schema(
    [
        ("file", pa.uint64()),  # hash of kind, authority and path
        ("own", pa.bool_()),  # a file of its host; others are where redirects may lead
        ("success", pa.bool_()),
        ("fetched", pa.int64()),  # `moment`; 0 when unknown
        ("redirect", pa.uint64()),  # the file of the same kind that replaces it, 0: none
        ("redirect_twin", pa.uint64()),  # and the same with or without its `www.`
        ("rules", pa.binary()),  # JSON
    ]
)


Columns = dict[str, npt.NDArray[Any]]


class SiteFileSettings(Settings):
    """Whose rules are taken from robots.txt and ai.txt."""

    agents: tuple[str, ...] = Field(default=(), description="product tokens, such as GPTBot")
    ai_agents: tuple[str, ...] = Field(
        default=(),
        description="training agents, used where `agents` is empty",
    )


class SiteFile(NamedTuple):
    """One answer of a host; a row of SITE_FILES."""

    file: int
    own: bool
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
    """Return the files `sites.arrow` and `rules.arrow` of the index (`ingest.gates.site_index`).

    1. Rows that are no host's own file and that no redirect names are left out.
    2. Redirects that lead to no answer are left out.
    3. The others sorted by (file, time, failure, rules); the first of a file and time counts.
    4. Errors after a success or a redirect are left out, then what repeats the answer before it.
    5. Rule sets are numbered by their bytes; a redirect has the place of its target.
    """
    table, bodies = _numbered(tables)
    named = np.concatenate([table["redirect"], table["redirect_twin"]])
    table = _chosen(table, table["own"] | np.isin(table["file"], named))
    table = _with_targets(_chosen(table, table["redirect"] != table["file"]))
    table["failure"] = np.logical_not(table["success"])
    keys = ("target", "rules", "failure", "fetched", "file")
    table = _chosen(table, np.lexsort([table[name] for name in keys]))
    table = _chosen(table, _differs(table, "file", "fetched"))
    answers = table["success"] | (table["target"] != 0)
    n_before = np.cumsum(answers) - answers
    n_before -= n_before[np.searchsorted(table["file"], table["file"])]
    table = _chosen(table, answers | (n_before == 0))
    table = _chosen(table, _differs(table, "file", "rules", "target"))
    used, ranks = np.unique(table["rules"], return_inverse=True)
    place = np.searchsorted(table["file"], table["target"])
    numbers = np.where(table["target"] == 0, ranks.reshape(-1), -1 - place).astype(np.int32)
    rule_sets = [bodies[each] for each in used.tolist()]
    return site_index.write_index(table["file"], table["fetched"], numbers, rule_sets, agents)


def _with_targets(table: Columns) -> Columns:
    """Add the file that a redirect leads to (RFC 9309, section 2.3.1.2), 0 for other answers;
    leave out redirects that lead to no answer in five steps."""
    file, redirect = table["file"], table["redirect"]
    other = np.where(table["redirect_twin"] == file, 0, table["redirect_twin"])
    leads = redirect == 0
    target = np.zeros_like(redirect)
    for _ in range(site_index.MAX_REDIRECTS):
        known = file[leads]
        target = np.where(np.isin(redirect, known), redirect, other)
        leads = (redirect == 0) | np.isin(target, known)
    return _chosen(table | {"target": target}, leads)


def _chosen(table: Columns, rows: npt.NDArray[Any]) -> Columns:
    return {name: column[rows] for name, column in table.items()}


def _differs(table: Columns, *names: str) -> npt.NDArray[np.bool_]:
    """Whether each row differs from the one before it."""
    columns = [table[name] for name in names]
    differs = np.ones(len(columns[0]), dtype=bool)
    differs[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return differs


def _numbered(tables: Iterable[pa.Table]) -> tuple[Columns, list[bytes]]:
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
            beginning = body_beginning(stream, record, robots.MAX_BYTES)
            if robots.parse_robots(beginning):
                yield from _answer(replace(record, payload=beginning), settings)


def _answer(record: RawRecord, settings: SiteFileSettings) -> Iterator[SiteFile]:
    """Yield the row of a record; none for one without a web address."""
    url = record.url or ""
    site = site_index.site_of(url)
    if site is None:
        return
    own = _own_kind(url)
    kind = own or site_rules.ROBOTS
    redirect = redirect_twin = 0
    if 300 <= (record.http_status or 0) < 400:
        target = urljoin(url, record.header("location"))
        to = site_index.site_of(target)
        if to is None or (kind != site_rules.ROBOTS and _own_kind(target) != kind):
            to, target = site, url  # leads nowhere
        redirect, redirect_twin = (_file(kind, each, target) for each in (to, site_index.twin(to)))
    yield SiteFile(
        _file(kind, site, url),
        own is not None,
        _is_success(record),
        site_index.moment(record.fetched_at),
        redirect,
        redirect_twin,
        _rules_of_answer(record, kind, site, settings),
    )


def _rules_of_answer(record: RawRecord, kind: str, site: str, settings: SiteFileSettings) -> bytes:
    if _is_success(record):
        is_page = kind == site_rules.ROBOTS and not _holds_groups(record)
        return _rules(b"" if is_page else record.payload, kind, site, settings)
    if (record.http_status or 0) >= 500 and kind == site_rules.ROBOTS:
        return site_rules.to_bytes([[site_rules.DISALLOW_ALL]] * len(settings.agents), None, None)
    return _rules(b"", kind, site, settings)


def _holds_groups(record: RawRecord) -> bool:
    """Whether a record may be a file of groups: by its path, its name, or for being no HTML."""
    url = record.url or ""
    own = _own_kind(url)
    if own is not None:
        return own != site_rules.TDMREP
    return "robots" in url.lower() or "html" not in record.content_type.lower()


def _own_kind(url: str) -> str | None:
    """Which of its host's own files an address is."""
    return site_rules.PATHS.get("/" + url.partition("//")[2].partition("/")[2])


def _is_success(record: RawRecord) -> bool:
    return 200 <= (record.http_status or 0) < 300


def _file(kind: str, site: str, url: str) -> int:
    return site_index.file_hash(kind, site, path_rules.path_of(url).decode("ascii"))


def _from_folder(
    file: SourceFile, settings: SiteFileSettings, open_file: Opener
) -> Iterator[SiteFile]:
    for member in file.members:
        host, _, name = member.name.rpartition("/")
        kind = site_rules.FILE_NAMES.get(name)
        site = site_index.site_of(f"http://{host}/") if kind and host and "/" not in host else None
        if kind is None or site is None:
            continue
        whole = SourceFile(member.name, f"{file.uri}/{member.name}", member.size, member.sha256)
        with open_file(whole) as stream:
            content = stream.read(MAX_FILE_BYTES)
        rules = _rules(content, kind, site, settings)
        path = next(path for path, each in site_rules.PATHS.items() if each == kind)
        yield SiteFile(site_index.file_hash(kind, site, path), True, True, 0, 0, 0, rules)


def _rules(content: bytes, kind: str, site: str, settings: SiteFileSettings) -> bytes:
    if kind == site_rules.TDMREP:
        return site_rules.to_bytes(None, None, site_rules.tdmrep_rules(content, site))
    if kind == site_rules.AI_TXT:
        return site_rules.to_bytes(None, site_rules.ai_txt_rules(content, settings.agents), None)
    return site_rules.to_bytes(
        site_rules.robots_rules(content, settings.agents),
        None,
        None,
        site_rules.usage_rules(content, settings.agents, settings.ai_agents),
        site_rules.licence_lines(content),
    )
