"""What is certain about nesting, against what a tree builder makes of the same markup."""

import random

import numpy as np
import pytest

from corpus_assets.ingest.kernels.nesting import (
    BLOCKS,
    DOUBTFUL,
    HEADINGS,
    ITEMS,
    LISTS,
    MAX_OPEN,
    NESTING,
    forget_open,
    note_end,
    note_start,
    nothing_open,
)
from corpus_assets.ingest.kernels.trim_markup import trim_markup

html = pytest.importorskip("resiliparse.parse.html")

PLAIN = ("a", "b", "span", "p", "nobr", "noscript", "x-y", "font", "label")
VOID = ("br", "hr", "img", "input")
TAGS = (
    *BLOCKS,
    *LISTS,
    *ITEMS,
    *HEADINGS,
    "button",
    "form",
    *PLAIN,
    "div",
    "div",
    "div",
    "div",
    "li",
)
RARE = (*(name for name in DOUBTFUL if name not in ("frameset", "template")), "select", "option")


def outline(node) -> list[str]:  # type: ignore[no-untyped-def]
    """Elements and texts in order, with how deep they are; `main` counts as `div`."""
    lines, depth = [], 0
    while node is not None:
        name = "div" if node.tag == "main" else node.tag
        lines.append(f"{depth} {name} {node.text if node.tag == '#text' else ''}")
        if node.first_child is not None:
            node, depth = node.first_child, depth + 1
            continue
        while node is not None and node.next is None:
            node, depth = node.parent, depth - 1
        node = None if node is None else node.next
    return lines


def random_markup(draw: random.Random, length: int) -> str:
    opened: list[str] = []
    pieces = []
    for number in range(length):
        kind = draw.random()
        if kind < 0.42:
            name = draw.choice(RARE if draw.random() < 0.04 else TAGS)
            opened.append(name)
            pieces.append(f"<{name} class=q>" if name == "div" else f"<{name}>")
        elif kind < 0.84 and opened:
            place = len(opened) - 1 if draw.random() < 0.9 else draw.randrange(len(opened))
            pieces.append(f"</{opened.pop(place)}>")
        elif kind < 0.88:
            pieces.append(f"<{draw.choice(VOID)}>")
        elif kind < 0.9:
            pieces.append(f"</{draw.choice(TAGS)}>")
        else:
            pieces.append(f"t{number} ")
    return "".join(pieces)


@pytest.mark.parametrize("seed", range(10))
def test_a_tree_with_other_names_is_the_same_tree(seed: int) -> None:
    draw = random.Random(seed)
    renamed = 0
    for _ in range(250):
        start = draw.choice(["<!doctype html>", ""]) + draw.choice(
            ["<body>", "<p>", "<ul><li>", ""]
        )
        page = start + random_markup(draw, draw.choice([6, 12, 30, 60]))
        trimmed = trim_markup(page.encode()).markup.decode()
        before, after = html.HTMLTree.parse(page), html.HTMLTree.parse(trimmed)
        assert outline(after.document) == outline(before.document), page
        renamed += trimmed.count("<main    >")
    assert renamed > 150


@pytest.mark.parametrize(
    "page",
    [
        "<div class=q><table><tr><td>a</div>b</td></tr></table>c</div>d",
        "<div>a<select><div class=q></select>b</div>c</div>d",
        "<div><h3><div class=q><h1><h2></h2></h1>a</div>b</div>c",
        "<form><div><ul><li><div class=q><dl><li>a</form></li></dl>b</div>c</div>d",
        "<div><button><div class=q><button>a</button>b</div>c</div>d",
        "<div><li><div class=q><li>a</li>b</div>c</div>d",
        "<div><section><div class=q></section>a</div>b</div>c",
        "<div><object><div class=q></object>a</div>b</div>c",
        "<div><main><div class=q></main>a</div>b</main>c</div>d",
        "<div><ruby><div class=q><dl><dd><rt>a</dd></dl>b</div>c</div>d",
        "<b><div class=q>a</b>b</div>c",
        "<p>a<div class=q>b</p>c</div>d",
        "<a><div class=q>a<a>b</div>c</a>d",
    ],
)
def test_pages_that_are_closed_otherwise_than_they_look_keep_their_tree(page: str) -> None:
    trimmed = trim_markup(page.encode()).markup.decode()
    before, after = html.HTMLTree.parse(page), html.HTMLTree.parse(trimmed)
    assert outline(after.document) == outline(before.document)


def closes(markup: str) -> list[int]:
    """For each end tag in words like `div` and `/div`, the place of what it closes."""
    opened = nothing_open()
    found = []
    for place, word in enumerate(markup.split()):
        if word.startswith("/"):
            found.append(int(note_end(opened, NESTING[word[1:]])))
        else:
            note_start(opened, NESTING[word], place)
    return found


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("div div /div /div", [1, 0]),
        ("div section /div /section", [-1, -1]),
        ("div ul li li /li li /ul /div", [3, 1, 0]),
        ("li div li /div", [-1]),
        ("div dl dt dd dd /dl /div", [1, 0]),
        ("div dd /dt /div", [-1, -1]),
        ("div ul li form /form /li /ul", [-1, -1, -1]),
        ("div form h2 /h3 /form /div", [2, -1, 0]),
        ("div h2 h3 /h3 /h2 /div", [2, -1, -1]),
        ("button div /div /button div button /button /div", [1, 0, 5, 4]),
        ("button div button /div", [-1]),
        ("button div /button /div div button /button /div", [-1, -1, 5, -1]),
        ("div table div /div /table /div", [2, -1, -1]),
        ("div /table /div", [-1, -1]),
    ],
)
def test_only_what_is_certain_is_told(markup: str, expected: list[int]) -> None:
    assert closes(markup) == expected


def test_more_than_there_is_room_for_is_forgotten() -> None:
    assert closes("div " * MAX_OPEN + "/div " * MAX_OPEN) == [*range(MAX_OPEN)][::-1]
    deep = closes("div " * (MAX_OPEN + 1) + "/div " * (MAX_OPEN + 1))
    assert deep == [MAX_OPEN, *[-1] * MAX_OPEN]


def test_what_is_forgotten_is_not_closed() -> None:
    opened = nothing_open()
    note_start(opened, NESTING["div"], 7)
    forget_open(opened)
    assert note_end(opened, NESTING["div"]) == -1
    assert not np.any(opened[:2])
