"""Raised and lowered text: exponents and indexes are marked, words are not."""

import re
from random import Random

import numpy as np
import pytest

from pageblocks.kernels.blocks import find_blocks
from pageblocks.kernels.raised import AS_IS, BARE, BRACED, MAX_BYTES, SPACED, how_written


def text(markup: str) -> str:
    page = find_blocks(f"<p>{markup}".encode())
    return " / ".join(page.text_of(number) for number in range(len(page.blocks)))


EXPONENTS = {
    "x<sup>2</sup>": "x^2",
    "x<sup>n+1</sup>": "x^{n+1}",
    "x<sup>n + 1</sup> = 0": "x^{n + 1} = 0",
    "10<sup>6</sup> and 10<sup>-<i>3</i></sup>": "10^6 and 10^-3",
    "10<sup>&minus;34</sup> J": "10^−34 J",
    "6<sup>0.5</sup>": "6^{0.5}",
    "e<sup>x</sup> e<sup>&minus;x</sup> e<sup>ix</sup> e<sup>iωt</sup>": "e^x e^{−x} e^{ix} e^{iωt}",
    "<i>x</i><sup><i>n</i></sup>y": "x^{n}y",
    "10<sup>6</sup>7": "10^{6}7",
    "(a+b)<sup>2</sup>": "(a+b)^2",
    "20 m<sup>2</sup>, 5 km<sup>2</sup>, 3 cm<sup>3</sup>, s<sup>-1</sup>": "20 m^2, 5 km^2, 3 cm^3, s^-1",
    "20 м<sup>2</sup>, 5 км<sup>2</sup>": "20 м^2, 5 км^2",
    "sin<sup>2</sup> θ + tanh<sup>2</sup> x": "sin^2 θ + tanh^2 x",
    "2<sup>n</sup> 2<sup>2n</sup> R<sup>n</sup> A<sup>T</sup> λ<sup>k</sup>": "2^n 2^{2n} R^n A^T λ^k",
    "ax<sup>n</sup>": "ax^n",
    "x<sup>1/2</sup>": "x^{1/2}",
    "f<sup>(n)</sup>(x)": "f^{(n)}(x)",
    "x<sup>∞</sup>": "x^∞",
    "e<sup>x<sup>2</sup></sup>": "e^{x^2}",
    "x<sub>i</sub><sup>2</sup>": "x_i^2",
    "H<sup>+</sup>, Ca<sup>2+</sup>, Cl<sup>&minus;</sup>": "H^+, Ca^{2+}, Cl^−",
    "SO<sub>4</sub><sup>2&minus;</sup> NH<sub>4</sub><sup>+</sup>": "SO4^{2−} NH4^+",
    "T<sup>i,j</sup>": "T^{i,j}",
    "ypγ<sup>n</sup> q<sub>k</sub>γ<sup>n</sup>": "ypγ^n q_kγ^n",
    "∫<sub>0</sub><sup>a</sup> ∫<sub>&minus;∞</sub><sup>∞</sup>": "∫_0^a ∫_{−∞}^∞",
    "∑<sub>i=1</sub><sup>n</sup> ∏<sub>p</sub> ∑<sup>n</sup>": "∑_{i=1}^n ∏_p ∑^n",
}
WORDS = {
    "1<sup>st</sup>, 2<sup>nd</sup>, 3<sup>rd</sup>, 11<sup>th</sup>, n<sup>th</sup>": "1st, 2nd, 3rd, 11th, nth",
    "1<sup>er</sup>, 1<sup>re</sup>, 2<sup>e</sup>, 2<sup>ème</sup>, XIX<sup>e</sup>, V<sup>e</sup>":
        "1er, 1re, 2e, 2ème, XIXe, Ve",
    "n<sup>o</sup> 4, N<sup>o</sup> 5, n<sup>os</sup> 6, f<sup>o</sup> 7, 1<sup>o</sup>, 2<sup>a</sup>":
        "no 4, No 5, nos 6, fo 7, 1o, 2a",
    "M<sup>me</sup>, M<sup>lle</sup>, M<sup>e</sup>, D<sup>r</sup>, S<sup>t</sup>, Sr<sup>a</sup>":
        "Mme, Mlle, Me, Dr, St, Sra",
    "1<sup>η</sup> Δεκεμβρίου, 5<sup>ος</sup>, 1<sup>й</sup>": "1η Δεκεμβρίου, 5ος, 1й",
    "M<sup>c</sup>Donald": "McDonald",
    "Brand<sup>TM</sup>, X<sup>TM</sup>, Other<sup>®</sup>, Y<sup>SM</sup>, Canal<sup>+</sup>": "BrandTM, XTM, Other®, YSM, Canal+",
    "as shown.<sup>3</sup> word<sup>4</sup>": "as shown.3 word4",
    "word<sup>[5]</sup>, x<sup>[6]</sup>": "word[5], x[6]",
    "x<sup><a href=#n>1</a></sup>, m<a href=#n><sup>2</sup></a>": "x1, m2",
    "1990<sup><a href=#n>1</a></sup>": "1990^1",  # 19901 is another year
    "1990<sup><a href=#n>[1]</a></sup>": "1990[1]",
    "Miller<sup>1,2</sup>, Li<sup>1,2</sup>, Wu<sup>a,b</sup>, Li<sup>1,*</sup>": "Miller1,2, Li1,2, Wua,b, Li1,*",
    "value<sup>a</sup>, A<sup>*</sup>, B<sup>†</sup>": "valuea, A*, B†",
    "20<sup>°</sup>C, 20<sup>o</sup>C": "20°C, 20oC",
    "3 <sup>4</sup> 5<sup></sup>6": "3 4 56",
    "a<sup>very small print indeed it is, of many words</sup>": "avery small print indeed it is, of many words",
    "文<sup>1</sup>": "文1",
}  # fmt: skip
INDEXES = {
    "a<sub>n</sub>, a<sub>ij</sub>, a<sub>n+1</sub>, x<sub>1</sub>, x<sub>12</sub>": "a_n, a_{ij}, a_{n+1}, x_1, x_12",
    "T<sub>max</sub>, V<sub>out</sub>, log<sub>2</sub> n": "T_{max}, V_{out}, log_2 n",
    "1010<sub>2</sub>": "1010_2",
    "lim<sub>n → ∞</sub> a": "lim_{n → ∞} a",
    "H<sub>0</sub>, P<sub>1</sub>, v<sub>2</sub>": "H_0, P_1, v_2",
    "H<sub>2</sub>O, CO<sub>2</sub>, C<sub>6</sub>H<sub>12</sub>O<sub>6</sub>": "H2O, CO2, C6H12O6",
    "Fe<sub>2</sub>O<sub>3</sub>, O<sub>2</sub>, Cl<sub>2</sub>": "Fe2O3, O2, Cl2",
    "(NH<sub>4</sub>)<sub>2</sub>SO<sub>4</sub>, Ca(OH)<sub>2</sub>": "(NH4)2SO4, Ca(OH)2",
    "C<sub>n</sub>H<sub>2n+2</sub>": "C_{n}H_{2n+2}",
    "(x+1)<sub>2</sub>": "(x+1)_2",
    "NaCl<sub>(aq)</sub>": "NaCl(aq)",
    "see<sub><a href=#n>1</a></sub>": "see1",
    "word <sub>below</sub>": "word below",
}
FRACTIONS = {
    "<sup>1</sup>/<sub>2</sub>": "1/2",
    "3<sup>1</sup>/<sub>2</sub> cups": "3 1/2 cups",
    "3<sup>1</sup>&frasl;<sub>2</sub>, 3<sup>1</sup>&#8260;<sub>2</sub>, 3<sup>1</sup>⁄<sub>2</sub>": "3 1⁄2, 3 1⁄2, 3 1⁄2",
}
ODD = {
    "x<sup>2": "x2",
    "x</sup>2</sub>": "x2",
    "x<sup>2</sub>3": "x23",
    "x<sup>2<p>y</sup>": "x2 / y",
    "<sup>2</sup>x": "2x",
    "x" + "<sup>" * 20 + "2" + "</sup>" * 20: "x^2",
    "<a href=a>x<sup>2</sup> is</a> it": "x^2 is it",
}


@pytest.mark.parametrize("markup", [*EXPONENTS, *WORDS, *INDEXES, *FRACTIONS, *ODD])
def test_what_is_raised_or_lowered_keeps_its_meaning(markup: str) -> None:
    assert text(markup) == (EXPONENTS | WORDS | INDEXES | FRACTIONS | ODD)[markup]


def test_links_are_counted_with_the_marks_that_are_written_in_them() -> None:
    page = find_blocks(b"<p><a href=a>x<sup>n+1</sup></a> b")
    assert page.text_of(0) == "x^{n+1} b"
    assert page.blocks[0, 6] == len("x^{n+1}")  # link_chars


SIGN, LETTER, GREEK = "+\\-−±∓", "A-Za-zéЖªºα-ω∞", "α-ω∞"
OPERATOR = SIGN + "()*,./<=>^_{|}·×–→"
FUNCTIONS = [
    "sin",
    "cos",
    "tan",
    "cot",
    "sec",
    "csc",
    "log",
    "ln",
    "lg",
    "exp",
    "sinh",
    "cosh",
    "tanh",
    "coth",
    "arcsin",
    "arccos",
    "arctan",
    "det",
    "tr",
]
ENDINGS = [
    "st",
    "nd",
    "rd",
    "th",
    "er",
    "re",
    "me",
    "ers",
    "res",
    "eme",
    "nde",
    "es",
    "os",
    "as",
    "te",
    "de",
    "le",
    "mo",
    "ma",
    "no",
    "na",
    "tm",
    "sm",
    "mc",
    "md",
]
ELEMENTS = ["H", "He", "C", "N", "O", "Na", "Cl", "S", "Fe", "Ca"]  # those of BEFORE


def plainly(
    before: str, raised: str, is_sup: bool, is_linked: bool, after_sub: bool, after: str
) -> int:
    """The rules by regular expressions."""
    if not raised or raised[0] <= " " or len(raised.encode()) > MAX_BYTES:
        return AS_IS
    word = (re.findall(f"[{LETTER}]{{1,8}}$", before) or [""])[0]
    if len(word) > 1 and before[: -len(word)][-1:] in ("_", "^"):
        word = word[1:]
    is_digit, is_closing = before[-1:].isdecimal(), before[-1:] in tuple(")]}|∑∏∫")
    if is_sup and raised.isdecimal() and re.match("(/|⁄|&frasl;|&#8260;)<sub", after):
        return SPACED if word or is_digit else AS_IS
    if not (word or is_digit or is_closing):
        return AS_IS
    if is_linked:
        is_marked = is_sup and is_digit and raised.isdecimal()
    elif is_sup:
        is_marked = is_exponent(word, is_digit, is_closing, raised, after_sub, after)
    else:
        is_marked = is_index(before, raised, after)
    if not is_marked:
        return AS_IS
    goes_on = after[:1].isdecimal() or (
        re.match(f"[{LETTER}]", raised) is not None and re.match("[A-Za-z]", after) is not None
    )
    is_bare = len(raised) == 1 or re.fullmatch(f"[{SIGN}0-9][0-9]*", raised)
    return BARE if is_bare and not goes_on else BRACED


def is_exponent(
    word: str, is_digit: bool, is_closing: bool, raised: str, after_sub: bool, after: str
) -> bool:
    if not re.fullmatch(f"[A-Za-z{GREEK}0-9 {OPERATOR}]+", raised):
        return False
    is_function = word.lower() in FUNCTIONS
    is_short = 0 < len(word) <= 3
    is_base = is_digit or is_closing or is_short or is_function
    after_atoms = after_sub or is_short or is_closing
    if re.fullmatch(f"[{SIGN}]+|[0-9]+[{SIGN}]", raised):
        return after_atoms
    if re.fullmatch(f"[{SIGN}]?[0-9]+|[0-9]+[.][0-9]+", raised):
        return is_base
    if not re.search(f"[A-Za-z{GREEK}0-9]", raised):
        return False
    if re.fullmatch(f"[0-9{OPERATOR}]+", raised) and (
        re.search("[,–]", raised) or (re.search(f"[{SIGN}]", raised) and raised[0].isdecimal())
    ):
        return is_digit
    if not is_base:
        return False
    if len(raised) == 1:
        if is_digit:
            return after_sub or raised not in "aeoAEOαάηήοό"
        if re.match(f"[{GREEK}]", raised) or is_closing or is_function:
            return True
        if len(word) > 1:
            return (
                raised in "nkmxyzijpqT"
                and re.fullmatch(f"[a-z].*[a-z]|.*[{GREEK}]", word) is not None
            )
        if not re.match("[A-Z]", word):
            return raised != "o"
        if raised in "aeoAEO" or (word in "DMS" and raised in "rt"):
            return False
        return not (raised == "c" and re.match("[A-Z]", after))
    is_variable = is_closing or (len(word) == 1 and not re.match("[A-Z]", word))
    if re.fullmatch(f"[A-Za-z{GREEK}]+", raised):
        is_product = re.search(f"[{GREEK}]", raised) or re.fullmatch("[a-z]{2}", raised)
        return is_variable and bool(is_product) and raised.lower() not in ENDINGS
    if re.search(f"[A-Za-z{GREEK}]{{4}}|[.]", raised) or not re.search(
        f"[{OPERATOR}]| ?\\Z", raised
    ):
        return False
    has_operator = re.search(f"[{OPERATOR}]", raised) is not None
    if " " in raised and not has_operator:
        return False
    if raised[0] == "(" or re.search("[,–]", raised):
        return is_function or len(word) == 1
    return has_operator or (
        len(raised) <= 4 and re.sub("^[0-9]+", "", raised).lower() not in ENDINGS
    )


def is_index(before: str, raised: str, after: str) -> bool:
    if raised[0] in "(/[" or not re.fullmatch(f"[{LETTER}0-9 {OPERATOR}文]+", raised):
        return False
    if not re.search(f"[{LETTER}0-9文]", raised):
        return False
    if raised.count(" ") > 1 and not re.search(f"[{OPERATOR}]", raised):
        return False
    if not raised.isdecimal() or before[-1].isdecimal() or raised[0] == "0" or raised == "1":
        return True
    if re.search(r"[(\[][A-Z][A-Za-z0-9]*[)\]]$", before):
        return False
    symbol = re.search("([A-Z][a-z]|[A-Z])$", before)
    if symbol is None or symbol[0] not in ELEMENTS:
        return True
    is_part = re.search(f"[{LETTER}0-9)]$", before[: symbol.start()]) or re.match("[A-Z(]", after)
    return not (len(symbol[0]) == 2 or symbol[0] in "FHNO" or is_part)


BEFORE = (
    "x", "a", "D", "M", "R", "sin", "word", "longer", "km", "1990", "2", "(a+b)", "(OH)", "[NaCl]", "H", "C", "CH",
    "Na", "Cl", "Fe", "S", "Ca", "|x|", "文", "é", "Ж", "α", "", " ", ".", "ab c", "$", "x2", "(x y)", "tanh", "XX",
    "∑", "∫", "_k", "^i", "pγ", "γ",
)  # fmt: skip
RAISED = (
    "1", "2", "12", "0", "-1", "−3", "+", "-", "2+", "n", "o", "e", "a", "T", "c", "r", "th", "st", "er", "ab", "ix", "TM",
    "n+1", "n + 1", "1,2", "a,b", "1–3", "1/2", "(n)", "(1)", "[1]", "2n", "2nd", "0.5", "*", "α", "∞", "η", "iα", "º", "ª", "†",
    "文", "very small", "of many words", "word", "i=1", " 2", "", "x" * 60, "n.", "i → ∞",
)  # fmt: skip
AFTER = (
    "",
    " ",
    "a",
    "B",
    "2",
    "(",
    "<",
    "/<sub>2",
    "⁄<SUB>",
    "&frasl;<sub>",
    "&#8260;<sub>",
    "/2",
    "&amp;<sub>",
    "/<sub",
)


@pytest.mark.parametrize("seed", range(4))
def test_the_mark_is_that_of_the_rules_in_regular_expressions(seed: int) -> None:
    random = Random(seed)
    for _ in range(3000):
        before = random.choice(BEFORE) + random.choice(BEFORE) * random.randint(0, 1)
        raised, after = random.choice(RAISED), random.choice(AFTER)
        is_sup, is_linked, after_sub = (random.random() < share for share in (0.6, 0.1, 0.1))
        text = np.frombuffer(f"1 {before}{raised}".encode(), dtype=np.uint8)
        start = len(f"1 {before}".encode())
        way = how_written(
            text, 2, start, len(text), is_sup, is_linked, after_sub,
            np.frombuffer(f"..{after}".encode(), dtype=np.uint8), 2,
        )  # fmt: skip
        case = (before, raised, is_sup, is_linked, after_sub, after)
        assert way == plainly(
            before, raised, is_sup, is_linked, after_sub, after.lower() if "SUB" in after else after
        ), case
