"""Key files: sorted keys of a few consecutive lineage files, made for point look-ups.

A file is a header and flat little-endian arrays, each at a multiple of 64 bytes, so that it can
be mapped into memory or read by ranges; `docs/reference/ids-and-keys.md` has the layout. There are two forms:

- *hashes*: 64-bit keys in ascending order, each with the place of its row; a key may stand there
  many times. `fanout[i]` is the first entry whose top bits are `i` or more, so a look-up touches
  two pages, however long the file is.
- *hosts*: distinct SURT hosts in byte order, and for each the places of its rows. A domain with
  its subdomains is two ranges of it.

A place counts the rows of the indexed files end to end. 64 bits are not the whole id: whoever
reads a row compares it with what was asked for.
"""

import hashlib
import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from catalog.errors import StoreFileError

MAGIC = b"CORPKEYS"
FORMAT = "corpus-assets/keys/1"
PREFIX = struct.Struct("<8sQ")  # magic, bytes of the JSON header that follows
ALIGN = 64
BUCKET = 256  # entries behind one slot of the fanout, on average
TYPES = ("<u8", "<u4", "|u1")
HEAD_BYTES = 1 << 16  # enough for the header and the fanout of most files, in one request

DOCUMENT_IDS, URL_KEYS, HOSTS = "document_ids", "url_keys", "hosts"
TEXT_IDS, CLUSTER_IDS, SPAN_IDS = "text_ids", "cluster_ids", "span_ids"

TABLE_OF: Mapping[str, str] = {
    DOCUMENT_IDS: "records",
    URL_KEYS: "records",
    HOSTS: "records",
    TEXT_IDS: "documents",
    CLUSTER_IDS: "cluster_members",
    SPAN_IDS: "spans",
}
"""Kind of key file -> the lineage table whose rows it finds."""

ID_COLUMNS: Mapping[str, tuple[str, ...]] = {
    DOCUMENT_IDS: ("doc_id",),
    TEXT_IDS: ("text_id",),
    CLUSTER_IDS: ("doc_id", "kept_doc_id", "cluster_id"),
    SPAN_IDS: ("doc_id",),
}
"""Kinds whose keys are the first eight bytes of ids."""

COLUMNS: Mapping[str, tuple[str, ...]] = {
    **ID_COLUMNS,
    URL_KEYS: ("url_key",),
    HOSTS: ("url_key", "host"),
}
"""Columns of the table that each kind is made from."""

Unit = int | str | None  # number of a part, name of a shard; none where a file is its snapshot's
Keys = npt.NDArray[np.uint64]
Places = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Header:
    """What a key file says of itself. `units` are the indexed files with their rows, in order;
    `derived` counts the texts in each that were made from others (text ids only)."""

    kind: str
    units: tuple[tuple[Unit, int], ...]
    derived: tuple[int, ...]
    shift: int
    arrays: Mapping[str, tuple[str, int, int]]  # name -> dtype, byte offset, length
    size: int  # of the whole file, in bytes

    @property
    def entries(self) -> int:
        """Keys with a place."""
        return self.arrays["places"][2]


# Keys of values.


def id_key(value: bytes) -> int:
    """Return the key of a 16-byte id: its first eight bytes, so keys sort as ids do."""
    return int.from_bytes(value[:8], "big")


def id_keys(column: pa.ChunkedArray) -> Keys:
    """Return keys of a column of 16-byte ids without nulls."""
    fixed = column.cast(pa.binary(16)).combine_chunks()
    if isinstance(fixed, pa.ChunkedArray):  # of no chunks
        return np.empty(0, np.uint64)
    raw = np.frombuffer(fixed.buffers()[1] or b"", np.uint8)
    whole = raw[16 * fixed.offset : 16 * (fixed.offset + len(fixed))].reshape(-1, 16)
    return np.ascontiguousarray(whole[:, :8]).view(">u8")[:, 0].astype(np.uint64)


def url_hash(key: str) -> int:
    """Return the key of a `url_key`: BLAKE2b with eight bytes of output, read as a big-endian
    number."""
    data = key.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "big")


def url_hashes(column: pa.ChunkedArray) -> Keys:
    """Return keys of a column of url_keys; about a microsecond each."""
    blake = hashlib.blake2b
    values = column.cast(pa.binary()).to_pylist()
    digests = b"".join([blake(value or b"", digest_size=8).digest() for value in values])
    return np.frombuffer(digests, ">u8").astype(np.uint64)


def surt_hosts(table: pa.Table) -> pa.Array:
    """Return the host (with its port) in front of each url_key; null where the record has none."""
    heads = pc.list_element(pc.split_pattern(table["url_key"], ")", max_splits=1), 0)
    kept = pc.if_else(pc.is_valid(table["host"]), heads, pa.scalar(None, pa.string()))
    joined = kept.combine_chunks() if isinstance(kept, pa.ChunkedArray) else kept
    return pa.concat_arrays(joined.chunks) if isinstance(joined, pa.ChunkedArray) else joined


def keys_of(kind: str, table: pa.Table) -> tuple[Keys, Places]:
    """Return keys and row numbers of one table, rows ascending; a row that has one id in several
    columns counts once. Not for hosts."""
    every = np.arange(table.num_rows, dtype=np.int64)
    if kind not in ID_COLUMNS:
        return url_hashes(table["url_key"]), every
    columns = [id_keys(table[name]) for name in ID_COLUMNS[kind]]
    fresh = [np.ones(len(every), np.bool_) for _ in columns]
    for number, keys in enumerate(columns):
        for earlier in columns[:number]:
            fresh[number] &= keys != earlier
    joined = np.concatenate([keys[new] for keys, new in zip(columns, fresh, strict=True)])
    rows = np.concatenate([every[new] for new in fresh])
    order = np.argsort(rows, kind="stable")
    return joined[order], rows[order]


# Writing.


def encode_hashes(
    kind: str,
    units: Sequence[tuple[Unit, int]],
    keys: Keys,
    places: Places,
    derived: Sequence[int] = (),
) -> bytes:
    """Return a file of keys; entries with one key stand in the order they are given in."""
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    bits = max(0, (len(keys) // BUCKET).bit_length())
    shift = 64 - bits
    slots = np.arange(1 << bits, dtype=np.uint64) << np.uint64(shift) if bits else np.zeros(1, "u8")
    fanout = np.append(np.searchsorted(keys, slots), len(keys))
    arrays = {
        "fanout": fanout.astype("<u8"),
        "keys": keys.astype("<u8"),
        "places": _narrow(places[order], units),
    }
    return _encode(kind, units, arrays, derived, shift)


def encode_hosts(units: Sequence[tuple[Unit, int]], hosts: pa.Array, places: Places) -> bytes:
    """Return a file of hosts: `hosts` without nulls, one for each place."""
    coded = hosts.dictionary_encode()
    distinct = coded.dictionary.cast(pa.binary())
    order = pc.sort_indices(distinct)  # by bytes
    rank = np.empty(len(distinct), np.int64)
    rank[order.to_numpy()] = np.arange(len(distinct))
    codes = rank[coded.indices.to_numpy()] if len(distinct) else np.empty(0, np.int64)
    by_host = np.argsort(codes, kind="stable")
    counts = np.bincount(codes, minlength=len(distinct))
    names = distinct.take(order)
    lengths = pc.binary_length(names).to_numpy()
    text = b"".join(names.to_pylist())
    arrays = {
        "ends": np.cumsum(lengths, dtype=np.int64).astype("<u8"),
        "starts": np.append(0, np.cumsum(counts)).astype("<u8"),
        "names": np.frombuffer(text, np.uint8),
        "places": _narrow(places[by_host], units),
    }
    return _encode(HOSTS, units, arrays, (), 64)


def _narrow(places: Places, units: Sequence[tuple[Unit, int]]) -> npt.NDArray[Any]:
    rows = sum(rows for _, rows in units)
    return places.astype("<u4" if rows < 1 << 32 else "<u8")


def _encode(
    kind: str,
    units: Sequence[tuple[Unit, int]],
    arrays: Mapping[str, npt.NDArray[Any]],
    derived: Sequence[int],
    shift: int,
) -> bytes:
    body: dict[str, Any] = {
        "format": FORMAT,
        "kind": kind,
        "units": [list(unit) for unit in units],
        "derived": list(derived),
        "shift": shift,
    }
    size = 0
    while True:  # the offsets are in the header, whose length moves them
        at = _aligned(PREFIX.size + size)
        listed = {}
        for name, array in arrays.items():
            listed[name] = [array.dtype.str, at, len(array)]
            at = _aligned(at + array.nbytes)
        head = json.dumps(body | {"arrays": listed}, sort_keys=True, separators=(",", ":")).encode()
        if len(head) <= size:
            break
        size = _aligned(PREFIX.size + len(head)) - PREFIX.size
    pieces = [PREFIX.pack(MAGIC, size), head.ljust(size)]
    for array in arrays.values():
        data = array.tobytes()
        pieces += [data, bytes(_aligned(len(data)) - len(data))]
    return b"".join(pieces)


def _aligned(size: int) -> int:
    return -(-size // ALIGN) * ALIGN


# Reading.


def header_bytes(start: bytes, name: str) -> int:
    """Return how many bytes the header takes, from the first ones of a file."""
    if len(start) < PREFIX.size or start[: len(MAGIC)] != MAGIC:
        raise StoreFileError(f"{name} is not a key file: `catalog verify` lists damaged files")
    return int(PREFIX.unpack_from(start)[1]) + PREFIX.size


def parse_header(data: bytes, name: str) -> Header:
    """Return the header, from the file's first `header_bytes` bytes or more."""
    end = header_bytes(data, name)
    try:
        raw = json.loads(data[PREFIX.size : end])
        if raw["format"] != FORMAT:
            raise StoreFileError(
                f"{name} has format {raw['format']!r}, this package reads {FORMAT!r}: "
                "use the corpus-assets that wrote it"
            )
        arrays = {key: (str(d), int(at), int(n)) for key, (d, at, n) in raw["arrays"].items()}
        if any(d not in TYPES or at < end or n < 0 for d, at, n in arrays.values()):
            raise ValueError("an array that cannot be")
        size = max(
            [_aligned(at + np.dtype(d).itemsize * n) for d, at, n in arrays.values()], default=end
        )
        return Header(
            kind=str(raw["kind"]),
            units=tuple((unit, int(rows)) for unit, rows in raw["units"]),
            derived=tuple(int(n) for n in raw["derived"]),
            shift=int(raw["shift"]),
            arrays=arrays,
            size=size,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise StoreFileError(f"{name} is not a key file: {error!r}") from error
