"""The automata of stems, against looking for each of them."""

import random

import numpy as np
import pytest

from corpus_assets.ingest.kernels.class_names import (
    EARLY_STEMS,
    LATE_STEMS,
    has_double,
    has_early_stem,
    has_late_stem,
)

Flags = tuple[bool, bool, bool]


def reference(name: bytes) -> Flags:
    is_strange = any(byte in b"&\0" or byte > 127 for byte in name)
    value = name.decode("latin-1").lower().translate(str.maketrans("\t\n\f\r$", "    ."))
    marks = [char in " -_" for char in value]
    pairs = zip([True, *marks], [*marks, True], strict=True)
    return (
        is_strange or any(stem in f" {value}$" for stem in EARLY_STEMS),
        is_strange or any(stem in f" {value}$" for stem in LATE_STEMS),
        any(a and b for a, b in pairs),
    )


def flags(name: bytes) -> Flags:
    data = np.frombuffer(b"x" + name + b"-", np.uint8)
    return tuple(
        bool(has(data, 1, 1 + len(name))) for has in (has_early_stem, has_late_stem, has_double)
    )


@pytest.mark.parametrize("seed", range(4))
def test_names_are_flagged_as_a_search_for_each_stem_flags_them(seed: int) -> None:
    draw = random.Random(seed)
    stems = [*EARLY_STEMS, *LATE_STEMS]
    pieces = [*stems, *(stem[:-1] for stem in stems), *(stem[1:] for stem in stems),
              "-", "_", " ", "\t", "0", "q", "x1", "Z", "&", "é", "h", "a", "d", "$"]  # fmt: skip
    for _ in range(3_000):
        name = "".join(draw.choices(pieces, k=draw.randrange(1, 6)))
        name = name.upper() if draw.random() < 0.2 else name
        raw = name.encode("latin-1")
        assert flags(raw) == reference(raw), raw


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ((b"grid-12", b"padding", b"address", b"ad-box", b"ad q", b"overflow-hidden"), ""),
        ((b"grid-", b"_grid", b"q--r", b" ", b"q \t"), "double"),
        (
            (b"ad", b"q\tad", b"ad_1f", b"is-hidden", b"a hidden", b"Login", b"givefeedback"),
            "early",
        ),
        ((b"text-center", b"foot", b"NAV", b"a_menu"), "late"),
        ((b"nav-", b"link--x"), "late double"),
        ((b"nav-logo", b"a&b", b"\xc3\xa9"), "early late"),
    ],
)
def test_names_of_each_kind_are_told_apart(names: tuple[bytes, ...], expected: str) -> None:
    wanted = tuple(word in expected.split() for word in ("early", "late", "double"))
    for name in names:
        if expected == "early late":
            assert flags(name)[0], name
        else:
            assert flags(name) == wanted, name
