"""What differs by language in a file of its own: `languages_from` of a rule becomes its `languages`,
that of a rule about the language itself its `in`, and those of `stop_words` and `own_words` their lists.

Tables for a thousand languages (Penedo et al. 2025, FineWeb2) do not belong into a recipe by
hand. They are read when the recipe is, and from then on are part of it: identity, lock and
published recipe hold the values, so the file is pinned by its content and needed only once.
"""

import csv
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from corpus_assets.core.errors import RecipeError
from corpus_assets.select.rules import LanguageTable

KEY = "languages_from"
LANGUAGE = "language"  # the column of a CSV that names languages
ENDS = ("min", "max")

STOP_WORDS = "stop_words"
OWN_WORDS = "own_words"
LISTED = (STOP_WORDS, OWN_WORDS)  # families, and the columns of their words

Table = dict[str, dict[str, float]]
Rows = dict[str, dict[str, Any]]


def read_language_tables(recipe: dict[str, Any], folder: Path) -> None:
    """Replace every `languages_from` in a recipe's raw `selection` and `signals`; paths start at
    `folder`.

    What is not shaped like rules or families is left for the settings' own check to refuse.
    """
    read: dict[Path, Rows] = {}
    for number, family in _entries(recipe, "signals", "families"):
        name = family.get("family")
        if name in LISTED and isinstance(family.get(KEY), str):
            key = f"signals.families[{number}] ({name}).{KEY}"
            rows = read_rows(folder / Path(family.pop(KEY)).expanduser(), key, read)
            lists = {one: _words(row, name, f"{key}: {one}") for one, row in sorted(rows.items())}
            if name == OWN_WORDS:
                lists = {one: words for one, words in lists.items() if words}
            family["languages"] = {**lists, **(family.get("languages") or {})}
    for number, rule in _entries(recipe, "selection", "rules"):
        where = f"selection.rules[{number}] ({rule.get('name')})"
        _replace(rule, where, folder, read)


def _entries(recipe: dict[str, Any], part: str, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    settings = recipe.get(part)
    entries = settings.get(name) if isinstance(settings, dict) else None
    for number, entry in enumerate(entries if isinstance(entries, list) else ()):
        if isinstance(entry, dict):
            yield number, entry


def _words(row: dict[str, Any], column: str, where: str) -> list[str]:
    """Return the words of a row: a list, or one in JSON."""
    stated = row.get(column) or []
    try:
        words = json.loads(stated) if isinstance(stated, str) else stated
    except ValueError as error:
        raise RecipeError(f"{where}: {column} is not a list in JSON") from error
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise RecipeError(f"{where}: {column} is not a list of words")
    return words


def _replace(entry: dict[str, Any], where: str, folder: Path, read: dict[Path, Rows]) -> None:
    if entry.get(KEY) is None:
        return
    stated = entry.pop(KEY)
    key = f"{where}.{KEY}"
    try:
        spec = LanguageTable.model_validate({"file": stated} if isinstance(stated, str) else stated)
    except ValidationError as error:
        raise RecipeError(f"{key}: give a file, or {{file, min, max}}") from error
    rows = read_rows(folder / Path(spec.file).expanduser(), key, read)
    if entry.get("signal") == LANGUAGE:
        entry["in"] = sorted({*rows, *(entry.get("in") or ())})
        return
    table: dict[str, Any] = dict(bounds_of(rows, Path(spec.file).name, spec, key))
    own = entry.get("languages") or {}
    if not isinstance(own, dict):
        return
    for language, bounds in own.items():
        known = table.get(language, {})
        table[language] = known | bounds if isinstance(bounds, dict) else bounds
    entry["languages"] = table


def read_rows(path: Path, key: str, read: dict[Path, Rows]) -> Rows:
    """Return the rows of a file by language; `read` has those of files that were read before."""
    if path in read:
        return read[path]
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not a text file in UTF-8"
        raise RecipeError(f"{key}: {path} cannot be read: {reason}") from error
    read[path] = _csv(text, key) if path.suffix.lower() == ".csv" else _mapping(text, path, key)
    return read[path]


def bounds_of(rows: Rows, name: str, spec: LanguageTable, key: str) -> Table:
    """`{language: {min, max}}`, sorted; languages without either are left out."""
    columns = {column for row in rows.values() for column in row}
    stated = spec.model_fields_set
    for end in ENDS:
        column = getattr(spec, end)
        if end in stated and column not in columns:
            raise RecipeError(f"{key}: {name} has no {column!r}; it has {_list(columns)}")
    if not columns & {spec.min, spec.max}:
        raise RecipeError(
            f"{key}: {name} has neither {spec.min!r} nor {spec.max!r}; it has {_list(columns)}"
        )
    table: Table = {}
    for language, row in sorted(rows.items()):
        bounds = {
            end: _number(row[getattr(spec, end)], f"{key}: {name}: {language}")
            for end in ENDS
            if row.get(getattr(spec, end)) not in (None, "")
        }
        if bounds:
            table[language] = bounds
    return table


def _csv(text: str, key: str) -> Rows:
    reader = csv.DictReader(text.splitlines())
    if LANGUAGE not in (reader.fieldnames or ()):
        raise RecipeError(
            f"{key}: the file has no column {LANGUAGE!r}; it has {_list(reader.fieldnames)}"
        )
    rows: Rows = {}
    for row in reader:
        language = (row.pop(LANGUAGE) or "").strip()
        if not language or language in rows or None in row:
            twice = f": duplicate language {language!r}" if language in rows else " is damaged"
            raise RecipeError(f"{key}: line {reader.line_num}{twice}; correct the file")
        rows[language] = {name: (value or "").strip() for name, value in row.items()}
    return rows


def _mapping(text: str, path: Path, key: str) -> Rows:
    try:
        raw = json.loads(text) if path.suffix.lower() == ".json" else yaml.safe_load(text)
    except (ValueError, yaml.YAMLError) as error:
        raise RecipeError(f"{key}: {path.name} is neither CSV, JSON nor YAML") from error
    if not isinstance(raw, dict) or not all(isinstance(row, dict) for row in raw.values()):
        raise RecipeError(f"{key}: {path.name}: expected {{language: {{min: ..., max: ...}}}}")
    return {str(language): row for language, row in raw.items()}


def _number(value: Any, where: str) -> float:
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise RecipeError(f"{where}: {value!r} is not a number")
    return number


def _list(names: Any) -> str:
    return ", ".join(sorted(str(name) for name in names or ())) or "nothing"
