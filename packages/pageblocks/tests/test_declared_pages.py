"""Pages that say which of their blocks are main content, and the draw of them out of a crawl."""

import json
import math
from collections.abc import Sequence
from typing import Any

import pytest

from pageblocks.kernels.blocks import find_blocks
from pageblocks.training import DeclaredPage, StoredPage, declared_page, draw_pages
from pageblocks.training.truth import block_texts

MENU = "<nav><a href=/a>News of today</a> <a href=/b>Sport</a></nav>"
COMMENTS = "<div class=reader><p>I have never read such a thing, says a reader of it all.</p></div>"
FOOT = "<footer><p>All rights of this are reserved by somebody.</p></footer>"
CAPTION = "<figcaption>A barn in the evening</figcaption>"


def paragraphs(name: str, count: int = 4) -> list[str]:
    return [
        f"In part {n} the {name} went over the {n} hills, and nobody saw it but the {name} of {n}."
        for n in range(count)
    ]


def stored(said: Any, shown: str, url: str = "https://a.example/1") -> StoredPage:
    script = f'<script type="application/ld+json">{json.dumps(said)}</script>'
    return StoredPage(url, f"<html><head>{script}</head><body>{shown}".encode(), url)


def article(name: str, url: str = "https://a.example/1", **more: Any) -> StoredPage:
    texts = paragraphs(name)
    said = {"@type": "NewsArticle", "headline": f"The {name}", "articleBody": "\n".join(texts)}
    body = CAPTION.join(f"<p>{text}</p>" for text in texts)
    shown = f"{MENU}<main><h1>The {name}</h1><div class=text>{body}</div>{COMMENTS}</main>{FOOT}"
    return stored(said | more, shown, url)


def labels(page: StoredPage) -> dict[str, float | None]:
    """What is known of each block, by the beginning of its text."""
    found = declared_page(page)
    assert found is not None
    texts = block_texts(find_blocks(page.page))
    known = [None if math.isnan(one) else one for one in found.known]
    return {text[:12]: one for text, one in zip(texts, known, strict=True)}


def test_an_article_says_of_all_blocks_outside_of_it_that_they_are_none() -> None:
    assert labels(article("fox")) == {
        "News of toda": 0.0,
        "The fox": 1.0,
        "In part 0 th": 1.0,
        "In part 1 th": 1.0,
        "In part 2 th": 1.0,
        "In part 3 th": 1.0,
        "A barn in th": None,
        "I have never": 0.0,
        "All rights o": 0.0,
    }


def test_a_recipe_says_nothing_of_the_story_around_it() -> None:
    items = paragraphs("flour", 5)
    story, inside = paragraphs("grandmother", 2), "".join(f"<li>{item}</li>" for item in items)
    shown = f"<p>{story[0]}</p><div><ul>{inside}</ul></div><p>{story[1]}</p><p><a href=/c>Other soups</a></p>"
    found = labels(stored({"@type": "Recipe", "recipeIngredient": items}, MENU + shown + FOOT))
    assert found == {
        "News of toda": 0.0,
        "In part 0 th": 1.0,  # of the list; the story's has the same beginning and comes first
        "In part 1 th": None,
        "In part 2 th": 1.0,
        "In part 3 th": 1.0,
        "In part 4 th": 1.0,
        "Other soups": 0.0,
        "All rights o": 0.0,
    }


@pytest.mark.parametrize(
    "more",
    [
        {"isAccessibleForFree": False},
        {"articleBody": "Something else is told at length here. " * 9},  # is not shown
        {"articleBody": paragraphs("fox")[0]},  # too short
        {"articleBody": "\n".join(paragraphs("fox", 3)[:3])},  # its beginning
        {"@type": "WebPage"},
    ],
)
def test_pages_that_declare_no_text_or_a_part_do_not_count(more: dict[str, Any]) -> None:
    assert declared_page(article("fox")) is not None
    page = article("fox", **more)
    if more.get("articleBody", "").count("\n") == 2:
        page = page._replace(page=page.page.replace(b"</div>", b"<p>" + "</p><p>".join(
            paragraphs("fox", 9)[3:]).encode() + b"</p></div>", 1))  # fmt: skip
    assert declared_page(page) is None


def texts(pages: Sequence[DeclaredPage]) -> list[bytes]:
    return [page.page for page in pages]


def sites(pages: Sequence[DeclaredPage]) -> set[str]:
    return {page.site for page in pages}


def test_a_draw_is_the_same_in_any_order_and_holds_sites_out() -> None:
    pages = [
        article(f"fox{site} {n}", f"https://site{site}.example/{n}")
        for site in range(20)
        for n in range(4)
    ]
    pages += [stored({}, "<p>Nothing"), StoredPage("x", b"<p>Nothing", None)]
    seen: list[tuple[int, int]] = []
    drawn = draw_pages(pages, 30, 2, lambda *both: seen.append(both))
    assert list(map(texts, draw_pages(pages[::-1], 30, 2))) == list(map(texts, drawn))
    assert seen[-1] == (82, 80)
    assert len(drawn.train) + len(drawn.held_out) == 30
    assert not sites(drawn.train) & sites(drawn.held_out)
    assert drawn.held_out
    every = draw_pages(pages, 1000, 2)
    assert len(every.train) + len(every.held_out) == 40
    assert sites(every.train) | sites(every.held_out) == {f"site{n}.example" for n in range(20)}
