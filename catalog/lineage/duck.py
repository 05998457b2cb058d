"""Queries by DuckDB over files of the store: the connection, its limits, and errors that say what
to do.
"""

import os
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Self

import duckdb

from catalog.db import process_name
from catalog.errors import LineageBroken, StoreFileError
from catalog.formats.store import FileStore
from catalog.lineage.limits import SPILL, QueryLimits

Row = dict[str, Any]


class DuckTables:
    """What queries over lineage share. Close it, or use it in a `with` statement.

    `whose` says in messages whose lineage it is, `advice` what to do about a damaged file.
    """

    store: FileStore
    whose: str
    advice: str
    limits: QueryLimits | None = None

    @cached_property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """A database in memory that may read the store's files and spill to the temp folder."""
        spill = os.path.join(tempfile.gettempdir(), SPILL + process_name())
        config: dict[str, Any] = {
            "python_enable_replacements": "false",
            "temp_directory": spill,
        }
        if self.limits is not None:
            config["memory_limit"] = f"{self.limits.rows_bytes}B"
        connection = duckdb.connect(":memory:", config=config)
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

    def query(self, sql: str, parameters: Sequence[Any] = (), most: int | None = None) -> list[Row]:
        """Run one of our own queries, within the limits if there are any; rows as dicts, ids as
        bytes, the first `most` where it is given."""
        try:
            with _interrupted(self.connection, self.limits):
                answer = self.connection.execute(sql, list(parameters))
                names = [column[0] for column in answer.description or ()]
                rows = answer.fetchall() if most is None else answer.fetchmany(most)
                return [dict(zip(names, row, strict=True)) for row in rows]
        except duckdb.IOException as error:
            raise StoreFileError(
                f"a lineage file of {self.whose} cannot be read: {first_line(error)}; {self.advice}"
            ) from error
        except duckdb.Error as error:
            raise LineageBroken(
                f"the lineage of {self.whose} cannot be queried: {first_line(error)}; {self.advice}"
            ) from error


@contextmanager
def _interrupted(
    connection: duckdb.DuckDBPyConnection, limits: QueryLimits | None
) -> Iterator[None]:
    """Stop what a connection does at the end of its time."""
    if limits is None:
        yield
        return
    is_late = threading.Event()

    def stop() -> None:
        is_late.set()
        connection.interrupt()

    timer = threading.Timer(limits.time_s, stop)
    timer.daemon = True
    timer.start()
    try:
        yield
    except duckdb.InterruptException as error:
        if is_late.is_set():
            raise limits.out_of_time() from error
        raise
    except duckdb.OutOfMemoryException as error:
        raise limits.out_of_memory() from error
    finally:
        timer.cancel()


def first_line(error: Exception) -> str:
    """Return the first line of a database's message; the rest draws the query."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
