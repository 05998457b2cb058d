"""The report: a page without text, with every rule counted and every threshold drawn."""

import re
from collections import Counter
from html.parser import HTMLParser
from types import SimpleNamespace
from typing import Any

import pytest

from corpus_assets.ingest.documents import IngestSettings
from corpus_assets.ingest.gates.gates import GateSettings
from corpus_assets.ingest.gates.language import LanguageGateSettings
from corpus_assets.versions.pages import Mark, mirrored_histogram, small_multiples
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
    targets = re.findall(r'href="#([^"]+)"', page)
    assert len(targets) == page.count("href=") >= 15
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
    assert len(re.findall("stroke-dasharray", figures[0])) == 2  # two rules, a threshold each
    assert ">0.5</text>" in figures[1]


def test_snapshots_stand_beside_each_other(page: str) -> None:
    assert re.search(r"<td>crawl-2</td><td class=\"n\">23</td>", page)


def test_a_mirrored_histogram_has_a_bar_for_each_bin_that_is_not_empty() -> None:
    chart = mirrored_histogram([5, 0, 3], [0, 1, 0], [Mark(0.5, "0.2"), Mark(0.6, "x", False)],
                               ("0", "1"))  # fmt: skip
    assert chart.count("<rect") == 3
    assert chart.count("stroke-dasharray") == 2
    assert ">0.2</text>" in chart
    assert ">x</text>" not in chart, "thresholds of one language have no label"
    assert mirrored_histogram([], [], [], ("0", "1")).endswith("</svg>")


def test_labels_that_would_overlap_are_joined() -> None:
    marks = [Mark(0.5, "0.2"), Mark(0.52, "0.21"), Mark(0.52, "0.21"), Mark(0.9, "0.9")]
    chart = mirrored_histogram([1], [1], marks, ("0", "1"))
    assert ">0.2, 0.21</text>" in chart
    assert ">0.9</text>" in chart


def test_names_in_charts_are_escaped() -> None:
    assert "<b>&lt;x&gt;</b>" in small_multiples([("<x>", "", "")])


def _gate_cells(gate: LanguageGateSettings | None, *parts: tuple[int, int, int]) -> list[str]:
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
    return re.findall(r"<td[^>]*>([^<]*)</td>", _language_gate(pipeline))


def test_the_language_gate_s_false_drops_are_shown_by_snapshot() -> None:
    gate = LanguageGateSettings(languages=("en",))
    assert _gate_cells(gate, (40, 4, 0), (40, 4, 1)) == ["2024-10", "80", "8", "1", "12.5%"]
    assert _gate_cells(gate, (10, 0, 0))[4].startswith("not known")
    assert _gate_cells(gate)[4] == "-"
    assert _gate_cells(None, (40, 4, 0)) == []
