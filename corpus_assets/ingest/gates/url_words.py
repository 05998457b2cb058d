"""Words in an address, as a person reads it: percent-encoding and punycode undone, lower case.

A word stands between characters that are neither letters nor digits: `casino` is found in
`/casino_1` and not in `/casinos`. `free-porn` is found where it stands with its hyphen.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from urllib.parse import unquote

from corpus_assets.core.urls import Address
from corpus_assets.ingest.gates.readable_words import host_in_letters, is_part, one_form
from corpus_assets.ingest.gates.settings import UrlWords

_RUN = re.compile(r"[^\W_]+")


def blocking_words(address: Address, rule: UrlWords) -> list[str]:
    """Return as many words of a list as it takes to block an address; none where it has fewer."""
    text = _readable(address)
    found = _whole_words(text, rule.words)
    if rule.inside_words_without is not None:
        text = text.translate(dict.fromkeys(map(ord, rule.inside_words_without)))
        found = (word for word, _ in _prepared(rule.words) if word in text)
    some = list(islice(found, rule.min_words))
    return some if len(some) == rule.min_words else []


def _readable(address: Address) -> str:
    host, slash, rest = address.canonical[7:].partition("/")
    return one_form(host_in_letters(host) + slash + unquote(rest))


def _whole_words(text: str, words: tuple[str, ...]) -> Iterator[str]:
    runs = set(_RUN.findall(text))
    for word, is_run in _prepared(words):
        if word in runs if is_run else _stands_alone(word, text):
            yield word


@lru_cache(maxsize=16)
def _prepared(words: tuple[str, ...]) -> tuple[tuple[str, bool], ...]:
    plain = dict.fromkeys(one_form(word) for word in words)
    return tuple((word, word.isascii() and word.isalnum()) for word in plain)


def _stands_alone(word: str, text: str) -> bool:
    at = text.find(word)
    while at >= 0:
        end = at + len(word)
        if not (at and is_part(text[at - 1])) and not (end < len(text) and is_part(text[end])):
            return True
        at = text.find(word, at + 1)
    return False
