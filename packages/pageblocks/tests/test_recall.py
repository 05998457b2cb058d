"""What texts have of what their pages declare."""

import json
import random
import re
import unicodedata

import pytest

from pageblocks import Declared, Line, Recall, declared_recall, extract, recall
from pageblocks.kernels.scripts import UNITS
from pageblocks.recall import words_of, words_of_each

RECIPE = Declared(
    "Recipe",
    "Soup",
    (
        Line("list_item", "- 1 Onion"),
        Line("list_item", "- 2 tablespoons of the best olive oil"),
        Line("paragraph", "***"),
        Line("list_item", "- Salt"),
    ),
)


def shares(text: str, *declared: Declared) -> list[tuple[str, int, int]]:
    return [tuple(each) for each in declared_recall(declared or [RECIPE], text)]  # type: ignore[misc]


def test_lines_are_found_whatever_stands_around_their_words() -> None:
    assert shares("1 onion | 2 tablespoons: of the best (olive oil)\nsalt") == [("Recipe", 3, 3)]
    assert shares("two tablespoons of the best olive oil, 1\nonion, salty") == [("Recipe", 3, 2)]
    assert shares("the oil, the best of olive, an onion") == [("Recipe", 3, 0)]
    assert shares("") == [("Recipe", 3, 0)]


def test_each_thing_has_its_recall_and_one_without_words_has_none() -> None:
    body = Declared("Article", "", (Line("paragraph", "猫が座った。"), Line("paragraph", "½ x")))
    empty = Declared("Product", "", (Line("paragraph", "-"),))
    found = declared_recall([RECIPE, empty, body], "昨日、猫が座ったとさ。 1⁄2 x")
    assert [each.type for each in found] == ["Recipe", "Article"]
    assert [each.share for each in found] == [0.0, 1.0]


def test_a_page_has_the_recall_of_its_own_text() -> None:
    items = [f"{n} pieces of the {n} old mills" for n in ("two", "three", "four", "five")]
    said = json.dumps({"@type": "Recipe", "recipeIngredient": [*items, "a line of no page"]})
    shown = "".join(f"<li>{item}</li>" for item in items)
    page = extract(
        f"<script type=application/ld+json>{said}</script><h1>Mills</h1><ul>{shown}</ul>"
    )
    assert page.declared_recall == [Recall("Recipe", 5, 4)]
    assert extract("<p>Nothing is declared.").declared_recall == []


@pytest.mark.parametrize("seed", range(4))
def test_lines_are_found_as_by_the_definition(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recall, "MAX_SOUGHT", (0, 500)[seed % 2])
    draw = random.Random(seed)
    pieces = ["a", "B", "c_d", "1", "½", "İs", "é", "e\u0301", "ß", "猫", "µ", "я", "x" * 9]
    between = [" ", " ", "  ", "-", "\n", "\xa0", "’", "", "."]
    for _ in range(200):
        chosen = draw.sample(pieces, 5)
        text, *lines = (
            "".join(draw.choice(chosen) + draw.choice(between) for _ in range(draw.randint(0, n)))
            for n in (60, 3, 6, 20)
        )
        thing = Declared("Recipe", "", tuple(Line("paragraph", line) for line in lines))
        expected = [is_in(line, text) for line in lines if words(line)]
        found = declared_recall([thing], text)
        assert found == ([Recall("Recipe", len(expected), sum(expected))] if expected else [])


def words(text: str) -> list[str]:
    shown = unicodedata.normalize("NFKC", text).lower()
    return re.findall(rf"[{UNITS}]|[^\W{UNITS}]+", shown)


def is_in(line: str, text: str) -> bool:
    wanted, held = words(line), words(text)
    size = min(3, len(wanted))
    runs, there = (
        {tuple(some[at : at + size]) for at in range(len(some) - size + 1)}
        for some in (wanted, held)
    )
    return 2 * len(runs & there) >= len(runs)


@pytest.mark.parametrize("seed", range(50))
def test_words_of_many_texts_are_those_of_each(seed: int) -> None:
    draw = random.Random(seed)
    pieces = ("a", "É", "½", "ﬁ", "x_y", " ", "\n", "-", "'", "\u0301", "7") + ("語", "Σ", "ł") * (
        seed % 2
    )
    texts = ["".join(draw.choice(pieces) for _ in range(draw.randint(0, 9))) for _ in range(9)]
    assert words_of_each(texts) == [words_of(text) for text in texts]
