"""What a user reads is in the words of the trade: help, messages, errors, settings and pages.

`glossary.py` has the phrases that are ours alone and what to write instead.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from catalog.cli.commands import main as catalog_group
from catalog.figures import counted
from corpus_assets.cli.main import cli as corpus_group
from corpus_assets_tests.distributions import PACKAGES, ROOT, SOURCES
from corpus_assets_tests.glossary import PATTERNS

READMES = [folder / "README.md" for folder in (ROOT, *PACKAGES)]
PAGES = sorted([*READMES, *(ROOT / "docs").glob("*/*.md")])
TEMPLATES = sorted(
    path
    for room in ("catalog", "corpus_assets")
    for path in (ROOT / room).rglob("templates/*.html")
    if "demo" not in path.parts  # its templates are the demo's documents
)
SOURCES = sorted(
    path
    for folder in SOURCES.values()
    for path in folder.rglob("*.py")
    if "demo" not in path.parts  # its strings are the demo's documents
)
TERMINAL = 80
CUT_OFF = "..."
LINK_TARGET = re.compile(r"(?<=\])\([^)\s]+\)")
COUNTED = ("document", "file", "shard", "part", "request", "snapshot", "record", "row", "problem")


def ours(text: str) -> list[str]:
    """The phrases of a text that are in the glossary, each with what to write instead."""
    plain = " ".join(LINK_TARGET.sub("", text).split())
    return [
        f"{found[0]!r}: write {better!r} ({plain[max(0, found.start() - 40) : found.end() + 40]})"
        for pattern, better in PATTERNS.items()
        for found in pattern.finditer(plain)
    ]


def spelled(node: ast.AST) -> str:
    """A literal's text, with a blank word where a value is put in."""
    if isinstance(node, ast.JoinedStr):
        return "".join(map(spelled, node.values))
    return str(node.value) if isinstance(node, ast.Constant) else "_"


def messages(source: Path) -> Iterator[tuple[int, str]]:
    """Every string of a source that has several words, docstrings and comments left out."""
    tree = ast.parse(source.read_text(encoding="utf-8"))
    seen: set[ast.AST] = set()
    for node in ast.walk(tree):  # from the outside in: a docstring before its text
        if isinstance(node, ast.Expr | ast.JoinedStr):
            seen |= set(ast.walk(node)) - {node} if _is_text(node) else set()
        is_literal = isinstance(node, ast.JoinedStr) or (
            isinstance(node, ast.Constant) and isinstance(node.value, str)
        )
        if is_literal and node not in seen and " " in (text := spelled(node)):
            yield node.lineno, text


def _is_text(node: ast.Expr | ast.JoinedStr) -> bool:
    return isinstance(node, ast.JoinedStr) or isinstance(node.value, ast.Constant)


def commands(command: click.Command, parent: click.Context | None) -> Iterator[click.Context]:
    """The contexts of a command and of all below it, on a terminal of 80 columns."""
    context = click.Context(
        command, parent, command.name, terminal_width=TERMINAL, max_content_width=TERMINAL
    )
    yield context
    for below in command.commands.values() if isinstance(command, click.Group) else ():
        yield from commands(below, context)


COMMANDS = {
    context.command_path: context
    for group in (corpus_group, catalog_group)
    for context in commands(group, None)
}


@pytest.mark.parametrize("context", COMMANDS.values(), ids=COMMANDS)
def test_a_commands_help_is_in_the_words_of_the_trade(context: click.Context) -> None:
    assert ours(context.get_help()) == []


@pytest.mark.parametrize("context", COMMANDS.values(), ids=COMMANDS)
def test_a_list_of_commands_is_not_cut_off(context: click.Context) -> None:
    _, _, listed = context.get_help().partition("\nCommands:\n")
    assert [line for line in listed.splitlines() if line.endswith(CUT_OFF)] == []


@pytest.fixture(scope="module")
def said() -> list[tuple[str, str]]:
    """Every message of the sources, with its place."""
    return [
        (f"{source.relative_to(ROOT)}:{line}", text)
        for source in SOURCES
        for line, text in messages(source)
    ]


def test_messages_are_in_the_words_of_the_trade(said: list[tuple[str, str]]) -> None:
    assert [f"{place}: {one}" for place, text in said for one in ours(text)] == []


@pytest.mark.parametrize("page", [*PAGES, *TEMPLATES], ids=lambda page: page.name)
def test_pages_are_in_the_words_of_the_trade(page: Path) -> None:
    assert ours(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("written", "is_ours"),
    [
        ("2 shards written anew, 17 shared", True),
        ("the key stands there twice", True),
        ("mend that, then run it", True),
        ("worker processes, one a core", True),
        ("it is no plan", True),
        ("the entry is another one than the store's", True),
        ("the list is cut short", True),
        ("renewed leases stand for nothing here", False),
        ("there is no plan, and it is no longer needed", False),
        ("amended recipes keep their tiers", False),
        ("one pass over the data, in all snapshots", False),
        ("the snapshot takes place in the store", False),
    ],
)
def test_the_glossary_finds_phrases_and_not_the_words_in_them(written: str, is_ours: bool) -> None:
    assert bool(ours(written)) is is_ours


def test_strings_are_found_with_their_values_and_docstrings_are_not(tmp_path: Path) -> None:
    source = tmp_path / "room.py"
    source.write_text('"""Set aside."""\nx = 1\nraise ValueError(f"{x} is set " "aside")\n')
    assert list(messages(source)) == [(3, "_ is set aside")]


def test_counts_are_printed_with_the_right_plural(said: list[tuple[str, str]]) -> None:
    """`{n} files` is wrong for one file: `counted(n, "file")` is right for any number."""
    pattern = re.compile(rf"(?<!of )\b_ ({'|'.join(COUNTED)})s\b(?!/| _ to _)")
    assert [f"{place}: {text}" for place, text in said if pattern.search(text)] == []


def test_one_is_singular_and_other_counts_are_plural() -> None:
    assert [counted(n, "file") for n in (0, 1, 2, 1000)] == [
        "0 files",
        "1 file",
        "2 files",
        "1,000 files",
    ]
    assert [counted(n, "copy", "copies") for n in (1, 2)] == ["1 copy", "2 copies"]
