"""Words in an address, as a person reads it: percent-encoding and punycode undone, lower case.

A word stands between characters that are neither letters nor digits: `casino` is found in
`/casino_1` and not in `/casinos`. `free-porn` is found where it stands with its hyphen.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Self
from urllib.parse import unquote

from pydantic import Field, model_validator

from corpus_assets.core.identity import Settings
from corpus_assets.core.urls import Address
from textkernels.normal_forms import nfc

INSIDE = "-_."
_RUN = re.compile(r"[^\W_]+")


def checked_word(word: str) -> str:
    """Return the word as it is compared; ValueError for one that no address could hold."""
    plain = _one_form(word)
    readable = _one_form(_host(unquote(plain)))
    if readable != plain:
        raise ValueError(f"{word!r} never occurs in a decoded URL: write {readable!r}")
    if not plain or not _is_part(plain[0]) or not _is_part(plain[-1]):
        raise ValueError(f"{word!r}: write a word that begins and ends with a letter or a digit")
    strange = next((char for char in plain if not _is_part(char) and char not in INSIDE), None)
    if strange is not None:
        raise ValueError(
            f"{word!r}: {strange!r} is not part of a word; write letters and digits, joined by "
            "- _ or . where the address has these, and several words as several entries"
        )
    return plain


class UrlWords(Settings):
    """Words, enough of which in an address block a page."""

    name: str = Field(min_length=1, description="of the list, for `--set` and people")
    words: tuple[str, ...] = Field(
        default=(),
        description="words of any script, such as `casino` or `free-porn`; case-insensitive",
    )
    inside_words: bool = Field(default=False, description="find them inside longer words too")
    ignored: str = Field(
        default="", description="characters that do not count in an address, such as `-.`"
    )
    min_words: int = Field(default=1, ge=1, description="different ones that block a page")

    @model_validator(mode="after")
    def _can_be_found(self) -> Self:
        for word in self.words:
            if set(checked_word(word)) & set(self.ignored):
                raise ValueError(f"{word!r} holds a character that is ignored; write it without")
        return self


def blocking_words(address: Address, rule: UrlWords) -> list[str]:
    """Return as many words of a list as it takes to block an address; none where it has fewer."""
    text = _readable(address).translate(dict.fromkeys(map(ord, rule.ignored)))
    inside = (word for word, _ in _prepared(rule.words) if word in text)
    found = inside if rule.inside_words else _whole_words(text, rule.words)
    some = list(islice(found, rule.min_words))
    return some if len(some) == rule.min_words else []


def _readable(address: Address) -> str:
    host, slash, rest = address.canonical[7:].partition("/")
    return _one_form(_host(host) + slash + unquote(rest))


def _whole_words(text: str, words: tuple[str, ...]) -> Iterator[str]:
    runs = set(_RUN.findall(text))
    for word, is_run in _prepared(words):
        if word in runs if is_run else _stands_alone(word, text):
            yield word


@lru_cache(maxsize=16)
def _prepared(words: tuple[str, ...]) -> tuple[tuple[str, bool], ...]:
    plain = dict.fromkeys(_one_form(word) for word in words)
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
    """Whether a character is a letter, a digit, or a mark on one."""
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
