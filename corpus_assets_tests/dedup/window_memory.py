"""Clusters a made-up window in a process of its own and prints how its peak memory grew.

    python -m corpus_assets_tests.dedup.window_memory PARTS FOLDER

Parts have 20,000 rows; every third document has a copy in another part. Sketches are computed
when they are asked for, as a store would read them. Batches and ranges are scaled down with the
window: 1/16 and 1/32 of what a build uses. Prints MiB that came on top of a window of one part.
"""

import resource
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from corpus_assets.dedup.candidate_keys import CandidateKeys, pack_candidate_keys
from corpus_assets.dedup.clusters import MEMBERS
from corpus_assets.dedup.settings import ClusterSettings, SignatureSettings
from corpus_assets.dedup.window import cluster_window
from corpus_assets.text.minhash import BINS

ROWS = 20_000
BANDS = 14


class LazyPart:
    rank = 0
    n_rows = ROWS

    def __init__(self, number: int, parts: int, folder: Path) -> None:
        self.number = number
        self._path = folder / f"{number}.ties"
        self._total = parts * ROWS
        if not self._path.exists():
            sources = self._sources().astype(np.uint64)[:, None]
            keys = (sources * np.uint64(BANDS) + np.arange(BANDS, dtype=np.uint64)) + np.uint64(1)
            keys *= np.uint64(0x9E3779B97F4A7C15)
            self._path.write_bytes(
                pack_candidate_keys(self.members(), keys ^ (keys >> np.uint64(29)))
            )

    def _numbers(self) -> npt.NDArray[np.int64]:
        return self.number * ROWS + np.arange(ROWS)

    def _sources(self) -> npt.NDArray[np.int64]:
        numbers = self._numbers()
        return np.where(numbers % 3 == 0, (numbers * 7) % self._total, numbers)

    def kept(self) -> npt.NDArray[np.bool_]:
        return np.ones(ROWS, np.bool_)

    def candidate_keys(self) -> CandidateKeys:
        return CandidateKeys.open(self._path)

    def sketches(self) -> npt.NDArray[np.uint8]:
        places = np.arange(BINS, dtype=np.uint64)
        mixed = (self._sources().astype(np.uint64)[:, None] + places) * np.uint64(
            0x9E3779B97F4A7C15
        )
        return (mixed >> np.uint64(40)).astype(np.uint8) | np.uint8(1)

    def members(self) -> pa.Table:
        halves = np.repeat(self._numbers().astype(np.uint64), 2)
        ids = pa.Array.from_buffers(pa.binary(16), ROWS, [None, pa.py_buffer(halves)])
        columns = {
            "doc_id": ids,
            "snapshot_rank": pa.repeat(pa.scalar(0, pa.int32()), ROWS),
            "part": pa.repeat(pa.scalar(self.number, pa.int32()), ROWS),
            "row": pa.array(np.arange(ROWS, dtype=np.int32)),
            "url_key": pa.array(self._numbers()).cast(pa.string()),
            "text_id": ids,
            "fetched_at": pa.repeat(pa.scalar("2024-05-06T07:08:09Z"), ROWS),
            "n_chars": pa.array(self._numbers()),
            "quality": pa.nulls(ROWS, pa.float32()),
            "n_shingles": pa.repeat(pa.scalar(700, pa.int32()), ROWS),
        }
        return pa.table(columns).cast(MEMBERS)


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def run(parts: int, folder: Path) -> int:
    made = [LazyPart(number, parts, folder) for number in range(parts)]
    with cluster_window(
        made,
        ["S"],
        ClusterSettings(),
        SignatureSettings(),
        batch_rows=1 << 13,
        keys_at_once=1 << 17,
    ) as found:
        return sum(table.num_rows for _, table in found.parts())


def main() -> None:
    parts, folder = int(sys.argv[1]), Path(sys.argv[2])
    (folder / "one").mkdir()
    (folder / "all").mkdir()
    run(1, folder / "one")
    before = peak_mib()
    members = run(parts, folder / "all")
    print(peak_mib() - before, members)


if __name__ == "__main__":
    main()
