"""What a file holds as text, whatever wrote it and however it is packed.

A file is read once, as a stream, and opened by what it begins with:

    gzip, zlib, zstd, bzip2, xz, lzma, lz4, brotli, snappy   what they hold, as one of these
    zip, tar                                                 every member
    Parquet, Arrow (files and streams), ORC                  values of every column, nested ones too
    SQLite                                                   every value of every row, and the raw pages
    numpy                                                    strings; numbers as token ids
    anything else                                            raw

Raw bytes are searched as text in UTF-8, in older encodings of one byte, and in UTF-16 and UTF-32 of
either byte order; without JSON's escapes and HTML's tags and entities (`search`). Whole numbers are
spelled as token ids by the tokenizers at hand, whatever the file is called: written out as digits,
or binary in two, four or eight bytes from any byte on. Long runs of base64 or hex digits are
decoded and opened as files are.

What is not text, and in no format of these, is `unread`, and so is what cannot be decoded to its
end; either is searched as raw bytes all the same. No file raises. Depth and bytes of what is packed
are bounded. Memory: a few megabytes and a row group.
"""

import base64
import bz2
import codecs
import io
import lzma
import re
import sqlite3
import struct
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, Protocol

import brotli
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq

from corpus_assets.shards import Encoder

CHUNK = 4 << 20
OVERLAP = 16_384  # bytes of a chunk that the next one begins with; longer than any 13 words
MIN_CHARS = 25  # 13 words are no shorter
TEXT_RUNS = re.compile(rb"[^\x00-\x08\x0e-\x1f\x7f]{25,}")
NUMBER_RUNS = re.compile(rb"[0-9,\s\[\]]{40,}")
PACKED_RUNS = re.compile(rb"(?:[A-Za-z0-9+/_-]{40,}(?:\\[nr]|\s){0,4})+[A-Za-z0-9+/_-]*")
NO_DIGIT = re.compile(rb"\\[nr]|[^A-Za-z0-9+/_-]")
HEX = re.compile(rb"(?:[0-9a-fA-F]{2})+")
DIGEST_DIGITS = 128  # of SHA-512: shorter runs are names of files and rows, and no text
CAPITALS = re.compile(rb"[A-Z]+")
MAX_SMALL = 0.9  # share of base64 that is no capital letter; of paths and names it is all
MIN_PACKED_CHARS = 60
PIECE = 1 << 18
HEAD = 512
MAX_DEPTH = 8  # compressed in compressed in ...
MIN_UNPACKED_BYTES = 1 << 30
MAX_RATIO = 200  # of bytes unpacked to bytes read; beyond, and above the minimum, it is a bomb
WHOLE_BYTES = 64 << 20  # of what has to be in memory in one piece
ROWS = 256  # of a SQLite table that are searched at once
BLOCK = 256  # bytes that are classified as text or not,
NEIGHBOURS = 4  # with so many blocks on either side
STRAY = 3  # control characters that make a block none: texts have no others than tabs and lines
UNKNOWN = "neither text nor in a format that is known here"

# What cannot be opened here, by what it begins with.
CLOSED = {
    b"%PDF-": "a PDF document",
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF8": "a GIF image",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"Rar!": "a RAR archive",
    b"Obj\x01": "an Avro file",
    b"\x89HDF": "an HDF5 file",
    b"FEA1": "a Feather file of version 1",
    b"PARE": "an encrypted Parquet file",
    b"\x80\x02": "a pickle",
    b"\x80\x03": "a pickle",
    b"\x80\x04": "a pickle",
    b"\x80\x05": "a pickle",
}
RAW = (
    b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83",  # SQLite's write-ahead log: pages as they are
    b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7",  # its journal
    b"\x18\xe2\x2d\x00",  # its index of the log: numbers of pages
    b"MMIDIDX\0\0",  # where the documents of a shard begin
)  # fmt: skip
SNAPPY = b"\xff\x06\x00\x00sNaPpY"
WIDE = (("<u2", "utf-16-le"), (">u2", "utf-16-be"), ("<u4", "utf-32-le"), (">u4", "utf-32-be"))
WIDTHS = ("<u2", ">u2", "<i4", ">i4", "<i8", ">i8")
OUR_WIDTHS = ("<u2", "<i4")
MARKS = {
    b"\xff\xfe\0\0": "utf-32",
    b"\0\0\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}

Bools = npt.NDArray[np.bool_]
Lists = tuple[Any, Any]  # numbers of all lists end to end, and the length of each


class Sink(Protocol):
    """What hears of everything that was read."""

    def values(self, values: Sequence[str]) -> None:
        """Strings that are each the whole of something."""

    def texts(self, texts: Sequence[str]) -> None:
        """Texts of which one may go on in the next."""

    def page(self, data: bytes) -> None:
        """Bytes that may be of a page."""


class Reader:
    """Reads one file into a sink. `unread` says what was not understood, and why.

    `is_ours`: a stage of the corpus wrote the file, so its bytes that are no text are declared.
    `is_registry`: a database that the program keeps, of rows whose text is UTF-8, nothing packed in
    it; so are its free pages.
    """

    def __init__(
        self,
        sink: Sink,
        encoders: Sequence[Encoder] = (),
        size: int = 0,
        is_ours: bool = False,
        is_registry: bool = False,
    ) -> None:
        self.unread: list[str] = []
        self._sink = sink
        self._encoders = encoders
        self._is_ours = is_ours
        self._is_registry = is_registry
        self._spools = ExitStack()
        self._left = max(MIN_UNPACKED_BYTES, MAX_RATIO * size)

    def file(self, stream: IO[bytes], path: Path | None = None) -> None:
        """Read a file; `path` is where SQLite can open it. Damage is noted, nothing is raised."""
        self._opened(stream, path, "", 0)

    def _opened(self, stream: IO[bytes], path: Path | None, inside: str, depth: int) -> bool:
        """Open a stream; False where it could not be read to its end."""
        outer = self._spools
        try:
            with ExitStack() as self._spools:
                self._open(io.BufferedReader(_Raw(stream), PIECE), path, inside, depth)
        except Exception as error:  # of any decoder on any bytes, MemoryError among them
            self._note(inside, error)
            return False
        finally:
            self._spools = outer
        return True

    def _note(self, inside: str, why: str | BaseException) -> None:
        if isinstance(why, _TooLarge):
            why = f"unpacks to more than {why} bytes"
        elif isinstance(why, OSError) and why.strerror:
            why = why.strerror
        elif isinstance(why, BaseException):
            why = "damaged: cannot be decoded to its end"
        line = f"{inside}: {why}" if inside else why
        if line not in self.unread:
            self.unread.append(line)

    def _open(self, stream: IO[bytes], path: Path | None, inside: str, depth: int) -> None:
        """Open a stream by its first bytes; one that cannot be decoded is read as it lies."""
        head = stream.peek(HEAD)[:HEAD] if isinstance(stream, io.BufferedReader) else b""
        unpacked = _unpacked(head, stream)
        container = _container(head)
        if depth > MAX_DEPTH and (unpacked or container):
            self._note(inside, f"packed more than {MAX_DEPTH} times")
            self._raw(stream, depth)
            return
        if unpacked is not None:
            if not self._inner(unpacked, inside, depth) and stream.seekable():
                stream.seek(0)
                self._raw(stream, depth)
            return
        if container is not None:
            stream = self._seekable(stream)
            try:
                is_read = container(self, stream, path, inside, depth)
            except Exception as error:
                self._note(inside, error)
                is_read = False
            if not is_read:
                stream.seek(0)
                self._raw(stream, depth)
            return
        encoding = next((name for mark, name in MARKS.items() if head.startswith(mark)), None)
        if encoding or _share_of_controls(head) or not _is_utf8(head[: HEAD - 4] or head):
            stream = self._seekable(stream)
            if encoding is not None and self._marked(stream, encoding, depth):
                return
            stream.seek(0)
            guessed = self._guessed(stream)
            if guessed is not None and self._inner(guessed, inside, depth):
                return
            stream.seek(0)
        self._plain(stream, head, inside, depth)

    def _plain(self, stream: IO[bytes], head: bytes, inside: str, depth: int) -> None:
        closed = next((name for magic, name in CLOSED.items() if head.startswith(magic)), None)
        if head[8:12] == b"DUCK":
            closed = "a DuckDB database"
        if closed is not None:
            self._note(inside, closed)
        is_known = closed is not None or head.startswith(RAW) or self._is_ours
        if not self._raw(stream, depth) and not is_known:
            self._note(inside, UNKNOWN)

    def _inner(self, pieces: Iterator[bytes], inside: str, depth: int) -> bool:
        unpacked: Any = _Pieces(self._counted(pieces))
        return self._opened(unpacked, None, inside, depth + 1)

    def _counted(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        most = self._left
        for piece in pieces:
            self._left -= len(piece)
            if self._left < 0:
                raise _TooLarge(most)
            yield piece

    def _seekable(self, stream: IO[bytes]) -> IO[bytes]:
        """Give the same bytes as a file that can be searched in; it has no name."""
        if stream.seekable():
            return stream
        spool = tempfile.SpooledTemporaryFile(CHUNK)  # noqa: SIM115 - closed when it was read
        self._spools.callback(spool.close)
        while piece := stream.read(PIECE):
            spool.write(piece)
        spool.seek(0)
        return spool

    def _marked(self, stream: IO[bytes], encoding: str, depth: int) -> bool:
        """Read text of wide characters behind its byte order mark; False where it is none."""
        decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
        size = wrong = 0
        before = ""
        while data := stream.read(CHUNK):
            text = decoder.decode(data)
            size, wrong = size + len(text), wrong + text.count("\ufffd")
            if wrong * 20 > size:
                return False
            self._sink.texts([before + text])
            self._sink.page(text.encode(errors="ignore"))
            self._embedded(text.encode(errors="ignore"), depth)
            before = text[-OVERLAP:]
        return True

    # Containers: each returns False where the raw bytes are to be read as well.

    def _zip(self, stream: IO[bytes], path: Path | None, inside: str, depth: int) -> bool:
        with zipfile.ZipFile(stream) as members:
            for member in members.infolist():
                name = f"{inside}!{member.filename}" if inside else member.filename
                try:
                    with members.open(member) as packed:
                        self._inner(iter(partial(packed.read, PIECE), b""), name, depth)
                except Exception as error:  # the other members are read all the same
                    self._note(name, error)
        return True

    def _tar(self, stream: IO[bytes], path: Path | None, inside: str, depth: int) -> bool:
        with tarfile.open(fileobj=stream, mode="r|") as members:
            for member in members:
                packed = members.extractfile(member) if member.isreg() else None
                if packed is not None:
                    name = f"{inside}!{member.name}" if inside else member.name
                    self._inner(iter(partial(packed.read, PIECE), b""), name, depth)
        return True

    def _parquet(self, stream: IO[bytes], path: Path | None, inside: str, depth: int) -> bool:
        with pq.ParquetFile(stream) as table:
            for number in range(table.num_row_groups):
                group = table.read_row_group(number, use_threads=False)
                self._columns(group.columns, inside, depth)
        return True

    def _arrow(self, stream: IO[bytes], path: Path | None, inside: str, depth: int) -> bool:
        batches = pa.ipc.open_file(stream)
        for number in range(batches.num_record_batches):
            self._columns(batches.get_batch(number).columns, inside, depth)
        return True

    def _arrow_stream(self, stream: IO[bytes], path: Path | None, inside: str, depth: int) -> bool:
        try:
            batches = pa.ipc.open_stream(stream)
        except (pa.ArrowException, OSError):  # numbers that begin with -1
            stream.seek(0)
            self._plain(stream, b"", inside, depth)
            return True
        for batch in batches:
            self._columns(batch.columns, inside, depth)
        return True

    def _orc(self, stream: IO[bytes], path: Path | None, inside: str, depth: int) -> bool:
        file = orc.ORCFile(stream)
        for number in range(file.nstripes):
            self._columns(file.read_stripe(number).columns, inside, depth)
        return True

    def _sqlite(self, stream: IO[bytes], path: Path | None, inside: str, depth: int) -> bool:
        """Every value of every row, as others see it; then the pages, with those that are free."""
        if path is not None:
            database = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=5)
        else:
            database = sqlite3.connect(":memory:")
            data = bytearray(stream.read(WHOLE_BYTES))
            data[18:20] = b"\1\1"  # as if it had no write-ahead log, which is not here
            database.deserialize(bytes(data))
            stream.seek(0)
        with closing(database):
            database.text_factory = lambda data: data.decode(errors="ignore")
            for column in _table_columns(database):
                self._values([value for value in column if isinstance(value, str)], depth)
                self._blobs([v for v in column if isinstance(v, bytes)], inside, depth)
                ids = [v for v in column if isinstance(v, int) and -1 < v < 1 << 31]
                self._lists((np.array(ids, np.int64), np.array([len(ids)])), as_one=True)
        self._is_ours |= self._is_registry
        self._raw(stream, depth)
        return True

    def _numpy(self, stream: IO[bytes], path: Path | None, inside: str, depth: int) -> bool:
        shape, is_fortran, dtype = _npy_header(stream)
        if dtype.hasobject:
            self._note(inside, "a numpy array of pickled objects")
            return False
        if dtype.kind in "fcmM":
            return True  # numbers that are no text
        if dtype.kind not in "iubSU":
            self._note(inside, f"a numpy array of {dtype.name}")
            return False
        size = max(1, CHUNK // max(1, dtype.itemsize)) * max(1, dtype.itemsize)
        if is_fortran and len(shape) > 1:
            size = WHOLE_BYTES
        while data := stream.read(size):
            array = np.frombuffer(data[: len(data) - len(data) % max(1, dtype.itemsize)], dtype)
            if dtype.kind in "SU":
                self._values([str(v, errors="ignore") if isinstance(v, bytes) else str(v)
                              for v in array.tolist()], depth)  # fmt: skip
                continue
            if is_fortran and len(shape) > 1 and array.size == np.prod(shape, dtype=object):
                array = array.reshape(shape, order="F").ravel()
            self._lists((array, np.array([array.size])), as_one=True)
        return True

    # Columns of tables.

    def _columns(self, columns: Iterable[Any], inside: str, depth: int) -> None:
        for column in columns:
            for array in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
                self._array(array, inside, depth)

    def _array(self, array: Any, inside: str, depth: int) -> None:
        if isinstance(array, pa.ExtensionArray):
            array = array.storage
        kind, types = array.type, pa.types
        if types.is_dictionary(kind):
            self._array(array.dictionary, inside, depth)
        elif types.is_run_end_encoded(kind):
            self._array(array.values, inside, depth)
        elif types.is_struct(kind):
            self._columns(array.flatten(), inside, depth)
        elif types.is_union(kind):
            for number in range(kind.num_fields):
                self._array(array.field(number), inside, depth)
        elif types.is_map(kind):
            self._array(array.keys, inside, depth)
            self._array(array.items, inside, depth)
        elif types.is_nested(kind):  # lists of every kind
            values = array.flatten()
            if types.is_integer(values.type):
                whole = array.drop_null()
                lengths = whole.value_lengths().to_numpy(zero_copy_only=False)
                self._lists((_whole_numbers(values), lengths))
                if not self._is_ours:  # a text may go on in the next list
                    self._lists((_whole_numbers(values), np.array([len(values)])), as_one=True)
            else:
                self._array(values, inside, depth)
        elif types.is_integer(kind):
            numbers = _whole_numbers(array)
            self._lists((numbers, np.array([len(numbers)])), as_one=True)
        elif types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
            self._values(array.drop_null().to_pylist(), depth)
        elif (
            types.is_binary(kind)
            or types.is_large_binary(kind)
            or types.is_binary_view(kind)
            or types.is_fixed_size_binary(kind)
        ):
            self._blobs(array.drop_null().to_pylist(), inside, depth)

    def _values(self, values: Sequence[str], depth: int) -> None:
        self._sink.values(values)
        long = [value for value in values if len(value) >= MIN_PACKED_CHARS]
        if long and not self._is_ours:
            self._embedded("\n\n\n\n\n".join(long).encode(errors="ignore"), depth)

    def _blobs(self, values: Sequence[bytes], inside: str, depth: int) -> None:
        """Bytes that may be text, one search for all: no run of text continues past a NUL. Those
        that are packed are opened."""
        raw = []
        for value in values:
            if len(value) >= MIN_CHARS and _is_packed(value[:HEAD]) and depth < MAX_DEPTH:
                self._opened(io.BytesIO(value), None, inside, depth + 1)
            else:
                raw.append(value)
        self._raw(io.BytesIO(b"\0".join(raw)), depth)

    # Raw bytes.

    def _raw(self, stream: IO[bytes], depth: int) -> bool:
        """Read bytes as text, chunk by chunk; each begins with the end of the one before. Return
        whether nearly all of them were understood."""
        before = run = b""
        size = understood = 0
        while chunk := stream.read(CHUNK):
            data = before + chunk
            self._sink.page(data)
            text = b"\n".join(TEXT_RUNS.findall(data))
            if text:
                self._sink.texts([decoded(text)])
            size += len(chunk)
            understood += len(chunk) - self._binary(data, len(before))
            before = data[-OVERLAP:]
            run = self._embedded(run + chunk, depth, is_open=len(chunk) == CHUNK) or b""
        if run:
            self._embedded(run, depth)
        return size < MIN_CHARS or understood >= 0.8 * size

    def _embedded(self, data: bytes, depth: int, is_open: bool = False) -> bytes | None:
        """Read numbers that are written out, and what is packed in base64 or hex digits. Return a
        run that may go on after the end."""
        if self._encoders and not self._is_ours:
            for run in NUMBER_RUNS.findall(data):
                numbers = np.array(re.findall(rb"\d{1,9}", run), "S9").astype(np.int64)
                self._lists((numbers, np.array([numbers.size])), as_one=True)
        for match in () if self._is_ours else PACKED_RUNS.finditer(data):
            if is_open and match.end() == len(data) and len(match[0]) < WHOLE_BYTES:
                return match[0]
            digits = NO_DIGIT.sub(b"", match[0])
            if len(digits) < MIN_PACKED_CHARS or depth >= MAX_DEPTH:
                continue
            if len(match[0]) >= WHOLE_BYTES:
                self._note("", f"more than {WHOLE_BYTES} bytes of base64 in one run")
            if HEX.fullmatch(digits):
                if len(digits) > DIGEST_DIGITS:
                    self._packed(bytes.fromhex(digits.decode()), depth)
            elif len(CAPITALS.sub(b"", digits)) < MAX_SMALL * len(digits):
                self._packed(_unbase64(digits), depth)
        return None

    def _packed(self, data: bytes, depth: int) -> None:
        """Open what was packed in digits; it may be nothing of the kind, so nothing is noted."""
        noted = list(self.unread)
        self._opened(io.BytesIO(data), None, "", depth + 1)
        self.unread[:] = noted

    def _binary(self, data: bytes, seen: int) -> int:
        """Read what is no text of one byte a character: wide characters, and numbers as token ids.
        Return how many bytes beyond the first `seen` were not understood."""
        unknown = 0
        for start, end in _binary_regions(data):
            region = data[start:end]
            is_read = (not self._is_ours and self._wide(region)) | self._numbers(region)
            if not is_read and not _is_nearly_text(region):
                unknown += max(0, end - max(start, seen))
        return unknown

    def _wide(self, region: bytes) -> bool:
        is_text = False
        for dtype, name in WIDE:
            width = np.dtype(dtype).itemsize
            for shift in range(width):
                units = _as_numbers(region, dtype, shift)
                kept = _long_runs(_is_writing(units))
                count = int(kept.sum())
                if not count:
                    continue
                apart = np.where(kept, units, ord("\n")).astype(dtype)
                self._sink.texts([apart.tobytes().decode(name, errors="ignore")])
                spaces = int(np.isin(units, (0x20, 0x0A, 0x3001, 0x3002)).sum())
                share = count / units.size
                is_text |= share > 0.5 if width == 4 else share > 0.9 and spaces > 0.02 * count
        return is_text

    def _numbers(self, region: bytes) -> bool:
        are_tokens = False
        for dtype in OUR_WIDTHS if self._is_ours else WIDTHS:
            width = np.dtype(dtype).itemsize
            for shift in range(width):
                numbers = _as_numbers(region, dtype, shift)
                share = self._lists((numbers, np.array([numbers.size])), as_one=True)
                tells = width > 2 or all(e.vocab_size < 60_000 for e in self._encoders)
                are_tokens |= tells and share > 0.9
        return are_tokens

    # Token ids.

    def _lists(self, lists: Lists, as_one: bool = False) -> float:
        """Search what lists of token ids spell. `as_one`: they may be anything else, so only
        stretches that can be ids are spelled; return the share of those."""
        numbers, lengths = lists
        best = 0.0
        for encoder in self._encoders:
            tokens, firsts = numbers, lengths
            if as_one:
                kept = _plausible(numbers, encoder.vocab_size)
                tokens, firsts = numbers[kept], np.array([int(kept.sum())])
                best = max(best, tokens.size / max(1, numbers.size))
            if len(tokens):
                self._spell(encoder, tokens, firsts)
        return best

    def _spell(self, encoder: Encoder, tokens: Any, lengths: Any) -> None:
        lengths = lengths.astype(np.int64)
        starts, firsts = np.cumsum(lengths) - lengths, np.arange(lengths.size + 1)
        held = np.where((tokens >= 0) & (tokens < encoder.vocab_size), tokens, -1)
        held = encoder.in_text_order(held, starts)
        spelled, offsets = encoder.spell_spans(held.astype(np.int32), starts, lengths, firsts)
        data = bytes(spelled)
        found = [data[a:b].decode(errors="ignore") for a, b in pairwise(offsets.tolist())]
        self._sink.texts(found)

    # Compression without a magic number.

    def _guessed(self, stream: IO[bytes]) -> Iterator[bytes] | None:
        """Return what a stream of brotli or of raw snappy holds; None where it is neither."""
        first = stream.read(PIECE)
        stream.seek(0)
        if _is_brotli(first):
            return _by_arrow(stream, "brotli")
        if len(first) < PIECE:
            whole = first
        else:
            whole = stream.read(WHOLE_BYTES)
            stream.seek(0)
            if len(whole) == WHOLE_BYTES:
                return None
        for size, body, codec in _sized(whole):
            if MIN_CHARS <= size <= min(self._left, 255 * len(whole), 1 << 30):
                try:
                    found = pa.decompress(body, size, codec=codec, asbytes=True)
                except (pa.ArrowException, OSError, MemoryError, ValueError):
                    continue
                return iter([found])
        return None


_CONTAINERS: dict[bytes, Callable[[Reader, IO[bytes], Path | None, str, int], bool]] = {
    b"PAR1": Reader._parquet,
    b"ARROW1": Reader._arrow,
    b"\xff\xff\xff\xff": Reader._arrow_stream,
    b"ORC": Reader._orc,
    b"PK\x03\x04": Reader._zip,
    b"PK\x05\x06": Reader._zip,
    b"SQLite format 3\0": Reader._sqlite,
    b"\x93NUMPY": Reader._numpy,
}


def _container(head: bytes) -> Callable[[Reader, IO[bytes], Path | None, str, int], bool] | None:
    """Return what reads a container that begins so."""
    if head[257:262] == b"ustar":
        return Reader._tar
    if head.startswith(b"ORC") and not _share_of_controls(head[:64]):
        return None  # a text
    return next((read for magic, read in _CONTAINERS.items() if head.startswith(magic)), None)


class _TooLarge(Exception):
    """More comes out of a file than is read of it."""


class _Raw(io.RawIOBase):
    """Any file as one that a `BufferedReader` reads, which does not close it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._stream.seekable()

    def seek(self, place: int, whence: int = 0) -> int:
        return self._stream.seek(place, whence)

    def tell(self) -> int:
        return self._stream.tell()

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


class _Pieces(io.RawIOBase):
    """Pieces of bytes as a stream."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._held = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        filled = 0
        while filled < len(buffer):
            if not self._held:
                self._held = next(self._pieces, b"")
                if not self._held:
                    break
            taken = self._held[: len(buffer) - filled]
            buffer[filled : filled + len(taken)] = taken
            self._held = self._held[len(taken) :]
            filled += len(taken)
        return filled


def _table_columns(database: sqlite3.Connection) -> Iterator[Sequence[Any]]:
    """Yield the values of each column of every table, some rows at a time."""
    names = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    for (name,) in names:
        rows = database.execute(f"SELECT * FROM {quoted(name)}")  # noqa: S608 - a table's name
        while some := rows.fetchmany(ROWS):
            yield from zip(*some, strict=True)


def quoted(name: str) -> str:
    """Quote a name for SQL."""
    return '"' + name.replace('"', '""') + '"'


def decoded(data: bytes) -> str:
    """Return bytes as UTF-8, and what is none as an older encoding."""
    text = data.decode(errors="ignore")
    if len(text.encode()) == len(data):
        return text
    older = around(data, lambda block: not _is_utf8(block), b"\n")
    return f"{text}\n{older.decode('cp1252', errors='ignore')}"  # pages in older encodings


def around(text: Any, differs: Callable[[Any], bool], gap: Any) -> Any:
    """Return the blocks in which another reading differs, each with its neighbours, so that no
    13-gram with a difference in it is left out; a gap for each other block."""
    starts = range(0, len(text), OVERLAP)
    blocks = [text[start : start + OVERLAP] for start in starts]
    near = [False, *map(differs, blocks), False]
    return gap[:0].join(
        block if any(near[place : place + 3]) else gap for place, block in enumerate(blocks)
    )


def _is_utf8(block: bytes) -> bool:
    try:
        block.decode()
    except UnicodeDecodeError:
        return False
    return True


def _is_nearly_text(data: bytes) -> bool:
    known = len(data.decode(errors="ignore").encode())
    return _share_of_controls(data) < 0.03 and known > 0.95 * len(data)


# Packed streams.


def _is_packed(head: bytes) -> bool:
    return _unpacked(head, io.BytesIO()) is not None or _container(head) is not None


def _unpacked(head: bytes, stream: IO[bytes]) -> Iterator[bytes] | None:
    """Return what a compressed stream holds, in pieces; None for one that is not."""
    if head.startswith(b"\x1f\x8b"):
        return _inflated(stream, 31, b"\x1f\x8b")
    if head.startswith((b"\x78\x01", b"\x78\x9c", b"\x78\xda")):
        return _inflated(stream, 15, b"\x78")
    if head.startswith(b"BZh"):
        return _decompressed(stream, bz2.BZ2Decompressor, b"BZh")
    if head.startswith(b"\xfd7zXZ\0"):
        return _decompressed(stream, _xz, b"\xfd7zXZ\0")
    if head.startswith(b"\x5d\0\0") and len(head) > 13:
        return _decompressed(stream, _xz, b"\x5d\0\0")
    if head.startswith(b"\x28\xb5\x2f\xfd"):
        return _by_arrow(stream, "zstd")
    if head.startswith(b"\x04\x22\x4d\x18"):
        return _by_arrow(stream, "lz4")
    if head.startswith(SNAPPY):
        return _snappy_frames(stream)
    return None


def _inflated(stream: IO[bytes], wbits: int, magic: bytes) -> Iterator[bytes]:
    """Unpack members of zlib's or gzip's, one after the other."""
    data = stream.read(PIECE)
    while data:
        if not data.startswith(magic[: len(data)]):
            raise ValueError("other bytes follow")
        one = zlib.decompressobj(wbits)
        while not one.eof:
            piece = one.decompress(data, PIECE)
            yield piece
            data = one.unconsumed_tail
            if not data and not one.eof:
                data = stream.read(PIECE)
                if not data and not piece:
                    raise EOFError("cut off")
        data = (one.unused_data or stream.read(PIECE)).lstrip(b"\0")


def _decompressed(stream: IO[bytes], make: Callable[[], Any], magic: bytes) -> Iterator[bytes]:
    """Unpack streams of bzip2 or xz, one after the other."""
    data = stream.read(PIECE)
    while data:
        if not data.startswith(magic[: len(data)]):
            raise ValueError("other bytes follow")
        one = make()
        while not one.eof:
            yield one.decompress(data, PIECE)
            data = b""
            if not one.eof and one.needs_input:
                data = stream.read(PIECE)
                if not data:
                    raise EOFError("cut off")
        data = (one.unused_data or stream.read(PIECE)).lstrip(b"\0")


def _xz() -> lzma.LZMADecompressor:
    return lzma.LZMADecompressor(memlimit=WHOLE_BYTES)


def _by_arrow(stream: IO[bytes], codec: str) -> Iterator[bytes]:
    # Not closed by us: that would close the file below, which may be read once more.
    unpacked = pa.CompressedInputStream(pa.PythonFile(stream, mode="r"), codec)
    while piece := unpacked.read(PIECE):
        yield piece


def _snappy_frames(stream: IO[bytes]) -> Iterator[bytes]:
    while head := stream.read(4):
        kind, size = head[0], int.from_bytes(head[1:], "little")
        body = stream.read(size)
        if len(head) < 4 or len(body) < size:
            raise EOFError("cut off")
        if kind == 0:
            for length, packed, codec in _sized(body[4:]):
                if codec == "snappy" and length <= 1 << 20:  # a frame has 65,536 bytes at most
                    yield pa.decompress(packed, length, codec=codec, asbytes=True)
        elif kind == 1:
            yield body[4:]
        elif kind < 0x80:
            raise ValueError("a chunk that must not be skipped")


def _sized(data: bytes) -> Iterator[tuple[int, bytes, str]]:
    """Yield (size unpacked, packed, codec) of raw blocks that begin with their size."""
    size = shift = 0
    for byte in data[:5]:
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            yield size, data, "snappy"
            break
    if len(data) > 4:
        yield struct.unpack_from("<I", data)[0], data[4:], "lz4_raw"


def _is_brotli(first: bytes) -> bool:
    """Say whether bytes are the beginning of a brotli stream, or the whole of one."""
    unpacker = brotli.Decompressor()
    try:
        made = unpacker.process(first, output_buffer_limit=PIECE)
        while not unpacker.can_accept_more_data() and not unpacker.is_finished():
            more = unpacker.process(b"", output_buffer_limit=PIECE)
            made = made or more
            if len(more) == PIECE:
                return True  # as much as that is made of no other bytes
    except brotli.error:
        return False
    return bool(made) and (unpacker.is_finished() or len(first) == PIECE)


def _unbase64(digits: bytes) -> bytes:
    usable = digits[: len(digits) - len(digits) % 4] if len(digits) % 4 == 1 else digits
    padded = usable + b"=" * (-len(usable) % 4)
    return base64.b64decode(padded.translate(_URL_SAFE))


_URL_SAFE = bytes.maketrans(b"-_", b"+/")


def _npy_header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read shape, order and type; memory follows the file, not what the header claims."""
    form = np.lib.format
    version = form.read_magic(stream)
    read = form.read_array_header_1_0 if version == (1, 0) else form.read_array_header_2_0
    return read(stream)


# Arrays of bytes as numbers.


def _share_of_controls(data: bytes) -> float:
    return float(_is_control()[np.frombuffer(data, np.uint8)].mean()) if data else 0.0


@cache
def _is_control() -> Bools:
    table = np.zeros(256, np.bool_)
    table[:0x20] = True
    table[0x7F] = True
    table[[0x09, 0x0A, 0x0C, 0x0D, 0x1B]] = False
    return table


def _binary_regions(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the stretches of which a share is control characters, with what lies around them."""
    control = _is_control()[np.frombuffer(data, np.uint8)]
    if not control.any():
        return
    blocks = np.add.reduceat(control.astype(np.int32), np.arange(0, len(data), BLOCK))
    near = blocks >= STRAY
    reach = np.convolve(near, np.ones(2 * NEIGHBOURS + 1, np.int32))
    wide = reach[NEIGHBOURS : NEIGHBOURS + near.size] > 0
    edges = np.flatnonzero(np.diff(np.concatenate(([False], wide, [False])).astype(np.int8)))
    for first, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        yield first * BLOCK, min(len(data), end * BLOCK)


def _as_numbers(data: bytes, dtype: str, shift: int) -> Any:
    width = np.dtype(dtype).itemsize
    return np.frombuffer(data[shift : shift + (len(data) - shift) // width * width], dtype)


@cache
def _writing() -> Bools:
    """Say of each character below 2^16 whether texts are written with it."""
    table = np.zeros(1 << 16, np.bool_)
    for first, last in ((0x20, 0x7E), (0xA0, 0x2FFF), (0x3000, 0xDFFF), (0xF900, 0xFFFD)):
        table[first : last + 1] = True
    table[[0x09, 0x0A, 0x0D]] = True
    return table


def _is_writing(units: Any) -> Bools:
    table = _writing()
    found: Bools = table[np.minimum(units, 0xFFFF)]
    if units.dtype.itemsize > 2:
        found &= (units < 0xD800) | ((units > 0xDFFF) & (units < 0x110000))
    return found


def _long_runs(kept: Bools) -> Bools:
    """Keep runs that are long enough for 13 words."""
    padded = np.concatenate(([False], kept, [False])).astype(np.int8)
    edges = np.flatnonzero(np.diff(padded))
    marks = np.zeros(kept.size + 1, np.int32)
    starts, ends = edges[::2], edges[1::2]
    long = ends - starts >= MIN_CHARS // 2
    marks[starts[long]] += 1
    marks[ends[long]] -= 1
    return np.cumsum(marks[:-1]) > 0


NEAR = 16  # numbers on which is decided whether they can be token ids


def _plausible(numbers: Any, vocab_size: int) -> Bools:
    """Keep stretches of numbers that can be token ids, nearly all of them."""
    can_be = (numbers >= 0) & (numbers < vocab_size)
    if not can_be.any():
        return np.zeros(numbers.size, np.bool_)
    share = np.add.reduceat(can_be.astype(np.int32), np.arange(0, numbers.size, NEAR))
    sizes = np.minimum(NEAR, numbers.size - np.arange(share.size) * NEAR)
    good = share * 10 >= sizes * 9
    found: Bools = np.repeat(good, sizes) & can_be
    return found


def _whole_numbers(array: Any) -> Any:
    return array.drop_null().to_numpy(zero_copy_only=False)
