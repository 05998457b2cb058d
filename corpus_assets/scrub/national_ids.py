"""National identification numbers.

Each has the shape in which it is written and its check digits, as the issuing authority or ISO
7064 states them (`id_checks`). Where shape and check together pass fewer than about one random
number in a hundred, that is enough; elsewhere a word for the number must stand beside it.
"""

import re
from collections.abc import Callable

from corpus_assets.scrub.check_digits import luhn, mod_11_10, verhoeff
from corpus_assets.scrub.id_checks import (
    anything,
    ar_cuit,
    at_svnr,
    au_tfn,
    be_nrn,
    bg_egn,
    br_cpf,
    ch_ahv,
    cl_rut,
    cn_resident_id,
    cz_birth_number,
    de_tax_id,
    dk_cpr,
    es_dni,
    fi_hetu,
    fr_nir,
    gb_nhs,
    gb_nino,
    hk_id,
    ie_pps,
    in_pan,
    it_fiscal_code,
    jp_my_number,
    kr_rrn,
    mx_curp,
    nl_bsn,
    no_fnr,
    pl_pesel,
    pt_nif,
    ro_cnp,
    ru_inn,
    ru_snils,
    se_pnr,
    sg_nric,
    tr_tckn,
    tw_id,
    us_itin,
    us_ssn,
    za_id,
)
from corpus_assets.scrub.kernels.triggers import MIXED
from corpus_assets.scrub.rule import (
    HEAD,
    TAIL,
    Check,
    PatternRule,
    Span,
    has_word,
    in_address,
    leads,
    number,
)

Valid = Callable[[bytes], bool]
KIND = "national_id"
_COUNTRY_CODE = re.compile(rb"\+[0-9]{1,3}[ -]\Z")
"""Before the rest of a telephone number, which may have the shape of an id."""


def _check(valid: Valid, words: str = "") -> Check:
    """Return the check of an id: its digits and letters are valid, and maybe a word stands by."""
    context = re.compile(words.encode(), re.IGNORECASE) if words else None

    def check(doc: bytes, match: re.Match[bytes]) -> Span | None:
        if _COUNTRY_CODE.search(doc, max(0, match.start() - 5), match.start()):
            return None
        written = re.sub(rb"[^A-Za-z0-9]", b"", match.group()).upper()
        if not valid(written) or in_address(doc, match.start()):
            return None
        if context is not None and not has_word(doc, match.span(), context):
            return None
        return match.span()

    return check


def _id(
    name: str, pattern: bytes, valid: Valid, begins: frozenset[int], words: str = ""
) -> PatternRule:
    return number(name, KIND, HEAD + rb"(?:" + pattern + rb")" + TAIL, _check(valid, words), begins)


def _mixed_id(name: str, pattern: bytes, valid: Valid, words: str = "") -> PatternRule:
    shape = re.compile(rb"(?<![A-Za-z0-9_-])" + pattern + rb"(?![A-Za-z0-9_])")
    return PatternRule(name, KIND, MIXED, shape, _check(valid, words))


_D11 = rb"[0-9]{11}"

RULES: tuple[PatternRule, ...] = (
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
    _id(
        "gb_nhs", rb"[0-9]{3}([ -]?)[0-9]{3}\1[0-9]{4}", gb_nhs, leads((3, b" -"), (10, None)),
        r"(?<![A-Za-z])nhs(?![A-Za-z])",
    ),
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
