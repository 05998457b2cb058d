"""The order book: every change of standing orders, in order, as files of the store.

`order_book/00000001.json`, `00000002.json` ...: one entry each, written once and never changed. An
entry is a JSON object in canonical form (sorted keys, no spaces, UTF-8):

    format            corpus-assets/order-book/1
    book              the book's id, random, the same in all its entries
    number            1, 2, 3 ...
    previous_sha256   digest of the entry before; null in the first
    at                when, ISO 8601 UTC
    kind              filed, refreshed, withdrawn, revoked, certified, finished
    body              what changed, see `catalog.db.order_book`
    signature         Ed25519 over all other fields, or null

An entry's digest is the SHA-256 of its canonical form without `signature`. So equal digests of two
last entries mean that all before them are equal too. Entries hold addresses, ids and reasons of
requests, and no text of documents.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from catalog.formats.canonical import canonical_json, canonical_text, strict_json

FOLDER = "order_book"
FORMAT = "corpus-assets/order-book/1"
SIGNATURE = "signature"
ENTRY_FILE = re.compile(rf"{FOLDER}/(?P<number>\d{{8,}})\.json")


@dataclass(frozen=True, slots=True)
class Entry:
    """One change of standing orders."""

    book: str
    number: int
    previous_sha256: str | None
    at: str
    kind: str
    body: Mapping[str, Any]

    def fields(self) -> dict[str, Any]:
        """Return what is digested and signed."""
        return {"format": FORMAT} | {name: getattr(self, name) for name in self.__slots__}

    def text(self) -> str:
        """Return the canonical form, without a signature."""
        return canonical_text(self.fields())


def entry_path(number: int) -> str:
    """Return where an entry lies in the store."""
    return f"{FOLDER}/{number:08d}.json"


def numbers_in(paths: Iterable[str]) -> list[int]:
    """Return the numbers of the entries among files of the store, in order."""
    found = (ENTRY_FILE.fullmatch(path) for path in paths)
    return sorted(int(match["number"]) for match in found if match is not None)


def entry_sha256(text: str) -> str:
    """Return an entry's digest, of its canonical form without a signature."""
    return hashlib.sha256(text.encode()).hexdigest()


def entry_bytes(entry: Entry, signature: Mapping[str, str] | None) -> bytes:
    """Return an entry's file."""
    return canonical_json(entry.fields() | {SIGNATURE: signature})


def parse_entry(text: str) -> Entry:
    """Read an entry's form without signature, known by its digest; ValueError where it is none."""
    try:
        return _entry(json.loads(text))
    except RecursionError as error:
        raise ValueError("its values are nested too deeply") from error


def parse_file(data: bytes) -> tuple[Entry, Mapping[str, str] | None]:
    """Read an entry's file, strictly: the entry and its signature; ValueError where it is none."""
    try:
        found = strict_json(data)
        if not isinstance(found, dict) or SIGNATURE not in found:
            raise ValueError("it is not an entry of an order book")
        if canonical_json(found) != data:
            raise ValueError("it is not in canonical form")
    except RecursionError as error:
        raise ValueError("its values are nested too deeply") from error
    signature = found.pop(SIGNATURE)
    if signature is not None and not isinstance(signature, dict):
        raise ValueError("its signature is none")
    return _entry(found), signature


def _entry(found: Any) -> Entry:
    names = {"format", *Entry.__slots__}
    if not isinstance(found, dict) or found.keys() != names or found.pop("format") != FORMAT:
        raise ValueError("it is not an entry of an order book")
    entry = Entry(**found)
    is_plain = all(isinstance(each, str) for each in (entry.book, entry.at, entry.kind))
    if not is_plain or type(entry.number) is not int or not isinstance(entry.body, dict):
        raise ValueError("it is not an entry of an order book")
    return entry


def broken_chain(entries: Sequence[tuple[Entry, str]]) -> str | None:
    """Return what is wrong with a chain of entries and their digests; None where each follows the
    one before it, from the first on, in one book."""
    previous: str | None = None
    for number, (entry, sha256) in enumerate(entries, 1):
        if entry.number != number or entry.previous_sha256 != previous:
            return f"entry {number} does not follow the one before it"
        if entry.book != entries[0][0].book:
            return f"entry {number} is of another book"
        previous = sha256
    return None
