"""Check digits of numbers that name a person, a card or an account.

Each function takes the number's digits as ASCII bytes and says whether they belong together.
A check digit passes one random number in ten or so, two of them one in a hundred: rules that
have but one ask for a word beside the number as well.
"""

from collections.abc import Sequence

_VERHOEFF_PRODUCT = (
    (0, 1, 2, 3, 4, 5, 6, 7, 8, 9),
    (1, 2, 3, 4, 0, 6, 7, 8, 9, 5),
    (2, 3, 4, 0, 1, 7, 8, 9, 5, 6),
    (3, 4, 0, 1, 2, 8, 9, 5, 6, 7),
    (4, 0, 1, 2, 3, 9, 5, 6, 7, 8),
    (5, 9, 8, 7, 6, 0, 4, 3, 2, 1),
    (6, 5, 9, 8, 7, 1, 0, 4, 3, 2),
    (7, 6, 5, 9, 8, 2, 1, 0, 4, 3),
    (8, 7, 6, 5, 9, 3, 2, 1, 0, 4),
    (9, 8, 7, 6, 5, 4, 3, 2, 1, 0),
)
_VERHOEFF_PERMUTATION = (
    (0, 1, 2, 3, 4, 5, 6, 7, 8, 9),
    (1, 5, 7, 6, 2, 8, 3, 0, 9, 4),
    (5, 8, 0, 3, 7, 9, 6, 1, 4, 2),
    (8, 9, 1, 6, 0, 4, 3, 5, 2, 7),
    (9, 4, 5, 3, 1, 2, 6, 8, 7, 0),
    (4, 2, 8, 6, 5, 7, 3, 9, 0, 1),
    (2, 7, 9, 3, 8, 0, 6, 4, 1, 5),
    (7, 0, 4, 6, 9, 1, 3, 2, 5, 8),
)


def values(digits: bytes) -> list[int]:
    return [byte - 48 for byte in digits]


def luhn(digits: bytes) -> bool:
    """ISO/IEC 7812-1, annex B: the sum with every second digit from the right doubled."""
    total = 0
    for place, byte in enumerate(reversed(digits)):
        value = byte - 48
        if place % 2:
            value = value * 2 - 9 if value > 4 else value * 2
        total += value
    return total % 10 == 0


def mod_97(account: bytes) -> bool:
    """ISO 7064 MOD 97-10 as IBAN uses it: the first four characters go to the end, letters
    count from 10 (A) to 35 (Z)."""
    remainder = 0
    for byte in account[4:] + account[:4]:
        value = int(chr(byte), 36)
        remainder = (remainder * (100 if value > 9 else 10) + value) % 97
    return remainder == 1


def mod_11_10(digits: bytes) -> bool:
    """ISO 7064 MOD 11,10: German tax ids, Croatian OIB."""
    product = 10
    for value in values(digits[:-1]):
        total = (value + product) % 10 or 10
        product = total * 2 % 11
    return (11 - product) % 10 == digits[-1] - 48


def mod_11_2(digits: bytes) -> bool:
    """ISO 7064 MOD 11-2, whose last character may be X: Chinese resident ids."""
    total = 0
    for byte in digits[:-1]:
        total = (total + byte - 48) * 2 % 11
    check = (12 - total) % 11
    return digits[-1:].upper() == (b"X" if check == 10 else b"%d" % check)


def verhoeff(digits: bytes) -> bool:
    """Verhoeff's dihedral check: Indian Aadhaar numbers."""
    check = 0
    for place, byte in enumerate(reversed(digits)):
        check = _VERHOEFF_PRODUCT[check][_VERHOEFF_PERMUTATION[place % 8][byte - 48]]
    return check == 0


def weighted(digits: bytes, weights: Sequence[int], modulus: int) -> int:
    """Return the weighted sum of the first digits, modulo `modulus`."""
    return sum(a * b for a, b in zip(values(digits), weights, strict=False)) % modulus


def is_date(year: int, month: int, day: int) -> bool:
    """Whether this is a day of the calendar; a year of two digits is of either century."""
    if not 1 <= month <= 12 or not 1 <= day <= 31:
        return False
    if month == 2:
        return day <= (29 if year % 4 == 0 else 28)
    return day <= (30 if month in (4, 6, 9, 11) else 31)
