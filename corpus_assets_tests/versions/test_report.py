"""The report: a page without text, with every rule counted and every threshold drawn."""

import re
from collections import Counter
from html.parser import HTMLParser
from types import SimpleNamespace
from typing import Any

import pytest

from corpus_assets.ingest.gates.settings import GateSettings, LanguageGateSettings
from corpus_assets.ingest.settings import IngestSettings
from corpus_assets.versions.report import _language_gate
from corpus_assets_tests.conftest import VERSION, Place
from corpus_assets_tests.inspect.test_signals_command import table_of
from corpus_assets_tests.small_corpus import FOOTER, GERMAN


class Balanced(HTMLParser):
    """Fails where tags do not close in order."""

    VOID = ("meta", "br")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        return

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def page(small_build: Place) -> str:
    return (small_build.store / f"versions/{VERSION}/report.html").read_text(encoding="utf-8")


def test_the_page_stands_alone_and_holds_no_text(page: str) -> None:
    parser = Balanced()
    parser.feed(page)
    assert parser.open == []
    for word in ("<script", "src=", "url(", "//", "/page-", FOOTER[:30], GERMAN[:30]):
        assert word not in page
    skip, *targets = re.findall(r'href="#([^"]+)"', page)
    assert skip == "main"
    assert len(targets) == page.count("href=") - 1 >= 15
    assert targets == re.findall(r'<h2 id="([^"]+)"', page), "contents list every section"


def test_rules_are_counted_as_all_first_and_alone(small_build: Place, page: str) -> None:
    rows = [r for r in table_of(small_build, "decisions").to_pylist() if r["stage"] != "documents"]
    failed = Counter(name for row in rows for name in row["failed_rules"])
    first = Counter(row["failed_rules"][0] for row in rows if row["failed_rules"])
    only = Counter(row["failed_rules"][0] for row in rows if len(row["failed_rules"]) == 1)
    for rule in ("language", "gopher_word_count", "low_quality", "few_words"):
        cells = re.search(rf"<tr><td>{rule}</td>(.*?)</tr>", page)
        assert cells is not None
        numbers = [int(n) for n in re.findall(r'<td class="n">(\d+)</td>', cells.group(1))]
        assert numbers == [failed[rule], first[rule], only[rule]]


def test_every_number_that_a_rule_looks_at_has_a_chart_with_its_threshold(page: str) -> None:
    charts = dict(re.findall(r"<figcaption><b>(\w+)</b><br>(.*?)</figcaption>", page))
    assert charts == {
        "n_words": "web: gopher_word_count, few_words",
        "quality_score": "web: low_quality",
    }
    figures = re.findall(r"<figure>.*?</figure>", page)
    assert len(re.findall("dashed", figures[0])) == 2  # two rules, a threshold each
    assert ">0.5</text>" in figures[1]


def test_snapshots_stand_beside_each_other(page: str) -> None:
    assert re.search(r"<td>crawl-2</td><td class=\"n\">23</td>", page)


def _gate_rows(gate: LanguageGateSettings | None, *parts: tuple[int, int, int]) -> Any:
    """The row of a snapshot whose parts refused, sampled and found wrong so many pages."""
    results = [
        SimpleNamespace(
            counts={"gate_sampled": sampled, "gate_false_drops": wrong},
            notes={"reasons": {"gate_language": refused - 10, "gate_too_short": 10, "other": 7}},
        )
        for refused, sampled, wrong in parts
    ]
    pipeline: Any = SimpleNamespace(
        recipe=SimpleNamespace(
            documents=IngestSettings(gates=GateSettings(language_gate=gate)),
            snapshots=["2024-10"],
        ),
        results=lambda node, snapshot: results,
    )
    found = _language_gate(pipeline)
    return found and found["rows"]


def test_the_language_gate_s_false_drops_are_shown_by_snapshot() -> None:
    gate = LanguageGateSettings(languages=("en",))
    assert _gate_rows(gate, (40, 4, 0), (40, 4, 1)) == [("2024-10", 80, 8, 1, 0.125)]
    assert _gate_rows(gate, (10, 0, 0))[0][4].startswith("not known")
    assert _gate_rows(gate)[0][4] == "-"
    assert _gate_rows(None, (40, 4, 0)) is None
