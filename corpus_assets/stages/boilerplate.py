"""Lines that a site repeats on page after page: found once per snapshot, pinned by hash.

A line's key is BLAKE2b-64 over (host, line), so the calibration holds no text. Counting is a
map over parts and a merge; a line goes when at least `min_documents` documents of its host in
the snapshot hold it. Collisions: at 10^9 distinct lines, about 3% odds that any two share a key.
"""

import hashlib
from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pydantic import Field

from corpus_assets.step import Settings

VERSION = 1

LINE_COUNTS = pa.schema([("line_key", pa.uint64()), ("documents", pa.int32())])


class BoilerplateSettings(Settings):
    """Which lines are counted, and how often makes one boilerplate."""

    domains: tuple[str, ...] = ("web",)
    min_chars: int = Field(default=12, ge=1)
    min_documents: int = Field(default=6, ge=2)


def line_key(host: str, line: str) -> int:
    data = host.encode() + b"\0" + line.strip().encode()
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


def lines_with_ends(text: str) -> Iterator[tuple[int, int, str]]:
    """(start, end including the line break, line) for each line of the text."""
    start = 0
    while start < len(text):
        stop = text.find("\n", start)
        end = len(text) if stop < 0 else stop + 1
        yield start, end, text[start:end]
        start = end


def count_lines(documents: pa.Table, settings: BoilerplateSettings) -> pa.Table:
    """Documents of the part that hold each line; one document counts once, and so do exact copies."""
    keys: list[int] = []
    seen_texts: set[tuple[str, bytes]] = set()
    columns = (documents[name].to_pylist() for name in ("domain", "host", "text_id", "text"))
    for domain, host, text_id, text in zip(*columns, strict=True):
        if domain not in settings.domains or (host, text_id) in seen_texts:
            continue
        seen_texts.add((host, text_id))
        distinct = {
            line_key(host or "", line)
            for _, _, line in lines_with_ends(text)
            if len(line.strip()) >= settings.min_chars
        }
        keys.extend(distinct)
    unique, counts = np.unique(np.array(keys, dtype=np.uint64), return_counts=True)
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
