"""Gates on addresses: blocklists by category, and words in a URL."""

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Self
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pydantic import Field, field_validator, model_validator

from corpus_assets.core.errors import CorruptArtifact, SourceError
from corpus_assets.core.identity import Settings
from corpus_assets.core.urls import Address, address_of, canonical_host
from corpus_assets.text.normal_forms import nfc

# Blocklists by category, in the layout of the UT1 lists of Toulouse: `CATEGORY/domains` with a
# host a line, `CATEGORY/urls` with a host and the begin of a path a line. An entry with a query
# (`example.com/watch?v=1`) is one address: it lists pages with the same path and the same query.
#
# Such lists have millions of lines, so they are turned once into sorted 64-bit hashes (9 bytes an
# entry) that every part maps into memory. A page is looked up by its address, each begin of its
# path, its host and each host above it: about 2 us each. An entry that is no host or address is
# passed over and counted. Two different entries share a hash once in 10^12 look-ups.

CATEGORIES_VERSION = 3
CATEGORY_FILES = ("domains", "urls")
MAX_PATH_PREFIXES = 32


class CategoryLists(Settings):
    """Categories of pages to leave out, from a folder of lists in UT1's layout."""

    folder: str = Field(description="a folder with a folder for each category")
    categories: tuple[str, ...] = Field(
        min_length=1, max_length=255, description="names of folders in it, such as adult"
    )

    @field_validator("categories")
    @classmethod
    def _plain(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for name in value:
            if not name or "/" in name or name.startswith("."):
                raise ValueError(f"category {name!r}: write the name of a folder")
        return value


def read_entries(path: Path) -> Iterator[str]:
    """Yield the entries of a `domains` or `urls` file in canonical form; empty for what is neither."""
    try:
        with open(path, "rb") as lines:
            for line in lines:
                entry = line.decode("utf-8", "replace").partition("#")[0].strip()
                if entry:
                    yield _canonical(entry)
    except OSError as error:
        raise SourceError(f"{path}: the list cannot be read: {error.strerror}") from error


def build_category_index(lists: Iterable[tuple[str, Path]]) -> tuple[bytes, dict[str, int]]:
    """Return the index of (category, file) pairs, and how many entries each category has
    (`passed_over`: lines that are no address). In two categories, an entry counts for the first
    in the recipe."""
    hashes: list[npt.NDArray[np.uint64]] = []
    codes: list[npt.NDArray[np.uint8]] = []
    categories: list[str] = []
    counts: dict[str, int] = {"passed_over": 0}
    for category, path in lists:
        if category not in categories:
            categories.append(category)
        entries = list(read_entries(path))
        known = [_hash(entry) for entry in entries if entry]
        counts["passed_over"] += len(entries) - len(known)
        counts[category] = counts.get(category, 0) + len(known)
        hashes.append(np.array(known, dtype=np.uint64))
        codes.append(np.full(len(known), categories.index(category), dtype=np.uint8))
    all_hashes = np.concatenate(hashes) if hashes else np.zeros(0, dtype=np.uint64)
    all_codes = np.concatenate(codes) if codes else np.zeros(0, dtype=np.uint8)
    order = np.lexsort((all_codes, all_hashes))
    sorted_hashes, first = np.unique(all_hashes[order], return_index=True)
    metadata = {b"categories": json.dumps(categories).encode()}
    schema = pa.schema([("entry", pa.uint64()), ("category", pa.uint8())], metadata=metadata)
    columns = [pa.array(sorted_hashes), pa.array(all_codes[order][first])]
    batch = pa.record_batch(columns, schema=schema)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue().to_pybytes(), counts


class CategoryIndex:
    """Categories by host or address, from the file of an index."""

    def __init__(self, path: Path) -> None:
        try:
            batch = pa.ipc.open_file(pa.memory_map(str(path))).get_batch(0)
        except (pa.ArrowException, OSError) as error:
            raise CorruptArtifact(f"{path} is not a readable index of lists: {error}") from error
        self._categories: list[str] = json.loads(batch.schema.metadata[b"categories"])
        self._hashes: npt.NDArray[np.uint64] = batch.column("entry").to_numpy()
        self._codes: npt.NDArray[np.uint8] = batch.column("category").to_numpy()

    def __len__(self) -> int:
        return len(self._hashes)

    def match(self, address: Address) -> str | None:
        """Return the category of a page: of its address first, then of its host and those above."""
        wanted = np.array([_hash(name) for name in _names(address)], dtype=np.uint64)
        places = np.searchsorted(self._hashes, wanted)
        for place, name in zip(places.tolist(), wanted.tolist(), strict=True):
            if place < len(self._hashes) and int(self._hashes[place]) == name:
                return self._categories[int(self._codes[place])]
        return None


def _names(address: Address) -> Iterator[str]:
    """Every name under which a page could be listed, the most exact first."""
    place, has_query, query = address.canonical[7:].partition("?")
    place = place.removesuffix("/")
    if has_query:
        yield f"{place}?{query}"
    host, _, path = place.partition("/")
    steps = path.split("/")[:MAX_PATH_PREFIXES] if path else []
    for count in range(len(steps), 0, -1):
        yield f"{host}/{'/'.join(steps[:count])}"
    host = address.host
    while host:
        yield host
        host = host.partition(".")[2]


def _canonical(entry: str) -> str:
    """`example.com`, `example.com/path` without a slash at its end, or that and `?query`."""
    if "/" not in entry and "?" not in entry:
        try:
            return canonical_host(entry.removeprefix("*.").removeprefix("."))
        except ValueError:
            return ""
    address = address_of(entry)
    if address is None:
        return ""
    place, has_query, query = address.canonical[7:].partition("?")
    return place.removesuffix("/") + has_query + query


def _hash(entry: str) -> int:
    return int.from_bytes(hashlib.blake2b(entry.encode(), digest_size=8).digest(), "little")


# Words in an address, as a person reads it: percent-encoding and punycode undone, lower case.
#
# A word stands between characters that are neither letters nor digits: `casino` is found in
# `/casino_1` and not in `/casinos`. `free-porn` is found where it stands with its hyphen.

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
    words: tuple[str, ...] = Field(default=(), description="as in `blocked_url_words`")
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


def first_word(address: Address, words: tuple[str, ...]) -> str | None:
    """Return the first of the words that an address holds."""
    return next(_whole_words(_readable(address), words), None)


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
    """Return a letter, a digit, or a mark on one."""
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
