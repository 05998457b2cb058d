"""What the demo's generator planted is found: recall and precision, not only "it ran"."""

from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pytest

from corpus_assets_tests.demo_build import planted


@pytest.fixture(scope="module")
def fates(demo_home: Path) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """(snapshot, URL or key) -> the decisions of its records."""
    artifacts = demo_home / "store" / "artifacts"
    table = duckdb.sql(
        "select r.snapshot, coalesce(r.url, regexp_replace(r.url_key, '^[a-z]+:', '')) as key, "
        "d.kept, d.stage, d.reason, f.scrubbed, f.text "
        "from read_parquet($records) r "
        'join read_parquet($decisions) d using (doc_id, snapshot, part, "offset") '
        "left join read_parquet($final) f on f.doc_id = d.doc_id and d.kept",
        params={
            "records": str(artifacts / "documents" / "*" / "records.parquet"),
            "decisions": str(artifacts / "clean_text" / "*" / "decisions.parquet"),
            "final": str(artifacts / "clean_text" / "*" / "final.parquet"),
        },
    )
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in table.fetchall():
        record = dict(zip(table.columns, row, strict=True))
        found.setdefault((record["snapshot"], record["key"]), []).append(record)
    return found


def _with(demo_home: Path, phenomenon: str) -> list[dict[str, Any]]:
    return [record for record in planted(demo_home) if phenomenon in record["planted"]]


@pytest.mark.parametrize(
    ("phenomenon", "stage", "reason"),
    [
        ("error_status", "documents", "http_status"),
        ("redirect", "documents", "http_status"),
        ("not_html", "documents", "content_type"),
        ("too_large", "documents", "too_large"),
        ("blocked_host", "documents", "blocked_host"),
        ("optout_meta", "documents", "opted_out"),
        ("optout_header", "documents", "opted_out"),
        ("proprietary_licence", "documents", "licence_not_allowed"),
        ("wrong_language", "selection", "language"),
    ],
)
def test_each_record_to_refuse_is_refused_for_its_reason(
    demo_home: Path,
    fates: dict[tuple[str, str], list[dict[str, Any]]],
    phenomenon: str,
    stage: str,
    reason: str,
) -> None:
    records = _with(demo_home, phenomenon)
    assert records
    for record in records:
        for fate in fates[record["snapshot"], record["key"]]:
            assert (fate["stage"], fate["reason"]) == (stage, reason), record["key"]


def test_damaged_records_are_counted_with_a_reason(demo_home: Path) -> None:
    path = str(demo_home / "store" / "artifacts" / "documents" / "*" / "records.parquet")
    damaged = duckdb.sql(
        "select snapshot from read_parquet(?) where reason = 'damaged_record' order by 1",
        params=[path],
    ).fetchall()
    expected = sorted(
        (r["snapshot"],)
        for name in ("truncated_record", "corrupt_member")
        for r in _with(demo_home, name)
    )
    assert damaged == expected
    assert len(damaged) == 2


def test_planted_spam_and_thin_pages_are_dropped(
    demo_home: Path, fates: dict[tuple[str, str], list[dict[str, Any]]]
) -> None:
    for phenomenon in ("templated_spam", "thin", "generated_code"):
        records = _with(demo_home, phenomenon)
        kept = sum(fate["kept"] for r in records for fate in fates[r["snapshot"], r["key"]])
        assert records
        assert kept <= 0.05 * len(records), phenomenon


def test_quoted_benchmark_questions_are_dropped_and_half_quotes_survive(
    demo_home: Path, fates: dict[tuple[str, str], list[dict[str, Any]]]
) -> None:
    quotes = _with(demo_home, "eval_quote")
    assert len(quotes) > 50
    for record in quotes:
        for fate in fates[record["snapshot"], record["key"]]:
            assert not fate["kept"], record["key"]
    misses = [r for r in _with(demo_home, "eval_near_miss") if r["expect"] is None]
    assert misses
    dropped = Counter(
        fate["stage"] for r in misses for fate in fates[r["snapshot"], r["key"]] if not fate["kept"]
    )
    assert dropped["contamination"] == 0


def test_one_member_of_each_planted_group_of_copies_survives(
    demo_home: Path, fates: dict[tuple[str, str], list[dict[str, Any]]]
) -> None:
    groups: dict[str, list[dict[str, Any]]] = {}
    for record in planted(demo_home):
        if record["group"] and (record["expect"] or {}).get("stage") != "documents":
            groups.setdefault(record["group"], []).append(record)
    kept: Counter[str] = Counter()
    for name, records in groups.items():
        seen = {(r["snapshot"], r["key"]) for r in records}
        kept[name] = sum(fate["kept"] for key in seen for fate in fates[key])
    several = [name for name, count in kept.items() if count > 1]
    assert len(groups) > 100
    assert len(several) <= 0.01 * len(groups), several[:10]


def test_planted_personal_data_is_scrubbed_and_counted(
    demo_home: Path, fates: dict[tuple[str, str], list[dict[str, Any]]]
) -> None:
    checked = 0
    for record in _with(demo_home, "personal_data"):
        for fate in fates[record["snapshot"], record["key"]]:
            if fate["kept"]:
                found = {"email": record["emails"], "ip": record["ips"]}
                assert fate["scrubbed"] == {kind: n for kind, n in found.items() if n}
                assert "193.0.14.129" not in fate["text"]
                checked += 1
    assert checked > 30


def test_good_articles_survive(
    demo_home: Path, fates: dict[tuple[str, str], list[dict[str, Any]]]
) -> None:
    """Precision: of what the generator expects to survive, little may go."""
    expected = [r for r in planted(demo_home) if r["expect"] is None]
    lost = Counter(
        f"{fate['stage']}/{fate['reason']}"
        for r in expected
        for fate in fates[r["snapshot"], r["key"]]
        if not fate["kept"] and len(fates[r["snapshot"], r["key"]]) == 1
    )
    assert sum(lost.values()) <= 0.06 * len(expected), lost
