"""N-gram models: units, smoothing and scores equal a plain reference; probabilities sum to 1."""

import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from corpus_assets.core.errors import ModelError
from corpus_assets.models.ngram_file import NgramModel, dump_models, load_models, parse_models
from corpus_assets.models.ngram_perplexity import divergences_of, perplexities
from corpus_assets.models.ngram_score import next_probability, start_line
from corpus_assets.models.ngram_settings import NgramSettings
from corpus_assets.models.ngram_training import drawn_texts, train_ngram_model
from corpus_assets.models.ngram_units import fold_units, split_units, unit_kinds
from corpus_assets_tests.models.lm_reference import BOUNDARY, UNKNOWN, Model, units

NASTY = [
    "",
    " \n\t\n ",
    "one",
    "no line end here",
    "ends with a line end\n",
    "\n\n\nstarts late\r\nwindows\r\n",
    "don't 'quote' rock’n’roll it' 'tis",
    "wait..... what?! --- $$$ 1,234.56 €99 12:30",
    "日本語のテキストです。中文没有空格 and English",
    "สวัสดีครับ ฉันชอบกินข้าว",
    "नमस्ते दुनिया यह एक परीक्षण है",
    "😀😀😀 👩‍👩‍👧‍👦 flags 🇩🇪",
    "ÄÖÜ ß İstanbul ΣΊΣΥΦΟΣ ﬁne",
    "a" * 5000,
    "word " * 3000,
    "x\x00y \x1f control \x85 next line",
    "\u2028sep\u2029para nbsp",
]
WORDS = [
    "the",
    "The",
    "of",
    "a",
    "cat",
    "dog",
    "saw",
    "don't",
    "été",
    "7",
    "42,",
    "end.",
    "(so)",
    "猫",
]


def sample_texts(seed: int, n: int) -> list[str]:
    draw = random.Random(seed)
    weights = [1 / (k + 1) for k in range(len(WORDS))]
    return [
        "\n".join(
            " ".join(
                draw.choices(
                    [*WORDS, "rare" + "".join(draw.choices("bcdfg", k=4))],
                    [*weights, 0.05],
                    k=length,
                )
            )
            for length in [draw.randint(0, 9) for _ in range(draw.randint(1, 5))]
        )
        for _ in range(n)
    ]


def folded(text: str) -> str:
    data, offsets = fold_units(pa.array([text], pa.large_string()))
    return bytes(data[offsets[0] : offsets[1]]).decode()


def trained(texts: list[str], **settings: int) -> tuple[NgramModel, list[str]]:
    """The model, and the texts that it was trained on."""
    chosen = NgramSettings(**{"min_texts": 2, **settings})
    made = train_ngram_model("m", texts, chosen)
    held, used = drawn_texts("m", texts, chosen)
    assert made.metrics["n_holdout_texts"] == len(held)
    return parse_models(made.model, "m")["m"], used


@pytest.mark.parametrize("text", NASTY)
def test_units_are_those_of_the_reference(text: str) -> None:
    data, offsets = fold_units(pa.array(["before", text, "after"], pa.large_string()))
    spans, rows = split_units(data, offsets, unit_kinds())
    found = [
        bytes(data[start:end]).decode() if start < end else BOUNDARY
        for start, end, _ in spans[rows[1] : rows[2]].tolist()
    ]
    assert found == units(folded(text))
    chars = spans[rows[1] : rows[2], 2].tolist()
    assert chars == [0 if unit == BOUNDARY else len(unit) for unit in found]


def test_bytes_that_are_no_utf8_stay_inside_their_text() -> None:
    draw = random.Random(3)
    data = np.array([draw.randrange(256) for _ in range(4000)], dtype=np.uint8)
    offsets = np.array(sorted([0, 4000, *(draw.randrange(4000) for _ in range(50))]), np.int64)
    spans, rows = split_units(data, offsets, unit_kinds())
    for d in range(len(offsets) - 1):
        own = spans[rows[d] : rows[d + 1]]
        assert (own[:, 0] >= offsets[d]).all()
        assert (own[:, 1] <= offsets[d + 1]).all()


@pytest.mark.parametrize(
    "settings",
    [
        {"order": 2, "min_word_count": 1},
        {"order": 3, "min_word_count": 2},
        {"order": 5, "min_word_count": 2},
        {"order": 4, "min_word_count": 1, "max_ngrams": 60},
        {"order": 3, "min_word_count": 1, "max_vocabulary": 5},
    ],
    ids=str,
)
def test_perplexity_and_divergence_equal_the_reference(settings: dict[str, int]) -> None:
    texts = sample_texts(1, 60)
    model, used = trained(texts, **settings)
    least = settings["min_word_count"]
    if "max_vocabulary" in settings:
        counts = np.sort(model.counts[2:])
        least = int(counts[0])
    reference = Model(
        [folded(text) for text in used],
        settings["order"],
        least,
        settings.get("max_ngrams", 10**9),
    )
    assert model.sizes[0] == len(reference.all_words)
    asked = [*NASTY, *sample_texts(2, 20)]
    column = pa.array(asked, pa.large_string())
    values, far = perplexities(model, column), divergences_of(model, column)
    for text, value, distance in zip(asked, values, far, strict=True):
        expected = reference.perplexity(folded(text))
        if expected is None:
            assert np.isnan(value)
            assert np.isnan(distance)
        else:
            assert value == pytest.approx(expected, rel=1e-4)
            assert distance == pytest.approx(reference.divergence(folded(text)), rel=1e-9)


@pytest.mark.parametrize("max_ngrams", [10**6, 40])
def test_probabilities_sum_to_one_after_every_context(max_ngrams: int) -> None:
    model, _ = trained(sample_texts(5, 50), order=4, min_word_count=2, max_ngrams=max_ngrams)
    arrays = (model.order, model.word, model.prob, model.gamma, model.first)
    draw = random.Random(6)
    state = np.empty(model.order, dtype=np.int64)
    for _ in range(50):
        start_line(state)
        for _ in range(draw.randrange(6)):
            next_probability(state, draw.choice([0, *range(2, model.sizes[0])]), *arrays)
        chances = [next_probability(state.copy(), w, *arrays) for w in range(model.sizes[0])]
        assert min(chances) > 0
        assert sum(chances) == pytest.approx(1, abs=1e-5)
    letters = 10 ** model.spelling.astype(np.float64)
    assert letters.sum(axis=1) == pytest.approx(np.ones(257), abs=1e-4)


def test_the_reference_sums_to_one_too() -> None:
    reference = Model([folded(text) for text in sample_texts(5, 50)], 3, 2, 30)
    for context in [(), (BOUNDARY,), ("the", "cat"), (UNKNOWN,), ("cat", "cat", "cat")]:
        total = sum(reference.probability(word, context[-2:]) for word in reference.all_words)
        assert total == pytest.approx(1)


def test_invented_words_are_more_surprising_than_known_ones() -> None:
    model, _ = trained(sample_texts(7, 80), order=3)
    texts = pa.array(["the cat saw the dog", "xq zzyq vvk wxj qqp"], pa.large_string())
    known, invented = perplexities(model, texts)
    assert invented > 100 * known


def test_a_file_reads_back_as_it_was_written(tmp_path: Path) -> None:
    one, _ = trained(sample_texts(8, 30), order=3)
    other, _ = trained(sample_texts(9, 30), order=2)
    path = tmp_path / "models.bin"
    path.write_bytes(dump_models({"b": one, "a": other}))
    found = load_models(path)
    assert list(found) == ["a", "b"]
    assert (found["b"].prob == one.prob).all()
    assert (found["a"].first == other.first).all()
    assert dump_models(found) == path.read_bytes()


@pytest.mark.parametrize("cut", [0, 4, 15, 200, 3000, -1])
def test_a_truncated_file_is_refused(tmp_path: Path, cut: int) -> None:
    model, _ = trained(sample_texts(8, 30), order=3)
    path = tmp_path / "models.bin"
    path.write_bytes(dump_models({"m": model})[:cut])
    with pytest.raises(ModelError, match="train"):
        load_models(path)


@pytest.mark.parametrize("array", ["first", "vocabulary"])
def test_arrays_that_would_lead_a_kernel_astray_are_refused(array: str) -> None:
    model, _ = trained(sample_texts(8, 30), order=3)
    arrays = dict(vars(model)) | {array: getattr(model, array)[::-1].copy()}
    with pytest.raises(ModelError, match="do not fit"):
        parse_models(dump_models({"m": NgramModel(**arrays)}), "m")
