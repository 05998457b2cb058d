"""Bars of formulas in the cells of a Markdown table."""

import time

import pytest

from pageblocks.formulas import without_bars


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$|x|$", r"$\vert x\vert$"),
        ("$$|x|$$", r"$$\vert x\vert$$"),
        (r"\(|a|\) or \[|b|\]", r"\(\vert a\vert\) or \[\vert b\vert\]"),
        (r"$\left|x\right|_2$", r"$\left\vert x\right\vert_2$"),
        (r"$\|x\|$ and |", r"$\Vert x\Vert$ and |"),
        (r"$\begin{array}{c|c}a\\|b\end{array}$", r"$\begin{array}{cc}a\\\vert b\end{array}$"),
        (r"$P(\text{a|b})$", r"$P(\text{a\textbar{}b})$"),
        ("a|b", "a|b"),
        ("costs $5 | $6", "costs $5 | $6"),
        ("US$|5|A$", "US$|5|A$"),
        ("A $|B$", "A $|B$"),
        (r"a\$|x|$", r"a\$|x|$"),
    ],
)
def test_only_formulas_say_their_bars_in_words(text: str, expected: str) -> None:
    assert without_bars(text, has_formulas=False) == expected


def test_dollar_signs_are_those_of_formulas_where_the_page_has_some() -> None:
    assert without_bars("$|B$", has_formulas=True) == r"$\vert B$"
    assert without_bars("costs $5 | $6", has_formulas=True) == "costs $5 | $6"


@pytest.mark.parametrize(
    "text", ["$|", "$", "$$|", r"\(|", r"\(", "$x|y", r"$\text{|", r"\begin{array}{"]
)
def test_long_cells_take_little_time(text: str) -> None:
    start = time.process_time()
    without_bars(text * 20_000 + "|", has_formulas=True)
    assert time.process_time() - start < 2
