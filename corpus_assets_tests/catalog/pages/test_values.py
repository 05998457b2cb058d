"""What a web page says of itself is text on our pages: nothing in it acts, or turns others around."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from jinja2 import UndefinedError
from jinja2.exceptions import SecurityError

from catalog.db.rows import JudgementRow
from catalog.errors import CatalogError
from catalog.pages import Percent, Section, put_first, put_header, render
from catalog.pages.values import anchor, cell, share, shown, text
from corpus_assets.inspect.review import judgements_section
from corpus_assets.inspect.sample_page import SampledOutcome, Specimen
from corpus_assets.inspect.sample_page_html import render_sample_page
from corpus_assets_tests.takedown.test_certificate_page import BODY, render_certificate

ROOT = Path(__file__).resolve().parents[3]
TEMPLATES = sorted(
    path
    for package in ("catalog", "corpus_assets")
    for path in (ROOT / package).rglob("templates/*.html")
    if "demo" not in path.parts  # its templates are the demo's documents
)
NASTY = "a\x1b[2J\x07\u202e<b>\x00\x9b"
WRITTEN_OUT = r"a\x1b[2J\x07\u202e&lt;b&gt;\x00\x9b"


def test_control_and_direction_characters_are_written_out() -> None:
    assert shown(NASTY) == WRITTEN_OUT.replace("&lt;b&gt;", "<b>")
    assert shown("one\ttwo\nthree\u2028four") == r"one\ttwo\nthree\u2028four"
    assert shown("Grüße, 東京") == "Grüße, 東京"
    assert shown("می\u200cخواهم\u3000\u2009") == "می\u200cخواهم\u3000\u2009", "scripts need these"
    assert text(f"one\t{NASTY}\ntwo\u200cthree\u00a0four") == (
        f"one\t{WRITTEN_OUT}\ntwo\u200cthree\u00a0four"
    )


def test_values_are_written_as_people_read_them() -> None:
    assert [shown(value) for value in (None, True, 0.123456, 1234.5, 7, Percent(0.5))] == [
        "–", "yes", "0.1235", "1,234", 7, "50.0%"
    ]  # fmt: skip
    assert [cell(value) for value in (1234, 0.5, "x", None)] == ["1,234", "0.500", "x", None]
    assert (share(1, 8), share(0, 0)) == ("12.5%", "–")
    assert anchor("Licences & opt-outs") == "licences-opt-outs"


def _canary() -> str:
    rule = ("rule", "signal", NASTY, NASTY)
    one = Specimen("ab" * 16, NASTY, NASTY, NASTY, NASTY, NASTY, (rule,), NASTY)
    return render_sample_page(NASTY, [(SampledOutcome("kept", NASTY, 1), [one])], 100)


def _review() -> str:
    row = JudgementRow("v", "d" * 32, "s", 0, 0, NASTY, NASTY, False, None, "ann")
    return judgements_section([row]).body


def _certificate() -> str:
    texts = dict.fromkeys(("given", "reason", "requester", "reference"), NASTY)
    left = {"outcome": "left", "deleted": [], "left": [NASTY], "copies": [NASTY]}
    request = BODY["request"] | {"kind": NASTY} | texts
    return render_certificate(BODY | {"request": request, "files": left})


@pytest.mark.parametrize("make", [_canary, _review, _certificate])
def test_pages_show_what_others_wrote_as_text(make: Callable[[], str]) -> None:
    page = make()
    assert page.count(WRITTEN_OUT) >= 2
    assert not any(letter in page for letter in "\x1b\x07\u202e\x00\x9b")
    assert "<b>\\x00" not in page


def test_templates_escape_all_that_they_write() -> None:
    assert len(TEMPLATES) > 40
    for path in TEMPLATES:
        assert not re.search(r"\|\s*safe\b|autoescape", path.read_text()), path


def test_a_template_cannot_reach_the_interpreter(tmp_path: Path) -> None:
    for spelled in ("''.__class__.__mro__", "rows.append(1)", "charts.bar.__globals__"):
        panel = tmp_path / "panel.html"
        panel.write_text("{{ " + spelled + " }}")
        with pytest.raises((SecurityError, UndefinedError)):
            render(panel, rows=[1])
        panel.unlink()


def test_a_template_of_any_folder_has_macros_and_charts(tmp_path: Path) -> None:
    panel = tmp_path / "panel.html"
    panel.write_text('{% import "macros.html" as m %}{{ m.table("T", ("a", "b"), rows) }}'
                     '{{ charts.bar([(0.5, "blue")]) }}')  # fmt: skip
    made = render(panel, rows=[("<i>", 1234), (None, 5)])
    assert re.findall(r"<t[dh]\b.*?</t[dh]>", made) == [
        '<th scope="col">a</th>', '<th scope="col" class="n">b</th>',
        "<td>&lt;i&gt;</td>", '<td class="n">1,234</td>', "<td>–</td>", '<td class="n">5</td>',
    ]  # fmt: skip
    assert "<caption>T</caption>" in made
    assert 'aria-hidden="true"' in made


def test_sections_are_put_in_front_and_listed_first(tmp_path: Path) -> None:
    template = tmp_path / "whole.html"
    template.write_text('<!--header--><!--links-->{% include "links.html" %}'
                        '<!--sections-->{% include "sections.html" %}')  # fmt: skip
    body = render(tmp_path / "whole.html", sections=[])
    old, new = Section("Old & odd", body), Section("<New>", body)
    page = render(template, sections=[old, Section("Empty", body[:0])])
    both = put_header(put_first(page, [new]), body)
    assert re.findall(r'<a href="#([\w-]+)">(.*?)</a>', both) == [
        ("-new-", "&lt;New&gt;"), ("old-odd", "Old &amp; odd")
    ]  # fmt: skip
    assert re.findall(r'<h2 id="([\w-]+)">', both) == ["-new-", "old-odd"]
    with pytest.raises(CatalogError, match="another release wrote it"):
        put_first("<p>no place</p>", [new])
