"""Score a held-out set: nats of every token, each counted once, special tokens never.

1. A document is read behind an end-of-document token, as in training; that token is not scored.
2. A document longer than the model's window is read in windows that overlap by half: a token is
   scored where it has most of its past in sight.
3. Windows are laid into rows of the training shape, several to a row where they fit; each is a
   segment of its own.

Of an answer the question is context: read, not scored. This file travels with packs.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import torch
from torch import Tensor

from corpus_assets.evidence.model import IGNORED
from corpus_assets.evidence.results import TABLE

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class HeldoutRows:
    """The held-out set in rows of one length."""

    tokens: Ints  # [rows, sequence]
    targets: Ints  # the next token where it is scored here, else IGNORED
    segments: Ints
    place: Ints  # of each scored token, in the order of the set: index into the flat rows
    document: Ints  # of each scored token


def lay_out(table: pa.Table, sequence: int, eod_id: int, pad_id: int) -> HeldoutRows:
    """Lay documents (columns `tokens`, and `context`: how many of them are not scored) into rows."""
    rows: list[npt.NDArray[np.int64]] = []
    used = sequence
    place: list[Ints] = []
    document: list[Ints] = []
    tokens = table["tokens"].combine_chunks()
    flat, edges = tokens.flatten().to_numpy(), tokens.offsets.to_numpy() - tokens.offsets[0].as_py()
    for number, context in enumerate(table["context"].to_pylist()):
        stream = np.concatenate([[eod_id], flat[edges[number] : edges[number + 1]]])
        for start, first, last in _windows(len(stream) - 1, context, sequence):
            length = last - start
            if used + length > sequence:
                rows.append(np.full((3, sequence), pad_id, np.int64))
                rows[-1][1], rows[-1][2], used = IGNORED, -1, 0
            row = rows[-1]
            row[0, used : used + length] = stream[start:last]
            row[1, used + first - start : used + length] = stream[first + 1 : last + 1]
            row[2, used : used + length] = used  # where it begins: another for each of a row
            at = (len(rows) - 1) * sequence + used + np.arange(first - start, length)
            place.append(at)
            document.append(np.full(len(at), number))
            used += length
    laid = np.stack(rows) if rows else np.empty((0, 3, sequence), np.int64)
    none = np.empty(0, np.int64)
    return HeldoutRows(
        np.ascontiguousarray(laid[:, 0]),
        np.ascontiguousarray(laid[:, 1]),
        np.ascontiguousarray(laid[:, 2]),
        np.concatenate([none, *place]),
        np.concatenate([none, *document]),
    )


def _windows(count: int, context: int, sequence: int) -> list[tuple[int, int, int]]:
    """(first place read, first place that predicts, end) of each window over `count` predictions."""
    found, first, end = [], context, 0
    while end < count:
        start = 0 if first < sequence else first - sequence // 2
        end = min(count, start + sequence)
        found.append((start, first, end))
        first = end
    return found


@torch.no_grad()
def score_tokens(
    forward: Callable[..., Tensor],
    masks: Callable[[Tensor], Any],
    layout: HeldoutRows,
    rows: int,
    device: str,
) -> npt.NDArray[np.float32]:
    """Return nats of every scored token in the order of the set; `rows` rows at once."""
    found = []
    for first in range(0, len(layout.tokens), rows):
        part = slice(first, first + rows)
        held = [
            torch.from_numpy(_filled(a[part], rows, fill)).to(device)
            for a, fill in ((layout.tokens, 0), (layout.targets, IGNORED), (layout.segments, -1))
        ]
        found.append(forward(held[0], held[1], masks(held[2])).float().flatten())
    nats: npt.NDArray[np.float32] = torch.cat(found).cpu().numpy()
    return nats[layout.place]


def _filled(part: Ints, rows: int, fill: int) -> Ints:
    return np.pad(part, ((0, rows - len(part)), (0, 0)), constant_values=fill)


def per_document(table: pa.Table, layout: HeldoutRows, nats: npt.NDArray[np.float32]) -> pa.Table:
    """Return the rows of a result: `TABLE`."""
    count = len(table)
    sums = np.bincount(layout.document, weights=nats.astype(np.float64), minlength=count)
    tokens = np.bincount(layout.document, minlength=count)
    columns = [np.arange(count), table["domain"], table["host"], sums, table["bytes"], tokens,
               table["item"]]  # fmt: skip
    return pa.table(dict(zip(TABLE.names, columns, strict=True))).cast(TABLE)
