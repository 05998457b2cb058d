"""What commands print: JSON, a table drawn for a terminal, or plain columns for a pipe.

Web pages choose their own URLs and texts, so whatever is shown has its control characters
written out: a document cannot move the cursor or clear the screen of who looks at it, nor turn
around what stands beside it on a page.
"""

import html
import json
import math
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text


def printable(value: Any) -> str:
    """A value on one line of a screen."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, dict | list | tuple):
        value = json.dumps(plain(value), ensure_ascii=False)
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii")
        for letter in str(value)
    )


def escape(value: Any) -> str:
    """A value in an HTML page, on one line: control characters written out, markup escaped."""
    return html.escape(printable(value))


def plain(value: Any) -> Any:
    """A value as JSON knows it: bytes as hex, numbers that are none as null."""
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    return str(value)


def print_json(value: Any) -> None:
    """One JSON document."""
    text = json.dumps(plain(value), ensure_ascii=False, indent=2)
    # Odd characters stand inside strings only, where JSON may write them as escapes.
    click.echo(
        "".join(
            letter if letter.isprintable() or letter == "\n" else json.dumps(letter)[1:-1]
            for letter in text
        )
    )


def print_line(text: str = "") -> None:
    """One line of prose."""
    click.echo(text)


def print_fields(pairs: Iterable[tuple[str, Any]]) -> None:
    """Names and values, one a line, values aligned."""
    rows = [(name, printable(value)) for name, value in pairs]
    width = max((len(name) for name, _ in rows), default=0)
    for name, value in rows:
        click.echo(f"{name:<{width}}  {value}")


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """A table: drawn on a terminal, in plain aligned columns elsewhere."""
    cells = [[printable(value) for value in row] for row in rows]
    if sys.stdout.isatty():
        table = Table(box=None, header_style="bold", pad_edge=False)
        for name in columns:
            table.add_column(Text(name), overflow="fold")
        for row in cells:
            table.add_row(*(Text(cell) for cell in row))
        Console().print(table)
        return
    widths = [
        max(len(name), *(len(row[place]) for row in cells)) if cells else len(name)
        for place, name in enumerate(columns)
    ]
    for row in [list(columns), *cells]:
        padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        click.echo("  ".join(padded).rstrip())


def short(digest: str | None) -> str:
    """A digest as people read it; files and databases hold it whole."""
    return (digest or "-")[:12]
