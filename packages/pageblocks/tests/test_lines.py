"""Every line of a main text has its kind."""

from random import Random
from typing import Any

import numpy as np
import pytest
from sample_pages import ARTICLE, POST, SENTENCE, random_page

from pageblocks import LINE_KINDS, Extractor, Line, extract
from pageblocks.kernels.blocks import find_blocks
from pageblocks.kernels.page_names import names_in
from pageblocks.lines import MainText, places_of
from pageblocks.markdown import markdown_of
from pageblocks.plain_text import text_of

WRITERS: dict[str, Any] = {"text": text_of, "markdown": markdown_of}


def whole(markup: str, format: str = "text") -> list[tuple[str, str]]:
    """All lines of a page, with their kinds."""
    page = find_blocks(markup.encode())
    written = WRITERS[format](page, np.ones(len(page.blocks), dtype=np.bool_))
    assert len(written.line_kinds) == (len(written.text.split("\n")) if written.text else 0)
    return [tuple(line) for line in written.lines()]


def kinds(markup: str, format: str = "text") -> list[str]:
    return [kind for kind, _ in whole(markup, format)]


def test_numbers_of_kinds_are_stored_in_files_and_stay() -> None:
    assert LINE_KINDS[:16] == (
        "unknown", "other", "paragraph", "heading_1", "heading_2", "heading_3", "heading_4",
        "heading_5", "heading_6", "list_item", "code", "table_row", "quotation", "caption",
        "formula", "post",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("markup", "text", "markdown"),
    [
        ("", "", ""),
        ("<p>a", "paragraph", "paragraph"),
        ("<p>a<br>b", "paragraph paragraph", "paragraph paragraph"),
        ("<h1>a</h1><p>b", "heading_1 paragraph", "heading_1 other paragraph"),
        ("<h3>a<br>b</h3>", "heading_3 heading_3", "heading_3"),
        ("<h6>a</h6>", "heading_6", "heading_6"),
        ("<ul><li>a<li>b<br>c</ul>", "list_item list_item list_item",
         "list_item list_item list_item"),
        ("<ol><li>a<ul><li>b</ul></ol>", "list_item list_item", "list_item list_item"),
        ("<ul><li><p>a<p>b</ul>", "list_item list_item", "list_item other list_item"),
        ("<ul><li><h2>a</h2></ul>", "heading_2", "heading_2"),
        ("<pre>a\nb\n\nc</pre>", "code code code code", "code code code code code code"),
        ("<ul><li><pre>a\nb</pre></ul>", "code code", "code code code code"),
        ("<blockquote><p>a<p>b<br>c</blockquote>", "quotation quotation quotation",
         "quotation other quotation quotation"),
        ("<blockquote><ul><li>a</ul></blockquote>", "list_item", "list_item"),
        ("<ul><li><blockquote>a</blockquote></ul>", "list_item", "list_item"),
        ("<blockquote><h4>a</h4></blockquote>", "heading_4", "heading_4"),
        ("<table><tr><th>a<th>b<tr><td>c<td>d</table>", "table_row table_row",
         "table_row table_row table_row"),
        ("<table><caption>a</caption><tr><td>b<td>c</table>", "caption table_row",
         "caption other table_row table_row"),
        ("<figure><img src=x><figcaption><p>a<p>b</figcaption></figure>", "caption caption",
         "caption other caption"),
        ("<ul><li><figure><figcaption>a</figcaption></figure></ul>", "caption", "caption"),
        ("<p>$x^2$<p>a $x$", "formula paragraph", "formula other paragraph"),
    ],
)  # fmt: skip
def test_a_line_has_the_kind_of_what_it_stands_in(markup: str, text: str, markdown: str) -> None:
    assert kinds(markup) == text.split()
    assert kinds(markup, "markdown") == markdown.split()


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("$x$", "formula"),
        ("$$x + y$$", "formula"),
        (r"$a \$ b$", "formula"),
        ("$x$.", "paragraph"),
        ("$x$ and $y$", "paragraph"),
        ("so $x$", "paragraph"),
        ("$$x$", "paragraph"),
        ("$", "paragraph"),
        ("$$", "paragraph"),
        ("$$$", "paragraph"),
        ("$5", "paragraph"),
        ("$" + "\\" * 50_000, "paragraph"),
    ],
)
def test_a_formula_is_a_line_of_one_and_nothing_else(line: str, kind: str) -> None:
    for format in WRITERS:
        assert whole(f"<p>{line}", format) == [(kind, line)]


def test_a_formula_in_mathml_is_one_and_one_in_an_item_is_an_item() -> None:
    math = "<math><mi>x</mi><mo>+</mo><mi>y</mi></math>"
    assert whole(f"<div>{math}</div><ul><li>{math}</ul>") == [
        ("formula", "$x+y$"),
        ("list_item", "- $x+y$"),
    ]


def test_cells_that_lay_out_a_page_are_no_rows() -> None:
    layout = f"<table><tr><td>a<td><p>{SENTENCE * 4}<p>b<td><h2>c</h2></table>"
    assert kinds(layout) == ["paragraph", "paragraph"]
    assert kinds(layout, "markdown")[::2] == ["paragraph", "paragraph", "paragraph", "heading_2"]
    outer = f"<table><tr><td>{SENTENCE * 4}<table><tr><td>a<td>b</table></table>"
    assert kinds(outer) == ["paragraph", "table_row"]
    code = "<table><tr><td>1<td><pre>a\nb</pre></table>"
    assert kinds(code) == ["paragraph", "code", "code"]


def test_what_is_joined_to_a_formula_in_a_row_makes_it_a_paragraph() -> None:
    layout = f"<table><tr><td>$x$<td>{SENTENCE * 4}</table>"
    assert whole(layout)[0] == ("paragraph", f"$x$ | {(SENTENCE * 4).strip()}")


def test_the_first_paragraph_of_each_post_begins_it() -> None:
    said = (SENTENCE, f"{SENTENCE}</p><p>{SENTENCE}", f"{SENTENCE}<ul><li>a</ul>")
    board = "<h1>How high?</h1><p>A word.</p>" + "".join(
        POST.format(f"u{n}", text) for n, text in enumerate(said)
    )
    end = f"<p>{SENTENCE}</p>"
    found = whole(board + end)
    assert [text for kind, text in found if kind == "post"] == ["u0", "u1", "u2"]
    assert [kind for kind, _ in found] == [
        "heading_1", "paragraph",
        "post", "paragraph", "paragraph",
        "post", "paragraph", "paragraph", "paragraph",
        "post", "paragraph", "paragraph", "list_item",
        "paragraph",
    ]  # fmt: skip
    marked = whole(board + end, "markdown")
    assert [text for kind, text in marked if kind == "post"] == ["u0", "u1", "u2"]


COMMENT = "<li class='comment {}'><h4>{}</h4>{}<p>{}</p>{}</li>"


def test_a_comment_in_a_list_is_no_item_and_a_reply_is_a_post_of_its_own() -> None:
    quoted = f"<blockquote><p>{SENTENCE}</blockquote>"
    reply = COMMENT.format("odd by-author", "Bob", "", f"Reply. {SENTENCE}", "")
    replies = f"<ol class=children>{reply}</ol><p>After the reply.</p>"
    thread = "<div id=comments><ol>{}{}</ol></div>".format(
        COMMENT.format("even", "Ann", quoted, f"First. {SENTENCE}", replies),
        COMMENT.format("even", "Cid", "", f"Second. {SENTENCE}", ""),
    )
    for format in WRITERS:
        found = [(kind, text[:16]) for kind, text in whole(thread, format) if kind != "other"]
        assert [kind for kind, _ in found] == [
            "heading_4", "quotation", "post", "heading_4", "post", "paragraph", "heading_4", "post",
        ]  # fmt: skip
        said = ("First", "Reply", "Second")
        posts = [text for kind, text in found if kind == "post"]
        assert all(word in text for word, text in zip(said, posts, strict=True))


def test_entries_of_a_blog_and_a_single_comment_are_no_posts() -> None:
    blog = f"<div class=post><h2>a</h2><p>{SENTENCE}</div>" * 4
    assert "post" not in kinds(blog)
    assert "post" not in kinds(f"<div class=comment><p>{SENTENCE}</div>")
    assert "post" not in kinds(f"<ul>{'<li class=comments><a href=x>12 comments</a>' * 9}</ul>")


def test_a_page_says_the_kinds_of_its_text() -> None:
    page = extract(ARTICLE)
    assert page.lines[0] == Line("heading_1", "The flood")
    assert "\n".join(line.text for line in page.lines) == page.text
    assert bytes(map(LINE_KINDS.index, (line.kind for line in page.lines))) == page.line_kinds
    told = {line.kind for line in page.lines}
    assert told == {"heading_1", "heading_2", "paragraph", "list_item", "quotation"}


@pytest.mark.parametrize("markup", ["", "<p></p>", "<!-- -->", "<script>a</script>"])
@pytest.mark.parametrize("format", WRITERS)
def test_an_empty_text_has_no_lines(markup: str, format: Any) -> None:
    page = extract(markup, format)
    assert (page.text, page.line_kinds, page.lines) == ("", b"", [])


HOSTILE = {
    "line ends": "<p>a&#13;b&#10;c\rd\x0b\x0c&#133;&#8232;&#x2029;e<pre>f\r\ng\rh&#13;i&#13;&#10;j\x0bk\x85l</pre>",
    "marks at ends": "<pre>a\n\u0301b\n\u0327\u0301</pre><p>\u0301<p>\u1161\u11a8",
    "nul": "<p>&#0;<p>a\0b<pre>\0\n\0</pre>",
    "surrogates": "<p>\ud800 \udfff<pre>a\n\ud800</pre>",
    "formulas": "<p>$a<br>b$<p><script type='math/tex'>a\r\nb%c\rd</script><math alttext='a\r\nb'><mi>x</mi></math>"
    "<img alt='$a&#13;b$'>",
    "nested posts": f"<div class=comment>{SENTENCE}" * 300,
    "open posts": f"<li class=comment><b class=user>u</b>{SENTENCE}<table><tr class=post><td>" * 300,
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("format", WRITERS)
def test_there_is_a_kind_for_each_line_of_hostile_pages(name: str, format: Any) -> None:
    page = Extractor(format, min_chance=0.0).extract(HOSTILE[name])
    assert page.text
    assert "\r" not in page.text
    assert len(page.lines) == len(page.line_kinds) == len(page.text.split("\n"))


def _marked_page(random: Random) -> str:
    """Pieces of all forms in each other, closed or not."""
    opened = names_in("p div h1 h5 ul li ol pre table tr td caption figcaption blockquote br")
    names = ("", " class=post", " class=comment", " class=user", " id=comment-3 class=odd")
    words = ("a", "b\nc", "$x$", "$$y$$", SENTENCE, "d | e", "", "- f", "&#13;\r")
    return "".join(
        f"<{random.choice(opened)}{random.choice(names)}>{random.choice(words)}"
        + (f"</{random.choice(opened)}>" if random.random() < 0.5 else "")
        for _ in range(random.randint(0, 60))
    )


@pytest.mark.parametrize("format", WRITERS)
def test_there_is_a_kind_for_each_line_of_any_page(format: Any) -> None:
    everything, extractor = Extractor(format, min_chance=0.0), Extractor(format)
    told = set()
    for seed in range(150):
        for page in (random_page(Random(seed)), _marked_page(Random(seed)).encode()):
            for reader in (everything, extractor):
                found = reader.extract(page)
                assert len(found.line_kinds) == (len(found.text.split("\n")) if found.text else 0)
                told |= {line.kind for line in found.lines}
    assert told >= {"paragraph", "heading_1", "list_item", "code", "table_row", "quotation", "post"}
    assert "unknown" not in told
    assert ("other" in told) == (format == "markdown")


def test_lines_and_kinds_belong_together() -> None:
    with pytest.raises(ValueError, match="zip"):
        MainText("a\nb", b"\x02").lines()


def places(markup: str, format: str = "text") -> list[int]:
    page = find_blocks(markup.encode())
    written = WRITERS[format](page, np.ones(len(page.blocks), dtype=np.bool_))
    found = places_of(page, written.elements)
    assert len(found) == len(written.line_kinds)
    return [int(place) for place in found]


BOX = "<div class=box><p>{}</p></div>"


@pytest.mark.parametrize("format", ["text", "markdown"])
def test_lines_that_stand_alike_have_one_place(format: str) -> None:
    first, second, inside, *_ = (
        place
        for place in places(f"<body class=a><div><p>x</p><p>y</p></div>{BOX.format('z')}", format)
        if place
    )
    assert first == second != inside
    assert all(place % 2 == 0 for place in (first, second, inside))
    other = places(f"<body class=b><h1>t</h1><div><p>x</p></div>{BOX.format('other')}", format)
    assert [place for place in other if place][1:] == [first, inside]


def test_numbers_in_classes_and_classes_far_out_make_no_other_place() -> None:
    one = "<div class='category-news'><div class='post-1 x'><p>a</p></div></div>"
    other = "<div class='category-sport'><div class='post-27 x'><p>b</p></div></div>"
    assert places(one) == places(other)
    assert places(one) != places(one.replace("post-1 x", "note"))
    assert places(one) != places(one.replace("p>", "h2>"))


def test_a_line_says_whether_it_goes_on_in_the_element_of_the_line_before() -> None:
    first, second, third = places("<p>a<br><br>b</p><p>c</p>")
    assert (second, third) == (first + 1, first)
    assert places("<pre>a\nb</pre>") == [first := places("<pre>a</pre>")[0], first + 1]


def test_what_stands_in_no_element_has_no_place() -> None:
    assert 0 in places("<p>a<p>b", "markdown")
    page = extract("")
    assert len(page.line_places) == 0
    page = Extractor().read(ARTICLE.encode() if isinstance(ARTICLE, str) else ARTICLE)
    assert page.line_places.dtype == np.uint16
    assert len(page.line_places) == len(page.line_kinds)
