"""A rule that drops most of one language is told of by language, and drops no more for it."""

from pathlib import Path
from typing import Any

import pytest

from corpus_assets.cli.build_view import _losses
from corpus_assets.graph.checks import CheckOutcome, check_asset
from corpus_assets.graph.run import run_asset
from corpus_assets.select.losses import rule_losses_message, summed_losses
from corpus_assets.session import Session
from corpus_assets_tests.clean.page_corpus import Corpus, clean

ENGLISH = "The weather over the northern coast was calm and the boats came home before night. "
FRENCH = "Le temps sur la côte du nord était calme et les bateaux sont rentrés avant la nuit. "
GERMAN = "Das Wetter an der Küste im Norden war ruhig und die Boote kamen vor der Nacht heim. "
RULES: list[dict[str, Any]] = [
    {"name": "language", "signal": "language", "in": ["en", "fr"]},
    {"name": "few_stop_words", "signal": "stop_words_distinct", "min": 2},
]
FAMILIES = [{"family": "language"}, {"family": "gopher_quality"}]


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    return Corpus(tmp_path)


def session_of(corpus: Corpus, **selection: Any) -> Session:
    pages = [
        (f"http://{name}{i}.example.org/", f"{text * 3}{i}")
        for name, text in (("en", ENGLISH), ("fr", FRENCH), ("de", GERMAN))
        for i in range(25)
    ]
    return corpus.session(
        [pages[::2], pages[1::2]],
        signals={"families": FAMILIES},
        selection={"rules": RULES, **selection},
        clusters={"min_similarity": None},
    )


def outcome_of(session: Session) -> CheckOutcome:
    clean(session)
    report = run_asset(
        session.pipeline, session.engine, session.registry, session.progress, "selection", "s"
    )
    (outcome,) = [
        one for one in check_asset(session.pipeline, report) if one.name == "language_losses"
    ]
    return outcome


def test_the_check_names_rule_language_and_share_over_all_parts(corpus: Corpus) -> None:
    session = session_of(corpus)
    outcome = outcome_of(session)
    assert (outcome.passed, outcome.is_warning) == (False, True)
    assert "`few_stop_words` drops 100% of 25 documents in fr" in outcome.message
    assert "in en" not in outcome.message
    assert " de" not in outcome.message  # not wanted, so not lost
    assert any(
        "few_stop_words" in line for lines in _losses(session.pipeline).values() for line in lines
    )


def test_a_bound_by_language_ends_the_warning(corpus: Corpus) -> None:
    rules = [RULES[0], {**RULES[1], "languages": {"fr": {"min": 0}}}]
    outcome = outcome_of(session_of(corpus, rules=rules))
    assert outcome.passed, outcome.message


def test_few_documents_are_not_judged() -> None:
    parts = [{"lo": {"*": 10, "word_length": 9}}, {"lo": {"*": 9, "word_length": 9}}]
    assert rule_losses_message(summed_losses(parts), 0.5)[0]
    passed, message = rule_losses_message(summed_losses([*parts, {"lo": {"*": 1}}]), 0.5)
    assert not passed
    assert "`word_length` drops 90% of 20 documents in lo" in message
    assert rule_losses_message(summed_losses([*parts, {"lo": {"*": 17}}]), 0.5)[0]  # exactly half
