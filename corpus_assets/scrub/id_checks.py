"""Whether the digits and letters of a national identification number belong together.

Each function takes them as ASCII bytes, capitals, without separators, in the shape that its rule
in `national_ids` matched.
"""

from corpus_assets.scrub.check_digits import is_date, luhn, mod_11_2, mod_11_10, values, weighted


def us_ssn(d: bytes) -> bool:
    """Social Security Administration: no area 000, 666 or 9xx, no group 00, no serial 0000."""
    return d[:3] not in (b"000", b"666") and d[:1] != b"9" and d[3:5] != b"00" and d[5:] != b"0000"


def us_itin(d: bytes) -> bool:
    """Internal Revenue Service: 9xx with a group of 50-65, 70-88, 90-92 or 94-99."""
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
    """The check digit of EAN-13."""
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


def gb_nhs(d: bytes) -> bool:
    """NHS Data Dictionary, NHS number: weights from 10 to 2, modulo 11; a check of 10 is not given."""
    check = -weighted(d[:9], range(10, 1, -1), 11) % 11
    return len(set(d)) > 1 and check == d[9] - 48


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
