import numpy as np
import pytest
from sample_pages import ARTICLE, SENTENCE

from pageblocks import extract
from pageblocks.kernels.blocks import find_blocks
from pageblocks.markdown import markdown_of


def whole(markup: str, include_tables: bool = True) -> str:
    page = find_blocks(markup.encode())
    return markdown_of(page, np.ones(len(page.blocks), dtype=np.bool_), include_tables).text


@pytest.mark.parametrize(
    ("markup", "written"),
    [
        ("<h1>A</h1><p>b<h3>C<br>d</h3>", "# A\n\nb\n\n### C d"),
        ("<p>a</p><ul><li>b<li>c</ul><p>d", "a\n\n- b\n- c\n\nd"),
        ("<ol><li>a<li>b</ol><ol><li>c</ol>", "1. a\n2. b\n\n1. c"),
        ("<ul><li>a<ul><li>b<li>c</ul><li>d</ul>", "- a\n  - b\n  - c\n- d"),
        ("<ul><li><p>a</p><p>b</p><li>c</ul>", "- a\n\n  b\n\n- c"),
        ("<ol><li>a<ul><li>b</ul>c<li>d</ol>", "1. a\n  - b\n\n  c\n\n2. d"),
        ("<pre>if a:\n    b</pre><p>c", "```\nif a:\n    b\n```\n\nc"),
        ("<pre>```\na\n```</pre>", "````\n```\na\n```\n````"),
        ("<blockquote><p>a</p><p>b</p></blockquote><p>c", "> a\n\n> b\n\nc"),
        ("<blockquote>a<blockquote>b</blockquote></blockquote>", "> a\n\n> > b"),
        (
            "<table><tr><th>a<th>b<tr><td><td>c|d</table><p>e",
            "| a | b |\n| --- | --- |\n|  | c\\|d |\n\ne",
        ),
        (
            "<table><tr><th>a<th>b<tr><td><math><mo>|</mo><mi>x</mi><mo>|</mo></math><td>c|d $5 | $6</table>",
            "| a | b |\n| --- | --- |\n| $\\vert x\\vert$ | c\\|d $5 \\| $6 |",
        ),
        ("<p><math><mo>|</mo><mi>x</mi><mo>|</mo></math>", "$|x|$"),
        ("<p>a <a href=/x>link</a> * b_c", "a link * b_c"),
        ("", ""),
    ],
)
def test_what_has_a_form_keeps_it(markup: str, written: str) -> None:
    assert whole(markup) == written


def test_tables_can_be_left_out_and_those_that_lay_out_a_page_are_none() -> None:
    data = "<table><tr><td>a<td>b</table><p>c"
    assert whole(data, include_tables=False) == "c"
    layout = f"<table><tr><td><p>{SENTENCE * 4}</p><td><h2>b</h2></table>"
    for include_tables in (True, False):
        assert whole(layout, include_tables) == f"{(SENTENCE * 4).strip()}\n\n## b"


def test_only_what_is_kept_is_written() -> None:
    page = find_blocks(b"<p>a<ul><li>b<li>c</ul><table><tr><td>d<td>e</table>")
    kept = np.array([False, False, True, False, True])
    assert markdown_of(page, kept).text == "- c\n\n|  | e |\n| --- | --- |"


def test_the_words_are_those_of_the_plain_text() -> None:
    plain = extract(ARTICLE).text
    marked = extract(ARTICLE, "markdown").text
    assert marked.startswith("# The flood\n\n")
    assert "\n\n## What was lost\n\n" in marked
    words = marked.replace("#", "").replace(">", "").split()
    assert words == plain.split()


def test_a_row_of_very_many_cells_and_deep_nesting_are_written() -> None:
    row = "<table><tr>" + "<td>x" * 50_000 + "</table>"
    assert whole(row).count("x") == 50_000
    nested = "<blockquote>" * 3000 + "a"
    assert whole(nested).endswith("a")
    lists = "<ul><li>" * 3000 + "a"
    assert whole(lists).endswith("- a")
