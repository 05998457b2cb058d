"""Payment cards and bank accounts."""

import re

from corpus_assets.scrub.check_digits import luhn, mod_97
from corpus_assets.scrub.kernels.triggers import MIXED
from corpus_assets.scrub.rule import (
    HEAD,
    HEAD_OR_VALUE,
    TAIL,
    PatternRule,
    Span,
    digits_of,
    has_word,
    in_address,
    leads,
)
from corpus_assets.scrub.rule import number as number_rule

_ISSUERS: tuple[tuple[int, int, tuple[int, ...]], ...] = (
    (4, 4, (13, 16, 19)),  # Visa
    (51, 55, (16,)), (2221, 2720, (16,)),  # Mastercard
    (34, 34, (15,)), (37, 37, (15,)),  # American Express
    (6011, 6011, (16, 19)), (644, 649, (16, 19)), (65, 65, (16, 19)),  # Discover
    (300, 305, (14, 16, 19)), (3095, 3095, (14, 16)), (36, 36, (14, 16)), (38, 39, (14, 16)),  # Diners
    (3528, 3589, (16, 17, 18, 19)), (1800, 1800, (15,)), (2131, 2131, (15,)),  # JCB
    (62, 62, (16, 17, 18, 19)), (81, 81, (16, 17, 18, 19)),  # UnionPay, RuPay
    (2200, 2204, (16, 17, 18, 19)),  # Mir
    (50, 50, tuple(range(12, 20))), (56, 58, tuple(range(12, 20))),  # Maestro
    (6304, 6304, tuple(range(12, 20))), (639, 639, tuple(range(12, 20))),
    (67, 67, tuple(range(12, 20))), (60, 60, (16,)), (9792, 9792, (16,)),
)  # fmt: skip
"""First digits of card numbers (from, to) and the lengths they come in (ISO/IEC 7812)."""

_CARD_WORD = re.compile(
    rb"card|visa|mastercard|maestro|amex|credit|debit|karte|carte|tarjeta|cart\xc3\xa3o|carta"
    rb"|kaart|karta|kort|\xd0\xba\xd0\xb0\xd1\x80\xd1\x82|\xe5\x8d\xa1|\xe3\x82\xab\xe3\x83\xbc"
    rb"|\xec\xb9\xb4\xeb\x93\x9c|\xd8\xa8\xd8\xb7\xd8\xa7\xd9\x82"
    rb"|(?<![A-Za-z])(?:cc|ccn|ccnum|cc_?no|pan)(?![A-Za-z])",
    re.IGNORECASE,
)
_NAMED = re.compile(rb"(?:cc|ccn|pan|card|number|num|no|nr|account|acct)=\Z", re.IGNORECASE)
"""Names of a value that may be a card; other values of queries and settings name pages and things."""

IBAN_LENGTHS: dict[bytes, int] = {
    b"AD": 24, b"AE": 23, b"AL": 28, b"AT": 20, b"AZ": 28, b"BA": 20, b"BE": 16, b"BG": 22,
    b"BH": 22, b"BI": 27, b"BR": 29, b"BY": 28, b"CH": 21, b"CR": 22, b"CY": 28, b"CZ": 24,
    b"DE": 22, b"DJ": 27, b"DK": 18, b"DO": 28, b"EE": 20, b"EG": 29, b"ES": 24, b"FI": 18,
    b"FK": 18, b"FO": 18, b"FR": 27, b"GB": 22, b"GE": 22, b"GI": 23, b"GL": 18, b"GR": 27,
    b"GT": 28, b"HR": 21, b"HU": 28, b"IE": 22, b"IL": 23, b"IQ": 23, b"IS": 26, b"IT": 27,
    b"JO": 30, b"KW": 30, b"KZ": 20, b"LB": 28, b"LC": 32, b"LI": 21, b"LT": 20, b"LU": 20,
    b"LV": 21, b"LY": 25, b"MC": 27, b"MD": 24, b"ME": 22, b"MK": 19, b"MN": 20, b"MR": 27,
    b"MT": 31, b"MU": 30, b"NI": 28, b"NL": 18, b"NO": 15, b"OM": 23, b"PK": 24, b"PL": 28,
    b"PS": 29, b"PT": 25, b"QA": 29, b"RO": 24, b"RS": 22, b"RU": 33, b"SA": 24, b"SC": 31,
    b"SD": 18, b"SE": 24, b"SI": 19, b"SK": 24, b"SM": 27, b"SO": 23, b"ST": 25, b"SV": 28,
    b"TL": 23, b"TN": 24, b"TR": 26, b"UA": 29, b"VA": 22, b"VG": 24, b"XK": 20, b"YE": 30,
}  # fmt: skip
"""Characters of an account number by country (ISO 13616 registry)."""


def is_issued(digits: bytes) -> bool:
    """Whether a card network gives out numbers that begin so and have this length."""
    for low, high, lengths in _ISSUERS:
        width = len(str(low))
        if low <= int(digits[:width]) <= high and len(digits) in lengths:
            return True
    return False


def _card(doc: bytes, match: re.Match[bytes]) -> Span | None:
    start, end = match.span()
    is_value = doc[start - 1 : start] == b"="
    if in_address(doc, start) or (is_value and not _NAMED.search(doc, max(0, start - 12), start)):
        return None
    while True:
        digits = digits_of(doc[start:end])
        if luhn(digits) and len(set(digits)) > 1:
            # Twelve and thirteen digits are as many as an article in a shop has.
            if len(digits) > 13 and is_issued(digits):
                return start, end
            if has_word(doc, (start, end), _CARD_WORD):
                return start, end
        last = max(doc.rfind(b" ", start, end), doc.rfind(b"-", start, end))
        if last < 0 or end != match.end():
            return None
        end = last  # the digits behind the last gap may be the code on the card's back


def _account(doc: bytes, match: re.Match[bytes]) -> Span | None:
    """As many characters as the country's accounts have; a word may follow in the match."""
    written = match.group()
    length = IBAN_LENGTHS.get(written[:2].upper(), 0)
    end = start = match.start()
    kept = bytearray()
    while len(kept) < length and end < match.end():
        if doc[end] not in b" -":
            kept.append(doc[end])
        end += 1
    if not length or len(kept) < length or re.match(rb"[A-Za-z0-9_]", doc[end : end + 1]):
        return None
    is_spaced = end - start > length
    if is_spaced and not bytes(kept).isupper():
        return None
    return (start, end) if mod_97(bytes(kept).upper()) else None


_ACCOUNT_WORD = re.compile(
    rb"kont(?:o|a|em|u)(?![A-Za-z])|rachun|przelew|account|(?<![A-Za-z])(?:nrb|iban|bank)",
    re.IGNORECASE,
)


def _polish_account(doc: bytes, match: re.Match[bytes]) -> Span | None:
    """Return an account number as Poles write it among themselves: an IBAN without its PL (NRB)."""
    digits = digits_of(match.group())
    if not mod_97(b"PL" + digits) or not has_word(doc, match.span(), _ACCOUNT_WORD):
        return None
    return match.span()


RULES: tuple[PatternRule, ...] = (
    PatternRule(
        "iban",
        "iban",
        MIXED,
        re.compile(rb"(?<![A-Za-z0-9_])[A-Za-z]{2}[0-9]{2}(?:[ -]?[A-Za-z0-9]){11,30}"),
        _account,
    ),
    number_rule(
        "pl_nrb",
        "iban",
        HEAD + rb"[0-9]{2}([ -]?)[0-9]{4}(?:\1[0-9]{4}){5}" + TAIL,
        _polish_account,
        leads((2, b" -"), (26, None)),
    ),
    number_rule(
        "card",
        "credit_card",
        HEAD_OR_VALUE
        + rb"(?:[0-9]{12,19}|[0-9]{4}([ -])[0-9]{4}\1[0-9]{4}\1[0-9]{4}(?:\1[0-9]{1,3})?"
        + rb"|[0-9]{4}([ -])[0-9]{6}\2[0-9]{4,5}|[0-9]{4}([ -])[0-9]{4}\3[0-9]{4}\3[0-9]{1,3})"
        + TAIL,
        _card,
        leads((4, b" -"), *((n, None) for n in range(12, 20))),
    ),
)
