"""Sentences cut by the score of a classifier, in whole builds: what goes, what is said of it, and
what another bound costs."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from catalog.formats.token_text import extracted_range
from corpus_assets.core.errors import ModelError, RecipeError
from corpus_assets.core.task import read_table
from corpus_assets.graph.run import run_asset
from corpus_assets.inspect.plan import plan_build
from corpus_assets.recipe.load import changed_recipe, parse_recipe
from corpus_assets.session import Session
from corpus_assets_tests.clean.page_corpus import (
    Corpus,
    Page,
    clean,
    recipe_of,
    rows,
)
from corpus_assets_tests.signals.support.fasttext_files import fasttext_file
from corpus_assets_tests.signals.test_sentences import KIND, RUDE
from corpus_assets_tests.small_corpus import prose

HOST = "http://forum.example.org"
MENU = "Log in | Register"
RUDE_PAGE = f"{MENU}\n{KIND[1]} {RUDE[2]} {KIND[3]}\n{RUDE[4]}\n{KIND[5]}"
PAGES: list[Page] = [
    (f"{HOST}/mixed", RUDE_PAGE),
    (f"{HOST}/rude", f"{RUDE[6]} {RUDE[7]}\n{RUDE[8]}"),
    *((f"{HOST}/{i}", prose("forum", i)) for i in range(6)),
]
STEP = {"family": "c4_lines", "min_words": 5}
CUT = {"name": "rude", "labels": {"toxic": 1}, "min_score": 0.5}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    path = tmp_path_factory.mktemp("models") / "rude.bin"
    sha256 = fasttext_file(
        path, {"toxic": RUDE, "other": KIND + [prose("f", i) for i in range(40)]}
    )
    return {"model": {"path": str(path), "sha256": sha256}, "text": "plain"}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return Corpus(tmp_path_factory.mktemp("sentences"))


def changes(model: dict[str, str], *families: dict[str, Any], **cut: Any) -> dict[str, Any]:
    return {
        "classifiers": {"rude": model},
        "signals": {"families": [*families, {"family": "gopher_quality"}]},
        "clean_text": {"sentences": [CUT | cut], "min_chars": 10},
        "clusters": {"min_similarity": None},
    }


@pytest.fixture(scope="module")
def built(corpus: Corpus, model: dict[str, str]) -> Session:
    return corpus.build([PAGES[:1], PAGES[1:]], **changes(model))


def mixed(session: Session) -> dict[str, Any]:
    (row,) = (row for row in rows(session) if KIND[1] in row["text"])
    return row


def test_sentences_of_the_kind_go_and_the_white_space_around_them_stays(built: Session) -> None:
    row = mixed(built)
    assert row["text"] == f"{MENU}\n{KIND[1]}  {KIND[3]}\n\n{KIND[5]}"
    cut = [(edit["kind"], RUDE_PAGE[edit["start"] : edit["end"]]) for edit in row["edits"]]
    assert cut == [("sentence:rude", RUDE[2]), ("sentence:rude", RUDE[4])]
    edits = [(edit["start"], edit["end"], edit["new_length"]) for edit in row["edits"]]
    start = row["text"].index(KIND[3])
    low, high = extracted_range(edits, start, start + len(KIND[3]))
    assert RUDE_PAGE[low:high] == KIND[3]
    counts = [part.counts["cut_sentences"] for part in built.pipeline.results("clean_text", "s")]
    assert counts == [2, 0]


def test_a_page_of_which_nothing_is_left_has_one_reason(built: Session) -> None:
    dropped = [row for row in rows(built, "decisions.parquet") if not row["kept"]]
    assert [(row["stage"], row["reason"]) for row in dropped] == [
        ("clean_text", "too_short_after_cleaning")
    ]


def test_scores_hold_no_text_and_only_sentences_that_a_bound_could_ask_for(built: Session) -> None:
    for part in built.pipeline.results("sentence_scores", "s"):
        table = read_table(built.pipeline.store, part.outputs["sentence_scores.parquet"])
        assert table.column_names == ["rude"]
        for found in table["rude"].to_pylist():
            assert all(one["score"] >= 0.01 and one["start"] < one["end"] for one in found)


def is_scored(session: Session, key: str, value: Any) -> bool:
    """Whether all sentences are scored already for a recipe with one key changed."""
    recipe = changed_recipe(session.pipeline.recipe, {key: value}, "changed")
    pipeline = replace(session.pipeline, recipe=recipe)
    return all(pipeline.result_of(task) for task in pipeline.tasks("sentence_scores", "s"))


def test_another_bound_or_threshold_scores_no_sentence_again(built: Session) -> None:
    assert is_scored(built, "clean_text.sentences.rude.min_score", 0.9)
    assert is_scored(built, "selection.rules.few_words.min", 20)
    assert not is_scored(built, "clean_text.sentences.rude.labels", {"other": 1})


def test_sentences_are_those_that_rewriting_leaves_with_places_in_the_extracted_text(
    corpus: Corpus, model: dict[str, str]
) -> None:
    split = RUDE_PAGE.replace("fool number 2", "fool[1] number 2")
    row = mixed(corpus.build([[(f"{HOST}/a", split), *PAGES[2:]]], **changes(model, STEP)))
    assert row["text"] == f"{KIND[1]}  {KIND[3]}\n\n{KIND[5]}"
    kinds = [edit["kind"] for edit in row["edits"]]
    assert kinds == ["text_step", "sentence:rude", "sentence:rude"]
    cut = row["edits"][1]
    assert split[cut["start"] : cut["end"]] == RUDE[2].replace("fool", "fool[1]")


def test_other_domains_are_neither_scored_nor_cut(corpus: Corpus, model: dict[str, str]) -> None:
    session = corpus.build([PAGES[:1]], **changes(model, domains=["books"]))
    assert session.pipeline.tasks("sentence_scores", "s") == []
    assert mixed(session)["text"] == RUDE_PAGE


def test_a_classifier_of_sentences_can_be_trained_here(corpus: Corpus, tmp_path: Path) -> None:
    for name, texts in (("rude", RUDE), ("kind", [*KIND, *(prose("f", i) for i in range(40))])):
        lines = (json.dumps({"text": text}) for text in texts)
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))
    learned = {
        "positives": [str(tmp_path / "rude.jsonl")],
        "negatives": [str(tmp_path / "kind.jsonl")],
    }
    said = changes(learned) | {"clean_text": {"sentences": [{"name": "rude", "min_score": 0.5}]}}
    session = corpus.session([PAGES], **said)
    for asset in ("documents", "classifiers"):
        snapshot = "s" if asset == "documents" else None
        run_asset(
            session.pipeline, session.engine, session.registry, session.progress, asset, snapshot
        )
    clean(session)
    assert mixed(session)["text"] == f"{MENU}\n{KIND[1]}  {KIND[3]}\n\n{KIND[5]}"


def test_a_model_that_is_not_here_is_refused_before_any_work(corpus: Corpus) -> None:
    session = corpus.session([PAGES], **changes({"model": "no-such-model"}))
    with pytest.raises(ModelError, match="model no-such-model is not installed: run `corpus mod"):
        plan_build(session.pipeline, session.registry)


@pytest.mark.parametrize(
    ("sentences", "message"),
    [
        ([CUT, CUT], "sentences: rude is a duplicate; name each classifier once"),
        ([CUT | {"min_score": 0.001}], "min_score: Input should be greater than or equal to 0.01"),
        ([CUT | {"name": "vile"}], "classifiers.vile: a signal family or a cut of sentences needs"),
    ],
)
def test_cuts_that_cannot_be_made_are_refused(
    model: dict[str, str], sentences: list[Any], message: str
) -> None:
    said = changes(model) | {"clean_text": {"sentences": sentences}}
    with pytest.raises(RecipeError, match=message):
        parse_recipe(recipe_of(**said), "recipe")
