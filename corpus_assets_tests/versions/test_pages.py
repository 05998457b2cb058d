"""Control characters of web pages are written out on our pages, as they are on the screen."""

from types import ModuleType

import pytest

from catalog.cli.terminal import escape
from corpus_assets.inspect import canary_page, mix_plot
from corpus_assets.takedown import certificate_page
from corpus_assets.versions import pages

NASTY = "a\x1b[2J\x07\u202e<b>\x00\x9b"
WRITTEN_OUT = r"a\x1b[2J\x07\u202e&lt;b&gt;\x00\x9b"


def test_control_and_direction_characters_are_written_out_and_markup_is_escaped() -> None:
    assert escape(NASTY) == WRITTEN_OUT
    assert escape("Grüße, 東京") == "Grüße, 東京"


@pytest.mark.parametrize("page", [canary_page, certificate_page, mix_plot, pages])
def test_every_page_escapes_alike(page: ModuleType) -> None:
    assert page.escape is escape


def test_tables_and_quoted_texts_hold_no_control_character() -> None:
    assert WRITTEN_OUT in pages.table(["name"], [[NASTY]])
    shown = canary_page._lines(f"one\t{NASTY}\ntwo\u200cthree\u00a0four")
    assert shown == f"one\t{WRITTEN_OUT}\ntwo\u200cthree\u00a0four"
