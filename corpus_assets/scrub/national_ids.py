"""Whether the digits and letters of a national id belong together.

Each function takes them as ASCII bytes, capitals, without separators, in the shape that its rule
in `national_ids` matched.
"""

import re
from collections.abc import Callable

from corpus_assets.scrub.check_digits import (
    is_date,
    luhn,
    mod_11_2,
    mod_11_10,
    values,
    verhoeff,
    weighted,
)
from corpus_assets.scrub.kernels.candidates import MIXED
from corpus_assets.scrub.rule import (
    HEAD,
    TAIL,
    Check,
    Rule,
    Span,
    has_word,
    in_address,
    leads,
    number,
)


def us_ssn(d: bytes) -> bool:
    """Social Security Administration: no area 000, 666 or 9xx, no group 00, no serial 0000."""
    return d[:3] not in (b"000", b"666") and d[:1] != b"9" and d[3:5] != b"00" and d[5:] != b"0000"


def us_itin(d: bytes) -> bool:
    """Return internal Revenue Service: 9xx with a group of 50-65, 70-88, 90-92 or 94-99."""
    group = int(d[3:5])
    return (
        d[:1] == b"9"
        and (50 <= group <= 65 or 70 <= group <= 88 or 90 <= group <= 99)
        and group != 93
    )


def br_cpf(d: bytes) -> bool:
    """Two digits modulo 11, each over all before it."""
    first = weighted(d[:9], range(10, 1, -1), 11)
    second = weighted(d[:10], range(11, 1, -1), 11)
    return (
        len(set(d)) > 1
        and d[9] - 48 == (0 if first < 2 else 11 - first)
        and d[10] - 48 == (0 if second < 2 else 11 - second)
    )


def ar_cuit(d: bytes) -> bool:
    check = 11 - weighted(d[:10], (5, 4, 3, 2, 7, 6, 5, 4, 3, 2), 11)
    return d[:2] in (b"20", b"23", b"24", b"25", b"26", b"27") and d[10] - 48 == check % 11


def cl_rut(d: bytes) -> bool:
    weights = [2, 3, 4, 5, 6, 7, 2, 3][: len(d) - 1][::-1]
    check = (11 - weighted(d[:-1], weights, 11)) % 11
    return d[-1:] == (b"K" if check == 10 else b"%d" % check)


def fr_nir(d: bytes) -> bool:
    """INSEE: the key is 97 less the number modulo 97; departments 2A and 2B count as 19 and 18."""
    if d[13:].isdigit() and len(d) == 15 and d[:1] in b"123478":
        month = int(d[3:5])
        body = d[:13].replace(b"2A", b"19").replace(b"2B", b"18")
        return (
            body.isdigit()
            and (1 <= month <= 12 or 20 <= month <= 42 or month >= 50)
            and 97 - int(body) % 97 == int(d[13:])
        )
    return False


def es_dni(d: bytes) -> bool:
    """Number modulo 23 names a letter; a foreigner's X, Y, Z count as 0, 1, 2."""
    body = d[:-1].translate(bytes.maketrans(b"XYZ", b"012"))
    return body.isdigit() and d[-1] == b"TRWAGMYFPDXBNJZSQVHLCKE"[int(body) % 23]


def de_tax_id(d: bytes) -> bool:
    """One digit of the first ten stands there twice or three times, all others at most once."""
    counts = sorted(d[:10].count(digit) for digit in set(d[:10]))
    return (
        d[0] != 48
        and counts[-1] in (2, 3)
        and (len(counts) < 2 or counts[-2] == 1)
        and mod_11_10(d)
    )


def nl_bsn(d: bytes) -> bool:
    return len(set(d)) > 1 and (weighted(d[:8], range(9, 1, -1), 11) - (d[8] - 48)) % 11 == 0


def pl_pesel(d: bytes) -> bool:
    v = values(d)
    month = (v[2] * 10 + v[3]) % 20
    check = -weighted(d[:10], (1, 3, 7, 9, 1, 3, 7, 9, 1, 3), 10) % 10
    return check == v[10] and is_date(int(d[:2]), month, int(d[4:6]))


def be_nrn(d: bytes) -> bool:
    body, key = int(d[:9]), int(d[9:])
    return is_date(int(d[:2]), int(d[2:4]), int(d[4:6])) and key in (
        97 - body % 97,
        97 - (2_000_000_000 + body) % 97,
    )


def se_pnr(d: bytes) -> bool:
    """Luhn over ten digits; 60 is added to the day of a coordination number."""
    d = d[-10:]
    return luhn(d) and is_date(int(d[:2]), int(d[2:4]), int(d[4:6]) % 60)


def no_fnr(d: bytes) -> bool:
    """Two digits modulo 11."""
    first = -weighted(d[:9], (3, 7, 6, 1, 8, 9, 4, 5, 2), 11) % 11
    second = -weighted(d[:10], (5, 4, 3, 2, 7, 6, 5, 4, 3, 2), 11) % 11
    day = int(d[:2]) % 40
    return (first, second) == (d[9] - 48, d[10] - 48) and is_date(
        int(d[4:6]), int(d[2:4]) % 40, day
    )


def fi_hetu(d: bytes) -> bool:
    """The number modulo 31 names a character; the sign of the century is left out."""
    if len(d) == 11:
        d = d[:6] + d[7:]
    body = d[:9]
    return (
        body.isdigit()
        and is_date(int(d[4:6]), int(d[2:4]), int(d[:2]))
        and d[9] == b"0123456789ABCDEFHJKLMNPRSTUVWXY"[int(body) % 31]
    )


def dk_cpr(d: bytes) -> bool:
    return is_date(int(d[4:6]), int(d[2:4]), int(d[:2]))


def ch_ahv(d: bytes) -> bool:
    """Return the check digit of EAN-13."""
    return weighted(d, (1, 3) * 6 + (1,), 10) == 0


def cz_birth_number(d: bytes) -> bool:
    """Women have 50 added to the month; ten digits are divisible by eleven."""
    month = int(d[2:4]) % 50 % 20
    is_valid = int(d) % 11 == 0 or (int(d[:9]) % 11 == 10 and d[9:] == b"0")
    return is_valid and is_date(int(d[:2]), month, int(d[4:6]))


def ro_cnp(d: bytes) -> bool:
    check = weighted(d[:12], (2, 7, 9, 1, 4, 6, 3, 5, 8, 2, 7, 9), 11)
    return d[12] - 48 == (1 if check == 10 else check) and is_date(
        int(d[1:3]), int(d[3:5]), int(d[5:7])
    )


def bg_egn(d: bytes) -> bool:
    check = weighted(d[:9], (2, 4, 8, 5, 10, 9, 7, 3, 6), 11) % 10
    month = int(d[2:4])
    return d[9] - 48 == check and is_date(int(d[:2]), month - 20 * (month // 20), int(d[4:6]))


def tr_tckn(d: bytes) -> bool:
    v = values(d)
    tenth = (7 * sum(v[0:9:2]) - sum(v[1:8:2])) % 10
    return v[0] > 0 and v[9] == tenth and v[10] == sum(v[:10]) % 10


def ru_snils(d: bytes) -> bool:
    return weighted(d[:9], range(9, 0, -1), 101) % 100 == int(d[9:])


def ru_inn(d: bytes) -> bool:
    first = weighted(d[:10], (7, 2, 4, 10, 3, 5, 9, 4, 6, 8), 11) % 10
    second = weighted(d[:11], (3, 7, 2, 4, 10, 3, 5, 9, 4, 6, 8), 11) % 10
    return (first, second) == (d[10] - 48, d[11] - 48)


def cn_resident_id(d: bytes) -> bool:
    return (
        mod_11_2(d)
        and b"18" <= d[6:8] <= b"20"
        and is_date(int(d[6:10]), int(d[10:12]), int(d[12:14]))
    )


def kr_rrn(d: bytes) -> bool:
    check = (11 - weighted(d[:12], (2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5), 11)) % 10
    return d[12] - 48 == check and is_date(int(d[:2]), int(d[2:4]), int(d[4:6]))


def jp_my_number(d: bytes) -> bool:
    rest = weighted(d[:11], (6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2), 11)
    return d[11] - 48 == (0 if rest < 2 else 11 - rest)


def za_id(d: bytes) -> bool:
    return luhn(d) and is_date(int(d[:2]), int(d[2:4]), int(d[4:6]))


def au_tfn(d: bytes) -> bool:
    return weighted(d, (1, 4, 3, 7, 5, 8, 6, 9, 10), 11) == 0


def pt_nif(d: bytes) -> bool:
    rest = weighted(d[:8], range(9, 1, -1), 11)
    return d[8] - 48 == (0 if rest < 2 else 11 - rest)


def at_svnr(d: bytes) -> bool:
    check = weighted(d[:3] + d[4:], (3, 7, 9, 5, 8, 4, 2, 1, 6), 11)
    return d[0] != 48 and d[3] - 48 == check


def ie_pps(d: bytes) -> bool:
    extra = 9 * (d[8] - 64) if len(d) == 9 and d[8] != 87 else 0
    total = (weighted(d[:7], range(8, 1, -1), 10**6) + extra) % 23
    return d[7] == b"WABCDEFGHIJKLMNOPQRSTUV"[total]


def gb_nino(d: bytes) -> bool:
    return d[:2] not in (b"BG", b"GB", b"NK", b"KN", b"TN", b"NT", b"ZZ")


_ODD = dict(
    zip(
        b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11,
         3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23),
        strict=True,
    )
)  # fmt: skip


def it_fiscal_code(d: bytes) -> bool:
    """Ministry of Finance, decree of 23 December 1976: odd places by a table, even ones as is."""
    total = sum(_ODD[byte] for byte in d[0:15:2])
    total += sum(byte - 48 if byte < 65 else byte - 65 for byte in d[1:15:2])
    return d[15] == 65 + total % 26


def in_pan(d: bytes) -> bool:
    return d[3] in b"ABCFGHJLPT"


def sg_nric(d: bytes) -> bool:
    total = weighted(d[1:8], (2, 7, 6, 5, 4, 3, 2), 10**6)
    if d[:1] in b"TG":
        total += 4
    elif d[:1] == b"M":
        total += 3
    letters = {b"S": b"JZIHGFEDCBA", b"T": b"JZIHGFEDCBA", b"M": b"XWUTRQPNJLK"}
    return d[8] == letters.get(d[:1], b"XWUTRQPNMLK")[total % 11]


def hk_id(d: bytes) -> bool:
    body = d[:-1]
    letters = [byte - 55 for byte in body if byte >= 65]
    v = ([36, *letters] if len(letters) == 1 else letters) + values(body[len(letters) :])
    total = sum(a * b for a, b in zip(v, range(9, 1, -1), strict=True))
    check = -total % 11
    return d[-1:] == (b"A" if check == 10 else b"%d" % check)


def tw_id(d: bytes) -> bool:
    number_of = b"ABCDEFGHJKLMNPQRSTUVXYWZIO".index(d[:1]) + 10
    v = [number_of // 10, number_of % 10, *values(d[1:])]
    return sum(a * b for a, b in zip(v, (1, 9, 8, 7, 6, 5, 4, 3, 2, 1, 1), strict=True)) % 10 == 0


def mx_curp(d: bytes) -> bool:
    """RENAPO: weights from 18 down over the alphabet with an Ñ in its place."""
    alphabet = "0123456789ABCDEFGHIJKLMNÑOPQRSTUVWXYZ"
    total = sum(alphabet.index(chr(b)) * w for b, w in zip(d[:17], range(18, 1, -1), strict=True))
    return is_date(int(d[4:6]), int(d[6:8]), int(d[8:10])) and d[17] - 48 == -total % 10


def anything(d: bytes) -> bool:
    """Numbers without a check; not one digit again and again."""
    return len(set(d)) > 1


# Numbers by which states know people.
#
# Each has the shape in which it is written and its check digits, as the issuing authority or ISO
# 7064 states them. Where shape and check together pass fewer than about one random number in a
# hundred, that is enough; elsewhere a word for the number must stand beside it.

Valid = Callable[[bytes], bool]
KIND = "national_id"


def _check(valid: Valid, words: str = "") -> Check:
    """Return the check of an id: its digits and letters are valid, and maybe a word stands by."""
    context = re.compile(words.encode(), re.IGNORECASE) if words else None

    def check(doc: bytes, match: re.Match[bytes]) -> Span | None:
        written = re.sub(rb"[^A-Za-z0-9]", b"", match.group()).upper()
        if not valid(written) or in_address(doc, match.start()):
            return None
        if context is not None and not has_word(doc, match.span(), context):
            return None
        return match.span()

    return check


def _id(name: str, pattern: bytes, valid: Valid, begins: frozenset[int], words: str = "") -> Rule:
    return number(name, KIND, HEAD + rb"(?:" + pattern + rb")" + TAIL, _check(valid, words), begins)


def _mixed_id(name: str, pattern: bytes, valid: Valid, words: str = "") -> Rule:
    shape = re.compile(rb"(?<![A-Za-z0-9_-])" + pattern + rb"(?![A-Za-z0-9_])")
    return Rule(name, KIND, MIXED, shape, _check(valid, words))


_D11 = rb"[0-9]{11}"

RULES: tuple[Rule, ...] = (
    _id("us_ssn", rb"[0-9]{3}-[0-9]{2}-[0-9]{4}", us_ssn, leads((3, b"-"))),
    _id(
        "us_ssn_plain", rb"[0-9]{3} ?[0-9]{2} ?[0-9]{4}", us_ssn, leads((3, b" "), (9, None), (5, b" ")),
        r"(?<![A-Za-z])ssn|social security",
    ),
    _id("us_itin", rb"9[0-9]{2}-[0-9]{2}-[0-9]{4}", us_itin, leads((3, b"-"))),
    _id(
        "ca_sin", rb"[0-9]{3}([ -]?)[0-9]{3}\1[0-9]{3}", luhn, leads((3, b" -"), (9, None)),
        r"social insurance|(?<![A-Za-z])sin(?![A-Za-z])|assurance sociale|(?<![A-Za-z])nas(?![A-Za-z])",
    ),
    _id("br_cpf", rb"[0-9]{3}\.[0-9]{3}\.[0-9]{3}-[0-9]{2}", br_cpf, leads((3, b"."))),
    _id("br_cpf_plain", _D11, br_cpf, leads((11, None)), r"cpf"),
    _id("ar_cuit", rb"2[0-9]-[0-9]{8}-[0-9]", ar_cuit, leads((2, b"-"))),
    _id("cl_rut", rb"[0-9]{1,2}\.[0-9]{3}\.[0-9]{3}-[0-9Kk]", cl_rut, leads((1, b"."), (2, b"."))),
    _id(
        "cl_rut_plain", rb"[0-9]{7,8}-[0-9Kk]", cl_rut, leads((7, b"-"), (8, b"-")),
        r"(?<![A-Za-z])ru[tn](?![A-Za-z])",
    ),
    _id(
        "fr_nir",
        rb"[1-478]( ?)[0-9]{2}\1[0-9]{2}\1(?:[0-9]{2}|2[AB])\1[0-9]{3}\1[0-9]{3}[ -]?[0-9]{2}",
        fr_nir, leads((1, b" "), (13, None), (15, None), (6, b"AB")),
    ),
    _id("es_dni", rb"[0-9]{8}-?[A-HJ-NP-TV-Z]", es_dni, leads((8, None))),
    _id(
        "de_tax_id", rb"[1-9][0-9] ?[0-9]{3} ?[0-9]{3} ?[0-9]{3}", de_tax_id,
        leads((2, b" "), (11, None), (5, b" "), (8, b" ")),
        r"steuer|idnr|id-nr|identifikationsnummer|tax id|(?<![A-Za-z])tin(?![A-Za-z])",
    ),
    _id(
        "nl_bsn", rb"[0-9]{9}|[0-9]{4}[. ][0-9]{2}[. ][0-9]{3}", nl_bsn, leads((9, None), (4, b". ")),
        r"(?<![A-Za-z])bsn|burgerservicenummer|sofinummer",
    ),
    _id("pl_pesel", _D11, pl_pesel, leads((11, None)), r"pesel"),
    _id(
        "be_nrn", rb"[0-9]{2}\.[0-9]{2}\.[0-9]{2}-[0-9]{3}\.[0-9]{2}", be_nrn, leads((2, b".")),
    ),
    _id(
        "be_nrn_plain", _D11, be_nrn, leads((11, None)),
        r"rijksregister|registre national|niss|insz|national number",
    ),
    _id("se_pnr", rb"(?:19|20)?[0-9]{6}-[0-9]{4}", se_pnr, leads((6, b"-"), (8, b"-"))),
    _id("no_fnr", rb"[0-9]{6} ?[0-9]{5}", no_fnr, leads((11, None), (6, b" "))),
    _id("fi_hetu", rb"[0-9]{6}[-A-FU-Y][0-9]{3}[0-9A-FHJ-NPR-Y]", fi_hetu, leads((6, None))),
    _id(
        "dk_cpr", rb"[0-9]{6}-?[0-9]{4}", dk_cpr, leads((6, b"-"), (10, None)),
        r"(?<![A-Za-z])cpr|personnummer",
    ),
    _id("ch_ahv", rb"756\.[0-9]{4}\.[0-9]{4}\.[0-9]{2}", ch_ahv, leads((3, b"."))),
    _id("ch_ahv_plain", rb"756[0-9]{10}", ch_ahv, leads((13, None)), r"ahv|avs(?![A-Za-z])"),
    _id("cz_birth_number", rb"[0-9]{6}/[0-9]{4}", cz_birth_number, leads((6, b"/"))),
    _id("ro_cnp", rb"[1-9][0-9]{12}", ro_cnp, leads((13, None)), r"(?<![A-Za-z])cnp|cod numeric"),
    _id("bg_egn", rb"[0-9]{10}", bg_egn, leads((10, None)), r"(?<![A-Za-z])egn|ЕГН"),
    _id("hr_oib", _D11, mod_11_10, leads((11, None)), r"(?<![A-Za-z])oib"),
    _id(
        "tr_tckn", _D11, tr_tckn, leads((11, None)),
        r"t\.?c\.? ?kimlik|tckn|kimlik n|(?<![A-Za-z])t\.?c\.? ?no",
    ),
    _id("ru_snils", rb"[0-9]{3}-[0-9]{3}-[0-9]{3}[ -][0-9]{2}", ru_snils, leads((3, b"-"))),
    _id("ru_inn", rb"[0-9]{12}", ru_inn, leads((12, None)), r"(?<![A-Za-z])inn(?![A-Za-z])|ИНН"),
    _id("cn_resident_id", rb"[1-9][0-9]{16}[0-9Xx]", cn_resident_id, leads((17, None), (18, None))),
    _id("kr_rrn", rb"[0-9]{6}-[0-9]{7}", kr_rrn, leads((6, b"-"))),
    _id(
        "jp_my_number", rb"[0-9]{4}([ -]?)[0-9]{4}\1[0-9]{4}", jp_my_number, leads((4, b" -"), (12, None)),
        r"マイナンバー|個人番号|my number",
    ),
    _id(
        "in_aadhaar", rb"[2-9][0-9]{3}([ -]?)[0-9]{4}\1[0-9]{4}", verhoeff, leads((4, b" -"), (12, None)),
        r"aadha+r|uidai|आधार|(?<![A-Za-z])uid(?![A-Za-z])",
    ),
    _id(
        "za_id", rb"[0-9]{6} ?[0-9]{4} ?[0-9]{3}", za_id, leads((13, None), (6, b" "), (10, b" ")),
        r"(?<![A-Za-z])id(?![A-Za-z])|identity",
    ),
    _id(
        "il_id", rb"[0-9]{9}", luhn, leads((9, None)), r"teudat|ת\.?ז|תעודת זהות|מספר זהות",
    ),
    _id(
        "au_tfn", rb"[0-9]{3} ?[0-9]{3} ?[0-9]{3}", au_tfn, leads((3, b" "), (9, None), (6, b" ")),
        r"(?<![A-Za-z])tfn|tax file",
    ),
    _id(
        "pt_nif", rb"[1-35689][0-9]{2} ?[0-9]{3} ?[0-9]{3}", pt_nif, leads((3, b" "), (9, None), (6, b" ")),
        r"(?<![A-Za-z])nif(?![A-Za-z])|contribuinte",
    ),
    _id(
        "at_svnr", rb"[1-9][0-9]{3} ?[0-9]{6}", at_svnr, leads((4, b" "), (10, None)),
        r"svnr|sv-n|sozialversicherung|versicherungsnummer",
    ),
    _id(
        "ie_pps", rb"[0-9]{7}[A-W][A-IW]?", ie_pps, leads((7, None)),
        r"(?<![A-Za-z])pps|personal public service",
    ),
    _id(
        "passport", rb"[0-9]{8,9}", anything, leads((8, None), (9, None)),
        r"passport|reisepass|passeport|pasaporte|passaporto|паспорт",
    ),
    _mixed_id(
        "gb_nino", rb"[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] [0-9]{2} [0-9]{2} [0-9]{2} [A-D]", gb_nino
    ),
    _mixed_id(
        "gb_nino_plain",
        rb"[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z][ -]?[0-9]{2}[ -]?[0-9]{2}[ -]?[0-9]{2}[ -]?[A-D]",
        gb_nino, r"national insurance|nino(?![A-Za-z])|(?<![A-Za-z])ni (?:no|num)",
    ),
    _mixed_id("es_nie", rb"[XYZ]-?[0-9]{7}-?[A-HJ-NP-TV-Z]", es_dni),
    _mixed_id(
        "it_fiscal_code",
        rb"[A-Z]{6}[0-9LMNP-V]{2}[ABCDEHLMPRST][0-9LMNP-V]{2}[A-Z][0-9LMNP-V]{3}[A-Z]",
        it_fiscal_code,
    ),
    _mixed_id(
        "in_pan", rb"[A-Z]{5}[0-9]{4}[A-Z]", in_pan, r"(?<![A-Za-z])pan(?![A-Za-z])|permanent account",
    ),
    _mixed_id("sg_nric", rb"[STFGM][0-9]{7}[A-Z]", sg_nric),
    _mixed_id("hk_id", rb"[A-Z]{1,2}[0-9]{6}\([0-9A]\)", hk_id),
    _mixed_id(
        "tw_id", rb"[A-Z][12][0-9]{8}", tw_id, r"身分證|身份證|身份证|national id|identity card",
    ),
    _mixed_id(
        "mx_curp", rb"[A-Z]{4}[0-9]{6}[HMX][A-Z]{5}[0-9A-Z][0-9]", mx_curp
    ),
    _mixed_id(
        "passport_mixed", rb"[A-Z]{1,2}[0-9]{6,8}", anything,
        r"passport|reisepass|passeport|pasaporte|passaporto|паспорт|护照|護照|여권|パスポート",
    ),
)  # fmt: skip
