"""Code as tokens and n-grams of tokens, against a plain Python reading of the same rules."""

import random
import re

import numpy as np
import pyarrow as pa
import pytest

from corpus_assets.decontam.kernels.code_grams import (
    CodeTokens,
    code_hashes,
    code_places,
    find_code,
    make_code_grams,
    split_tokens,
)
from corpus_assets.decontam.kernels.code_tokens import HASH, SLASH, STRING, name_table
from corpus_assets.text.codepoints import text_buffers

FIXED = frozenset({"def", "for", "in", "return", "if", "len"})
TABLE = name_table(FIXED)

STRINGS = r'"(?:\\[^\n]|[^"\n\\])*"|' + r"'(?:\\[^\n]|[^'\n\\])*'"
NAMES = r"[A-Za-z_$\u0080-\U0010ffff][\w$\u0080-\U0010ffff]*"
TRIPLE = r'(?:[rRbBuUfF]{1,2})?(?:"""(?:\\.|[^\\])*?"""|' + r"'''(?:\\.|[^\\])*?''')"
TOKEN = {
    style: re.compile(
        rf"(?P<none>\s+|{comment}|{TRIPLE})|(?:[rRbBuUfF]{{1,2}})?(?P<string>{STRINGS})"
        rf"|(?P<number>[0-9][\w$.\u0080-\U0010ffff]*)|(?P<name>{NAMES})|(?P<mark>.)",
        re.DOTALL,
    )
    for style, comment in ((HASH, r"\#[^\n]*"), (SLASH, r"//[^\n]*|/\*.*?\*/"))
}


def reference(text: str, style: int = HASH) -> list[tuple[str, str]]:
    """(kind, spelling) of every token."""
    tokens: list[tuple[str, str]] = []
    for found in TOKEN[style].finditer(text):
        kind, spelled = found.lastgroup or "", found[0]
        if kind == "none":
            continue
        if kind == "string":
            tokens.append(("string", found["string"][1:-1]))
        elif kind == "name" and spelled not in FIXED and ("plain", ".") not in tokens[-1:]:
            tokens.append(("name", spelled))
        else:
            tokens.append(("plain", spelled))
    return tokens


def grams(text: str, length: int, style: int = HASH) -> list[tuple[object, ...]]:
    """Every n-gram, names by how long ago they were last seen inside it."""
    tokens = reference(text, style)
    found = []
    for start in range(len(tokens) - length + 1):
        window = tokens[start : start + length]
        seen: dict[str, int] = {}
        gram: list[object] = []
        for i, (kind, spelled) in enumerate(window):
            gram.append((kind, i - seen.get(spelled, i) if kind == "name" else spelled))
            seen |= {spelled: i} if kind == "name" else {}
        found.append(tuple(gram))
    return found


def buffers(texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
    return text_buffers(pa.array(texts, pa.large_string()))


def index(items: list[str], length: int, style: int = HASH):  # type: ignore[no-untyped-def]
    data, offsets = buffers(items)
    starts, stops, kinds, firsts = split_tokens(data, offsets, style, TABLE)
    hashes, edges = code_hashes(data, offsets, style, TABLE, length)
    owner = np.repeat(np.arange(len(items)), np.diff(edges))
    places = np.arange(hashes.size) - edges[owner] + firsts[owner]
    known = CodeTokens(data.copy(), starts, stops, kinds, firsts, name_table(frozenset()))
    return known, make_code_grams(hashes, owner, places, len(items))


NASTY = [
    "",
    "   \n\t",
    "it's unclosed\nx = 'a' + \"b'c\" # no 'string' here\ny",
    'f"x" r\'y\' rb"z" Br\'w\' foo"bar"',
    '"""doc \\""" still""" x = 1',
    '""" never closed\nx = "" + \'\' + y',
    "a.b.c(d).len . e 1.5e3 0xFF 1_000 .5",
    "'\\'\\'\\'\\' \\",
    "x = 'é' + ö.ß // 2 /* y */ z",
    "$a = @b; c::d->e `f` <g/>",
    "\x00\x01\x7f x\u00a0y\u2003z",
]


def made_up(rng: random.Random, size: int = 60) -> str:
    words = ["def", "for", "in", "x", "y", "zed", "é1", ".", "(", ")", "+", "1", "2.5", "'s'", '"t"',
             "'", '"', '"""', "'''", "\\", "#", "//", "/*", "*/", "\n", " ", "len", "r"]  # fmt: skip
    return "".join(rng.choice(words) + rng.choice(["", " "]) for _ in range(size))


@pytest.mark.parametrize("style", [HASH, SLASH])
def test_tokens_are_those_of_the_reference(style: int) -> None:
    rng = random.Random(style)
    texts = [*NASTY, *(made_up(rng) for _ in range(300))]
    texts = [text for text in texts if "\u00a0" not in text]  # white space of Unicode is a name
    data, offsets = buffers(texts)
    starts, stops, kinds, firsts = split_tokens(data, offsets, style, TABLE)
    raw = data.tobytes()
    for i, text in enumerate(texts):
        found = []
        for t in range(firsts[i], firsts[i + 1]):
            edge = int(kinds[t] == STRING)
            spelled = raw[starts[t] + edge : stops[t] - edge].decode(errors="replace")
            found.append((("name", "plain", "string")[kinds[t]], spelled))
        assert found == reference(text, style), repr(text)


@pytest.mark.parametrize("length", [2, 5, 12])
def test_hashes_are_equal_where_ngrams_are_equal_up_to_names(length: int) -> None:
    rng = random.Random(length)
    names = ["a", "b", "c", "d"]
    texts = [" ".join(rng.choice([*names, "in", "("]) for _ in range(40)) for _ in range(60)]
    hashes, firsts = code_hashes(*buffers(texts), HASH, TABLE, length)
    by_hash: dict[int, object] = {}
    by_gram: dict[object, int] = {}
    for i, text in enumerate(texts):
        expected = grams(text, length)
        assert firsts[i + 1] - firsts[i] == len(expected)
        for value, gram in zip(hashes[firsts[i] : firsts[i + 1]].tolist(), expected, strict=True):
            assert by_hash.setdefault(value, gram) == gram
            assert by_gram.setdefault(gram, value) == value


def test_what_is_found_is_what_the_reference_finds() -> None:
    rng = random.Random(5)
    items = [made_up(rng, 30) for _ in range(40)]
    texts = [made_up(rng, 20) + rng.choice(items) + made_up(rng, 20) for _ in range(60)]
    known, table = index(items, 6)
    found = find_code(*buffers(texts), HASH, TABLE, known, table, 6, 0.01)
    of_items = [set(grams(item, 6)) for item in items]
    expected = {}
    for t, text in enumerate(texts):
        held = set(grams(text, 6))
        for i, own in enumerate(of_items):
            if held & own:
                expected[t, i] = len(held & own)
    assert dict(zip(zip(*(f.tolist() for f in found[:2]), strict=True), found[2].tolist(), strict=True)) == expected  # fmt: skip
    assert table.item_totals.tolist() == [len(own) for own in of_items]


ITEM = """def closest(values, limit):
    for left in values:
        for right in values:
            if left != right and abs(left - right) < limit:
                return True
    return False
"""
RENAMED = """def f(a, b):  # somebody else's names
  '''And a docstring.'''
  for x in a:
    for yy in a:
      if x != yy and abs(x - yy) < b: return True

  return False
"""


def share(text: str) -> float:
    known, table = index([ITEM], 20)
    found = find_code(*buffers([text]), HASH, TABLE, known, table, 20, 0.0)
    return float(found[2][0] / table.item_totals[0]) if len(found[2]) else 0.0


def test_renamed_and_reformatted_code_is_found_whole() -> None:
    assert share(RENAMED) == 1.0


def test_names_that_are_mixed_up_are_another_program() -> None:
    assert share(RENAMED.replace("abs(x - yy)", "abs(x - x)")) < 0.8
    assert share(RENAMED.replace("< b", "< a")) < 0.8
    assert share(RENAMED.replace("!=", "==")) < 0.8


def test_a_forced_collision_never_counts() -> None:
    known, table = index([ITEM], 20)
    other = RENAMED.replace("!=", "==")
    hashes, _ = code_hashes(*buffers([other]), HASH, TABLE, 20)
    forged = make_code_grams(hashes, np.zeros(hashes.size, np.int64), table.tokens[:1].repeat(hashes.size), 1)  # fmt: skip
    assert len(find_code(*buffers([other]), HASH, TABLE, known, forged, 20, 0.0)[0]) == 0


def test_places_cover_every_copy() -> None:
    known, table = index([ITEM], 20)
    text = f"x = 1\n{RENAMED}\ny = 2\n{ITEM}z = 3\n"
    data, _ = buffers([text])
    items, starts, stops = code_places(data, HASH, TABLE, known, table, 20, np.array([True]))
    pieces = [text.encode()[a:b].decode() for a, b in zip(starts, stops, strict=True)]
    assert items.tolist() == [0, 0]
    assert pieces[0].startswith("def f(a, b)")
    assert pieces[1] == ITEM.strip()
    none = code_places(data, HASH, TABLE, known, table, 20, np.array([False]))
    assert none[0].size == 0


def test_hostile_text_is_scanned_in_bounded_time() -> None:
    known, table = index([ITEM], 20)
    texts = ["'" * 200_000, "'\\" * 200_000, '"""' + "x" * 300_000, "/*" * 200_000, "(" * 300_000]
    texts += ["a." * 200_000, "''' " * 100_000, "x" * 1_000_000, "\\" * 300_000]
    for style in (HASH, SLASH):
        assert len(find_code(*buffers(texts), style, TABLE, known, table, 20, 0.3)[0]) == 0
