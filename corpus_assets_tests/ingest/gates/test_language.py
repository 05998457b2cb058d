from pathlib import Path

import pytest

from corpus_assets.core.errors import ModelError
from corpus_assets.ingest.gates.language import LanguageGate, sample_counts, with_sample
from corpus_assets.ingest.gates.settings import LanguageGateSettings
from corpus_assets.ingest.records import Refusal
from corpus_assets.models.files import model_at

GERMAN = "Der Gemeinderat hat gestern beschlossen, dass die alte Brücke erneuert werden soll. "
ENGLISH = "The town council decided yesterday that the old bridge is going to be rebuilt. "


@pytest.fixture(scope="module")
def model() -> Path:
    try:
        return model_at("lid.176").path
    except ModelError as error:
        pytest.skip(str(error))


def page(text: str) -> bytes:
    script = "<script>var the = 'and of to in that is was for it with as his on be at by';</script>"
    return f"<html><head>{script}</head><body><p>{text * 5}</p></body></html>".encode()


def test_pages_in_other_languages_are_refused_with_the_language_found(model: Path) -> None:
    gate = LanguageGate(LanguageGateSettings(languages=("en", "fr")), model)
    assert gate.refuse(page(ENGLISH)) is None
    assert gate.refuse(page(GERMAN)) == Refusal("gate_language", "de")


def test_a_page_passes_when_a_wanted_language_is_among_the_likeliest(model: Path) -> None:
    mixed = page(GERMAN + ENGLISH)
    passing = LanguageGateSettings(languages=("en",), min_score=0.05)
    assert LanguageGate(passing, model).refuse(mixed) is None
    strict = LanguageGateSettings(languages=("fr",), min_score=0.05)
    assert LanguageGate(strict, model).refuse(mixed) is not None


def test_a_page_of_markup_and_scripts_only_is_too_short() -> None:
    gate = LanguageGate(LanguageGateSettings(min_chars=20), None)
    assert gate.refuse(page("")) == Refusal("gate_too_short", "0")
    assert gate.refuse(page("word ")) is None
    assert gate.refuse(b"<p>nineteen characters</p>") == Refusal("gate_too_short", "18")


def test_a_page_without_words_has_no_language(model: Path) -> None:
    gate = LanguageGate(LanguageGateSettings(languages=("en",)), model)
    assert gate.refuse(b"<p></p>") == Refusal("gate_language", "none")


def test_the_sample_is_a_share_of_ids_and_always_the_same() -> None:
    gate = LanguageGate(LanguageGateSettings(sample_share=0.1), None)
    ids = [n.to_bytes(16, "little") for n in range(5000)]
    chosen = [doc_id for doc_id in ids if gate.is_sampled(doc_id)]
    assert 400 < len(chosen) < 600
    again = LanguageGate(LanguageGateSettings(sample_share=0.1, min_chars=3), None)
    assert [doc_id for doc_id in ids if again.is_sampled(doc_id)] == chosen
    assert not any(
        LanguageGate(LanguageGateSettings(sample_share=0), None).is_sampled(i) for i in ids
    )
    assert all(LanguageGate(LanguageGateSettings(sample_share=1), None).is_sampled(i) for i in ids)


def test_wanted_text_is_long_enough_and_in_the_language(model: Path) -> None:
    gate = LanguageGate(LanguageGateSettings(languages=("en",), min_chars=50), model)
    assert gate.is_wanted(ENGLISH)
    assert not gate.is_wanted(GERMAN)
    assert not gate.is_wanted("The end.")
    assert not gate.is_wanted("")


def test_what_the_sample_found_is_counted_from_the_details() -> None:
    refusal = Refusal("gate_language", "de")
    details = [with_sample(refusal, False).detail, with_sample(refusal, True).detail, "de", None]
    assert details[:2] == ["de/sampled", "de/false_drop"]
    assert sample_counts(details) == {"gate_sampled": 2, "gate_false_drops": 1}


def test_a_gate_for_languages_needs_the_model() -> None:
    with pytest.raises(ModelError, match="language model"):
        LanguageGate(LanguageGateSettings(languages=("en",)), None)
