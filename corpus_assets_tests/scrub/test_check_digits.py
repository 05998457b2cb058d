"""Check digits: numbers that are known to be right, and every single digit changed."""

from collections.abc import Callable

import pytest

from corpus_assets.scrub.accounts import is_issued
from corpus_assets.scrub.check_digits import is_date, luhn, mod_11_2, mod_11_10, mod_97, verhoeff

RIGHT: dict[Callable[[bytes], bool], tuple[bytes, ...]] = {
    luhn: (b"79927398713", b"4111111111111111", b"378282246310005"),
    mod_11_10: (b"86095742719", b"47036892816", b"33392005961"),
    verhoeff: (b"2363", b"234123412346"),
    mod_11_2: (b"11010519491231002X", b"440524188001010014"),
    mod_97: (b"GB29NWBK60161331926819", b"DE89370400440532013000"),
}


@pytest.mark.parametrize("check", RIGHT, ids=lambda check: check.__name__)
def test_right_numbers_pass_and_any_changed_digit_fails(check: Callable[[bytes], bool]) -> None:
    for number in RIGHT[check]:
        assert check(number)
        for at, byte in enumerate(number):
            if 48 <= byte <= 57:
                for other in set(b"0123456789") - {byte}:
                    assert not check(number[:at] + bytes([other]) + number[at + 1 :])


@pytest.mark.parametrize("check", [verhoeff, mod_11_10, mod_97], ids=lambda check: check.__name__)
def test_neighbours_that_changed_places_fail(check: Callable[[bytes], bool]) -> None:
    for number in RIGHT[check]:
        for at in range(len(number) - 1):
            swapped = number[:at] + number[at : at + 2][::-1] + number[at + 2 :]
            if swapped != number and swapped.isalnum() and check is verhoeff:
                assert not check(swapped)


def test_luhn_is_the_sum_with_every_second_digit_doubled() -> None:
    for number in range(10_000):
        digits = [int(char) for char in str(number)][::-1]
        doubled = [sum(divmod(2 * d, 10)) if k % 2 else d for k, d in enumerate(digits)]
        assert luhn(b"%d" % number) == (sum(doubled) % 10 == 0)


@pytest.mark.parametrize(
    ("date", "expected"),
    [((24, 2, 29), True), ((23, 2, 29), False), ((99, 4, 31), False), ((0, 12, 31), True),
     ((85, 13, 1), False), ((85, 0, 1), False), ((85, 1, 0), False)],
)  # fmt: skip
def test_days_of_the_calendar(date: tuple[int, int, int], expected: bool) -> None:
    assert is_date(*date) == expected


@pytest.mark.parametrize(
    ("digits", "expected"),
    [(b"4" * 16, True), (b"4" * 15, False), (b"51" * 8, True), (b"2220" * 4, False),
     (b"2221" * 4, True), (b"34" + b"0" * 13, True), (b"34" + b"0" * 14, False), (b"9" * 16, False)],
)  # fmt: skip
def test_cards_are_known_by_first_digits_and_length(digits: bytes, expected: bool) -> None:
    assert is_issued(digits) == expected
