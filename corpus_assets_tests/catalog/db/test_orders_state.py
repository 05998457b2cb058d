"""The state of standing orders: a version built under other orders is not published."""

import pytest

from catalog.db.registry import Registry
from catalog.db.rows import LockRow, NewTakedown, RecipeRow, SuppressionRow, VersionRow
from catalog.errors import OrdersChanged
from corpus_assets_tests.registry_states import add_orders


def _file(registry: Registry, key: str) -> int:
    order = (("url_key", key),)
    ((row, _),) = registry.file_takedowns(
        [NewTakedown("url", key, False, "why", suppressions=order)]
    )
    return row.id


def _version(registry: Registry, name: str) -> VersionRow:
    registry.put_recipe(RecipeRow("r" * 64, "r", "name: r"))
    registry.put_lock(LockRow("l" * 64, "{}"))
    return VersionRow(name, "l" * 64, "r" * 64, f"versions/{name}/manifest.json", "m" * 64, 1, 1, 1)


def test_the_state_changes_whenever_the_orders_do(registry: Registry) -> None:
    states = [registry.orders_state()]
    number = _file(registry, "com,a)/")
    states.append(registry.orders_state())
    _file(registry, "com,b)/")
    states.append(registry.orders_state())
    registry.withdraw_takedown(number)
    states.append(registry.orders_state())
    add_orders(registry, [SuppressionRow("host", "c.example")])
    states.append(registry.orders_state())
    assert len(set(states)) == 5
    assert registry.orders()[0] == states[-1]
    assert {row.value for row in registry.orders()[1]} == {"com,b)/", "c.example"}


def test_a_version_built_under_other_orders_is_refused_whole(registry: Registry) -> None:
    state = registry.orders_state()
    registry.expect_orders(state)
    _file(registry, "com,a)/")
    with pytest.raises(OrdersChanged, match="build it again"):
        registry.expect_orders(state)
    with pytest.raises(OrdersChanged):
        registry.publish_version(_version(registry, "v1"), [], [], orders_state=state)
    assert registry.versions() == []
    now = registry.orders_state()
    assert registry.publish_version(_version(registry, "v1"), [], [], orders_state=now)


def test_requests_that_wait_are_pending_ones_and_those_whose_claim_ran_out(
    registry: Registry,
) -> None:
    for key in ("com,a)/", "com,b)/", "com,c)/"):
        _file(registry, key)
    registry.claim_takedowns([1], "there", 60)
    registry.claim_takedowns([2], "gone", -1)
    assert [row.id for row in registry.free_takedowns()] == [2, 3]
    assert [row.id for row in registry.free_takedowns(1)] == [2]


def test_leases_that_run_are_listed_by_the_beginning_of_their_name(registry: Registry) -> None:
    registry.acquire_lease("build/a", "one", 60)
    registry.acquire_lease("build/b", "two", -1)
    registry.acquire_lease("build_x", "three", 60)
    assert [(lease.name, lease.owner) for lease in registry.leases("build/")] == [
        ("build/a", "one")
    ]
    assert len(registry.leases("")) == 2
