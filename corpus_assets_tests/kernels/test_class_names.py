"""The automaton of stems, against looking for each of them."""

import random

import numpy as np
import pytest

from corpus_assets.kernels.class_names import HAS_DOUBLE, HAS_STEM, STEMS, name_flags


def reference(name: bytes) -> int:
    text = " " + name.decode("latin-1").lower().translate(str.maketrans("\t\n\f\r", "    "))
    if any(stem in text for stem in STEMS) or any(b in b"&\0" or b > 127 for b in name):
        return HAS_STEM
    marks = [char in " -_" for char in text[1:]]
    pairs = zip([True, *marks], [*marks, True], strict=True)
    return HAS_DOUBLE if any(a and b for a, b in pairs) else 0


def flags(name: bytes) -> int:
    return int(name_flags(np.frombuffer(name, np.uint8), 0, len(name)))


@pytest.mark.parametrize("seed", range(4))
def test_names_are_flagged_as_a_search_for_each_stem_flags_them(seed: int) -> None:
    draw = random.Random(seed)
    pieces = [*STEMS, *(stem[:-1] for stem in STEMS), *(stem[1:] for stem in STEMS),
              "-", "_", " ", "\t", "0", "q", "x1", "Z", "&", "é", "h", "a", "d"]  # fmt: skip
    for _ in range(3_000):
        name = "".join(draw.choices(pieces, k=draw.randrange(1, 6)))
        name = name.upper() if draw.random() < 0.2 else name
        raw = name.encode("latin-1")
        assert flags(raw) == reference(raw), raw


def test_a_name_alone_is_plain_and_separators_at_an_end_are_not() -> None:
    assert flags(b"grid-12") == 0
    assert flags(b"grid-") == flags(b"_grid") == flags(b"q--r") == flags(b" ") == HAS_DOUBLE
    assert flags(b"padding") == 0
    assert flags(b"ad-box") == flags(b"q\tad") == HAS_STEM
