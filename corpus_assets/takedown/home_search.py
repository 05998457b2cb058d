"""Search every file of a home for removed texts, whatever wrote the file.

The lineage of live versions is searched row by row (`residue`). This is for all the rest: caches,
logs, Dagster's records, temporary files, the catalog's own pages with those that are free, what
people put there, and every object of a store on S3. A file is read once, as a stream, and decoded
by what it begins with:

    Parquet, Arrow          strings and bytes of every column; lists of token ids, spelled
    gzip, zstd, bzip2, xz   what they hold, as one of these
    zip                     every member
    SQLite                  every value of every row, and the raw pages, write-ahead log included
    numpy                   strings
    .bin, .ds, .mds         raw, and as token ids of the live versions' tokenizers
    anything else           raw

Raw text is searched as it is, without JSON's escapes and without HTML's tags and entities. A file
holds a removed document when it has a good share of the document's 13-grams, or the whole text as
one value. A text too short for 13-gram digests is only found as a value. In a file that a stage of
the corpus wrote, each value counts by itself: thousands of its documents together have many
passages of any text, in quotations and forms of words, and none of them is a copy.

Two kinds of copies are known by what they say of themselves, however little of a text they have: a
canary page marks the documents it shows, and an export names its version.

What cannot be opened or decoded to its end is named, not passed over. Memory: a few megabytes and
a row group. Time follows the bytes.
"""

import bz2
import gzip
import html
import io
import lzma
import os
import re
import sqlite3
import stat
import time
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field
from hashlib import file_digest
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, AnyStr

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from catalog.db.registry import Registry
from corpus_assets.core.errors import CorpusError
from corpus_assets.core.lock import Lock
from corpus_assets.core.store import Store
from corpus_assets.core.store_s3 import S3Store
from corpus_assets.ingest.documents import text_id_of
from corpus_assets.shards.export.check import exported_version, removed_documents
from corpus_assets.shards.tokens import Encoder
from corpus_assets.versions.removed import NGRAM, DigestIndex

CHUNK = 4 << 20
OVERLAP = 16_384  # bytes of a chunk that the next one begins with; longer than any 13 words
TEXT_RUNS = re.compile(rb"[^\x00-\x08\x0e-\x1f\x7f]{25,}")  # 13 words are no shorter
TELL_S = 30.0
ROWS = 256  # of a SQLite table that are searched at once
MAX_DEPTH = 4  # compressed in compressed in ...
TOKEN_FILES = re.compile(r"\.(bin|ds|mds)(\.|$)")
SHOWN_DOCUMENT = re.compile(rb'<article id="([0-9a-f]{32})"')  # as `inspect.canary` marks them
TAGS = re.compile(r"<[^>]{0,2000}>")
ESCAPES = re.compile(r"\\(u[0-9a-fA-F]{4}|[nrtbf\"/\\])")
PLAIN = {"n": "\n", "r": "\r", "t": "\t", "b": " ", "f": " ", '"': '"', "/": "/", "\\": "\\"}
DAMAGE = (OSError, EOFError, ValueError, pa.ArrowException, zlib.error, lzma.LZMAError,
          zipfile.BadZipFile, sqlite3.Error, RuntimeError)  # fmt: skip

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Holder:
    """A file that holds a removed document, or the folder of an export that may."""

    file: str
    share_percent: int  # of the document's 13-grams
    is_source: bool  # the operator's original, which a snapshot or a calibration was made from
    said: str  # what it holds, after the file's name


@dataclass
class HomeSearch:
    """One search over any number of files, for documents by text id and 13-gram digests."""

    text_ids: Mapping[str, bytes]
    index: DigestIndex
    decoders: Sequence[Encoder] = ()
    tell: Tell = lambda _: None
    inputs: Collection[str] = ()  # digests of the files that calibrations were trained on
    held_by: Collection[str] = ()  # versions that held the documents
    files: int = 0
    total_bytes: int = 0
    not_searched: list[tuple[str, str]] = field(default_factory=list)
    _held: dict[str, dict[str, float]] = field(default_factory=dict)  # file -> document -> share
    _shown: dict[str, set[str]] = field(default_factory=dict)  # page -> documents it shows
    _exports: dict[Path, str] = field(default_factory=dict)  # folder -> version
    _exported: dict[str, tuple[str, set[str] | None]] = field(default_factory=dict)  # None: any
    _sources: set[str] = field(default_factory=set)
    _recorded: set[str] = field(default_factory=set)  # outputs of artifacts that the registry knows
    _told: float = field(default_factory=time.monotonic)

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
            version = exported_version(Path(place))
            if version is not None and version in self.held_by:
                self._exports[Path(place)] = version
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
                try:
                    data = io.BytesIO(store.read(path))
                    self.file(f"{store.url}/{path}", io.BufferedReader(data))
                except CorpusError as error:
                    self.not_searched.append((f"{store.url}/{path}", str(error)))

    def file(self, name: str, stream: io.BufferedReader, path: Path | None = None) -> None:
        """Search one file; `path` is where SQLite can open it."""
        found = _Found(self.text_ids, self.index, by_value=name in self._recorded)
        self.files += 1
        self.total_bytes += stream.seek(0, 2)
        stream.seek(0)
        try:
            self._decode(found, name, stream, path)
        except DAMAGE as error:
            self.not_searched.append((name, f"cannot be decoded: {type(error).__name__}"))
            stream.seek(0)
            _raw(found, stream)
        held = found.shares()
        if held:
            self._held[name] = held
        if found.shown:
            self._shown[name] = found.shown
        if time.monotonic() - self._told > TELL_S:
            self._told = time.monotonic()
            self.tell(f"searching the home: {self.files} files, {self.total_bytes / 2**30:.1f} GiB")

    def holders_of(self, doc_ids: Collection[str], copied: Collection[str] = ()) -> list[Holder]:
        """Files that hold some of the documents.

        A file between two stages of the corpus holds what its documents hold: it is not named for
        documents that are `copied`, of which the search of live versions named the copies.
        """
        wanted, found = set(doc_ids), []
        exported = {
            name: said
            for name, (said, held) in self._exported.items()
            if held is None or held & wanted
        }
        for name in sorted({*self._held, *self._shown}):
            shares, shown = self._held.get(name, {}), self._shown.get(name, set())
            of_file = wanted - set(copied) if name in self._recorded else wanted
            share = max((shares[one] for one in of_file & shares.keys()), default=0.0)
            percent = round(100 * share)
            if shown & wanted:
                found.append(Holder(name, percent, False, "shows removed documents"))
            elif share and not any(name.startswith(f"{folder}/") for folder in exported):
                said = f"holds {percent}% of a removed text"
                found.append(Holder(name, percent, name in self._sources, said))
        return found + [Holder(name, 0, False, said) for name, said in sorted(exported.items())]

    def exports(self, registry: Registry, store: Store, home: Path) -> None:
        """Ask the exports that were met which removed documents they hold."""
        for folder, version in self._exports.items():
            try:
                held = removed_documents(registry, store, folder)
            except (CorpusError, *DAMAGE):
                held = None  # stopped, or damaged
            verb = "may hold" if held is None else "holds"
            said = f"is an export of {version} and {verb} removed documents"
            self._exported[_name(folder, home)] = (said, held)

    def note_recorded(self, names: Iterable[str]) -> None:
        """Say which files lie between two stages of the corpus."""
        self._recorded.update(names)

    def _is_input(self, path: Path) -> bool:
        with path.open("rb") as stream:
            return bool(self.inputs) and file_digest(stream, "sha256").hexdigest() in self.inputs

    def _unlistable(self, error: OSError) -> None:
        self.not_searched.append((str(error.filename), error.strerror or str(error)))

    def _decode(
        self,
        found: "_Found",
        name: str,
        stream: io.BufferedReader,
        path: Path | None,
        depth: int = 0,
    ) -> None:
        head = stream.peek(16)
        unpacked = _unpacked(head, stream) if depth < MAX_DEPTH else None
        if unpacked is not None:
            with unpacked as held:
                self._decode(found, name, io.BufferedReader(held), None, depth + 1)
        elif head.startswith(b"PAR1") and stream.seekable():
            with pq.ParquetFile(stream) as table:
                for number in range(table.num_row_groups):
                    self._columns(found, table.read_row_group(number, use_threads=False).columns)
        elif head.startswith(b"ARROW1") and stream.seekable():
            batches = pa.ipc.open_file(stream)
            for number in range(batches.num_record_batches):
                self._columns(found, batches.get_batch(number).columns)
        elif head.startswith(b"PK\x03\x04") and stream.seekable():
            with zipfile.ZipFile(stream) as members:
                for member in members.infolist():
                    with members.open(member) as packed:
                        inner: Any = packed
                        inner = io.BufferedReader(inner)
                        self._decode(found, member.filename, inner, None, depth + 1)
        else:
            if head.startswith(b"SQLite format 3\0") and path is not None:
                _rows(found, path)
            elif head.startswith(b"\x93NUMPY") and stream.seekable():
                array = np.load(stream, allow_pickle=False)
                if array.dtype.kind in "US":
                    found.values(array.astype(str).ravel().tolist())
                stream.seek(0)
            elif TOKEN_FILES.search(Path(name).name) and stream.seekable():
                self._tokens(found, stream)
                stream.seek(0)
            _raw(found, stream)

    def _columns(self, found: "_Found", columns: Iterable[Any]) -> None:
        for column in columns:
            for array in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
                self._array(found, array)

    def _array(self, found: "_Found", array: Any) -> None:
        kind = array.type
        if pa.types.is_dictionary(kind):
            self._array(found, array.dictionary)
        elif pa.types.is_struct(kind):
            self._columns(found, array.flatten())
        elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
            values = array.flatten()
            if pa.types.is_integer(values.type):
                lengths = array.drop_null().value_lengths().to_numpy()
                self._spell(found, values.to_numpy(zero_copy_only=False), lengths)
            else:
                self._array(found, values)
        elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
            found.values(array.drop_null().to_pylist())
        elif pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
            found.blobs(array.drop_null().to_pylist())

    def _tokens(self, found: "_Found", stream: IO[bytes]) -> None:
        """Read a file as token ids of two or four bytes, wherever among other bytes they begin."""
        while data := stream.read(CHUNK):
            for dtype in ("<i4", "<u2"):
                width = np.dtype(dtype).itemsize
                for shift in range(width):
                    usable = data[shift : shift + (len(data) - shift) // width * width]
                    self._spell(
                        found, np.frombuffer(usable, dtype), np.array([len(usable) // width])
                    )
            if len(data) == CHUNK:
                stream.seek(-(1 << 16), 1)

    def _spell(self, found: "_Found", tokens: Any, lengths: Any) -> None:
        """Search what lists of token ids spell; `tokens` are those of all lists."""
        lengths = lengths.astype(np.int64)
        starts, firsts = np.cumsum(lengths) - lengths, np.arange(lengths.size + 1)
        for encoder in self.decoders:
            spelled, offsets = encoder.spell_spans(
                np.ascontiguousarray(tokens), starts, lengths, firsts
            )
            data = bytes(spelled)
            found.texts([data[a:b].decode(errors="ignore") for a, b in pairwise(offsets.tolist())])


class _Found:
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

    def blobs(self, values: Sequence[bytes]) -> None:
        """Bytes that may be text, one search for all: no run of text continues past a NUL."""
        _raw(self, io.BytesIO(b"\0".join(values)))

    def texts(self, texts: Sequence[str]) -> None:
        """Search texts for 13-grams; one may go on in the next, unless each counts by itself."""
        pieces = texts if self._by_value else ["\n".join(texts)]
        long = (text for text in pieces if len(text) >= NGRAM)  # in some scripts a word each
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

    def shares(self) -> dict[str, float]:
        """Return the share of each document that is held whole or in good part."""
        shares = {one: self._index.share(one, len(seen)) for one, seen in self._digests.items()}
        return {one: share for one, share in shares.items() if share} | dict.fromkeys(
            self._exact, 1.0
        )


def _unpacked(head: bytes, stream: IO[bytes]) -> Any:
    """Decompress a stream; None for one that is not compressed."""
    if head.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=stream)
    if head.startswith(b"\x28\xb5\x2f\xfd"):
        # Not closed by us: that would close the file below, which may be read once more.
        return nullcontext(pa.CompressedInputStream(pa.PythonFile(stream, mode="r"), "zstd"))
    if head.startswith(b"BZh"):
        return bz2.BZ2File(stream)
    if head.startswith(b"\xfd7zXZ\0"):
        return lzma.LZMAFile(stream)
    return None


def _raw(found: _Found, stream: IO[bytes]) -> None:
    """Bytes as text, chunk by chunk; each begins with the end of the one before."""
    before = b""
    while data := stream.read(CHUNK):
        data = before + data
        found.page(data)
        text = b"\n".join(TEXT_RUNS.findall(data))
        if text:
            found.texts([_decoded(text)])
        before = data[-OVERLAP:]


def _decoded(data: bytes) -> str:
    text = data.decode(errors="ignore")
    if len(text.encode()) == len(data):
        return text
    older = _around(data, lambda block: not _is_utf8(block), b"\n")
    return f"{text}\n{older.decode('cp1252', errors='ignore')}"  # pages in older encodings


def _is_utf8(block: bytes) -> bool:
    try:
        block.decode()
    except UnicodeDecodeError:
        return False
    return True


def _readings(text: str) -> list[str]:
    """Return a text as it is, and as it reads without JSON's escapes and HTML's tags."""
    readings = [text]
    if "\\" in text:
        readings.append(ESCAPES.sub(_unescaped, _around(text, lambda block: "\\" in block, "\n")))
        text = ESCAPES.sub(_unescaped, text)
    if "</" in text or "&" in text:
        readings.append(html.unescape(TAGS.sub(" ", text)))
    return readings


def _around(text: AnyStr, differs: Callable[[AnyStr], bool], gap: AnyStr) -> AnyStr:
    """Return the blocks in which another reading differs, each with its neighbours, so that no 13-gram
    with a difference in it is left out; a gap for each other block."""
    starts = range(0, len(text), OVERLAP)
    blocks: list[AnyStr] = [text[start : start + OVERLAP] for start in starts]
    near = [False, *map(differs, blocks), False]
    return gap[:0].join(
        block if any(near[place : place + 3]) else gap for place, block in enumerate(blocks)
    )


def _unescaped(match: "re.Match[str]") -> str:
    escape = match[1]
    if escape[0] != "u":
        return PLAIN[escape]
    number = int(escape[1:], 16)
    return chr(number) if not 0xD800 <= number < 0xE000 else " "


def _rows(found: _Found, path: Path) -> None:
    """Every value of every row of a SQLite file, as others see it."""
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=5)) as database:
        database.text_factory = lambda data: data.decode(errors="ignore")
        names = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (name,) in names:
            quoted = '"' + name.replace('"', '""') + '"'
            rows = database.execute(f"SELECT * FROM {quoted}")  # noqa: S608 - a table's name
            while some := rows.fetchmany(ROWS):
                values = [value for row in some for value in row]
                found.values([value for value in values if isinstance(value, str)])
                found.blobs([value for value in values if isinstance(value, bytes)])


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
    found.inputs = _training_files(store, registry)
    found.held_by = _with_earlier(found.held_by, registry)
    made = [output.path for artifact in registry.artifacts() for output in artifact.outputs]
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
    found.folder(root, root, seen, sources)
    if not held.is_relative_to(root):
        found.folder(held, root, seen, sources)
    database = registry.database.file
    if database is not None and not database.resolve().is_relative_to(root):
        for ending in ("", "-wal", "-journal"):
            found.path(database.with_name(database.name + ending), root)
    found.exports(registry, store, root)


def _with_earlier(versions: Collection[str], registry: Registry) -> set[str]:
    """Versions with those whose place they took: these held all that they held."""
    found = set(versions)
    for row in reversed(registry.versions()):
        if row.superseded_by in found:
            found.add(row.name)
    return found


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


def _name(path: Path, home: Path) -> str:
    return path.relative_to(home).as_posix() if path.is_relative_to(home) else str(path)
