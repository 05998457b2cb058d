"""The JSON-LD of a page: the values that its `<script type="application/ld+json">` hold.

Written by hand and by plugins, it is often damaged: wrapped in a comment or CDATA, with raw line
ends in its strings, commas before closing brackets, its quotation marks as entities, several values
in a row. All of that is read. What is no JSON after that is left out, and so is what nests deeper
than `MAX_DEPTH`, whatever the depth of the caller's stack. Time is linear in the page.
"""

import json
import re
from collections.abc import Iterator
from html import unescape
from typing import Any

import numpy as np

MAX_SCRIPTS, MAX_BYTES, MAX_DEPTH = 200, 4_000_000, 64
"""Of a page: scripts that are read, bytes of all of them, and how deep brackets may stand in brackets."""
MAX_TAG_BYTES = 1024

_START_TAG = re.compile(
    rb"<script(?=[^<>]{0,%d}?[\s\"'/]type\s*=\s*[\"']?\s*application/ld\+json)[^>]{0,%d}+>"
    % (MAX_TAG_BYTES, MAX_TAG_BYTES),
    re.IGNORECASE,
)
_WRAPPING = re.compile(r"\s*+(?:(?://|/\*)?\s*+<!(?:--|\[CDATA\[)\s*+(?:\*/)?\s*+)*+")
_BETWEEN = re.compile(r"[\s;,]*+")
_STRING = r'"(?:[^"\\]++|\\.)*+"?'
_STRINGS = re.compile(_STRING, re.DOTALL)
_LAST_COMMA = re.compile(rf"({_STRING})|,(?=\s*+[\]}}])", re.DOTALL)
_STEPS = np.zeros(128, dtype=np.int8)
_STEPS[[ord("["), ord("{")]], _STEPS[[ord("]"), ord("}")]] = 1, -1
_DECODER = json.JSONDecoder(strict=False, parse_int=str, parse_float=str, parse_constant=str)
"""Numbers stay as they are written: nobody calculates, and long ones would take time."""


def json_ld(page: bytes) -> list[Any]:
    """The values of a page in UTF-8, in its order; numbers are strings."""
    return [
        value
        for start, end in json_ld_scripts(page)
        for value in _values(page[start:end].decode("utf-8", "replace"))
    ]


def json_ld_scripts(page: bytes) -> list[tuple[int, int]]:
    """Where the content of each script begins and ends, `MAX_BYTES` of them in all."""
    found: list[tuple[int, int]] = []
    size = 0
    at = page.find(b"ld+json")
    while at >= 0 and len(found) < MAX_SCRIPTS:
        begin = page.rfind(b"<", max(0, at - MAX_TAG_BYTES), at)
        tag = _START_TAG.match(page, begin) if begin >= 0 else None
        if tag is None:
            at = page.find(b"ld+json", at + 1)
            continue
        end = _end_of_script(page, tag.end())
        size += end - tag.end()
        if size > MAX_BYTES:
            break
        found.append((tag.end(), end))
        at = page.find(b"ld+json", end)
    return found


def _end_of_script(page: bytes, at: int) -> int:
    at = page.find(b"</", at)
    while at >= 0 and page[at + 2 : at + 8].lower() != b"script":
        at = page.find(b"</", at + 2)
    return at if at >= 0 else len(page)


def _values(text: str) -> Iterator[Any]:
    """The values that a script holds: as it is, and else with what is damaged repaired."""
    text = text[_WRAPPING.match(text).end() :]  # type: ignore[union-attr]
    if '"' not in text and "&quot;" in text:
        text = unescape(text)
    if _depth(text) > MAX_DEPTH:
        return
    values = _decoded(text)
    if not values:
        values = _decoded(_LAST_COMMA.sub(r"\1", text))
    yield from values


def _decoded(text: str) -> list[Any]:
    """All values up to where the text is no JSON."""
    values = []
    at = _BETWEEN.match(text).end()  # type: ignore[union-attr]
    while at < len(text):
        try:
            value, at = _DECODER.raw_decode(text, at)
        except ValueError:
            break
        values.append(value)
        at = _BETWEEN.match(text, at).end()  # type: ignore[union-attr]
    return values


def _depth(text: str) -> int:
    """How deep brackets stand in brackets, those in strings left out."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return 0
    bare = _STRINGS.sub("", text).encode("ascii", "ignore")
    steps = _STEPS[np.frombuffer(bare, dtype=np.uint8)]
    return int(np.cumsum(steps, dtype=np.int64).max(initial=0))
