"""Words in an address, as a person reads it: percent-encoding and punycode undone, lower case.

A word stands between characters that are neither letters nor digits: `casino` is found in
`/casino_1` and not in `/casinos`. `free-porn` is found where it stands with its hyphen.
"""

import re
import unicodedata
from functools import lru_cache
from urllib.parse import unquote

from corpus_assets.ingest.urls import Address
from corpus_assets.text.normal_forms import nfc

INSIDE = "-_."
_RUN = re.compile(r"[^\W_]+")


def checked_word(word: str) -> str:
    """The word as it is compared; ValueError for one that no address could hold."""
    plain = _one_form(word)
    readable = _one_form(_host(unquote(plain)))
    if readable != plain:
        raise ValueError(f"{word!r} never stands in an address as it is read: write {readable!r}")
    if not plain or not _is_part(plain[0]) or not _is_part(plain[-1]):
        raise ValueError(f"{word!r}: write a word that begins and ends with a letter or a digit")
    strange = next((char for char in plain if not _is_part(char) and char not in INSIDE), None)
    if strange is not None:
        raise ValueError(
            f"{word!r}: {strange!r} is no part of a word; write letters and digits, joined by "
            "- _ or . where the address has these, and several words as several entries"
        )
    return plain


def first_word(address: Address, words: tuple[str, ...]) -> str | None:
    """The first of the words that an address holds."""
    host, slash, rest = address.canonical[7:].partition("/")
    text = _one_form(_host(host) + slash + unquote(rest))
    runs = set(_RUN.findall(text))
    for word, is_run in _prepared(words):
        if word in runs if is_run else _stands_alone(word, text):
            return word
    return None


@lru_cache(maxsize=16)
def _prepared(words: tuple[str, ...]) -> tuple[tuple[str, bool], ...]:
    plain = [_one_form(word) for word in words]
    return tuple((word, word.isascii() and word.isalnum()) for word in plain)


def _stands_alone(word: str, text: str) -> bool:
    at = text.find(word)
    while at >= 0:
        end = at + len(word)
        if not (at and _is_part(text[at - 1])) and not (end < len(text) and _is_part(text[end])):
            return True
        at = text.find(word, at + 1)
    return False


def _is_part(char: str) -> bool:
    """A letter, a digit, or a mark on one."""
    return char.isalnum() or unicodedata.category(char).startswith("M")


def _one_form(text: str) -> str:
    text = text.lower()
    return nfc(text)


def _host(host: str) -> str:
    """Labels in the letters they stand for; one that is no punycode stays."""
    return ".".join(map(_label, host.split("."))) if "xn--" in host else host


def _label(label: str) -> str:
    if not label.startswith("xn--"):
        return label
    try:
        return label[4:].encode("ascii").decode("punycode")
    except UnicodeError:
        return label
