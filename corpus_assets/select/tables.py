"""Bounds by language in a file of their own: `languages_from` of a rule becomes its `languages`.

Tables for a thousand languages (Penedo et al. 2025, FineWeb2) do not belong into a recipe by
hand. They are read when the recipe is, and from then on are part of it: identity, lock and
published recipe hold the values, so the file is pinned by its content and needed only once.
"""

import csv
import json
import math
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from corpus_assets.core.errors import RecipeError
from corpus_assets.select.rules import LanguageTable

KEY = "languages_from"
LANGUAGE = "language"  # the column of a CSV that names languages
ENDS = ("min", "max")

Table = dict[str, dict[str, float]]


def read_language_tables(recipe: dict[str, Any], folder: Path) -> None:
    """Replace every `languages_from` in a recipe's raw `selection`; paths start at `folder`.

    What is not shaped like rules is left for the settings' own check to refuse.
    """
    selection = recipe.get("selection")
    rules = selection.get("rules") if isinstance(selection, dict) else None
    for number, rule in enumerate(rules if isinstance(rules, list) else ()):
        if not isinstance(rule, dict):
            continue
        where = f"selection.rules[{number}] ({rule.get('name')})"
        _replace(rule, where, folder)


def _replace(entry: dict[str, Any], where: str, folder: Path) -> None:
    if entry.get(KEY) is None:
        return
    stated = entry.pop(KEY)
    key = f"{where}.{KEY}"
    try:
        spec = LanguageTable.model_validate({"file": stated} if isinstance(stated, str) else stated)
    except ValidationError as error:
        raise RecipeError(f"{key}: give a file, or {{file, min, max}}") from error
    table: dict[str, Any] = dict(read_table(folder / Path(spec.file).expanduser(), spec, key))
    own = entry.get("languages") or {}
    if not isinstance(own, dict):
        return
    for language, bounds in own.items():
        known = table.get(language, {})
        table[language] = known | bounds if isinstance(bounds, dict) else bounds
    entry["languages"] = table


def read_table(path: Path, spec: LanguageTable, key: str) -> Table:
    """`{language: {min, max}}`, sorted; languages without either are left out."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not a text file in UTF-8"
        raise RecipeError(f"{key}: {path} cannot be read: {reason}") from error
    rows = _csv(text, spec, key) if path.suffix.lower() == ".csv" else _mapping(text, path, key)
    columns = {column for row in rows.values() for column in row}
    stated = spec.model_fields_set
    for end in ENDS:
        column = getattr(spec, end)
        if end in stated and column not in columns:
            raise RecipeError(f"{key}: {path.name} has no {column!r}; it has {_list(columns)}")
    if not columns & {spec.min, spec.max}:
        raise RecipeError(
            f"{key}: {path.name} has neither {spec.min!r} nor {spec.max!r}; it has {_list(columns)}"
        )
    table: Table = {}
    for language, row in sorted(rows.items()):
        bounds = {
            end: _number(row[getattr(spec, end)], f"{key}: {path.name}: {language}")
            for end in ENDS
            if row.get(getattr(spec, end)) not in (None, "")
        }
        if bounds:
            table[language] = bounds
    return table


def _csv(text: str, spec: LanguageTable, key: str) -> dict[str, dict[str, Any]]:
    reader = csv.DictReader(text.splitlines())
    if LANGUAGE not in (reader.fieldnames or ()):
        raise RecipeError(
            f"{key}: the file has no column {LANGUAGE!r}; it has {_list(reader.fieldnames)}"
        )
    rows: dict[str, dict[str, Any]] = {}
    for row in reader:
        language = (row.pop(LANGUAGE) or "").strip()
        if not language or language in rows or None in row:
            twice = f": duplicate language {language!r}" if language in rows else " is damaged"
            raise RecipeError(f"{key}: line {reader.line_num}{twice}; correct the file")
        rows[language] = {name: (value or "").strip() for name, value in row.items()}
    return rows


def _mapping(text: str, path: Path, key: str) -> dict[str, dict[str, Any]]:
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
