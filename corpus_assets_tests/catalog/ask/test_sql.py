"""`catalog sql` shows everything and changes nothing."""

import dataclasses
import hashlib
import re
import uuid
from pathlib import Path
from typing import Any

import duckdb
import fsspec
import pytest

from catalog.ask.sql import run_query
from catalog.cli import commands as cli
from catalog.db.registry import Registry
from catalog.db.rows import GateRow, LockRow, RecipeRow, VersionRow
from catalog.errors import QueryRefused
from catalog.formats.lineage_tables import LINEAGE_TABLES
from catalog.formats.store import FileStore
from catalog.lineage.tables import Lineage
from corpus_assets_tests.catalog.corpus import Corpus, Doc, build


def ask(corpus: Corpus, sql: str, limit: int = 1000) -> list[list[object]]:
    answer = run_query(corpus.registry, corpus.store, "v1", sql, limit)
    rows: list[list[object]] = answer.rows
    return rows


def digest(folder: Path) -> dict[str, str]:
    return {
        str(file): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and not file.name.endswith(("-wal", "-shm"))
    }


def test_lineage_and_registry_are_one_database(corpus: Corpus) -> None:
    rows = ask(
        corpus,
        "SELECT s.source, count(*) FROM decisions d JOIN snapshots s ON s.name = d.snapshot "
        "WHERE kept GROUP BY ALL",
    )
    assert rows == [["crawl", len(corpus.kept())]]
    assert ask(corpus, "WITH a AS (SELECT * FROM versions) SELECT name FROM a")[0] == ["v1"]
    tables = {row[0] for row in ask(corpus, "SHOW TABLES")}
    assert {*LINEAGE_TABLES, "artifacts", "version_shards", "leases"} <= tables
    assert ["doc_id", "VARCHAR"] in [row[:2] for row in ask(corpus, "DESCRIBE records")]


@pytest.mark.parametrize(
    ("sql", "tables"),
    [
        ("SELECT 1", set()),
        ("SHOW TABLES", set()),
        ("SELECT count(*) FROM versions", set()),
        ("SELECT kind, count(*) FROM lines GROUP BY 1", {"documents"}),
        (
            'SELECT count(*) FROM "Records" JOIN raw.documents USING (doc_id)',
            {"records", "documents"},
        ),
        ("FROM cluster_members", {"cluster_members", "decisions"}),
        ("SELECT count(*) FROM information_schema.columns", set(LINEAGE_TABLES)),
    ],
)
def test_a_query_opens_the_files_of_the_tables_it_names(
    corpus: Corpus, monkeypatch: pytest.MonkeyPatch, sql: str, tables: set[str]
) -> None:
    opened: set[str] = set()
    scan = Lineage.scan

    def noted(lineage: Lineage, table: str, *rest: Any, **named: Any) -> str:
        opened.add(table)
        return scan(lineage, table, *rest, **named)

    monkeypatch.setattr(Lineage, "scan", noted)
    assert ask(corpus, sql)
    assert opened == tables


COUNTS = (
    "SELECT count(*) FROM {table}",
    "SELECT count(*) AS n FROM {table} AS t WHERE t.snapshot IN ('WEB-2024-10', 'WEB-2024-18')",
    "SELECT snapshot, count(*) AS n FROM {table} GROUP BY 1 HAVING count(*) > 1 ORDER BY n, 1",
    "SELECT {unit}, count(*) FROM {table} WHERE {table}.snapshot = 'WEB-2024-10' GROUP BY ALL ORDER BY 1",
    "SELECT count(*) FROM {table} WHERE snapshot = 'none'",
    "SELECT snapshot FROM {table} GROUP BY snapshot, {unit} ORDER BY count(*), snapshot",
)
NOT_COUNTS = (
    "SELECT count(*) FILTER (doc_id < '7') FROM {table}",
    "SELECT count(*) FROM {table} WHERE doc_id < '7' AND snapshot = 'WEB-2024-10'",
    "SELECT count(DISTINCT snapshot), count(*) FROM {table}",
    "SELECT count(*) AS doc_id FROM {table} WHERE doc_id < '7' ORDER BY doc_id",
    "SELECT count(*) FROM {table} WHERE snapshot = 'WEB-2024-10' OR doc_id < '7'",
    "SELECT count(*) FROM {table} WHERE snapshot LIKE 'W%'",
    "SELECT count(*) FROM {table} AS a, {table} AS b WHERE a.snapshot = 'WEB-2024-10'",
    "WITH {table} AS (SELECT 'WEB-2024-10' AS snapshot) SELECT count(*) FROM {table}",
    "SELECT count(*) FROM (SELECT * FROM {table} LIMIT 3)",
)


@pytest.mark.parametrize("table", sorted(LINEAGE_TABLES.keys() - {"cluster_members"}))
def test_counts_come_from_the_registry_and_equal_those_of_the_rows(
    corpus: Corpus, monkeypatch: pytest.MonkeyPatch, table: str
) -> None:
    unit = "shard" if table == "spans" else "part"
    asked = [sql.format(table=table, unit=unit) for sql in (*COUNTS, *NOT_COUNTS)]
    quick = [run_query(corpus.registry, corpus.store, "v1", sql, 1000) for sql in asked]
    scans: list[str] = []
    scan = Lineage.scan

    def noted(lineage: Lineage, table: str, *rest: Any, **named: Any) -> str:
        scans.append(table)
        return scan(lineage, table, *rest, **named)

    with monkeypatch.context() as patch:
        patch.setattr(Lineage, "scan", noted)
        for sql in asked[: len(COUNTS)]:
            ask(corpus, sql)
        assert scans == []
        for number, sql in enumerate(asked[len(COUNTS) :], 1):
            ask(corpus, sql)
            assert len(scans) >= number
    monkeypatch.setattr("catalog.ask.sql.OneTable.of", lambda tree: None)
    slow = [run_query(corpus.registry, corpus.store, "v1", sql, 1000) for sql in asked]
    assert quick == slow
    assert slow[0].rows[0][0] > 0


def test_a_query_about_a_snapshot_opens_no_file_of_another(own_corpus: Corpus) -> None:
    names = [row[0] for row in ask(own_corpus, "SELECT name FROM snapshots ORDER BY 1")]
    assert len(names) > 1
    for row in own_corpus.registry.lineage_files("v1", "decisions"):
        if row.snapshot != names[0]:
            (Path(own_corpus.store.url) / row.path).write_bytes(b"damaged")
    sql = "SELECT doc_id FROM decisions WHERE snapshot = '{}'"
    assert ask(own_corpus, sql.format(names[0]))
    with pytest.raises((QueryRefused, duckdb.Error), match="Parquet"):
        ask(own_corpus, sql.format(names[1]))


def test_ids_are_hex_for_people_and_bytes_for_speed(corpus: Corpus) -> None:
    doc = corpus.kept()[3]
    name = doc.doc_id.hex()
    by_hex = ask(corpus, f"SELECT url FROM records WHERE doc_id = '{name}'")
    by_bytes = ask(corpus, f"SELECT url FROM raw.records WHERE doc_id = unhex('{name}')")
    assert by_hex == by_bytes == [[doc.url]]


def test_lines_are_shown_with_what_they_are(tmp_path: Path) -> None:
    known = Doc("A", 0, 7, "http://a.example/", "Bread\n\n- flour", line_kinds=[3, 1, 9])
    unknown = Doc("A", 1, 9, "http://b.example/", "one\n \ntwo")
    corpus = build(tmp_path, docs=[known, unknown])
    shown = ask(
        corpus, 'SELECT doc_id, part, "offset", line, kind, text FROM lines ORDER BY part, line'
    )
    assert shown == [
        [known.doc_id.hex(), 0, 7, 1, "heading_1", "Bread"],
        [known.doc_id.hex(), 0, 7, 3, "list_item", "- flour"],
        [unknown.doc_id.hex(), 1, 9, 1, "unknown", "one"],
        [unknown.doc_id.hex(), 1, 9, 3, "unknown", "two"],
    ]


def test_a_cluster_lists_the_kept_document_of_an_earlier_snapshot(tmp_path: Path) -> None:
    docs = [
        Doc("A", 0, 0, "http://a.example/", "a text that others copy word for word"),
        Doc("B", 0, 1, "http://c.example/", "a text that others copy line by line", cluster="c"),
        Doc("B", 1, 2, "http://d.example/", "a text that many copy line by line", cluster="c"),
        Doc("B", 1, 3, "http://e.example/", "a text that nobody ever thought to copy"),
    ]
    for doc in docs[1:3]:
        doc.kept, doc.stage, doc.reason = False, "clusters", "near_duplicate"

    def join(tables: dict[str, Any]) -> dict[str, Any]:
        """As with scope `all`: later copies name the document that had none in its snapshot."""
        table = tables.get("cluster_members")
        if table is None:
            return tables
        rows = [row | {"kept_doc_id": docs[0].doc_id, "kept": False} for row in table.to_pylist()]
        return {"cluster_members": table.from_pylist(rows, table.schema)}

    corpus = build(tmp_path, docs=docs, tamper=join)
    members = "FROM cluster_members m JOIN records d ON d.doc_id = m.doc_id"
    assert ask(corpus, f"SELECT d.url, m.snapshot, m.kind {members} WHERE m.kept") == [
        ["http://a.example/", "A", "first"]
    ]
    assert len(ask(corpus, "FROM cluster_members")) == 3
    assert len(ask(corpus, "FROM raw.cluster_members")) == 2


def test_the_help_of_sql_gives_queries_that_join_on_the_key(corpus: Corpus) -> None:
    told = cli.sql.callback.__doc__ or ""  # type: ignore[union-attr]
    query = re.search(r'"(SELECT d\.url.*?)"', told, re.DOTALL)
    assert query is not None
    dropped = [doc for doc in corpus.docs if doc.reason == "near_duplicate"]
    assert {row[0] for row in ask(corpus, query[1])} >= {doc.url for doc in dropped}


def test_spans_know_their_shard_and_final_texts_their_part(corpus: Corpus) -> None:
    rows = ask(
        corpus,
        "SELECT v.group_id || '/' || v.shard, v.tokens, sum(s.length) FROM spans s "
        "JOIN version_shards v ON s.shard = v.group_id || '/' || v.shard "
        "WHERE v.version = 'v1' GROUP BY ALL",
    )
    assert len(rows) == len(corpus.registry.version_shards("v1"))
    assert all(row[1] == row[2] for row in rows)
    assert ask(corpus, "SELECT count(*) FROM final_text f JOIN decisions d USING (doc_id, part) WHERE kept") == [[len(corpus.kept())]]  # fmt: skip


def test_a_long_answer_is_cut_and_says_so(corpus: Corpus) -> None:
    answer = run_query(corpus.registry, corpus.store, "v1", "SELECT * FROM range(100)", 7)
    assert len(answer.rows) == 7
    assert answer.truncated


REFUSED = [
    "COPY documents TO '{out}'",
    "COPY (SELECT 1) TO '{lineage}'",
    "WITH a AS (COPY (SELECT 1) TO '{lineage}' (USE_TMP_FILE false)) SELECT * FROM a",
    "SELECT * FROM (WITH a AS (COPY (SELECT 1) TO '{out}') SELECT * FROM a)",
    "WITH a AS (INSERT INTO versions VALUES (1) RETURNING *) SELECT * FROM a",
    "WITH a AS (DELETE FROM versions RETURNING *) SELECT * FROM a",
    "ATTACH '{out}'",
    "ATTACH '{catalog}' AS registry (TYPE sqlite)",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET enable_external_access = true",
    "PRAGMA database_list",
    "CREATE TABLE t AS SELECT 1",
    "DROP VIEW documents",
    "EXPORT DATABASE '{out}'",
    "CALL pragma_version()",
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT (SELECT content FROM read_text('/etc/passwd'))",
    "SELECT * FROM READ_BLOB('{lineage}')",
    "SELECT * FROM glob('/etc/*')",
    "SELECT * FROM '/etc/passwd'",
    "SELECT * FROM '/etc/passwd.csv'",
    "SELECT * FROM query('SELECT 1')",
    "SELECT * FROM query_table('documents')",
    "SELECT * FROM json_execute_serialized_sql('{{}}')",
    "SELECT * FROM duckdb_secrets()",
    "SELECT 1; SELECT 2",
    "SELECT 1; DROP VIEW documents",
    "EXPLAIN ANALYZE COPY (SELECT 1) TO '{out}'",
    "",
    "not sql at all",
    "SELECT * FROM no_such_table",
    "SELECT tables",
]


@pytest.fixture(scope="module")
def victim(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return build(tmp_path_factory.mktemp("victim"))


@pytest.mark.parametrize("sql", REFUSED)
def test_whatever_is_not_reading_our_own_tables_is_refused(
    victim: Corpus, tmp_path: Path, sql: str
) -> None:
    lineage = victim.store.address(victim.registry.lineage_files("v1")[0].path)
    out = tmp_path / "out"
    before = digest(victim.home)
    with pytest.raises(QueryRefused):
        ask(victim, sql.format(out=out, lineage=lineage, catalog=victim.home / "catalog.db"))
    assert not out.exists()
    assert digest(victim.home) == before


def test_the_engine_itself_refuses_files_should_the_parser_be_fooled(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("catalog.ask.sql.check_query", lambda *_: None)
    (tmp_path / "secret.csv").write_text("secret\n1\n")
    for sql in (
        f"SELECT * FROM read_csv('{tmp_path / 'secret.csv'}')",
        f"SELECT * FROM '{tmp_path / 'secret.csv'}'",
        f"COPY (SELECT 1) TO '{tmp_path / 'out.csv'}'",
        f"ATTACH '{tmp_path / 'out.db'}'",
        "SET enable_external_access = true",
        "DELETE FROM versions",
    ):
        with pytest.raises(QueryRefused):
            ask(corpus, sql)
    assert [file.name for file in tmp_path.iterdir()] == ["secret.csv"]


def test_variables_of_the_program_are_not_tables(corpus: Corpus) -> None:
    import pyarrow as pa

    secret = pa.table({"a": [1]})
    assert secret.num_rows == 1
    with pytest.raises(QueryRefused, match="secret does not exist"):
        ask(corpus, "SELECT * FROM secret")


def test_a_remote_store_is_queried_under_the_same_rules(corpus: Corpus) -> None:
    memory = fsspec.filesystem("memory")
    bucket = f"/bucket-{uuid.uuid4().hex}"
    memory.put(str(corpus.home / "store"), bucket, recursive=True)
    memory.pipe(f"{bucket}/other.csv", b"a\n1\n")
    remote = dataclasses.replace(corpus, store=FileStore(f"memory:/{bucket}"))
    query = "SELECT count(*) FROM documents JOIN spans USING (doc_id)"
    assert ask(remote, query) == ask(corpus, query)
    with pytest.raises(QueryRefused):
        ask(remote, f"SELECT * FROM 'memory:/{bucket}/other.csv'")
    memory.rm(bucket, recursive=True)


def test_either_database_can_be_asked(registry: Registry, tmp_path: Path) -> None:
    registry.put_recipe(RecipeRow("r", "demo", "name: demo"))
    registry.put_lock(LockRow("l", "{}"))
    registry.publish_version(VersionRow("v1", "l", "r", "m.json", "aa", 1, 2, 3), [], [])
    registry.put_gate(GateRow("v1", "loss", True, 0.5, None, {"seeds": [1]}))
    answer = run_query(
        registry,
        FileStore(tmp_path),
        None,
        "SELECT v.name, passed, value, threshold, detail FROM versions v JOIN gates g "
        "ON g.version = v.name",
        5,
    )
    assert answer.rows == [["v1", True, 0.5, None, '{"seeds": [1]}']]
