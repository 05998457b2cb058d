"""Conservation: records in = documents in shards + documents dropped."""

from collections.abc import Iterator
from dataclasses import dataclass

from catalog.figures import counted
from catalog.lineage import Lineage

EXAMPLES = 3


@dataclass(frozen=True)
class SnapshotCounts:
    """The two sides of the equation: records are kept or dropped, what is kept is in shards."""

    records: int
    kept: int
    dropped: int
    in_shards: int


def snapshot_counts(lineage: Lineage, snapshot: str) -> SnapshotCounts:
    """Return the two sides of the equation for one snapshot."""
    row = lineage.query(
        f"SELECT (SELECT count(*) FROM {lineage.scan('records', snapshot)}) AS records, "
        "count(*) FILTER (WHERE kept) AS kept, count(*) FILTER (WHERE NOT kept) AS dropped, "
        "(SELECT count(DISTINCT doc_id) "
        f"FROM {lineage.scan('spans', snapshot)}) AS in_shards "
        f"FROM {lineage.scan('decisions', snapshot)}"
    )[0]
    return SnapshotCounts(**{name: int(value) for name, value in row.items()})


def check_conservation(lineage: Lineage, snapshot: str) -> Iterator[str]:
    """Yield everything that breaks the equation, or the tables' agreement, a sentence each."""
    counts = snapshot_counts(lineage, snapshot)
    if counts.records != counts.kept + counts.dropped:
        yield (
            f"{counted(counts.records, 'record')}, but {counts.kept} kept + {counts.dropped} dropped"
        )
    if counts.kept != counts.in_shards:
        yield f"{counted(counts.kept, 'document')} kept, but {counts.in_shards} in shards"
    for sentence, query in _questions(lineage, snapshot):
        found = lineage.query(
            f"SELECT count(*) AS n, min(doc_id, {EXAMPLES}) AS some FROM ({query})"
        )[0]
        if found["n"]:
            some = ", ".join(doc_id.hex() for doc_id in found["some"])
            yield f"{found['n']} {sentence}: {some}{' ...' if found['n'] > EXAMPLES else ''}"


def _questions(lineage: Lineage, snapshot: str) -> list[tuple[str, str]]:
    """Return what must not exist, and the query that lists it."""
    records = lineage.scan("records", snapshot)
    decisions = lineage.scan("decisions", snapshot)
    spans = lineage.scan("spans", snapshot)
    final = lineage.scan("final_text", snapshot)
    kept = f"(SELECT doc_id, domain, tier FROM {decisions} WHERE kept)"
    group = "s.snapshot || '/' || k.domain || '/' || k.tier || '/'"
    columns = {row["column_name"] for row in lineage.query(f"DESCRIBE SELECT * FROM {final}")}
    labelled = "labels" in columns
    labels = "f.labels || CASE f.labels WHEN '' THEN '' ELSE '/' END || 'shard_'"
    return [
        (
            "records without exactly one decision, or decisions without a record",
            f"""SELECT doc_id FROM (
                SELECT doc_id, part, "offset", 1 AS r, 0 AS d FROM {records}
                UNION ALL SELECT doc_id, part, "offset", 0 AS r, 1 AS d FROM {decisions})
            GROUP BY doc_id, part, "offset" HAVING sum(r) <> 1 OR sum(d) <> 1""",
        ),
        (
            "dropped records without a stage or a reason",
            f"""SELECT doc_id FROM {decisions}
            WHERE NOT kept AND (stage IS NULL OR reason IS NULL OR reason = '')""",
        ),
        (
            "records without text that are kept",
            f"""SELECT r.doc_id FROM {records} AS r
            JOIN {decisions} AS d USING (doc_id, part, "offset")
            WHERE r.reason IS NOT NULL AND d.kept""",
        ),
        (
            "documents kept more than once",
            f"SELECT doc_id FROM {kept} GROUP BY doc_id HAVING count(*) > 1",
        ),
        (
            "documents kept but in no shard",
            f"SELECT doc_id FROM {kept} ANTI JOIN {spans} USING (doc_id)",
        ),
        (
            "documents in a shard but not kept",
            f"SELECT DISTINCT doc_id FROM {spans} ANTI JOIN {kept} USING (doc_id)",
        ),
        (
            "documents in more than one shard",
            f"SELECT doc_id FROM {spans} GROUP BY doc_id HAVING count(DISTINCT shard) > 1",
        ),
        (
            "documents in a shard of another domain or tier than decided",
            f"""SELECT DISTINCT s.doc_id FROM {spans} AS s JOIN {kept} AS k USING (doc_id)
            WHERE NOT coalesce(starts_with(s.shard, {group}), false)""",
        ),
        *(
            [
                (
                    "documents in a shard of other labels than decided",
                    f"""SELECT DISTINCT s.doc_id FROM {spans} AS s JOIN {kept} AS k USING (doc_id)
                    JOIN {final} AS f USING (doc_id)
                    WHERE NOT coalesce(starts_with(s.shard, {group} || {labels}), false)""",
                )
            ]
            if labelled
            else []
        ),
        (
            "kept documents without exactly one final text (or final texts of dropped ones)",
            f"""SELECT doc_id FROM (
                SELECT doc_id, 1 AS k, 0 AS f FROM {kept}
                UNION ALL SELECT doc_id, 0 AS k, 1 AS f FROM {final})
            GROUP BY doc_id HAVING sum(k) <> 1 OR sum(f) <> 1""",
        ),
    ]
