"""The look: text can be read in the light and in the dark, and every class of a template is known."""

import re

import pytest

from catalog.pages import stylesheet
from corpus_assets_tests.catalog.pages.test_values import TEMPLATES

LIGHT, _, DARK = stylesheet().partition("@media screen and (prefers-color-scheme: dark)")
TEXT = ("ink", "soft", "link", "good", "bad", "warn")
AA_TEXT, AA_GRAPHICS = 4.5, 3.0


def colours(scheme: str) -> dict[str, str]:
    """The values of the first `:root` of a text."""
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]+);", scheme.partition("}")[0]))


SCHEMES = {"light": colours(LIGHT), "dark": colours(DARK)}


def luminance(colour: str) -> float:
    """Relative luminance, as WCAG 2.2 defines it."""
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_that_of_the_definition() -> None:
    assert contrast("#000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#fff") == pytest.approx(4.48, abs=0.005)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_texts_and_charts_stand_out_from_what_they_are_on(scheme: str) -> None:
    known = SCHEMES[scheme]
    assert set(known) == set(SCHEMES["light"]), "a colour has a value in both"
    pairs = {(text, on): AA_TEXT for text in TEXT for on in ("paper", "panel")}
    pairs |= {("ink", on): AA_TEXT for on in ("cut", "put", "item")}
    pairs |= {("on-link", "link"): AA_TEXT, ("edge", "paper"): AA_GRAPHICS}
    pairs |= {(shape, "paper"): AA_GRAPHICS for shape in
              ("blue", "grey", "orange", "red", "green", "purple")}  # fmt: skip
    poor = {
        pair: round(found, 2)
        for pair, least in pairs.items()
        if (found := contrast(known[pair[0]], known[pair[1]])) < least
    }
    assert poor == {}


def test_no_rule_has_a_colour_of_its_own() -> None:
    rules = re.sub(r":root \{.*?\}", "", stylesheet(), flags=re.DOTALL)
    assert re.findall(r"#[0-9a-f]{3,6}\b|rgba?\(|(?<!-)\b(?:white|black)\b(?!-)", rules) == []
    assert set(re.findall(r"var\(--([\w-]+)\)", rules)) - {"colour"} == set(SCHEMES["light"])


CLASS = re.compile(r'class="((?:{{.*?}}|{%.*?%}|[^"{])*)"')
DRAWN = {"bar", "swatch"}  # by charts.py


def test_templates_and_stylesheet_have_the_same_classes() -> None:
    written = set(DRAWN)
    for path in TEMPLATES:
        for classes in CLASS.findall(path.read_text()):
            written |= set(re.findall(r"[\w-]+", re.sub(r"{[{%].*?[%}]}", " ", classes)))
            written |= set(re.findall(r'"([\w-]+)"', classes))
    rules = re.sub(r"\{[^{}]*\}", "", stylesheet().partition("/* Pages. */")[2])
    assert written == set(re.findall(r"\.([a-z][\w-]*)", rules))
