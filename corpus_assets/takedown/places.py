"""What a file of a home is, and what to do about one that holds a removed text.

A database, a pinned source, a file of a live version or one of the store's own records is never to
be deleted: the words in it are named instead, by table and row where it is a database.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from catalog.db import Registry
from catalog.figures import counted
from corpus_assets.core.store import LocalStore, Store
from corpus_assets.takedown.contents import quoted

DELETE = "delete it"
SOURCE = "an original source file, which is not part of the corpus"
MAX_NAMED = 3
RECORDS = {
    "artifacts": "a stage's result: `corpus gc` deletes it once no live version uses it",
    "certificates": "a certificate, which is never deleted: withdraw the words that quote the text",
    "evidence": "a held-out set or a plan: plan the comparison without the document, then `corpus gc`",
    "order_book": "an entry of the order book, which is never deleted",
    "imports": "imported annotations: import them again without the document",
    "sources": "a copy of a file that a recipe names: remove the text from that file and rebuild",
    "takedowns": "a takedown's note, which the run deletes when it ends",
    "versions": "a file of a version that is not live: `corpus gc` deletes it",
}
"""By folder of the store."""


@dataclass(frozen=True)
class StoredValue:
    """A text in a row of a database."""

    table: str
    row: int | None
    column: str
    text: str
    others: dict[str, str] = field(default_factory=dict)  # the row's short columns, by name

    def __str__(self) -> str:
        where = f"row {self.row}" if self.row is not None else "a row"
        return f"table {self.table}, {where}, column {self.column}"


@dataclass(frozen=True)
class Places:
    """Where the home's own records lie; nothing is known without a home."""

    store: str | None = None  # how names of its files begin
    catalog: str | None = None
    live: frozenset[str] = frozenset()
    used: frozenset[str] = frozenset()  # files of the store that live versions name

    @classmethod
    def of(cls, home: Path, store: Store, registry: Registry) -> "Places":
        """Return those of a home."""

        def name(path: Path) -> str:
            inside = path.is_relative_to(home)
            return path.relative_to(home).as_posix() if inside else str(path)

        file = registry.database.file
        live = [row.name for row in registry.versions() if row.status == "live"]
        return cls(
            name(store.root.resolve()) if isinstance(store, LocalStore) else store.url,
            name(file.resolve()) if file is not None else None,
            frozenset(live),
            frozenset(row.path for one in live for row in registry.lineage_files(one)),
        )

    def is_pinned(self, name: str) -> bool:
        """Say whether a file is a calibration, of a live version or of a lock, or a copy of a file
        that a recipe names: known by its digest, whatever its format."""
        pinned = [f"versions/{version}/calibrations/" for version in self.live]
        return self.store is not None and name.startswith(
            tuple(f"{self.store}/{folder}" for folder in (*pinned, "pins/", "sources/files/"))
        )

    def to_do(self, name: str, is_source: bool, values: Sequence[StoredValue] = ()) -> str:
        """Say what to do about a file that holds a removed text; `values` are where, in a
        database."""
        if is_source:
            return SOURCE
        if self.catalog is not None and name.removesuffix("-wal").removesuffix("-journal") == (
            self.catalog
        ):
            return _in_database("the registry, which is never deleted", values)
        if name.startswith("dagster/"):
            return _in_database("Dagster's records", values)
        if self.store is not None and name.startswith(f"{self.store}/"):
            return self._in_store(name.removeprefix(f"{self.store}/"))
        return DELETE

    def _in_store(self, path: str) -> str:
        folder, _, rest = path.partition("/")
        version = rest.partition("/")[0]
        if path in self.used or (folder == "versions" and version in self.live):
            return (
                "a file of a live version, which is never deleted: ask for its copy to be removed "
                "too (`catalog takedown request --near-duplicates`)"
            )
        return RECORDS.get(folder, DELETE if not folder else "a record of the store: report this")


def _in_database(what: str, values: Sequence[StoredValue]) -> str:
    if not values:
        return (
            f"{what}: no row holds it any more, its free pages do: run VACUUM on it with "
            "secure_delete on"
        )
    named = "; ".join(f"{value}: {_how(value)}" for value in values[:MAX_NAMED])
    more = len(values) - MAX_NAMED
    return f"{what}: remove the words, not the file: {named}" + (
        f"; and {counted(more, 'more row')}" if more > 0 else ""
    )


def _how(value: StoredValue) -> str:
    """Say how the words of a row are removed."""
    others = value.others
    if value.table == "judgements":
        return (
            f"a note of {others.get('judged_by', 'a reader')} on document "
            f"{others.get('doc_id', '')} of {others.get('version', '')}: judge that record again "
            "as the same person, without the quotation (`catalog serve --review`)"
        )
    if "run_id" in others:
        return f"delete that run (`dagster run delete {others['run_id']}`)"
    if value.table in ("takedown_requests", "gates", "metrics"):
        return "written by a person or a recipe: change those words there"
    return "change that value"


def stored_values(path: Path) -> Iterator[StoredValue]:
    """Yield every text of a SQLite file with its place; nothing for other files."""
    try:
        with path.open("rb") as stream:
            if not stream.read(16).startswith(b"SQLite format 3\0"):
                return
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=5)) as database:
            database.text_factory = lambda data: data.decode(errors="ignore")
            tables = "SELECT name, sql FROM sqlite_master WHERE type = 'table'"
            for table, sql in database.execute(tables).fetchall():
                numbered = "WITHOUT ROWID" not in (sql or "").upper()
                number = "rowid" if numbered else "NULL"
                query = f"SELECT {number}, * FROM {quoted(table)}"  # noqa: S608 - a table's name
                rows = database.execute(query)
                names = [column[0] for column in rows.description[1:]]
                for row, *values in rows:
                    pairs = dict(zip(names, values, strict=True))
                    texts = {k: v for k, v in pairs.items() if isinstance(v, str)}
                    others = {k: v for k, v in texts.items() if k in SHORT}
                    for column, text in texts.items():
                        yield StoredValue(table, row, column, text, others)
    except (OSError, sqlite3.Error):
        return


SHORT = ("run_id", "judged_by", "doc_id", "version")  # columns that tell whose a row is
