"""DuckDB over files of the store: one connection, opened when it is first asked for."""

import os
import tempfile
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Self

import duckdb

from catalog.errors import LineageBroken, StoreFileError
from catalog.files import Store
from catalog.processes import process_name

Row = dict[str, Any]
SPILL = "catalog-duckdb-"  # folders of rows that did not fit into memory, one of each process


class DuckTables:
    """What queries over lineage share. Close it, or use it in a `with` statement.

    `whose` says in messages whose lineage it is, `advice` what to do about a damaged file.
    """

    store: Store
    whose: str
    advice: str

    @cached_property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """A database in memory that may read the store's files and spill to the temp folder."""
        spill = os.path.join(tempfile.gettempdir(), SPILL + process_name())
        connection = duckdb.connect(
            ":memory:", config={"python_enable_replacements": "false", "temp_directory": spill}
        )
        if not self.store.is_local:
            connection.register_filesystem(self.store.filesystem)
        self._fill(connection)
        return connection

    def _fill(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Register the tables that queries count on."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connection, if there is one."""
        if "connection" in self.__dict__:
            self.connection.close()

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Run one of our own queries; rows as dicts, ids as bytes."""
        try:
            answer = self.connection.execute(sql, list(parameters))
            names = [column[0] for column in answer.description or ()]
            return [dict(zip(names, row, strict=True)) for row in answer.fetchall()]
        except duckdb.IOException as error:
            raise StoreFileError(
                f"a lineage file of {self.whose} cannot be read: {first_line(error)}; {self.advice}"
            ) from error
        except duckdb.Error as error:
            raise LineageBroken(
                f"the lineage of {self.whose} cannot be queried: {first_line(error)}; {self.advice}"
            ) from error


def first_line(error: Exception) -> str:
    """The first line of a database's message; the rest draws the query."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
