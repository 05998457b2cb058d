"""Telephone numbers: international forms, national forms, and any number after a word for it.

Most numbers of a text are none: dates, prices, ISBN, orders, coordinates. So a number counts

* when it begins with + or 00 and a country code, and is as long as numbers of that country are;
* when it is written as one country writes its own, in a form that little else has;
* when a word for telephone, in one of many languages, stands before it.

Lengths follow the national numbering plans as the ITU publishes them (E.164, E.129).
"""

import re

from corpus_assets.scrub.rule import (
    GAP,
    HEAD,
    LETTER,
    TAIL,
    Rule,
    Span,
    digits_of,
    in_address,
    leads,
    number,
)

_EXTENSION = rb"(?:[ ,]{0,2}(?:x|ext\.?|extension|poste|durchwahl)[ .:]?[0-9]{1,6})?"
_MORE = GAP + rb"{0,3}[0-9]"

_LENGTHS: dict[str, tuple[int, int]] = {
    "1": (10, 10), "7": (10, 10), "20": (8, 10), "27": (9, 9), "30": (10, 10), "31": (9, 9),
    "32": (8, 9), "33": (9, 9), "34": (9, 9), "36": (8, 9), "39": (6, 11), "40": (9, 9),
    "41": (9, 9), "43": (6, 13), "44": (9, 10), "45": (8, 8), "46": (7, 9), "47": (8, 8),
    "48": (9, 9), "49": (6, 11), "51": (8, 9), "52": (10, 11), "53": (8, 8), "54": (10, 11),
    "55": (10, 11), "56": (9, 9), "57": (8, 10), "58": (10, 10), "60": (8, 10), "61": (9, 9),
    "62": (8, 12), "63": (8, 10), "64": (8, 10), "65": (8, 8), "66": (8, 9), "81": (9, 10),
    "82": (8, 10), "84": (9, 10), "86": (10, 12), "90": (10, 10), "91": (10, 10), "92": (9, 10),
    "93": (9, 9), "94": (9, 9), "95": (7, 10), "98": (10, 10),
}  # fmt: skip
"""Digits behind country codes of one and two digits. Codes of three digits begin with what is
not listed, and have 5 to 12."""

_THREE_DIGITS = ("21", "22", "23", "24", "25", "26", "29", "35", "37", "38", "42", "50", "59",
                 "67", "68", "69", "80", "85", "87", "88", "96", "97", "99")  # fmt: skip

_WORDS = (
    "tel", "tels", "telephone", "telephones", "phone", "phones", "ph", "mobile", "mob", "cell",
    "cellphone", "call", "calling", "dial", "fax", "whatsapp", "viber", "sms", "hotline",
    "telefon", "telefonnummer", "telefono", "telefone", "telefonszám", "telefonu", "telefoon",
    "telefonní", "tél", "téléphone", "teléfono", "teléfonos", "móvil", "celular", "cellulare",
    "portable", "handy", "handynummer", "rufnummer", "mobil", "mobilnummer", "mobiel", "gsm",
    "puhelin", "tlf", "tfn", "telf", "numer telefonu", "komórka", "komórkowy", "facs", "faks",
    "my number is", "your number is", "reach me at", "answering at", "desk:", "contact number", "phone number",
    "тел", "телефон", "телефоны", "телефону", "моб", "мобильный", "факс", "звоните", "звонить",
    "тел.", "τηλ", "τηλέφωνο", "κινητό", "điện thoại", "sđt", "telpon", "telepon", "contact", "contact us",
)  # fmt: skip
_WORDS_IN_TEXT = (
    "電話", "电话", "手機", "手机", "傳真", "传真", "携帯", "热线", "熱線", "联系方式", "致电", "전화",
    "휴대폰", "핸드폰", "팩스", "연락처", "هاتف", "تلفون", "جوال", "موبايل", "فاكس", "تلفن", "فون",
    "फोन", "फ़ोन", "मोबाइल", "दूरभाष", "টেলিফোন", "ফোন", "טלפון", "נייד", "טל'", "פקס", "โทร",
    "โทรศัพท์", "มือถือ",
)  # fmt: skip
"""Words of scripts whose words are not set apart, or take endings."""


def _any_case(word: str) -> bytes:
    """The word as a pattern; ASCII letters match in any case, others as small and capital."""
    out = []
    for char in word:
        forms = sorted({char, char.upper(), char.lower()})
        encoded = [re.escape(form.encode()) for form in forms]
        out.append(encoded[0] if len(encoded) == 1 else b"(?:" + b"|".join(encoded) + b")")
    return b"".join(out)


def _after(words: tuple[str, ...], free: tuple[str, ...] = ()) -> re.Pattern[bytes]:
    """One of the words, and then what may stand between it and the number that ends the window."""
    longest = sorted(words, key=len, reverse=True)
    apart = b"|".join(_any_case(word) for word in longest)
    anywhere = b"".join(b"|" + re.escape(word.encode()) for word in free)
    return re.compile(
        rb"(?:(?<![A-Za-z\x80-\xff])(?:" + apart + rb")(?![A-Za-z\x80-\xbf\xc3-\xd4])"
        + anywhere
        + rb")(?:[^0-9\n]{0,28}(?:\+?[0-9][0-9 ().\-/+]{6,24}[^0-9\n]{1,8})?"
        rb"|[.:]?[ \t]{0,2}\r?\n[ \t]{0,4})\Z"
    )  # fmt: skip


_PLAIN_WORDS = tuple(word for word in _WORDS if word.isascii())
_FIRST_WORDS = frozenset(re.match("[a-z]+", word).group().encode() for word in _PLAIN_WORDS)  # type: ignore[union-attr]
AFTER_PLAIN = _after(_PLAIN_WORDS)
AFTER_WIDE = _after(tuple(word for word in _WORDS if not word.isascii()), _WORDS_IN_TEXT)
_TOKEN = re.compile(rb"[A-Za-z]+")
BEFORE_WORD = re.compile(
    rb"[ \t]{0,2}[(,]?[ \t]?(?:fax|mobile|cell|phone|tel|office|desk|home|work)\.?\)?"
    rb"[ \t]{0,2}(?=[\r\n,;.)]|\Z)",
    re.IGNORECASE,
)
_WINDOW = 110

_DATE = re.compile(
    rb"(?:0?[1-9]|[12][0-9]|3[01])[-./ ](?:0?[1-9]|[12][0-9]|3[01])[-./ ](?:19|20)[0-9]{2}(?![0-9])"
    rb"|(?:19|20)[0-9]{2}[-./ ]?(?:0[1-9]|1[0-2])[-./ ]?(?:0[1-9]|[12][0-9]|3[01])(?![0-9])"
    rb"|(?:19|20)[0-9]{2} ?(?:-|\xe2\x80\x93) ?(?:19|20)[0-9]{2}(?![0-9])"
)
_NOT_A_PHONE = re.compile(
    rb"(?:isbn|issn|ean|doi|order|invoice|serial|sku|vin|part no|patent|account|iban|licen[cs]e|policy|passport|serie|model"
    rb"|bestell|rechnung|commande|pedido|\xd0\xb7\xd0\xb0\xd0\xba\xd0\xb0\xd0\xb7)"
    rb"[^0-9\n]{0,16}\Z",
    re.IGNORECASE,
)


def _has_word(doc: bytes, span: Span) -> bool:
    """Whether a word for telephone stands before the number or right behind it."""
    start, end = span
    return _is_after_word(doc[max(0, start - _WINDOW) : start]) or (
        BEFORE_WORD.match(doc, end) is not None
    )


def _is_after_word(before: bytes) -> bool:
    """Words are looked up first and the expression tried at each of them: trying all words at
    every byte would cost a hundred times as much."""
    for token in _TOKEN.finditer(before):
        if token.group().lower() in _FIRST_WORDS and AFTER_PLAIN.match(before, token.start()):
            return True
    return not before.isascii() and AFTER_WIDE.search(before) is not None


def _is_other(doc: bytes, match: re.Match[bytes]) -> bool:
    """A date, or a number that the text calls something else."""
    if _DATE.match(match.group().lstrip(b"(")):
        return True
    window = max(0, match.start() - 32), match.start()
    has_letters = LETTER.search(doc, *window) is not None
    return has_letters and _NOT_A_PHONE.search(doc, *window) is not None


def _is_international(digits: str) -> bool:
    """Whether digits begin with a country code and are as many as numbers there have."""
    if digits[0] == "1":
        return len(digits) == 11 and digits[1] > "1"
    for width in (1, 2):
        bounds = _LENGTHS.get(digits[:width])
        if bounds is not None:
            rest = digits[width:]
            return bounds[0] <= len(rest) - rest.startswith("0") <= bounds[1]
    return digits[:2] in _THREE_DIGITS and 8 <= len(digits) <= 15


def _is_nanp(ten: str) -> bool:
    """North America: area and exchange begin with 2 to 9, and no area ends in 11."""
    return len(ten) == 10 and ten[0] > "1" and ten[3] > "1" and ten[1:3] != "11"


def _international(doc: bytes, match: re.Match[bytes]) -> Span | None:
    number_part = match.group(1)
    digits = digits_of(number_part.replace(b"(0)", b"")).decode()
    if digits.endswith("00000") or not _is_international(digits):
        return None
    if number_part.count(b".") == 1 and re.fullmatch(rb"\+?[0-9]+\.[0-9]+", number_part):
        code = number_part.lstrip(b"+").partition(b".")[0].decode()
        if code not in _LENGTHS and not (len(code) == 3 and code[:2] in _THREE_DIGITS):
            return None  # a decimal number with its sign
    return match.span()


def _double_zero(doc: bytes, match: re.Match[bytes]) -> Span | None:
    number_part = match.group(1)
    digits = digits_of(number_part.replace(b"(0)", b"")).decode()
    if not _is_international(digits) or in_address(doc, match.start()):
        return None
    if re.search(rb"[^0-9]00", match.group()):
        return None  # code points and other numbers filled up with zeros
    if match.group().isdigit() and not _has_word(doc, match.span()):
        return None
    return match.span()


def _north_america(doc: bytes, match: re.Match[bytes]) -> Span | None:
    digits = digits_of(match.group(1)).decode()
    if not _is_nanp(digits[-10:]) or _is_other(doc, match) or in_address(doc, match.start()):
        return None
    return match.span()


def _trunk_zero(doc: bytes, match: re.Match[bytes]) -> Span | None:
    """National numbers that begin with 0: most of Europe, Asia, Africa and Australia."""
    written = match.group(1)
    groups = re.findall(rb"[0-9]+", written)
    n_digits = sum(map(len, groups))
    if not 9 <= n_digits <= 12 or _is_other(doc, match) or in_address(doc, match.start()):
        return None
    if _has_word(doc, match.span()):
        return match.span()
    if len(groups) < 2 or not 2 <= len(groups[0]) <= 5 or min(map(len, groups)) < 2:
        return None
    gaps = set(re.findall(rb"[^0-9()]+", written))
    if written.startswith(b"("):
        return match.span() if written.count(b")") == 1 else None
    if len(groups) == 2:
        is_area = len(groups[0]) <= 4 and n_digits >= 10
        return match.span() if gaps <= {b"-", b"/"} and is_area else None
    if len(gaps) > 2:
        return None
    if all(len(group) == 2 for group in groups):
        numbers = [int(group) for group in groups]
        if len(groups) != 5 or (max(numbers) <= 50 and numbers == sorted(set(numbers))):
            return None  # a draw of a lottery, a list
    return match.span()


def _with_word(doc: bytes, match: re.Match[bytes]) -> Span | None:
    written = match.group(1)
    n_digits = len(digits_of(written))
    if not 7 <= n_digits <= 15 or not _has_word(doc, match.span()):
        return None
    if _is_other(doc, match) or in_address(doc, match.start()):
        return None
    if re.fullmatch(rb"[0-9]{1,3}(?:[ .][0-9]{3})*[ .][0-9]00", written):
        return None  # a round number
    return match.span()


def _paren_area(doc: bytes, match: re.Match[bytes]) -> Span | None:
    is_year = re.match(rb"\((?:19|20)[0-9]{2}\)", match.group()) is not None
    n_digits = len(digits_of(match.group()))
    if is_year or not 9 <= n_digits <= 12 or _is_other(doc, match):
        return None
    return match.span()


def _grouped(doc: bytes, match: re.Match[bytes]) -> Span | None:
    if _is_other(doc, match) or in_address(doc, match.start()):
        return None
    return match.span()


RULES: tuple[Rule, ...] = (
    number(
        "international",
        "phone",
        rb"(?<![A-Za-z0-9_+*^])(\+ ?\(?[1-9](?:" + _MORE + rb"){6,14})(?![0-9])" + _EXTENSION,
        _international,
        leads((0, b"+")),
    ),
    number(
        "double_zero",
        "phone",
        HEAD + rb"00[ .-]?([1-9](?:" + _MORE + rb"){6,14})(?![0-9])" + TAIL,
        _double_zero,
        leads(*((n, None) for n in range(2, 18))),
    ),
    number(
        "north_america",
        "phone",
        HEAD
        + rb"(?:1[ .-])?(\([2-9][0-9]{2}\)[ .-]?[2-9][0-9]{2}[ .-]?[0-9]{4}"
        + rb"|[2-9][0-9]{2}-[2-9][0-9]{2}-[0-9]{4}|[2-9][0-9]{2}\.[2-9][0-9]{2}\.[0-9]{4}"
        + rb"|[2-9][0-9]{2} [2-9][0-9]{2}-[0-9]{4})(?![0-9])(?![.,/-][0-9])"
        + _EXTENSION
        + rb"(?![A-Za-z0-9_])",
        _north_america,
        leads((0, b"("), (3, b"-. "), (1, b" .-")),
    ),
    number(
        "trunk_zero",
        "phone",
        HEAD + rb"(\(?0[1-9](?:" + _MORE + rb"){7,10})" + TAIL,
        _trunk_zero,
        leads((0, b"("), *((n, None) for n in range(2, 13))),
    ),
    number(
        "russia",
        "phone",
        HEAD
        + rb"8[ -]?\(?[3489][0-9]{2}\)?[ -][0-9]{3}[ -]?[0-9]{2}[ -]?[0-9]{2}"
        + TAIL,
        _grouped,
        leads((1, b" -("), (4, b" -)")),
    ),
    number(
        "area_in_parentheses",
        "phone",
        HEAD + rb"\([1-9][0-9]{1,3}\) ?[0-9]{3,5}[ -][0-9]{4}" + TAIL,
        _paren_area,
        leads((0, b"(")),
    ),
    number(
        "china_mobile", "phone",
        HEAD + rb"1[3-9][0-9]([ -])[0-9]{4}\1[0-9]{4}" + TAIL,
        _grouped, leads((3, b" -")),
    ),
    number(
        "spain", "phone",
        HEAD + rb"[6789][0-9]{2}([ .-])[0-9]{2}\1[0-9]{2}\1[0-9]{2}" + TAIL,
        _grouped, leads((3, b" .-")),
    ),
    number(
        "after_a_word",
        "phone",
        rb"(?<![A-Za-z0-9_+])(?<![0-9][.,/:-])(?<![$#=])(?<!\xc2\xa3)(?<!\xe2\x82\xac)"
        rb"(\(?[0-9](?:" + _MORE + rb"){6,14})(?![0-9])" + _EXTENSION
        + rb"(?![A-Za-z0-9_]|[.,][0-9])",
        _with_word,
    ),
)  # fmt: skip
