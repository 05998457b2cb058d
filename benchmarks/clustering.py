"""Clusters of tens of millions of documents: peak memory and CPU time, beside two group-bys.

    python -m venv PEER && PEER/bin/pip install -r benchmarks/requirements-near-dedup.txt
    python benchmarks/clustering.py --documents 10_000_000 --peer-python PEER/bin/python

Makes up documents, part by part: 30% are copies of others (groups from 2 to thousands), a copy
agrees in each band with a chance of 60% and in 95% of the bins, one document in a hundred shares
a hot band with all others like it and nothing more, and one text in ten thousand stands there
again and again. Candidate keys and sketches are written as the pipeline writes them; above 20
million documents a sketch is computed when it is asked for, to save the disk.

A process of its own then clusters the window at once, as one task of a store in a folder: its peak
resident memory and CPU time are printed, and of that the time for grouping keys alone (reading the
tables included). Another does it in the pieces of the exchange, which a build takes for windows of
more than one group: CPU time and the largest piece of each step, and whether the members are equal.
Every task checks the files that it reads and hashes those that it writes; how long SHA-256 takes of
it all is printed too, because processors differ in that by a factor of ten.
The peers group the same keys, from memory, band by band: `group by key having count(*) > 1`.

    python benchmarks/clustering.py --documents 20_000_000 --added 0.1

takes the last tenth for a snapshot that is added to one that was clustered: both are clustered in
pieces, the second by the keys and links of the first, and compared with a window at once.

    python benchmarks/clustering.py --documents 5_000_000 --intervals 1 8 90 300

connects the pairs of all documents in so many intervals: CPU time, temporary files, and whether the
labels are equal.

    python benchmarks/clustering.py --table 3_000_000_000 100_000_000_000

prints how windows of so many documents are cut, and what each step reads and writes, at the rates
of pairs and rows a document that were measured (`--rates`).
"""

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from machine import machine
from numba import njit

from corpus_assets.core import store as stored
from corpus_assets.core.exchange import (
    Targets,
    range_bytes,
    range_inputs,
    ranges_of,
    read_ranges,
    write_ranges,
)
from corpus_assets.core.identity import digest
from corpus_assets.core.store import LocalStore, Result
from corpus_assets.core.task import (
    LOOKUP_ROWS,
    Finished,
    Task,
    TaskContext,
    execute,
)
from corpus_assets.dedup import exchange, exchange_stages, window
from corpus_assets.dedup.candidate_keys import CandidateKeys, pack_candidate_keys
from corpus_assets.dedup.clusters import MEMBERS
from corpus_assets.dedup.settings import ClusterSettings, SignatureSettings
from corpus_assets.dedup.signatures import parse_sketches, sketch_bytes
from corpus_assets.text.minhash import BINS

PART_ROWS = 35_000
STORED_SKETCHES = 20_000_000
PEER = Path(__file__).with_name("clustering_peer.py")
PEER_BANDS = 3
PIECE_MIB = 2048  # of memory that a piece may take
ROW_BYTES = 150  # of a row beside its bands and sketch


@njit(cache=True)
def mixed(value: Any) -> Any:
    """splitmix64."""
    value = value + np.uint64(0x9E3779B97F4A7C15)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@njit(cache=True)
def origins(first: int, count: int, total: int) -> Any:
    """Which document each one is a copy of; itself for most. Powers make a few very popular."""
    found = np.empty(count, np.uint64)
    for i in range(count):
        number = np.uint64(first + i)
        draw = mixed(number)
        found[i] = number
        if draw % np.uint64(10) < np.uint64(3):
            share = (draw >> np.uint64(11)) / 2.0**53
            found[i] = np.uint64(share**1.5 * total)
        elif draw % np.uint64(10_000) == np.uint64(9):
            found[i] = np.uint64(7)
    return found


@njit(cache=True)
def make_rows(first: int, of: Any, bands: int, keys: Any, sketches: Any) -> None:
    """Fill band keys uint64[rows, bands] and, where there is room, sketches uint64[rows, words]."""
    for i in range(of.size):
        number = np.uint64(first + i)
        for band in range(bands):
            draw = mixed(
                number * np.uint64(131) + np.uint64(band) + (np.uint64(1) << np.uint64(60))
            )
            source = of[i] if draw % np.uint64(100) < np.uint64(60) else number
            if of[i] == np.uint64(7):
                source = of[i]
            if band == 3 and number % np.uint64(100) == np.uint64(0):
                source = np.uint64(1) << np.uint64(50)
            keys[i, band] = mixed(mixed(source) ^ np.uint64(band))
        if sketches.shape[0]:
            for word in range(sketches.shape[1]):
                value = mixed(mixed(of[i]) + np.uint64(word))
                draw = mixed(number + (np.uint64(word) << np.uint64(40)))
                if draw % np.uint64(5) < np.uint64(2) and of[i] != np.uint64(7):
                    value ^= np.uint64(0xFF) << np.uint64(8 * (draw >> np.uint64(32)) % 64)
                sketches[i, word] = value | np.uint64(0x0101010101010101)


class MadePart:
    """A part whose tables lie in a folder and whose rows are a formula."""

    def __init__(
        self, folder: Path, place: int, total: int, bands: int, rank: int = 0, start: int = 0
    ) -> None:
        """`start`: the place of the first part of its snapshot."""
        self.rank = rank
        self.number, self._place = place - start, place
        self.first = place * PART_ROWS
        self.n_rows = self.n_records = min(PART_ROWS, total - self.first)
        self._folder, self._total, self._bands = folder, total, bands
        self._is_checked = False

    def write(self) -> None:
        keys, sketches = self._made(with_sketches=self._total <= STORED_SKETCHES)
        self._file("ties").write_bytes(pack_candidate_keys(self.members(), keys))
        if sketches.size:
            self._file("npy").write_bytes(sketch_bytes(sketches))

    def kept(self) -> npt.NDArray[np.bool_]:
        return np.ones(self.n_rows, np.bool_)

    def numbers(self) -> npt.NDArray[np.uint32]:
        return np.arange(self.n_rows, dtype=np.uint32)

    def candidate_keys(self) -> CandidateKeys:
        if not self._is_checked:
            stored.sha256_hex(
                self._file("ties").read_bytes()
            )  # as the pipeline checks, once a task
            self._is_checked = True
        return CandidateKeys.open(self._file("ties"))

    def sketches(self) -> npt.NDArray[np.uint8]:
        if self._total > STORED_SKETCHES:
            return self._made(with_sketches=True)[1]
        data = self._file("npy").read_bytes()
        stored.sha256_hex(data)
        return parse_sketches(data)

    def members(self) -> pa.Table:
        numbers = np.arange(self.first, self.first + self.n_rows, dtype=np.uint64)
        n = self.n_rows
        columns = {
            "doc_id": _ids(numbers),
            "snapshot_rank": pa.repeat(pa.scalar(self.rank, pa.int32()), n),
            "part": pa.repeat(pa.scalar(self.number, pa.int32()), n),
            "row": pa.array(np.arange(n, dtype=np.int32)),
            "url_key": pc.binary_join_element_wise(
                "com,example,site)/articles/2024/page", pa.array(numbers).cast(pa.string()), "-"
            ),
            "text_id": _ids(np.where(numbers % 10_000 == 9, np.uint64(7), numbers)),
            "fetched_at": pa.repeat(pa.scalar("2024-05-06T07:08:09Z"), n),
            "n_chars": pa.array((numbers % 9_999).astype(np.int64)),
            "quality": pa.nulls(n, pa.float32()),
            "n_shingles": pa.repeat(pa.scalar(700, pa.int32()), n),
        }
        return pa.table(columns).cast(MEMBERS)

    def _made(self, with_sketches: bool) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint8]]:
        keys = np.empty((self.n_rows, self._bands), np.uint64)
        sketches = np.empty((self.n_rows if with_sketches else 0, BINS // 8), np.uint64)
        of = origins(self.first, self.n_rows, self._total)
        make_rows(self.first, of, self._bands, keys, sketches)
        return keys, sketches.view(np.uint8)

    def _file(self, kind: str) -> Path:
        return self._folder / f"{self._place:05d}.{kind}"


def _ids(numbers: npt.NDArray[np.uint64]) -> pa.Array:
    halves = np.stack([numbers * np.uint64(0x9E3779B97F4A7C15), numbers], axis=1)
    return pa.Array.from_buffers(pa.binary(16), len(numbers), [None, pa.py_buffer(halves)])


def parts_of(folder: Path, total: int, added: float = 0) -> list[MadePart]:
    """The parts of a snapshot, or of one and another that is added to it."""
    bands, parts = SignatureSettings().bands, -(-total // PART_ROWS)
    first = parts - round(parts * added)
    old = [MadePart(folder, i, total, bands) for i in range(first)]
    return old + [MadePart(folder, i, total, bands, 1, first) for i in range(first, parts)]


def cluster(folder: Path, total: int, added: float) -> dict[str, Any]:
    """The measured process: clusters the window and makes its files."""
    grouping: list[float] = []
    original = window._connected_components

    def timed(*given: Any) -> Any:
        began = time.process_time()
        found = original(*given)
        grouping.append(time.process_time() - began)
        return found

    window._connected_components = timed
    hashing = hashing_time()
    settings, signed = ClusterSettings(), SignatureSettings()
    store = LocalStore(folder / "store")

    def run(name: str, parts: list[MadePart]) -> Finished:
        def at_once(context: TaskContext) -> None:
            with window.cluster_window(
                parts, NAMES[: 1 + parts[-1].rank], settings, signed
            ) as found:
                write_members(context, found)

        return execute(Task("clusters", 1, {"name": name}), store, at_once)

    run("warm", parts_of(folder, total)[:1])
    grouping.clear()
    hashing.clear()
    found = run("all", parts_of(folder, total, added))
    counts = found.result.counts
    return {
        "cpu_s": found.cpu_seconds,
        "wall_s": found.wall_seconds,
        "grouping_cpu_s": grouping[0],
        "hashing_cpu_s": sum(hashing),
        "peak_mib": found.peak_bytes / 2**20,
        "clusters": counts["clusters"],
        "members": counts["members"],
        "dropped": counts["dropped"],
        "output_mb": found.result.bytes / 1e6,
        "sha256": members_digest([found.result]),
    }


def write_members(
    context: TaskContext, found: window.WindowClusters | exchange.GroupClusters
) -> None:
    """Write the members of each part, as the stage does."""
    rows = dropped = 0
    for part, table in found.parts():
        context.write_table(f"members-{part:05d}.parquet", table, LOOKUP_ROWS)
        rows += table.num_rows
        dropped += table.num_rows - (pc.sum(table["kept"]).as_py() or 0)
    context.counts |= {"clusters": found.n_clusters, "members": rows, "dropped": dropped}


def members_digest(results: list[Result]) -> str:
    outputs = {name: out.sha256 for result in results for name, out in result.outputs.items()}
    return digest(outputs)


def hashing_time() -> list[float]:
    """Note the CPU time of every SHA-256 that tasks ask for, from now on."""
    spent: list[float] = []

    def timed(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def call(*given: Any) -> Any:
            began = time.process_time()
            found = function(*given)
            spent.append(time.process_time() - began)
            return found

        return call

    stored.sha256_hex = timed(stored.sha256_hex)
    stored._sha256_and_size = timed(stored._sha256_and_size)
    return spent


TABLES = len(window.key_tables(ClusterSettings(), SignatureSettings()))
KNOWN_KEYS = "known keys"
NAMES = ["S", "T"]
STEPS = ("keys", "pairs", "labels", "rows", "batches", "members")


def exchange_steps(folder: Path, total: int, added: float) -> dict[str, Any]:
    """The same window in pieces: what each step took, and the digest of its members; with an added
    snapshot, also what the first one took."""
    parts = parts_of(folder, total, added)
    warm = Pieces(lambda: parts_of(folder, total), one_group(parts[:1]), folder / "store")
    warm.run()
    shutil.rmtree(folder / "store")
    records = {
        NAMES[rank]: [part.n_records for part in parts if part.rank == rank]
        for rank in range(1 + parts[-1].rank)
    }
    hashing = hashing_time()

    def pieces(names: list[str], before: Pieces | None) -> Pieces:
        window = {name: records[name] for name in names}
        cut = exchange_stages.layout(window, TABLES, leaves_links=bool(added))
        made = lambda: parts_of(folder, total, added)  # noqa: E731
        return Pieces(made, cut or one_group(parts), folder / "store", before)

    if not added:
        return pieces(NAMES[:1], None).run() | {"hashing_cpu_s": sum(hashing)}
    first = pieces(NAMES[:1], None)
    told = first.run()
    before = {"before_cpu_s": sum(step["cpu_s"] for step in told["steps"].values())}
    hashing.clear()
    return pieces(NAMES, first).run() | before | {"hashing_cpu_s": sum(hashing)}


def one_group(parts: list[MadePart]) -> exchange_stages.WindowLayout:
    """What a build would cluster at once."""
    records = sum(part.n_records for part in parts)
    group = exchange_stages.PartGroup("S", 0, range(len(parts)), 0, records)
    return exchange_stages.WindowLayout([group], TABLES, ranges=2, batches=1)


class Pieces:
    """A window in pieces, after one that ended with the snapshot before."""

    def __init__(
        self,
        made: Callable[[], list[MadePart]],
        cut: exchange_stages.WindowLayout,
        place: Path,
        before: "Pieces | None" = None,
    ) -> None:
        """`made` gives the parts of all snapshots."""
        self.made, self.cut = made, cut
        self.store = LocalStore(place)
        self.steps = {name: Step() for name in (*STEPS, KNOWN_KEYS)}
        self.bits = cut.ranges.bit_length() - 1
        self.own = [i for i, _ in cut.own]
        self.known_keys = before.keys if before and before.bits == self.bits else {}
        self.known_links = [*before.known_links, *before.links] if before and cut.linked else []
        self.keys: dict[int, Result] = {}
        self.links: list[stored.Output] = []

    def groups(self) -> list[list[MadePart]]:
        """Parts of tasks that have read nothing yet."""
        by_rank: list[list[MadePart]] = [[], []]
        for part in self.made():
            by_rank[part.rank].append(part)
        groups = self.cut.groups
        return [by_rank[group.rank][group.parts.start : group.parts.stop] for group in groups]

    def do(self, step: str, number: int, ranges: Any, function: Any) -> Result:
        settings = {"number": number, "window": 1 + self.cut.groups[-1].rank}
        task = Task(step.replace(" ", "_"), 1, settings, {}, **range_inputs(ranges))
        return self.steps[step].run(task, self.store, function)

    def targets(self, results: list[Result], file: str) -> Targets:
        places = (ranges_of(self.store, result, file) for result in results)
        return Targets((f"{i:05d}", found) for i, found in enumerate(places))

    def run(self) -> dict[str, Any]:
        settings, signed, cut = ClusterSettings(), SignatureSettings(), self.cut
        ranks = [group.rank for group in cut.groups]

        def pieces(context: TaskContext, values: list[int]) -> Iterator[tuple[int, bytes]]:
            numbers = map(int, sorted(context.task.extra_inputs))
            ranges = zip(numbers, read_ranges(context), strict=True)
            return ((values[i], data) for i, data in ranges)

        for i, parts in enumerate(self.groups()):
            self.keys[i] = self.known_keys.get(i) or self.do(
                "keys" if i in self.own else KNOWN_KEYS, i, {}, lambda c, parts=parts: write_ranges(
                    c, "keys.zip", exchange.lay_keys(parts, settings, signed, self.bits)))  # fmt: skip
        by_range = self.targets(list(self.keys.values()), "keys.zip")

        def pair(context: TaskContext) -> None:
            given = pieces(context, cut.firsts)
            found = exchange.pair_equal(given, cut.tables, cut.firsts[cut.new])
            context.write_bytes("pairs.bin", found.tobytes(), len(found))

        pairs = [self.do("pairs", i, by_range[f"{i:05d}"], pair) for i in range(cut.ranges)]
        labelled = {
            "firsts": cut.firsts,
            "interval": exchange_stages.INTERVAL_RECORDS,
            "asked": cut.asked,
        }
        given = {f"pairs/{i:05d}": result.outputs["pairs.bin"] for i, result in enumerate(pairs)}
        given |= {f"links/{i:05d}": output for i, output in enumerate(self.known_links)}
        task = Task("labels", 1, labelled, given)
        labels = self.steps["labels"].run(task, self.store, exchange_stages.run_labels)
        places = {
            group: {"labels": place}
            for file in labels.outputs
            for group, place in ranges_of(self.store, labels, file).items()
        }
        rows = [
            self.do("rows", i, places.get(f"{i:05d}", {}), lambda c, parts=parts: write_ranges(
                c, "rows.zip",
                exchange.lay_rows(parts, b"".join(read_ranges(c)), cut.batches, signed.bands),
                identity=exchange.row_table))
            for i, parts in enumerate(self.groups())
        ]  # fmt: skip
        by_batch = self.targets(rows, "rows.zip")

        def batch(context: TaskContext) -> None:
            is_held = range_bytes(context) <= exchange_stages.HELD_BYTES
            held = list(pieces(context, ranks)) if is_held else []
            found, links = exchange.cluster_batch(
                lambda: held or pieces(context, ranks),
                NAMES[: 1 + ranks[-1]], settings, signed.bands, is_held=is_held,
            )  # fmt: skip
            starts = [group.parts.start for _, group in cut.own]
            write_ranges(context, "found.zip", exchange.lay_members(found, starts), found.num_rows)
            context.write_bytes("links.bin", links.tobytes(), len(links))

        found = [
            self.do("batches", i, by_batch.get(f"{i:05d}", {}), batch) for i in range(cut.batches)
        ]
        self.links = [result.outputs["links.bin"] for result in found]
        by_group = self.targets(found, "found.zip")

        def members(context: TaskContext, parts: list[MadePart]) -> None:
            name = NAMES[parts[0].rank]
            with exchange.GroupClusters(parts, read_ranges(context), name) as some:
                write_members(context, some)

        own = [self.groups()[group] for group in self.own]
        written = [
            self.do("members", i, by_group.get(f"{i:05d}", {}), lambda c, parts=parts: members(c, parts))
            for i, parts in enumerate(own)
        ]  # fmt: skip
        return {
            "steps": {name: step.told() for name, step in self.steps.items() if step.done},
            "pairs": sum(result.outputs["pairs.bin"].rows for result in pairs) / cut.firsts[-1],
            "rows": sum(output.rows for output in labels.outputs.values()) / cut.firsts[-1],
            "links": sum(output.rows for output in self.links) / cut.firsts[-1],
            "sha256": members_digest(written),
        }


def connect_in(folder: Path, total: int, counts: list[int]) -> None:
    """Print what connecting takes by the number of intervals."""
    parts, settings, signed = parts_of(folder, total), ClusterSettings(), SignatureSettings()
    laid = [dict(exchange.lay_keys([part], settings, signed, bits=4)) for part in parts]
    names = sorted({name for data in laid for name in data})
    pairs = [
        exchange.pair_equal(
            [
                (part.first, data[name])
                for part, data in zip(parts, laid, strict=True)
                if name in data
            ],
            TABLES,
        )
        for name in names
    ]
    del laid
    print(f"{total:,} documents, {sum(map(len, pairs)):,} pairs")
    list(exchange.connect([pairs[0][:9]], [0, total // 2, total]))  # compiles
    written: list[int] = []
    close = exchange.PairBlocks.close

    def noted(blocks: exchange.PairBlocks) -> None:
        written.append(blocks.file_bytes)
        close(blocks)

    exchange.PairBlocks.close = noted
    found = set()
    for count in counts:
        seen, labelled = hashlib.sha256(), hashlib.sha256()
        began = time.process_time()
        for first, places, labels in exchange.connect(
            pairs, [total * i // count for i in range(count + 1)]
        ):
            seen.update(places + np.uint64(first))
            labelled.update(labels)
        spent = time.process_time() - began
        found.add((seen.hexdigest(), labelled.hexdigest()))
        print(f"  {count:5} intervals  {spent:6.2f} s  {spent / total * 1e6:5.2f} us a document  "
              f"{written[-1] / total:5.1f} temporary bytes a document")  # fmt: skip
    print("  labels are equal" if len(found) == 1 else "  labels DIFFER")


class Step:
    """The pieces of one step."""

    def __init__(self) -> None:
        self.done: list[tuple[Finished, int, int]] = []

    def run(self, task: Task, store: LocalStore, function: Any) -> Result:
        finished = execute(task, store, function)
        ranges = task.params.get("ranges", {})
        read = sum(length for _, _, length, _ in ranges.values())
        read += sum(output.bytes for output in task.inputs.values())
        self.done.append((finished, read, len(ranges) + len(task.inputs)))
        return finished.result

    def told(self) -> dict[str, float]:
        return {
            "pieces": len(self.done),
            "cpu_s": sum(finished.cpu_seconds for finished, _, _ in self.done),
            "peak_mib": max(finished.peak_bytes for finished, _, _ in self.done) / 2**20,
            "read_mib": max(read for _, read, _ in self.done) / 2**20,
            "written_mib": max(finished.result.bytes for finished, _, _ in self.done) / 2**20,
            "requests": sum(requests for _, _, requests in self.done),
        }


RATES = (2.12, 0.48)
"""Pairs and rows a document, as measured with 10 million documents."""


def print_table(documents: int, pairs: float, rows: float) -> None:
    """How a window is cut, and the largest piece of each step."""
    signed = SignatureSettings()
    parts = [PART_ROWS] * (documents // PART_ROWS)
    cut = exchange_stages.layout({"S": parts}, TABLES)
    assert cut is not None
    groups, gib = len(cut.groups), 2.0**30
    row_bytes = 8 * signed.bands + BINS + ROW_BYTES
    keys = documents * TABLES * 8
    lines = (
        ("keys", groups, keys / groups, keys / groups, 3 * len(parts)),
        ("pairs", cut.ranges, keys / cut.ranges, documents * pairs * 16 / cut.ranges, groups * cut.ranges),
        ("labels", 1, documents * pairs * 16, documents * rows * 12, cut.ranges),
        ("rows", groups, documents * 716 / groups, documents * rows * row_bytes / groups, 5 * len(parts)),
        ("batches", cut.batches, documents * rows * row_bytes / cut.batches, documents * rows * 100 / cut.batches, groups * cut.batches),
        ("members", groups, documents * rows * 100 / groups, documents * rows * 45 / groups, groups * cut.batches),
    )  # fmt: skip
    print(f"\n{documents:,} documents in {len(parts):,} parts, {groups:,} groups")
    print("  step        pieces  read GiB  written GiB       requests")
    for name, pieces, read, written, requests in lines:
        print(f"  {name:8} {pieces:9,} {read / gib:9.2f} {written / gib:12.2f} {requests:14,}")


def write_bands(folder: Path, total: int) -> list[str]:
    """The first bands' keys as plain arrays, for the peers."""
    paths = []
    for band in range(PEER_BANDS):
        path = folder / f"band-{band}.u8"
        with path.open("wb") as sink:
            for part in parts_of(folder, total):
                sink.write(
                    np.ascontiguousarray(part.candidate_keys().band_keys()[:, band]).tobytes()
                )
        paths.append(str(path))
    return paths


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--documents", type=int, default=10_000_000)
    parser.add_argument("--peer-python", help="of an environment with polars and duckdb")
    parser.add_argument("--folder", type=Path, help="made-up data is kept here")
    parser.add_argument("--added", type=float, default=0, help="share of a second snapshot")
    parser.add_argument("--intervals", type=int, nargs="+", help="connect the pairs alone")
    parser.add_argument("--table", type=int, nargs="+", metavar="DOCUMENTS")
    parser.add_argument("--rates", type=float, nargs=2, default=RATES, metavar=("PAIRS", "ROWS"))
    parser.add_argument("--measure", choices=("cluster", "exchange"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measured = cluster if options.measure == "cluster" else exchange_steps
        print(json.dumps(measured(options.folder, options.documents, options.added)))
        return
    if options.table:
        for documents in options.table:
            print_table(documents, *options.rates)
        return
    print(f"{machine()}\n")
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.folder or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for part in parts_of(folder, options.documents):
            if not part._file("ties").exists():
                part.write()
        if options.intervals:
            connect_in(folder, options.documents, options.intervals)
        else:
            report(options, folder)


def measure(options: argparse.Namespace, folder: Path, what: str) -> Any:
    command = [sys.executable, __file__, "--measure", what, "--folder", str(folder)]
    command += ["--documents", str(options.documents), "--added", str(options.added)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def report(options: argparse.Namespace, folder: Path) -> None:
    answer = measure(options, folder, "cluster")
    bands = SignatureSettings().bands
    keys = (bands + 3) * options.documents
    print(f"{options.documents:,} documents, {bands} bands")
    print(f"  peak resident memory    {answer['peak_mib']:.0f} MiB")
    print(f"  CPU {answer['cpu_s']:.1f} s, wall {answer['wall_s']:.1f} s")
    rate = keys / answer["grouping_cpu_s"] / 1e6
    print(f"  of it SHA-256           {answer['hashing_cpu_s']:.1f} s")
    print(f"  of it grouping          {answer['grouping_cpu_s']:.1f} s, {rate:.1f} M keys a CPU s")
    print(
        f"  {answer['clusters']:,.0f} clusters, {answer['members']:,.0f} members, "
        f"{answer['dropped']:,.0f} dropped, {answer['output_mb']:.0f} MB of members"
    )
    shutil.rmtree(folder / "store", ignore_errors=True)
    pieces = measure(options, folder, "exchange")
    shutil.rmtree(folder / "store")
    cpu = sum(pieces["steps"][name]["cpu_s"] for name in STEPS)
    plain = cpu - pieces["hashing_cpu_s"]
    less = plain / (answer["cpu_s"] - answer["hashing_cpu_s"])
    is_equal = "equal" if pieces["sha256"] == answer["sha256"] else "DIFFERENT"
    print(f"  in pieces: CPU {cpu:.1f} s, {cpu / answer['cpu_s']:.2f} times; members {is_equal}")
    print(
        f"  of it SHA-256 {pieces['hashing_cpu_s']:.1f} s; without it on both sides {less:.2f} times"
    )
    peak = max(step["peak_mib"] for step in pieces["steps"].values())
    said = "within" if peak <= PIECE_MIB else "OVER"
    print(f"  the largest piece takes {peak:,.0f} MiB, {said} the bound of {PIECE_MIB:,}")
    print(f"  {pieces['pairs']:.2f} pairs and {pieces['rows']:.2f} rows a document")
    if "before_cpu_s" in pieces:
        print(f"  the snapshot before took {pieces['before_cpu_s']:.1f} s")
    print("  step      pieces   CPU s  peak MiB  read MiB  written MiB  requests")
    for name, step in pieces["steps"].items():
        print(
            f"  {name:8} {step['pieces']:7,.0f} {step['cpu_s']:7.1f} {step['peak_mib']:9,.0f} "
            f"{step['read_mib']:9,.0f} {step['written_mib']:12,.0f} {step['requests']:9,.0f}"
        )
    if options.peer_python:
        paths = write_bands(folder, options.documents)
        for peer in ("polars", "duckdb"):
            peer_command = [options.peer_python, str(PEER), peer, *paths]
            done = json.loads(subprocess.run(peer_command, check=True, capture_output=True).stdout)
            peer_rate = PEER_BANDS * options.documents / done["cpu_s"] / 1e6
            print(
                f"  {peer} {done['version']}: {peer_rate:.1f} M keys a CPU s, ours "
                f"{rate / peer_rate:.1f} times that; {done['peak_mib']:.0f} MiB for one band"
            )


if __name__ == "__main__":
    main()
