"""What pages say of themselves in JSON-LD and OpenGraph, as lines by type."""

import json
import time
from typing import Any

import pytest

from pageblocks import Declared, declared
from pageblocks.declared import MAX_STRINGS, declared_things, lines_of_string


def page_of(*values: Any) -> bytes:
    scripts = (f'<script type="application/ld+json">{json.dumps(each)}</script>' for each in values)
    return f"<title>x</title>{''.join(scripts)}<p>y".encode()


def said(*values: Any) -> list[tuple[str, str, list[tuple[str, str]]]]:
    return [
        (each.type, each.name, [*map(tuple, each.lines)]) for each in declared(page_of(*values))
    ]


def texts(*values: Any) -> list[str]:
    return [line.text for each in declared(page_of(*values)) for line in each.lines]


RECIPE = {
    "@context": "https://schema.org",
    "@type": "Recipe",
    "name": "Soup &amp; bread",
    "recipeIngredient": ["1 onion", "2 l <b>water</b>", " ", "salt&nbsp;&amp; pepper"],
    "recipeInstructions": [
        {"@type": "HowToStep", "name": "Cut", "text": "Cut the onion."},
        {"@type": "HowToStep", "name": "Boil the water."},
    ],
}


def test_a_recipe_has_its_ingredients_and_its_steps_as_items() -> None:
    items = ["- 1 onion", "- 2 l water", "- salt & pepper", "- Cut the onion.", "- Boil the water."]
    assert said(RECIPE) == [("Recipe", "Soup & bread", [("list_item", item) for item in items])]


@pytest.mark.parametrize(
    ("instructions", "expected"),
    [
        ("Cut it.\n\nBoil it.", ["Cut it.", "Boil it."]),
        ("<ol><li>Cut it.<li>Boil <i>it</i>.</ol>", ["- Cut it.", "- Boil it."]),
        ("Cut <b>it</b>.\nBoil it.", ["Cut it.", "Boil it."]),
        ("&lt;p&gt;Cut it.&lt;/p&gt;&lt;p&gt;Boil it.&lt;/p&gt;", ["Cut it.", "Boil it."]),
        (["Cut it.", "<p>Boil it.</p>"], ["- Cut it.", "- Boil it."]),
        ([[{"@type": "HowToStep", "text": ["Cut it.", "Boil it."]}]], ["- Cut it.", "- Boil it."]),
        ({"@type": "ItemList", "itemListElement": ["Cut it."]}, ["- Cut it."]),
        ([{"@type": "ListItem", "item": {"@type": "HowToStep", "text": "Cut it."}}], ["- Cut it."]),
        (
            [{"@type": "HowToSection", "name": "Dough", "itemListElement": [
                {"@type": "HowToStep", "name": "Knead", "itemListElement": [
                    {"@type": "HowToDirection", "text": "Knead it."}]}]},
             {"@type": "HowToSection", "name": "Oven", "steps": [{"text": "Bake it."}]}],
            ["Dough", "- Knead it.", "Oven", "- Bake it."],
        ),
        ([None, {"@type": "HowToStep"}, {"text": {"@value": "Cut it."}}], ["- Cut it."]),
    ],
)  # fmt: skip
def test_instructions_are_read_in_all_their_forms(instructions: Any, expected: list[str]) -> None:
    assert texts({"@type": "Recipe", "recipeInstructions": instructions}) == expected


def test_types_may_be_addresses_lists_or_in_lower_case() -> None:
    for kind in ("recipe", "http://schema.org/Recipe", "schema:Recipe", ["Thing", "Recipe"]):
        assert said({"@type": kind, "recipeIngredient": "1 egg"})[0][0] == "Recipe"
    assert said({"@type": {}}, {"@type": 1}, {"@type": "Toast"}, {}, "Recipe", None) == []


MICRODATA = (
    "<div itemscope itemtype='https://schema.org/Recipe'><ul><li itemprop=recipeIngredient>2 eggs</li>"
    "<li><span itemprop='ingredients'>Salt</span>, a pinch</ul><div itemprop='recipeInstructions'><p>Beat them."
    "<p>Fry them.</div><div style='display: none'><p itemprop=recipeIngredient>hidden</div>"
    "<p itemprop=description>Lovely.<ul><li itemprop=recipeIngredient>2 eggs</ul></div>"
)


def test_ingredients_and_steps_of_microdata_are_a_recipe_each_line_once() -> None:
    found = declared_things(MICRODATA.encode())
    assert [(thing.type, [line.text for line in thing.lines]) for thing in found] == [
        ("Recipe", ["- 2 eggs", "- Salt, a pinch", "- Beat them.", "- Fry them."])
    ]


def test_a_recipe_in_json_ld_comes_before_that_of_microdata() -> None:
    own = '<script type="application/ld+json">{"@type": "Recipe", "recipeIngredient": "1 egg"}</script>'
    found = declared_things((own + MICRODATA).encode())
    assert [[line.text for line in thing.lines] for thing in found] == [["- 1 egg"]]


def test_an_article_has_its_body_in_paragraphs() -> None:
    body = "It rained.\r\n \nThe river\u00a0rose.\u0000"
    assert said({"@type": ["NewsArticle"], "headline": "Flood", "articleBody": body}) == [
        ("NewsArticle", "Flood", [("paragraph", "It rained."), ("paragraph", "The river rose.")])
    ]


def test_things_are_found_in_graphs_lists_and_other_things_and_in_several_scripts() -> None:
    question = {"@type": "Question", "name": "Why?", "acceptedAnswer": {"text": "So."}}
    body = {"@type": "Article", "articleBody": "A body."}
    found = said(
        {"@graph": [{"@type": "WebPage", "mainEntity": {"@type": "Thing", "about": [body]}}]},
        [[{"@type": "WebSite", "hasPart": question}]],
    )
    assert [(kind, lines[-1][1]) for kind, _, lines in found] == [
        ("Article", "A body."),
        ("Question", "So."),
    ]


def test_questions_are_headings_and_answers_begin_as_posts() -> None:
    answers = [{"@type": "Answer", "text": "<p>Yes.</p><p>Often.</p>", "comment": {"text": "True"}}]
    page = {
        "@type": "FAQPage",
        "mainEntity": [
            {"@type": "Question", "name": "Does it <i>rain</i>?", "suggestedAnswer": answers},
            {"@type": "Question", "name": "And?", "text": "And?", "acceptedAnswer": "No."},
        ],
    }
    lines = [
        *(("heading_2", "Does it rain?"), ("post", "Yes."), ("paragraph", "Often.")),
        *(("post", "True"), ("heading_2", "And?"), ("post", "No.")),
    ]
    assert said(page) == [("FAQPage", "", lines)]


def test_a_discussion_has_its_posts_and_an_article_not_those_of_its_readers() -> None:
    comments = [
        {"@type": "Comment", "text": "Two.", "comment": {"@type": "Comment", "text": "Three."}}
    ]
    posts = [("post", "One."), ("post", "Two."), ("post", "Three.")]
    topic = {
        "@type": "DiscussionForumPosting",
        "headline": "T",
        "text": "One.",
        "comment": comments,
    }
    assert said(topic) == [("DiscussionForumPosting", "T", posts)]
    article = {"@type": "BlogPosting", "articleBody": "One.", "comment": comments}
    assert [(kind, len(lines)) for kind, _, lines in said(article)] == [
        ("BlogPosting", 1),
        ("Comment", 2),
    ]


def test_a_product_has_its_description_and_a_page_that_of_opengraph() -> None:
    assert texts({"@type": "Product", "name": "Lamp", "description": "It shines."}) == [
        "It shines."
    ]
    for tag in (
        '<meta property="og:description" content="It&#39;s a \'lamp\'.">',
        "<meta content=\"It's a 'lamp'.\" name=og:description />",
    ):
        assert declared(tag.encode())[-1][::2] == (
            "og:description",
            (("paragraph", "It's a 'lamp'."),),
        )
    assert declared(b'<meta property="og:description" content=""><meta content="x">') == []


def test_strings_without_markup_stay_what_they_are() -> None:
    for text in ("a < b and b > a", "x <3 y", "1 &lt; 2", "R&D", "\ud800"):
        expected = {"1 &lt; 2": "1 < 2", "\ud800": "\ufffd"}.get(text, text)
        assert [line.text for line in lines_of_string(text)] == [expected]
    assert lines_of_string(" \n\t") == lines_of_string("<p></p>") == []


@pytest.mark.parametrize(
    "value",
    [
        [{"@type": "Recipe", "recipeIngredient": ["<b>x"] * 60_000}],
        [{"@type": "Recipe", "recipeIngredient": "<p>" * 200_000}],
        [{"@type": "Article", "articleBody": "&lt;" * 100_000}],
        [{"@type": ["x"] * 50_000}] * 2,
        [{"@type": "Question", "name": "a", "acceptedAnswer": [{"text": "b"}] * 20_000}],
        [{"@type": "Question"}] * 50_000,
    ],
)
def test_pages_made_to_take_time_take_little(value: Any) -> None:
    page = page_of(value)
    began = time.process_time()
    found = declared(page)
    assert time.process_time() - began < 10
    assert sum(len(each.lines) for each in found) <= 200_000


def test_so_many_strings_are_read_of_a_page_and_no_more() -> None:
    (found,) = declared(page_of({"@type": "Recipe", "recipeIngredient": ["x"] * (MAX_STRINGS + 9)}))
    assert isinstance(found, Declared)
    assert len(found.lines) == MAX_STRINGS
    deep: dict[str, Any] = {"text": "z"}
    for _ in range(30):
        deep = {"text": "y", "comment": [deep]}
    (found,) = declared(page_of(deep | {"@type": "Comment"}))
    assert len(found.lines) == 31


def test_the_description_is_looked_for_in_no_time() -> None:
    began = time.process_time()
    for bait in (
        b"<meta ", b"<meta property=og:description content='", b"<meta property=",
        b'<meta name="og:description" content="', b"<meta " + b"content = " * 999,
    ):  # fmt: skip
        assert len(declared(bait * (300_000 // len(bait)))) <= 1
    assert time.process_time() - began < 10
