"""Word lists by language: whose list counts, against a plain expression, and as a ratio."""

import re
from pathlib import Path

import pyarrow as pa
import pytest

from corpus_assets.signals.base import FILE
from corpus_assets.signals.listed_words import ListedWords
from corpus_assets.signals.stages.settings import SignalSettings
from corpus_assets.text.batch import TextBatch
from corpus_assets_tests.signals.support.texts import ADVERSARIAL, random_pages

LISTS = {"en": ["the", "damn", "use cookies"], "de": ["слово", "word"], "zh": ["漢", "漢字"]}


@pytest.fixture
def models(tmp_path: Path) -> dict[str, Path]:
    out = {}
    for language, entries in LISTS.items():
        path = tmp_path / f"{language}.txt"
        path.write_text("# entries\n" + "\n".join(entries), encoding="utf-8")
        out[FILE + f"lists/{language}.txt"] = path
    return out


def family() -> ListedWords:
    return ListedWords(lists={language: (f"lists/{language}.txt",) for language in LISTS})


def counted(text: str, language: str) -> tuple[int, float] | None:
    """The reference."""
    if language not in LISTS:
        return None
    entries = sorted(LISTS[language], key=lambda entry: -len(entry.encode()))
    pattern = "|".join(map(re.escape, entries))
    lower = "".join(char.lower() if char.isascii() else char for char in text)
    if language == "zh":
        found = len(re.findall(pattern, lower))
        return found, found / len(text) if text else 0.0
    found = len(re.findall(rf"(?<!\w)(?:{pattern})(?!\w)", lower))
    return found, found / len(text.split()) if text.split() else 0.0


def test_the_list_of_the_texts_own_language_counts(models: dict[str, Path]) -> None:
    texts = [*ADVERSARIAL, *random_pages(seed=3, n=400)]
    languages = [("en", "de", "zh", "fr")[k % 4] for k in range(len(texts))]
    batch = TextBatch.from_arrow(pa.array(texts, pa.large_string()))
    batch.columns = {"language": pa.array(languages)}
    found = family().compute(batch, models).to_pylist()
    for text, language, row in zip(texts, languages, found, strict=True):
        expected = counted(text, language)
        if expected is None:
            assert row == {"listed_words": None, "listed_word_ratio": None}
        else:
            assert row["listed_words"] == expected[0]
            assert row["listed_word_ratio"] == pytest.approx(expected[1], abs=1e-6)


def test_the_family_wants_languages_before_it() -> None:
    with pytest.raises(ValueError, match="'listed_words' reads the column 'language'"):
        SignalSettings(families=(family(),))


def test_a_text_without_a_language_has_no_count(models: dict[str, Path]) -> None:
    batch = TextBatch.from_arrow(pa.array(["the the"], pa.large_string()))
    batch.columns = {"language": pa.array([None], pa.string())}
    assert family().compute(batch, models).to_pylist()[0]["listed_words"] is None
