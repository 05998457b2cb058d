"""Rows of ready text, from JSON lines, Parquet columns or a Markdown file's front matter."""

import math
from collections.abc import Mapping
from typing import Any

from corpus_assets.ingest.formats.chat import LAYOUTS, chat_text, exchange_text
from corpus_assets.ingest.formats.notebook import is_notebook, notebook_text
from corpus_assets.ingest.gates import language_of
from corpus_assets.ingest.records import RawRecord, Refusal, damaged
from corpus_assets.ingest.source import SourceSpec


def record_of_row(
    row: Mapping[str, Any], file: str, spec: SourceSpec, offset: int, length: int
) -> RawRecord:
    """Return a row of ready text. One that has no text at all stays, to be dropped as `no_text`."""
    fields = spec.fields
    text = value(row, fields.text)
    if fields.messages is not None:
        text = _conversation(row, fields.conversation)
        if isinstance(text, Refusal):
            return damaged(file, offset, length, text.detail or "")
    if text is not None and not isinstance(text, str):
        return damaged(file, offset, length, "text_is_not_a_string")
    path = string(row, fields.path)
    read = text or ""
    damage, detail = None, None
    if path is not None and _is_stored_notebook(path, read):
        cells = notebook_text(read)
        if isinstance(cells, Refusal):
            damage, detail = cells
        else:
            read = cells
    return RawRecord(
        url=string(row, fields.url),
        key=key(row, fields.key) or path,
        offset=offset,
        length=length,
        text=read,
        raw_text=text,
        path=path,
        licence=licence(row, spec),
        language=string(row, fields.language) or _language(spec, path, read),
        title=string(row, fields.title),
        derived_from=strings(row, fields.derived_from),
        generator=string(row, fields.generator) or spec.generator,
        labels=labels(row, spec),
        damage=damage,
        detail=detail,
    )


def _conversation(row: Mapping[str, Any], stated: tuple[str, tuple[str, ...]]) -> str | Refusal:
    layout, columns = stated
    said = [value(row, column) for column in columns]
    return chat_text(said[0], LAYOUTS[layout]) if layout in LAYOUTS else exchange_text(said)


def _is_stored_notebook(path: str, text: str) -> bool:
    """Whether a row is a notebook as its file has it; tables may have them as text already."""
    return is_notebook(path, text) and text.lstrip("\ufeff \t\r\n")[:1] == "{"


def _language(spec: SourceSpec, path: str | None, text: str) -> str | None:
    return language_of(path, text) if path is not None and spec.code is not None else None


def key(row: Mapping[str, Any], columns: str | tuple[str, ...] | None) -> str | None:
    """Return the record's key; one of several columns that lacks a part is no key."""
    if not isinstance(columns, tuple):
        return string(row, columns)
    parts = [string(row, column) for column in columns]
    return "/".join(part for part in parts if part) if parts and all(parts) else None


def licence(row: Mapping[str, Any], spec: SourceSpec) -> str | None:
    """One expression for the licences that a row names."""
    named = sorted(set(strings(row, spec.fields.licence)))
    word = " AND " if spec.licence_list == "all" else " OR "
    if len(named) > 1:
        named = [f"({each})" if " " in each else each for each in named]
    return word.join(named) or None


def labels(row: Mapping[str, Any], spec: SourceSpec) -> dict[str, str | float | None] | None:
    """Return the labels and scores that a source maps; None for one that has none or of another
    kind."""
    fields = spec.fields
    if not fields.labels and not fields.scores:
        return None
    found: dict[str, str | float | None] = {}
    for name, column in fields.labels.items():
        cell = value(row, column)
        found[name] = str(cell).lower() if isinstance(cell, bool) else string(row, column)
    for name, column in fields.scores.items():
        cell = value(row, column)
        is_number = isinstance(cell, int | float) and math.isfinite(cell)
        found[name] = float(cell) if is_number else None
    return found


def value(row: Mapping[str, Any], column: str | None) -> Any:
    """Return a column, or `a.b` inside the object `a`."""
    if column is None:
        return None
    if column in row or "." not in column:
        return row.get(column)
    outer, _, inner = column.partition(".")
    within = row.get(outer)
    return value(within, inner) if isinstance(within, Mapping) else None


def string(row: Mapping[str, Any], column: str | None) -> str | None:
    found = value(row, column)
    if isinstance(found, str):
        return found.strip() or None
    return str(found) if isinstance(found, int) and not isinstance(found, bool) else None


def strings(row: Mapping[str, Any], column: str | None) -> tuple[str, ...]:
    found = value(row, column)
    if isinstance(found, str):
        return (found.strip(),) if found.strip() else ()
    if not isinstance(found, list):
        return ()
    return tuple(item.strip() for item in found if isinstance(item, str) and item.strip())
