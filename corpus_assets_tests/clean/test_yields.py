"""A page type or language that keeps clearly less than the others is told of, with the rule that makes
the difference; one that is as good, small or not asked for is not."""

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from corpus_assets.clean.yields import (
    PARTS,
    SITE_GROUPS,
    SITES,
    Yields,
    part_yields,
    snapshot_yields,
    summed_yields,
    yield_losses,
    yield_losses_message,
)
from corpus_assets.cli.build_view import _losses
from corpus_assets.core.schemas import DECISIONS
from corpus_assets.graph.checks import CheckOutcome, check_asset
from corpus_assets.graph.run import run_asset
from corpus_assets.session import Session
from corpus_assets_tests.clean.page_corpus import Corpus, clean
from corpus_assets_tests.select.test_language_losses import ENGLISH, FRENCH, GERMAN, RULES

TYPES = ("article", "forum", "listing", "product", "other")
LANGUAGES = tuple(f"l{n}" for n in range(30))
KEPT = ("kept", "")
EVERYWHERE, PLANTED = ("selection", "short_lines"), ("selection", "list_like")


def invented(seed: int, left: float, documents: int = 5_000) -> Yields:
    """Documents of all types and languages, a few of some; a rule drops as many of each."""
    draw = np.random.default_rng(seed)
    sizes = np.outer(1 / np.arange(1, 6), 1 / np.arange(1, 31))
    totals = draw.multinomial(documents, (sizes / sizes.sum()).ravel()).reshape(sizes.shape)
    kept = draw.binomial(totals, left)
    out: Yields = {}
    for t, kind in enumerate(TYPES):
        for s, language in enumerate(LANGUAGES):
            lost = int(totals[t, s] - kept[t, s])
            outcomes = [KEPT] * int(kept[t, s]) + [EVERYWHERE] * lost
            for outcome, site in zip(outcomes, sites_of(draw, len(outcomes)), strict=True):
                out.setdefault((kind, language, site), Counter())[outcome] += 1
    return out


def sites_of(draw: np.random.Generator, documents: int) -> list[int]:
    return draw.integers(SITE_GROUPS, size=documents).tolist()


def spread_out(outcomes: dict[tuple[str | None, str | None], Counter[tuple[str, str]]]) -> Yields:
    """Documents of as many sites as there can be."""
    out: Yields = {}
    for group, own in outcomes.items():
        for number, outcome in enumerate(sorted(own.elements(), key=hash)):
            out.setdefault((*group, 37 * number % SITE_GROUPS), Counter())[outcome] += 1
    return out


@pytest.mark.parametrize(
    "left",
    [0.05, 0.6, *(pytest.param(left, marks=pytest.mark.slow) for left in (0.3, 0.9))],
)
def test_where_nothing_loses_more_there_is_hardly_ever_a_warning(left: float) -> None:
    warned = [seed for seed in range(100) if not yield_losses_message(invented(seed, left))[0]]
    assert len(warned) <= 5, warned


@pytest.mark.parametrize("seed", range(10))
def test_a_planted_loss_is_named_with_the_rule_that_makes_the_difference(seed: int) -> None:
    yields = invented(seed, 0.5)
    for (kind, *_), outcomes in yields.items():
        if kind == "listing":
            moved = round(outcomes[KEPT] * 0.6)
            outcomes.update({KEPT: -moved, PLANTED: moved})
    (loss,) = yield_losses(yields)
    listings = summed(yields, "listing")
    assert listings[EVERYWHERE] > listings[PLANTED], "the rule that takes most everywhere"
    assert (loss.kind, loss.name, loss.reason) == ("page type", "listing", "list_like")
    assert loss.documents == listings.total()
    assert loss.share == listings[KEPT] / listings.total() < 0.3 < loss.others_share
    assert loss.reason_others_share == 0 < loss.reason_share
    passed, message = yield_losses_message(yields)
    assert not passed
    assert f"page type listing: {loss.share:.0%} of {listings.total():,} documents" in message
    assert "`list_like` drops" in message


def summed(yields: Yields, kind: str) -> Counter[tuple[str, str]]:
    return sum((one for group, one in yields.items() if group[0] == kind), Counter())


def test_a_language_is_judged_as_a_type_is_and_the_worst_comes_first() -> None:
    outcomes = {
        ("article", "en"): Counter({KEPT: 90, EVERYWHERE: 10}),
        ("article", "fr"): Counter({KEPT: 30, EVERYWHERE: 70}),
        ("forum", "fr"): Counter({KEPT: 5, EVERYWHERE: 95}),
    }
    named = [(one.kind, one.name) for one in yield_losses(spread_out(outcomes))]
    assert named == [("page type", "forum"), ("language", "fr")]


def test_copies_small_groups_and_documents_without_a_type_are_no_losses() -> None:
    good = Counter({KEPT: 90, EVERYWHERE: 10})
    copies = Counter({KEPT: 10, ("clusters", "repeated_text"): 80, EVERYWHERE: 10})
    few = Counter({EVERYWHERE: 19})
    outcomes = {("article", "en"): good, ("forum", "en"): copies, ("product", "lo"): few}

    def passes(more: dict[tuple[str | None, str | None], Counter[tuple[str, str]]]) -> bool:
        return yield_losses_message(spread_out(outcomes | more))[0]

    assert passes({(None, None): Counter({EVERYWHERE: 90})})
    assert not passes({("product", "lo"): Counter({EVERYWHERE: 30})})
    alone = {("forum", "fr"): Counter({EVERYWHERE: 100})}
    assert yield_losses_message(spread_out(alone))[0], "nothing beside"
    assert yield_losses_message({})[0]


def test_one_large_site_decides_about_no_page_type() -> None:
    yields = spread_out({("article", "en"): Counter({KEPT: 900, EVERYWHERE: 100})})
    yields |= {("forum", "en", site): Counter({KEPT: 9, EVERYWHERE: 1}) for site in range(20)}
    one_site: Yields = {("forum", "en", 30): Counter({EVERYWHERE: 400})}
    assert yield_losses_message(yields | one_site)[0]
    every_site: Yields = {("forum", "en", site): Counter({EVERYWHERE: 20}) for site in range(20)}
    assert not yield_losses_message(yields | every_site)[0]


@pytest.mark.parametrize("left", [0.2, 0.5, 0.8])
def test_where_sites_are_kept_or_lost_as_a_whole_there_is_hardly_ever_a_warning(
    left: float,
) -> None:
    def drawn(seed: int) -> Yields:
        draw = np.random.default_rng(seed)
        return {
            (kind, "en", site): Counter({KEPT if draw.random() < left else EVERYWHERE: int(n)})
            for kind in TYPES
            for site, n in enumerate(draw.integers(1, 60, size=SITE_GROUPS))
        }

    warned = [seed for seed in range(100) if not yield_losses_message(drawn(seed))[0]]
    assert len(warned) <= 5, warned


def decisions_of(rows: list[dict[str, Any]]) -> pa.Table:
    empty = {"doc_id": bytes(16), "snapshot": "s", "part": 0, "offset": 0, "kept": False,
             "domain": "web"}  # fmt: skip
    full = [dict.fromkeys(DECISIONS.names) | empty | row for row in rows]
    return pa.Table.from_pylist(full, DECISIONS)


@pytest.mark.parametrize("seed", range(20))
def test_documents_of_a_part_are_counted_one_by_one(seed: int) -> None:
    draw = np.random.default_rng(seed)

    def some(*values: Any) -> Any:
        return values[draw.integers(len(values))]

    rows, types, hosts, expected = [], [], [], Counter[Any]()
    for _ in range(60):
        stage = some(None, "documents", "selection", "clusters")
        failed = [rule for rule in ("language", "kind", "short") if draw.random() < 0.2]
        row = {
            "stage": stage,
            "reason": stage and f"of {stage}",
            "language": some("en", "fr", None),
        }
        rows.append(row | {"failed_rules": None if stage == "documents" else failed})
        if stage != "documents":
            types.append(some("forum", None))
            hosts.append(some("a.example", "b.example"))
            if not {"language", "kind"} & set(failed):
                outcome = (stage or "kept", row["reason"] or "")
                expected[types[-1], row["language"], group_of(hosts[-1].encode()), outcome] += 1
    documents = pa.table({"page_type": pa.array(types, pa.string()), "host": hosts})
    found = part_yields(decisions_of(rows), documents, {"language", "kind"})
    flat = Counter({(*group, o): n for group, one in found.items() for o, n in one.items()})
    assert flat == expected
    untyped = part_yields(decisions_of(rows), documents.drop_columns(["page_type"]), set())
    assert {kind for kind, *_ in untyped} == {None}
    assert sum(one.total() for one in untyped.values()) == len(types)
    alone = part_yields(decisions_of(rows), documents.drop_columns(["host"]), set())
    assert {site for *_, site in alone} == {group_of(bytes(16))}, "by the ids of documents"


def group_of(name: bytes) -> int:
    return SITES.place(name) % SITE_GROUPS


@pytest.fixture
def session(corpus: Corpus) -> Session:
    pages = [
        (f"http://{name}{i % 15}.example.org/{i}", f"{text * 3}{i}")
        for name, text in (("en", ENGLISH), ("fr", FRENCH), ("de", GERMAN))
        for i in range(30)
    ]
    return corpus.session(
        [pages[::2], pages[1::2]],
        signals={"families": [{"family": "language"}, {"family": "gopher_quality"}]},
        selection={"rules": RULES},
        clusters={"min_similarity": None},
    )


@pytest.fixture
def corpus(tmp_path: Any) -> Corpus:
    return Corpus(tmp_path)


def test_the_check_counts_all_parts_and_leaves_out_what_a_rule_does_not_ask_for(
    session: Session,
) -> None:
    clean(session)
    outcome = outcome_of(session)
    assert (outcome.passed, outcome.is_warning) == (False, True)
    assert "language fr: 0% of 30 documents left, of the others 100%" in outcome.message
    assert "`few_stop_words` drops 100% of them, of the others 0%" in outcome.message
    assert "language de" not in outcome.message
    lines = [line for lines in _losses(session.pipeline).values() for line in lines]
    assert f"s: {outcome.message}" in lines
    whole = snapshot_yields(session.pipeline, "s", PARTS)
    assert sum(one.total() for one in whole.values()) == 60
    half = snapshot_yields(session.pipeline, "s", 1)
    assert sum(one.total() for one in half.values()) == 30
    assert summed_yields([half, half]).keys() == whole.keys()


def outcome_of(session: Session) -> CheckOutcome:
    report = run_asset(
        session.pipeline, session.engine, session.registry, session.progress, "clean_text", "s"
    )
    (outcome,) = [
        one for one in check_asset(session.pipeline, report) if one.name == "yield_losses"
    ]
    return outcome
