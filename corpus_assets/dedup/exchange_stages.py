"""The steps between signatures and clusters of a window that is too large for one task.

How a window is cut is a function of its parts and of how many records each has, which takedowns do
not change. A window of one group has no such steps: one task clusters it at once. The result is
the same, byte by byte.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from corpus_assets.core import exchange as ranged
from corpus_assets.core import files
from corpus_assets.core.exchange import (
    Targets,
    range_bytes,
    range_inputs,
    range_name,
    ranges_of,
    read_ranges,
    write_ranges,
)
from corpus_assets.core.files import File
from corpus_assets.core.lazy_sequence import LazySequence
from corpus_assets.core.stage import Scope, Stage
from corpus_assets.core.store import Output
from corpus_assets.core.task import Task, TaskContext
from corpus_assets.dedup import exchange, signatures
from corpus_assets.dedup.parts import SIGNED_FILES, group_parts
from corpus_assets.dedup.planner import DedupPlanner
from corpus_assets.dedup.settings import ClusterSettings, SignatureSettings
from corpus_assets.dedup.window import key_tables

DIRECT_KEYS = 1 << 26
"""Candidate keys of a window that one task clusters at once, at most."""
GROUP_KEYS = 1 << 24
"""Candidate keys of a group, about."""
RANGE_KEYS = 1 << 26
"""Candidate keys of a range, about: 8 bytes each."""
BATCH_RECORDS = 1 << 20
"""Records of the window for each batch: where all match, 800 bytes each."""
REACHED = 4
"""Records of a window that one of its last snapshot is connected to, at most, about: no others go
to batches. Where it is more, batches are larger."""
INTERVAL_RECORDS = 1 << 23
"""Records of the window that are connected at a time: 23 bytes each, 55 where it has a label."""
HELD_BYTES = 1 << 29
"""Of a batch; a larger one is read twice, and goes through temporary files."""


@dataclass(frozen=True)
class PartGroup:
    """Consecutive parts of a snapshot."""

    snapshot: str
    rank: int
    parts: range
    first: int  # number of its first record in the window
    records: int


@dataclass(frozen=True)
class WindowLayout:
    """How a window is cut."""

    groups: Sequence[PartGroup]
    tables: int
    ranges: int
    batches: int
    asked: int = 0  # the first group of which all clusters are asked for
    new: int = 0  # the first group that is clustered; those before it have links
    linked: tuple[str, ...] = ()
    """Snapshots that were clustered in pieces before, whose links are read."""

    @property
    def firsts(self) -> list[int]:
        """Numbers at which groups begin, and the end of the last."""
        last = self.groups[-1]
        return [*(group.first for group in self.groups), last.first + last.records]

    @property
    def own(self) -> list[tuple[int, PartGroup]]:
        """Return the groups of the last snapshot, with their numbers."""
        rank = self.groups[-1].rank
        return [(i, group) for i, group in enumerate(self.groups) if group.rank == rank]


def layout(
    records: Mapping[str, Sequence[int]], tables: int, leaves_links: bool = False
) -> WindowLayout | None:
    """Return how a window is cut, from the records of each part of its snapshots; None where one
    task clusters it at once. With `leaves_links` the windows of the snapshots before begin where it
    does, and those that were cut have left links."""
    if _is_clustered_at_once(records, list(records), tables):
        return None
    total = sum(map(sum, records.values()))
    before = list(records)[:-1] if leaves_links else []
    linked = tuple(
        name
        for i, name in enumerate(before)
        if not _is_clustered_at_once(records, before[: i + 1], tables)
    )
    groups: list[PartGroup] = []
    first = 0
    for rank, (snapshot, counts) in enumerate(records.items()):
        start = 0
        while start < len(counts):
            stop, size = start + 1, counts[start]
            while (
                stop < len(counts)
                and stop - start < ranged.GROUP_PARTS
                and (size + counts[stop]) * tables <= GROUP_KEYS
            ):
                size, stop = size + counts[stop], stop + 1
            groups.append(PartGroup(snapshot, rank, range(start, stop), first, size))
            start, first = stop, first + size
    ranges, batches = 2, 1
    while ranges * RANGE_KEYS < total * tables:
        ranges *= 2
    own = next(i for i, group in enumerate(groups) if group.snapshot == groups[-1].snapshot)
    new = own if linked else 0
    asked = new if leaves_links else own
    while batches * BATCH_RECORDS < min(total, REACHED * (total - groups[asked].first)):
        batches *= 2
    return WindowLayout(groups, tables, ranges, batches, asked, new, linked)


def _is_clustered_at_once(
    records: Mapping[str, Sequence[int]], window: Sequence[str], tables: int
) -> bool:
    keys = sum(sum(records[name]) for name in window) * tables
    return keys <= DIRECT_KEYS and sum(len(records[name]) for name in window) <= ranged.DIRECT_PARTS


class ClusterExchange:
    """The stages of an exchange, for the clusters among the documents that a file keeps."""

    def __init__(
        self,
        prefix: str,
        kept: File,
        window: "Callable[[DedupPlanner, str], Sequence[str]]",
        goes_on: bool = False,
    ) -> None:
        """`window` says which snapshots are clustered with one; none where none are asked for.
        `goes_on`: where a window has all snapshots before, those are not clustered again."""
        self.kept, self.window, self._goes_on = kept, window, goes_on
        self._keys = File(f"{prefix}_keys", "keys.zip")
        self._pairs = File(f"{prefix}_pairs", "pairs.bin")
        self._labels = File(f"{prefix}_labels", "labels-*.zip")
        self._rows = File(f"{prefix}_rows", "rows.zip")
        self._found = File(f"{prefix}_batches", "found.zip")
        self._links = File(f"{prefix}_batches", "links.bin")
        links = (self._links,) if goes_on else ()
        given = (files.RECORDS, files.CANDIDATE_KEYS, kept)
        signed = (files.RECORDS, *SIGNED_FILES)
        self.stages = tuple(
            Stage(
                file.stage,
                exchange.VERSION,
                Scope.SNAPSHOT,
                plan,
                run,
                reads=before,
                reads_all=across,
                reads_before=links if file is self._labels else (),
                writes=(file, *links) if file is self._found else (file,),
            )
            for file, plan, run, before, across in (
                (self._keys, self._plan_keys, run_keys, (), given),
                (self._pairs, self._plan_pairs, run_pairs, (self._keys,), (files.RECORDS,)),
                (self._labels, self._plan_labels, run_labels, (self._pairs,), (files.RECORDS,)),
                (self._rows, self._plan_rows, run_rows, (self._labels,), signed),
                (self._found, self._plan_batches, run_batch, (self._rows,), (files.RECORDS,)),
            )
        )
        self.reads = (self._found,)
        """What clusters are put together from."""

    def layout(self, pipeline: DedupPlanner, snapshot: str) -> WindowLayout | None:
        tables = len(key_tables(pipeline.recipe.clusters, pipeline.recipe.signatures))
        records = {
            name: pipeline.rows(files.RECORDS, name) for name in self.window(pipeline, snapshot)
        }
        return layout(records, tables, self._leaves_links(pipeline))

    def _leaves_links(self, pipeline: DedupPlanner) -> bool:
        return self._goes_on and pipeline.recipe.clusters.scope == "all"

    def _plan_keys(self, pipeline: DedupPlanner, snapshot: str) -> Sequence[Task]:
        cut = self.layout(pipeline, snapshot)
        if cut is None:
            return []
        wanted = pipeline.recipe.clusters
        settings = {
            "clusters": {"url": wanted.url, "exact": wanted.exact}
            | ({} if wanted.near else {"min_similarity": None}),
            "signatures": pipeline.recipe.signatures.identity(),
            "ranges": cut.ranges,
        }
        inputs = self.inputs(pipeline, snapshot, files.RECORDS, files.CANDIDATE_KEYS, self.kept)
        return LazySequence(
            lambda i, group: self.stages[0].task(
                settings, inputs(group), label=_label(snapshot, "group", i)
            ),
            cut.groups,
        )

    def _plan_pairs(self, pipeline: DedupPlanner, snapshot: str) -> Sequence[Task]:
        cut = self.layout(pipeline, snapshot)
        if cut is None:
            return []
        settings = {"tables": cut.tables, "firsts": cut.firsts, "new": cut.new}
        ranges = self._ranges(pipeline, snapshot, self._keys)
        return LazySequence(
            lambda i, _: self.stages[1].task(
                settings,
                **range_inputs(ranges.get(range_name(i), {})),
                label=_label(snapshot, "range", i),
            ),
            range(cut.ranges),
        )

    def _plan_labels(self, pipeline: DedupPlanner, snapshot: str) -> Sequence[Task]:
        cut = self.layout(pipeline, snapshot)
        if cut is None:
            return []
        pairs = pipeline.parts(self._pairs, snapshot)
        settings = {"firsts": cut.firsts, "interval": INTERVAL_RECORDS, "asked": cut.asked}
        inputs = {f"pairs/{range_name(i)}": output for i, output in enumerate(pairs)}
        for rank, name in enumerate(
            cut.linked
        ):  # the first first: each of them asks for those before
            for i, output in enumerate(pipeline.parts(self._links, name)):
                inputs[f"links/{rank:05d}/{range_name(i)}"] = output
        return [self.stages[2].task(settings, inputs, label=snapshot)]

    def _plan_rows(self, pipeline: DedupPlanner, snapshot: str) -> Sequence[Task]:
        cut = self.layout(pipeline, snapshot)
        if cut is None:
            return []
        (result,) = pipeline.results(self._labels.stage, snapshot)
        labels = {
            group: {"labels": place}
            for name in result.outputs
            for group, place in ranges_of(pipeline.store, result, name).items()
        }
        settings = {"batches": cut.batches, "signatures": pipeline.recipe.signatures.identity()}
        inputs = self.inputs(pipeline, snapshot, files.RECORDS, *SIGNED_FILES)
        return LazySequence(
            lambda i, group: self.stages[3].task(
                settings | {"first_part": group.parts.start},
                inputs(group),
                **range_inputs(labels.get(range_name(i), {})),
                label=_label(snapshot, "group", i),
            ),
            cut.groups,
        )

    def _plan_batches(self, pipeline: DedupPlanner, snapshot: str) -> Sequence[Task]:
        cut = self.layout(pipeline, snapshot)
        if cut is None:
            return []
        settings = {
            "clusters": pipeline.recipe.clusters.identity(),
            "signatures": pipeline.recipe.signatures.identity(),
            "signatures_version": signatures.VERSION,  # rows are identified by their texts
            "window": list(self.window(pipeline, snapshot)),
            "ranks": [group.rank for group in cut.groups],
            "first_parts": [group.parts.start for _, group in cut.own],
        } | ({"links": self._leaves_links(pipeline)} if self._goes_on else {})
        ranges = self._ranges(pipeline, snapshot, self._rows)
        return LazySequence(
            lambda i, _: self.stages[4].task(
                settings,
                **range_inputs(ranges.get(range_name(i), {})),
                label=_label(snapshot, "batch", i),
            ),
            range(cut.batches),
        )

    def plan_members(
        self, pipeline: DedupPlanner, snapshot: str, stage: Stage, cut: WindowLayout
    ) -> Sequence[Task]:
        """Plan the clusters of a snapshot, by group of parts."""
        ranges = self._ranges(pipeline, snapshot, self._found)
        inputs = self.inputs(pipeline, snapshot, files.RECORDS, self.kept)
        return LazySequence(
            lambda i, group: stage.task(
                {"snapshot": snapshot, "first_part": group.parts.start},
                inputs(group),
                **range_inputs(ranges.get(range_name(i), {})),
                label=_label(snapshot, "group", i),
            ),
            [group for _, group in cut.own],
        )

    def inputs(
        self, pipeline: DedupPlanner, snapshot: str, *wanted: File
    ) -> Callable[[PartGroup], dict[str, Output]]:
        """Return what gives the files of a group's parts, by the part's place in the group and the
        file's kind."""
        parts = {
            (name, file): pipeline.parts(file, name)
            for name in self.window(pipeline, snapshot)
            for file in wanted
        }

        def of_group(group: PartGroup) -> dict[str, Output]:
            some = slice(group.parts.start, group.parts.stop)
            return {
                f"{i:05d}/{self.kind(file)}": output
                for file in wanted
                for i, output in enumerate(parts[group.snapshot, file][some])
            }

        return of_group

    def kind(self, file: File) -> str:
        """Return what a task calls a file of a part."""
        return "selection" if file is self.kept else file.partition(".")[0]

    def _ranges(self, pipeline: DedupPlanner, snapshot: str, file: File) -> Targets:
        """Return the ranges of a step's files by target, named by the number of their file."""
        return Targets(
            (range_name(i), ranges_of(pipeline.store, result, file))
            for i, result in enumerate(pipeline.results(file.stage, snapshot))
        )


def _label(snapshot: str, kind: str, number: int) -> str:
    return f"{snapshot} {kind} {number}"


def run_keys(context: TaskContext) -> None:
    bits = int(context.task.settings["ranges"]).bit_length() - 1
    settings = context.settings(ClusterSettings, "clusters")
    signed = context.settings(SignatureSettings, "signatures")
    laid = exchange.lay_keys(group_parts(context), settings, signed, bits)
    write_ranges(context, "keys.zip", laid)


def run_pairs(context: TaskContext) -> None:
    settings = context.task.settings
    firsts = settings["firsts"]
    pieces = ((firsts[number], data) for number, data in _numbered(context))
    pairs = exchange.pair_equal(pieces, settings["tables"], firsts[settings["new"]])
    context.write_bytes("pairs.bin", pairs.astype("<u8", copy=False).tobytes(), len(pairs))


def run_labels(context: TaskContext) -> None:
    settings = context.task.settings
    firsts, most = settings["firsts"], settings["interval"]
    begins = [0]  # groups at which intervals begin
    for group in range(1, len(firsts) - 1):
        if firsts[group + 1] - firsts[begins[-1]] > most:
            begins.append(group)
    ends = [*begins[1:], len(firsts) - 1]

    def pairs(kind: str) -> Iterator[exchange.Pairs]:
        for name in context.names(kind):
            yield np.frombuffer(context.content(name), "<u8").reshape(-1, 2)

    cuts = [*(firsts[group] for group in begins), firsts[-1]]
    asked = firsts[settings["asked"]]
    found = exchange.label(pairs("pairs/"), lambda: pairs("links/"), cuts, asked)
    for i, (begin, end, (first, places, labels, known)) in enumerate(
        zip(begins, ends, found, strict=True)
    ):
        stops = np.searchsorted(
            places, np.array(firsts[begin : end + 1], np.uint64) - np.uint64(first)
        )
        ranges = (
            (
                range_name(group),
                exchange.label_bytes(
                    places[start:stop] - np.uint64(firsts[group] - first),
                    labels[start:stop],
                    known[start:stop],
                ),
            )
            for group, start, stop in zip(range(begin, end), stops[:-1], stops[1:], strict=True)
            if start < stop
        )
        write_ranges(context, f"labels-{i:05d}.zip", ranges, places.size)


def run_rows(context: TaskContext) -> None:
    settings = context.task.settings
    labelled = b"".join(read_ranges(context))
    bands = context.settings(SignatureSettings, "signatures").bands
    parts = group_parts(context) if labelled else []
    laid = exchange.lay_rows(parts, labelled, settings["batches"], bands)
    rows = len(labelled) // exchange.LABEL_BYTES
    write_ranges(context, "rows.zip", laid, rows, identity=exchange.row_table)


def run_batch(context: TaskContext) -> None:
    settings = context.task.settings
    ranks = settings["ranks"]

    def read() -> Iterator[tuple[int, bytes]]:
        return ((ranks[number], data) for number, data in _numbered(context))

    size = range_bytes(context)
    held = list(read()) if size <= HELD_BYTES else None
    found, links = exchange.cluster_batch(
        lambda: read() if held is None else held,
        settings["window"],
        context.settings(ClusterSettings, "clusters"),
        context.settings(SignatureSettings, "signatures").bands,
        is_held=held is not None,
    )
    laid = exchange.lay_members(found, settings["first_parts"])
    write_ranges(context, "found.zip", laid, found.num_rows)
    if "links" in settings:  # none where no later window reads them
        links = links if settings["links"] else links[:0]
        context.write_bytes("links.bin", links.astype("<u8", copy=False).tobytes(), len(links))


def _numbered(context: TaskContext) -> Iterator[tuple[int, bytes]]:
    """Yield the ranges of a task with the numbers of the files they are of."""
    names: Mapping[str, str] = context.task.extra_inputs
    yield from zip(map(int, sorted(names)), read_ranges(context), strict=True)
