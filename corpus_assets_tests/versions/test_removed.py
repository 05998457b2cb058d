"""What a replaced version loses: clusters promoted, split or emptied; digests of removed texts."""

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from catalog.db.rows import LineageRow
from corpus_assets.core.schemas import DOC_ID
from corpus_assets.core.store import LocalStore, sha256_hex
from corpus_assets.core.urls import host_of_key
from corpus_assets.ingest.suppressions import Suppressions
from corpus_assets.lineage.text_digests import (
    GRAM_WORDS,
    KEPT_ONE_IN,
    MAX_DIGESTS,
    DigestIndex,
    gram_digests,
)
from corpus_assets.text.characters import to_nfkc
from corpus_assets.versions.cluster_changes import ClusterChange, cluster_changes
from corpus_assets.versions.removed import REMOVED, removed_by_requests


def _id(name: str) -> bytes:
    return name.encode().ljust(16, b".")


def _hex(*names: str) -> tuple[str, ...]:
    return tuple(_id(name).hex() for name in names)


def _changes(
    folder: Path, before: dict[str, str], after: dict[str, str], removed: set[str]
) -> list[ClusterChange]:
    """Clusters as member -> who is kept for it."""
    store = LocalStore(folder)
    files = []
    for version, members in (("v1", before), ("v2", after)):
        columns = {
            "doc_id": pa.array([_id(name) for name in members], DOC_ID),
            "kept_doc_id": pa.array([_id(kept) for kept in members.values()], DOC_ID),
            "kind": pa.array(["near"] * len(members)),
        }
        sink = pa.BufferOutputStream()
        pq.write_table(pa.table(columns), sink)
        data = sink.getvalue().to_pybytes()
        store.write(f"{version}.parquet", data)
        row = LineageRow("cluster_members", "S", f"{version}.parquet", sha256_hex(data), 0)
        files.append([row])
    return cluster_changes(store, *files, {_id(name) for name in removed})


def test_another_member_is_promoted_when_the_kept_one_goes(tmp_path: Path) -> None:
    before = {"a": "a", "b": "a", "c": "a", "x": "x", "y": "x"}
    (change,) = _changes(tmp_path, before, {"b": "b", "c": "b", "x": "x", "y": "x"}, {"a"})
    assert change == ClusterChange(*_hex("a"), _hex("a"), 2, _hex("b"))
    assert change.promoted == _hex("b")


def test_a_cluster_whose_bridge_goes_falls_apart(tmp_path: Path) -> None:
    before = {"a": "a", "b": "a", "c": "a", "d": "a"}
    (change,) = _changes(tmp_path, before, {"c": "c", "d": "c"}, {"b"})
    assert change.kept_after == _hex("a", "c")  # a is alone now and in no cluster
    assert change.promoted == _hex("c")


def test_a_kept_document_that_only_other_snapshots_name_is_a_member(tmp_path: Path) -> None:
    (change,) = _changes(tmp_path, {"b": "a"}, {}, {"a"})
    assert (change.removed, change.kept_after) == (_hex("a"), _hex("b"))


def test_nothing_is_left_or_nothing_changes(tmp_path: Path) -> None:
    (gone,) = _changes(tmp_path, {"a": "a", "b": "a"}, {}, {"a", "b"})
    assert (gone.members_left, gone.kept_after, gone.promoted) == (0, (), ())
    (same,) = _changes(tmp_path, {"a": "a", "b": "a", "c": "a"}, {"a": "a", "b": "a"}, {"c"})
    assert (same.kept_after, same.promoted) == (_hex("a"), ())
    assert _changes(tmp_path, {"a": "a", "b": "a"}, {"a": "a", "b": "a"}, {"z"}) == []


# Which of the removed documents each request of a batch named.


def test_a_batch_gives_each_request_what_its_orders_cover() -> None:
    chance = random.Random(7)
    hosts = ["a.example", "www.a.example", "b.a.example", "c.example", "1.2.3.4"]
    keys = [
        f"{','.join(reversed(host.split('.')))})/{path}"
        for host in hosts
        for path in ("", "x", "x%7ey", "x/1?b=1&a=2")
    ]
    rows = [
        {
            "doc_id": _id(f"d{n}"),
            "text_id": _id(f"t{n % 20}"),
            "url_key": (key := chance.choice(keys)),
            "host": chance.choice([host_of_key(key), None]),
            "derived_from": chance.choice([None, [], chance.sample(keys, 2)]),
            "sketch": None,
            "gram_digests": [],
        }
        for n in range(60)
    ]
    removed = pa.Table.from_pylist(rows, schema=REMOVED)
    named = {
        "url_key": keys,
        "host": ["a.example", "b.a.example", "example", "4"],
        "url_prefix": ["example,a)/x", "example,c"],
        "doc_id": [_id(f"d{n}").hex() for n in range(70)],
        "text_id": [_id(f"t{n}").hex() for n in range(25)],
    }
    orders = [(kind, value) for kind, values in named.items() for value in values]
    held = {n: chance.sample(orders, chance.choice([0, 1, 1, 2, 6])) for n in range(200)}
    expected = {}
    for number, some in held.items():
        asked = Suppressions.from_rows(some)
        expected[number] = [
            row["doc_id"].hex()
            for row in rows
            if asked.match_record(row["url_key"], row["host"] or "", row["doc_id"])
            or asked.match_text(row["text_id"], row["derived_from"] or ())
        ]
    assert removed_by_requests(removed, held) == expected
    assert sum(map(len, expected.values())) > 200


# Digests of 13-grams: they find what the text would find, and keep too little to rebuild it.


def words(name: str, count: int) -> list[str]:
    chance = random.Random(name)
    return [f"{chance.choice('bcdfgh')}{chance.randrange(5000)}" for _ in range(count)]


def found(
    digests: dict[str, list[str]], texts: list[str], share: float = 0.3
) -> list[tuple[int, str]]:
    array = pa.chunked_array(
        [pa.array(texts[:1], pa.large_string()), pa.array(texts[1:], pa.large_string())]
    )
    return sorted((row, doc_id) for row, doc_id, _ in DigestIndex(digests, share).scan(array))


def test_about_one_gram_in_eight_is_kept_and_never_more_than_the_limit() -> None:
    short, long, huge = gram_digests([" ".join(words("a", n)) for n in (400, 3000, 30_000)])
    for digests, count in ((short, 400), (long, 3000)):
        expected = (count - GRAM_WORDS + 1) / KEPT_ONE_IN
        assert 0.7 * expected < len(digests) < 1.3 * expected
    assert len(huge) == MAX_DIGESTS
    for digests in (short, long, huge):
        assert digests == sorted(set(digests))
        assert {len(digest) for digest in digests} == {16}


def test_which_grams_are_kept_depends_on_the_grams_alone() -> None:
    text = words("a", 300)
    alone, beside = gram_digests([" ".join(text), " ".join([*words("b", 90), *text])])
    assert set(alone) <= set(beside)
    assert gram_digests([" ".join(text), "x"])[0] == gram_digests([" ".join(text)])[0] == alone
    assert gram_digests(["", "a few words"]) == [[], []]
    # Certificates outlive versions of this code: what they keep must mean the same.
    assert alone[0] == "07bd5c53300d8a23"


def test_words_are_those_of_the_whole_text_in_nfkc_though_lines_are_converted_apart() -> None:
    marks = [
        "\u0301",
        "\ufb01",
        "\u1100\u1161",
        "\uff21",
        "e\u0323\u0302",
        "\u0302",
        "\u2028",
        "\r",
    ]
    chance = random.Random(3)
    lines = [
        " ".join([chance.choice(marks), *words(f"{n}", 9), chance.choice(marks)]) for n in range(80)
    ]
    text = "\n".join(lines) + "\n\n"
    whole = to_nfkc(pa.array([text], pa.large_string()))
    assert gram_digests([text]) == gram_digests(whole.to_pylist())
    assert len(gram_digests([text])[0]) > 50


def test_a_text_that_holds_a_good_share_is_found_and_others_are_not() -> None:
    gone = words("gone", 400)
    digests = {"aa": gram_digests([" ".join(gone)])[0], "bb": []}
    texts = [
        " ".join(words("other", 400)),
        " ".join([*words("before", 500), *gone, *words("after", 100)]),
        " ".join([*gone[:250], *words("rest", 100)]),
        " ".join([*gone[:40], *words("rest", 300)]),
        " ".join(gone).upper(),
    ]
    assert found(digests, texts) == [(1, "aa"), (2, "aa"), (4, "aa")]
    assert found(digests, texts, share=0.9) == [(1, "aa"), (4, "aa")]
    assert found({"bb": []}, texts) == []


def test_documents_with_too_few_digests_are_left_to_their_ids() -> None:
    text = " ".join(words("short", GRAM_WORDS + 3))
    assert found({"aa": gram_digests([text])[0]}, [text, text]) == []
