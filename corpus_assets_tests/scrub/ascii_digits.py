"""Digits of every script as ASCII digits, character by character: the reference of the kernel."""

import unicodedata

SIGNS = dict(zip("（）＋－．／", "()+-./", strict=True))


def with_ascii_digits(doc: bytes) -> tuple[bytes, list[int]]:
    """Return the text with ASCII digits, and for each place in it the place in `doc`.

    Full-width signs are changed where they stand next to a digit.
    """
    text = doc.decode("utf-8", "surrogatepass")
    changed = [_ascii_digit(char) or char for char in text]
    for k, char in enumerate(text):
        beside = [*changed[k - 1 : k], *changed[k + 1 : k + 2]] if k else changed[1:2]
        if char in SIGNS and any(one in "0123456789" for one in beside):
            changed[k] = SIGNS[char]
    out = bytearray()
    written: list[int] = []
    at = 0
    for old, new in zip(text, changed, strict=True):
        width = len(old.encode("utf-8", "surrogatepass"))
        piece = new.encode("utf-8", "surrogatepass")
        written.extend(range(at, at + len(piece)))
        out += piece
        at += width
    return bytes(out), [*written, at]


def _ascii_digit(char: str) -> str | None:
    value = unicodedata.decimal(char, None)
    return None if value is None else str(value)
