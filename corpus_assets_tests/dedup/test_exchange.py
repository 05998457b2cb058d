"""Clusters in pieces are those of a window that is worked on at once, and of the definition."""

from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from corpus_assets.core import files
from corpus_assets.core.exchange import range_name
from corpus_assets.dedup import signatures
from corpus_assets.dedup.exchange import (
    GroupClusters,
    batch_numbers,
    cluster_batch,
    connect,
    label_bytes,
    lay_keys,
    lay_members,
    lay_rows,
    pair_equal,
)
from corpus_assets.dedup.exchange_stages import ClusterExchange
from corpus_assets.dedup.settings import ClusterSettings, SignatureSettings
from corpus_assets.dedup.window import cluster_window, key_tables
from corpus_assets_tests.dedup.cluster_reference import Row, naive_clusters
from corpus_assets_tests.dedup.test_clusters import SETTINGS, random_rows
from corpus_assets_tests.dedup.test_window import SMALL, MadePart


@dataclass
class NumberedPart(MadePart):
    places: npt.NDArray[np.uint32] = field(default_factory=lambda: np.empty(0, np.uint32))
    n_records: int = 0

    def numbers(self) -> npt.NDArray[np.uint32]:
        return self.places


def numbered_parts(
    rows: list[Row], folder: Path, random: np.random.Generator, n_parts: int = 3
) -> list[NumberedPart]:
    """Parts of three snapshots, some of them empty, whose records are more than their documents."""
    parts = []
    for rank in range(3):
        for number in range(n_parts):
            own = [row for row in rows if (row["snapshot_rank"], row["part"]) == (rank, number)]
            for place, row in enumerate(own):
                row["row"] = place
            records = len(own) + int(random.integers(0, 4))
            places = np.sort(random.choice(records, len(own), replace=False)).astype(np.uint32)
            path = folder / f"{rank}-{number}"
            parts.append(NumberedPart(rank, number, own, path, places, records))
    return parts


def in_pieces(
    parts: list[NumberedPart],
    settings: ClusterSettings,
    per_group: int,
    bits: int,
    room: int,
    batches: int,
    batch_rows: int,
) -> tuple[list[tuple[int, pa.Table]], int]:
    """Run every step, groups of `per_group` parts and intervals of `room` groups."""
    names = ["S0", "S1", "S2"]
    groups = [
        own[first : first + per_group]
        for rank in range(3)
        for own in [[part for part in parts if part.rank == rank]]
        for first in range(0, len(own), per_group)
    ]
    firsts = np.cumsum([0, *(sum(part.n_records for part in group) for group in groups)]).tolist()
    laid = [dict(lay_keys(group, settings, SMALL, bits)) for group in groups]
    tables = len(key_tables(settings, SMALL))
    pairs = [
        pair_equal(
            [
                (first, data[name])
                for first, data in zip(firsts, laid, strict=False)
                if name in data
            ],
            tables,
        )
        for name in sorted({name for data in laid for name in data})
    ]
    cuts = [*firsts[:-1:room], firsts[-1]]
    labelled: dict[int, tuple[list[int], list[int]]] = {}
    for first, places, labels in connect(pairs, cuts):
        for number, label in zip(
            (places + np.uint64(first)).tolist(), labels.tolist(), strict=True
        ):
            group = int(np.searchsorted(firsts, number, side="right")) - 1
            held = labelled.setdefault(group, ([], []))
            held[0].append(number - firsts[group])
            held[1].append(label)
    rows = {
        group: dict(
            lay_rows(
                groups[group],
                label_bytes(np.array(places, np.uint64), np.array(labels, np.uint64)),
                batches,
                SMALL.bands,
            )
        )
        for group, (places, labels) in sorted(labelled.items())
    }
    own = [group for group in groups if group[0].rank == 2]
    sent: list[dict[str, bytes]] = []
    for batch in range(batches):
        pieces = [
            (groups[group][0].rank, data[range_name(batch)])
            for group, data in rows.items()
            if range_name(batch) in data
        ]
        found = cluster_batch(
            lambda p=pieces: p,
            names,
            settings,
            SMALL.bands,
            is_held=batch_rows > 1,
            batch_rows=batch_rows,
        )
        sent.append(dict(lay_members(found, [group[0].number for group in own])))
    listed, clusters = [], 0
    for number, group in enumerate(own):
        given = [data[range_name(number)] for data in sent if range_name(number) in data]
        with GroupClusters(group, given, "S2") as some:
            listed += some.parts()
            clusters += some.n_clusters
    return listed, clusters


@pytest.mark.parametrize("settings", SETTINGS, ids=range(len(SETTINGS)))
def test_clusters_in_pieces_are_those_of_the_definition(
    settings: ClusterSettings, tmp_path: Path
) -> None:
    """A batch of one row makes every component too large for it, so all of them are mapped."""
    n_found = 0
    for seed in range(8):
        rows, random = random_rows(seed), np.random.default_rng(seed)
        for row in rows:
            row["selected"] = random.random() > 0.15
            row["part"] = int(random.integers(0, 3))
        parts = numbered_parts(rows, tmp_path, random)
        expected = [
            row
            for row in naive_clusters([row for row in rows if row["selected"]], settings)
            if row["snapshot"] == "S2"
        ]
        with cluster_window(parts, ["S0", "S1", "S2"], settings, SMALL) as whole:
            at_once = list(whole.parts())
        assert [row for _, table in at_once for row in table.to_pylist()] == expected
        for bounds in ((1, 3, 1, 4, 1), (2, 1, 2, 3, 4), (3, 6, 99, 1, 1 << 17)):
            found, clusters = in_pieces(parts, settings, *bounds)
            assert found == at_once, f"seed {seed}, {bounds}"
            assert clusters == whole.n_clusters
        n_found += len(expected)
    assert n_found > 0


@pytest.mark.parametrize("shape", ["chains", "stars", "random"])
def test_labels_are_the_smallest_number_connected_whatever_the_intervals(shape: str) -> None:
    random = np.random.default_rng(5)
    for size in (1, 2, 40, 300):
        order = random.permutation(size).astype(np.uint64)
        pairs = {
            "chains": np.stack([order[:-1], order[1:]], axis=1)[random.random(size - 1) < 0.9],
            "stars": np.stack([order[np.arange(size) // 9 * 9], order], axis=1),
            "random": random.integers(0, size, (size // 2, 2), dtype=np.uint64),
        }[shape]
        label = np.arange(size)
        for _ in range(size):
            for left, right in pairs.astype(int).tolist():
                label[left] = label[right] = min(label[left], label[right])
        touched = sorted(set(pairs.ravel().astype(int).tolist()))
        for cut in (1, 7, size + 1):
            firsts = [*range(0, size, cut), size]
            given = np.array_split(pairs, 3)
            found = {
                int(first + place): int(name)
                for first, places, labels in connect(given, firsts)
                for place, name in zip(places.tolist(), labels.tolist(), strict=True)
            }
            assert found == {number: int(label[number]) for number in touched}, (size, cut)


def test_what_a_part_sends_to_other_batches_stays_when_a_document_leaves(tmp_path: Path) -> None:
    """Numbers are places among records, so those behind it keep theirs."""
    rows = [row for seed in range(4) for row in random_rows(seed)]
    for number, row in enumerate(rows):
        row |= {"snapshot_rank": 0, "part": 0, "doc_id": number.to_bytes(16, "big")}
    whole = NumberedPart(0, 0, rows, tmp_path / "a", np.arange(len(rows), dtype=np.uint32), 200)
    gone = 3
    left = [row for number, row in enumerate(rows) if number != gone]
    places = np.delete(whole.places, gone)
    less = NumberedPart(0, 0, left, tmp_path / "b", places, 200)
    numbers, labels = whole.places.astype(np.uint64), whole.places.astype(np.uint64) // 5
    batches = 16
    sent = [
        dict(lay_rows([part], label_bytes(some, labels[some]), batches, SMALL.bands))
        for part, some in ((whole, numbers), (less, np.delete(numbers, gone)))
    ]
    changed = {name for name in sent[0] if sent[0][name] != sent[1].get(name)}
    assert changed == {range_name(int(batch_numbers(labels[[gone]], batches)[0]))}
    keys = [dict(lay_keys([part], ClusterSettings(), SMALL, 10)) for part in (whole, less)]
    moved = {name for name in keys[0] if keys[0][name] != keys[1].get(name)}
    assert 0 < len(moved) <= len(key_tables(ClusterSettings(), SMALL))
    assert len(keys[0]) > 3 * len(moved)


def test_batches_follow_the_version_of_signatures_since_rows_are_identified_by_their_texts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pipeline: Any = SimpleNamespace(
        recipe=SimpleNamespace(clusters=ClusterSettings(), signatures=SignatureSettings()),
        rows=lambda file, snapshot: [35_000] * 300,
        results=lambda stage, snapshot: [],
    )
    exchanged = ClusterExchange("made", files.SELECTION, lambda pipeline, name: [name])

    def planned() -> list[str]:
        return [task.fingerprint for task in exchanged._plan_batches(pipeline, "S")]

    before = planned()
    assert len(before) > 1
    assert planned() == before
    monkeypatch.setattr(signatures, "VERSION", signatures.VERSION + 1)
    assert not set(planned()) & set(before)
