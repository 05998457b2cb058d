"""What texts have of what their pages declare."""

from pageblocks import Declared, Line, declared_recall

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
