"""A whole version passes; every kind of damage is found and named."""

import dataclasses
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from catalog.db.published import load_manifest
from catalog.db.rows import ShardRow
from catalog.errors import StoreFileError
from catalog.figures import counted
from catalog.formats.lineage_tables import LINEAGE_TABLES
from catalog.verify.shard_files import check_shard
from catalog.verify.version import Problem, verify
from corpus_assets.core.schemas import DECISIONS
from corpus_assets_tests.catalog.corpus import SEQ_LEN, SNAPSHOTS, Corpus, Tables, _write, build
from corpus_loader.index import HEAD, parse_index


def problems(corpus: Corpus) -> list[Problem]:
    return verify(corpus.registry, corpus.store, "v1").problems


def test_a_whole_version_passes_and_its_counts_balance(corpus: Corpus) -> None:
    told: list[tuple[str, int, int]] = []
    answer = verify(corpus.registry, corpus.store, "v1", progress=lambda *a: told.append(a))
    assert answer.ok, answer.problems
    assert set(answer.snapshots) == set(SNAPSHOTS)
    for counts in answer.snapshots.values():
        assert counts.records == counts.kept + counts.dropped
        assert counts.kept == counts.in_shards
    assert {what for what, _, _ in told} == {"files", "shards", "conservation"}


def flip_a_bit(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


@pytest.mark.parametrize("kind", ["bin", "idx", "spans", "header", "manifest", "tokenizer"])
def test_a_single_flipped_bit_is_found_in_files_of_shards(own_corpus: Corpus, kind: str) -> None:
    version = own_corpus.registry.version("v1")
    shard = own_corpus.registry.version_shards("v1")[0]
    manifest = load_manifest(own_corpus.store, version)
    path = {
        "manifest": version.manifest_path,
        "tokenizer": manifest.tokenizer.path,
    }.get(kind) or getattr(shard, f"{kind}_path")
    flip_a_bit(own_corpus.home / "store" / path)
    named = {(problem.check, problem.subject) for problem in problems(own_corpus)}
    assert ("files", path) in named


@pytest.mark.parametrize("table", [name for name in LINEAGE_TABLES if name != "spans"])
def test_a_single_flipped_bit_is_found_in_lineage_files(own_corpus: Corpus, table: str) -> None:
    row = own_corpus.registry.lineage_files("v1", table)[-1]
    flip_a_bit(own_corpus.home / "store" / row.path)
    found = problems(own_corpus)
    assert [p.subject for p in found if p.check == "files"] == [row.path]
    assert (found[-1].check, found[-1].subject) == ("conservation", row.snapshot)
    assert "damaged" in found[-1].problem, "what was not counted is said"


def test_a_missing_file_is_found(own_corpus: Corpus) -> None:
    path = own_corpus.registry.version_shards("v1")[2].bin_path
    (own_corpus.home / "store" / path).unlink()
    assert any("is not in the store" in problem.problem for problem in problems(own_corpus))


def once(change: Callable[[Tables], Tables], name: str, of: int = 1) -> Callable[[Tables], Tables]:
    """Tamper with one table of that name, the first if nothing else is said."""
    seen: list[bool] = []

    def tamper(tables: Tables) -> Tables:
        if name not in tables:
            return tables
        seen.append(True)
        return change(dict(tables)) if len(seen) == of else tables

    return tamper


def lose_a_row(name: str) -> Callable[[Tables], Tables]:
    return once(lambda tables: tables | {name: tables[name].slice(1)}, name)


def repeat_a_row(name: str) -> Callable[[Tables], Tables]:
    return once(
        lambda tables: tables | {name: pa.concat_tables([tables[name], tables[name].slice(0, 1)])},
        name,
    )


def rewrite(
    name: str, change: Callable[[list[dict[str, Any]]], None], of: int = 1
) -> Callable[[Tables], Tables]:
    def changed(tables: Tables) -> Tables:
        rows = tables[name].to_pylist()
        change(rows)
        return tables | {name: pa.Table.from_pylist(rows, tables[name].schema)}

    return once(changed, name, of)


def drop_silently(rows: list[dict[str, Any]]) -> None:
    row = next(row for row in rows if not row["kept"])
    row["reason"] = None


def unkeep(rows: list[dict[str, Any]]) -> None:
    row = next(row for row in rows if row["kept"])
    row |= {"kept": False, "stage": "selection", "reason": "whim", "tier": None}


def keep_too_many(rows: list[dict[str, Any]]) -> None:
    row = next(row for row in rows if not row["kept"])
    row |= {"kept": True, "stage": None, "reason": None, "tier": "high"}


def other_tier(rows: list[dict[str, Any]]) -> None:
    next(row for row in rows if row["kept"])["tier"] = "low"
    next(row for row in rows if row["kept"] and row["tier"] == "high")["tier"] = "low"


def stranger(rows: list[dict[str, Any]]) -> None:
    old = rows[0]["doc_id"]
    for row in rows:
        if row["doc_id"] == old:
            row["doc_id"] = b"stranger" * 2


def in_two_shards() -> Callable[[Tables], Tables]:
    """The second shard claims the first one's first document."""
    first: list[bytes] = []

    def tamper(tables: Tables) -> Tables:
        if "spans" not in tables or len(first) > 1:
            return tables
        rows = tables["spans"].to_pylist()
        first.append(rows[0]["doc_id"])
        if len(first) == 2:
            rows[0]["doc_id"] = first[0]
        return {"spans": pa.Table.from_pylist(rows, tables["spans"].schema)}

    return tamper


@pytest.mark.parametrize(
    ("tamper", "sentence"),
    [
        (lose_a_row("decisions"), "records without exactly one decision"),
        (lose_a_row("records"), "records without exactly one decision"),
        (repeat_a_row("decisions"), "records without exactly one decision"),
        (rewrite("decisions", drop_silently), "dropped records without a stage or a reason"),
        (rewrite("decisions", unkeep), "documents in a shard but not kept"),
        (rewrite("decisions", keep_too_many), "documents kept but in no shard"),
        (rewrite("decisions", other_tier), "of another domain or tier than decided"),
        (rewrite("spans", stranger), "documents in a shard but not kept"),
        (rewrite("spans", stranger, of=2), "documents kept but in no shard"),
        (in_two_shards(), "documents in more than one shard"),
        (lose_a_row("final_text"), "kept documents without exactly one final text"),
        (repeat_a_row("final_text"), "kept documents without exactly one final text"),
    ],
)
def test_tables_that_contradict_each_other_are_found(
    tmp_path: Path, tamper: Callable[[Tables], Tables], sentence: str
) -> None:
    found = problems(build(tmp_path, tamper=tamper))
    assert any(sentence in p.problem for p in found if p.check == "conservation"), found


def test_a_record_without_text_that_is_kept_is_found(tmp_path: Path) -> None:
    def revive(rows: list[dict[str, Any]]) -> None:
        next(row for row in rows if row["reason"] == "empty_page")["kept"] = True

    found = problems(build(tmp_path, tamper=rewrite("decisions", revive)))
    assert any("records without text that are kept" in problem.problem for problem in found)


def test_a_capture_kept_twice_is_found(tmp_path: Path) -> None:
    def keep_both(tables: Tables) -> Tables:
        rows = tables.get("decisions", pa.table({})).to_pylist()
        for row in rows:
            if row["reason"] == "same_capture":
                row |= {"kept": True, "stage": None, "reason": None, "tier": "high"}
        return tables | {"decisions": pa.Table.from_pylist(rows, DECISIONS)} if rows else tables

    found = problems(build(tmp_path, tamper=keep_both))
    assert any("1 documents kept more than once" in problem.problem for problem in found)


def test_row_counts_and_totals_are_compared_with_the_registry(own_corpus: Corpus) -> None:
    with own_corpus.registry.database.write() as connection:
        connection.exec_driver_sql("UPDATE versions SET tokens = tokens + 1")
        connection.exec_driver_sql("UPDATE version_lineage SET rows = rows + 1 WHERE id = 1")
        connection.exec_driver_sql("UPDATE version_shards SET documents = 99 WHERE tier = 'low'")
        connection.exec_driver_sql("DELETE FROM version_lineage WHERE id = (SELECT max(id) FROM version_lineage)")  # fmt: skip
    sentences = " | ".join(problem.problem for problem in problems(own_corpus))
    assert "tokens, the version records" in sentences
    assert "rows, " in sentences
    assert "describes shard" in sentences
    assert "registered differently" in sentences


@pytest.fixture
def shard(own_corpus: Corpus) -> ShardRow:
    return own_corpus.registry.version_shards("v1")[0]


def sentences(corpus: Corpus, shard: ShardRow, **files: bytes) -> str:
    """What `check_shard` says when some of a shard's files are others, rightly hashed."""
    for kind, data in files.items():
        path, _, _ = _write(corpus.home / "store", "artifacts/shards", data)
        changes: dict[str, Any] = {f"{kind}_path": path}
        shard = dataclasses.replace(shard, **changes)
    manifest = load_manifest(corpus.store, corpus.registry.version("v1"))
    return " | ".join(check_shard(corpus.store, shard, manifest))


def test_tokens_that_are_not_as_the_spans_say_are_found(
    own_corpus: Corpus, shard: ShardRow
) -> None:
    data = own_corpus.store.read(shard.bin_path)
    tokens = np.frombuffer(data, "<i4").copy()
    pad = load_manifest(own_corpus.store, own_corpus.registry.version("v1")).tokenizer.pad_id
    place = int(np.flatnonzero(tokens == pad)[0])
    assert sentences(own_corpus, shard) == ""
    assert "needs" not in sentences(own_corpus, shard, bin=data)
    assert "samples need" in sentences(own_corpus, shard, bin=data[:-4])
    for value, said in ((999_999, "outside the vocabulary"), (5, "are not padding")):
        changed = tokens.copy()
        changed[place] = value
        assert said in sentences(own_corpus, shard, bin=changed.tobytes())
    changed = np.where(tokens == 0, 5, tokens).astype("<i4")  # token 0 ends documents
    assert f"{counted(shard.documents, 'document')} do not end" in sentences(
        own_corpus, shard, bin=changed.tobytes()
    )


def test_blocks_of_a_large_shard_are_read_one_by_one(
    own_corpus: Corpus, shard: ShardRow, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens = np.frombuffer(own_corpus.store.read(shard.bin_path), "<i4").copy()
    wrong = tokens.copy()
    wrong[tokens == 0] = 5
    for block in (1, 7, SEQ_LEN, 10_000):
        monkeypatch.setattr("catalog.verify.shard_files.BLOCK_TOKENS", block)
        assert sentences(own_corpus, shard) == ""
        assert f"{counted(shard.documents, 'document')} do not end" in sentences(
            own_corpus, shard, bin=wrong.tobytes()
        )


def test_an_index_that_does_not_fit_is_found(own_corpus: Corpus, shard: ShardRow) -> None:
    data = own_corpus.store.read(shard.idx_path)
    index = parse_index(data, "x")
    n, m = len(index.lengths), len(index.documents)

    def changed(at: int, value: int, width: int) -> bytes:
        return data[:at] + value.to_bytes(width, "little") + data[at + width :]

    lengths, pointers, bounds = HEAD.size, HEAD.size + 4 * n, HEAD.size + 12 * n
    for idx, said in (
        (changed(lengths, 1, 4), "the index and the spans disagree"),
        (changed(pointers, 4, 8), "the index and the spans disagree"),
        (changed(bounds, 1, 8), "do not divide"),
        (changed(bounds + 8 * (m - 1), n - 1, 8), "do not divide"),
        (changed(bounds + 8, int(index.documents[1]) + 1, 8), "where documents begin"),
        (data[:-1], "its header promises"),
        (b"", "too few"),
        (b"X" + data[1:], "not an MMIDIDX"),
        (changed(17, 5, 1), "token type 5"),
        (changed(17, 8, 1), "says that tokens are uint16, the manifest int32"),
    ):
        assert said in sentences(own_corpus, shard, idx=idx), said


def spans_with(corpus: Corpus, shard: ShardRow, change: Callable[[list[Any]], None]) -> str:
    import pyarrow.parquet as pq

    table = pq.read_table(corpus.home / "store" / shard.spans_path)
    rows = table.to_pylist()
    change(rows)
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(rows, table.schema), sink)
    return sentences(corpus, shard, spans=sink.getvalue().to_pybytes())


def test_spans_that_make_no_sense_are_found(own_corpus: Corpus, shard: ShardRow) -> None:
    def set_(row: int, name: str, value: int) -> Callable[[list[Any]], None]:
        return lambda rows: rows[row].__setitem__(name, value)

    def longer(rows: list[Any]) -> None:
        row = next(r for r in rows if r["offset"] + r["length"] < SEQ_LEN)
        row["length"] += 1

    for change, said in (
        (set_(0, "sample", -1), "reach outside"),
        (set_(0, "sample", 10_000), "reach outside"),
        (set_(0, "offset", -1), "reach outside"),
        (set_(0, "length", 0), "reach outside"),
        (set_(0, "length", SEQ_LEN + 1), "reach outside"),
        (set_(-1, "doc_token_offset", 7), "leave a gap or repeat"),
        (longer, "overlap" if shard.documents > 1 else "tokens"),
        (lambda rows: rows.pop(), "spans cover"),
        (lambda rows: rows.append(dict(rows[0])), "overlap"),
    ):
        assert said in spans_with(own_corpus, shard, change), said
    assert "not a readable Parquet" in sentences(own_corpus, shard, spans=b"PAR1 no PAR1")


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"format": "other/9"}', b"\xff"])
def test_a_manifest_of_another_form_is_refused(own_corpus: Corpus, data: bytes) -> None:
    path = own_corpus.home / "store" / "versions" / "other" / "manifest.json"
    path.parent.mkdir()
    path.write_bytes(data)
    row = dataclasses.replace(
        own_corpus.registry.version("v1"),
        manifest_path="versions/other/manifest.json",
        manifest_sha256=hashlib.sha256(data).hexdigest(),
    )
    with pytest.raises(StoreFileError, match=r"versions/other/manifest\.json"):
        load_manifest(own_corpus.store, row)
