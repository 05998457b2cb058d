"""The fate of every record of a part: kept, or dropped by one stage for one reason.

Stages are asked in the order of the graph; the first that drops a record has the last word.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from corpus_assets.documents import DECISIONS


@dataclass(frozen=True)
class Drop:
    stage: str
    reason: str
    detail: str | None = None


def part_decisions(
    records: pa.Table,
    domain: str,
    selection: pa.Table,
    drops: Mapping[int, Drop],
) -> pa.Table:
    """DECISIONS for a part. `drops` maps a row of DOCUMENTS to the stage that dropped it.

    Records and documents are both ordered by (doc_id, offset), so the i-th record without a
    reason is row i of the part's DOCUMENTS.
    """
    languages = selection["language"].to_pylist()
    tiers = selection["tier"].to_pylist()
    failed = selection["failed_rules"].to_pylist()
    rows: list[dict[str, object]] = []
    document = 0
    names = ("doc_id", "snapshot", "part", "offset", "reason", "detail")
    for doc_id, snapshot, part, offset, reason, detail in zip(
        *(records[name].to_pylist() for name in names), strict=True
    ):
        row: dict[str, object] = {
            "doc_id": doc_id,
            "snapshot": snapshot,
            "part": part,
            "offset": offset,
            "domain": domain,
        }
        if reason is not None:
            row |= {"kept": False, "stage": "documents", "reason": reason, "detail": detail}
        else:
            drop = drops.get(document)
            row |= {
                "kept": drop is None,
                "language": languages[document],
                "tier": tiers[document],
                "failed_rules": failed[document],
            }
            if drop is not None:
                row |= {"stage": drop.stage, "reason": drop.reason, "detail": drop.detail}
            document += 1
        rows.append(row)
    return pa.Table.from_pylist(rows, schema=DECISIONS)
