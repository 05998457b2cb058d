import random
import re

import pytest

from pageblocks.kernels.markup import FLAT_ELEMENTS, RAW_ELEMENTS, markup_extent

SPACE = " \t\n\f\r"


def reference(page: bytes) -> tuple[int, int]:
    """The same rules, a character at a time."""
    text = page.decode("latin-1")
    depth_stack: list[str] = []
    deepest = most = at = 0
    while at < len(text):
        if text.startswith("<!--", at):
            end = at + 5 if text.startswith("<!-->", at) else text.find("-->", at + 4) + 3
            at = end if end > at + 3 else at + 4
        elif re.match(r"</[A-Za-z]", text[at : at + 3]):
            name, at = reference_name(text, at + 2)
            if name in depth_stack:
                place = len(depth_stack) - 1 - depth_stack[::-1].index(name)
                del depth_stack[place:]
        elif re.match(r"<[A-Za-z]", text[at : at + 2]):
            name, at = reference_name(text, at + 1)
            count, at, closed = reference_attributes(text, at)
            most = max(most, count)
            if name in RAW_ELEMENTS:
                if not closed:
                    ends = [
                        found.start()
                        for found in re.finditer(r"</[A-Za-z]", text[at:])
                        if reference_name(text, at + found.start() + 2)[0] == name
                    ]
                    at = at + ends[0] if ends else len(text)
            elif not closed and name not in FLAT_ELEMENTS:
                depth_stack.append(name)
                deepest = max(deepest, len(depth_stack))
        else:
            at += 1
    return deepest, most


def reference_name(text: str, at: int) -> tuple[str, int]:
    end = at
    while end < len(text) and text[end] not in SPACE + "/>":
        end += 1
    lowered = "".join(c.lower() if "A" <= c <= "Z" else c for c in text[at:end])
    return lowered, end


def reference_attributes(text: str, at: int) -> tuple[int, int, bool]:
    count = 0
    while at < len(text):
        if text[at] == ">":
            return count, at + 1, text[at - 1] == "/"
        if text[at] in SPACE + "/":
            at += 1
            continue
        count += 1
        at += 1
        while at < len(text) and text[at] not in SPACE + "/=>":
            at += 1
        value = at
        while value < len(text) and text[value] in SPACE:
            value += 1
        if value < len(text) and text[value] == "=":
            at = value + 1
            while at < len(text) and text[at] in SPACE:
                at += 1
            if at < len(text) and text[at] in "\"'":
                end = text.find(text[at], at + 1)
                at = end + 1 if end >= 0 else len(text)
            else:
                while at < len(text) and text[at] not in SPACE + ">":
                    at += 1
    return count, len(text), False


PIECES = [
    "<div>", "</div>", "<DIV class=a id='b'>", "</b>", "<b>", "<p>", "</p>", "<br>", "<br/>",
    "<svg/>", "<li a b c>", "<!-- <div> -->", "<!--", "-->", "<!-->", "<script>", "</script>",
    "</SCRIPT >", "<style x>", "</style", "<", ">", "/", "=", "'", '"', " ", "\n", "text", "<a href=x/>",
    "<a href = \"<div>\">", "</a>", "<font", "</font>", "<title/>", "<title>", "</title>", "é", "<1>", "</",
]  # fmt: skip


@pytest.mark.parametrize("seed", range(40))
def test_random_markup_is_measured_as_the_reference_measures_it(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(60):
        page = "".join(draw.choices(PIECES, k=draw.randrange(60))).encode("latin-1")
        assert markup_extent(page, 10_000, 10_000) == reference(page), page


def test_random_bytes_are_measured_as_the_reference_measures_them() -> None:
    draw = random.Random(7)
    for _ in range(500):
        page = bytes(draw.choices(b"<>/!-=\"' aDiv\n\xff\0", k=draw.randrange(80)))
        assert markup_extent(page, 10_000, 10_000) == reference(page), page


def test_it_stops_one_past_each_limit() -> None:
    assert markup_extent(b"<div>" * 50, 10, 10) == (11, 0)
    assert markup_extent(b"<a " + b"b " * 50 + b">", 10, 10) == (0, 11)
    assert markup_extent(b"<div>" * 10, 10, 10) == (10, 0)
    assert markup_extent(b"", 10, 10) == (0, 0)


def test_stray_end_tags_do_not_hide_depth() -> None:
    assert markup_extent(b"<div></b>" * 1000, 512, 512)[0] == 513


def test_elements_that_close_themselves_do_not_nest() -> None:
    assert markup_extent(b"<ul>" + b"<li><p>text<br>" * 5000 + b"</ul>", 512, 512) == (1, 0)


@pytest.mark.parametrize(
    ("page", "extent"),
    [
        (b"<div>" * 50_000, (513, 0)),
        (b"<div " + b" ".join(b"a%d=1" % n for n in range(60_000)) + b">", (0, 513)),
        (b"<!--" * 500_000, (0, 0)),
        (b"<script>" * 250_000, (0, 0)),
        (b"<div>" * 500 + b"</x>" * 400_000, (500, 0)),
        (b'<a href="' * 200_000, (0, 513)),
        (b"</" * 1_000_000, (0, 0)),
        (b"<a<b" * 500_000, (1, 0)),
    ],
)
def test_poison_is_measured_in_linear_time(page: bytes, extent: tuple[int, int]) -> None:
    assert markup_extent(page, 512, 512) == extent
