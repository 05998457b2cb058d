"""Search what is still there for removed texts: exact copies and shared 13-grams.

The removed texts are gone by then. They are known by their ids and by one-way digests of some
of their 13-grams (`lineage.text_digests`), which a certificate keeps, so the same search can be made
again at any time.

A run that takes documents out searches by keys (`scan`): live texts are read where the keys of
their part leave it open whether one of them holds a removed text, and shards where such a text or a
new one stands in them. Files that stages made from these texts hold none that they do not, and are
not opened. The numbers are those of a full search, which `catalog takedown verify` makes: it
reads every text, decodes every token and opens every file.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from catalog.db import LineageRow, Registry, VersionRow
from corpus_assets.core.result_index import StageResults
from corpus_assets.core.schemas import DOC_ID
from corpus_assets.core.store import RESULT, Output, Store, artifact_folder, open_store
from corpus_assets.core.task import Task
from corpus_assets.graph import Engine
from corpus_assets.ingest import DOCUMENTS
from corpus_assets.lineage import TEXT_KEYS, text_keys_task
from corpus_assets.takedown.home_search import Holder, HomeSearch, Tell, search_home
from corpus_assets.takedown.scan import (
    Findings,
    Part,
    Piece,
    Scanner,
    Shard,
    Sought,
    Spelling,
    look_through,
)
from corpus_assets.takedown.search_tasks import engine_search
from corpus_assets.versions import published_manifest

T = TypeVar("T")

PARTS_AT_ONCE, SHARDS_AT_ONCE = 16, 16


@dataclass(frozen=True)
class Residue:
    """What the search went through and what it found."""

    texts: int  # live texts looked at: extracted, final and decoded from tokens
    tokens: int  # tokens of the new version that were decoded
    exact: int  # places that still hold a whole removed text, under an address not asked for
    similar: int  # live documents that hold a good share of a removed text's 13-grams
    files: int = 0  # all others of the home that were searched
    bytes: int = 0
    holding: Sequence[Holder] = ()  # those that hold a removed text, whole or in good part
    not_searched: Sequence[tuple[str, str]] = ()  # those that could not be read, and why
    texts_by_keys: int = 0  # of the texts, those that were not read: keys ruled them out
    files_derived: int = 0  # made from texts that were looked at, and not opened


@dataclass(frozen=True)
class Copy:
    """A live document that holds a removed text, whole or in good part."""

    doc_id: str
    exact: bool
    share_percent: int  # of the removed text's 13-grams that were looked for
    in_training_data: bool


class Looker(Protocol):
    """Looks through pieces of versions."""

    def look_through(self, pieces: Sequence[Piece]) -> Findings: ...


class InOneProcess:
    """Looks through pieces here, those of a snapshot after one another. Memory: the ids of its
    texts."""

    def __init__(self, store: Store, sought: Sought) -> None:
        self._store, self._sought = store, sought

    def look_through(self, pieces: Sequence[Piece]) -> Findings:
        found = Findings()
        for _, some in groupby(sorted(pieces, key=_snapshot), _snapshot):
            scanner = Scanner(self._sought)
            for piece in some:
                look_through(self._store, scanner, piece)
            found.add(scanner.found)
        return found


def _snapshot(piece: Piece) -> str:
    return piece.snapshot


class Search:
    """One search over live versions and a home. `held_by` are the versions that the documents were
    taken out of."""

    def __init__(self, store: Store, sought: Sought, held_by: Collection[str] = ()) -> None:
        self._store = store
        self._sought = sought
        self._held_by = held_by
        self._found = Findings()
        self._paths: set[str] = set()  # files of the store that were looked at
        self._derived = 0
        self._home: HomeSearch | None = None

    @property
    def removed(self) -> Collection[str]:
        """Ids of the removed documents."""
        return self._sought.text_ids.keys()

    @property
    def residue(self) -> Residue:
        """What was found of any removed document."""
        return self.residue_of(self.removed)

    def residue_of(self, doc_ids: Collection[str]) -> Residue:
        """Return what was found of some of the removed documents."""
        wanted, text_ids = set(doc_ids), self._sought.text_ids
        whole = {text_ids[doc_id] for doc_id in wanted}
        found, home = self._found, self._home
        copied = {one for seen in found.seen.values() for one in seen.shares}
        held = {text_id for seen in found.seen.values() for text_id in seen.whole}
        copied |= {one for one in wanted if text_ids[one] in held}
        searched: dict[str, Any] = (
            {
                "files": home.files,
                "bytes": home.total_bytes,
                "holding": home.holders_of(wanted, copied),
                "not_searched": home.not_searched,
            }
            if home
            else {}
        )
        return Residue(
            found.texts,
            found.tokens,
            sum(found.exact[text_id] for text_id in whole),
            sum(not wanted.isdisjoint(seen.shares) for seen in found.seen.values()),
            **searched,
            texts_by_keys=found.unread,
            files_derived=self._derived,
        )

    def copies_of(self, doc_ids: Collection[str], watched: Collection[str] = ()) -> list[Copy]:
        """Live documents that hold some of the removed documents, whole or in good part; those
        that are watched in any case."""
        wanted = set(doc_ids)
        whole = {self._sought.text_ids[doc_id] for doc_id in wanted}
        found = []
        for doc_id, seen in sorted(self._found.seen.items()):
            exact = not whole.isdisjoint(seen.whole)
            share = max((seen.shares[one] for one in wanted & seen.shares.keys()), default=0.0)
            if exact or share or doc_id.hex() in watched:
                percent = 100 if exact else round(100 * share)
                found.append(Copy(doc_id.hex(), exact, percent, seen.in_training_data))
        return found

    def look_everywhere(
        self, registry: Registry, home: Path | None, kept: Collection[str], tell: Tell
    ) -> None:
        """Read all live versions, then all other files of the home but `kept`."""
        looker = InOneProcess(self._store, self._sought)
        self._paths.update(kept)
        for version in _live(registry):
            pieces = [*self._parts(registry, version), *self._shards(version)]
            self._found.add(looker.look_through(pieces))
        if home is not None:
            self._look_home(registry, home, tell)

    def look_by_keys(
        self,
        registry: Registry,
        looker: Looker,
        home: Path,
        rewritten: Collection[str],
        tell: Tell,
    ) -> None:
        """Look through all live versions by keys, and decode the `rewritten` shards (SHA-256); then
        through all other files of the home but those that were made from their texts, and but
        ledgers of parts that nothing was taken out of."""
        keys: dict[str, StageResults] = {}
        for version in _live(registry):
            self._found.add(looker.look_through([*self._parts(registry, version, keys)]))
        named = tuple(sorted({d.hex() for d in self._found.seen} | {*self._sought.watched}))
        for version in _live(registry):
            pieces = [*self._shards(version, named, rewritten)]
            self._found.add(looker.look_through(pieces))
        before = (registry.lineage_files(name, "documents") for name in self._held_by)
        untouched = self._paths.intersection(row.path for rows in before for row in rows)
        derived: set[str] = set()
        for artifact in registry.stream_artifacts():
            made = {output.path for output in artifact.outputs}
            if artifact.stage != DOCUMENTS.name or made & untouched:
                folder = artifact_folder(artifact.stage, artifact.fingerprint)
                derived |= {*made, f"{folder}/{RESULT}"}
        self._derived = len(derived - self._paths)
        self._paths |= derived
        self._look_home(registry, home, tell)

    def _look_home(self, registry: Registry, home: Path, tell: Tell) -> None:
        """Look through all other files of a home, once its live versions are done."""
        spellings = {
            spelling.sha256: spelling
            for version in _live(registry)
            for spelling in [Spelling.of(published_manifest(self._store, version))]
        }
        decoders = [spelling.encoder(self._store) for spelling in spellings.values()]
        sought = self._sought
        self._home = HomeSearch(
            sought.text_ids, sought.index, decoders, tell, held_by=self._held_by
        )
        search_home(home.resolve(), self._store, registry, self._home, self._paths)

    def _parts(
        self,
        registry: Registry,
        version: VersionRow,
        keys: dict[str, StageResults] | None = None,
    ) -> Iterator[Piece]:
        """Yield the parts of a version, without files that were looked at; with `keys`, what is
        known of their texts (by snapshot, read where it is missing)."""
        finals = {
            (row.snapshot, row.part): row
            for row in registry.lineage_files(version.name, "final_text")
        }
        rows = registry.lineage_files(version.name, "documents")
        for snapshot, of_snapshot in groupby(rows, lambda row: row.snapshot or ""):
            for some in _batches(list(of_snapshot), PARTS_AT_ONCE):
                parts = []
                for row in some:
                    final = finals.get((row.snapshot, row.part))
                    files = [_output(each) for each in (row, final) if each is not None]
                    new = tuple(file for file in files if file.path not in self._paths)
                    self._paths.update(file.path for file in new)
                    if new:
                        parts.append(Part(new, self._keys_of(snapshot, files, keys)))
                if parts:
                    yield Piece(snapshot, tuple(parts))

    def _keys_of(
        self, snapshot: str, files: Sequence[Output], keys: dict[str, StageResults] | None
    ) -> Output | None:
        """Return the keys of a part's two files; None where there are none."""
        if keys is None or len(files) != 2:
            return None
        if snapshot not in keys:
            keys[snapshot] = StageResults(self._store, TEXT_KEYS.name, snapshot)
        task: Task = text_keys_task(*files)
        result = keys[snapshot].find(task.fingerprint)
        return next(iter(result.outputs.values())) if result is not None else None

    def _shards(
        self,
        version: VersionRow,
        named: tuple[str, ...] | None = None,
        rewritten: Collection[str] = (),
    ) -> Iterator[Piece]:
        """Yield the shards of a version that were not looked at: to be decoded if they were
        rewritten or hold one of the documents `named`, or in any case."""
        manifest = published_manifest(self._store, version)
        spelling = Spelling.of(manifest)
        for snapshot, groups in groupby(manifest.groups, lambda group: group.snapshot):
            shards = [Shard.of(shard) for group in groups for shard in group.shards]
            new = [shard for shard in shards if shard.bin.path not in self._paths]
            self._paths.update(shard.bin.path for shard in new)
            is_read = [named is None or shard.bin.sha256 in rewritten for shard in new]
            for doc_ids in {None, named}:
                wanted = [
                    s for s, read in zip(new, is_read, strict=True) if read == (doc_ids is None)
                ]
                for some in _batches(wanted, SHARDS_AT_ONCE):
                    yield Piece(snapshot, (), tuple(some), spelling, doc_ids)


def _batches(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (items[first : first + size] for first in range(0, len(items), size))


def _live(registry: Registry) -> list[VersionRow]:
    return [version for version in registry.versions() if version.status == "live"]


def _output(row: LineageRow) -> Output:
    return Output(row.path, row.sha256, 0, row.rows)


def search_live(
    store: Store,
    registry: Registry,
    engine: Engine,
    removed: pa.Table,
    watched: Collection[str],
    held_by: Collection[str],
    rewritten: Collection[str],
    home: Path,
    tell: Tell,
) -> Search | None:
    """Look by keys for documents that were taken out (doc_id, text_id, gram_digests)."""
    if not removed.num_rows:
        return None
    sought = _sought(removed, watched)
    found = Search(store, sought, held_by)
    with engine_search(store, engine, sought) as looker:
        found.look_by_keys(registry, looker, home, rewritten, tell)
    return found


def search_fully(
    store: Store,
    registry: Registry,
    removed: pa.Table,
    watched: Collection[str],
    held_by: Collection[str],
    kept: Collection[str],
    home: Path,
    tell: Tell,
) -> Search | None:
    """Look for them in every file; `kept` are files of the store known to hold them."""
    if not removed.num_rows:
        return None
    found = Search(store, _sought(removed, watched), held_by)
    found.look_everywhere(registry, home, kept, tell)
    return found


def _sought(removed: pa.Table, watched: Collection[str]) -> Sought:
    names = [doc_id.hex() for doc_id in removed["doc_id"].to_pylist()]
    text_ids = dict(zip(names, removed["text_id"].to_pylist(), strict=True))
    return Sought(
        text_ids, dict(zip(names, removed["gram_digests"].to_pylist(), strict=True)), watched
    )


def addresses(
    store: Store, registry: Registry, versions: Sequence[str], doc_ids: Collection[str]
) -> dict[str, str]:
    """Return the address of each document, or its record key; reads two columns of the ledgers."""
    if not doc_ids:
        return {}
    wanted = pa.array([bytes.fromhex(doc_id) for doc_id in sorted(doc_ids)], DOC_ID)
    found: dict[str, str] = {}
    for path in {row.path for name in versions for row in registry.lineage_files(name, "records")}:
        with store.open(path) as file:
            table = pq.read_table(file, columns=["doc_id", "url", "url_key"])
        for row in table.filter(pc.is_in(table["doc_id"], wanted)).to_pylist():
            found[row["doc_id"].hex()] = row["url"] or row["url_key"]
    return found


def search_again(
    registry: Registry,
    store_url: str,
    documents: Sequence[Mapping[str, Any]],
    held_by: Collection[str],
    home: Path | None = None,
    kept: Collection[str] = (),
    tell: Tell = lambda _: None,
) -> dict[str, Any]:
    """Repeat the search from a certificate; the entry point of `catalog takedown verify`.

    `documents` are those the certificate lists, with text_id and gram_digests; `held_by` are the
    versions that it says they were taken out of.
    """
    store = open_store(store_url)
    text_ids = {row["doc_id"]: bytes.fromhex(row["text_id"]) for row in documents}
    digests = {row["doc_id"]: row["gram_digests"] for row in documents}
    found = Search(store, Sought(text_ids, digests), held_by)
    found.look_everywhere(registry, home, kept, tell)
    return asdict(found.residue)
