"""Clusters of tens of millions of documents: peak memory and CPU time, beside two group-bys.

    python -m venv PEER && PEER/bin/pip install -r benchmarks/requirements-near-dedup.txt
    python benchmarks/clustering.py --documents 10_000_000 --peer-python PEER/bin/python

Makes up documents, part by part: 30% are copies of others (groups from 2 to thousands), a copy
agrees in each band with a chance of 60% and in 95% of the bins, one document in a hundred shares
a hot band with all others like it and nothing more, and one text in ten thousand stands there
again and again. Candidate keys and sketches are written as the pipeline writes them; above 20
million documents a sketch is computed when it is asked for, to save the disk.

A process of its own then clusters the window: its peak resident memory and CPU time are printed,
and of that the time for grouping keys alone (reading the tables included). The peers group the
same keys, from memory, band by band: `group by key having count(*) > 1`.
"""

import argparse
import hashlib
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from machine import machine
from numba import njit

from corpus_assets.core.task import LOOKUP_ROWS, parquet_bytes
from corpus_assets.dedup import window
from corpus_assets.dedup.candidate_keys import CandidateKeys, pack_candidate_keys
from corpus_assets.dedup.clusters import MEMBERS, ClusterSettings
from corpus_assets.dedup.signatures import SignatureSettings, parse_sketches, sketch_bytes
from corpus_assets.text.minhash import BINS

PART_ROWS = 35_000
STORED_SKETCHES = 20_000_000
PEER = Path(__file__).with_name("clustering_peer.py")
PEER_BANDS = 3


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

    def __init__(self, folder: Path, number: int, total: int, bands: int) -> None:
        self.rank = 0
        self.number = number
        self.first = number * PART_ROWS
        self.n_rows = min(PART_ROWS, total - self.first)
        self._folder, self._total, self._bands = folder, total, bands

    def write(self) -> None:
        keys, sketches = self._made(with_sketches=self._total <= STORED_SKETCHES)
        self._file("ties").write_bytes(pack_candidate_keys(self.members(), keys))
        if sketches.size:
            self._file("npy").write_bytes(sketch_bytes(sketches))

    def kept(self) -> npt.NDArray[np.bool_]:
        return np.ones(self.n_rows, np.bool_)

    def candidate_keys(self) -> CandidateKeys:
        return CandidateKeys.open(self._file("ties"))

    def sketches(self) -> npt.NDArray[np.uint8]:
        if self._total > STORED_SKETCHES:
            return self._made(with_sketches=True)[1]
        data = self._file("npy").read_bytes()
        hashlib.sha256(data).hexdigest()  # as the pipeline checks what it reads
        return parse_sketches(data)

    def members(self) -> pa.Table:
        numbers = np.arange(self.first, self.first + self.n_rows, dtype=np.uint64)
        n = self.n_rows
        columns = {
            "doc_id": _ids(numbers),
            "snapshot_rank": pa.repeat(pa.scalar(0, pa.int32()), n),
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
        return self._folder / f"{self.number:05d}.{kind}"


def _ids(numbers: npt.NDArray[np.uint64]) -> pa.Array:
    halves = np.stack([numbers * np.uint64(0x9E3779B97F4A7C15), numbers], axis=1)
    return pa.Array.from_buffers(pa.binary(16), len(numbers), [None, pa.py_buffer(halves)])


def parts_of(folder: Path, total: int) -> list[MadePart]:
    bands = SignatureSettings().bands
    return [MadePart(folder, i, total, bands) for i in range(-(-total // PART_ROWS))]


def cluster(folder: Path, total: int) -> dict[str, float]:
    """The measured process: clusters the window and makes its files."""
    grouping: list[float] = []
    original = window._connected_components

    def timed(*given: Any) -> Any:
        began = time.process_time()
        found = original(*given)
        grouping.append(time.process_time() - began)
        return found

    window._connected_components = timed
    small = parts_of(folder, total)[:1]
    window.cluster_window(small, ["S"], ClusterSettings(), SignatureSettings()).parts()
    grouping.clear()
    began, wall = time.process_time(), time.monotonic()
    rows = dropped = size = 0
    with window.cluster_window(
        parts_of(folder, total), ["S"], ClusterSettings(), SignatureSettings()
    ) as found:
        for _, table in found.parts():
            rows += table.num_rows
            dropped += table.num_rows - (pc.sum(table["kept"]).as_py() or 0)
            size += len(parquet_bytes(table, LOOKUP_ROWS))
        clusters = found.n_clusters
    return {
        "cpu_s": time.process_time() - began,
        "wall_s": time.monotonic() - wall,
        "grouping_cpu_s": grouping[0],
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "clusters": clusters,
        "members": rows,
        "dropped": dropped,
        "output_mb": size / 1e6,
    }


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
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(cluster(options.folder, options.documents)))
        return
    print(f"{machine()}\n")
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.folder or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for part in parts_of(folder, options.documents):
            if not part._file("ties").exists():
                part.write()
        report(options, folder)


def report(options: argparse.Namespace, folder: Path) -> None:
    command = [sys.executable, __file__, "--measure", "--folder", str(folder)]
    command += ["--documents", str(options.documents)]
    answer = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    bands = SignatureSettings().bands
    keys = (bands + 3) * options.documents
    print(f"{options.documents:,} documents, {bands} bands")
    print(f"  peak resident memory    {answer['peak_mib']:.0f} MiB")
    print(f"  CPU {answer['cpu_s']:.1f} s, wall {answer['wall_s']:.1f} s")
    rate = keys / answer["grouping_cpu_s"] / 1e6
    print(f"  of it grouping          {answer['grouping_cpu_s']:.1f} s, {rate:.1f} M keys a CPU s")
    print(
        f"  {answer['clusters']:,.0f} clusters, {answer['members']:,.0f} members, "
        f"{answer['dropped']:,.0f} dropped, {answer['output_mb']:.0f} MB of members"
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
