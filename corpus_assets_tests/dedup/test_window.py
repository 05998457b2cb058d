import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from corpus_assets.core.errors import CorruptArtifact, RecipeError, StoreError
from corpus_assets.dedup import window as window_module
from corpus_assets.dedup.candidate_keys import BANDS as FIRST_BAND
from corpus_assets.dedup.candidate_keys import CandidateKeys, pack_candidate_keys
from corpus_assets.dedup.settings import ClusterSettings, SignatureSettings
from corpus_assets.dedup.spill import ArraySpill, TableSpill
from corpus_assets.dedup.window import cluster_window
from corpus_assets.text.minhash import BINS
from corpus_assets_tests.dedup.cluster_reference import Row, naive_clusters
from corpus_assets_tests.dedup.test_clusters import (
    BANDS,
    SETTINGS,
    as_members,
    make_row,
    random_rows,
)

SMALL = SignatureSettings(bands=BANDS, rows_per_band=2)


@dataclass
class MadePart:
    rank: int
    number: int
    rows: list[Row]
    path: Path

    def __post_init__(self) -> None:
        self.n_rows = len(self.rows)
        bands = np.array([row["bands"] for row in self.rows], np.uint64).reshape(-1, BANDS)
        self.path.write_bytes(pack_candidate_keys(as_members(self.rows), bands))

    def kept(self) -> npt.NDArray[np.bool_]:
        return np.array([row.get("selected", True) for row in self.rows], np.bool_)

    def candidate_keys(self) -> CandidateKeys:
        return CandidateKeys.open(self.path)

    def members(self) -> pa.Table:
        return as_members(self.rows)

    def sketches(self) -> npt.NDArray[np.uint8]:
        data = b"".join(row["sketch"] for row in self.rows)
        return np.frombuffer(data, np.uint8).reshape(-1, BINS)


def as_parts(rows: list[Row], folder: Path, n_snapshots: int = 3) -> list[MadePart]:
    """Two parts a snapshot; a row's place in its part is its row number."""
    parts = []
    for rank in range(n_snapshots):
        for number in range(2):
            own = [row for row in rows if (row["snapshot_rank"], row["part"]) == (rank, number)]
            for place, row in enumerate(own):
                row["row"] = place
            parts.append(MadePart(rank, number, own, folder / f"{rank}-{number}"))
    return parts


def found_in(parts: list[MadePart], settings: ClusterSettings, **limits: int) -> list[Row]:
    names = [f"S{rank}" for rank in range(max(part.rank for part in parts) + 1)]
    with cluster_window(parts, names, settings, SMALL, **limits) as found:
        tables = list(found.parts())
        assert [number for number, _ in tables] == [0, 1]
        rows: list[Row] = [row for _, table in tables for row in table.to_pylist()]
        assert found.n_clusters == len({row["cluster_id"] for row in rows})
        last = [part for part in parts if part.rank == len(names) - 1]
        assert found.n_documents == sum(int(part.kept().sum()) for part in last)
    return rows


@pytest.mark.parametrize("settings", SETTINGS, ids=range(len(SETTINGS)))
def test_a_window_has_the_clusters_of_the_definition_whatever_the_batches(
    settings: ClusterSettings, tmp_path: Path
) -> None:
    """A batch of one row makes every component too large for it, so all of them are mapped."""
    n_found = 0
    for seed in range(30):
        rows = random_rows(seed)
        random = np.random.default_rng(seed)
        for row in rows:
            row["selected"] = random.random() > 0.15
        parts = as_parts(rows, tmp_path)
        expected = [
            row
            for row in naive_clusters([row for row in rows if row["selected"]], settings)
            if row["snapshot"] == "S2"
        ]
        n_found += len(expected)
        for batch_rows, keys_at_once in ((1, 1), (4, 7), (1 << 17, 1 << 22)):
            limits = {"batch_rows": batch_rows, "keys_at_once": keys_at_once}
            assert found_in(parts, settings, **limits) == expected, f"seed {seed}, {limits}"
    assert n_found > 15


def test_rows_go_to_their_batches_in_pieces_without_a_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [row for seed in range(3) for row in random_rows(seed)]
    for number, row in enumerate(rows):
        row["doc_id"] = number.to_bytes(16, "big")
    parts = as_parts(rows, tmp_path)
    whole = found_in(parts, ClusterSettings())
    monkeypatch.setattr(window_module, "ROWS_BUFFERED", 1)
    monkeypatch.setattr(window_module, "PART_GROUPS", 1)
    assert found_in(parts, ClusterSettings(), batch_rows=8) == whole


def test_a_window_without_a_document_has_no_clusters(tmp_path: Path) -> None:
    assert found_in(as_parts([], tmp_path), ClusterSettings()) == []


def test_a_part_in_which_nothing_is_shared_is_never_read_for_its_rows(tmp_path: Path) -> None:
    class Shy(MadePart):
        def members(self) -> pa.Table:
            raise AssertionError("read for nothing")

    rows = [make_row(i, [10 * i + k for k in range(8)], part=i % 2) for i in range(20)]
    parts = as_parts(rows, tmp_path, n_snapshots=1)
    shy: list[Any] = [Shy(part.rank, part.number, part.rows, part.path) for part in parts]
    assert found_in(shy, ClusterSettings()) == []


def test_signatures_of_another_shape_are_refused(tmp_path: Path) -> None:
    parts = as_parts([make_row(0, [0] * 8)], tmp_path, n_snapshots=1)
    with pytest.raises(RecipeError, match="4 bands of 1 rows where 9"):
        cluster_window(parts, ["S0"], ClusterSettings(), SignatureSettings(bands=9))


def test_a_window_that_cannot_be_numbered_is_refused(tmp_path: Path) -> None:
    parts = as_parts([], tmp_path, n_snapshots=1)
    parts[0].n_rows = 2**32
    with pytest.raises(RecipeError, match=r"clusters\.scope"):
        cluster_window(parts, ["S0"], ClusterSettings(), SMALL)


def test_tie_tables_hold_each_row_once_by_range_and_give_bands_back(tmp_path: Path) -> None:
    rows = [row for seed in range(5) for row in random_rows(seed)]
    bands = np.array([row["bands"] for row in rows], np.uint64)
    path = tmp_path / "ties"
    path.write_bytes(pack_candidate_keys(as_members(rows), bands))
    file = CandidateKeys.open(path)
    able = np.array([row["n_shingles"] > 0 for row in rows])
    assert file.bands == BANDS
    assert np.array_equal(file.band_keys()[able], bands[able])
    assert not file.band_keys()[~able].any()
    for name, table in (("doc_id", 0), ("url_key", 1), ("text_id", 2)):
        keys, places = file.read(table, 0, 256)
        present = [i for i, row in enumerate(rows) if row[name]]
        assert sorted(places.tolist()) == present
        by_value: dict[object, set[int]] = {}
        for key, place in zip(keys.tolist(), places.tolist(), strict=True):
            by_value.setdefault(rows[place][name], set()).add(key)
        assert {len(found) for found in by_value.values()} == {1}
        assert len(by_value) == len(set(keys.tolist()))
    for start, stop in ((0, 1), (17, 80), (255, 256)):
        keys, places = file.read(FIRST_BAND + 1, start, stop)
        assert ((keys >> np.uint64(56)) >= start).all()
        assert ((keys >> np.uint64(56)) < stop).all()
        assert np.array_equal(bands[places, 1], keys)


def test_a_damaged_tie_file_is_named(tmp_path: Path) -> None:
    rows = [make_row(i, [i] * 8) for i in range(3)]
    whole = pack_candidate_keys(
        as_members(rows), np.array([row["bands"] for row in rows], np.uint64)
    )
    path = tmp_path / "ties"
    for damaged in (b"", b"CATIES1\n", b"x" * 999, whole[:500]):
        path.write_bytes(damaged)
        with pytest.raises(CorruptArtifact, match="build its part again"):
            CandidateKeys.open(path)
    path.write_bytes(whole[:-4])
    with pytest.raises(CorruptArtifact, match="is truncated"):
        CandidateKeys.open(path).band_keys()


def test_spilled_tables_and_arrays_come_back_in_the_order_in_which_they_went() -> None:
    schema = pa.schema([("n", pa.int32()), ("text", pa.string())])
    spill = TableSpill(schema)
    spill.append(3, pa.table({"n": [1, 2], "text": ["a", None]}))
    spill.append(1, pa.table({"n": [7], "text": ["b"]}))
    spill.append(3, pa.table({"n": [3], "text": ["ü" * 1000]}))
    assert spill.read(3)["n"].to_pylist() == [1, 2, 3]
    assert spill.read(1)["text"].to_pylist() == ["b"]
    assert spill.read(2) == schema.empty_table()
    spill.close()
    arrays = ArraySpill(4, np.array([3, 0, 2]))
    arrays.append(2, np.array([[8], [9]], np.uint32))
    arrays.append(0, np.array([[1]], np.uint32))
    arrays.append(0, np.array([[2], [3]], np.uint32))
    assert arrays.read(0).view(np.uint32).ravel().tolist() == [1, 2, 3]
    assert bytes(arrays.map(2)) == np.array([8, 9], np.uint32).tobytes()
    assert arrays.read(1).size == 0
    arrays.close()


def test_a_full_disk_is_told_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    spill = TableSpill(pa.schema([("n", pa.int32())]))
    monkeypatch.setattr("os.pwrite", full)
    with pytest.raises(StoreError, match="TMPDIR"):
        spill.append(0, pa.table({"n": [1]}))
    spill.close()


@pytest.mark.slow
def test_memory_hardly_grows_with_the_window(tmp_path: Path) -> None:
    """320,000 documents have 229 MB of candidate keys and sketches; 9 bytes each are 3 MB. The full
    scale is `benchmarks/clustering.py`."""
    command = [sys.executable, "-m", "corpus_assets_tests.dedup.window_memory", "16"]
    done = subprocess.run([*command, str(tmp_path)], check=True, capture_output=True, text=True)
    grown_mib, members = done.stdout.split()
    assert int(members) > 100_000
    assert float(grown_mib) < 60
