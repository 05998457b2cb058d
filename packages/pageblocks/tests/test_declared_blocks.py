"""Blocks that the model leaves out and the page declares."""

import json

import numpy as np
import pytest
from sample_pages import SENTENCE

from pageblocks.declared import Declared, declared_things
from pageblocks.declared_blocks import with_declared
from pageblocks.kernels.blocks import find_blocks
from pageblocks.lines import Line
from pageblocks.page import Extractor
from pageblocks.training.truth import block_texts

ITEMS = ("250 g red flour", "2 eggs of a goose", "Salt", "Honey", "A spoon")


def taken(shown: str, *items: str, kind: str = "Recipe", is_free: bool = True) -> list[str]:
    """The texts of blocks that are taken back where none is kept."""
    page = find_blocks(f"<body>{shown}".encode())
    lines = tuple(Line("list_item", f"- {item}") for item in items or ITEMS)
    none = np.zeros(len(page.blocks), dtype=np.bool_)
    found = with_declared(page, none, [Declared(kind, "", lines, is_free)], "")
    return [text for text, is_taken in zip(block_texts(page), found, strict=True) if is_taken]


def listed(*items: str) -> str:
    return f"<ul>{''.join(f'<li>{item}</li>' for item in items)}</ul>"


def test_lines_that_are_declared_and_missing_are_taken_back_once() -> None:
    assert taken(f"<div>{listed(*ITEMS)}</div><p>Another text.") == list(ITEMS)
    assert taken(f"<div>{listed(*ITEMS)}{listed(*ITEMS)}</div>") == list(ITEMS)
    assert taken(listed("250 g", "red flour", "of a")) == ["250 g", "red flour", "of a"]
    assert taken(listed("red flour 2 eggs of a", "flour red")) == []


def test_single_words_need_company_and_the_same_element() -> None:
    menu = "<nav><a href=/s>Salt</a></nav>"
    assert taken(f"{menu}<p>Salt<p>or none") == []
    assert taken(f"{menu}<div>{listed(*ITEMS)}</div>") == list(ITEMS)
    far = "<div><p>A spoon, she said<p>250 g red flour</div>" * 1
    assert taken(f"{listed(*ITEMS[1:], *ITEMS[:1])}{far}") == [*ITEMS[1:], ITEMS[0]]


@pytest.mark.parametrize(
    ("kind", "is_free"), [("Product", True), ("Comment", True), ("Recipe", False)]
)
def test_what_is_no_text_of_a_page_or_not_free_is_not_taken(kind: str, is_free: bool) -> None:
    assert taken(listed(*ITEMS), kind=kind, is_free=is_free) == []


def test_pages_made_to_take_time_are_left_as_they_are() -> None:
    items = [f"{n} g of {n}" for n in range(2_000)]
    assert taken(listed(*items), *items) == []
    assert taken(listed(*items), *items[:20]) == items[:20]


def test_nothing_changes_where_the_text_has_all_that_is_declared() -> None:
    page = find_blocks(listed(*ITEMS).encode())
    none = np.zeros(len(page.blocks), dtype=np.bool_)
    things = [Declared("Recipe", "", (Line("list_item", "- 2 eggs of a goose"),))]
    assert with_declared(page, none, things, "Take 2 eggs of a goose.") is none


def test_a_recipe_has_the_ingredients_that_look_like_a_shop_s() -> None:
    items = [f"{n} g of the {name}" for n, name in enumerate(("flour", "salt", "oil", "rye"), 3)]
    said = json.dumps({"@type": "Recipe", "recipeIngredient": items})
    shop = "".join(f"<li><a href=/shop/{n}>{item}</a></li>" for n, item in enumerate(items))
    body = f"<article><h1>Bread</h1><p>{SENTENCE * 6}</p><p>{SENTENCE * 5}</p></article>"
    html = f"<html><body>{body}<aside class=shop><ul>{shop}</ul></aside>"
    script = f"<script type='application/ld+json'>{said}</script>"
    plain, declaring = (Extractor().extract(each) for each in (html, script + html))
    assert declared_things(script.encode())
    assert not any(item in plain.text for item in items)
    assert all(f"- {item}" in declaring.text for item in items)
    assert not any(item in Extractor(min_chance=0.5).extract(script + html).text for item in items)
