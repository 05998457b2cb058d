"""Lines that a site repeats on page after page: found once per snapshot, pinned by hash.

A line's key is BLAKE2b-64 over (host, line), so the calibration holds no text. Counting is a
map over parts and a merge; a line goes when at least `min_documents` documents of its bucket in
the snapshot hold it. The bucket is the host, or all of the snapshot. Collisions: at 10^9 distinct lines, about 3% odds that any two share a key.
"""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pydantic import Field

from corpus_assets.kernels.blake2b import hash_with_prefix
from corpus_assets.kernels.pieces import pieces_in_chars
from corpus_assets.kernels.text import CHARS, END, START, Bytes, Hashes, Ints
from corpus_assets.signals import TextBatch
from corpus_assets.step import Settings

VERSION = 1

LINE_COUNTS = pa.schema([("line_key", pa.uint64()), ("documents", pa.int32())])


class BoilerplateSettings(Settings):
    """Which lines are counted, and how often makes one boilerplate."""

    domains: tuple[str, ...] = ("web",)
    min_chars: int = Field(default=12, ge=1)
    min_documents: int = Field(default=6, ge=2)
    bucket: Literal["host", "snapshot"] = Field(
        default="host", description="where a line's documents are counted: its site, or all sites"
    )

    def buckets(self, hosts: Iterable[str | None]) -> list[str]:
        """The name under which each document's lines are counted."""
        if self.bucket == "snapshot":
            return ["" for _ in hosts]
        return [host or "" for host in hosts]


def line_key(host: str, line: str) -> int:
    data = host.encode() + b"\0" + line.strip().encode()
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


def line_keys(
    batch: TextBatch, hosts: Sequence[str], wanted: Sequence[bool], min_chars: int
) -> tuple[Ints, Ints, Hashes]:
    """Lines of the wanted documents that are long enough, and their keys, without Python strings.

    Returns `spans: int64[k, 3]`, `rows: int64[n + 1]` and `keys: uint64[k]`; the key of a line is
    `line_key` of it.
    """
    lines, rows = batch.lines.spans, batch.lines.rows
    mask = np.repeat(np.asarray(wanted, dtype=np.bool_), np.diff(rows))
    mask &= lines[:, CHARS] >= min_chars
    before = np.concatenate(([0], np.cumsum(mask)))
    spans, rows = lines[mask], before[rows]
    prefixes = [host.encode() + b"\0" for host in hosts]
    ends = np.cumsum([0, *map(len, prefixes)], dtype=np.int64)
    heads = np.frombuffer(b"".join(prefixes), dtype=np.uint8)
    return spans, rows, hash_with_prefix(batch.data, spans, rows, heads, ends)


def repeated_lines(
    batch: TextBatch,
    domains: Sequence[str],
    hosts: Sequence[str],
    boilerplate: frozenset[int],
    settings: BoilerplateSettings,
) -> dict[int, list[tuple[int, int]]]:
    """The boilerplate lines of each document that has any: [start, end) in characters of it, the
    line break included."""
    wanted = [domain in settings.domains for domain in domains]
    if not boilerplate or not any(wanted):
        return {}
    spans, rows, keys = line_keys(batch, settings.buckets(hosts), wanted, settings.min_chars)
    hits = np.flatnonzero(np.isin(keys, np.array(sorted(boilerplate), dtype=np.uint64)))
    if len(hits) == 0:
        return {}
    document = np.searchsorted(rows, hits, side="right") - 1
    pieces = np.empty((len(hits), 2), dtype=np.int64)
    for k, (hit, row) in enumerate(zip(hits.tolist(), document.tolist(), strict=True)):
        pieces[k] = _with_break(
            batch.data, spans[hit], int(batch.offsets[row]), int(batch.offsets[row + 1])
        )
    hit_rows = np.searchsorted(document, np.arange(len(batch) + 1)).astype(np.int64)
    places = pieces_in_chars(batch.data, batch.offsets, pieces, hit_rows).tolist()
    out: dict[int, list[tuple[int, int]]] = {}
    for row, (start, end) in zip(document.tolist(), places, strict=True):
        out.setdefault(row, []).append((start, end))
    return out


def _with_break(data: Bytes, span: Ints, low: int, high: int) -> tuple[int, int]:
    """A stripped line with the white space around it and its line break."""
    start, end = int(span[START]), int(span[END])
    while start > low and data[start - 1] != 10:
        start -= 1
    while end < high and data[end] != 10:
        end += 1
    return start, min(end + 1, high)


def count_lines(documents: pa.Table, settings: BoilerplateSettings) -> pa.Table:
    """Documents of the part that hold each line; one document counts once, and so do exact copies."""
    seen_texts: set[tuple[str, bytes]] = set()
    wanted: list[int] = []
    domains, text_ids = documents["domain"].to_pylist(), documents["text_id"].to_pylist()
    buckets = settings.buckets(documents["host"].to_pylist())
    for row, (domain, bucket, text_id) in enumerate(zip(domains, buckets, text_ids, strict=True)):
        if domain in settings.domains and (bucket, text_id) not in seen_texts:
            seen_texts.add((bucket, text_id))
            wanted.append(row)
    some = documents.take(pa.array(wanted, pa.int64()))
    batch = TextBatch.from_arrow(some["text"])
    own = [buckets[row] for row in wanted]
    _, rows, keys = line_keys(batch, own, [True] * len(batch), settings.min_chars)
    document = np.repeat(np.arange(len(batch)), np.diff(rows))
    order = np.lexsort((document, keys))
    keys, document = keys[order], document[order]
    is_new = np.ones(len(keys), dtype=np.bool_)  # a key once a document
    is_new[1:] = (keys[1:] != keys[:-1]) | (document[1:] != document[:-1])
    unique, counts = np.unique(keys[is_new], return_counts=True)
    return pa.table([unique, counts.astype(np.int32)], schema=LINE_COUNTS)


def merge_counts(parts: Iterable[pa.Table], settings: BoilerplateSettings) -> pa.Table:
    """Sorted keys of the lines that are boilerplate, with their document counts."""
    merged = pa.concat_tables([LINE_COUNTS.empty_table(), *parts])
    totals = merged.group_by("line_key").aggregate([("documents", "sum")])
    keys = totals["line_key"].to_numpy()
    counts = totals["documents_sum"].to_numpy()
    mask = counts >= settings.min_documents
    order = np.argsort(keys[mask], kind="stable")
    return pa.table([keys[mask][order], counts[mask][order].astype(np.int32)], schema=LINE_COUNTS)


def boilerplate_keys(table: pa.Table) -> npt.NDArray[np.uint64]:
    return np.asarray(table["line_key"].to_numpy(), dtype=np.uint64)
