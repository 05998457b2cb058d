"""Annotations of others: read from every kind of file, found by key, taken out by takedowns."""

import gzip
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import yaml

from corpus_assets.core.errors import ModelError, SourceError
from corpus_assets.core.store import open_store
from corpus_assets.core.urls import address_of
from corpus_assets.ingest.purge import covered_keys
from corpus_assets.ingest.suppressions import Suppressions
from corpus_assets.recipe.recipe import Recipe
from corpus_assets.signals import import_tables
from corpus_assets.signals.annotations import read_annotations
from corpus_assets.signals.import_tables import (
    find_import,
    find_rows,
    keep_import,
    key_texts,
    redact_imports,
    sorted_table,
)
from corpus_assets.signals.imported import Imported
from corpus_assets.text.batch import TextBatch
from corpus_assets_tests.small_corpus import RECIPE

ROWS = [
    {"url": "https://www.Example.org/a?utm_source=x", "topic": "law", "score": 3},
    {"url": "http://example.org/b", "topic": None, "score": 4},
    {"url": "http://example.org/b", "topic": "second", "score": 5},
    {"url": "urn:not-a-page", "topic": "none", "score": 6},
    {"url": None, "topic": "none", "score": 7},
]


def write(folder: Path, kind: str, rows: list[dict[str, Any]] = ROWS) -> Path:
    path = folder / f"rows.{kind}"
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    if kind == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif kind == "csv":
        pyarrow.csv.write_csv(pa.Table.from_pylist(rows), path)
    else:
        path.write_bytes(gzip.compress(lines) if kind.endswith("gz") else lines)
    return path


@pytest.mark.parametrize("kind", ["parquet", "jsonl", "jsonl.gz", "csv"])
def test_every_kind_of_file_gives_the_same_rows(tmp_path: Path, kind: str) -> None:
    keys, columns = read_annotations(
        write(tmp_path, kind), "url", "url", {"about": "topic", "score": "score"}
    )
    assert keys.to_pylist() == ["org,example)/a", "org,example)/b", "org,example)/b", None, None]
    assert columns["score"].type == pa.float64()
    assert columns["score"].to_pylist() == [3, 4, 5, 6, 7]
    assert columns["about"].to_pylist()[2:] == ["second", "none", "none"]


def test_structs_keep_their_members_and_other_kinds_are_refused(tmp_path: Path) -> None:
    rows = [{"id": "ab" * 16, "t": {"code": "x", "n": {"p": 1}}, "tags": ["a"]}]
    path = write(tmp_path, "parquet", rows)
    keys, columns = read_annotations(path, "doc_id", "id", {"t": "t"})
    assert keys.to_pylist() == ["ab" * 16]
    assert columns["t"].to_pylist() == [{"code": "x", "n": {"p": 1.0}}]
    with pytest.raises(SourceError, match="column 'tags' holds list"):
        read_annotations(path, "doc_id", "id", {"tags": "tags"})
    with pytest.raises(SourceError, match="32 hexadecimal digits"):
        read_annotations(
            write(tmp_path, "jsonl", [{"id": "xy", "t": 1}]), "text_id", "id", {"t": "t"}
        )
    with pytest.raises(SourceError, match="cannot be read"):
        read_annotations(path, "url", "address", {"t": "t"})
    with pytest.raises(SourceError, match="expected a file of"):
        read_annotations(tmp_path / "rows.xml", "url", "url", {"t": "t"})


def test_a_text_is_named_by_its_whole_sha256_or_the_first_half(tmp_path: Path) -> None:
    rows = [{"text_id": "AB" * 32, "t": 1}, {"text_id": "cd" * 16, "t": 2}]
    keys, _ = read_annotations(write(tmp_path, "jsonl", rows), "text_id", "text_id", {"t": "t"})
    assert keys.to_pylist() == ["ab" * 16, "cd" * 16]


def test_addresses_have_the_keys_that_python_gives_them(tmp_path: Path) -> None:
    draw = random.Random(5)
    urls = [
        "http://www.www.example.org/", "https://www.example.org/a/../b", "http://example.org/a/.b",
        "http://EXAMPLE.org/", "http://example.org", "http://example.org/?b=2&a=1", "http://a.b.c.d.e.org/x",
        "http://example.org:80/x", "http://example.org/%7Ex", "http://10.0.0.1/x", "http://xn--bcher-kva.ch/x",
        "https://bücher.ch/ü", "http://example.org/a b", " http://example.org/a", "ftp://x.org/",
        "http://example.org/" + "a" * 1500, "http://-x.org/", "http://example.museum/a:b=c@d",
    ]  # fmt: skip
    for _ in range(300):
        host = ".".join(
            draw.choices(["www", "a", "b-c", "x1", "-y", "example"], k=draw.randint(1, 4))
        )
        path = "".join(draw.choices("/aB.~%2?=&é:,", k=draw.randint(0, 9)))
        urls.append(f"{draw.choice(['http', 'https', 'HTTP'])}://{host}.org/{path}")
    rows = [{"url": url, "t": 1} for url in urls]
    keys, _ = read_annotations(write(tmp_path, "jsonl", rows), "url", "url", {"t": "t"})
    known = [address_of(url.strip()) for url in urls]
    assert keys.to_pylist() == [one.key if one else None for one in known]


@pytest.mark.parametrize("buckets", [None, 5])
def test_rows_are_found_as_in_a_dictionary(
    buckets: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where many keys share a hash."""
    plain = import_tables._hashes
    if buckets is not None:
        monkeypatch.setattr(import_tables, "_hashes", lambda keys: plain(keys) % np.uint64(buckets))
    draw = random.Random(8)
    keys = [f"org,example)/{draw.randrange(150)}" for _ in range(200)]
    expected: dict[str, int] = {}
    for row, key in enumerate(keys):
        expected.setdefault(key, row)
    table = sorted_table(pa.array(keys), {"row": pa.array(range(200), pa.float64())})
    assert table.num_rows == len(expected)
    asked = [f"org,example)/{k}" for k in range(170)] + [None, ""]
    found = find_rows(table, pa.array(asked, pa.large_string()))
    values = [None if row < 0 else table.column("row")[int(row)].as_py() for row in found]
    assert values == [expected.get(key) if key else None for key in asked]
    nothing = sorted_table(pa.array([], pa.string()), {"row": pa.array([], pa.float64())})
    assert find_rows(nothing, pa.array(asked, pa.large_string())).tolist() == [-1] * len(asked)


def test_ids_are_written_in_hexadecimal_wherever_a_slice_begins() -> None:
    ids = pa.array([bytes([k] * 16) for k in range(5)], pa.binary(16))
    assert key_texts(ids[2:4]).to_pylist() == ["02" * 16, "03" * 16]


def kept(folder: Path, key: str = "url", orders: Suppressions | None = None) -> Any:
    keys, columns = (
        ROWS[:3],
        {"topic": pa.array(["law", None, "x"]), "score": pa.array([3.0, 4, 5])},
    )
    texts = {"url": ["org,example)/a", "org,example,sub)/b", "com,other)/c"],
             "doc_id": ["aa" * 16, "bb" * 16, "cc" * 16]}  # fmt: skip
    assert len(keys) == 3
    table = sorted_table(pa.array(texts["url" if key == "url" else "doc_id"]), columns)
    covers = lambda kind, some: covered_keys(kind, some, orders or Suppressions())  # noqa: E731
    return keep_import(open_store(str(folder)), table, "mine", key, covers)


def computed(folder: Path, one: Any, keys: list[str]) -> list[Any]:
    family = Imported.model_validate(
        {"name": "mine", "sha256": one.sha256, "columns": {"topic": "label", "score": "number"}}
    )
    store = open_store(str(folder))
    batch = TextBatch.from_arrow(pa.array(["x"] * len(keys), pa.large_string()))
    batch.columns = {"url_key": pa.array(keys)}
    path = store.local(find_import(store, one.sha256).path)
    found: list[Any] = family.compute(batch, {f"import:{one.sha256}": path}).to_pylist()
    return found


def test_documents_get_the_values_of_their_row_and_null_without_one(tmp_path: Path) -> None:
    found = computed(tmp_path, kept(tmp_path), ["org,example)/a", "net,none)/", "com,other)/c"])
    assert found == [
        {"topic": "law", "score": 3.0},
        {"topic": None, "score": None},
        {"topic": "x", "score": 5.0},
    ]


@pytest.mark.parametrize(
    ("order", "left"),
    [
        (("url_key", "org,example)/a"), 2),
        (("url_prefix", "org,example)/"), 2),
        (("host", "example.org"), 1),
        (("host", "other.com"), 2),
        (("doc_id", "aa" * 16), 3),  # it names a document, not the address
    ],
)
def test_a_takedown_takes_rows_out_and_leaves_the_name(
    tmp_path: Path, order: tuple[str, str], left: int
) -> None:
    one = kept(tmp_path)
    orders = Suppressions.from_rows([order])
    covers = lambda kind, some: covered_keys(kind, some, orders)  # noqa: E731
    store = open_store(str(tmp_path))
    assert redact_imports(store, covers) == 3 - left
    again = find_import(store, one.sha256)
    assert (again.rows - again.removed, again.sha256) == (left, one.sha256)
    assert len([path for path in store.list("imports") if path.endswith(".arrow")]) == 1
    data = store.read(again.path)
    assert (b"org,example)/a" in data) == (order[0] == "doc_id" or order[1] == "other.com")
    assert redact_imports(store, covers) == 0, "once is enough"
    assert computed(tmp_path, one, ["com,other)/c"])[0]["topic"] == (
        None if order[1] == "other.com" else "x"
    )


def test_rows_by_document_go_with_their_document_and_are_not_taken_in_again(tmp_path: Path) -> None:
    orders = Suppressions.from_rows([("doc_id", "aa" * 16)])
    one = kept(tmp_path, "doc_id", orders)
    assert (one.rows, one.removed) == (3, 1)
    assert ("aa" * 16).encode() not in open_store(str(tmp_path)).read(one.path)


def test_what_is_not_there_is_refused_by_name(tmp_path: Path) -> None:
    store = open_store(str(tmp_path))
    with pytest.raises(ModelError, match="corpus signals import"):
        find_import(store, "0" * 64)
    one = kept(tmp_path)
    family = {"name": "mine", "sha256": one.sha256, "columns": {"topic": "number"}}
    batch = TextBatch.from_arrow(pa.array(["x"], pa.large_string()))
    with pytest.raises(ModelError, match="no 'topic' of this kind; it has .*'topic': 'label'"):
        Imported.model_validate(family).compute(
            batch, {f"import:{one.sha256}": store.local(one.path)}
        )
    recipe = yaml.safe_load(RECIPE)
    recipe["signals"]["families"].append({"family": "imported"})
    with pytest.raises(ValueError, match="an import needs `sha256` and `columns`"):
        Recipe.model_validate(recipe)
    with pytest.raises(ValueError, match="expected label, number or a mapping"):
        Imported.model_validate(family | {"columns": {"topic": "text"}})
