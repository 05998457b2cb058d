"""Sketches: what they are, what they cover, and that look-up finds all of it and no more."""

import random

import numpy as np
import pyarrow as pa
import pytest

from catalog.formats.sketches import BANDS, MIN_AGREEING, PLACES, ROWS_PER_BAND, SKETCH_PREFIX
from corpus_assets.core.errors import RecipeError
from corpus_assets.text import sketch
from corpus_assets.text.characters import char_tables
from corpus_assets.text.codepoints import text_buffers
from corpus_assets.text.minhash import affine32_permutations, minhash_texts
from corpus_assets.text.sketch import BYTES, SketchIndex, sketch_text, sketch_texts


def words(name: str, count: int) -> list[str]:
    chance = random.Random(name)
    return [f"{chance.choice('bcdfgh')}{chance.randrange(5000)}" for _ in range(count)]


def covers(one: str, other: str) -> bool:
    value = sketch_text(one)
    assert value is not None
    column = pa.array(sketch_texts([other]), pa.binary(BYTES))
    return bool(SketchIndex([value]).match(column)[0])


def naive(one: bytes, other: bytes | None) -> bool:
    """The rule, place by place."""
    if other is None:
        return False
    pairs = [one[i : i + 2] == other[i : i + 2] for i in range(0, BYTES, 2)]
    bands = [all(pairs[b * ROWS_PER_BAND : (b + 1) * ROWS_PER_BAND]) for b in range(BANDS)]
    return sum(pairs) >= MIN_AGREEING and any(bands)


def test_a_sketch_is_the_low_half_of_the_minima_and_never_changes() -> None:
    text = " ".join(words("text", 200))
    a, b = affine32_permutations(PLACES, sketch._SEED)
    data, offsets = text_buffers(pa.array([text], pa.large_string()))
    minima = minhash_texts(data, offsets, char_tables(), 5, a, b)[0].astype("<u4").tobytes()
    assert sketch_texts([text]) == [b"".join(minima[i : i + 2] for i in range(0, 4 * PLACES, 4))]
    assert a[:3].tolist() == [3506047375, 684136311, 3028016731]
    # What stands in catalogs for years must mean the same: a change needs a new VERSION.
    assert (sketch_text(text) or "")[:35] == "v1:cb051dfcfb541c11f07a8e8f063f766d"


def test_the_sketch_of_a_text_does_not_depend_on_its_neighbours() -> None:
    texts = [" ".join(words(str(n), 30 + 10 * n)) for n in range(30)]
    together = sketch_texts(texts)
    assert together == [sketch_texts([text])[0] for text in texts]
    assert together == sketch_texts(texts[::-1])[::-1]


def test_short_and_repeated_texts_have_no_sketch() -> None:
    assert (
        sketch_texts(["", "a few words", " ".join(words("x", 20)), "no results found " * 500])
        == [None] * 4
    )
    assert sketch_text(" ".join(words("x", 90))) is not None


def test_an_edited_copy_is_covered_and_a_text_with_the_same_parts_is_not() -> None:
    story = words("story", 400)
    edited = [*story[:200], "changed", *story[201:], "by", "another", "hand"]
    assert covers(" ".join(story), " ".join(edited))
    assert covers(" ".join(story), "\n\n".join(story).upper())
    assert not covers(" ".join(story), " ".join([*story[:200], *words("end", 200)]))
    shuffled = random.Random(1).sample(story, len(story))
    assert not covers(" ".join(story), " ".join(shuffled))


@pytest.mark.parametrize("share", [0.3, 0.5, 0.7, 0.8])
def test_pages_of_one_frame_with_texts_of_their_own_are_left_alone(share: float) -> None:
    """A shop's or a forum's pages: so much of each page is the frame around its own text."""
    for number in range(40):
        frame = words("frame", 300)
        own = round(300 * (1 - share) / share)
        one, other = (
            " ".join([*frame[:150], *words(f"{number} {side}", own), *frame[150:]]) for side in "ab"
        )
        assert not covers(one, other), (number, share)


def test_a_form_filled_in_with_other_values_is_left_alone() -> None:
    form = words("form", 120)
    for number in range(40):
        filled = [
            [w if i % 12 else f"{side}{number}-{i}" for i, w in enumerate(form)] for side in "ab"
        ]
        assert not covers(" ".join(filled[0]), " ".join(filled[1]))


def test_look_up_finds_what_comparing_all_with_all_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Random sketches with planted copies at every distance, whole bands among them or not."""
    monkeypatch.setattr(sketch, "_PAIRS_AT_ONCE", 7)
    draw = np.random.default_rng(5)
    orders = draw.integers(0, 1 << 16, (60, PLACES), np.uint16)
    orders[1:20, : 3 * ROWS_PER_BAND] = orders[0, : 3 * ROWS_PER_BAND]  # a band that many share
    texts: list[bytes | None] = [None, orders[3].tobytes()]
    for number in range(300):
        row = orders[draw.integers(60)].copy()
        spread = draw.permutation(PLACES) if number % 2 else np.arange(PLACES)
        row[spread[: draw.integers(8, 24)]] ^= np.uint16(1)
        texts.append(row.tobytes())
    row = orders[7].copy()
    row[::ROWS_PER_BAND] ^= np.uint16(1)  # close enough, but no band is whole
    texts.append(row.tobytes())
    values = [SKETCH_PREFIX + one.tobytes().hex() for one in orders]
    index = SketchIndex(values)
    wanted = [any(naive(o.tobytes(), text) for o in orders) for text in texts]
    assert 20 < sum(wanted) < 280
    array = pa.array(texts, pa.binary(BYTES))
    for column in (
        array,
        pa.chunked_array([array[:100], array[100:100], array[100:]]),
        pa.concat_arrays([array[:5], array])[5:],
    ):
        assert index.match(column).tolist() == wanted
    covering = {
        value
        for value, one in zip(values, orders, strict=True)
        if any(naive(one.tobytes(), text) for text in texts)
    }
    assert index.covering(array) == covering
    assert not SketchIndex().match(array).any()
    assert index.match(array[:0]).size == 0
    assert index.covering(array[:1]) == set()


@pytest.mark.parametrize("value", ["", "v1:", "v1:zz", "v0:" + "00" * BYTES, "v1:" + "00" * 223])
def test_a_sketch_of_another_kind_is_refused(value: str) -> None:
    with pytest.raises(RecipeError, match="not made by this version"):
        SketchIndex([value])
