"""What a version took by stage, and what whole crawls would: measured, added up, scaled."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from catalog.db.registry import Registry
from catalog.formats.store import FileStore
from catalog.takedown.requests import request_takedown
from catalog.takedown.target import url_target
from corpus_assets.cli.main import cli
from corpus_assets.core.errors import CorpusError
from corpus_assets.core.home import Home
from corpus_assets.core.task import forget_peak, peak_bytes
from corpus_assets.inspect.cost import (
    DRAWS,
    Prices,
    _fitted,
    artifacts_of,
    cost_of,
    load_prices,
)
from corpus_assets.stages import STAGES
from corpus_assets_tests.conftest import VERSION, Place

Ask = Callable[..., Any]


@pytest.fixture
def ask(small_build: Place) -> Ask:
    def asked(*arguments: str) -> Any:
        done = CliRunner().invoke(cli, [*arguments, "--home", str(small_build.home), "--json"])
        assert done.exception is None, done.output
        return json.loads(done.stdout)

    return asked


def test_every_part_of_a_version_knows_what_it_took(small_build: Place) -> None:
    rows = artifacts_of(Home.resolve(str(small_build.home)), VERSION)
    recorded = Registry(f"sqlite:///{small_build.home}/catalog.db").artifacts()
    assert len(rows) == len(recorded)  # the home has no other version
    for row in rows:
        assert row.cpu_seconds is not None
        assert row.wall_seconds is not None
        assert row.peak_bytes is not None
        assert row.cpu_seconds >= 0
        assert row.wall_seconds > 0
        assert row.peak_bytes > 1 << 20
        assert row.tries == 1
    documents = [row for row in rows if row.stage == "documents"]
    sizes = sorted(path.stat().st_size for path in small_build.source("").rglob("*.warc.gz"))
    read = sorted(row.bytes_in or 0 for row in documents if row.snapshot != "books-1")
    (index,) = {there - here for there, here in zip(read, sizes, strict=True)}
    assert index > 0  # every part reads the index of blocked hosts besides its file


def test_a_pending_takedown_changes_nothing_of_what_a_version_took(place: Place) -> None:
    home = Home.resolve(str(place.home))
    before = artifacts_of(home, VERSION)
    time.sleep(1.1)  # an order of the second in which the version was published counts as its own
    target = url_target("http://site-3.example.org/article")
    request_takedown(
        Registry(home.catalog_url), FileStore(str(place.store)), target, "the owner asks"
    )
    assert artifacts_of(home, VERSION) == before


def test_stages_add_up_to_the_whole_and_money_follows_the_prices(ask: Ask, tmp_path: Path) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text("{cpu_hour: 3600, gib_month: 0, thousand_writes: 0, thousand_reads: 0}")
    answer = ask("cost", VERSION, "--prices", str(prices))
    order = [stage.name for stage in STAGES]
    assert [row["stage"] for row in answer["stages"]] == sorted(
        (row["stage"] for row in answer["stages"]), key=order.index
    )
    total = answer["total"]
    for name in ("parts", "documents", "bytes_in", "bytes_out", "objects", "reads"):
        assert total[name] == sum(row[name] for row in answer["stages"])
    seconds = sum(row["cpu_hours"] for row in answer["stages"]) * 3600
    assert total["money"] == {"cpu": pytest.approx(seconds), "storage": 0.0, "requests": 0.0}
    each = answer["per_1000_documents"]["cpu_hours"]
    assert each == pytest.approx(total["cpu_hours"] * 1000 / answer["documents_in"])


def test_an_estimate_grows_with_the_bytes_and_shrinks_with_the_cores(
    ask: Ask, small_build: Place
) -> None:
    recipe = str(small_build.recipe)
    one, hundred = (
        ask("estimate", recipe, "--crawls", str(n), "--cores", str(n), "--files", "10")
        for n in (1, 100)
    )
    calibrations = one["calibrations_cpu_hours"]
    for low, middle, high in (one["cpu_hours"], one["days"], one["stored_bytes"], one["money"]):
        assert 0 < low <= middle <= high
    across = {stage.name for stage in STAGES if stage.reads_all}
    for before, after in zip(one["stages"], hundred["stages"], strict=True):
        factor = after["cpu_hours"][1] / max(before["cpu_hours"][1], 1e-12)
        if before["stage"] in across:
            assert factor * 1.000001 >= 100, "with `scope: all` each crawl meets all before it"
            assert factor <= 5050 * 1.000001
        elif before["cpu_hours"][1]:
            assert factor == pytest.approx(100)
    assert sum(row["cpu_hours"][1] for row in hundred["stages"]) == pytest.approx(
        hundred["cpu_hours"][1] - calibrations
    )
    assert (one["compared_with"], hundred["compared_with"]) == (0, 99)
    assert one["last_crawl_cpu_hours"][1] == pytest.approx(one["cpu_hours"][1] - calibrations)
    assert hundred["last_crawl_cpu_hours"][1] >= one["last_crawl_cpu_hours"][1]
    assert hundred["writes"] == pytest.approx(100 * one["writes"])
    assert hundred["reads"] >= 100 * one["reads"] * 0.999999
    kept = [hundred["stored_bytes"][1], *(n[1] for n in hundred["stored_by_keep"].values())]
    assert kept == sorted(kept, reverse=True)
    assert kept[-1] > 0
    assert one["source"] == "web"
    assert one["measured_parts"] == 4
    again = ask("estimate", recipe, "--crawls", "1", "--cores", "1", "--files", "10")
    assert again == one


def test_clusters_go_by_the_scope_of_the_recipe(
    ask: Ask, small_build: Place, tmp_path: Path
) -> None:
    text = small_build.recipe.read_text()
    hours = {}
    for scope in ("per_snapshot", "2", "all"):
        recipe = tmp_path / f"{scope}.yaml"
        recipe.write_text(text.replace("{scope: all,", f"{{scope: {scope},"))
        answer = ask("estimate", str(recipe), "--crawls", "100", "--files", "10")
        hours[scope] = {row["stage"]: row["cpu_hours"][1] for row in answer["stages"]}
        assert answer["compared_with"] == {"per_snapshot": 0, "2": 2, "all": 99}[scope]
    for stage in STAGES:
        if stage.name in hours["all"] and not stage.reads_all:
            assert hours["all"][stage.name] == hours["per_snapshot"][stage.name]
    ordered = [sum(hours[scope].values()) for scope in ("per_snapshot", "2", "all")]
    assert ordered == sorted(ordered)


def test_costs_of_own_and_earlier_bytes_are_told_apart_where_windows_differ() -> None:
    own, earlier = np.array([1.0, 2.0, 1.0, 3.0]), np.array([0.0, 1.0, 3.0, 4.0])
    rates = _fitted(5 * own + 2 * earlier, own, earlier, 1)
    assert [each[0] for each in rates] == pytest.approx([5, 2])
    assert min(each.min() for each in rates) >= 0
    assert [each[0] for each in _fitted(3 * own, own, earlier, 1)] == pytest.approx([3, 0])
    falling = _fitted(np.array([9.0, 8.0, 1.0, 1.0]), own, earlier, 1)
    assert falling[1][0] == 0, "no byte costs less than nothing"
    one = _fitted(np.array([6.0]), np.array([2.0]), np.array([1.0]), 1)
    assert [each.tolist() for each in one] == [[2.0] * (DRAWS + 1)] * 2
    alone = _fitted(np.array([6.0, 3.0]), np.array([2.0, 1.0]), np.zeros(2), 1)
    assert [each[0] for each in alone] == [3.0, 3.0]


def test_rates_give_back_what_was_measured(ask: Ask, small_build: Place) -> None:
    sizes = [path.stat().st_size for path in small_build.source("").rglob("*.warc.gz")]
    whole = ["--files", "1", "--file-gib", repr(sum(sizes) / (1 << 30))]
    answer = ask("estimate", str(small_build.recipe), *whole)
    rows = artifacts_of(Home.resolve(str(small_build.home)), VERSION)
    web = [row for row in rows if row.stage == "signals" and row.snapshot != "books-1"]
    (signals,) = [row for row in answer["stages"] if row["stage"] == "signals"]
    assert signals["cpu_hours"][1] == pytest.approx(cost_of(web).cpu_hours)
    assert signals["stored_bytes"][1] == pytest.approx(cost_of(web).bytes_out)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[1]", "must be a mapping"),
        ("{gpu: 1}", "must be a mapping"),
        *((f"{{cpu_hour: {value}}}", "0 or more") for value in ("-1", ".nan", ".inf", "yes")),
    ],
)
def test_a_wrong_price_table_is_refused_by_name(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text(text)
    with pytest.raises(CorpusError, match=said):
        load_prices(str(path))


def test_a_size_that_is_no_number_is_refused(small_build: Place) -> None:
    done = CliRunner().invoke(cli, ["estimate", str(small_build.recipe), "--file-gib", "nan"])
    assert done.exit_code == 2
    assert "nan is not a size" in done.output


def test_prices_that_are_not_said_are_the_defaults(tmp_path: Path) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text("cpu_hour: 0.1")
    assert load_prices(str(path)) == Prices(cpu_hour=0.1)


def test_the_peak_of_memory_is_that_of_the_task_and_not_of_the_process() -> None:
    held = bytearray(200 << 20)
    with_it = peak_bytes()
    del held
    forget_peak()
    assert peak_bytes() < with_it - (100 << 20)
