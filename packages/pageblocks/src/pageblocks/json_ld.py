"""The JSON-LD of a page: the values that its `<script type="application/ld+json">` hold.

Written by hand and by plugins, it is often damaged: wrapped in a comment or CDATA, with raw line
ends in its strings, commas before closing brackets, its quotation marks as entities, several values
in a row. All of that is read. What is no JSON after that is left out, and so is what nests deeper
than `MAX_DEPTH`, whatever the depth of the caller's stack. Time is linear in the page.
"""

import json
import re
from collections.abc import Collection, Iterator
from html import unescape
from typing import Any

import numpy as np

from pageblocks.kernels.blocks import Blocks, find_blocks

MAX_BYTES, MAX_DEPTH = 4_000_000, 64
"""Bytes of all scripts of a page that are read, and how deep brackets may stand in brackets."""

_WRAPPING = re.compile(r"\s*+(?:(?://|/\*)?\s*+<!(?:--|\[CDATA\[)\s*+(?:\*/)?\s*+)*+")
_BETWEEN = re.compile(r"[\s;,]*+")
_STRING = r'"(?:[^"\\]++|\\.)*+"?'
_STRINGS = re.compile(_STRING, re.DOTALL)
_LAST_COMMA = re.compile(rf"({_STRING})|,(?=\s*+[\]}}])", re.DOTALL)
_STEPS = np.zeros(128, dtype=np.int8)
_STEPS[[ord("["), ord("{")]], _STEPS[[ord("]"), ord("}")]] = 1, -1
_DECODER = json.JSONDecoder(strict=False, parse_int=str, parse_float=str, parse_constant=str)
"""Numbers stay as they are written: nobody calculates, and long ones would take time."""


def json_ld(
    page: bytes, parsed: Blocks | None = None, names: Collection[bytes] = (b"",)
) -> list[Any]:
    """The values of a page in UTF-8, in its order, its numbers as strings; `parsed` are its blocks
    where they are there already. Scripts that have none of some `names`, in lower case, are passed
    over."""
    values: list[Any] = []
    size = 0
    for start, end in (find_blocks(page) if parsed is None else parsed).json_ld.tolist():
        size += end - start
        if size > MAX_BYTES:
            break
        script = page[start:end]
        lower = script.lower()
        if any(name in lower for name in names):
            values += _values(script.decode("utf-8", "replace"))
    return values


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
