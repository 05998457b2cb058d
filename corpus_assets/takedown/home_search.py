"""Search every file of a home for removed texts, whatever wrote the file.

The lineage of live versions is searched row by row (`residue`). This is for all the rest: caches,
logs, Dagster's records, temporary files, the catalog's own pages with those that are free, what
people put there, and every object of a store on S3. How a file is opened is described in `contents`.

A file holds a removed document when it has a good share of the document's 13-grams, or the whole
text as one value. Text is searched as it is, without JSON's escapes and without HTML's tags and
entities. A text too short for 13-gram digests is only found as a value. In a file that a stage of
the corpus wrote, each value counts by itself: thousands of its documents together have many
passages of any text, in quotations and forms of words, and none of them is a copy.

Copies are known by what they say of themselves, and by the register (`catalog.copies`), however
little of a text they have: a sample page marks the documents it shows, exports and packs name their
version and their documents.

What cannot be opened or decoded to its end, or is in no format that is known, is named, not passed
over. What to do about a file depends on what it is (`places`). Time follows the bytes.
"""

import html
import io
import itertools
import os
import re
import stat
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import file_digest
from pathlib import Path
from typing import IO

import pyarrow as pa

from catalog.copies import path_of
from catalog.db import CopyRow, Registry
from catalog.figures import counted
from corpus_assets.core.errors import CorpusError, MissingInput
from corpus_assets.core.lock import Lock
from corpus_assets.core.store import Store
from corpus_assets.core.store_s3 import S3Store
from corpus_assets.evidence import find_pack
from corpus_assets.ingest import load_snapshot_files, text_id_of
from corpus_assets.lineage import GRAM_WORDS, DigestIndex
from corpus_assets.shards import Encoder, exported_version
from corpus_assets.takedown.contents import UNKNOWN, Reader, around
from corpus_assets.takedown.copies import held_documents, with_earlier
from corpus_assets.takedown.places import DELETE, Places, StoredValue, stored_values

TELL_S = 30.0
SHOWN_DOCUMENT = re.compile(
    rb'<article id="([0-9a-f]{32})"'
)  # as `inspect.sample_page_html` marks them
TAGS = re.compile(r"<[^>]{0,2000}>")
ESCAPES = re.compile(r"\\(u[0-9a-fA-F]{4}|[nrtbf\"/\\])")
PLAIN = {"n": "\n", "r": "\r", "t": "\t", "b": " ", "f": " ", '"': '"', "/": "/", "\\": "\\"}

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Holder:
    """A file that holds a removed document, or a copy that may."""

    file: str
    share_percent: int  # of the document's 13-grams
    is_source: bool  # the operator's original, which a snapshot or a calibration was made from
    statement: str  # what it holds, after the file's name
    to_do: str  # about it


@dataclass(frozen=True)
class _Copy:
    finding: str
    to_do: str
    held: set[str] | None  # documents; None: any


@dataclass
class HomeSearch:
    """One search over any number of files, for documents by text id and 13-gram digests."""

    text_ids: Mapping[str, bytes]
    index: DigestIndex
    decoders: Sequence[Encoder] = ()
    tell: Tell = lambda _: None
    inputs: Collection[str] = ()  # digests of the files that versions were made from
    held_by: Collection[str] = ()  # versions that held the documents
    places: Places = field(default_factory=Places)
    files: int = 0
    total_bytes: int = 0
    not_searched: list[tuple[str, str]] = field(default_factory=list)
    _held: dict[str, dict[str, float]] = field(default_factory=dict)  # file -> document -> share
    _values: dict[str, list[tuple[StoredValue, set[str]]]] = field(default_factory=dict)
    _shown: dict[str, set[str]] = field(default_factory=dict)  # page -> documents it shows
    _found: dict[Path, CopyRow] = field(default_factory=dict)  # copies that were met
    _copies: dict[str, _Copy] = field(default_factory=dict)
    _sources: set[str] = field(default_factory=set)
    _recorded: set[str] = field(default_factory=set)  # outputs of artifacts that the registry knows
    _registries: set[str] = field(default_factory=set)  # databases of the catalog and of Dagster
    _reported_at: float = field(default_factory=time.monotonic)

    def folder(
        self,
        folder: Path,
        home: Path,
        passed_over: Collection[Path] = (),
        sources: Collection[Path] = (),
    ) -> None:
        """Search every file below a folder; links are not followed."""
        for place, folders, names in os.walk(folder, onerror=self._unlistable):
            folders.sort()
            self._meet(Path(place), home)
            for path in (Path(place, name) for name in sorted(names)):
                if path in sources:
                    self._sources.add(_name(path, home))
                if path not in passed_over:
                    self.path(path, home)

    def path(self, path: Path, home: Path) -> None:
        """Search a file of this machine; one of the home is named by its place in it."""
        name = _name(path, home)
        try:
            if stat.S_ISREG(path.lstat().st_mode):
                with path.open("rb") as stream:
                    self.file(name, stream, path)
                if name in self._held and self._is_input(path):
                    self._sources.add(name)
        except FileNotFoundError:
            return  # gone since it was listed
        except OSError as error:
            self.not_searched.append((name, error.strerror or str(error)))

    def objects(self, store: Store, passed_over: Collection[str]) -> None:
        """Search every object of a store that is no folder of this machine."""
        for path in store.list(""):
            if path not in passed_over:
                name = f"{store.url}/{path}"
                try:
                    data = store.read(path)
                except (CorpusError, MemoryError) as error:
                    self.not_searched.append((name, str(error)))
                else:
                    self.file(name, io.BytesIO(data))

    def file(self, name: str, stream: IO[bytes], path: Path | None = None) -> None:
        """Search one file; `path` is where SQLite can open it."""
        is_ours = name in self._recorded
        found = Found(self.text_ids, self.index, by_value=is_ours)
        n_bytes = stream.seek(0, 2)
        stream.seek(0)
        self.files += 1
        self.total_bytes += n_bytes
        reader = Reader(found, self.decoders, n_bytes, is_ours, name in self._registries)
        reader.file(stream, path)
        is_pinned = self.places.is_pinned(name)  # its stage says what it may hold
        self.not_searched += [
            (name, why) for why in reader.unread if not (is_pinned and why.endswith(UNKNOWN))
        ]
        held = found.shares()
        if held:
            self._held[name] = held
            if path is not None:
                self._values[name] = [
                    (value, docs) for value in stored_values(path) if (docs := self._in(value))
                ]
        if found.shown:
            self._shown[name] = found.shown
        if time.monotonic() - self._reported_at > TELL_S:
            self._reported_at = time.monotonic()
            gib = self.total_bytes / 2**30
            self.tell(f"searching the home: {counted(self.files, 'file')}, {gib:.1f} GiB")

    def holders_of(self, doc_ids: Collection[str], copied: Collection[str] = ()) -> list[Holder]:
        """Files that hold some of the documents.

        A file between two stages of the corpus holds what its documents hold: it is not named for
        documents that are `copied`, of which the search of live versions named the copies.
        """
        wanted, found = set(doc_ids), []
        copies = {
            name: copy
            for name, copy in self._copies.items()
            if copy.held is None or copy.held & wanted
        }
        for name in sorted({*self._held, *self._shown} - copies.keys()):
            shares, shown = self._held.get(name, {}), self._shown.get(name, set())
            of_file = wanted - set(copied) if name in self._recorded else wanted
            share = max((shares[one] for one in of_file & shares.keys()), default=0.0)
            percent = round(100 * share)
            if shown & wanted:
                found.append(Holder(name, percent, False, "shows removed documents", DELETE))
            elif share and not any(name.startswith(f"{folder}/") for folder in copies):
                finding = f"holds {percent}% of a removed text"
                is_source = name in self._sources
                values = [value for value, docs in self._values.get(name, ()) if docs & wanted]
                to_do = self.places.to_do(name, is_source, values)
                found.append(Holder(name, percent, is_source, finding, to_do))
        return found + [
            Holder(name, 0, False, copy.finding, copy.to_do)
            for name, copy in sorted(copies.items())
        ]

    def copies(self, registry: Registry, store: Store, home: Path) -> None:
        """Ask the copies that were met, and those that are registered, what they hold."""
        held_by = with_earlier(self.held_by, registry)
        for row in registry.copies():
            path = path_of(row, home)
            if row.kind == "weights":
                continue
            if path is None:
                held = held_documents(row, None, registry, store, held_by)
                if held is None or held & self.text_ids.keys():
                    why = f"a copy ({row.kind}) on {row.machine}, which holds removed documents or "
                    self.not_searched.append((row.place, f"{why}may hold some: delete it there"))
            elif path.exists():
                self._found[path] = row
        for path, row in self._found.items():
            held = held_documents(row, path, registry, store, held_by)
            if held is None or held & self.text_ids.keys():
                self._copies[_name(path, home)] = _described(row, held, registry)

    def note_recorded(self, names: Iterable[str]) -> None:
        """Say which files lie between two stages of the corpus."""
        self._recorded.update(names)

    def note_registries(self, names: Iterable[str]) -> None:
        """Say which databases the program keeps."""
        self._registries.update(names)

    def _meet(self, folder: Path, home: Path) -> None:
        """Note a folder that says of itself that it is a copy of a version."""
        version = exported_version(folder)
        if version is not None:
            self._found[folder] = CopyRow(_name(folder, home), "export", {version: None})
        elif (pack := find_pack(folder)) is not None:
            versions = self.held_by if pack.versions is None else pack.versions
            self._found[folder] = CopyRow(_name(folder, home), "pack", dict.fromkeys(versions))

    def _in(self, value: StoredValue) -> set[str]:
        """Return the documents of which a value of a database holds a passage."""
        found = Found(self.text_ids, self.index)
        found.values([value.text])
        return found.passages

    def _is_input(self, path: Path) -> bool:
        with path.open("rb") as stream:
            return bool(self.inputs) and file_digest(stream, "sha256").hexdigest() in self.inputs

    def _unlistable(self, error: OSError) -> None:
        self.not_searched.append((str(error.filename), error.strerror or str(error)))


class Found:
    """What one file holds: document -> the digests of it that were seen.

    Digests are joined over all texts of the file, or are those of the text that has most of them
    (`by_value`).
    """

    def __init__(
        self, text_ids: Mapping[str, bytes], index: DigestIndex, by_value: bool = False
    ) -> None:
        self._whole: dict[bytes, list[str]] = {}
        for doc_id, text_id in text_ids.items():
            self._whole.setdefault(text_id, []).append(doc_id)
        self._index = index
        self._by_value = by_value
        self._digests: dict[str, set[str]] = {}
        self._exact: set[str] = set()
        self._known = text_ids.keys()
        self.shown: set[str] = set()

    def page(self, data: bytes) -> None:
        """Bytes that may be of a page that marks the documents it shows."""
        self.shown.update(self._known & {one.decode() for one in SHOWN_DOCUMENT.findall(data)})

    def values(self, values: Sequence[str]) -> None:
        """Strings that are each the whole of something."""
        for value in values:
            self._exact.update(self._whole.get(text_id_of(value.encode(errors="ignore")), ()))
        self.texts(values)

    def texts(self, texts: Sequence[str]) -> None:
        """Search texts for 13-grams; one may go on in the next, unless each counts by itself."""
        pieces = texts if self._by_value else ["\n".join(texts)]
        long = (text for text in pieces if len(text) >= GRAM_WORDS)  # in some scripts a word each
        readings = [(row, read) for row, text in enumerate(long) for read in _readings(text)]
        seen: dict[tuple[int, str], set[str]] = {}
        array = pa.array([read for _, read in readings], pa.large_string())
        for (row, _), found in zip(readings, self._index.digests_in(array), strict=True):
            for doc_id, digests in found.items():
                seen.setdefault((row, doc_id), set()).update(digests)
        for (_, doc_id), digests in seen.items():
            known = self._digests.get(doc_id, set())
            joined = max(known, digests, key=len) if self._by_value else known | digests
            self._digests[doc_id] = joined

    @property
    def passages(self) -> set[str]:
        """Documents of which something was seen, however little."""
        return {*self._digests, *self._exact}

    def shares(self) -> dict[str, float]:
        """Return the share of each document that is held whole or in good part."""
        shares = {one: self._index.share(one, len(seen)) for one, seen in self._digests.items()}
        return {one: share for one, share in shares.items() if share} | dict.fromkeys(
            self._exact, 1.0
        )


def _readings(text: str) -> list[str]:
    """Return a text as it is, and as it reads without JSON's escapes and HTML's tags."""
    readings = [text]
    if "\\" in text:
        readings.append(ESCAPES.sub(_unescaped, around(text, lambda block: "\\" in block, "\n")))
        text = ESCAPES.sub(_unescaped, text)
    if "</" in text or "&" in text:
        readings.append(html.unescape(TAGS.sub(" ", text)))
    return readings


def _unescaped(match: "re.Match[str]") -> str:
    escape = match[1]
    if escape[0] != "u":
        return PLAIN[escape]
    number = int(escape[1:], 16)
    return chr(number) if not 0xD800 <= number < 0xE000 else " "


def search_home(
    root: Path, store: Store, registry: Registry, found: HomeSearch, passed_over: Collection[str]
) -> None:
    """Search all that belongs to a home: its folder, its store and catalog wherever they lie, and
    this machine's cache of a store on S3. `passed_over` are files of the store seen already."""
    sources = {
        Path(file.uri.removeprefix("file://"))
        for snapshot in registry.snapshots()
        for file in registry.source_files(snapshot.name)
    }
    found.inputs = _training_files(store, registry) | _source_files(store, registry, root)
    found.held_by = with_earlier(found.held_by, registry)
    found.places = Places.of(root, store, registry)
    made = [output.path for artifact in registry.stream_artifacts() for output in artifact.outputs]
    if isinstance(store, S3Store):  # copies of an object lie in a folder of its name
        held = store.cache
        seen = {copy for path in passed_over for copy in (held / path).glob("*")}
        found.note_recorded(f"{store.url}/{path}" for path in made)
        found.note_recorded(_name(c, root) for path in made for c in (held / path).glob("*"))
        found.objects(store, passed_over)
    else:
        held = Path(store.url)
        seen = {held / path for path in passed_over}
        found.note_recorded(_name(held / path, root) for path in made)
    database = registry.database.file
    kept = [*(root / "dagster").rglob("*.db"), *([database] if database is not None else [])]
    found.note_registries(_name(path, root) for path in kept)
    found.folder(root, root, seen, sources)
    if not held.is_relative_to(root):
        found.folder(held, root, seen, sources)
    if database is not None and not database.resolve().is_relative_to(root):
        for ending in ("", "-wal", "-journal"):
            found.path(database.with_name(database.name + ending), root)
    found.copies(registry, store, root)


def _described(row: CopyRow, held: set[str] | None, registry: Registry) -> _Copy:
    versions = ", ".join(sorted(row.holds))
    verb = "may hold" if held is None else "holds"
    what = {
        "pack": "an evidence pack",
        "page": "a sample page",
        "record": "an original record",
        "signatures": "a file of signatures",
    }
    named = f"{what.get(row.kind, f'an {row.kind}')} of {versions}"
    finding = f"is {named} and {verb} removed documents"
    known = {version.name: version.superseded_by for version in registry.versions()}
    after = [name for version in row.holds if (name := known.get(version))]
    if row.kind == "export" and after:
        return _Copy(finding, f"delete it, and export {after[0]} instead", held)
    return _Copy(finding, DELETE, held)


def _training_files(store: Store, registry: Registry) -> set[str]:
    """Digests of the files beside the snapshots that live versions were made from."""
    live = [version.name for version in registry.versions() if version.status == "live"]
    locks = [Lock.model_validate_json(store.read(f"versions/{name}/lock.json")) for name in live]
    return {
        pin.sha256
        for lock in locks
        for name, pins in lock.inputs.items()
        if "/" in name  # kind/name; a snapshot's files are known by their places
        for pin in pins
    }


def _source_files(store: Store, registry: Registry, root: Path) -> set[str]:
    """Digests of all files that snapshots pin, with the members of folders and the files of their
    sites: a copy under another name is an original too."""
    found: set[str] = set()
    for snapshot in registry.snapshots():
        try:
            pinned = load_snapshot_files(store, snapshot.name, root)
        except MissingInput:  # unpinned since
            continue
        for file in itertools.chain(pinned.files, pinned.robots):
            found.add(file.sha256)
            found.update(member.sha256 for member in file.members)
    return found


def _name(path: Path, home: Path) -> str:
    return path.relative_to(home).as_posix() if path.is_relative_to(home) else str(path)
