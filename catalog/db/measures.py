"""Gates and metrics of snapshots and versions, inside a transaction of the caller."""

from collections.abc import Sequence
from dataclasses import asdict

from sqlalchemy import Connection, delete, insert, select

from catalog.db import versions
from catalog.db.models import Gate, Metric
from catalog.db.rows import GateRow, MetricRow


def put_gate(connection: Connection, gate: GateRow, now: str) -> None:
    """Record how a release condition came out; the last outcome stands."""
    versions.one(connection, gate.version)
    connection.execute(delete(Gate).where(Gate.version == gate.version, Gate.name == gate.name))
    values = asdict(gate) | {"created_at": gate.created_at or now}
    connection.execute(insert(Gate).values(**values))


def gates(connection: Connection, version: str) -> list[GateRow]:
    """Release conditions of a version."""
    found = connection.execute(select(Gate).where(Gate.version == version).order_by(Gate.name))
    return [
        GateRow(r.version, r.name, r.passed, r.value, r.threshold, r.detail, r.created_at)
        for r in found
    ]


def add(connection: Connection, rows: Sequence[MetricRow], now: str) -> None:
    """Write metrics; the last value of a (name, snapshot, version) stands."""
    final = {(row.name, row.snapshot, row.version): row for row in rows}
    for name, snapshot, version in final:
        connection.execute(
            delete(Metric).where(
                Metric.name == name,
                Metric.snapshot.is_not_distinct_from(snapshot),
                Metric.version.is_not_distinct_from(version),
            )
        )
    if final:
        connection.execute(
            insert(Metric), [asdict(row) | {"created_at": now} for row in final.values()]
        )


def listed(
    connection: Connection, name: str | None, snapshot: str | None, version: str | None
) -> list[MetricRow]:
    """Metrics by name, snapshot and version; what is left out is not asked for."""
    wanted = select(Metric).order_by(Metric.name, Metric.snapshot, Metric.version)
    if name is not None:
        wanted = wanted.where(Metric.name == name)
    if snapshot is not None:
        wanted = wanted.where(Metric.snapshot == snapshot)
    if version is not None:
        wanted = wanted.where(Metric.version == version)
    found = connection.execute(wanted)
    return [MetricRow(r.name, r.value, r.snapshot, r.version) for r in found]
