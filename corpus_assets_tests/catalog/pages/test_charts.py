"""Charts: what is drawn, what it says of itself, and that nothing in it becomes markup."""

import base64
import re
import xml.etree.ElementTree as Xml
from typing import Any

import pytest

from catalog.pages import charts
from catalog.pages.charts import Mark, Pair
from corpus_assets.versions.report import OUTCOMES

NASTY = 'a\x1b[2J\u202e<b>"\x00'
WRITTEN_OUT = r"a\x1b[2J\u202e<b>" + '"' + r"\x00"
ROWS = [(NASTY, -0.3, -0.6, 0.1, 0.5), ("code", 1.0, 0.7, 1.2, 0.5)]
DRAWN = {
    "bar": charts.bar([(0.25, "blue"), (0.0, "red"), (0.5, "pale")], 0.4, NASTY),
    "ticks": charts.ticks([0.0, 0.5], (NASTY, "step 9"), NASTY),
    "curve": charts.curve([9, 3, 0], 0.5, NASTY),
    "histogram": charts.histogram([5, 0, 3], [0, 1, 0], [Mark(0.5, NASTY)], (NASTY, "1"), NASTY),
    "forest": charts.forest(ROWS, NASTY),
    "lines": charts.lines([(NASTY, [(0, 2), (1, 1)]), ("b", [(0, 1)])], NASTY, NASTY, NASTY),
    "pairs": charts.pairs([Pair(NASTY, 0.2, 0.4, NASTY)], (NASTY, "b"), NASTY, ("pale", "blue")),
}


def texts(chart: str, name: str) -> list[str | None]:
    return [found.text for found in Xml.fromstring(chart).iter(name)]


@pytest.mark.parametrize("name", DRAWN)
def test_a_chart_has_a_name_and_what_is_in_it_stays_text(name: str) -> None:
    root = Xml.fromstring(DRAWN[name])
    assert root.get("role") == "img"
    assert root[0].tag == "title"
    assert root[0].text == WRITTEN_OUT
    known = {"svg", "title", "desc", "rect", "line", "polyline", "circle", "text"}
    assert {found.tag for found in root.iter()} <= known
    assert not any("style" in found.attrib for found in root.iter()), "pages forbid it"


def test_a_bar_that_repeats_its_text_is_hidden_as_swatches_are() -> None:
    for ornament in (charts.bar([(0.5, "blue")]), charts.swatch("red")):
        root = Xml.fromstring(ornament)
        assert (root.get("aria-hidden"), root.get("role")) == ("true", None)


def test_every_chart_of_templates_is_drawn_here() -> None:
    assert set(DRAWN) | {"swatch"} == set(charts.ALL)


def test_every_colour_has_a_value_in_the_light_and_in_the_dark() -> None:
    for colour in {*charts.LINES, *OUTCOMES.values(), "pale"}:
        assert charts.css("charts.css").count(f"--{colour}: #") == 2
        assert f"svg .{colour} {{" in charts.css("charts.css")


def test_pieces_of_a_bar_stand_behind_each_other() -> None:
    rects = [r.attrib for r in Xml.fromstring(DRAWN["bar"]).iter("rect")]
    assert [(r["x"], r["width"], r["class"]) for r in rects] == [
        ("0.00", "25.00", "blue"), ("25.00", "50.00", "pale")
    ]  # fmt: skip


def test_a_histogram_has_a_bar_for_each_bin_that_is_not_empty() -> None:
    marks = [Mark(0.5, "0.2"), Mark(0.6, "x", False)]
    chart = charts.histogram([5, 0, 3], [0, 1, 0], marks, ("0", "1"), "n")
    assert chart.count("<rect") == 3
    assert chart.count("dashed") == 2
    assert texts(chart, "text") == ["0.2", "0", "1"], "thresholds of one language have no label"
    assert charts.histogram([], [], [], ("0", "1"), "n").endswith("</svg>")


def test_labels_that_would_overlap_are_joined() -> None:
    marks = [Mark(0.5, "0.2"), Mark(0.52, "0.21"), Mark(0.52, "0.21"), Mark(0.9, "0.9")]
    chart = charts.histogram([1], [1], marks, ("0", "1"), "n")
    assert texts(chart, "text")[:2] == ["0.2, 0.21", "0.9"]


def test_a_forest_plot_says_its_numbers_and_is_red_beyond_the_limit() -> None:
    chart = charts.forest([("all", -0.3, -0.6, 0.1, 0.5), ("code", 1.0, 0.7, 1.2, 0.5)], "n")
    assert texts(chart, "desc") == ["all -0.30 [-0.60, +0.10]; code +1.00 [+0.70, +1.20]"]
    assert [dot.get("class") for dot in Xml.fromstring(chart).iter("circle")] == ["blue", "red"]


def test_lines_of_one_name_have_one_colour() -> None:
    drawn = charts.lines([("a", [(0, 1)]), ("b", [(0, 2)]), ("a", [(1, 1)])], "x", "y", "n")
    colours = [line.get("class") for line in Xml.fromstring(drawn).iter("polyline")]
    assert colours == ["blue stroke", "orange stroke", "blue stroke"]


def test_a_pair_beyond_what_is_allowed_is_red() -> None:
    drawn = charts.pairs(
        [Pair("a", 0.5, 1.0, "t", is_over=True)], ("x", "y"), "n", ("pale", "blue")
    )
    assert [r.get("class") for r in Xml.fromstring(drawn).iter("rect")] == [
        "pale", "blue", "pale", "red"
    ]  # fmt: skip


@pytest.mark.parametrize("chart", [charts.forest([], "n"), charts.lines([], "x", "y", "n")])
def test_nothing_to_show_is_said(chart: Any) -> None:
    assert chart == "<p>Nothing to show.</p>"


def test_an_image_needs_nothing_else() -> None:
    image = charts.as_image(DRAWN["forest"], "by domain")
    found = re.fullmatch(r"!\[by domain\]\(data:image/svg\+xml;base64,([\w+/=]+)\)", image)
    assert found is not None
    root = Xml.fromstring(base64.b64decode(found[1]))
    space = "{http://www.w3.org/2000/svg}"
    assert root.tag == f"{space}svg"
    assert [root[i].tag.removeprefix(space) for i in range(3)] == ["title", "style", "rect"]
    assert "--blue" in (root[1].text or "")
