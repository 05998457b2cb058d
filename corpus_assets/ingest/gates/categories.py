"""Blocklists by category, in the layout of the UT1 lists of Toulouse.

`CATEGORY/domains` has a host a line, `CATEGORY/urls` a host and the begin of a path a line. An entry
with a query (`example.com/watch?v=1`) is one address: it lists pages with the same path and query.

Such lists have millions of lines, so they are turned once into sorted 64-bit hashes (9 bytes an
entry) that every part maps into memory. A page is looked up by its address, each begin of its
path, its host and each host above it: about 2 us each. An entry that is no host or address is
passed over and counted. Two different entries share a hash once in 10^12 look-ups.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from corpus_assets.core.errors import CorruptArtifact, SourceError
from corpus_assets.core.urls import Address, address_of, canonical_host, listed_names

CATEGORIES_VERSION = 3
CATEGORY_FILES = ("domains", "urls")


def read_entries(path: Path) -> Iterator[str]:
    """Yield the entries of a `domains` or `urls` file in canonical form; empty for what is neither."""
    try:
        with open(path, "rb") as lines:
            for line in lines:
                entry = line.decode("utf-8", "replace").partition("#")[0].strip()
                if entry:
                    yield _canonical(entry)
    except OSError as error:
        raise SourceError(f"{path}: the list cannot be read: {error.strerror}") from error


def build_category_index(lists: Iterable[tuple[str, Path]]) -> tuple[bytes, dict[str, int]]:
    """Return the index of (category, file) pairs, and how many entries each category has
    (`passed_over`: lines that are no address). In two categories, an entry counts for the first
    in the recipe."""
    hashes: list[npt.NDArray[np.uint64]] = []
    codes: list[npt.NDArray[np.uint8]] = []
    categories: list[str] = []
    counts: dict[str, int] = {"passed_over": 0}
    for category, path in lists:
        if category not in categories:
            categories.append(category)
        entries = list(read_entries(path))
        known = [_hash(entry) for entry in entries if entry]
        counts["passed_over"] += len(entries) - len(known)
        counts[category] = counts.get(category, 0) + len(known)
        hashes.append(np.array(known, dtype=np.uint64))
        codes.append(np.full(len(known), categories.index(category), dtype=np.uint8))
    all_hashes = np.concatenate(hashes) if hashes else np.zeros(0, dtype=np.uint64)
    all_codes = np.concatenate(codes) if codes else np.zeros(0, dtype=np.uint8)
    order = np.lexsort((all_codes, all_hashes))
    sorted_hashes, first = np.unique(all_hashes[order], return_index=True)
    metadata = {b"categories": json.dumps(categories).encode()}
    schema = pa.schema([("entry", pa.uint64()), ("category", pa.uint8())], metadata=metadata)
    columns = [pa.array(sorted_hashes), pa.array(all_codes[order][first])]
    batch = pa.record_batch(columns, schema=schema)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue().to_pybytes(), counts


class CategoryIndex:
    """Categories by host or address, from the file of an index."""

    def __init__(self, path: Path) -> None:
        try:
            batch = pa.ipc.open_file(pa.memory_map(str(path))).get_batch(0)
        except (pa.ArrowException, OSError) as error:
            raise CorruptArtifact(f"{path} is not a readable index of lists: {error}") from error
        self._categories: list[str] = json.loads(batch.schema.metadata[b"categories"])
        self._hashes: npt.NDArray[np.uint64] = batch.column("entry").to_numpy()
        self._codes: npt.NDArray[np.uint8] = batch.column("category").to_numpy()

    def __len__(self) -> int:
        return len(self._hashes)

    def match(self, address: Address) -> str | None:
        """Return the category of a page: of its address first, then of its host and those above."""
        wanted = np.array([_hash(name) for name in listed_names(address)], dtype=np.uint64)
        places = np.searchsorted(self._hashes, wanted)
        for place, name in zip(places.tolist(), wanted.tolist(), strict=True):
            if place < len(self._hashes) and int(self._hashes[place]) == name:
                return self._categories[int(self._codes[place])]
        return None


def _canonical(entry: str) -> str:
    """`example.com`, `example.com/path` without a slash at its end, or that and `?query`."""
    if "/" not in entry and "?" not in entry:
        try:
            return canonical_host(entry.removeprefix("*.").removeprefix("."))
        except ValueError:
            return ""
    address = address_of(entry)
    if address is None:
        return ""
    place, has_query, query = address.canonical[7:].partition("?")
    return place.removesuffix("/") + has_query + query


def _hash(entry: str) -> int:
    return int.from_bytes(hashlib.blake2b(entry.encode(), digest_size=8).digest(), "little")
