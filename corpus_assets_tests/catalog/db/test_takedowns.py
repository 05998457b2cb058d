"""Takedown requests in the registry, each promise on SQLite and on PostgreSQL."""

import dataclasses
import threading
import time

import pytest

from catalog.db import takedowns
from catalog.db.registry import Registry
from catalog.db.rows import ActionRow, CertificateRow, NewTakedown, SuppressionRow
from catalog.errors import (
    CatalogConflict,
    CatalogError,
    LeaseLost,
    PathRefused,
    TakedownRefused,
    UnknownName,
)
from corpus_assets_tests.catalog.db.test_registry import ready, version
from corpus_assets_tests.registry_states import add_orders, supersede


def page(number: int, near: bool = False, documents: int = 1) -> NewTakedown:
    key = f"com,example)/{number}"
    return NewTakedown(
        "url", key, near, "asked", "who", "case-1", key, None, documents,
        {"matched": documents, "listed": []}, (("url_key", key),),
    )  # fmt: skip


def file(registry: Registry, *requests: NewTakedown) -> list[int]:
    return [row.id for row, _ in registry.file_takedowns(requests)]


def test_a_request_is_filed_once_with_its_suppressions(registry: Registry) -> None:
    (row, outcome), (again, second) = registry.file_takedowns([page(1), page(1)])
    assert (outcome, second, again) == ("filed", "already_there", row)
    assert (row.status, row.reason, row.documents, row.attempts) == ("pending", "asked", 1, 0)
    other = dataclasses.replace(page(1, documents=3), reason="another reason")
    (known, told), (near, new) = registry.file_takedowns([other, page(1, near=True)])
    assert (told, known.id, known.reason, known.documents) == ("already_there", row.id, "asked", 3)
    assert (new, near.id != row.id) == ("filed", True)
    assert [s.value for s in registry.suppressions()] == ["com,example)/1"]
    assert [s.kind for s in registry.takedown_suppressions(near.id)] == ["url_key"]
    assert registry.find_takedowns([("url", "com,example)/1", True)]) == {
        ("url", "com,example)/1", True): near
    }


def test_rows_come_back_in_the_order_given_however_many(registry: Registry) -> None:
    ids = file(registry, *(page(number) for number in range(1000)))
    assert ids == sorted(ids)
    assert [row.id for row in registry.takedowns("pending")] == ids
    assert len(registry.takedowns("pending", 7)) == 7
    assert [row.value for row in registry.takedowns_of(ids[-2:])] == [
        "com,example)/998",
        "com,example)/999",
    ]
    assert len(registry.suppressions()) == 1000


def test_a_request_is_written_whole_or_not_at_all(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("pulled the plug")

    monkeypatch.setattr(takedowns, "_link", fail)
    with pytest.raises(RuntimeError):
        file(registry, page(1))
    assert registry.takedowns() == []
    assert registry.suppressions() == []


@pytest.mark.parametrize(
    "request_", [NewTakedown("colour", "red", False, "x"), NewTakedown("url", "", False, "x")]
)
def test_a_request_of_no_kind_or_value_is_refused(
    registry: Registry, request_: NewTakedown
) -> None:
    with pytest.raises(CatalogError, match="a takedown is one of"):
        file(registry, request_)


def test_withdrawing_ends_the_suppressions_that_no_other_request_holds(
    registry: Registry,
) -> None:
    add_orders(registry, [SuppressionRow("doc_id", "ff" * 16)])
    shared = ("doc_id", "aa" * 16)
    by_hand = ("doc_id", "ff" * 16)
    first, second = file(
        registry,
        dataclasses.replace(page(1), suppressions=(("url_key", "com,example)/1"), shared, by_hand)),
        dataclasses.replace(page(2), suppressions=(("url_key", "com,example)/2"), shared)),
    )
    row, gone = registry.withdraw_takedown(first)
    assert (row.status, gone) == ("withdrawn", 1)
    assert [(s.value, s.request_id) for s in registry.suppressions()] == [
        ("ff" * 16, None),
        ("aa" * 16, second),
        ("com,example)/2", second),
    ]
    assert registry.withdraw_takedown(first) == (row, 0)
    assert registry.withdraw_takedown(second)[1] == 2
    assert [s.value for s in registry.suppressions()] == ["ff" * 16]
    assert [action.action for action in registry.takedown_history(first)] == ["withdrawn"]


def test_a_withdrawn_request_can_be_filed_again(registry: Registry) -> None:
    (number,) = file(registry, page(1))
    registry.withdraw_takedown(number)
    ((row, outcome),) = registry.file_takedowns([dataclasses.replace(page(1), reason="anew")])
    assert (row.id, row.status, row.reason, outcome) == (number, "pending", "anew", "reopened")
    assert len(registry.suppressions()) == 1
    assert [a.action for a in registry.takedown_history(number)] == ["withdrawn", "reopened"]
    assert registry.takedown_actions(number) == [], "no run has done anything for it"


def test_a_done_request_stays_done_unless_it_finds_documents_again(registry: Registry) -> None:
    (number,) = file(registry, page(1))
    registry.claim_takedowns([number], "run-1", 60)
    registry.finish_takedowns([number], "run-1", [])
    with pytest.raises(TakedownRefused, match="is done and cannot be withdrawn"):
        registry.withdraw_takedown(number)
    ((row, outcome),) = registry.file_takedowns([page(1, documents=0)])
    assert (row.status, row.documents, outcome) == ("done", 1, "already_there")
    ((row, outcome),) = registry.file_takedowns([page(1, documents=2)])
    assert (row.status, row.documents, outcome) == ("pending", 2, "reopened")


def test_a_request_that_is_worked_on_is_neither_changed_nor_withdrawn(registry: Registry) -> None:
    (number,) = file(registry, page(1))
    (claimed,) = registry.claim_takedowns([number], "run-1", 60)
    assert registry.file_takedowns([page(1, documents=9)]) == [(claimed, "already_there")]
    with pytest.raises(TakedownRefused, match="in use by run-1"):
        registry.withdraw_takedown(number)


def test_a_claim_excludes_others_until_it_runs_out(registry: Registry) -> None:
    ids = file(registry, page(1), page(2))
    (claimed,) = registry.claim_takedowns(ids[:1], "run-1", 60)
    assert (claimed.status, claimed.owner, claimed.attempts) == ("running", "run-1", 1)
    assert [row.id for row in registry.claim_takedowns(ids, "run-2", 60)] == ids[1:]
    assert registry.takedowns("pending") == []
    (extended,) = registry.claim_takedowns(ids[:1], "run-1", 0.01)
    assert extended.attempts == 1
    time.sleep(0.05)
    (taken,) = registry.claim_takedowns(ids[:1], "run-3", 60)
    assert (taken.owner, taken.attempts) == ("run-3", 2)
    with pytest.raises(LeaseLost, match="run-3 works on it now"):
        registry.finish_takedowns(ids[:1], "run-1", [ActionRow(ids[0], "v1", "v2")])
    assert registry.takedown_actions(ids[0]) == []


def test_of_two_claimers_at_once_one_gets_each_request(registry: Registry, empty_url: str) -> None:
    ids = file(registry, *(page(number) for number in range(60)))
    won: dict[str, list[int]] = {}
    start = threading.Barrier(4)

    def claim(owner: str) -> None:
        mine = Registry(empty_url)
        start.wait()
        # In pieces and in different order, so that the claimers meet in the middle.
        order = ids if owner < "run-2" else ids[::-1]
        won[owner] = [
            row.id
            for place in range(0, len(order), 5)
            for row in mine.claim_takedowns(order[place : place + 5], owner, 60)
        ]

    threads = [threading.Thread(target=claim, args=(f"run-{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(number for numbers in won.values() for number in numbers) == ids
    for owner, numbers in won.items():
        assert {row.owner for row in registry.takedowns_of(numbers)} <= {owner}


def test_a_failed_run_leaves_its_requests_pending_with_the_error(registry: Registry) -> None:
    ids = file(registry, page(1), page(2))
    registry.claim_takedowns(ids, "run-1", 60)
    registry.fail_takedowns(ids[:1], "run-1", "the disk\nis full " + "x" * 1000)
    row = registry.takedown(ids[0])
    assert (row.status, row.claim_expires_at) == ("pending", None)
    assert row.error is not None
    assert row.error.startswith("the disk is full xxx")
    assert len(row.error) == 500
    assert [r.id for r in registry.takedowns("failed")] == ids[:1]
    registry.fail_takedowns(ids[:1], "run-1", "again")
    registry.claim_takedowns(ids[:1], "run-2", 60)
    registry.finish_takedowns(ids[:1], "run-2", [])
    row = registry.takedown(ids[0])
    assert (row.status, row.error, row.attempts) == ("done", None, 2)
    with pytest.raises(LeaseLost, match="it is done now"):
        registry.fail_takedowns(ids[:1], "run-1", "late")


def test_finishing_records_actions_once_for_all_requests_or_for_none(registry: Registry) -> None:
    ids = file(registry, page(1), page(2))
    registry.claim_takedowns(ids[:1], "run-1", 60)
    actions = [ActionRow(number, "v1", "v1.td1", {"shards": 2}) for number in ids]
    with pytest.raises(LeaseLost, match="it is pending now"):
        registry.finish_takedowns(ids, "run-1", actions)
    assert registry.takedown(ids[0]).status == "running"
    registry.claim_takedowns(ids, "run-1", 60)
    registry.finish_takedowns(ids, "run-1", actions)
    registry.finish_takedowns(ids, "run-1", actions)
    for number in ids:
        (action,) = registry.takedown_actions(number)
        assert (action.version_before, action.version_after) == ("v1", "v1.td1")
        assert (action.action, action.detail) == ("rebuilt", {"shards": 2})


def test_publishing_revokes_the_old_version_and_records_actions_together(
    registry: Registry,
) -> None:
    ready(registry).publish_version(version("v1"), [], [])
    (number,) = file(registry, page(1))
    action = ActionRow(number, "v1", "v1.td1")
    with pytest.raises(UnknownName, match="no version 'v0'"):
        registry.publish_version(version("v1.td1", "n" * 64), [], [], ["v1", "v0"], [action])
    assert [v.name for v in registry.versions()] == ["v1"]
    assert registry.version("v1").status == "live"
    assert registry.publish_version(version("v1.td1", "n" * 64), [], [], ["v1"], [action])
    assert not registry.publish_version(version("v1.td1", "n" * 64), [], [], ["v1"], [action])
    old = registry.version("v1")
    assert (old.status, old.superseded_by) == ("revoked", "v1.td1")
    assert registry.version().name == "v1.td1"
    assert len(registry.takedown_actions(number)) == 1


def test_a_version_is_superseded_by_another_that_is_published(registry: Registry) -> None:
    ready(registry).publish_version(version("v1"), [], [])
    with pytest.raises(UnknownName):
        supersede(registry, "v1", "v2")
    with pytest.raises(CatalogConflict, match="replace itself"):
        supersede(registry, "v1", "v1")
    registry.publish_version(version("v2", "n" * 64), [], [])
    supersede(registry, "v1", "v2")
    assert (registry.version("v1").status, registry.version("v1").superseded_by) == (
        "revoked",
        "v2",
    )


def test_certificates_form_one_chain(registry: Registry) -> None:
    first, second, third = file(registry, page(1), page(2), page(3))
    one = CertificateRow(first, "certificates/1.json", "a" * 64)
    assert registry.put_certificates([one]) == 1
    assert registry.put_certificates([one]) == 0
    for previous in (None, "c" * 64):
        with pytest.raises(CatalogConflict, match=f"the chain ends with {'a' * 64}"):
            registry.put_certificates([CertificateRow(second, "2.json", "b" * 64, previous)])
    two = CertificateRow(second, "certificates/2.json", "b" * 64, "a" * 64)
    three = CertificateRow(third, "certificates/3.json", "e" * 64, "b" * 64)
    with pytest.raises(CatalogConflict, match=f"the chain ends with {'b' * 64}"):
        registry.put_certificates([two, CertificateRow(third, "3.json", "e" * 64, "a" * 64)])
    assert len(registry.certificates()) == 1
    assert registry.put_certificates([one, two, three]) == 2
    with pytest.raises(CatalogConflict, match="belongs to one request"):
        registry.put_certificates(
            [CertificateRow(second, "certificates/1.json", "a" * 64, "b" * 64)]
        )
    with pytest.raises(PathRefused):
        registry.put_certificates([CertificateRow(second, "../x.json", "d" * 64, "b" * 64)])
    assert [(c.request_id, c.previous_sha256) for c in registry.certificates()] == [
        (first, None),
        (second, "a" * 64),
        (third, "b" * 64),
    ]
    assert [c.path for c in registry.certificates(second)] == ["certificates/2.json"]


def test_unknown_requests_and_states_are_named(registry: Registry) -> None:
    with pytest.raises(UnknownName, match="no takedown 7"):
        registry.takedown(7)
    with pytest.raises(UnknownName, match="no takedown 7"):
        registry.claim_takedowns([7], "run-1", 60)
    with pytest.raises(CatalogError, match="not 'lost'"):
        registry.takedowns("lost")


def test_what_a_request_finds_can_be_brought_up_to_date_while_it_runs(registry: Registry) -> None:
    (number,) = file(registry, page(1, documents=0))
    assert registry.takedown(number).standing
    registry.claim_takedowns([number], "run-1", 60)
    new = dataclasses.replace(
        page(1, documents=4), suppressions=(("url_key", "com,example)/1"), ("doc_id", "ab" * 16))
    )
    (row,) = registry.refresh_takedowns([(number, new)])
    assert (row.status, row.documents, row.standing) == ("running", 4, False)
    assert [s.kind for s in registry.takedown_suppressions(number)] == ["url_key", "doc_id"]
