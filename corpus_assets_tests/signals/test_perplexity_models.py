"""Training perplexity models: bounds, order of the texts, what is refused, what is measured."""

import random

import pytest
import yaml
from pydantic import ValidationError

from corpus_assets.core.errors import RecipeError
from corpus_assets.models.ngram_file import parse_models
from corpus_assets.models.ngram_settings import NgramSettings
from corpus_assets.models.ngram_training import join_ngram_models, train_ngram_model
from corpus_assets.signals.stages.perplexity_settings import PerplexityModelEntry
from corpus_assets_tests.models.test_ngram_models import sample_texts


def test_the_order_of_texts_and_copies_of_them_change_nothing() -> None:
    texts = sample_texts(1, 80)
    settings = NgramSettings(order=3)
    whole = train_ngram_model("en", texts, settings)
    shuffled = [*texts, *texts[:7], "", "  "]
    random.Random(2).shuffle(shuffled)
    again = train_ngram_model("en", shuffled, settings)
    assert again.model == whole.model
    assert again.metrics == whole.metrics


def test_the_model_is_as_small_as_asked_for() -> None:
    texts = sample_texts(3, 200)
    settings = NgramSettings(order=4, max_vocabulary=6, max_ngrams=50)
    made = train_ngram_model("en", texts, settings)
    model = parse_models(made.model, "en")["en"]
    assert model.vocabulary.size <= 6
    assert sum(model.sizes[1:]) <= 50
    assert made.metrics["min_ngram_count"] > 1


def test_no_more_text_is_read_than_allowed() -> None:
    texts = [f"text number {n} says " + "word " * 100 for n in range(100)]
    made = train_ngram_model("en", texts, NgramSettings(max_chars=5_000))
    assert made.metrics["n_texts"] + made.metrics["n_holdout_texts"] == 9


def test_another_seed_holds_out_other_texts() -> None:
    texts = sample_texts(4, 60)
    one, other = (train_ngram_model("en", texts, NgramSettings(seed=seed)).model for seed in (0, 1))
    assert one != other


def test_metrics_say_how_the_model_did_on_texts_it_never_saw() -> None:
    metrics = train_ngram_model("en", sample_texts(5, 100), NgramSettings(order=3)).metrics
    assert metrics["n_holdout_texts"] == 5
    shares = list(metrics["holdout_perplexity"].values())
    assert shares == sorted(shares)
    assert 1 < shares[0] < 1000
    assert 0 < metrics["unknown_share"] < 0.2


def test_too_few_texts_are_refused_with_the_key_of_the_model() -> None:
    with pytest.raises(RecipeError, match=r"perplexity.de: 3 distinct texts, needed: 10"):
        train_ngram_model("de", ["a", "b", "c", "c", " "], NgramSettings())


def test_models_are_joined_into_one_file_in_the_order_of_names() -> None:
    files = [
        train_ngram_model(name, sample_texts(seed, 20), NgramSettings(order=2)).model
        for name, seed in (("fr", 1), ("de", 2))
    ]
    joined = join_ngram_models(files)
    assert list(parse_models(joined, "all")) == ["de", "fr"]
    assert join_ngram_models(reversed(files)) == joined


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("{}", "either `texts` to train on, or `model`"),
        ("{texts: [a], model: b}", "either `texts` to train on, or `model`"),
        ("{model: {path: b}}", "a model by path needs its `sha256`"),
        ("{model: {path: b, name: c, sha256: d}}", "set either `name` or `path`"),
        ("{texts: [a], pieces: b}", "`pieces` goes with `model`"),
        ("{model: b, where: {lang: de}}", "`where` goes with `texts`"),
        ("{texts: [a], order: 1}", "greater than or equal to 2"),
    ],
)
def test_an_entry_that_makes_no_sense_is_refused(entry: str, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        PerplexityModelEntry.model_validate(yaml.safe_load(entry))


def test_where_files_lie_is_no_part_of_what_a_model_is() -> None:
    def entries(folder: str) -> list[object]:
        said = [
            {"texts": [f"{folder}/en.jsonl"]},
            {"model": {"path": f"{folder}/de.bin", "sha256": "00"}},
        ]
        return [PerplexityModelEntry.model_validate(entry).identity() for entry in said]

    assert entries("here") == entries("there")
