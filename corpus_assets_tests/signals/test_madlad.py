"""Questionable sentences, counted by hand."""

import gzip
from pathlib import Path

import pyarrow as pa
import pytest

from corpus_assets.core.errors import ModelError
from corpus_assets.signals.published.madlad import Madlad
from corpus_assets.text.batch import TextBatch

ORDINARY = "The cat sat on the mat and then it went away"
TITLES = "The Cat Sat On The Mat And then it went away Again"  # 8 of 12 words
HALF = "The Cat Sat On The Mat and then it went away again"  # 6 of 12
LISTED = "-NONE-\n orem ipsum \n№\n[0-9]{9}\n\\|\\s*$\n(?:xx ){3}\n^Ep\\.\n"


def values(text: str, cursed: Path | None = None) -> dict[str, float]:
    family = Madlad(cursed=("list",) if cursed else ())
    batch = TextBatch.from_arrow(pa.array([text], pa.large_string()))
    models = {"file:list": cursed} if cursed else {}
    return {
        k.removeprefix("madlad_"): v
        for k, v in family.compute(batch, models).to_pylist()[0].items()
    }


@pytest.fixture(params=["plain", "compressed"])
def listed(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "cursed"
    content = LISTED.encode()
    path.write_bytes(gzip.compress(content) if request.param == "compressed" else content)
    return path


def test_sentences_of_mostly_capital_words_are_questionable_from_twelve_words_on() -> None:
    text = f"{ORDINARY}. {TITLES}! {HALF}?! Yes, A. B. C. No Way Out\n. {TITLES.rsplit(' ', 1)[0]}."
    found = values(text)
    assert found["sentences"] == 8
    assert found["capital_sentence_share"] == found["questionable_share"] == pytest.approx(1 / 8)
    assert found["cursed_sentence_share"] == 0


@pytest.mark.parametrize("word", ["Ära", "Ένα", "Šta", "Word"])
def test_capitals_of_any_alphabet_count(word: str) -> None:
    for n_capital, share in ((7, 1), (6, 0)):
        words = [word] * n_capital + [word.lower()] * (12 - n_capital)
        assert values(" ".join(words))["capital_sentence_share"] == share


def test_listed_strings_and_the_patterns_at_the_end_of_the_list_are_found(listed: Path) -> None:
    cases = {
        "Some orem ipsum dolor": True,  # spaces of an entry count
        "Lorem ipsum": False,
        "A № 5": True,
        "Home | ": True,
        "Home | | away": False,
        "Call 123456789 now": True,
        "[0-9]{9}": False,
        "Ep.4 of it": True,
    }
    assert {text: values(text, listed)["cursed_sentence_share"] == 1 for text in cases} == cases


def test_a_sentence_that_is_both_counts_once_and_an_empty_text_has_none(listed: Path) -> None:
    found = values(f"{TITLES} № 1. {ORDINARY}. {TITLES}. {ORDINARY}", listed)
    assert found["questionable_share"] == 0.5
    assert found["cursed_sentence_share"] == 0.25
    assert values("  ", listed) == dict.fromkeys(found, 0)


def test_a_list_that_does_not_end_in_patterns_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cursed"
    path.write_text("one\n(\n")
    with pytest.raises(ModelError, match="does not end in four regular expressions"):
        values(ORDINARY, path)
