"""Imports of released annotations: tables of keys and columns, in files and in the store."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.core.errors import ModelError
from corpus_assets.core.store import (
    Store,
    damaged,
    read_checked,
    read_sealed,
    sealed_json,
    sha256_hex,
)
from corpus_assets.text.batch import TextBatch

KEY, HASH, ROW = "_key", "_hash", "_row"  # no signal begins like these


IMPORTS_FOLDER = "imports"


def kind_of(type_: pa.DataType) -> Any:
    """Return how a recipe states a type."""
    if pa.types.is_struct(type_):
        return {member.name: kind_of(member.type) for member in type_}
    return "label" if pa.types.is_string(type_) else "number"


def key_texts(column: pa.Array) -> pa.Array:
    """Return keys as text: addresses as they are, ids in hexadecimal."""
    if not pa.types.is_fixed_size_binary(column.type):
        return column.cast(pa.large_string())
    width = column.type.byte_width
    raw = column.buffers()[1].to_pybytes()[column.offset * width :][: len(column) * width]
    offsets = np.arange(len(column) + 1, dtype=np.int64) * 2 * width
    parts = [pa.py_buffer(offsets), pa.py_buffer(raw.hex().encode())]
    return pa.LargeStringArray.from_buffers(len(column), *parts)


def _hashes(keys: pa.Array) -> npt.NDArray[np.uint64]:
    return TextBatch.from_arrow(keys).whole.hashes


def sorted_table(keys: pa.Array, columns: Mapping[str, pa.Array]) -> pa.RecordBatch:
    """Return an import's rows by the hash of their keys; of rows with one key the first stays."""
    hashes = _hashes(keys)
    table = pa.table({HASH: hashes, KEY: keys.cast(pa.large_string()), **columns})
    table = table.append_column(ROW, pa.array(np.arange(len(keys))))
    order = pc.sort_indices(
        table, sort_keys=[(HASH, "ascending"), (KEY, "ascending"), (ROW, "ascending")]
    )
    table = table.drop_columns(ROW).take(order).combine_chunks()
    ordered, spelled = table[HASH].to_numpy(), table[KEY].combine_chunks()
    first = np.ones(len(table), np.bool_)
    same = ordered[1:] == ordered[:-1]
    first[1:][same] = pc.not_equal(spelled[1:], spelled[:-1]).to_numpy(zero_copy_only=False)[same]
    batches = table.filter(pa.array(first)).combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=table.schema)


def find_rows(table: pa.RecordBatch, keys: pa.Array) -> npt.NDArray[np.int64]:
    """int64[n]: the row of each key, -1 where there is none. A look-up is a binary search, and one
    comparison more for each key of the same hash."""
    hashes, known = _hashes(keys), table.column(HASH).to_numpy()
    place = np.searchsorted(known, hashes).astype(np.int64)
    found = np.full(len(keys), -1, dtype=np.int64)
    left = np.flatnonzero(pc.is_valid(keys).to_numpy(zero_copy_only=False))
    while left.size:
        left = left[place[left] < len(known)]
        left = left[known[place[left]] == hashes[left]]
        spelled = table.column(KEY).take(pa.array(place[left]))
        equal = pc.equal(spelled, keys.take(pa.array(left)).cast(spelled.type))
        is_it = equal.to_numpy(zero_copy_only=False)
        found[left[is_it]] = place[left[is_it]]
        left = left[~is_it]
        place[left] += 1
    return found


def load_import(path: Path) -> pa.RecordBatch:
    stat = path.stat()
    return _mapped(str(path), stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=8)
def _mapped(path: str, mtime_ns: int, n_bytes: int) -> pa.RecordBatch:
    try:
        return pa.ipc.open_file(pa.memory_map(path)).get_batch(0)
    except (pa.ArrowException, OSError, IndexError) as error:
        raise ModelError(f"{path} is not an import: import it again") from error


def to_bytes(table: pa.RecordBatch) -> bytes:
    """Return an import as a file; equal rows give equal bytes."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_batch(table)
    return bytes(sink.getvalue())


@dataclass(frozen=True)
class Import:
    """An import as the store has it: `imports/SHA256.json`, which names what is left of it now."""

    sha256: str  # as it was imported: its name in recipes
    name: str
    key: str
    rows: int
    now: str  # digest of what is left of it
    removed: int = 0  # rows that takedowns took out

    @property
    def path(self) -> str:
        return f"{IMPORTS_FOLDER}/{self.now}.arrow"


Covers = Callable[[str, pa.Array], npt.NDArray[np.bool_]]
"""Which keys of a kind takedowns cover."""


def keep_import(store: Store, table: pa.RecordBatch, name: str, key: str, covers: Covers) -> Import:
    """Put an import into the store, without the rows that orders in force cover."""
    data = to_bytes(table)
    sha256 = sha256_hex(data)
    kept = Import(sha256, name, key, table.num_rows, sha256)
    return _without(store, kept, table, covers) or _write(store, kept, data)


def find_import(store: Store, sha256: str) -> Import:
    path = f"{IMPORTS_FOLDER}/{sha256}.json"
    if not store.exists(path):
        raise ModelError(
            f"signals.families: no import has the digest {sha256}: import the file with `corpus "
            "signals import`, or correct the recipe"
        )
    try:
        return Import(**read_sealed(store, path))
    except TypeError as error:
        raise damaged(store, path, "does not describe an import") from error


def stored_imports(store: Store) -> Iterator[Import]:
    for path in sorted(store.list(IMPORTS_FOLDER)):
        if path.endswith(".json"):
            yield find_import(store, Path(path).stem)


def redact_imports(store: Store, covers: Covers) -> int:
    """Take the rows that takedowns cover out of all imports; return how many there were."""
    before = 0
    for kept in stored_imports(store):
        data = read_checked(store, kept.path, kept.now)
        table = pa.ipc.open_file(pa.BufferReader(data)).get_batch(0)
        left = _without(store, kept, table, covers)
        if left is not None:
            before += left.removed - kept.removed
            store.delete(kept.path)
    return before


def _without(store: Store, kept: Import, table: pa.RecordBatch, covers: Covers) -> Import | None:
    covered = covers(kept.key, table.column(KEY))
    if not covered.any():
        return None
    left = table.filter(pa.array(~covered))
    data = to_bytes(left)
    removed = kept.removed + int(covered.sum())
    return _write(store, replace(kept, now=sha256_hex(data), removed=removed), data)


def _write(store: Store, kept: Import, data: bytes) -> Import:
    store.write(kept.path, data)
    store.write(f"{IMPORTS_FOLDER}/{kept.sha256}.json", sealed_json(asdict(kept)))
    return kept
