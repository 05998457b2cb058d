"""Stop words are counted by the list of a text's own language."""

import pyarrow as pa

from corpus_assets.signals.stop_words import StopWords
from corpus_assets_tests.signals.support.reference_dialects import tokens_of
from corpus_assets_tests.signals.support.texts import ADVERSARIAL, random_line_ends, random_pages
from corpus_assets_tests.signals.test_statistics import batch_of

LISTS = {"en": ("the", "of", "the"), "ja": ("漢字", "の"), "none": ()}


def counted(texts: list[str], languages: list[str | None], family: StopWords) -> list[int | None]:
    batch = batch_of(list(texts))
    batch.columns["language"] = pa.array(languages, pa.string())
    found: list[int | None] = family.compute(batch, {}).column("stop_words").to_pylist()
    return found


def test_different_words_of_the_own_language_count_once_each_with_punctuation_apart() -> None:
    texts = [*ADVERSARIAL[:16], *random_pages(seed=3, n=300), *random_line_ends(seed=3, n=100)]
    languages = [("en", "ja", "none", "xx", None)[n % 5] for n in range(len(texts))]
    assert counted(texts, languages, StopWords(languages=LISTS)) == [
        None if language not in LISTS else len({*LISTS[language]} & {*tokens_of(text)})
        for text, language in zip(texts, languages, strict=True)
    ]


def test_words_that_touch_each_other_count_where_the_recipe_takes_them_apart() -> None:
    family = StopWords(languages={"ja": ("の", "は"), "zh": ("的",)})
    texts = ["この文は日本語の文です", "老师的书"]
    assert counted(texts, ["ja", "zh"], family.with_words("white_space")) == [0, 0]
    assert counted(texts, ["ja", "zh"], family.with_words("segmented")) == [2, 1]
