"""Perplexity and divergence as signals: columns, languages, KenLM models, what is refused."""

import importlib
import importlib.util
import json
import math
from pathlib import Path

import pyarrow as pa
import pytest
from pydantic import ValidationError

from corpus_assets.core.errors import MissingExtra, ModelError
from corpus_assets.models.ngram_file import load_models
from corpus_assets.models.ngram_perplexity import perplexities
from corpus_assets.models.ngram_settings import NgramSettings
from corpus_assets.models.ngram_training import join_ngram_models, train_ngram_model
from corpus_assets.signals.kenlm_perplexity import ccnet_normalised
from corpus_assets.signals.perplexity import MODEL, PIECES, Perplexity, TokenDivergence
from corpus_assets.signals.stages.settings import SignalSettings
from corpus_assets.signals.stages.signals import compute_signals
from corpus_assets.text.batch import TextBatch
from corpus_assets_tests.models.test_ngram_models import sample_texts
from corpus_assets_tests.signals.support.texts import ADVERSARIAL

ARPA = """\\data\\
ngram 1=5
ngram 2=3

\\1-grams:
-1.0\t<unk>\t0
0\t<s>\t-0.5
-1.2\t</s>\t0
-0.7\tcafe\t-0.3
-0.9\t00\t-0.2

\\2-grams:
-0.2\t<s> cafe
-0.4\tcafe 00
-0.6\t00 </s>

\\end\\
"""


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    path = tmp_path_factory.mktemp("models") / "perplexity.bin"
    settings = NgramSettings(order=3)
    files = [
        train_ngram_model(name, sample_texts(k, 60), settings).model for k, name in enumerate("ab")
    ]
    path.write_bytes(join_ngram_models(files))
    return {f"{MODEL}a": path, f"{MODEL}b": path}


def signals(
    families: list[dict[str, object]], texts: list[str], models: dict[str, Path]
) -> pa.Table:
    ids = pa.array([k.to_bytes(16, "big") for k in range(len(texts))], pa.binary(16))
    table = pa.table({"doc_id": ids, "text": pa.array(texts, pa.string())})
    return compute_signals(table, SignalSettings.model_validate({"families": families}), models)


def test_each_model_has_a_column(models: dict[str, Path]) -> None:
    texts = ["the cat saw the dog", "zz qq xx", "", " \n "]
    found = signals(
        [{"family": "perplexity", "models": ["a", "b"]},
         {"family": "token_divergence", "models": ["a"]}], texts, models
    )  # fmt: skip
    assert found.column_names[2:] == ["perplexity_a", "perplexity_b", "token_divergence_a"]
    for name in "ab":
        own = load_models(models[f"{MODEL}{name}"])[name]
        expected = perplexities(own, pa.array(texts, pa.large_string()))
        values = found[f"perplexity_{name}"].to_pylist()
        assert values[:2] == pytest.approx(expected[:2].tolist(), rel=1e-3)
        assert values[2:] == [None, None]
    assert found["perplexity_a"][1].as_py() > found["perplexity_a"][0].as_py()
    assert found["token_divergence_a"].to_pylist()[2:] == [None, None]


def test_values_do_not_depend_on_the_batch(models: dict[str, Path]) -> None:
    family = [{"family": "perplexity", "models": ["a"]}]
    whole = signals(family, ADVERSARIAL, models)
    alone = [signals(family, [text], models)["perplexity_a"][0].as_py() for text in ADVERSARIAL]
    assert whole["perplexity_a"].to_pylist() == alone


def test_a_document_is_scored_by_the_model_of_its_language(models: dict[str, Path]) -> None:
    batch_texts = pa.array(["the cat", "the cat", "the cat", None], pa.large_string())
    family = Perplexity(models={"en": "a", "nl": "b", "de": "b"})
    batch = TextBatch.from_arrow(batch_texts)
    batch.columns = {"language": pa.array(["en", "de", "fr", "en"])}
    found = family.compute(batch, models)["perplexity"].to_pylist()
    each = Perplexity(models=("a", "b")).compute(batch, models)
    expected = [each["perplexity_a"][0].as_py(), each["perplexity_b"][1].as_py()]
    assert found == [*expected, None, None]


def test_the_language_must_be_known_before() -> None:
    by_language = {"family": "perplexity", "models": {"en": "a"}}
    with pytest.raises(ValidationError, match="reads the column 'language'"):
        SignalSettings.model_validate({"families": [by_language, {"family": "language"}]})
    SignalSettings.model_validate({"families": [{"family": "language"}, by_language]})


def test_models_that_nobody_lists_are_refused(models: dict[str, Path]) -> None:
    with pytest.raises(ValidationError, match="names a model twice"):
        Perplexity(models=("a", "a"))
    with pytest.raises(ModelError, match="no perplexity model named 'c'"):
        signals(
            [{"family": "perplexity", "models": ["c"]}],
            ["text"],
            {f"{MODEL}c": models[f"{MODEL}a"]},
        )


def test_divergence_needs_a_model_of_ours(tmp_path: Path) -> None:
    path = tmp_path / "en.arpa"
    path.write_text(ARPA, encoding="utf-8")
    with pytest.raises(ModelError, match="KenLM model, which does not tell"):
        TokenDivergence(models=("en",)).scores(
            pa.array(["text"], pa.large_string()), "en", {f"{MODEL}en": path}
        )


def test_normalisation_is_that_of_ccnet() -> None:
    cases = {
        "  Été 1984 — “naïve” … ": 'ete 0000  -  "naive" ...',
        "１２３，。、（）％": "000,.,()%",
        "tab\there\x07 «quoted» l’été": 'tabhere "quoted" l\'ete',
        "": "",
        "Ærøskøbing ß": "ærøskøbing ß",
    }
    assert {text: ccnet_normalised(text) for text in cases} == cases


@pytest.mark.timeout(120)
def test_a_line_of_nothing_but_marks_is_plain_in_no_more_than_its_length() -> None:
    assert ccnet_normalised("e" + "\u0301\u0323" * 200_000) == "e"


def kenlm_values(texts: list[str], tmp_path: Path) -> list[float | None]:
    path = tmp_path / "en.arpa"
    path.write_text(ARPA, encoding="utf-8")
    found = signals([{"family": "perplexity", "models": ["en"]}], texts, {f"{MODEL}en": path})
    values: list[float | None] = found["perplexity_en"].to_pylist()
    return values


@pytest.mark.skipif(importlib.util.find_spec("kenlm") is not None, reason="kenlm is installed")
def test_without_kenlm_one_message_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(MissingExtra, match=r"`kenlm` is not installed: install the extra.*kenlm"):
        kenlm_values(["text"], tmp_path)


@pytest.mark.skipif(importlib.util.find_spec("kenlm") is None, reason="kenlm is not installed")
def test_kenlm_models_give_ccnets_perplexity(tmp_path: Path) -> None:
    """Worked out by hand from the ARPA file: each line is a sentence, its end counts."""
    found = kenlm_values(["Café 42", "Café 42\n42", "  "], tmp_path)
    first = -0.2 - 0.4 - 0.6
    second = (-0.5 - 0.9) - 0.6
    expected = [10 ** (-first / 3), 10 ** (-(first + second) / 5)]
    assert found[:2] == pytest.approx(expected, abs=0.01)
    assert found[2] is None
    assert not any(math.isnan(value) for value in expected)


@pytest.mark.skipif(importlib.util.find_spec("kenlm") is None, reason="kenlm is not installed")
def test_a_file_that_is_no_model_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "en.bin"
    path.write_text(json.dumps({"not": "a model"}))
    with pytest.raises(ModelError, match=r"en.bin is neither a model that KenLM can read"):
        signals([{"family": "perplexity", "models": ["en"]}], ["text"], {f"{MODEL}en": path})


@pytest.mark.skipif(
    importlib.util.find_spec("sentencepiece") is None, reason="sentencepiece is not installed"
)
def test_with_pieces_a_document_is_one_sentence(tmp_path: Path) -> None:
    sentencepiece = importlib.import_module("sentencepiece")
    kenlm = importlib.import_module("kenlm")
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("cafe 00\ncafe cafe\n00 cafe\n" * 50)
    sentencepiece.SentencePieceTrainer.train(
        input=str(corpus), model_prefix=str(tmp_path / "sp"), vocab_size=11, minloglevel=2
    )
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "sp.model"))
    arpa = tmp_path / "en.arpa"
    arpa.write_text(ARPA, encoding="utf-8")
    text = "Café 42\nCafé"
    (found,) = signals(
        [{"family": "perplexity", "models": ["en"]}],
        [text],
        {f"{MODEL}en": arpa, f"{MODEL}en{PIECES}": tmp_path / "sp.model"},
    )["perplexity_en"].to_pylist()
    cut = pieces.encode_as_pieces(ccnet_normalised(text))
    score = kenlm.Model(str(arpa)).score(" ".join(cut))
    assert found == pytest.approx(10 ** (-score / (len(cut) + 1)), abs=0.01)
