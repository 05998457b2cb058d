import random

import numpy as np
import pytest

from textkernels.mark_runs import has_run

MEMBERS = "\u0301\u0e38\uff9e\U0001e94a\ufffd"
IS_MEMBER = np.zeros(0x110000, np.uint8)
IS_MEMBER[[ord(char) for char in MEMBERS]] = 1


def reference(text: str, length: int) -> bool:
    run = 0
    for char in text:
        run = run + 1 if char in MEMBERS else 0
        if run == length:
            return True
    return False


@pytest.mark.parametrize("seed", range(20))
def test_runs_are_found_where_counting_finds_them(seed: int) -> None:
    draw = random.Random(seed)
    chars = MEMBERS * 3 + "ax\u00e9\u4e2d\U0001f600"
    for _ in range(100):
        text = "".join(draw.choices(chars, k=draw.randrange(150)))
        text = text.replace("x", "plain words " * draw.randrange(9))
        length = draw.randrange(1, 12)
        assert has_run(text.encode(), IS_MEMBER, length) == reference(text, length), ascii(text)


@pytest.mark.parametrize("size", range(130))
def test_a_run_may_begin_anywhere(size: int) -> None:
    text = "x" * size + MEMBERS + "y" * size
    assert has_run(text.encode(), IS_MEMBER, len(MEMBERS))
    assert not has_run(text.encode(), IS_MEMBER, len(MEMBERS) + 1)


@pytest.mark.parametrize("raw", [b"", b"\xcc", b"\xe0\xb8", b"\xf0\x9e", b"\xff" * 9])
def test_what_is_no_utf8_is_passed_over(raw: bytes) -> None:
    assert has_run(raw, IS_MEMBER, 1) == (raw != b"")
    assert not has_run(raw, IS_MEMBER, 10)
