"""Telephone numbers, judged by the numbering plans of libphonenumber.

Most numbers of a text are none: dates, prices, ISBN, orders, coordinates. A run of digits counts

* with + or 00 and a country code, when numbers of that country have as many digits;
* in the form in which a country writes its own valid numbers, where little else is written so: at
  least nine digits in groups, with a leading zero or an area in parentheses; or in three groups
  and more, of regions that the recipe names or the text's language is spoken in; three groups of three
  digits, which are thousands too, where they are a line above or below an e-mail address;
* beside a word for telephone, in one of many languages, when it has 7 to 15 digits.

A number that the text calls something else (an order, a part) counts in the first way only.
Words are compared whole. The library sees a run only where its shape passes, and each once.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from phonenumbers import (
    COUNTRY_CODE_TO_REGION_CODE,
    SUPPORTED_REGIONS,
    NumberParseException,
    PhoneMetadata,
    PhoneNumber,
    PhoneNumberFormat,
    ValidationResult,
    enable_pattern_cache,
    format_number,
    is_possible_number_with_reason,
    is_valid_number,
    parse,
)

from corpus_assets.scrub.phone_words import (
    CHARS_AFTER,
    LABELS,
    calls_it_otherwise,
    has_phone_word,
    is_phone_word,
)
from corpus_assets.scrub.rule import (
    GAP,
    HEAD,
    TAIL,
    Check,
    PatternRule,
    Span,
    in_address,
    leads,
    number,
)

_MORE = GAP + rb"{0,3}[0-9]"
_EXTENSION = (
    rb"(?:[ ,;/(-]|\xef\xbc\x88|\xef\xbc\x8c){0,2}(?i:x|ext|extn|extension|poste|durchwahl|dw|int|interno"
    rb"|wew|wewn|dahili|toestel|tst|anknytning|linka|kl|klapka|mell\xc3\xa9k|ramal|anexo|lokal|"
    + "|".join(
        (
            *(
                "доб",
                "добавочный",
                "внутр",
                "вн",
                "вн\\.?номер",
                "εσωτ",
                "转",
                "轉",
                "分机",
                "分機",
            ),
            *("转分机", "內線", "内線", "内线", "내선", "ต่อ", "فرعي", "داخلي", "שלוחה"),
        ),
    ).encode()
    + rb")[ .:#]{0,2}(?:\xef\xbc\x9a)?[0-9]{1,6}(?:\)|\xef\xbc\x89)?(?![A-Za-z0-9_])"
)
_DIGITS = re.compile(rb"[0-9]+")
_DIGIT_RUN = re.compile("[0-9]+")
_APART = re.compile(GAP + rb"{2,}|\xc2\xa0| ")
_DASH = rb"(?:-|\xe2\x80[\x90-\x95]|\xe2\x88\x92)"
_HOUR = rb"(?:[01]?[0-9]|2[0-4])\.[0-5][0-9]"
_DATE_MARK = rb"(?: ?(?:[./]|" + _DASH + rb") ?| )"
_DATE = re.compile(
    rb"(?:0?[1-9]|[12][0-9]|3[01])" + _DATE_MARK + rb"(?:0?[1-9]|[12][0-9]|3[01])" + _DATE_MARK
    + rb"(?:19|20)[0-9]{2}(?![0-9])"
    rb"|[0-3]?[0-9]([-./])[0-3]?[0-9]\1[0-9]{2}(?![-./0-9])"
    rb"|(?:19|20)[0-9]{2}" + _DATE_MARK + rb"?(?:0[1-9]|1[0-2])" + _DATE_MARK
    + rb"?(?:0[1-9]|[12][0-9]|3[01])(?![0-9])"
    rb"|(?:19|20)[0-9]{2} ?" + _DASH + rb" ?(?:19|20)[0-9]{2}(?![0-9])"
    rb"|" + _HOUR + rb" ?" + _DASH + rb" ?" + _HOUR + rb"(?![0-9])"
)  # fmt: skip
"""Days, spans of years, opening hours."""
_THOUSANDS = re.compile(rb"[0-9]{1,3}(?:([ .]|\xc2\xa0|\xe2\x80\xaf)[0-9]{3})(?:\1[0-9]{3})*")
_BY_EXTENSION = re.compile(_EXTENSION)
_BEHIND = re.compile(_EXTENSION + rb"|" + TAIL)
_LABEL_BEHIND = re.compile(r"[-–]([^\W\d]+)(?![-_\w])")
_COLUMNS = re.compile(rb"[0-9](?: {2}|\t)")
_IN_ROW = re.compile(rb"[0-9] ")
_SPACED = re.compile(rb"[0-9]+(?: [0-9]+)+")
_YEAR = re.compile(rb"\(?(?:19|20)[0-9]{2}\)")
_YEAR_BEHIND = re.compile(rb"\((?:19|20)[0-9]{2}\)?\Z")  # a volume's pages and year
_MORE_DIGITS = re.compile(GAP + rb"{1,3}[0-9]")
_WHOLE_AND_APART = re.compile(rb"[0-9]{9,}(?= )|[0-9]{3} [0-9]{3} [0-9]{3}(?= ?[/,;] ?)")
_THREES = re.compile(rb"[0-9]{3}(?:( )|\xc2\xa0)[0-9]{3}(?(1) |\xc2\xa0)[0-9]{3}")
_LINE_BEFORE = re.compile(rb"(?:\A|\n)([^\n]*)\n[ \t]*\Z")
_LINE_BEHIND = re.compile(rb"[ \t]*\r?\n([^\n]*)")
_ONLY_EMAIL = re.compile(
    rb"\s*(?:e-?mail:? ?)?[^\s@]{1,64}@[^\s@]{1,200}\.[A-Za-z]{2,24}\s*", re.IGNORECASE
)
_POSTAL_CODES = (  # what they look like, and what stands before
    (re.compile(rb"[0-9]{5}-[0-9]{4}"), re.compile(rb"(?<![A-Z])[A-Z]{2}(?:,| \|)? \Z")),  # US
    (
        re.compile(rb"[0-9]{5}-[0-9]{3}"),
        re.compile(rb"(?<![A-Za-z])cep[:. ]{0,3}\Z", re.IGNORECASE),
    ),
)
_AREA_AND_EXTENSION = re.compile(rb"0[0-9]{1,5} ?/ ?[0-9]{2,8} ?- ?[0-9]{1,5}")
_LAST_DIGITS = re.compile(rb"/[0-9]{1,3}\Z")
_RUSSIAN = re.compile(rb"\([0-9]{3,5}\) ?[0-9]{1,3}-[0-9]{2}-[0-9]{2}")
_IN_BRACKETS = re.compile(rb"(?:[0-9][ -]?)?\([0-9]{2,5}\)")
_DECIMAL = re.compile(rb"\+? ?[0-9]+\.[0-9]+")


def rules(regions: tuple[str, ...]) -> tuple[PatternRule, ...]:
    """Return the rules; numbers of `regions` (ISO 3166) need no word, trunk prefix or country code."""
    return (
        number(
            "international",
            "phone",
            rb"(?<![A-Za-z0-9_+*^])\+ ?\(?[1-9](?:" + _MORE + rb"){6,14}(?![0-9])",
            _international,
            leads((0, b"+")),
        ),
        number(
            "dialled_abroad",
            "phone",
            HEAD + rb"(?:00|011)[ .-]?[1-9](?:" + _MORE + rb"){6,14}(?![0-9])",
            _dialled_abroad,
            leads(*((n, None) for n in range(2, 18))),
        ),
        number(
            "national",
            "phone",
            HEAD
            + rb"\(?[0-9](?:"
            + _MORE
            + rb"){6,14}(?![0-9])(?:(?="
            + _EXTENSION
            + rb")|(?![A-Za-z_]|[.,:][0-9]))"
            rb"(?! ?(?:[%$]|\xe2\x82|\xc2[\xa3\xa5]))",
            _national(regions),
        ),
    )


def _international(doc: bytes, match: re.Match[bytes]) -> Span | None:
    start, end = match.span()
    other = _LAST_DIGITS.search(match.group())  # of a second number that begins like this one
    if other and _is_international(match.group()[: other.start()].decode(), False):
        return start, end
    for end in _ends(doc, match):
        if _is_international(doc[start:end].decode(), False):
            return start, _with_extension(doc, end)
    end = match.end()
    written = match.group()
    if _THOUSANDS.fullmatch(written.lstrip(b"+ ")) or _DECIMAL.fullmatch(written):
        return None
    if _is_international(written.decode(), True) or has_phone_word(doc, (start, end), False):
        return start, _with_extension(doc, end)
    return None


def _dialled_abroad(doc: bytes, match: re.Match[bytes]) -> Span | None:
    """00 or 011 stand for the +. Code points and other numbers filled up with zeros look like it."""
    start, end = match.span()
    written = match.group()
    if re.search(rb"[^0-9]00[0-9]", written) or in_address(doc, start) or not _ends_at(doc, end):
        return None
    if written.isdigit() and not has_phone_word(doc, (start, end), False):
        return None
    is_number = _is_international(written.decode(), False)
    return (start, _with_extension(doc, end)) if is_number else None


def _national(regions: tuple[str, ...]) -> Check:
    def check(doc: bytes, match: re.Match[bytes]) -> Span | None:
        if _DATE.match(match.group().lstrip(b"(")):
            return None
        span = (
            _as_written(doc, match, regions)
            or _by_word(doc, match)
            or _on_card(doc, match, regions)
        )
        if span is None or in_address(doc, span[0]) or calls_it_otherwise(doc, span[0]):
            return None
        start, end = span
        if doc[start : start + 1] == b"(" and b")" not in doc[start:end]:
            start += 1  # it opens before the number and closes behind it
        return start, _with_extension(doc, end)

    return check


def _as_written(doc: bytes, match: re.Match[bytes], regions: tuple[str, ...]) -> Span | None:
    """Return the run, or what is left of it without other numbers behind it, where its form says
    enough."""
    start, end = match.span()
    for last in _ends(doc, match):
        written = doc[start:last]
        if _COLUMNS.search(written):
            continue  # numbers of a table
        if is_national(written, regions) and _ends_at(doc, last):
            is_row = last < end or _IN_ROW.search(doc, max(0, start - 2), start)
            if not (is_row and _SPACED.fullmatch(written)):
                return start, last
    return None


def _by_word(doc: bytes, match: re.Match[bytes]) -> Span | None:
    """Return the run, where a word for telephone stands beside it."""
    start, end = match.span()
    written = match.group()
    is_thousands = _THOUSANDS.fullmatch(written) is not None
    if is_thousands and written.endswith(b"00"):
        return None  # a round number
    for code, before in _POSTAL_CODES:
        if code.fullmatch(written) and before.search(doc, max(0, start - 8), start):
            return None
    if _MORE_DIGITS.match(doc, end):  # the run goes on: it is more than one number
        first = _WHOLE_AND_APART.match(written)
        if first is not None:
            end = start + first.end()
    is_short = written.isdigit() and end - start < 9
    is_bare = is_thousands or is_short or _DECIMAL.fullmatch(written) is not None
    in_series = _THREES.fullmatch(doc, start, end) is not None
    is_called = has_phone_word(doc, (start, end), is_bare or in_series, in_series=in_series)
    return (start, end) if is_called else None


def _on_card(doc: bytes, match: re.Match[bytes], regions: tuple[str, ...]) -> Span | None:
    """Return a run of threes that is a line of its own beside one that is an e-mail address."""
    written = match.group()
    if not _THREES.fullmatch(written):
        return None
    start, end = match.span()
    before = _LINE_BEFORE.search(doc, max(0, start - 320), start)
    behind = _LINE_BEHIND.match(doc, end, min(len(doc), end + 320))
    is_line = (before or doc[:start].isspace() or not start) and (behind or not doc[end:].strip())
    beside = (found[1] for found in (before, behind) if found)
    if not is_line or not any(map(_ONLY_EMAIL.fullmatch, beside)):
        return None
    digits = "".join(group.decode() for group in _DIGITS.findall(written))
    numbers = (_parse(digits, region) for region in regions)
    return (start, end) if any(one and is_valid_number(one) for one in numbers) else None


def _ends(doc: bytes, match: re.Match[bytes]) -> Iterator[int]:
    """Where a number could end: with the run, and before the last three numbers that stand apart in it."""
    start, end = match.span()
    yield end
    gaps = [gap.start() for gap in _APART.finditer(doc, start + 7, end)]
    yield from gaps[:-4:-1]


def _ends_at(doc: bytes, end: int) -> bool:
    """Whether a number can end here: before an extension, before nothing that is more of a word or a
    number, or before a hyphen with its label behind (`-Office`)."""
    if _BEHIND.match(doc, end):
        return True
    label = _LABEL_BEHIND.match(doc[end : end + CHARS_AFTER].decode("utf-8", "ignore").lower())
    return label is not None and (label[1] in LABELS or is_phone_word(label[1]))


def _with_extension(doc: bytes, end: int) -> int:
    extension = _BY_EXTENSION.match(doc, end)
    return extension.end() if extension else end


@lru_cache(maxsize=1 << 14)
def _is_international(written: str, is_enough: bool) -> bool:
    """Whether this is a valid number; where length `is_enough`, one that its country could have."""
    region = None if written[0] == "+" else "US" if written[1] == "1" else "DE"
    parsed = _parse(written, region)
    if parsed is None:
        return False
    if is_valid_number(parsed):
        code = str(parsed.country_code)
        return not _DECIMAL.fullmatch(written.encode()) or written.startswith(f"+{code}.")
    return is_enough and is_possible_number_with_reason(parsed) == ValidationResult.IS_POSSIBLE


@lru_cache(maxsize=1 << 14)
def is_national(written: bytes, regions: tuple[str, ...]) -> bool:
    """Whether a region has this number and writes it so, by the library's own form of it.

    A number with a leading zero, or with its area in parentheses, shows what it is: any region
    will do, and only the first group is compared. Of others all groups are, in these regions.
    """
    groups = [group.decode() for group in _DIGITS.findall(written)]
    digits = "".join(groups)
    is_marked = digits.startswith("0") or _IN_BRACKETS.match(written) is not None
    # The library knows areas of three digits; people write those of five that small towns have.
    if "RU" in regions and len(digits) == 10 and _RUSSIAN.fullmatch(written):
        russian = _parse(digits, "RU")
        return russian is not None and is_valid_number(russian)
    if not 9 <= len(digits) <= 12 or len(groups) < 3 - is_marked or _is_something_else(written):
        return False
    if set(map(len, groups)) == {3} and (is_marked or b"-" not in written):
        return False  # ids and thousands
    for region, prefix, pattern in _plans(None if is_marked else regions):
        has_prefix = bool(prefix) and digits.startswith(prefix)
        if not pattern.fullmatch(digits, len(prefix) if has_prefix else 0):
            continue
        parsed = _parse(digits, region)
        if parsed is None or not is_valid_number(parsed):
            continue
        own = _DIGIT_RUN.findall(format_number(parsed, PhoneNumberFormat.NATIONAL))
        if own == groups or (is_marked and own[0] == groups[0]):
            return True
        _, *own = _DIGIT_RUN.findall(format_number(parsed, PhoneNumberFormat.INTERNATIONAL))
        if own == (groups[1:] if groups[0] == prefix else groups):
            return True
    return False


def _is_something_else(written: bytes) -> bool:
    """Whether it is another number: marks of two kinds, thousands, ids with single digits, years,
    draws of a lottery (rising pairs), addresses of hosts."""
    groups = _DIGITS.findall(written)
    lengths = [len(group) for group in groups]
    has_two_marks = len(set(written) & set(b"-./")) > 1
    if has_two_marks and not _AREA_AND_EXTENSION.fullmatch(written):
        return True
    if _THOUSANDS.fullmatch(written) or min(lengths[1:]) == 1 or groups[0] == b"0":
        return True
    if _YEAR.match(written) or _YEAR_BEHIND.search(written):
        return True
    if set(lengths) == {2} and max(groups) <= b"50":
        return groups == sorted(set(groups))
    return len(groups) == 4 and written.count(b".") == 3 and max(lengths) <= 3


@lru_cache(maxsize=64)
def _plans(regions: tuple[str, ...] | None) -> tuple[tuple[str, str, re.Pattern[str]], ...]:
    """(region, trunk prefix, what its national numbers look like) of these regions, None: of all.

    Asking the library costs 60 us a region; the expressions, kept compiled, leave few to ask for.
    """
    enable_pattern_cache()  # there are more expressions than `re` keeps
    out = []
    for shared in COUNTRY_CODE_TO_REGION_CODE.values():
        region = shared[0]  # the main one: it stands for all that share its code
        metadata = PhoneMetadata.metadata_for_region(region)
        if metadata is None or not (regions is None or set(regions) & set(shared)):
            continue
        numbers, prefix = metadata.general_desc, metadata.national_prefix or ""
        pattern = numbers.national_number_pattern if numbers else None
        if numbers and pattern and max(numbers.possible_length) + len(prefix) >= 9:
            out.append((region, prefix, re.compile(pattern)))
    return tuple(out)


def _parse(written: str, region: str | None) -> PhoneNumber | None:
    try:
        return parse(written, region)
    except NumberParseException:
        return None


@lru_cache(maxsize=256)
def regions_of(language: str | None) -> tuple[str, ...]:
    """Regions where a language (`es`, `spa_Latn`) is spoken and numbers have no trunk prefix."""
    return _SPOKEN.get((language or "").partition("_")[0].partition("-")[0].lower(), ())


_SPOKEN: dict[str, tuple[str, ...]] = {
    code: tuple(regions.split())
    for codes, regions in {
        "es spa": "AR CL CO EC ES MX PE", "pt por": "BR PT", "it ita": "IT", "pl pol": "PL",
        "cs ces": "CZ", "el ell": "GR", "ru rus": "RU KZ", "kk kaz": "KZ", "tr tur": "TR",
        "zh zho cmn": "CN TW", "hu hun": "HU", "nl nld": "BE", "fr fra": "BE", "bg bul": "BG",
    }.items()
    for code in codes.split()
}  # fmt: skip


def is_region(region: str) -> bool:
    """Whether the library has a numbering plan of the region."""
    return region in SUPPORTED_REGIONS
