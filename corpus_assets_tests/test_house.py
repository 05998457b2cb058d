"""A file has one docstring, at its top; no function is too long to be read at once; tests of a room
are in the folder of its name."""

import ast
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from corpus_assets_tests.distributions import ROOT, SOURCES

PRODUCT = [path for folder in SOURCES.values() for path in folder.rglob("*.py")]

TESTS = ROOT / "corpus_assets_tests"
NO_ROOMS = {
    "deploy": "what a team's machines run",
    "pipeline": "stages as a user writes them, which docs point at",
    "promises": "what holds over all rooms",
    "promises/erasure": "random corpora, recipes and requests for P4",
}
SUPPORT = "support"  # in the folder of a room: what its tests share

MAX_HEADING_CHARS = 50
MAX_FUNCTION_LINES = 120


def second_docstrings(path: Path) -> Iterator[int]:
    """Lines at which a comment that belongs to no statement says more than a heading does.

    A comment with blank lines around it speaks of all that follows. In a few words on one line it
    is the heading of a section; any longer it is the docstring of a second module, and what follows
    belongs in a file of its own, or the words at the top of the file or beside what they explain.
    """
    lines = path.read_text().split("\n")
    with path.open("rb") as handle:
        comments = {
            token.start[0]
            for token in tokenize.tokenize(handle.readline)
            if token.type == tokenize.COMMENT and token.start[1] == 0
        }
    for first in sorted(comments):
        last = first
        while last + 1 in comments:
            last += 1
        is_apart = first - 1 not in comments and not "".join(
            [*lines[first - 2 : first - 1], lines[last]]
        )
        if is_apart and (last > first or len(lines[first - 1]) > MAX_HEADING_CHARS):
            yield first


def long_functions(path: Path) -> Iterator[tuple[str, int]]:
    """Names and lines of functions that are too long."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = node.end_lineno - node.lineno + 1 if node.end_lineno else 0
            if lines > MAX_FUNCTION_LINES:
                yield node.name, lines


def folders_of(root: Path) -> set[str]:
    """Folders below one that hold Python, as paths from it."""
    return {path.parent.relative_to(root).as_posix() for path in root.rglob("*.py")} - {"."}


def strangers(tests: set[str], rooms: set[str]) -> list[str]:
    """Folders of tests that are named for no room."""
    return sorted(name for name in tests - rooms - NO_ROOMS.keys() if Path(name).name != SUPPORT)


def test_folders_of_tests_are_named_for_the_rooms_they_test() -> None:
    catalog = {f"catalog/{name}" for name in folders_of(ROOT / "catalog")} | {"catalog"}
    rooms = folders_of(ROOT / "corpus_assets") | catalog
    tests = folders_of(TESTS)
    assert strangers(tests, rooms) == []
    assert NO_ROOMS.keys() <= tests - rooms, "an exception that is none goes"


def test_a_folder_that_is_named_for_no_room_is_found() -> None:
    tests = {"graph", "graph/support", "store_s3", "graph/build"}
    assert strangers(tests, {"graph", "graph/engine"}) == ["graph/build", "store_s3"]


def test_stages_that_docs_point_at_lie_alone() -> None:
    names = {path.name for path in (TESTS / "pipeline").glob("*.py")} - {"__init__.py"}
    examples = {name for name in names if name.startswith("new_")}
    assert names == examples | {f"test_{name}" for name in examples}
    page = (ROOT / "docs/explanation/architecture.md").read_text()
    assert [name for name in sorted(examples) if f"pipeline/{name}" not in page] == []


def test_no_file_has_a_second_docstring() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}" for path in PRODUCT for line in second_docstrings(path)
    ]
    assert found == []


def test_no_function_is_too_long() -> None:
    found = [
        (str(path.relative_to(ROOT)), *one) for path in PRODUCT for one in long_functions(path)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("comment", "is_found"),
    [
        ("# Writing.", False),
        ("# Articles, and the small edits that make near duplicates of them.", True),
        ("# Articles.\n#\n# Each keeps its sentences.", True),
        ("# Articles.\n# Each keeps its sentences.", True),
    ],
)
def test_a_second_docstring_is_told_from_a_heading(
    comment: str, is_found: bool, tmp_path: Path
) -> None:
    path = tmp_path / "stapled.py"
    path.write_text(f'"""Draws."""\n\nA = 1\n\n{comment}\n\nB = 2\n')
    assert list(second_docstrings(path)) == ([5] if is_found else [])


@pytest.mark.parametrize(
    "text",
    [
        "# The reason for A, which takes more than one line to be\n# told.\nA = 1\n",
        'A = """\n\n# A heading of Markdown that is rather long for one, and no comment at all.\n\n"""\n',
    ],
)
def test_a_comment_on_a_statement_and_a_text_are_no_docstrings(text: str, tmp_path: Path) -> None:
    path = tmp_path / "plain.py"
    path.write_text(f'"""Draws."""\n\n{text}')
    assert list(second_docstrings(path)) == []


def test_a_long_function_is_found(tmp_path: Path) -> None:
    path = tmp_path / "long.py"
    path.write_text("def f():\n" + "    pass\n" * 119 + "\n\ndef g():\n" + "    pass\n" * 120)
    assert list(long_functions(path)) == [("g", 121)]
