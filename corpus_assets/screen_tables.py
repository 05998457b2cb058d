"""Tables with numbers on the right and bars behind them: drawn on a terminal, plain in a pipe."""

import sys
from collections.abc import Sequence
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from catalog.output import printable

EIGHTHS = " ▏▎▍▌▋▊▉"
UNITS = ((10**15, "P"), (10**12, "T"), (10**9, "B"), (10**6, "M"))


def print_columns(
    heads: Sequence[str], rows: Sequence[Sequence[Any]], marked: Sequence[bool] = ()
) -> None:
    """A table; a column whose every cell is a number, or text of one, stands on the right.

    `marked` rows are red on a terminal.
    """
    cells = [[printable(cell) for cell in row] for row in rows]
    right = [all(_is_number(row[i]) for row in cells) for i in range(len(heads))]
    if sys.stdout.isatty():
        table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
        for head, is_number in zip(heads, right, strict=True):
            table.add_column(Text(head), justify="right" if is_number else "left", overflow="fold")
        for place, row in enumerate(cells):
            style = "red" if place < len(marked) and marked[place] else ""
            table.add_row(*(Text(cell) for cell in row), style=style)
        Console().print(table)
        return
    widths = [max([len(head), *(len(row[i]) for row in cells)]) for i, head in enumerate(heads)]
    for row in [list(heads), *cells]:
        padded = (
            cell.rjust(width) if is_number else cell.ljust(width)
            for cell, width, is_number in zip(row, widths, right, strict=True)
        )
        click.echo("  ".join(padded).rstrip())


def bar(share: float, width: int = 24) -> str:
    """A bar in eighths of a character; anything above nothing shows."""
    filled = round(max(0.0, min(1.0, share)) * width * 8)
    if share > 0:
        filled = max(1, filled)
    whole, rest = divmod(filled, 8)
    return "█" * whole + (EIGHTHS[rest] if rest else "")


def amount(number: float) -> str:
    """A count as people say it: 15.0T, 7.25B, 320M; small ones whole."""
    for size, unit in UNITS:
        if abs(number) >= size:
            return f"{number / size:.3g}{unit}" if abs(number) < 1000 * size else f"{number:,.0f}"
    return f"{number:,.0f}"


def _is_number(cell: str) -> bool:
    return not cell or cell in "-–" or cell.lstrip("+-−").replace(",", "")[:1].isdigit()
