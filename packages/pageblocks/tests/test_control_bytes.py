import random

from pageblocks.kernels.control_bytes import count_control_bytes


def test_control_bytes_are_counted_but_for_those_that_text_has() -> None:
    draw = random.Random(2)
    for size in (0, 1, 31, 5000):
        data = bytes(draw.choices(range(48), k=size))
        expected = sum(byte < 32 and byte not in b"\t\n\f\r\x1b\0" for byte in data)
        assert count_control_bytes(data) == expected
    assert count_control_bytes(bytes(range(256))) == 26
