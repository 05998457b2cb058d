"""What is raised (`sup`) or lowered (`sub`), in plain text: `x^2`, `x^{n+1}`, `a_{ij}`, or as it is.

A power that lost its mark is another number, so a raised number after a number, a short word (units,
variables, functions), a closing bracket or a sign such as `∑` has its `^`, and so has an expression or a
letter after a variable. As they are stay: numbers of notes (links, `[1]`, those after longer words), ordinals and
abbreviations of any language (`1st`, `XXe`, `no`, `Mme`: they are words), and signs (`TM`, `*`).

What is lowered has its `_`, for `a1` and `a` with an index 1 are not the same, except numbers of atoms:
`H2O` and `CO2` is how everybody writes them. A number over a number is a fraction and has its bar
already; a space is written between it and the number before.

One character and a number with its sign need no braces, unless what follows would be read with them.
"""

import numpy as np
import numpy.typing as npt

from pageblocks.kernels.markup import name_hash
from pageblocks.kernels.page_chars import is_word
from pageblocks.kernels.scripts import is_wide
from textkernels.byte_search import byte_kernel
from textkernels.hashing import FNV_OFFSET, FNV_PRIME
from textkernels.utf8 import decode

Bytes = npt.NDArray[np.uint8]

AS_IS, BARE, BRACED, SPACED = range(4)
"""What is written before it: nothing; a mark; a mark and braces around it; a space."""

MAX_BYTES = 48
"""What is longer is small print and no exponent."""
_SHORT = 3
"""Letters of a word that may be a unit or a product of variables: notes stand after such ones too, and
have a mark then."""

_FUNCTION_NAMES = (
    "sin cos tan cot sec csc log ln lg exp sinh cosh tanh coth arcsin arccos arctan det tr"
)
_FUNCTIONS = np.array([name_hash(name) for name in _FUNCTION_NAMES.split()], dtype=np.uint64)
_ENDING_NAMES = "st nd rd th er re me ers res eme nde es os as te de le mo ma no na tm sm mc md"
_ENDINGS = np.array([name_hash(name) for name in _ENDING_NAMES.split()], dtype=np.uint64)
"""How ordinals and abbreviations end, in several languages, of two letters and more."""
_GREEK_ENDINGS = (0x3B1, 0x3AC, 0x3B7, 0x3AE, 0x3BF, 0x3CC)
"""How Greek ordinals end that are one letter: alpha, eta, omicron, with accents or without."""
_INDEXES = np.frombuffer(b"nkmxyzijpqT", dtype=np.uint8)
"""Letters that are an exponent after two letters too: no abbreviation ends in them."""
_ELEMENTS = (
    "H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br Kr Rb Sr Y Zr "
    "Nb Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm Yb Lu Hf Ta W Re Os Ir "
    "Pt Au Hg Tl Pb Bi Po At Rn Fr Ra Ac Th Pa U Np Pu Am Cm Bk Cf Es Fm Md No Lr"
)


def _element_table() -> npt.NDArray[np.bool_]:
    """Symbols of elements, by capital and small letter; column 0 for those of one letter."""
    table = np.zeros((26, 27), dtype=np.bool_)
    for symbol in _ELEMENTS.split():
        table[ord(symbol[0]) - 65, ord(symbol[1]) - 96 if len(symbol) > 1 else 0] = True
    return table


_IS_ELEMENT = _element_table()
_NONE, _DIGIT, _LETTER, _CLOSING = range(4)


@byte_kernel
def _is_digit(code: int) -> bool:
    return 48 <= code <= 57


@byte_kernel
def _is_greek(code: int) -> bool:
    return 0x370 <= code < 0x400 or code == 0x221E or code == 0xB5


@byte_kernel
def _is_capital(code: int) -> bool:
    return 65 <= code <= 90


@byte_kernel
def _is_small(code: int) -> bool:
    return 97 <= code <= 122


@byte_kernel
def _is_letter(code: int) -> bool:
    """A letter that words are made of which have spaces between them, and signs such as infinity."""
    return (
        code == 0x221E or (is_word(code) and not _is_digit(code) and code != 95 and not is_wide(code))
    )  # fmt: skip


@byte_kernel
def _is_sign(code: int) -> bool:
    return code == 43 or code == 45 or code == 0x2212 or code == 0xB1 or code == 0x2213


@byte_kernel
def _is_large(code: int) -> bool:
    """Signs of sums, products and integrals, which have bounds."""
    return 0x220F <= code <= 0x2211 or 0x222B <= code <= 0x2233 or 0x22C0 <= code <= 0x22C3


@byte_kernel
def _is_operator(code: int) -> bool:
    """What stands between letters and numbers of an expression."""
    return _is_sign(code) or code in (
        40, 41, 42, 44, 46, 47, 60, 61, 62, 94, 95, 123, 124, 125, 0xB7, 0xD7, 0x2013, 0x2032, 0x2044,
        0x2192, 0x2208, 0x2217, 0x2260, 0x2264, 0x2265, 0x22C5,
    )  # fmt: skip


@byte_kernel
def _start_of_last(text: Bytes, first: int, at: int) -> int:
    """Where the last character of text[first:at] begins."""
    at -= 1
    while at > first and text[at] & 0xC0 == 0x80:
        at -= 1
    return at


@byte_kernel
def _is_one_of(text: Bytes, at: int, end: int, hashes: npt.NDArray[np.uint64]) -> bool:
    """Whether text[at:end], in lower case, is one of some names."""
    value = FNV_OFFSET
    for place in range(at, end):
        byte = text[place]
        value = (value ^ np.uint64(byte | 32 if 65 <= byte <= 90 else byte)) * FNV_PRIME
    index = 0
    while index < len(hashes) and hashes[index] != value:
        index += 1
    return index < len(hashes)


@byte_kernel
def _base_of(text: Bytes, first: int, at: int) -> tuple[int, int, int, int]:
    """What text[first:at] ends in: its kind, last character, letters of its last word (up to 8), and
    where that begins. A letter after `_` or `^` is a word by itself."""
    if at <= first:
        return _NONE, 0, 0, at
    start = _start_of_last(text, first, at)
    last, _ = decode(text, start, at)
    if _is_digit(last):
        return _DIGIT, last, 0, start
    if last in (41, 93, 125, 124) or _is_large(last):
        return _CLOSING, last, 0, start
    if not _is_letter(last):
        return _NONE, last, 0, at
    letters = 1
    while start > first and letters < 8:
        before = _start_of_last(text, first, start)
        code, _ = decode(text, before, start)
        if not _is_letter(code):
            break
        letters, start = letters + 1, before
    if letters > 1 and start > first and text[start - 1] in (94, 95):
        _, width = decode(text, start, at)
        letters, start = letters - 1, start + width
    return _LETTER, last, letters, start


@byte_kernel
def _is_fraction(data: Bytes, at: int) -> bool:
    """Whether a bar and something lowered follow in the markup."""
    n = len(data)
    if at < n and data[at] == 47:
        at += 1
    elif at + 2 < n and data[at] == 0xE2 and data[at + 1] == 0x81 and data[at + 2] == 0x84:
        at += 3
    elif at < n and data[at] == 38:  # &frasl; &#8260;
        end = at
        while end < n and end - at < 9 and data[end] != 59:
            end += 1
        if end - at != 6 or (data[at + 1] != 102 and data[at + 2] != 56):
            return False
        at = end + 1
    else:
        return False
    return (
        at + 3 < n and data[at] == 60 and data[at + 1] | 32 == 115 and data[at + 2] | 32 == 117
        and data[at + 3] | 32 == 98
    )  # fmt: skip


@byte_kernel
def _counts_atoms(text: Bytes, first: int, start: int, end: int, data: Bytes, at: int) -> bool:
    """Whether the number text[start:end] counts the atoms that are named before it: an element that
    is part of a formula, or is a gas that comes in pairs; or what is in brackets and is a formula."""
    if text[start] == 48 or (text[start] == 49 and end - start == 1):
        return False
    last = text[start - 1]
    if last == 41 or last == 93:
        opening = start - 2
        while opening >= first and start - opening < MAX_BYTES and text[opening] not in (40, 91):
            byte = text[opening]
            if not (_is_capital(byte) or _is_small(byte) or _is_digit(byte)):
                return False
            opening -= 1
        return opening >= first and text[opening] in (40, 91) and _is_capital(text[opening + 1])
    symbol = start - 1
    if _is_small(last):
        symbol -= 1
        if symbol < first or not _is_capital(text[symbol]):
            return False
        return bool(_IS_ELEMENT[text[symbol] - 65, last - 96])
    if not _is_capital(last) or not _IS_ELEMENT[last - 65, 0]:
        return False
    if last in (70, 72, 78, 79):  # fluorine, hydrogen, nitrogen, oxygen
        return True
    if symbol > first and (
        _is_letter(text[symbol - 1]) or _is_digit(text[symbol - 1]) or text[symbol - 1] == 41
    ):
        return True
    return at < len(data) and (_is_capital(data[at]) or data[at] == 40)


@byte_kernel
def _is_exponent(
    base: int, last: int, letters: int, word: int, text: Bytes, start: int, end: int,
    after_sub: bool, following: int,
) -> bool:  # fmt: skip
    """Whether text[start:end], raised after a base, is a number, an expression or a charge, and no
    mark of a note, ordinal or abbreviation."""
    n = digits = small = greek = signs = operators = spaces = run = longest = commas = points = 0
    first_code = last_code = 0
    at = start
    while at < end:
        code, width = decode(text, at, end)
        at += width
        if n == 0:
            first_code = code
        n += 1
        last_code = code
        if _is_letter(code):
            run += 1
            longest = max(longest, run)
            small += _is_small(code)
            greek += _is_greek(code)
            if not (_is_small(code) or _is_capital(code) or _is_greek(code)):
                return False  # `º`, and words of other scripts
            continue
        run = 0
        if _is_digit(code):
            digits += 1
        elif code == 32:
            spaces += 1
        elif _is_operator(code):
            operators += 1
            signs += _is_sign(code)
            commas += code == 44 or code == 0x2013
            points += code == 46
        else:
            return False
    found = n - digits - operators - spaces  # letters of it
    is_short = base == _LETTER and letters <= _SHORT
    is_function = base == _LETTER and _is_one_of(text, word, start, _FUNCTIONS)
    is_base = base in (_DIGIT, _CLOSING) or is_short or is_function
    if found == 0 and digits == 0:
        return signs == n and (after_sub or is_short or base == _CLOSING)
    if found == 0 and operators == spaces == 0:
        return is_base
    if found == 0 and spaces == 0:
        if operators == 1 and _is_sign(first_code):
            return is_base
        if operators == 1 and signs == 1 and _is_sign(last_code):  # a charge
            return after_sub or is_short or base == _CLOSING
        if points == operators == 1 and _is_digit(first_code) and _is_digit(last_code):
            return is_base
        if commas or (signs and _is_digit(first_code)):  # 1,2 or 1-3
            return base == _DIGIT
    if not is_base:
        return False
    if n == 1:
        is_ending = last_code | 32 in (97, 101, 111)  # a, e, o
        if base == _DIGIT:
            return after_sub or not (is_ending or last_code in _GREEK_ENDINGS)
        if greek or base == _CLOSING or is_function:
            return True
        if letters > 1:
            for index in range(len(_INDEXES)):
                if _INDEXES[index] == last_code:
                    return _is_greek(last) or (_is_small(last) and _is_small(text[word]))
            return False
        if not _is_capital(last):
            return last_code != 111
        if is_ending or (last in (68, 77, 83) and last_code in (114, 116)):  # Dr, Mr, St
            return False
        return not (last_code == 99 and _is_capital(following))  # McDonald
    is_variable = base == _CLOSING or (base == _LETTER and letters == 1 and not _is_capital(last))
    if operators == spaces == digits == 0:
        return (
            is_variable and (greek > 0 or (n == 2 and small == 2))
            and not _is_one_of(text, start, end, _ENDINGS)
        )  # fmt: skip
    if longest > _SHORT or (spaces and not operators) or points:
        return False
    if first_code == 40 or commas:
        return is_function or (base == _LETTER and letters == 1)
    if operators == 0:  # 2n, and no 2nd
        at = start
        while at < end and _is_digit(text[at]):
            at += 1
        return n <= 4 and not _is_one_of(text, at, end, _ENDINGS)
    return True


@byte_kernel
def _is_index(base: int, text: Bytes, start: int, end: int) -> bool:
    """Whether text[start:end], lowered after a base, is an index: letters, numbers, an expression."""
    n = words = operators = spaces = 0
    at = start
    while at < end:
        code, width = decode(text, at, end)
        at += width
        if n == 0 and code in (40, 47, 91):
            return False
        n += 1
        if _is_letter(code) or _is_digit(code) or is_wide(code):
            words += 1
        elif code == 32:
            spaces += 1
        elif _is_operator(code):
            operators += 1
        else:
            return False
    return base != _NONE and words > 0 and (spaces <= 1 or operators > 0)


@byte_kernel
def how_written(
    text: Bytes, first: int, start: int, end: int, is_sup: bool, is_linked: bool, after_sub: bool,
    data: Bytes, at: int,
) -> int:  # fmt: skip
    """How text[start:end], raised or lowered, is written after text[first:start], where data[at:]
    follows in the markup: `AS_IS` ..."""
    if end <= start or end - start > MAX_BYTES or text[start] <= 32:
        return AS_IS
    base, last, letters, word = _base_of(text, first, start)
    is_number = True
    for place in range(start, end):
        is_number &= _is_digit(text[place])
    if is_sup and is_number and _is_fraction(data, at):
        return SPACED if base in (_DIGIT, _LETTER) else AS_IS
    if base == _NONE:
        return AS_IS
    following = data[at] if at < len(data) else 32
    if is_linked:
        if not is_sup or base != _DIGIT or not is_number:
            return AS_IS
    elif is_sup:
        if not _is_exponent(
            base, last, letters, word, text, start, end, after_sub, following
        ):  # fmt: skip
            return AS_IS
    elif not _is_index(base, text, start, end) or (
        is_number and base != _DIGIT and _counts_atoms(text, first, start, end, data, at)
    ):
        return AS_IS
    code, width = decode(text, start, end)
    goes_on = _is_digit(following) or (
        _is_letter(code) and (_is_small(following) or _is_capital(following))
    )
    if start + width == end:
        return BRACED if goes_on else BARE
    for place in range(start + width, end):
        if not _is_digit(text[place]):
            return BRACED
    if not (_is_digit(code) or _is_sign(code)):
        return BRACED
    return BRACED if goes_on else BARE
