"""Pages that declare a text and show none of it, or some, or another."""

import json
from typing import Any

from sample_pages import ARTICLE, SENTENCE

from pageblocks import extract
from pageblocks.page import Page

WORDS = [
    f"{first} {second}" for first in ("red", "old", "tall") for second in ("mill", "barn", "ship")
]
ITEMS = [f"{n} pieces of the {words}" for n, words in enumerate(WORDS)]
RECIPE = {
    "@type": "Recipe",
    "name": "Mills & ships",
    "recipeIngredient": ITEMS,
    "recipeInstructions": [
        {"@type": "HowToSection", "name": "First", "itemListElement": ["Cut <b>all</b> of it."]}
    ],
}


def page_of(value: Any, shown: str) -> str:
    said = f'<script type="application/ld+json">{json.dumps(value)}</script>'
    return f"<html><head><title>a</title>{said}</head><body>{shown}"


def kinds_of(page: Page) -> list[str]:
    return [line.kind for line in page.lines]


def test_a_page_without_text_has_the_one_that_it_declares() -> None:
    page = extract(page_of(RECIPE, "<div id=app></div>"))
    assert page.is_declared
    items = [f"- {item}" for item in ITEMS]
    assert page.text.split("\n") == ["Mills & ships", *items, "First", "- Cut all of it."]
    assert kinds_of(page) == ["heading_1", *["list_item"] * 9, "heading_2", "list_item"]
    assert not any(block.kept for block in page.blocks)


def test_markdown_has_marks_and_empty_lines() -> None:
    page = extract(page_of(RECIPE, ""), "markdown")
    items = [f"- {item}" for item in ITEMS]
    expected = ["# Mills & ships", "", *items, "", "## First", "", "- Cut all of it."]
    assert page.text.split("\n") == expected
    assert [line.text for line in page.lines if line.kind == "other"] == [""] * 3


def test_a_text_that_has_a_quarter_of_it_or_is_longer_stays() -> None:
    three = "".join(f"<p>{item}" for item in ITEMS[:3])
    assert not extract(page_of(RECIPE, three)).is_declared  # 3 of 11 lines
    assert extract(page_of(RECIPE, "<p>Sign in to read this recipe, please.")).is_declared
    page = extract(page_of(RECIPE, ARTICLE))
    assert not page.is_declared
    assert "Mills" not in page.text


def test_the_longest_body_is_taken_and_it_has_to_be_that_of_the_page() -> None:
    long = {"@type": "NewsArticle", "headline": "Flood", "articleBody": SENTENCE * 3}
    short = {"@type": "Article", "articleBody": SENTENCE[:40]}
    assert extract(page_of([short, long, short], "")).text == f"Flood\n{SENTENCE * 3}".strip()
    for kind in ("Product", "Comment", "Answer", "WebPage"):
        value = {"@type": kind, "description": SENTENCE, "text": SENTENCE}
        page = extract(page_of(value, ""))
        assert (page.text, page.is_declared) == ("", False)


def test_a_body_that_is_not_free_is_not_taken() -> None:
    article = {"@type": "NewsArticle", "articleBody": SENTENCE}
    for said in (False, "False", "http://schema.org/False"):
        assert not extract(page_of(article | {"isAccessibleForFree": said}, "")).is_declared
    for said in (True, "True", None, []):
        assert extract(page_of(article | {"isAccessibleForFree": said}, "")).is_declared


def test_questions_discussions_and_bodies_in_markup_become_lines_too() -> None:
    question = {"@type": "Question", "name": "Why?", "acceptedAnswer": {"text": "<p>So.<p>And so."}}
    page = extract(page_of({"@type": "FAQPage", "mainEntity": [question]}, ""))
    assert page.text == "Why?\nSo.\nAnd so."
    assert kinds_of(page) == ["heading_2", "post", "paragraph"]
    topic = {"@type": "DiscussionForumPosting", "text": "One.", "comment": [{"text": "Two."}]}
    assert kinds_of(extract(page_of(topic, ""))) == ["post", "post"]
    body = "<h2>A</h2><ul><li>b</ul><table><tr><td>c<td>d</table>"
    page = extract(page_of({"@type": "Article", "articleBody": body}, ""))
    assert (page.text, kinds_of(page)) == ("A\n- b\nc | d", ["heading_2", "list_item", "table_row"])


def test_a_page_that_declares_nothing_to_read_stays_without_text() -> None:
    for said in ("{", '{"@type": "Recipe"}', '{"@type": "Article", "articleBody": "<p>***"}'):
        page = extract(f'<script type="application/ld+json">{said}</script>')
        assert (page.text, page.line_kinds, page.is_declared) == ("", b"", False)
