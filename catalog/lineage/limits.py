"""How much memory and time a question may take: a query of `catalog sql`, the queries of a page."""

import os
from dataclasses import dataclass
from typing import Self

from catalog.errors import CatalogError, QueryRefused

SPILL = "catalog-duckdb-"  # folders of rows that did not fit into memory, one of each process
MEMORY, TIME = "CORPUS_SQL_MEMORY_GIB", "CORPUS_SQL_TIME_S"


@dataclass(frozen=True)
class QueryLimits:
    """Both are above 0."""

    memory_gib: float = 2.0
    time_s: float = 300.0

    @classmethod
    def of_environment(cls) -> Self:
        return cls(_number(MEMORY, cls.memory_gib), _number(TIME, cls.time_s))

    @property
    def memory_bytes(self) -> int:
        return int(self.memory_gib * (1 << 30))

    @property
    def rows_bytes(self) -> int:
        """Memory for DuckDB's rows, which spill to disk beyond it; the rest is for results."""
        return self.memory_bytes * 3 // 4

    def out_of_memory(self) -> QueryRefused:
        return QueryRefused(
            f"the query was stopped: it needs more than {self.memory_gib:g} GiB of memory; ask for "
            f"less of it, or set {MEMORY} to a larger number"
        )

    def out_of_time(self) -> QueryRefused:
        return QueryRefused(
            f"the query was stopped after {self.time_s:g} s; simplify it, or set {TIME} to a "
            "larger number"
        )


def _number(variable: str, default: float) -> float:
    written = os.environ.get(variable, "").strip()
    try:
        found = float(written or default)
    except ValueError:
        found = 0.0
    if not 0 < found < 1e9:
        raise CatalogError(f"{variable} is a number above 0, not {written!r}")
    return found
