"""What commands print; shared by `catalog` and `corpus`.

An answer is JSON, a table drawn for a terminal, or plain columns for a pipe. Web pages choose
their own URLs and texts, so whatever is shown has its control characters written out: a document
cannot move the cursor or clear the screen of who looks at it, nor turn around what stands beside
it on a page.
"""

import contextlib
import json
import math
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from typing import Any

import click

from catalog.answers import Named, Rows, parts_of

EIGHTHS = " ▏▎▍▌▋▊▉"
NO_NUMBER = re.compile(r"\d{4}-\d\d-\d\d|(?=.*[a-f])[0-9a-f]{8,}$")  # dates, ids
PROGRESS_EVERY_S = 30.0
"""How often a long command tells how far it is, where no terminal shows it all the time."""


def printable(value: Any) -> str:
    """Return a value on one line of a screen."""
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


def plain(value: Any) -> Any:
    """Return a value as JSON knows it: bytes as hex, numbers that are none as null."""
    if isinstance(value, Rows | Named):
        value = value.rows
    if is_dataclass(value) and not isinstance(value, type):
        return {part.key: plain(getattr(value, part.name)) for part in parts_of(type(value))}
    if isinstance(value, Mapping):
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


@contextlib.contextmanager
def progress_line(what: str) -> Iterator[Callable[[str], None]]:
    """Yield what tells on stderr how far a long command is: one line that changes on a terminal,
    elsewhere a line every `PROGRESS_EVERY_S` seconds."""
    if sys.stderr.isatty():
        from rich.console import Console

        with Console(stderr=True).status(what) as status:
            yield lambda done: status.update(f"{what} {done}")
        return
    shown_at = time.monotonic()

    def tell(done: str) -> None:
        nonlocal shown_at
        if time.monotonic() - shown_at >= PROGRESS_EVERY_S:
            click.echo(f"{what} {done}", err=True)
            shown_at = time.monotonic()

    yield tell


def print_json(value: Any) -> None:
    """Print one JSON document."""
    text = json.dumps(plain(value), ensure_ascii=False, indent=2)
    # Odd characters stand inside strings only, where JSON may write them as escapes.
    click.echo(
        "".join(
            letter if letter.isprintable() or letter == "\n" else json.dumps(letter)[1:-1]
            for letter in text
        )
    )


def print_line(text: str = "") -> None:
    """Print one line of prose."""
    click.echo(text)


def print_fields(pairs: Iterable[tuple[str, Any]]) -> None:
    """Print names and values, one a line, values aligned."""
    rows = [(name, printable(value)) for name, value in pairs]
    width = max((len(name) for name, _ in rows), default=0)
    for name, value in rows:
        click.echo(f"{name:<{width}}  {value}")


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    numbers_right: bool = False,
    marked: Sequence[bool] = (),
) -> None:
    """Print a table: drawn on a terminal, in plain aligned columns elsewhere.

    With `numbers_right`, a column whose every cell is a number is aligned to the right. `marked`
    rows are red on a terminal.
    """
    cells = [[printable(value) for value in row] for row in rows]
    right = [
        numbers_right and all(_is_number(row[place]) for row in cells)
        for place in range(len(columns))
    ]
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, header_style="bold", pad_edge=False)
        for name, is_right in zip(columns, right, strict=True):
            table.add_column(Text(name), justify="right" if is_right else "left", overflow="fold")
        for place, row in enumerate(cells):
            style = "red" if place < len(marked) and marked[place] else ""
            table.add_row(*(Text(cell) for cell in row), style=style)
        Console().print(table)
        return
    widths = [
        max([len(name), *(len(row[place]) for row in cells)]) for place, name in enumerate(columns)
    ]
    for row in [list(columns), *cells]:
        padded = (
            cell.rjust(width) if is_right else cell.ljust(width)
            for cell, width, is_right in zip(row, widths, right, strict=True)
        )
        click.echo("  ".join(padded).rstrip())


def _is_number(cell: str) -> bool:
    if not cell or cell in "-–":
        return True
    return cell.lstrip("+-−").replace(",", "")[:1].isdigit() and not NO_NUMBER.match(cell)


def bar(share: float, width: int = 24) -> str:
    """Draw a share as a bar in eighths of a character; anything above 0 shows."""
    filled = round(max(0.0, min(1.0, share)) * width * 8)
    if share > 0:
        filled = max(1, filled)
    whole, rest = divmod(filled, 8)
    return "█" * whole + (EIGHTHS[rest] if rest else "")
