import hashlib
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pydantic import ValidationError

from corpus_assets.core.errors import MissingInput
from corpus_assets.core.schemas import CLUSTER_MEMBERS
from corpus_assets.dedup import clusters
from corpus_assets.dedup.clusters import KINDS, MEMBERS, REASONS, find_clusters
from corpus_assets.dedup.compared_rows import HeldRows
from corpus_assets.dedup.kernels.buckets import band_keys
from corpus_assets.dedup.settings import ClusterSettings, SignatureSettings
from corpus_assets.dedup.signatures import compute_signatures
from corpus_assets.text.minhash import BINS
from corpus_assets_tests.dedup.cluster_reference import Row, naive_clusters
from corpus_assets_tests.text.word_reference import NASTY

SNAPSHOTS = ("S0", "S1", "S2")
BANDS = 4


def make_id(value: object) -> bytes:
    return hashlib.blake2b(repr(value).encode(), digest_size=16).digest()


def make_row(number: int, signature: list[int], **given: Any) -> Row:
    """A row whose bands and sketch are those of a signature of eight values: four bands of two,
    and 64 bins a value."""
    values = np.array([signature], np.uint32)
    row: Row = {
        "doc_id": make_id(number),
        "snapshot_rank": 0,
        "part": 0,
        "row": number,
        "url_key": f"com,example)/{number}",
        "text_id": make_id(("text", number)),
        "fetched_at": "2024-01-01T00:00:00Z",
        "n_chars": 100,
        "quality": 0.5,
        "n_shingles": 9,
        "bands": band_keys(values, BANDS, 2)[0].tolist(),
        "sketch": np.repeat(values % 256, BINS // 8).astype(np.uint8).tobytes(),
    }
    return row | given


def as_members(rows: list[Row]) -> pa.Table:
    plain = [{name: row[name] for name in MEMBERS.names} for row in rows]
    return pa.Table.from_pylist(plain, schema=MEMBERS)


def near_of(rows: list[Row]) -> HeldRows:
    bands = np.array([row["bands"] for row in rows], np.uint64).reshape(-1, BANDS)
    sketches = np.frombuffer(b"".join(row["sketch"] for row in rows), np.uint8)
    return HeldRows(bands, sketches.reshape(-1, BINS))


def clusters_of(rows: list[Row], settings: ClusterSettings | None = None) -> pa.Table:
    return find_clusters(as_members(rows), near_of(rows), settings or ClusterSettings(), SNAPSHOTS)


def of_texts(texts: list[str], settings: ClusterSettings | None = None) -> pa.Table:
    """Clusters of the texts, in one snapshot, from their real signatures."""
    documents = pa.table(
        {
            "doc_id": pa.array([make_id(i) for i in range(len(texts))], pa.binary(16)),
            "text": pa.array(texts, pa.large_string()),
        }
    )
    signed = compute_signatures(documents, SignatureSettings())
    rows = [
        make_row(i, [0] * 8, n_chars=len(text), text_id=make_id(text))
        for i, text in enumerate(texts)
    ]
    table = as_members(rows)
    at = table.schema.get_field_index("n_shingles")
    table = table.set_column(at, MEMBERS.field("n_shingles"), signed.table["n_shingles"])
    near = HeldRows(signed.band_keys, signed.sketches)
    return find_clusters(table, near, settings or ClusterSettings(), SNAPSHOTS)


def pairs_of(clusters: pa.Table) -> set[tuple[int, int]]:
    groups: dict[bytes, list[int]] = {}
    for row in clusters.to_pylist():
        groups.setdefault(row["cluster_id"], []).append(row["row"])
    return {(a, b) for rows in groups.values() for a in rows for b in rows if a < b}


def random_rows(seed: int) -> list[Row]:
    """Chains, stars, bridges and hot buckets over three snapshots, out of few values."""
    random = np.random.default_rng(seed)
    rows: list[Row] = []
    base = random.integers(0, 50, 8)
    for number in range(int(random.integers(2, 45))):
        if random.random() < 0.3:
            base = random.integers(0, 50, 8)
        elif random.random() < 0.5:  # a chain: each differs a little from the one before
            base = base.copy()
            base[random.integers(0, 8)] = random.integers(0, 50)
        signature = base.copy()
        signature[random.integers(0, 8)] = random.integers(0, 3)
        if random.random() < 0.3:
            signature[:2] = 7  # a hot bucket of strangers
        rank = int(random.integers(0, 3))
        row = make_row(
            number,
            signature.tolist(),
            snapshot_rank=rank,
            part=int(random.integers(0, 2)),
            n_chars=int(random.integers(1, 4)),
            quality=[None, 0.0, 0.25, 1.0][random.integers(0, 4)],
            fetched_at=["", "2023", "2024"][random.integers(0, 3)],
            n_shingles=int(random.random() > 0.1),
        )
        for name, share in (("url_key", 0.1), ("text_id", 0.1), ("doc_id", 0.05)):
            if rows and random.random() < share:
                row[name] = rows[random.integers(0, len(rows))][name]
        if random.random() < 0.1:
            row["url_key"] = [None, ""][random.integers(0, 2)]
        rows.append(row)
    return rows


SETTINGS = [
    ClusterSettings(),
    ClusterSettings(keep="earliest"),
    ClusterSettings(keep="latest"),
    ClusterSettings(keep="best_quality", min_similarity=0.5),
    ClusterSettings(url=False, exact=False),
    ClusterSettings(min_similarity=None),
    ClusterSettings(min_similarity=0),
]


@pytest.mark.parametrize("settings", SETTINGS, ids=range(len(SETTINGS)))
@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_clusters_equal_the_naive_reference_on_random_corpora(
    settings: ClusterSettings, rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clusters, "MAX_ROUNDS", rounds)
    n_clusters = 0
    for seed in range(40):
        rows = random_rows(seed)
        table = clusters_of(rows, settings)
        expected = naive_clusters(rows, settings)
        assert table.to_pylist() == expected, f"seed {seed}"
        n_clusters += len({row["cluster_id"] for row in expected})
    assert n_clusters > 40


def test_the_order_and_the_chunks_of_the_input_do_not_matter() -> None:
    for seed in range(20):
        rows = random_rows(100 + seed)
        whole = clusters_of(rows)
        random = np.random.default_rng(seed)
        for _ in range(3):
            shuffled = [rows[i] for i in random.permutation(len(rows))]
            cut = int(random.integers(0, len(rows)))
            pieces = pa.concat_tables([as_members(shuffled[:cut]), as_members(shuffled[cut:])])
            found = find_clusters(pieces, near_of(shuffled), ClusterSettings(), SNAPSHOTS)
            assert found.equals(whole)


def test_each_kind_of_tie_is_named_by_the_closest_and_has_a_reason() -> None:
    far = [[i * 10 + k for k in range(8)] for i in range(9)]
    near = [*far[7][:7], 999]
    rows = [
        make_row(0, far[0]),
        make_row(1, far[1], doc_id=make_id(0)),
        make_row(2, far[2]),
        make_row(3, far[3], url_key="com,example)/2"),
        make_row(4, far[4]),
        make_row(5, far[5], text_id=make_id(("text", 4))),
        make_row(6, far[6]),
        make_row(7, far[7]),
        make_row(8, near),
    ]
    table = clusters_of(rows)
    assert table.schema == CLUSTER_MEMBERS
    assert table["row"].to_pylist() == [0, 1, 2, 3, 4, 5, 7, 8]
    assert table["kind"].to_pylist() == [kind for kind in KINDS for _ in range(2)]
    assert (
        table["similarity"].to_pylist() == [1.0] * 6 + [pytest.approx((255 * 0.875 - 1) / 254)] * 2
    )
    assert sum(table["kept"].to_pylist()) == 4
    assert set(REASONS) == set(KINDS)


def test_a_bridge_joins_two_clusters_and_its_removal_parts_them() -> None:
    left, right = [1, 1, 2, 2, 3, 3, 4, 4], [1, 1, 2, 2, 5, 5, 6, 6]
    bridge = [1, 1, 2, 2, 3, 3, 6, 6]
    rows = [make_row(i, s) for i, s in enumerate((left, right, bridge))]
    settings = ClusterSettings(min_similarity=0.7)
    with_bridge = clusters_of(rows, settings)
    assert with_bridge["cluster_size"].to_pylist() == [3, 3, 3]
    assert clusters_of(rows[:2], settings).num_rows == 0


def test_the_kept_member_is_of_the_earliest_snapshot_whatever_the_policy() -> None:
    same = list(range(8))
    rows = [
        make_row(0, same, n_chars=5, quality=0.1, fetched_at="2024-05"),
        make_row(1, same, n_chars=9, quality=None, fetched_at=""),
        make_row(2, same, snapshot_rank=1, n_chars=99, quality=1.0, fetched_at="1"),
    ]
    for keep, expected in (("longest", 1), ("earliest", 0), ("latest", 0), ("best_quality", 0)):
        settings = ClusterSettings(keep=keep)  # type: ignore[arg-type]
        for given in (rows, rows[:2]):
            table = clusters_of(given, settings)
            kept = [row["row"] for row in table.to_pylist() if row["kept"]]
            assert kept == [expected]
            assert set(table["kept_doc_id"].to_pylist()) == {make_id(expected)}


def test_the_newest_fetch_of_an_address_stays_where_the_recipe_asks_for_it() -> None:
    rows = [
        make_row(0, [], url_key="com,a)/", fetched_at="2024-01-02T00:00:00Z"),
        make_row(1, [], url_key="com,a)/", fetched_at="2024-03-01T00:00:00Z"),
        make_row(2, [], url_key="com,a)/", fetched_at=""),
    ]
    for keep, expected in (("earliest", 0), ("latest", 1)):
        table = clusters_of(rows, ClusterSettings(keep=keep))  # type: ignore[arg-type]
        assert [row["row"] for row in table.to_pylist() if row["kept"]] == [expected]


def test_a_shared_band_is_enough_where_no_similarity_is_asked_for() -> None:
    strangers = [make_row(0, [7, 7, 1, 2, 3, 4, 5, 6]), make_row(1, [7, 7, 9, 8, 9, 8, 9, 8])]
    assert pairs_of(clusters_of(strangers)) == set()
    assert pairs_of(clusters_of(strangers, ClusterSettings(min_similarity=0))) == {(0, 1)}


def test_documents_without_words_are_never_near_duplicates() -> None:
    assert of_texts(["", "...", "!?", "😀😀", "\ufffd"]).num_rows == 0


def test_no_rows_make_no_clusters() -> None:
    table = clusters_of([])
    assert table.num_rows == 0
    assert table.schema == CLUSTER_MEMBERS


def test_templated_pages_with_different_content_are_not_merged() -> None:
    random = np.random.default_rng(9)
    frame = [f"menu{i}" for i in range(120)]
    foot = [f"imprint{i}" for i in range(80)]
    texts = []
    for _ in range(120):
        content = [f"c{value}" for value in random.integers(0, 10**6, 200)]
        texts.append(" ".join([*frame, *content, *foot]))
    assert of_texts(texts).num_rows == 0


def test_a_missing_column_is_named() -> None:
    rows = [make_row(0, [0] * 8)]
    with pytest.raises(MissingInput, match="quality"):
        find_clusters(
            as_members(rows).drop_columns(["quality"]), near_of(rows), ClusterSettings(), SNAPSHOTS
        )


def test_scope_is_a_word_or_a_number_of_earlier_snapshots() -> None:
    assert ClusterSettings(scope=3).identity()["scope"] == 3
    assert ClusterSettings(scope="all").identity()["scope"] == "all"
    for wrong in ("some", 0, {"rolling": 1}):
        with pytest.raises(ValidationError):
            ClusterSettings.model_validate({"scope": wrong})


@pytest.mark.timeout(180)
def test_fifty_thousand_identical_and_some_hostile_documents_are_clustered_in_bounded_time() -> (
    None
):
    texts = [*NASTY, "lorem ipsum dolor " * 280_000, *["the very same page of six words"] * 50_000]
    table = of_texts(texts, ClusterSettings(exact=False))
    assert table.num_rows == 50_000
    assert set(table["cluster_size"].to_pylist()) == {50_000}
    assert sum(table["kept"].to_pylist()) == 1


@pytest.mark.parametrize("settings", SETTINGS, ids=range(len(SETTINGS)))
def test_who_a_later_document_gives_way_to_was_kept_when_its_own_snapshot_was_decided(
    settings: ClusterSettings,
) -> None:
    """Each snapshot is decided on itself and those before it; the decisions must agree."""
    checked = 0
    for seed in range(40):
        rows = random_rows(seed)
        decided: dict[int, set[tuple[object, ...]]] = {}
        for rank in range(3):
            window = [row for row in rows if row["snapshot_rank"] <= rank]
            members = clusters_of(window, settings).to_pylist()
            lost = {
                (m["snapshot"], m["part"], m["row"])
                for m in members
                if m["snapshot"] == f"S{rank}" and not m["kept"]
            }
            decided[rank] = lost
            for member in members:
                if member["kept"] and member["snapshot"] != f"S{rank}":
                    home = int(member["snapshot"][1:])
                    place = (member["snapshot"], member["part"], member["row"])
                    assert place not in decided[home], f"seed {seed}"
                    checked += 1
    assert checked
