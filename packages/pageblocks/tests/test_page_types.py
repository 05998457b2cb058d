"""Pages that say what they are, and pages whose form does."""

import re
from itertools import islice
from random import Random
from typing import get_args

import numpy as np
import pytest
from sample_pages import ARTICLE, POST, SENTENCE, random_page

from pageblocks import PageType, extract, page_type
from pageblocks.kernels.blocks import find_blocks
from pageblocks.kernels.page_form import count_prices
from pageblocks.kernels.said_places import said_places
from pageblocks.page_types import MAX_BYTES

POSTS = "".join(POST.format(f"user{n}", SENTENCE * 2) for n in range(5))

CARDS = "".join(
    f"<div class=card><a href=/{n}>The {n}th thing of them all</a> <span>of many</span></div>"
    for n in range(20)
)

PRODUCT = "<div class=product><h1>Lamp</h1><div class=price>€ 19</div><div class=sku>1</div><div class=cart>x</div></div>"

CODE = "<p>Call it.</p><pre>f(x)\n  g(y)\n</pre>" * 4


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        (ARTICLE, "article"),
        (f"<body><h1>How high?</h1>{POSTS}", "forum"),
        (f"<body>{CARDS}", "listing"),
        (f"<body>{PRODUCT}", "product"),
        (f"<body><h1>f</h1>{CODE}", "documentation"),
        (f'<link rel="canonical" href="https://a.test/">{ARTICLE}', "home_page"),
        ('<meta property="og:url" content="https://a.test/">', "home_page"),
        ("<p>A line.", "other"),
        ("", "other"),
        ('<script type="application/ld+json">{"@type": "QAPage"}</script><p>?', "forum"),
        ('<div itemscope itemtype="https://schema.org/Product">Lamp</div>', "product"),
        ('<div itemscope itemtype="https://schema.org/Product">Lamp</div>' * 3, "listing"),
        ('<meta content="article" property="og:type"><p>A line.', "other"),
        ('<meta property="og:type" content="product">', "product"),
        ("<meta name=generator content='phpBB 3'><p>Hello", "forum"),
        ("<meta name=generator content='Sphinx 7.2'><p>Hello", "documentation"),
        ('<script>{"@type":["NewsArticle"]}</script><p>x', "article"),
    ],
)  # fmt: skip
def test_pages_are_what_they_say_or_what_they_look_like(page: str, expected: str) -> None:
    assert page_type(page.encode()) == expected


def test_a_menu_makes_no_listing_of_an_article() -> None:
    menu = "".join(f"<li><a href=/{n}>Section number {n} of the paper</a>" for n in range(200))
    assert page_type(f"<nav><ul>{menu}</ul></nav>{ARTICLE}".encode()) == "article"


def _places(page: bytes, most: int) -> list[list[bytes]]:
    """`said_places` by expressions over the whole page."""
    tags = list(islice(re.finditer(rb"(?i)<(?:meta|link)\b[^>]{0,600}", page), most))
    is_relevant = re.compile(rb"(?i)og:(?:type|url)|generator|canonical").search
    typed = re.finditer(rb"\"@type\"\s{0,9}:\s{0,9}(?:\[\s{0,9})?\"([A-Za-z]{3,40})\"", page)
    items = re.finditer(rb"schema\.org/([A-Za-z]{3,40})[\"'\s>]", page)
    return [
        [tag[0] for tag in tags if is_relevant(tag[0])],
        [found[1] for found in islice(typed, most)],
        [found[1] for found in islice(items, most)],
    ]


PIECES = (
    b'"@type"', b'"', b":", b" ", b"  \n\t", b"[", b"Recipe", b"No", b"A" * 40, b"B" * 41, b"schema.org/", b"'", b">",
    b"<meta", b"<LINK", b"<metal", b" og:type=", b"og:image", b"Canonical", b"generator", b"x" * 590, b"<", b".", b"@type",
)  # fmt: skip


@pytest.mark.parametrize("seed", range(200))
def test_what_a_page_says_is_found_as_expressions_find_it(seed: int) -> None:
    random = Random(seed)
    page = b"".join(random.choice(PIECES) for _ in range(random.randint(0, 120)))
    typed = b'"@type" : ["Recipe"] schema.org/Product" <meta og:url>'
    for one in (page, page + typed + page, random_page(random)):
        found = said_places(one, 3)
        assert [[one[start:end] for start, end in places.tolist()] for places in found] == _places(
            one, 3
        )


@pytest.mark.parametrize("seed", range(200))
def test_prices_are_those_of_an_expression(seed: int) -> None:
    random = Random(seed)
    signs = ("$", "£", "¥", "€", "₿", "\xa0", " ", "7", "19", "x", "\u2082", "Â", ",")
    text = "".join(random.choice(signs) for _ in range(random.randint(0, 60))).encode()
    price = rb"(?:[$]|\xc2[\xa3\xa5]|\xe2\x82[\xa0-\xbf])[ \xc2\xa0]{0,2}\d|\d[ \xc2\xa0]{0,2}\xe2\x82[\xa0-\xbf]"
    for most in (2, 400):
        count = count_prices(np.frombuffer(text, dtype=np.uint8), most)
        assert count == min(most, len(re.findall(price, text)))


def test_any_page_has_a_type_and_always_the_same() -> None:
    for seed in range(60):
        page = random_page(Random(seed))
        assert page_type(page) == page_type(bytes(page))
        assert page_type(page) in get_args(PageType)
    for page in (b"<", b"\0" * 50, b"<div>" * 3000, b"\xff" * 99, b"<meta" * 9999, b"</p>"):
        assert page_type(page) in get_args(PageType)


def test_the_end_of_a_very_long_page_is_not_looked_at() -> None:
    filler = b"<!--" + b" " * MAX_BYTES + b"-->"
    assert page_type(filler + ARTICLE.encode()) == "other"


def test_the_type_is_the_same_from_the_blocks_of_an_engine() -> None:
    for seed in range(20):
        page = random_page(Random(seed))
        assert page_type(page, find_blocks(page)) == page_type(page)
    page = b"<!--" + b" " * MAX_BYTES + b"-->" + ARTICLE.encode()
    assert page_type(page, find_blocks(page)) == page_type(page) == "other"


def test_a_page_that_was_read_knows_its_type() -> None:
    assert extract(ARTICLE).page_type == "article"
