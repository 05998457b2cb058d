"""Which column of a table of documents probably holds what, by names and by some of its rows.

A guess is for a person to check: a recipe names columns, and nothing is guessed when it is built.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from corpus_assets.ingest.formats.rows import string, strings, value

NAMES: Mapping[str, tuple[str, ...]] = {
    "url": ("url", "uri", "link", "source_url", "page_url", "web_url", "permalink", "href"),
    "key": ("id", "_id", "uuid", "guid", "doc_id", "docid", "document_id", "record_id", "key"),
    "title": ("title", "headline", "name", "subject"),
    "licence": ("license", "licence", "licenses", "licences", "max_stars_repo_licenses"),
    "language": ("language", "lang", "language_code"),
    "path": ("path", "file_path", "filepath", "max_stars_repo_path"),
    "derived_from": ("derived_from",),
    "generator": ("generator",),
}
"""What columns are called, the most common name first; compared in small letters."""

TEXT_NAMES = (
    "text", "content", "contents", "raw_content", "body", "article", "document", "markdown", "code",
)  # fmt: skip
MESSAGE_NAMES = ("messages", "conversation", "conversations", "turns")
ADDRESSED_SHARE = 0.8
"""So many of the values of a column of addresses are addresses."""


def guess_fields(rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return names of `fields` with the columns that probably hold them; without `text` and
    `messages` the rows hold no text that was recognized."""
    columns = list(dict.fromkeys(name for row in rows for name in _columns(row)))
    by_name = {name.lower(): name for name in reversed(columns)}
    found = {}
    messages = _first(MESSAGE_NAMES, by_name, lambda name: _are_messages(rows, name))
    text = None if messages else _text_column(rows, columns, by_name)
    if messages is not None:
        found["messages"] = messages
    elif text is not None:
        found["text"] = text
    fits: dict[str, Callable[[str], bool]] = {
        "url": lambda name: _are_addresses(rows, name),
        "key": lambda name: _tell_apart(rows, name),
        "licence": lambda name: any(strings(row, name) for row in rows),
        "derived_from": lambda name: any(strings(row, name) for row in rows),
    }
    for field, names in NAMES.items():
        column = _first(names, by_name, fits.get(field, lambda name: _holds_words(rows, name)))
        if column is not None and column not in found.values():
            found[field] = column
    return found


def _columns(row: Mapping[str, Any]) -> Iterator[str]:
    """Columns, and `a.b` for what is inside of an object."""
    for name, cell in row.items():
        yield name
        if isinstance(cell, Mapping):
            yield from (f"{name}.{inner}" for inner in cell)


def _first(
    names: Sequence[str], by_name: Mapping[str, str], fits: Callable[[str], bool]
) -> str | None:
    """Return the first column with one of these names whose values fit, at the top before inside
    of objects."""
    known = [by_name[name] for name in names if name in by_name]
    inside = [
        column
        for name in names
        for lowered, column in by_name.items()
        if lowered.rpartition(".")[2] == name and "." in lowered
    ]
    return next((column for column in [*known, *inside] if fits(column)), None)


def _text_column(
    rows: Sequence[Mapping[str, Any]], columns: Sequence[str], by_name: Mapping[str, str]
) -> str | None:
    named = _first(TEXT_NAMES, by_name, lambda name: _holds_words(rows, name))
    if named is not None:
        return named
    lengths = {
        name: sum(len(string(row, name) or "") for row in rows)
        for name in columns
        if _holds_words(rows, name) and not _are_addresses(rows, name)
    }
    longest = max(lengths, key=lengths.__getitem__, default=None)
    # Less than a sentence a row is a name or a label, and no text.
    return longest if longest is not None and lengths[longest] >= 40 * len(rows) else None


def _holds_words(rows: Sequence[Mapping[str, Any]], name: str) -> bool:
    return any(isinstance(value(row, name), str) and string(row, name) for row in rows)


def _are_addresses(rows: Sequence[Mapping[str, Any]], name: str) -> bool:
    known = [found for row in rows if (found := string(row, name)) is not None]
    addresses = [found for found in known if found.startswith(("http://", "https://"))]
    return bool(known) and len(addresses) >= ADDRESSED_SHARE * len(known)


def _tell_apart(rows: Sequence[Mapping[str, Any]], name: str) -> bool:
    known = [string(row, name) for row in rows]
    return None not in known and len(set(known)) == len(known)


def _are_messages(rows: Sequence[Mapping[str, Any]], name: str) -> bool:
    lists = [cell for row in rows if (cell := value(row, name)) is not None]
    return bool(lists) and all(
        isinstance(cell, list)
        and all(isinstance(turn, Mapping) and "role" in turn for turn in cell)
        for cell in lists
    )
