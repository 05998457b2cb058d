"""Documents that came and went between two versions, counted once, while the page is shown already.

Versions without a common lineage file are compared record by record, which takes many seconds with
tens of millions of documents.
"""

import os
import threading
import time
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor, wait

import duckdb

from catalog.ask import Moved, diff_documents
from catalog.db import Registry, VersionRow
from catalog.formats.store import FileStore
from catalog.lineage import Lineage, QueryLimits

WAIT_S = 0.5  # a page waits so long for an answer
KEPT = 64
COUNTING_THREADS = max(1, (os.cpu_count() or 1) // 2)  # pages want the others


class Differences:
    """The answers asked for last; one is counted at a time."""

    def __init__(self, registry: Registry, store: FileStore) -> None:
        self._registry, self._store = registry, store
        self._asked: OrderedDict[tuple[VersionRow, VersionRow], Future[Moved]] = OrderedDict()
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(1, "difference")
        self._running: duckdb.DuckDBPyConnection | None = None

    def documents(self, before: str, after: str) -> Moved | None:
        """Return what `diff_documents` does; None while it is being counted."""
        key = self._registry.version(before), self._registry.version(after)
        with self._lock:
            found = self._asked.pop(key, None)
            if found is None:
                found = self._pool.submit(self._count, before, after)
            self._asked[key] = found
            while len(self._asked) > KEPT:
                self._asked.popitem(last=False)[1].cancel()
        wait([found], WAIT_S)
        if not found.done() or found.cancelled():
            return None
        if found.exception() is not None:  # to be tried again by whoever asks next
            with self._lock:
                self._asked.pop(key, None)
        return found.result()

    def _count(self, before: str, after: str) -> Moved:
        with (
            Lineage(self._registry, self._store, before, QueryLimits.of_environment()) as old,
            Lineage(self._registry, self._store, after) as new,
        ):
            self._running = old.connection
            try:
                old.connection.execute(f"SET threads = {COUNTING_THREADS}")
                return diff_documents(old, new)
            finally:
                self._running = None

    def close(self) -> None:
        """Cancel the counts in progress, which no page waits for any more."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            asked = list(self._asked.values())
        while not all(each.done() for each in asked):
            if (running := self._running) is not None:  # else it is about to begin
                running.interrupt()
            time.sleep(0.02)
