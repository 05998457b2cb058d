"""The table of yield stays short, whatever a version has, and counts every document once."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from catalog.pages import render
from corpus_assets.versions.report import TEMPLATES
from corpus_assets.versions.yield_table import MOST_GROUPS, _folded, _losses, _row
from corpus_assets_tests.clean.page_corpus import Corpus, clean
from corpus_assets_tests.select.test_language_losses import session_of

KEPT, COPY, SHORT, LONG = (
    ("kept", ""),
    ("clusters", "repeated_text"),
    ("selection", "short_lines"),
    ("clean_text", "too_short_after_cleaning"),
)


@pytest.mark.parametrize("groups", [0, 1, 5, 18, 19, 200])
def test_the_largest_groups_have_rows_by_type_and_the_others_one_row(groups: int) -> None:
    draw = np.random.default_rng(groups)
    found = {
        (f"type {n % 4}", f"language {n}"): Counter(
            {one: int(draw.integers(1, 50)) * (1 + 20 * (n < 25)) for one in (KEPT, COPY, SHORT)}
        )
        for n in range(groups)
    }
    (whole, total), *rows = _folded(found)
    assert whole == ("all", "all")
    assert total == sum(found.values(), Counter())
    assert sum((one for _, one in rows), Counter()) == total
    assert len(rows) <= MOST_GROUPS + 1
    shown = [kind for kind, _ in rows if kind in found]
    types = list(dict.fromkeys(kind for kind, _ in shown))
    assert [kind for kind, _ in shown] == sorted((k for k, _ in shown), key=types.index)
    hidden = [one.total() for kind, one in found.items() if kind not in shown]
    assert not hidden or max(hidden) <= min(found[kind].total() for kind in shown)
    assert len(rows) == len(shown) + bool(hidden)
    if hidden:
        assert rows[-1][0] == ("several", f"{len(hidden)} smaller groups")


def test_a_row_says_what_is_kept_copied_and_lost_and_what_takes_most() -> None:
    row = _row(Counter({KEPT: 50, COPY: 30, SHORT: 5, LONG: 15}))
    assert row == (100, 50, 0.5, 30, 20, 0.2, "clean_text/too_short_after_cleaning 15")
    assert _row(Counter({KEPT: 3}))[-1] == ""


def test_a_language_that_loses_more_is_named_above_the_table(tmp_path: Path) -> None:
    session = session_of(Corpus(tmp_path))
    clean(session)
    losses = _losses(session.pipeline)
    assert [(domain, one.kind, one.name) for domain, one in losses] == [("web", "language", "fr")]
    values = {"losses": losses, "has_types": False, "heads": ("language",), "rows": [("fr",)]}
    shown = str(render(TEMPLATES / "yields.html", **values))
    assert "<b>language fr</b> (web): 0% of 25 documents left, of the others 100%" in shown
    assert "<code>few_stop_words</code> drops 100% of them" in shown
    assert "<ul>" not in str(render(TEMPLATES / "yields.html", **values | {"losses": []}))
