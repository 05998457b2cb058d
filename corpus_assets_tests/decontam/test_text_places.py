import random

import numpy as np
import pyarrow as pa
import pytest

from corpus_assets.decontam.text_places import in_chars
from corpus_assets.text.characters import nfkc
from corpus_assets.text.codepoints import text_buffers

PIECES = ["word ", "é", "e\u0301", "ﬁ", "½", "…", "漢字", "ﾊﾟ", "\u1112\u1161\u11ab", "שלום ", "x\u0323\u0307",
          "\U0001d54f", "①", "\u00a0", "\u200b", "😀", "Ａ"]  # fmt: skip


def places(text: str, start: int, stop: int) -> str:
    """What of `text` stands for [start, stop) of what is searched, in bytes."""
    data, _ = text_buffers(nfkc(pa.array([text], pa.large_string())))
    ((low, high),) = in_chars(text, data, np.array([start]), np.array([stop])).tolist()
    return text[low:high]


@pytest.mark.parametrize(
    "text", ["plain text", "naïve café", "漢字 かな", "e\u0301te\u0301 ﬁn ½ x"]
)
def test_the_whole_text_is_the_whole_text(text: str) -> None:
    data, _ = text_buffers(nfkc(pa.array([text], pa.large_string())))
    assert places(text, 0, data.size) == text


def test_a_word_is_found_where_it_stands_whatever_is_converted_before_it() -> None:
    rng = random.Random(3)
    for _ in range(100):
        lead = "".join(rng.choice(PIECES) for _ in range(rng.randrange(12)))
        tail = "".join(rng.choice(PIECES) for _ in range(rng.randrange(12)))
        text = f"{lead} target {tail}"
        data, _ = text_buffers(nfkc(pa.array([text], pa.large_string())))
        at = data.tobytes().index(b"target")
        assert places(text, at, at + 6) == "target"


def test_a_place_inside_what_became_one_is_widened_to_all_of_it() -> None:
    text = "e\u0301 ﬁn"  # searched as: é fin
    assert places(text, 3, 5) == "ﬁ"
    assert places(text, 4, 6) == "ﬁn"
    assert places(text, 0, 2) == "e\u0301"
