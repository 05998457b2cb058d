"""Gopher, repetition and FineWeb signals equal their plain Python references."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

from corpus_assets.signals.base import SignalFamily
from corpus_assets.signals.published.fineweb import FineWeb
from corpus_assets.signals.published.gopher import STOP_WORDS, GopherQuality
from corpus_assets.signals.repetition import Repetition
from corpus_assets.text.batch import TextBatch
from corpus_assets.text.unicode import sentence_terminals
from corpus_assets_tests.signals.support import reference
from corpus_assets_tests.signals.support.texts import ADVERSARIAL, random_texts, real_texts

GOPHER = GopherQuality()
FINEWEB = FineWeb(extra_terminal_marks='"”')
TERMINALS = {chr(point) for point in sentence_terminals()} | {'"', "”"}

CASES: list[tuple[SignalFamily, Callable[[str], dict[str, float]]]] = [
    (GOPHER, lambda text: reference.gopher_quality(text, STOP_WORDS, GOPHER.bullets)),
    (Repetition(), reference.repetition),
    (FINEWEB, lambda text: reference.fineweb(text, TERMINALS, 30)),
]


def batch_of(texts: list[str | None]) -> TextBatch:
    return TextBatch.from_arrow(pa.array(texts, pa.large_string()))


def check(family: SignalFamily, plain: Callable[[str], dict[str, float]], texts: list[str]) -> None:
    found = family.compute(batch_of(list(texts)), {})
    assert found.schema == pa.schema(list(family.columns().items()))
    expected = [plain(text) for text in texts]
    for name in family.columns():
        dtype = found.schema.field(name).type.to_pandas_dtype()
        values = found.column(name).to_numpy(zero_copy_only=False)
        wanted = np.array([row[name] for row in expected]).astype(dtype)
        wrong = np.flatnonzero(values != wanted)
        assert not wrong.size, (
            f"{name}: {values[wrong[0]]} != {wanted[wrong[0]]} for {texts[wrong[0]][:200]!r}"
        )


@pytest.mark.parametrize(("family", "plain"), CASES, ids=lambda case: getattr(case, "family", ""))
class TestEachFamily:
    def test_equals_its_reference_on_real_texts(
        self, family: SignalFamily, plain: Callable[[str], dict[str, float]]
    ) -> None:
        check(family, plain, real_texts()[::4])

    def test_equals_its_reference_on_adversarial_texts(
        self, family: SignalFamily, plain: Callable[[str], dict[str, float]]
    ) -> None:
        check(family, plain, ADVERSARIAL)

    def test_equals_its_reference_on_random_texts(
        self, family: SignalFamily, plain: Callable[[str], dict[str, float]]
    ) -> None:
        check(family, plain, random_texts(seed=1, n=3_000))

    def test_says_the_same_of_a_text_alone_and_in_company(
        self, family: SignalFamily, plain: Callable[[str], dict[str, float]]
    ) -> None:
        together = family.compute(batch_of(list(ADVERSARIAL)), {}).to_pylist()
        alone = [family.compute(batch_of([text]), {}).to_pylist()[0] for text in ADVERSARIAL]
        assert together == alone

    def test_gives_an_empty_batch_its_columns(
        self, family: SignalFamily, plain: Callable[[str], dict[str, float]]
    ) -> None:
        found = family.compute(batch_of([]), {})
        assert found.num_rows == 0
        assert found.schema.names == list(family.columns())

    def test_keeps_every_share_between_zero_and_one(
        self, family: SignalFamily, plain: Callable[[str], dict[str, float]]
    ) -> None:
        found = family.compute(batch_of([*ADVERSARIAL, *random_texts(seed=2, n=500)]), {})
        for name in found.schema.names:
            if name.endswith("_share"):
                values = found.column(name).to_numpy()
                assert values.min() >= 0.0
                assert values.max() <= 1.0


def test_a_text_that_is_one_word_over_and_over_repeats_entirely() -> None:
    row = Repetition().compute(batch_of(["spam " * 1_000]), {}).to_pylist()[0]
    assert row["top_2_gram_char_share"] == 1.0
    assert row["dup_10_gram_char_share"] == 1.0
    assert row["later_10_gram_char_share"] == pytest.approx(0.99)


def test_prose_without_repeats_has_no_repeated_ngrams() -> None:
    row = Repetition().compute(batch_of(["each of these eight words stands here once"]), {})
    assert all(value == 0.0 for value in row.to_pylist()[0].values())


def test_ngram_shares_are_of_the_characters_of_words() -> None:
    row = Repetition().compute(batch_of(["a b c d e x a b c d e a"]), {}).to_pylist()[0]
    assert row["top_2_gram_char_share"] == np.float32(4 / 12)
    assert row["dup_5_gram_char_share"] == np.float32(10 / 12)
    assert row["later_5_gram_char_share"] == np.float32(5 / 12)


def test_other_bullets_can_be_asked_for() -> None:
    row = GopherQuality(bullets="~").compute(batch_of(["- a\n~ b"]), {}).to_pylist()[0]
    assert row["bullet_line_share"] == 0.5
    row = GopherQuality(bullets="").compute(batch_of(["- a\n~ b"]), {}).to_pylist()[0]
    assert row["bullet_line_share"] == 0.0
