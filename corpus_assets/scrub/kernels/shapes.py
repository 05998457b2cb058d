"""What a stop of the scan turns out to be: digits, letters, a prefix, an @, a value.

Each of these writes the places it finds to `found` from `n` on and gives the new `n`. Every look
ahead or back is bounded.
"""

from corpus_assets.scrub.kernels.triggers import (
    AT,
    DETAIL,
    DIGIT,
    DOC,
    HEX,
    HEXADECIMAL,
    HOST,
    LETTER,
    LOCAL,
    MARK,
    MAX_LOCAL,
    MAX_WORD,
    MIN_DIGITS,
    MIN_SECRET,
    MIXED,
    NUMBER,
    PLACE,
    QUAD,
    SECRET,
    SEPARATOR,
    TRIGGER,
    VALUE,
    Marks,
)
from corpus_assets.text.split import Bytes, Ints
from textkernels.compiled import kernel


@kernel
def _digits_in(data: Bytes, at: int, end: int, classes: Bytes) -> int:
    digits = 0
    for k in range(at, end):
        digits += classes[data[k]] & DIGIT
    return digits


@kernel
def put(found: Ints, n: int, d: int, place: int, trigger: int, detail: int) -> int:
    found[n, DOC], found[n, PLACE], found[n, TRIGGER], found[n, DETAIL] = d, place, trigger, detail
    return n + 1


@kernel
def _gap(data: Bytes, at: int, high: int, classes: Bytes) -> int:
    """Bytes of one separator between digits at `at`, 0 where there is none."""
    byte = data[at]
    if byte < 0x80:
        return 1 if classes[byte] & SEPARATOR else 0
    if byte == 0xC2 and at + 1 < high and data[at + 1] == 0xA0:  # no-break space
        return 2
    if byte == 0xE2 and at + 2 < high and data[at + 1] == 0x80:
        last = data[at + 2]
        if last == 0xAF or 0x90 <= last <= 0x95:  # narrow no-break space, hyphens, dashes
            return 3
    if byte == 0xE2 and at + 2 < high and data[at + 1] == 0x88 and data[at + 2] == 0x92:  # minus
        return 3
    return 0


@kernel
def digits_ahead(data: Bytes, at: int, high: int, classes: Bytes) -> int:
    """Digits from `at` on with at most three separators before each, MIN_DIGITS at most.

    A letter A or B after a 2 counts as a digit: so are the departments of Corsica written.
    """
    digits = 0
    gaps = 0
    while at < high and digits < MIN_DIGITS:
        if classes[data[at]] & DIGIT:
            digits += 1
            gaps = 0
            at += 1
            continue
        if (data[at] == 0x41 or data[at] == 0x42) and gaps == 0 and digits and data[at - 1] == 0x32:
            digits += 1
            at += 1
            continue
        width = _gap(data, at, high, classes)
        if width == 0 or gaps == 3:
            break
        gaps += 1
        at += width
    return digits


@kernel
def of_digits(
    data: Bytes,
    high: int,
    at: int,
    end: int,
    classes: Bytes,
    found: Ints,
    n: int,
    d: int,
) -> int:
    """Places that begin with the word at [at, end), which begins with a digit."""
    group = 1
    while group < end - at and classes[data[at + group]] & DIGIT:
        group += 1
    after = int(data[at + group]) if at + group < high else 0
    if group <= 3 and after == 0x2E and _is_quad(data, at, high, classes):
        n = put(found, n, d, at, QUAD, 0)
    if end - at == 4 and end < high and data[end] == 0x3A and 0x32 <= data[at] <= 0x33:
        hexadecimal = classes[data[at + 1]] & classes[data[at + 2]] & classes[data[at + 3]]
        if hexadecimal & HEXADECIMAL:
            n = put(found, n, d, at, HEX, 0)
    if (
        _digits_in(data, at, end, classes) >= MIN_DIGITS
        or digits_ahead(data, at, high, classes) >= MIN_DIGITS
    ):
        n = put(found, n, d, at, NUMBER, group * 256 + after)
    return n


@kernel
def _is_quad(data: Bytes, at: int, high: int, classes: Bytes) -> bool:
    for group in range(4):
        digits = 0
        while at < high and digits < 4 and classes[data[at]] & DIGIT:
            digits += 1
            at += 1
        if digits == 0 or digits > 3:
            return False
        if group < 3:
            if at >= high or data[at] != 0x2E:
                return False
            at += 1
    return True


@kernel
def of_letters(
    data: Bytes,
    high: int,
    at: int,
    end: int,
    classes: Bytes,
    found: Ints,
    n: int,
    d: int,
) -> int:
    """Return the place of a word that begins with a letter, where an id could stand in it."""
    length = end - at
    digits = _digits_in(data, at, end, classes) if length <= MAX_WORD else 0
    if digits >= 4 and length <= MAX_WORD:
        return put(found, n, d, at, MIXED, 0)
    if end + 1 >= high or (data[end] != 0x20 and data[end] != 0x2D):
        return n
    following = classes[data[end + 1]]
    if (
        (length == 4 and digits == 2 and following & (DIGIT | LETTER))
        or (length == 2 and following & DIGIT)
        or (length == 1 and following & DIGIT and data[end] == 0x2D)
    ):
        return put(found, n, d, at, MIXED, 0)
    return n


@kernel
def of_mark(data: Bytes, high: int, at: int, marks: Marks, found: Ints, n: int, d: int) -> int:
    """Return the longest prefix that stands at `at` (longer ones are listed first)."""
    first = data[at]
    for p in range(marks.groups[first], marks.groups[first + 1]):
        begin = marks.offsets[p]
        length = marks.offsets[p + 1] - begin
        if at + length > high:
            continue
        same = True
        for k in range(1, length):
            if data[at + k] != marks.data[begin + k]:
                same = False
                break
        if same:
            return put(found, n, d, at, MARK, p)
    return n


@kernel
def of_at(
    data: Bytes, low: int, high: int, at: int, classes: Bytes, found: Ints, n: int, d: int
) -> int:
    """Return the place where the characters before the @ at `at` begin, were it an address."""
    if at + 1 >= high or not (classes[data[at + 1]] & HOST or 0xC3 <= data[at + 1] <= 0xD3):
        return n
    start = at
    chars = 0
    while start > low and chars <= MAX_LOCAL:
        if classes[data[start - 1]] & LOCAL:
            start -= 1
        elif start - 1 > low and 0x80 <= data[start - 1] < 0xC0 and 0xC3 <= data[start - 2] <= 0xD3:
            start -= 2
        else:
            break
        chars += 1
    if 0 < chars <= MAX_LOCAL:
        n = put(found, n, d, start, AT, 0)
    return n


@kernel
def of_value(data: Bytes, high: int, at: int, classes: Bytes, found: Ints, n: int, d: int) -> int:
    """Return what stands after the = or : at `at`, where it is long and not only letters."""
    at += 1
    for _ in range(5):  # space, tab, quotes, >
        if at < high and (data[at] == 0x20 or data[at] == 9 or data[at] == 0x22 or data[at] == 0x27
                          or data[at] == 0x3E):  # fmt: skip
            at += 1
    if at + MIN_SECRET > high or data[at] == 0x3D:
        return n
    for k in range(MIN_SECRET):
        if not classes[data[at + k]] & SECRET:
            return n
    return put(found, n, d, at, VALUE, 0)
