"""The `catalog` command."""

from typing import TYPE_CHECKING

from catalog.doors import lazy_exports

if TYPE_CHECKING:
    from catalog.cli.answering import answers, show_table
    from catalog.cli.process import STOPPED, command_process, explained
    from catalog.cli.terminal import (
        bar,
        print_fields,
        print_line,
        print_table,
        printable,
        progress_line,
    )
else:
    __getattr__ = lazy_exports(__name__, __file__)


def main() -> None:
    """Run the command; what it needs is imported when it is called."""
    from catalog.cli.commands import main as command

    command()


__all__ = [
    "STOPPED",
    "answers",
    "bar",
    "command_process",
    "explained",
    "main",
    "print_fields",
    "print_line",
    "print_table",
    "printable",
    "progress_line",
    "show_table",
]
