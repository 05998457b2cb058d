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
    PairBlocks,
    PairSpill,
    batch_numbers,
    cluster_batch,
    connect,
    label,
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
from textkernels.hashing import GOLDEN


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


@dataclass(frozen=True)
class Cut:
    """How a window is cut: parts in a group, bits of ranges, groups in an interval, batches, and how
    many rows of a batch are held."""

    per_group: int
    bits: int
    room: int
    batches: int
    batch_rows: int


@dataclass
class InPieces:
    """What all steps found for the last snapshot of a window."""

    members: list[tuple[int, pa.Table]]
    clusters: int
    links: npt.NDArray[np.uint64]
    labelled: int


def in_pieces(
    parts: list[NumberedPart],
    settings: ClusterSettings,
    cut: Cut,
    links: list[npt.NDArray[np.uint64]] | None = None,
    leaves_links: bool = False,
) -> InPieces:
    """Run every step, with the links of the snapshots before where they are given."""
    last = max(part.rank for part in parts)
    names = ["S0", "S1", "S2"][: last + 1]
    groups = [
        own[first : first + cut.per_group]
        for rank in range(last + 1)
        for own in [[part for part in parts if part.rank == rank]]
        for first in range(0, len(own), cut.per_group)
    ]
    firsts = np.cumsum([0, *(sum(part.n_records for part in group) for group in groups)]).tolist()
    own_first = sum(part.n_records for part in parts if part.rank < last)
    new = own_first if links else 0
    laid = [dict(lay_keys(group, settings, SMALL, cut.bits)) for group in groups]
    tables = len(key_tables(settings, SMALL))
    pairs = [
        pair_equal(
            [
                (first, data[name])
                for first, data in zip(firsts, laid, strict=False)
                if name in data
            ],
            tables,
            new,
        )
        for name in sorted({name for data in laid for name in data})
    ]
    cuts = [*firsts[: -1 : cut.room], firsts[-1]]
    asked = new if leaves_links else own_first
    of_group: dict[int, list[tuple[int, int, int]]] = {}
    for first, *columns in label(pairs, lambda: links or [], cuts, asked):
        for place, name, known in zip(*(column.tolist() for column in columns), strict=True):
            group = int(np.searchsorted(firsts, first + place, side="right")) - 1
            of_group.setdefault(group, []).append((first + place - firsts[group], name, known))
    rows = {
        group: dict(
            lay_rows(
                groups[group],
                label_bytes(*np.array(labelled, np.uint64).T),
                cut.batches,
                SMALL.bands,
            )
        )
        for group, labelled in sorted(of_group.items())
    }
    own = [group for group in groups if group[0].rank == last]
    sent: list[dict[str, bytes]] = []
    left = [np.empty((0, 2), np.uint64)]
    for batch in range(cut.batches):
        pieces = [
            (groups[group][0].rank, data[range_name(batch)])
            for group, data in rows.items()
            if range_name(batch) in data
        ]
        found, some_links = cluster_batch(
            lambda p=pieces: p,
            names,
            settings,
            SMALL.bands,
            is_held=cut.batch_rows > 1,
            batch_rows=cut.batch_rows,
        )
        left.append(some_links)
        sent.append(dict(lay_members(found, [group[0].number for group in own])))
    listed, clusters = [], 0
    for number, group in enumerate(own):
        given = [data[range_name(number)] for data in sent if range_name(number) in data]
        with GroupClusters(group, given, names[-1]) as some:
            listed += some.parts()
            clusters += some.n_clusters
    return InPieces(listed, clusters, np.concatenate(left), sum(map(len, of_group.values())))


CUTS = (Cut(1, 3, 1, 4, 1), Cut(2, 1, 2, 3, 4), Cut(3, 6, 99, 1, 1 << 17))


def made_parts(seed: int, folder: Path) -> tuple[list[Row], list[NumberedPart]]:
    rows, random = random_rows(seed), np.random.default_rng(seed)
    for row in rows:
        row["selected"] = random.random() > 0.15
        row["part"] = int(random.integers(0, 3))
    return rows, numbered_parts(rows, folder, random)


@pytest.mark.parametrize("settings", SETTINGS, ids=range(len(SETTINGS)))
def test_clusters_in_pieces_are_those_of_the_definition(
    settings: ClusterSettings, tmp_path: Path
) -> None:
    """A batch of one row makes every component too large for it, so all of them are mapped."""
    n_found = 0
    for seed in range(8):
        rows, parts = made_parts(seed, tmp_path)
        expected = [
            row
            for row in naive_clusters([row for row in rows if row["selected"]], settings)
            if row["snapshot"] == "S2"
        ]
        with cluster_window(parts, ["S0", "S1", "S2"], settings, SMALL) as whole:
            at_once = list(whole.parts())
        assert [row for _, table in at_once for row in table.to_pylist()] == expected
        for cut in CUTS:
            found = in_pieces(parts, settings, cut)
            assert found.members == at_once, f"seed {seed}, {cut}"
            assert found.clusters == whole.n_clusters
        n_found += len(expected)
    assert n_found > 0


@pytest.mark.parametrize("settings", SETTINGS, ids=range(len(SETTINGS)))
def test_a_snapshot_that_is_added_has_the_clusters_of_all_at_once(
    settings: ClusterSettings, tmp_path: Path
) -> None:
    """Wherever links begin: with the first snapshot, or with the second for both."""
    for seed in range(3):
        _, parts = made_parts(seed, tmp_path)
        for begin, cut in ((0, CUTS[0]), (0, CUTS[1]), (1, CUTS[2])):
            links: list[npt.NDArray[np.uint64]] = []
            for rank in range(begin, 3):
                window = [part for part in parts if part.rank <= rank]
                added = in_pieces(window, settings, cut, links, leaves_links=True)
                with cluster_window(
                    window, ["S0", "S1", "S2"][: rank + 1], settings, SMALL
                ) as all_:
                    assert added.members == list(all_.parts()), f"seed {seed}, {cut}, {rank}"
                assert added.clusters == all_.n_clusters
                links.append(added.links)


@pytest.mark.parametrize("seed", [5])
def test_links_without_a_document_are_those_of_snapshots_that_never_had_it(
    seed: int, tmp_path: Path
) -> None:
    """One leaves at a time, and the places of the others stay."""
    rows, parts = made_parts(seed, tmp_path)
    kept = 0
    for gone in rows[::5]:
        left = []
        for part in parts:
            stay = np.array([row is not gone for row in part.rows], np.bool_)
            own = [row for row in part.rows if row is not gone]
            own = [row | {"row": place} for place, row in enumerate(own)]
            path = tmp_path / f"left-{part.rank}-{part.number}"
            places = part.places[stay]
            left.append(NumberedPart(part.rank, part.number, own, path, places, part.n_records))
        links: list[npt.NDArray[np.uint64]] = []
        for rank in range(3):
            window = [part for part in left if part.rank <= rank]
            added = in_pieces(window, ClusterSettings(), CUTS[0], links, leaves_links=True)
            links.append(added.links)
        with cluster_window(left, ["S0", "S1", "S2"], ClusterSettings(), SMALL) as all_:
            assert added.members == list(all_.parts())
        kept += sum(table.num_rows for _, table in added.members)
    assert kept > 0


def test_documents_that_a_new_snapshot_has_nothing_to_do_with_are_not_looked_at(
    tmp_path: Path,
) -> None:
    """Two hundred pairs of copies came before; with a document that comes, one of them is."""
    template, old = random_rows(1)[0] | {"part": 0, "selected": True}, []
    for number in range(400):
        old.append(
            template
            | {
                "snapshot_rank": 0,
                "doc_id": number.to_bytes(16, "big"),
                "url_key": f"com,example)/{number}",
                "text_id": (number // 2).to_bytes(16, "big"),
                "bands": [(number // 2 + 1) * int(GOLDEN) % 2**64] * SMALL.bands,
            }
        )
    new = old[7] | {"snapshot_rank": 1, "doc_id": (9_999).to_bytes(16, "big"), "url_key": ""}
    parts = numbered_parts([*old, new], tmp_path, np.random.default_rng(1), n_parts=1)[:2]
    first = in_pieces(parts[:1], ClusterSettings(), CUTS[0], leaves_links=True)
    assert (first.clusters, len(first.links), first.labelled) == (200, 200, 400)
    second = in_pieces(parts, ClusterSettings(), CUTS[0], [first.links], leaves_links=True)
    (_, found), *_ = second.members
    assert found["cluster_size"].to_pylist() == [3]
    assert (second.labelled, len(second.links)) == (3, 1)


@pytest.mark.parametrize("shape", ["chains", "stars", "random"])
def test_labels_are_the_smallest_number_connected_of_what_is_asked_for_whatever_the_intervals(
    shape: str,
) -> None:
    random = np.random.default_rng(5)
    for size in (1, 2, 40, 300):
        order = random.permutation(size).astype(np.uint64)
        pairs = {
            "chains": np.stack([order[:-1], order[1:]], axis=1)[random.random(size - 1) < 0.9],
            "stars": np.stack([order[np.arange(size) // 9 * 9], order], axis=1),
            "random": random.integers(0, size, (size // 2, 2), dtype=np.uint64),
        }[shape]
        lowest = np.arange(size)
        for _ in range(size):
            for left, right in pairs.astype(int).tolist():
                lowest[left] = lowest[right] = min(lowest[left], lowest[right])
        in_pairs = sorted(set(pairs.ravel().astype(int).tolist()))
        for own in (0, size // 2, size - 1):
            asked = set(lowest[own:].tolist())
            expected = {
                number: int(lowest[number]) for number in in_pairs if lowest[number] in asked
            }
            for cut in (1, 7, size + 1):
                firsts = [*range(0, size, cut), size]
                given = np.array_split(pairs, 3)
                found = {
                    int(first + place): int(name)
                    for first, places, labels in connect(given, firsts, own)
                    for place, name in zip(places.tolist(), labels.tolist(), strict=True)
                }
                assert found == expected, (size, own, cut)


def test_pairs_on_their_way_take_no_more_of_a_file_than_there_were_at_one_time() -> None:
    random = np.random.default_rng(5)
    starts = np.array([0, 100, 150], np.uint64)
    blocks = PairBlocks(4)
    spills = [PairSpill(blocks, starts) for _ in range(2)]
    for _ in range(5):
        given = random.integers(0, 300, (600, 2), dtype=np.uint64)
        for spill in spills:
            spill.add(given[:400], by=1)
            spill.add(given[400:], by=1)
            for number, stop in enumerate([100, 150, 300]):
                is_in = (given[:, 1] >= starts[number]) & (given[:, 1] < stop)
                assert np.concatenate(list(spill.pieces(number))).tolist() == given[is_in].tolist()
                spill.forget(number)
                assert not sum(map(len, spill.pieces(number)))
    assert 0 < blocks.file_bytes <= 600 * 16
    blocks.close()


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
        dict(lay_rows([part], label_bytes(some, labels[some], some), batches, SMALL.bands))
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
