"""Keys of runs: every row is found again, whatever the tables look like."""

import random

import numpy as np
import pyarrow as pa
import pytest

from catalog.formats.key_files import (
    CLUSTER_IDS,
    DOCUMENT_IDS,
    HOSTS,
    SPAN_IDS,
    TABLE_OF,
    TEXT_IDS,
    URL_KEYS,
    id_key,
    parse_header,
    url_hash,
)
from catalog.formats.urls import url_key
from corpus_assets.core.schemas import CLUSTER_MEMBERS, DOCUMENTS, RECORDS, SPANS
from corpus_assets.lineage.keys import KINDS, columns_of, make_keys

TABLES = {
    "records": RECORDS,
    "documents": DOCUMENTS,
    "cluster_members": CLUSTER_MEMBERS,
    "spans": SPANS,
}


def entries(data: bytes) -> list[tuple[int, int]]:
    """(key, place) as they stand in a file of hashes."""
    arrays = {
        name: np.frombuffer(data, dtype, count, at).tolist()
        for name, (dtype, at, count) in parse_header(data, "x").arrays.items()
    }
    return list(zip(arrays["keys"], arrays["places"], strict=True))


def records(urls: list[str | None], chance: random.Random) -> pa.Table:
    return pa.Table.from_pylist(
        [
            {
                "doc_id": chance.randbytes(16),
                "url_key": url_key(url) if url else f"books:{number}",
                "host": "h" if url else None,
            }
            for number, url in enumerate(urls)
        ],
        RECORDS,
    )


def test_every_kind_of_key_belongs_to_a_table() -> None:
    assert sorted(kind for kinds in KINDS.values() for kind in kinds) == sorted(TABLE_OF)
    for table, schema in TABLES.items():
        assert set(columns_of(table)) <= set(schema.names)


def test_records_are_found_over_all_parts_of_a_run() -> None:
    chance = random.Random(1)
    first = records(["http://a.example/1", None, "http://b.example:81/"], chance)
    second = records(["http://a.example/1"], chance)
    made = make_keys("records", [(4, first), (5, second.slice(0, 0)), (6, second)])
    assert set(made) == {DOCUMENT_IDS, URL_KEYS, HOSTS}
    ids = [*first["doc_id"].to_pylist(), *second["doc_id"].to_pylist()]
    assert entries(made[DOCUMENT_IDS]) == sorted((id_key(d), n) for n, d in enumerate(ids))
    keys = [*first["url_key"].to_pylist(), *second["url_key"].to_pylist()]
    assert entries(made[URL_KEYS]) == sorted((url_hash(k), n) for n, k in enumerate(keys))
    assert parse_header(made[URL_KEYS], "x").units == ((4, 3), (5, 0), (6, 1))
    assert b"example,aexample,b:81" in made[HOSTS]  # distinct names, end to end


def test_a_member_is_found_by_each_of_its_ids_once() -> None:
    chance = random.Random(2)
    a, b = chance.randbytes(16), chance.randbytes(16)
    rows = [
        {"doc_id": a, "kept_doc_id": a, "cluster_id": a},
        {"doc_id": b, "kept_doc_id": a, "cluster_id": a},
        {"doc_id": b, "kept_doc_id": b, "cluster_id": a},
    ]
    table = pa.Table.from_pylist(rows, CLUSTER_MEMBERS)
    found = entries(make_keys("cluster_members", [(0, table)])[CLUSTER_IDS])
    assert found == sorted([(id_key(a), n) for n in (0, 1, 2)] + [(id_key(b), n) for n in (1, 2)])


def test_texts_say_how_many_were_made_from_others() -> None:
    def table(parents: list[list[str] | None]) -> pa.Table:
        rows = [{"text_id": bytes(16), "derived_from": some} for some in parents]
        return pa.Table.from_pylist(rows, DOCUMENTS)

    units = [(0, table([None, []])), (1, table([["x"], None, ["y", "z"]])), (2, table([]))]
    data = make_keys("documents", units)[TEXT_IDS]
    assert parse_header(data, "x").derived == (0, 2, 0)


@pytest.mark.parametrize("table", list(TABLES))
def test_tables_without_rows_have_keys_without_entries(table: str) -> None:
    for data in make_keys(table, [(0, TABLES[table].empty_table())]).values():
        assert parse_header(data, "x").entries == 0
    assert set(make_keys(table, [])) == set(KINDS[table])


def test_the_same_tables_give_the_same_bytes_however_they_are_cut() -> None:
    chance = random.Random(3)
    whole = records([f"http://h{i % 5}.example/{i}" for i in range(900)], chance)
    pieces = pa.concat_tables([whole.slice(0, 1), whole.slice(1, 500), whole.slice(501)])
    assert make_keys("records", [(0, whole)]) == make_keys("records", [(0, pieces)])


def test_spans_are_known_by_the_names_of_their_shards() -> None:
    table = pa.Table.from_pylist([{"doc_id": bytes(16)}], SPANS)
    data = make_keys("spans", [("S/web/high/shard_00000", table)])[SPAN_IDS]
    assert parse_header(data, "x").units == (("S/web/high/shard_00000", 1),)
