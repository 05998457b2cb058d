"""A command that answers: it returns a dataclass, and `answers` prints it; for `catalog` and `corpus`.

Nothing but JSON goes to stdout with `--json`: what the command prints on its way goes to stderr.
"""

import functools
import re
import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext, redirect_stdout
from dataclasses import is_dataclass
from typing import Any, ParamSpec, TypeVar, overload

import click

from catalog.answers import Named, Part, Rows, columns_of, exit_code, notes_of
from catalog.cli.terminal import print_fields, print_json, print_line, print_table, printable

DIGEST = re.compile("[0-9a-f]{64}")
DIGITS_SHOWN = 12

Given = ParamSpec("Given")
Answer = TypeVar("Answer")
Command = Callable[..., None]
View = Callable[[Answer], None]

JSON_OPTION = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@overload
def answers(command: Callable[Given, object]) -> Command: ...
@overload
def answers(*, view: View[Answer]) -> Callable[[Callable[Given, Answer | None]], Command]: ...
def answers(
    command: Callable[..., Any] | None = None, *, view: View[Any] | None = None
) -> Command | Callable[[Callable[..., Any]], Command]:
    """Let a command answer with what it returns (`catalog.answers`), as text or, with `--json`, as
    JSON, and end with its exit code. `view` prints the text where the derived one does not do."""
    if command is None:
        return functools.partial(_answering, view=view or show)
    return _answering(command, show)


def _answering(command: Callable[..., Any], view: View[Any]) -> Command:
    @functools.wraps(command)
    def run(*given: object, as_json: bool, **options: object) -> None:
        with redirect_stdout(sys.stderr) if as_json else nullcontext():
            answer = command(*given, **options)
        if answer is None:  # a group whose command answers
            return
        (print_json if as_json else view)(answer)
        context = click.get_current_context()
        for note in notes_of(answer):
            click.echo(f"{context.find_root().info_name}: {note}", err=True)
        if code := exit_code(answer):
            context.exit(code)

    run.is_answering = True  # type: ignore[attr-defined]
    return JSON_OPTION(run)


def show(answer: object) -> None:
    """Print an answer as text: its sentence, or its fields in blocks."""
    if isinstance(answer, Rows | Named):
        if answer.rows:
            show_table(answer.rows, answer.columns, getattr(answer, "title", ""))
        else:
            print_line(answer.empty)
        if conclusion := getattr(answer, "conclusion", None):
            print_line()
            print_line(conclusion)
    elif type(answer).__str__ is not object.__str__:
        print_line(str(answer))
    else:
        _show_fields(answer, getattr(answer, "conclusion", None))


def show_table(rows: Any, columns: tuple[str, ...] = (), title: str = "") -> None:
    """Print dataclasses as a table; a mapping of them with its keys in a column `title`. A column
    without any value is left out, and digests are short."""
    named = rows if isinstance(rows, Mapping) else dict(enumerate(rows))
    parts = columns_of(type(next(iter(named.values()))), columns)
    cells = [[_short(_text(part, row)) for part in parts] for row in named.values()]
    used = [place for place in range(len(parts)) if any(row[place] is not None for row in cells)]
    heads = [parts[place].title for place in used]
    body = [[row[place] for place in used] for row in cells]
    if named is rows:
        heads = [title, *heads]
        body = [[key, *row] for key, row in zip(named, body, strict=True)]
    print_table(heads, body, numbers_right=True)


def _short(value: object) -> object:
    """Return the beginning of a digest, as people compare them."""
    is_digest = isinstance(value, str) and DIGEST.fullmatch(value) is not None
    return str(value)[:DIGITS_SHOWN] if is_digest else value


def _show_fields(answer: object, conclusion: str | None = None) -> None:
    """Print fields in their order: neighbours that are single values as a block, tables and inner
    answers as blocks of their own, an empty line between blocks."""
    pairs: list[tuple[str, object]] = []
    is_first = True

    def block() -> None:
        nonlocal is_first
        if not is_first:
            print_line()
        is_first = False

    def flush() -> None:
        if pairs:
            block()
            print_fields(pairs)
            pairs.clear()

    for part in columns_of(type(answer)):
        value = getattr(answer, part.name)
        if part.shown.form is None and _is_block(value):
            if not value:
                continue
            flush()
            block()
            if is_dataclass(value):
                _show_fields(value)
            else:
                show_table(value, part.shown.columns, part.title)
        elif (text := _text(part, answer)) is not None:
            pairs.append((part.title, text))
    flush()
    if conclusion:
        block()
        print_line(conclusion)


def _is_block(value: object) -> bool:
    """Whether a value has a block of its own: an answer, or some of them."""
    some = value.values() if isinstance(value, Mapping) else value
    if isinstance(value, Mapping | list | tuple):
        return all(is_dataclass(one) for one in some)  # type: ignore[attr-defined]
    return is_dataclass(value)


def _text(part: Part, owner: object) -> object:
    value = getattr(owner, part.name)
    if value is None:
        return None
    if part.shown.form is not None:
        return part.shown.form(value)
    if isinstance(value, list | tuple):
        return ", ".join(printable(one) for one in value) or None
    return value
