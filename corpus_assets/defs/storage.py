"""Dagster's records in SQLite files that stay open.

Dagster's own storage for one machine opens a database for every event, and makes one for every
run: of the demo build's minute, two thirds. Here all runs share one event log, and a process keeps
its connections. Homes whose `dagster.yaml` names no storage go on with Dagster's default.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from dagster._core.storage.base_storage import DagsterStorage
from dagster._core.storage.event_log import ConsolidatedSqliteEventLogStorage
from dagster._core.storage.runs import SqliteRunStorage
from dagster._core.storage.schedules import SqliteScheduleStorage
from dagster._core.storage.sqlite_storage import DagsterSqliteStorage
from dagster._serdes import ConfigurableClassData
from sqlalchemy import Connection, Engine, create_engine, event
from watchdog.events import PatternMatchingEventHandler

BUSY_TIMEOUT_S = 60


class PooledSqliteStorage(DagsterSqliteStorage):
    """Runs, events and schedules under `base_dir`."""

    def __init__(self, base_dir: str, inst_data: ConfigurableClassData | None = None) -> None:
        history = str(Path(base_dir, "history"))
        self.base_dir = base_dir
        self._inst_data = inst_data
        self._run_storage = _Runs.from_local(history)
        self._event_log_storage = _Events(history)  # type: ignore[assignment]
        self._schedule_storage = SqliteScheduleStorage.from_local(str(Path(base_dir, "schedules")))
        # The parent's `__init__` would make the files of its own storage.
        DagsterStorage.__init__(self)  # type: ignore[arg-type, no-untyped-call]

    @classmethod
    def from_config_value(
        cls, inst_data: ConfigurableClassData, config_value: Any
    ) -> "PooledSqliteStorage":
        return cls.from_local(inst_data=inst_data, **config_value)


class _Runs(SqliteRunStorage):
    @cached_property
    def _pool(self) -> Engine:
        return _pooled(self._conn_string)

    @contextmanager
    def connect(self) -> Iterator[Connection]:
        with self._pool.begin() as connection:
            yield connection

    def dispose(self) -> None:
        self._pool.dispose()


class _Events(ConsolidatedSqliteEventLogStorage):
    @cached_property
    def _pool(self) -> Engine:
        return _pooled(self._conn_string)

    @cached_property
    def _tables(self) -> set[str]:
        return set()  # that were seen: none is ever dropped

    @contextmanager
    def _connect(self) -> Iterator[Connection]:
        with self._pool.begin() as connection:
            yield connection

    def has_table(self, table_name: str) -> bool:
        if table_name not in self._tables and super().has_table(table_name):
            self._tables.add(table_name)
        return table_name in self._tables

    def watch(self, run_id: str, cursor: str | None, callback: Any) -> None:
        """Call back for every event: a page that shows a run follows it by this."""
        is_first = not self._obs
        super().watch(run_id, cursor, callback)  # type: ignore[no-untyped-call]
        if is_first:
            observer: Any = self._obs
            observer.schedule(_Commits(self), self._base_dir, recursive=True)

    def dispose(self) -> None:
        super().dispose()  # type: ignore[no-untyped-call]
        self._pool.dispose()


class _Commits(PatternMatchingEventHandler):
    """Writes of an event log: the parent looks at the database alone, and commits go to the file
    beside it."""

    def __init__(self, events: _Events) -> None:
        super().__init__(patterns=[f"{Path(events._base_dir)}/*.db-wal"])
        self._events = events

    def on_modified(self, _: object) -> None:
        self._events.on_modified()  # type: ignore[no-untyped-call]


def _pooled(url: str) -> Engine:
    engine = create_engine(url, connect_args={"timeout": BUSY_TIMEOUT_S}, max_overflow=-1)
    event.listen(engine, "connect", _prepare)
    return engine


def _prepare(connection: Any, _: object) -> None:
    """Let a commit wait for the disk at checkpoints only: after a power cut the file is whole, and
    may lack the last events."""
    connection.execute("PRAGMA synchronous=NORMAL")
