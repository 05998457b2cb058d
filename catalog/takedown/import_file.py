"""A file of takedown requests, one a line: read as a stream, matched and written in batches.

Memory holds one batch. A batch is one transaction, so a run that is cut off has filed whole
batches, and starting it again finds them there. A line that is wrong is reported by number and
reason, and the others are taken.
"""

import csv
import json
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Annotated, Any, ClassVar

from catalog.answers import BROKEN_EXIT, Shown, values_of
from catalog.db import ALREADY_THERE, FILED, REOPENED, TAKEDOWN_KINDS, NewTakedown, Registry, key_of
from catalog.errors import CatalogError, TakedownRefused
from catalog.formats.store import FileStore
from catalog.lineage import LiveLineage
from catalog.takedown.book import deliver_book, recorded_in_book
from catalog.takedown.impact import Impact, impact
from catalog.takedown.match import Matcher
from catalog.takedown.requests import noted, stated
from catalog.takedown.target import Target, target_of

BATCH_LINES = 20_000
BAD_LINES_LISTED = 10_000
MAX_LINE_BYTES = 1 << 20
COLUMNS = ("kind", "value", *TAKEDOWN_KINDS, "reason", "requester", "reference", "near_duplicates")
YES, NO = {"true", "yes", "1"}, {"false", "no", "0", ""}

Tell = Callable[[int, str], None]


@dataclass(slots=True)
class Summary:
    """What became of a file's lines."""

    bad: int = 0
    filed: int = 0
    already_there: int = 0
    reopened: int = 0
    standing: int = 0

    def count(self, request: NewTakedown, outcome: str) -> None:
        self.filed += outcome == FILED
        self.already_there += outcome == ALREADY_THERE
        self.reopened += outcome == REOPENED
        self.standing += request.documents == 0 and outcome != ALREADY_THERE


@dataclass(frozen=True)
class BadLine:
    """A line that was skipped, and why."""

    line: int
    reason: str


@dataclass(frozen=True, kw_only=True)
class ImportedRequests(Impact):
    """What became of a file's lines, and what all of them together touch in the live versions.
    `bad_lines` lists the first that are bad."""

    file: str
    dry_run: bool
    lines: Annotated[int, Shown("requests read")]
    bad: Annotated[int, Shown("bad lines")]
    filed: int
    already_there: Annotated[int, Shown("already filed")]
    reopened: int
    standing: Annotated[int, Shown("no match yet")]
    documents: int
    bad_lines: list[BadLine]

    shows: ClassVar = ("bad_lines", "file", "lines", "bad", "filed", "already_there", "reopened",
                       "standing", "documents", "documents_in_shards", "shards", "samples",
                       "tokens", "clusters", "versions", "cluster_effects")  # fmt: skip

    @property
    def conclusion(self) -> str | None:
        return "Dry run: nothing was filed." if self.dry_run else None

    @property
    def exit_code(self) -> int:
        return BROKEN_EXIT if self.bad else 0


def import_takedowns(
    registry: Registry,
    store: FileStore,
    path: Path,
    *,
    reason: str = "",
    dry_run: bool = False,
    batch_lines: int = BATCH_LINES,
) -> ImportedRequests:
    """File every good line of a .csv or .jsonl file; `reason` is for lines that give none."""
    read = _reader(path)
    sources = {source.name for source in registry.sources()}
    summary = Summary()
    bad_lines: list[BadLine] = []
    with (
        nullcontext() if dry_run else recorded_in_book(registry, store),
        LiveLineage(registry, store) as live,
    ):
        matcher = Matcher(live)
        batch: list[tuple[int, Target, NewTakedown]] = []

        def refuse(number: int, why: str) -> None:
            summary.bad += 1
            if len(bad_lines) < BAD_LINES_LISTED:
                bad_lines.append(BadLine(number, why))

        try:
            with path.open("rb") as handle:
                for number, entry in read(handle, refuse):
                    try:
                        batch.append((number, *_request(entry, reason, sources)))
                    except TakedownRefused as error:
                        refuse(number, str(error))
                    if len(batch) >= batch_lines:
                        _file(registry, store, matcher, batch, summary, dry_run, refuse)
                        batch = []
        except OSError as error:
            raise CatalogError(
                f"{path} cannot be read: {error.strerror}; what was read before is filed, and "
                "starting again finds it there"
            ) from error
        if batch:
            _file(registry, store, matcher, batch, summary, dry_run, refuse)
        touched = impact(live)
        documents = live.query("SELECT count(*) AS n FROM gone")[0]["n"]
    return ImportedRequests(
        file=path.name,
        dry_run=dry_run,
        lines=summary.bad + summary.filed + summary.already_there + summary.reopened,
        bad=summary.bad,
        filed=summary.filed,
        already_there=summary.already_there,
        reopened=summary.reopened,
        standing=summary.standing,
        documents=documents,
        bad_lines=bad_lines,
        **values_of(touched),
    )


def _file(
    registry: Registry,
    store: FileStore,
    matcher: Matcher,
    batch: list[tuple[int, Target, NewTakedown]],
    summary: Summary,
    dry_run: bool,
    refuse: Tell,
) -> None:
    """File a batch, but for lines that ask for very much: each of those is confirmed by itself."""
    matcher.match([(target, request.near_duplicates) for _, target, request in batch])
    found = dict(enumerate(matcher.requests([(target, asked) for _, target, asked in batch])))
    wide = []
    for place, (number, target, _) in enumerate(batch):
        why = matcher.width(place, target, found[place].documents)
        if why is not None:
            refuse(number, f"{why}; file it by itself, with `catalog takedown request --yes`")
            wide.append(place)
            del found[place]
    if wide:
        matcher.drop(wide)
    if dry_run:
        known = registry.find_takedowns([key_of(request) for request in found.values()])
        fresh = matcher.first_asked()
        for place, request in found.items():
            is_new = place in fresh and key_of(request) not in known
            summary.count(request, FILED if is_new else ALREADY_THERE)
        return
    requests = list(found.values())
    filed = registry.file_takedowns(requests)
    deliver_book(registry, store)  # batch by batch: a long file may be stopped
    for request, (_, outcome) in zip(requests, filed, strict=True):
        summary.count(request, outcome)


Entry = Mapping[str, Any]
Reader = Callable[[IO[bytes], Tell], Iterator[tuple[int, Entry]]]


def _reader(path: Path) -> Reader:
    kind = path.suffix.lower()
    if kind == ".csv":
        return _read_csv
    if kind in (".jsonl", ".ndjson"):
        return _read_jsonl
    raise CatalogError(f"{path.name} is neither .csv nor .jsonl: rename it")


def _lines(handle: IO[bytes], refuse: Tell) -> Iterator[tuple[int, str]]:
    """Yield numbered lines that are text of a bearable length; empty ones are passed over."""
    number = 0
    while raw := handle.readline(MAX_LINE_BYTES + 1):
        number += 1
        if len(raw) > MAX_LINE_BYTES:
            while raw and not raw.endswith(b"\n"):
                raw = handle.readline(MAX_LINE_BYTES)
            refuse(number, f"the line is longer than {MAX_LINE_BYTES} bytes")
            continue
        try:
            line = raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
        except UnicodeDecodeError:
            refuse(number, "the line is not UTF-8")
            continue
        if line.strip():
            yield number, line


def _read_csv(handle: IO[bytes], refuse: Tell) -> Iterator[tuple[int, Entry]]:
    """Yield lines under a header. A quote that is not closed spoils its own line and no other, so a
    value cannot hold a line break."""
    lines = _lines(handle, refuse)
    header: list[str] = []
    for _, line in lines:
        header = [name.strip().lower() for name in next(csv.reader([line]))]
        break
    known = set(COLUMNS)
    odd = [name for name in header if name not in known]
    if odd or len(set(header)) != len(header) or not set(header) & {"value", *TAKEDOWN_KINDS}:
        raise CatalogError(
            f"the CSV's header is {','.join(header)[:200]!r}: name each column once, out of "
            f"{', '.join(COLUMNS)}, with value or at least one kind among them"
        )
    for number, line in lines:
        try:
            cells = next(csv.reader([line], strict=True))
        except csv.Error as error:
            refuse(number, f"the line is not CSV: {error}")
            continue
        if len(cells) != len(header):
            refuse(number, f"the line has {len(cells)} columns, the header {len(header)}")
            continue
        yield number, dict(zip(header, cells, strict=True))


def _read_jsonl(handle: IO[bytes], refuse: Tell) -> Iterator[tuple[int, Entry]]:
    for number, line in _lines(handle, refuse):
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            refuse(number, "the line is not JSON")
            continue
        if not isinstance(entry, dict):
            refuse(number, "the line is not a JSON object")
            continue
        yield number, entry


def _request(entry: Entry, reason: str, sources: Collection[str]) -> tuple[Target, NewTakedown]:
    """Return what a line asks for; `TakedownRefused` says why it cannot be taken."""
    values: dict[str, str] = {}
    for name, value in entry.items():
        if name not in COLUMNS:
            raise TakedownRefused(f"there is no column {str(name)[:40]!r}")
        if value is None or value == "":
            continue
        if isinstance(value, bool) and name == "near_duplicates":
            value = str(value).lower()
        if not isinstance(value, str):
            raise TakedownRefused(f"{name} is not a string")
        values[name] = noted(name, value)
    target = _target(values, sources)
    near = values.get("near_duplicates", "").strip().lower()
    if near not in YES | NO:
        raise TakedownRefused(f"near_duplicates is {near[:40]!r}, not true or false")
    return target, NewTakedown(
        target.kind,
        target.value,
        near in YES,
        stated(values.get("reason") or reason),
        values.get("requester", ""),
        values.get("reference", ""),
    )


def _target(values: Mapping[str, str], sources: Collection[str]) -> Target:
    named = [(kind, values[kind]) for kind in TAKEDOWN_KINDS if kind in values]
    if "kind" in values or "value" in values:
        named.append((values.get("kind", "").strip().lower(), values.get("value", "")))
    if len(named) != 1:
        raise TakedownRefused(
            f"the line names {len(named)} things to take down: give one, as kind and value or "
            f"in one of {', '.join(TAKEDOWN_KINDS)}"
        )
    kind, value = named[0]
    if not value.strip():
        raise TakedownRefused(f"{kind or 'the line'} has no value")
    return target_of(kind, value, sources)
