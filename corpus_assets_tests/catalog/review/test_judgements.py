"""Wrongful loss and precision, estimated from judgements of a stratified sample."""

import json
import random
from dataclasses import replace

import pytest
from click.testing import CliRunner

from catalog.cli.commands import main
from catalog.db.registry import Registry
from catalog.db.rows import JudgementRow
from catalog.figures import wilson
from catalog.formats.store import FileStore
from catalog.lineage import Row
from catalog.lineage.tables import Lineage
from catalog.review.judgements import (
    Judged,
    ShareGood,
    judged_records,
    list_judgements,
    share_good,
    summarise_judgements,
)
from catalog.review.records import is_good, new_judgement, place_of
from catalog.review.strata import Asked, Stratum, draw, stratum_sizes
from corpus_assets.core.home import Home
from corpus_assets_tests.conftest import VERSION, Place

COMMON = Stratum("selection: short", "en", "")
RARE = Stratum("selection: short", "de", "")


def judged(stratum: Stratum, *good: float) -> list[Judged]:
    return [Judged({}, stratum, one) for one in good]


def opened(place: Place) -> Lineage:
    home = Home.resolve(str(place.home))
    return Lineage(Registry(home.catalog_url), FileStore(home.store_url), VERSION)


def judge(lineage: Lineage, row: Row, good: bool, by: str = "ann") -> JudgementRow:
    doc_id, snapshot, part, offset = place_of(row)
    place = {"doc_id": doc_id, "snapshot": snapshot, "part": str(part), "offset": str(offset)}
    judgement = new_judgement(lineage, place, good, "a word", by)
    lineage.registry.judge(judgement)
    return judgement


# Shares and intervals.


def test_answers_of_equal_weight_have_wilsons_interval() -> None:
    found = share_good("all", judged(COMMON, *[1] * 3, *[0] * 9), {COMMON: 600}, 600)
    assert (found.judged, found.good, found.share, found.records) == (12, 3, 0.25, 600)
    assert (found.low, found.high) == pytest.approx(wilson(3, 12))
    assert (found.low, found.high) == pytest.approx((0.0889, 0.5323), abs=1e-4)
    assert found.covered == 1


def test_answers_are_weighted_by_the_records_of_their_stratum() -> None:
    """Of 900 common records half are good, of 100 rare ones all: 55%, not 75%."""
    answers = [*judged(COMMON, 1, 0, 1, 0), *judged(RARE, 1, 1, 1, 1)]
    found = share_good("short", answers, {COMMON: 900, RARE: 100}, 1000)
    assert found.share == pytest.approx(0.55)
    effective = (4 * 225 + 4 * 25) ** 2 / (4 * 225**2 + 4 * 25**2)
    assert effective == pytest.approx(4.878, abs=1e-3)
    assert (found.low, found.high) == pytest.approx(wilson(0.55 * effective, effective))


def test_strata_without_an_answer_are_not_covered() -> None:
    found = share_good("short", judged(COMMON, 1), {COMMON: 900, RARE: 100}, 1000)
    assert (found.share, found.covered) == (1, 0.9)
    unseen = share_good("short", judged(RARE, 1), {COMMON: 900}, 900)
    assert (unseen.records, unseen.share) == (900, 1)


def test_a_wide_interval_has_too_few_answers() -> None:
    few = share_good("all", judged(COMMON, 1, 0, 0), {COMMON: 9}, 9)
    many = share_good("all", judged(COMMON, *[1, 0, 0] * 5), {COMMON: 90}, 90)
    assert (few.is_enough, few.estimate) == (False, "not enough answers")
    assert (many.is_enough, many.estimate) == (True, "33.3%")


def test_answers_on_few_of_the_strata_do_not_speak_for_all() -> None:
    """50 answers on a rule that dropped 50 of 950 records say nothing of the others."""
    found = share_good("all", judged(RARE, *[0] * 50), {COMMON: 900, RARE: 50}, 950)
    assert found.high < 0.1
    assert (found.is_enough, found.estimate) == (False, "not enough answers")
    half = share_good("all", judged(RARE, *[0] * 50), {COMMON: 50, RARE: 50}, 100)
    assert (half.covered, half.is_enough) == (0.5, True)


def test_weighting_corrects_a_sample_in_which_rare_strata_are_frequent() -> None:
    """Over many samples the mean is the true share, and intervals hold it about as often as said."""
    chance = random.Random(7)
    sizes = {COMMON: 9_500, RARE: 500}
    shares = {COMMON: 0.2, RARE: 0.9}
    truth = 0.95 * 0.2 + 0.05 * 0.9
    found: list[ShareGood] = []
    for _ in range(400):
        answers = [
            one
            for stratum in sizes
            for one in judged(stratum, *(chance.random() < shares[stratum] for _ in range(30)))
        ]
        found.append(share_good("all", answers, sizes, 10_000))
    assert sum(one.share for one in found) / 400 == pytest.approx(truth, abs=0.015)
    unweighted = sum(one.good / one.judged for one in found) / 400
    assert unweighted == pytest.approx(0.55, abs=0.02)
    assert sum(one.low <= truth <= one.high for one in found) / 400 > 0.92


# Of a version.


def test_a_judgement_says_whether_the_document_is_good(place: Place) -> None:
    with opened(place) as lineage:
        records = draw(lineage, stratum_sizes(lineage), Asked(1, 1)).records
        rows = [judge(lineage, row, good) for row in records for good in (True, False)]
    assert [(row.stage == "kept", is_good(row), row.agrees) for row in rows] == [
        (True, True, True),
        (True, False, False),
        (False, True, False),
        (False, False, True),
    ]


def test_a_record_counts_once_whoever_judged_it(place: Place) -> None:
    with opened(place) as lineage:
        (record,) = draw(lineage, stratum_sizes(lineage), Asked(1, 0)).records
        rows = [judge(lineage, record, good, by) for by, good in (("ann", True), ("ben", False))]
        (one,) = judged_records(lineage, [*rows, replace(rows[0], doc_id="00" * 16)])
    assert (one.good, one.stratum) == (0.5, record["stratum"])


def test_loss_and_precision_are_told_by_rule_language_and_tier(place: Place) -> None:
    with opened(place) as lineage:
        sizes = stratum_sizes(lineage)
        nothing = summarise_judgements(lineage, stratum_sizes)
        records = draw(lineage, sizes, Asked()).records
        for row in records:
            judge(lineage, row, row["kept"] or row["reason"] == "language")
        told = list_judgements(lineage, True)
    assert (nothing.dropped, nothing.kept) == ([], [])
    assert "no judgements" in str(nothing.conclusion)
    dropped = {one.group: one for one in told.dropped}
    assert dropped["selection: language"].share == 1
    assert {one.share for name, one in dropped.items() if name not in ("all", "selection: language")
            } == {0}  # fmt: skip
    every = sum(n for one, n in sizes.items() if not one.is_kept and one.stage != "documents")
    lost = sum(n for one, n in sizes.items() if one.decision == "selection: language")
    assert dropped["all"].records == every
    assert dropped["all"].share == pytest.approx(lost / every)
    assert all(one.covered == 1 for one in told.dropped)
    kept = {one.group: one for one in told.kept}
    assert kept["all"].share == 1
    assert {one.decision.removeprefix("kept: ") for one in sizes if one.is_kept} <= set(kept)
    assert kept["language en"].records == sum(
        n for one, n in sizes.items() if one.is_kept and one.language == "en"
    )
    assert told.judgements is not None
    assert len(told.judgements) == len(records)
    home = ["--version", VERSION, "--home", str(place.home)]
    answer = json.loads(CliRunner().invoke(main, ["judgements", *home, "--json"]).stdout)
    assert {one["group"]: one["share"] for one in answer["dropped"]} == {
        name: one.share for name, one in dropped.items()
    }
    assert {one["group"]: one["is_enough"] for one in answer["kept"]} == {
        name: one.is_enough for name, one in kept.items()
    }
    assert {one["threshold"] for one in answer["thresholds"]} == {
        one.threshold for one in told.thresholds
    }
    text = CliRunner().invoke(main, ["judgements", *home]).stdout
    assert "dropped, selection: language" in text
    assert "not enough answers" in text
    assert "no threshold is proposed" in text
