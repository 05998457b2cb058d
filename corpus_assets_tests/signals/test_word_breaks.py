"""Signals of words in scripts without spaces: the same as if spaces stood between the words."""

import pytest

from corpus_assets.signals.bad_words import BadWords
from corpus_assets.signals.base import CountsWords
from corpus_assets.signals.published.c4_lines import C4Lines
from corpus_assets.signals.published.datatrove import DatatroveFineWeb, DatatroveGopher
from corpus_assets.signals.published.dolma import Dolma
from corpus_assets.signals.published.fineweb import FineWeb
from corpus_assets.signals.published.gopher import GopherQuality
from corpus_assets.signals.published.redpajama import RedPajama
from corpus_assets.signals.repetition import Repetition
from corpus_assets.signals.stages.settings import SignalSettings
from corpus_assets_tests.signals.test_statistics import batch_of
from corpus_assets_tests.text.test_segment import TEXTS, random_texts, words_of

PAGE = "\n".join(text for text in TEXTS if text)
REAL = [PAGE, *TEXTS, f"{PAGE}\n{PAGE}"]
RANDOM = random_texts(seed=3, n=200)
FAMILIES: list[CountsWords] = [
    GopherQuality(),
    Repetition(),
    FineWeb(),
    Dolma(),
    DatatroveGopher(),
    DatatroveFineWeb(),
    RedPajama(),
    C4Lines(min_words=3, end_marks=""),
    BadWords(words=("坏",)),
]
# Columns in which white space counts: characters of lines and of the text, ends of sentences.
COUNT_SPACES = (
    *("dup_line_", "dup_paragraph_", "_gram_ratio", "_gram_share", "char_share", "short_"),
    *("sentences", "_token_"),
)
OF_WORDS = ("top_", "dup_5", "dup_6", "dup_7", "dup_8", "dup_9", "dup_10", "later_")


def columns_of_words(family: CountsWords) -> list[str]:
    names = list(family.columns())
    if family.family == "repetition":
        return [name for name in names if name.startswith(OF_WORDS)]
    return [name for name in names if not any(piece in name for piece in COUNT_SPACES)]


def spaced(text: str) -> str:
    return "\n".join(" ".join(words_of(line)) for line in text.split("\n"))


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.family)
def test_segmented_words_count_as_if_spaces_stood_between_them(family: CountsWords) -> None:
    # RedPajama takes ASCII punctuation out first, which joins what a space would keep apart.
    pages = REAL if family.family == "redpajama" else REAL + RANDOM
    segmented, white_space = (family.with_words(kind) for kind in ("segmented", "white_space"))
    found = segmented.compute(batch_of(list(pages)), {})
    wanted = white_space.compute(batch_of([spaced(page) for page in pages]), {})
    names = columns_of_words(family)
    assert names
    for name in names:
        assert found[name].to_pylist() == wanted[name].to_pylist(), name
    plain = white_space.compute(batch_of(list(pages)), {})
    if family.family != "bad_words":
        assert any(found[name] != plain[name] for name in names)


def test_whose_words_are_counted_is_part_of_what_a_signal_is() -> None:
    (spaced,) = SignalSettings(families=(GopherQuality(),)).families
    (taken_apart,) = SignalSettings(word_breaks="segmented", families=(GopherQuality(),)).families
    assert "segmenter" not in spaced.identity()
    assert taken_apart.identity()["segmenter"] == "ICU 78.3/2"
