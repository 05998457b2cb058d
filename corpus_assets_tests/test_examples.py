"""What the pages show is what the commands print, in blocks and in sentences: each page, run."""

import importlib.util
import os
from pathlib import Path
from types import ModuleType

import pytest

from corpus_assets_tests.homes import copy_home

DOCS = Path(__file__).resolve().parent.parent / "docs"


def make_examples() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_examples", DOCS / "make_examples.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


EXAMPLES = make_examples()


@pytest.fixture
def folder(demo_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in list(os.environ):
        if name.startswith(("CORPUS_", "DAGSTER_")) and name != "CORPUS_MODELS":
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    copy_home(demo_home, tmp_path / ".corpus")
    return tmp_path


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(
            page,
            marks=() if page.name == "README.md" else pytest.mark.slow,
            id=page.relative_to(EXAMPLES.ROOT).as_posix(),
        )
        for page in EXAMPLES.PAGES
    ],
)
def test_the_outputs_on_the_page_are_those_of_a_run(page: Path, folder: Path) -> None:
    examples = EXAMPLES.run_page(page, folder)
    assert examples
    wrong = [example for example in examples if not example.holds]
    told = "\n\n".join("\n".join([f"$ {e.command}", *e.printed]) for e in wrong)
    assert not wrong, f"run `python docs/make_examples.py`, or correct this:\n{told}"
    stale = [f for f in EXAMPLES.figures(page, examples) if f.value != f.found]
    assert not stale, "run `python docs/make_examples.py`"
    assert EXAMPLES.unmarked(page, examples) == [], "say where these figures come from"


SHOWN = ["demo-1  live  ...  12", "...", "a  1", "...", "in all  3"]


@pytest.mark.parametrize(
    ("printed", "holds"),
    [
        (["demo-1  live  today  12", "x", "a  1", "in all  3"], True),
        (["demo-1  live  today  12", "a  1", "y", "z", "in all  3"], True),
        (["demo-1  live  today  13", "x", "a  1", "in all  3"], False),
        (["demo-1  live  today  12", "x", "a  2", "in all  3"], False),
        (["demo-1  live  today  12", "x", "a  1", "in all  3", "more"], False),
        ([], False),
    ],
)
def test_dots_stand_for_lines_and_for_what_differs_inside_a_line(
    printed: list[str], holds: bool
) -> None:
    assert EXAMPLES.Example("c", tuple(SHOWN), tuple(printed)).holds == holds


def test_a_page_is_rewritten_and_keeps_leaving_out_what_it_left_out(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    shown = "\n".join(SHOWN)
    page.write_text(
        f"# A page\n\n```\n$ one \\\n  more\n{shown}\n\n$ two\nold\n  ... bytes\n```\n\n`.`\n"
    )
    printed = ("demo-1  live  ...    13", "w", "x", "a  22", "y", "in all  44")
    found = list(EXAMPLES.commands(page.read_text().split("```\n")[1]))
    assert [command for command, _ in found] == ["one   more", "two"]
    examples = [
        EXAMPLES.Example("one", tuple(SHOWN), printed),
        EXAMPLES.Example("two", ("old", "  ... bytes"), ("new", "lines", "  77 bytes")),
    ]
    new = ["demo-1  live  ...    13", "...", "a  22", "...", "in all  44"]
    lines = "\n".join(new)
    assert EXAMPLES.rewritten(page, examples) == (
        f"# A page\n\n```\n$ one \\\n  more\n{lines}\n\n$ two\nnew\nlines\n  ... bytes\n```\n\n`.`\n"
    )


PROSE = "Its 704<!-- of (\\d+) tokens --> tokens, 16 bits, and 1,234 more (`5678`).\n"


def test_figures_in_sentences_are_those_of_the_examples_above_them(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    hidden = "<!-- $ cp 1234.json . -->"
    page.write_text(f"```\n$ one\nx\n```\n\n{PROSE}\n{hidden}\n\n```\n$ two\nx\n```\n")
    text = page.read_text()
    examples = [
        EXAMPLES.Example("one", ("x",), ("1 of 725 tokens", "5678", "1234 bytes"), 0),
        EXAMPLES.Example("two", ("x",), ("9 of 9 tokens",), text.index("$ two")),
    ]
    (figure,) = EXAMPLES.figures(page, examples)
    assert (figure.value, figure.found) == ("704", "725")
    assert "Its 725<!-- of" in EXAMPLES.rewritten(page, examples)
    assert EXAMPLES.unmarked(page, examples) == ["1,234"]
    (missing,) = EXAMPLES.figures(page, examples[1:])
    assert missing.found is None, "what only a later command prints is not above it"
