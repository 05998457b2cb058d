"""Read the samples of an export in order, with the spans of their documents.

Samples come in a global shuffle, so any chunk asks for spans of any shard. Laid out flat, an
answer is two array look-ups, and memory does not follow the corpus.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from corpus_assets.core.schemas import DOC_ID
from corpus_assets.shards.export.plan import ExportPlan
from corpus_loader import Loader, Manifest, Shard
from corpus_loader.mapped_shards import Opener

Ints = npt.NDArray[np.int64]

SPAN = np.dtype([("offset", "<i4"), ("length", "<i4"), ("within", "<i4"), ("doc", "V16")])

LINEAGE = pa.schema(
    [
        ("row", pa.int64()),  # number of the sample in the export
        ("offset", pa.int32()),
        ("length", pa.int32()),
        ("doc_id", DOC_ID),
        ("doc_token_offset", pa.int32()),
    ]
)


@dataclass(frozen=True, slots=True)
class SampleSpans:
    """Spans of some samples: `counts[i]` of them belong to the i-th."""

    counts: Ints
    spans: npt.NDArray[np.void]  # of type SPAN, sample by sample, from left to right

    def table(self, first: int) -> pa.Table:
        """As `LINEAGE`, the first sample having number `first` in the export."""
        rows = np.repeat(np.arange(first, first + len(self.counts)), self.counts)
        return pa.Table.from_arrays(
            [
                pa.array(rows, pa.int64()),
                pa.array(self.spans["offset"]),
                pa.array(self.spans["length"]),
                self.doc_ids(),
                pa.array(self.spans["within"]),
            ],
            schema=LINEAGE,
        )

    def doc_ids(self) -> pa.Array:
        data = np.ascontiguousarray(self.spans["doc"]).tobytes()
        return pa.FixedSizeBinaryArray.from_buffers(
            DOC_ID, len(self.spans), [None, pa.py_buffer(data)]
        )

    def offsets(self) -> pa.Array:
        """Bounds of each sample's spans, as Arrow's lists have them."""
        return pa.array(np.concatenate(([0], np.cumsum(self.counts))), pa.int32())


class FlatSpans:
    """Spans of every sample of a manifest; samples count through all shards in order."""

    def __init__(self, bounds: Ints, spans: npt.NDArray[np.void]) -> None:
        self._bounds = bounds
        self._spans = spans

    @classmethod
    def build(cls, loader: Loader, folder: Path) -> "FlatSpans":
        """Read the spans of all shards, one at a time, into files of `folder`: 28 bytes a span
        and 8 a sample."""
        flat, bounds = folder / "spans.flat", folder / "spans.bounds"
        total = 0
        with flat.open("wb") as spans_file, bounds.open("wb") as bounds_file:
            bounds_file.write(np.zeros(1, "<i8").tobytes())
            for number in range(len(loader.shards)):
                shard = loader.shard(number)
                spans, counts = _flat(shard)
                shard.close()
                spans_file.write(spans.tobytes())
                bounds_file.write((total + np.cumsum(counts)).astype("<i8").tobytes())
                total += len(spans)
        empty = np.empty(0, SPAN)
        return cls(
            np.memmap(bounds, "<i8", mode="r"),
            np.memmap(flat, SPAN, mode="r") if total else empty,
        )

    def of(self, samples: Ints) -> SampleSpans:
        """Spans of the samples, in the order asked."""
        first = self._bounds[samples]
        counts = self._bounds[samples + 1] - first
        steps = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
        return SampleSpans(np.asarray(counts), self._spans[np.repeat(first, counts) + steps])


def _flat(shard: Shard) -> tuple[npt.NDArray[np.void], Ints]:
    table = shard.spans_table().combine_chunks()
    spans = np.empty(table.num_rows, SPAN)
    spans["offset"] = table["offset"].to_numpy()
    spans["length"] = table["length"].to_numpy()
    spans["within"] = table["doc_token_offset"].to_numpy()
    spans["doc"] = np.frombuffer(b"".join(_id_bytes(table["doc_id"])), "V16")
    counts = np.bincount(table["sample"].to_numpy(), minlength=len(shard))
    return spans, counts.astype(np.int64)


def _id_bytes(column: pa.ChunkedArray) -> Iterator[bytes]:
    for chunk in column.chunks:
        start = chunk.offset * 16
        yield chunk.buffers()[1].to_pybytes()[start : start + len(chunk) * 16]


# Samples in order.

CHUNK_BYTES = 2**23


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some samples of an export, next to each other."""

    first: int  # number of the first sample in the export
    tokens: npt.NDArray[np.int32]  # [samples, seq_len], padded
    filled: npt.NDArray[np.int64]  # tokens of each sample without padding
    positions: npt.NDArray[np.int64]
    groups: npt.NDArray[np.int64]  # index into the manifest's groups
    shards: npt.NDArray[np.int64]  # index into the loader's shards
    samples: npt.NDArray[np.int64]
    spans: SampleSpans | None


class RunStream:
    """All samples of a plan; may be read from several threads, each from its own place."""

    def __init__(self, manifest: Manifest, store: Path | Opener, plan: ExportPlan) -> None:
        self.plan = plan
        self.loader = Loader(manifest, store, global_batch=1, check="none")
        seeds = {one.seed for one in plan.passes}
        self._loaders = {seed: self.loader.with_seed(seed) for seed in seeds}
        self._ends = np.cumsum([one.samples for one in plan.passes])
        sizes = np.array([shard.samples for shard in self.loader.shards], dtype=np.int64)
        self._shard_starts = np.cumsum(sizes) - sizes

    def verify_source(self) -> None:
        """Hash every shard that the export draws from: a damaged one must not be copied on."""
        manifest, phase = self.loader.manifest, self.plan.phase
        drawn = {
            group
            for each in manifest.phases
            if each.blocks and phase in (None, each.name)
            for group in each.counts
        }
        owners = [group.id for group in manifest.groups for _ in group.shards]
        self.loader.verify(number for number, group in enumerate(owners) if group in drawn)

    def chunks(self, first: int, end: int, spans: FlatSpans | None = None) -> Iterator[Chunk]:
        """Yield samples [first, end) of the export, some megabytes at a time."""
        rows = max(1, CHUNK_BYTES // (4 * self.plan.seq_len))
        while first < end:
            number = int(np.searchsorted(self._ends, first, side="right"))
            one = self.plan.passes[number]
            stop = min(first + rows, end, int(self._ends[number]))
            begin = one.first + first - (int(self._ends[number]) - one.samples)
            positions = np.arange(begin, begin + stop - first)
            batch = self._loaders[one.seed].take(positions, announced=True)
            found = None
            if spans is not None:
                found = spans.of(self._shard_starts[batch.shards] + batch.samples)
            filled = np.count_nonzero(batch.tokens != self.plan.pad_id, axis=1).astype(np.int64)
            yield Chunk(
                first, batch.tokens, filled, batch.positions, batch.groups, batch.shards,
                batch.samples, found,
            )  # fmt: skip
            first = stop
