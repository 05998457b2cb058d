"""Artifacts in the registry: bulk recording and listing, inside a transaction of the caller."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from catalog.db.models import Artifact, ArtifactInput, ArtifactOutput
from catalog.db.rows import ArtifactRow, InputRow, OutputRow
from catalog.db.suppressions import batches, by_kind
from catalog.errors import ContentDrift
from catalog.formats.store import relative_path

COLUMNS = (
    "stage",
    "fingerprint",
    "content_hash",
    "snapshot",
    "part",
    "documents_in",
    "documents_out",
    "bytes",
    "cpu_seconds",
    "created_at",
)


def record(connection: Connection, rows: Sequence[ArtifactRow], now: str) -> int:
    """Write what is new among `rows`; gives how many were.

    What was recorded before stays, but for `cpu_seconds`, which the first row that has one
    fills in. Equal parts (two empty ones, say) share a fingerprint: the first one recorded
    gives the row its snapshot and part.
    """
    fresh: dict[tuple[str, str], ArtifactRow] = {}
    for row in rows:
        for output in row.outputs:
            relative_path(output.path)
        key = (row.stage, row.fingerprint)
        known = fresh.setdefault(key, row)
        _refuse_drift(row, known.content_hash)
        if known.cpu_seconds is None and row.cpu_seconds is not None:
            fresh[key] = replace(known, cpu_seconds=row.cpu_seconds)
    timed = []
    for found in _existing(connection, list(fresh)):
        row = fresh.pop((found.stage, found.fingerprint))
        _refuse_drift(row, found.content_hash)
        if found.cpu_seconds is None and row.cpu_seconds is not None:
            timed.append({"artifact": found.id, "seconds": row.cpu_seconds})
    if timed:
        connection.execute(
            update(Artifact)
            .where(Artifact.id == bindparam("artifact"))
            .values(cpu_seconds=bindparam("seconds")),
            timed,
        )
    if fresh:
        _insert(connection, list(fresh.values()), now)
    return len(fresh)


def listed(connection: Connection, stage: str | None, snapshot: str | None) -> list[ArtifactRow]:
    """Artifacts by stage, snapshot, part, with their outputs and inputs."""
    wanted = select(Artifact).order_by(
        Artifact.stage, Artifact.snapshot, Artifact.part, Artifact.fingerprint
    )
    if stage is not None:
        wanted = wanted.where(Artifact.stage == stage)
    if snapshot is not None:
        wanted = wanted.where(Artifact.snapshot == snapshot)
    found = connection.execute(wanted).all()
    chosen = wanted.with_only_columns(Artifact.id).order_by(None)
    outputs: dict[int, list[OutputRow]] = {}
    for o in connection.execute(
        select(ArtifactOutput)
        .where(ArtifactOutput.artifact_id.in_(chosen))
        .order_by(ArtifactOutput.artifact_id, ArtifactOutput.name)
    ):
        outputs.setdefault(o.artifact_id, []).append(
            OutputRow(o.name, o.path, o.sha256, o.bytes, o.rows)
        )
    inputs: dict[int, list[InputRow]] = {}
    for i in connection.execute(
        select(ArtifactInput)
        .where(ArtifactInput.artifact_id.in_(chosen))
        .order_by(ArtifactInput.artifact_id, ArtifactInput.name)
    ):
        inputs.setdefault(i.artifact_id, []).append(InputRow(i.name, i.content_hash))
    return [
        ArtifactRow(
            **{name: getattr(row, name) for name in COLUMNS},
            outputs=tuple(outputs.get(row.id, ())),
            inputs=tuple(inputs.get(row.id, ())),
        )
        for row in found
    ]


def contents(connection: Connection, stage: str) -> dict[str, str]:
    """Content hashes of a stage's artifacts by fingerprint."""
    wanted = select(Artifact.fingerprint, Artifact.content_hash).where(Artifact.stage == stage)
    return {row.fingerprint: row.content_hash for row in connection.execute(wanted)}


def _existing(connection: Connection, keys: Sequence[tuple[str, str]]) -> Iterable[Any]:
    """Rows of those that are recorded; one stage at a time, so that SQLite uses the index."""
    for stage, fingerprints in by_kind(keys):
        for some in batches(fingerprints):
            yield from connection.execute(
                select(
                    Artifact.id,
                    Artifact.stage,
                    Artifact.fingerprint,
                    Artifact.content_hash,
                    Artifact.cpu_seconds,
                ).where(Artifact.stage == stage, Artifact.fingerprint.in_(some))
            ).all()


def _insert(connection: Connection, rows: list[ArtifactRow], now: str) -> None:
    values = [{name: getattr(row, name) for name in COLUMNS} for row in rows]
    for value in values:
        value["created_at"] = value["created_at"] or now
    numbers = connection.scalars(
        insert(Artifact).returning(Artifact.id, sort_by_parameter_order=True), values
    ).all()
    outputs = [
        {
            "artifact_id": number,
            "name": output.name,
            "path": output.path,
            "sha256": output.sha256,
            "bytes": output.bytes,
            "rows": output.rows,
        }
        for number, row in zip(numbers, rows, strict=True)
        for output in row.outputs
    ]
    inputs = [
        {"artifact_id": number, "name": item.name, "content_hash": item.content_hash}
        for number, row in zip(numbers, rows, strict=True)
        for item in row.inputs
    ]
    if outputs:
        connection.execute(insert(ArtifactOutput), outputs)
    if inputs:
        connection.execute(insert(ArtifactInput), inputs)


def _refuse_drift(row: ArtifactRow, known: str) -> None:
    if row.content_hash != known:
        raise ContentDrift(
            f"stage {row.stage} gave two results for one fingerprint {row.fingerprint}: content "
            f"{known} was recorded, {row.content_hash} comes now; the stage's code changed "
            "without its version, or is not deterministic: raise the stage's VERSION or fix it"
        )


def forget(connection: Connection, keys: Sequence[tuple[str, str]]) -> None:
    """Remove artifacts whose files are gone, with their inputs and outputs."""
    for batch in batches([row.id for row in _existing(connection, keys)]):
        for table in (ArtifactInput, ArtifactOutput):
            connection.execute(delete(table).where(table.artifact_id.in_(batch)))
        connection.execute(delete(Artifact).where(Artifact.id.in_(batch)))
