"""One fate for every record."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from corpus_assets.core.decisions import Drop, part_decisions
from corpus_assets.core.schemas import DECISIONS, RECORDS, SELECTION


def records(reasons: list[str | None]) -> pa.Table:
    return pa.Table.from_pylist(
        [
            {
                "doc_id": bytes([i]) * 16,
                "snapshot": "crawl-1",
                "part": 3,
                "offset": 100 * i,
                "reason": reason,
                "detail": None if reason is None else "404",
            }
            for i, reason in enumerate(reasons)
        ],
        schema=RECORDS,
    )


def selection(count: int) -> pa.Table:
    return pa.Table.from_pylist(
        [
            {"kept": True, "failed_rules": [], "language": f"l{i}", "tier": f"t{i}"}
            for i in range(count)
        ],
        schema=SELECTION,
    )


def test_a_record_that_gave_no_document_is_dropped_at_ingest() -> None:
    [row] = part_decisions(records(["http_status"]), "web", selection(0), {}).to_pylist()
    assert row == {
        "doc_id": bytes(16),
        "snapshot": "crawl-1",
        "part": 3,
        "offset": 0,
        "kept": False,
        "stage": "documents",
        "reason": "http_status",
        "detail": "404",
        "failed_rules": None,
        "domain": "web",
        "language": None,
        "tier": None,
    }


def test_documents_are_counted_past_the_records_without_text() -> None:
    drops = {1: Drop("clusters", "near_duplicate_text", "near of 00ff")}
    rows = part_decisions(
        records(["http_status", None, "too_large", None, None]), "web", selection(3), drops
    ).to_pylist()
    assert [row["kept"] for row in rows] == [False, True, False, False, True]
    assert [row["stage"] for row in rows] == ["documents", None, "documents", "clusters", None]
    assert [row["language"] for row in rows] == [None, "l0", None, "l1", "l2"]
    assert rows[3]["detail"] == "near of 00ff"
    assert rows[4]["reason"] is None


def test_a_dropped_document_keeps_the_rules_it_failed() -> None:
    chosen = selection(1).set_column(
        SELECTION.get_field_index("failed_rules"),
        "failed_rules",
        pa.array([["language", "n_words"]], pa.list_(pa.string())),
    )
    drops = {0: Drop("selection", "language")}
    [row] = part_decisions(records([None]), "web", chosen, drops).to_pylist()
    assert (row["stage"], row["reason"]) == ("selection", "language")
    assert row["failed_rules"] == ["language", "n_words"]


def test_a_part_without_records_has_no_fates() -> None:
    assert part_decisions(records([]), "web", selection(0), {}).equals(DECISIONS.empty_table())


@given(st.lists(st.sampled_from([None, "http_status", "no_text"])), st.data())
def test_every_record_has_one_fate_and_every_drop_a_reason(
    reasons: list[str | None], data: st.DataObject
) -> None:
    count = reasons.count(None)
    dropped = data.draw(st.sets(st.integers(0, max(count - 1, 0)), max_size=count))
    drops = {row: Drop("clean_text", "too_short_after_cleaning") for row in dropped if row < count}
    table = part_decisions(records(reasons), "web", selection(count), drops)
    assert table.schema.equals(DECISIONS)
    rows = table.to_pylist()
    assert [row["doc_id"] for row in rows] == [bytes([i]) * 16 for i in range(len(reasons))]
    assert sum(row["kept"] for row in rows) == count - len(drops)
    for row in rows:
        assert row["kept"] == (row["stage"] is None) == (row["reason"] is None)
