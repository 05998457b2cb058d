"""Review of decisions: recorded, summed, counted by the gate, handed on or forgotten."""

from dataclasses import replace

import pytest

from catalog.db.judgements import MAX_WHY_CHARS, REVIEW, summed
from catalog.db.registry import Registry
from catalog.db.rows import GateRow, JudgementRow
from catalog.errors import CatalogConflict, NotReleased
from corpus_assets_tests.catalog.db.test_registry import ready, version
from corpus_assets_tests.registry_states import revoke


def judged(number: int = 0, agrees: bool = True, reason: str = "few_words") -> JudgementRow:
    return JudgementRow(
        "v1", f"{number:032x}", "S1", 0, number, "selection", reason, agrees, "a word", "ann", "en"
    )


def publish(registry: Registry, name: str = "v1", **more: object) -> Registry:
    gate = GateRow(name, REVIEW, False, None, 0.2, {"min_judged": 4, "message": "waits"})
    ready(registry).publish_version(version(name, name[-1] * 64), [], [], gates=[gate], **more)  # type: ignore[arg-type]
    return registry


def test_the_last_judgement_of_a_person_on_a_record_stands(registry: Registry) -> None:
    publish(registry)
    registry.judge(judged())
    registry.judge(replace(judged(agrees=False), why=None))
    registry.judge(replace(judged(), judged_by="ben"))
    rows = registry.judgements("v1")
    assert [(row.judged_by, row.agrees, row.why) for row in rows] == [
        ("ann", False, None),
        ("ben", True, "a word"),
    ]
    assert all(row.created_at for row in rows)


def test_judgements_are_summed_by_reason_with_an_interval(registry: Registry) -> None:
    rows = [judged(i, i % 4 != 0) for i in range(8)] + [judged(9, reason="language")]
    few, language = summed(rows)
    assert (few.reason, few.judged, few.disagreed, few.share) == ("few_words", 8, 2, 0.25)
    assert few.interval == pytest.approx((0.0715, 0.5907), abs=1e-4)
    assert (language.judged, language.disagreed) == (1, 0)


def test_a_judgement_is_withdrawn_by_who_gave_it_and_the_gate_follows(registry: Registry) -> None:
    publish(registry)
    for i in range(4):
        registry.judge(judged(i))
    registry.judge(replace(judged(), judged_by="ben"))
    place = ("S1", 0, 0)
    registry.withdraw_judgement("v1", judged().doc_id, *place, "ann")
    registry.withdraw_judgement("v1", judged().doc_id, *place, "ann")  # is not there any more
    registry.withdraw_judgement("v1", judged(1).doc_id, *place, "ann")  # is elsewhere
    assert [(row.offset, row.judged_by) for row in registry.judgements("v1")] == [
        *((1, "ann"), (2, "ann"), (3, "ann"), (0, "ben")),
    ]
    registry.withdraw_judgement("v1", judged(3).doc_id, "S1", 0, 3, "ann")
    with pytest.raises(NotReleased, match="3 of 4 records judged"):
        registry.release_version("v1", "ann", "done")
    revoke(registry, "v1")
    with pytest.raises(CatalogConflict, match="not a live version"):
        registry.withdraw_judgement("v1", judged(2).doc_id, "S1", 0, 2, "ann")


def test_the_gate_waits_for_people_and_follows_them(registry: Registry) -> None:
    publish(registry)
    with pytest.raises(NotReleased, match="review: waits"):
        registry.release_version("v1", "ann", "done")
    for i in range(3):
        registry.judge(judged(i))
    with pytest.raises(NotReleased, match="3 of 4 records judged"):
        registry.release_version("v1", "ann", "done")
    registry.judge(judged(3))
    (gate,) = registry.gates("v1")
    assert (gate.passed, gate.threshold, gate.value) == (True, 0.2, 0.0)
    for i in range(3):
        registry.judge(judged(i, agrees=False))
    with pytest.raises(NotReleased, match="reviewers disagree with selection/few_words 3 of 4"):
        registry.release_version("v1", "ann", "done")
    for i in range(3):
        registry.judge(judged(i))
    assert registry.release_version("v1", "ann", "done")


def test_a_version_in_the_place_of_another_gets_its_judgements_without_those_of_removed_records(
    registry: Registry,
) -> None:
    publish(registry)
    for i in range(6):
        registry.judge(judged(i))
    removed = {(judged(i).doc_id, "S1", 0, i) for i in (1, 2, 3)}
    publish(registry, "v2", revokes=["v1"], removed=removed)
    assert registry.judgements("v1") == []
    assert [row.offset for row in registry.judgements("v2")] == [0, 4, 5]
    (gate,) = registry.gates("v2")
    assert "3 of 4 records judged" in gate.detail["message"]


def test_wrong_judgements_are_refused(registry: Registry) -> None:
    publish(registry)
    with pytest.raises(CatalogConflict, match="name of its reviewer"):
        registry.judge(replace(judged(), judged_by=" "))
    with pytest.raises(CatalogConflict, match="longer than"):
        registry.judge(replace(judged(), why="x" * (MAX_WHY_CHARS + 1)))
    with pytest.raises(CatalogConflict, match="not a live version"):
        registry.judge(replace(judged(), version="v9"))
    revoke(registry, "v1")
    with pytest.raises(CatalogConflict, match="not a live version"):
        registry.judge(judged())
