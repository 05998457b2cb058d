import random

import numpy as np

from textkernels.byte_search import copy_bytes, find_byte, find_near_byte


def test_a_byte_is_found_where_a_plain_search_finds_it() -> None:
    draw = random.Random(3)
    for weights in ((1, 1, 1), (50, 50, 1)):
        for _ in range(200):
            data = bytes(draw.choices(b"abc", weights, k=draw.randrange(200)))
            at = draw.randrange(len(data) + 5)
            found = data.find(b"c", at)
            expected = found if found >= 0 else len(data)
            for find in (find_byte, find_near_byte):
                assert find(np.frombuffer(data, np.uint8), 99, at) == expected


def test_copied_bytes_stand_where_they_were_asked_to_and_nowhere_else() -> None:
    data, out = np.arange(50, dtype=np.uint8), np.full(50, 255, dtype=np.uint8)
    assert copy_bytes(data, 10, 20, out, 5) == 15
    assert out[5:15].tolist() == list(range(10, 20))
    assert set(out[:5]) | set(out[15:]) == {255}
    assert copy_bytes(data, 10, 10, out, 5) == 5
