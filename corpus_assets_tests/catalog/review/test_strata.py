"""Stratified samples for review: who is in them, in which order, and how strata share the places."""

from collections import Counter
from itertools import islice, pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from catalog.db.registry import Registry
from catalog.db.rows import SuppressionRow
from catalog.formats.store import FileStore
from catalog.lineage.tables import Lineage
from catalog.review.strata import (
    BEFORE_TEXT,
    Asked,
    Stratum,
    allocated,
    draw,
    strata_of,
    stratum_sizes,
)
from corpus_assets.core.home import Home
from corpus_assets_tests.conftest import VERSION, Place
from corpus_assets_tests.registry_states import add_orders

SIZES = {
    ("selection: short", "en", "article"): 9_000,
    ("selection: short", "en", "forum"): 100,
    ("selection: short", "de", "article"): 900,
    ("selection: long", "en", "article"): 400,
    ("clusters: copy", "fr", ""): 1,
}


def opened(place: Place) -> Lineage:
    home = Home.resolve(str(place.home))
    return Lineage(Registry(home.catalog_url), FileStore(home.store_url), VERSION)


# Which strata have the places.


def test_every_rule_has_a_place_before_any_has_two_and_so_do_languages_and_page_types() -> None:
    order = list(islice(allocated(SIZES), 8))
    assert [path[0] for path in order[:3]] == [
        "selection: short",
        "selection: long",
        "clusters: copy",
    ]
    short = [path[1:] for path in order if path[0] == "selection: short"]
    assert short[:3] == [("en", "article"), ("de", "article"), ("en", "forum")]


def test_places_follow_the_square_roots_of_sizes_until_a_stratum_is_used_up() -> None:
    numbers = Counter(path[0] for path in islice(allocated(SIZES), 121))
    assert numbers["clusters: copy"] == 1
    assert numbers["selection: short"] + numbers["selection: long"] == 120
    assert numbers["selection: short"] == pytest.approx(100, abs=1)  # sqrt(10,000) to sqrt(400)
    assert Counter(allocated(SIZES)) == SIZES


def test_a_larger_allocation_begins_with_the_smaller_one() -> None:
    orders = [list(islice(allocated(SIZES), n)) for n in range(60)]
    assert all(longer[:-1] == shorter for shorter, longer in pairwise(orders))
    assert list(allocated({})) == []


# Who is drawn.


def test_a_sample_is_the_same_for_all_and_has_every_rule_language_and_size(
    small_build: Place,
) -> None:
    with opened(small_build) as lineage, opened(small_build) as other:
        sizes = stratum_sizes(lineage)
        drawn, again = draw(lineage, sizes, Asked()), draw(other, stratum_sizes(other), Asked())
        counted = lineage.query(
            f"SELECT count(*) AS n FROM {lineage.scan('decisions')} "
            "WHERE reason IS DISTINCT FROM 'suppressed'"
        )
    assert drawn == again
    assert sum(sizes.values()) == counted[0]["n"]
    numbers = Counter(row["stratum"] for row in drawn.records)
    fitting = {stratum for stratum in sizes if stratum.stage != BEFORE_TEXT}
    assert set(numbers) == fitting, "each has its place while there are places enough"
    assert drawn.unrepresented == []
    assert len({(row["doc_id"], row["part"], row["offset"]) for row in drawn.records}) == sum(
        numbers.values()
    )
    for row in drawn.records:
        stratum = row["stratum"]
        assert (row["of"], row["among"]) == (sizes[stratum], numbers[stratum])
        assert row["place"] <= row["among"] <= row["of"]
        assert stratum.decision == (
            f"kept: {row['domain']} / {row['tier']}"
            if row["kept"]
            else f"{row['stage']}: {row['reason']}"
        )


def test_a_larger_sample_contains_the_smaller_one_and_rules_that_have_no_place_are_named(
    small_build: Place,
) -> None:
    with opened(small_build) as lineage:
        sizes = stratum_sizes(lineage)
        some, more = (draw(lineage, sizes, Asked(n, n)) for n in (2, 5))
    places = [[(row["doc_id"], row["offset"]) for row in sample.records] for sample in (some, more)]
    assert set(places[0]) < set(places[1])
    assert Counter(row["kept"] for row in some.records) == {True: 2, False: 2}
    drawn = {row["stratum"].decision for row in some.records}
    assert set(some.unrepresented) == {
        stratum.decision for stratum in sizes if stratum.stage != BEFORE_TEXT
    } - set(drawn)
    assert some.unrepresented


def test_filters_draw_from_the_same_order_and_what_has_no_text_only_where_it_is_asked_for(
    small_build: Place,
) -> None:
    with opened(small_build) as lineage:
        sizes = stratum_sizes(lineage)
        everything = draw(lineage, sizes, Asked(1000, 1000)).records
        german = draw(lineage, sizes, Asked(language="de")).records
        rule = german[0]["decision"]
        one = draw(lineage, sizes, Asked(decision=rule, language="de")).records
        refused = draw(lineage, sizes, Asked(decision="documents: opted_out")).records
    assert {row["language"] for row in german} == {"de"}
    assert [row["doc_id"] for row in one] == [
        row["doc_id"] for row in german if row["decision"] == rule
    ]
    assert refused
    assert BEFORE_TEXT not in {row["stage"] for row in everything}
    assert {row["reason"] for row in refused} == {"opted_out"}


def test_page_types_are_strata_where_documents_have_them(place: Place) -> None:
    with opened(place) as lineage:
        paths = {Path(str(place.store), row.path) for row in lineage.files["documents"]}
    for path in paths:
        table = pq.read_table(path)
        types = ["forum" if n % 2 else "article" for n in range(table.num_rows)]
        path.unlink()  # the store's files are read-only
        pq.write_table(table.append_column("page_type", pa.array(types, pa.string())), path)
    with opened(place) as lineage:
        sizes = stratum_sizes(lineage)
        forums = draw(lineage, sizes, Asked(page_type="forum")).records
        doc_id = forums[0]["doc_id"].hex()
        found = strata_of(lineage, [doc_id], [(forums[0]["snapshot"], forums[0]["part"])])
    assert {stratum.page_type for stratum in sizes if stratum.stage != BEFORE_TEXT} == {
        "article",
        "forum",
    }
    assert {row["page_type"] for row in forums} == {"forum"}
    assert {row["page_type"] for row in found if row["offset"] == forums[0]["offset"]} == {"forum"}


def test_a_takedown_leaves_its_records_out_and_moves_no_other(place: Place) -> None:
    with opened(place) as lineage:
        sizes = stratum_sizes(lineage)
        before = draw(lineage, sizes, Asked())
        gone = before.records[3]["doc_id"]
        add_orders(lineage.registry, [SuppressionRow("doc_id", gone.hex())])
        after = draw(lineage, sizes, Asked())
    assert after.withheld == len(before.records) - len(after.records) > 0
    assert list(after.records) == [row for row in before.records if row["doc_id"] != gone]


def test_strata_of_judged_records_are_those_that_they_are_drawn_from(small_build: Place) -> None:
    with opened(small_build) as lineage:
        records = draw(lineage, stratum_sizes(lineage), Asked()).records
        found = strata_of(
            lineage,
            [row["doc_id"].hex() for row in records],
            [(row["snapshot"], row["part"]) for row in records],
        )
    known = {
        (row["doc_id"], row["part"], row["offset"]): Stratum(
            row["decision"], row["language"], row["page_type"]
        )
        for row in found
    }
    for row in records:
        assert known[row["doc_id"], row["part"], row["offset"]] == row["stratum"]
