"""Panels: each query that a report shows is what it counted, and a recipe adds its own."""

import html
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from catalog.ask.sql import run_query
from catalog.db.registry import Registry
from catalog.formats.store import FileStore
from corpus_assets.core.errors import RecipeError
from corpus_assets.core.home import Home
from corpus_assets.core.store import open_store
from corpus_assets.ingest.locations import Locations
from corpus_assets.recipe.load import load_recipe
from corpus_assets.session import open_session
from corpus_assets.versions import report_tables
from corpus_assets.versions.panel import (
    SHIPPED,
    check_panels,
    own_panels,
    panel_section,
    panels_of,
    read_panel,
)
from corpus_assets.versions.publish import lineage_rows
from corpus_assets.versions.report import render_report
from corpus_assets.versions.report_tables import EmptyTables, ReportTables, some_parts
from corpus_assets.versions.version import make_version
from corpus_assets_tests.conftest import VERSION, Place
from corpus_assets_tests.test_docs import DOCS
from corpus_assets_tests.versions.test_report_numbers import Report, report_of

HOSTS = (
    "-- Hosts of all records\n-- However they end.\nSELECT host, count(*) AS records FROM records\n"
)


def queries(section: str) -> list[str]:
    """The queries that a section shows, as a reader copies them."""
    return [
        html.unescape(sql)
        for sql in re.findall(r'<pre class="query"><code>(.*?)</code>', section, re.DOTALL)
    ]


@pytest.fixture(scope="module")
def report(small_build: Place) -> Report:
    return Report(report_of(small_build))


@pytest.fixture(scope="module")
def asked(small_build: Place, report: Report) -> Any:
    """The answers of `catalog sql` to the queries of a section."""
    home = Home.resolve(str(small_build.home))
    registry, store = Registry(home.catalog_url), FileStore(home.store_url)

    def ask(section: str) -> list[list[list[Any]]]:
        found = queries(report.sections[section])
        assert found, section
        return [run_query(registry, store, VERSION, sql, 10_000).rows for sql in found]

    return ask


def test_what_stages_counted_is_what_the_queries_beside_it_answer(
    report: Report, asked: Any
) -> None:
    (dropped,) = asked("Funnel")
    assert sorted(row[:3] for row in report.tables("Funnel")[0]) == dropped
    (snapshots,) = asked("Kept by snapshot")
    assert {
        name: text.partition(" ")[0] for name, text in report.bars("Kept by snapshot").items()
    } == {name: f"{kept:,}" for name, kept, _ in snapshots}
    (languages,) = asked("Tokens by language")
    assert [[row[0], row[1], row[3]] for row in report.tables("Tokens by language")[0]] == languages
    (lengths,) = asked("Lengths of kept documents")
    shown = report.bars("Lengths of kept documents").items()
    assert {label.partition(" ")[0]: text.partition(" ")[0] for label, text in shown if text[0] != "0"} == {
        f"{least:,}": f"{n:,}" for least, n in lengths
    }  # fmt: skip
    (edits,) = asked("Edits in kept documents")
    shown = report.bars("Edits in kept documents").items()
    assert {name.replace(" ", "_"): text for name, text in shown if text != "0"} == {
        name: f"{n:,}" for name, n in edits if n
    }


def test_what_queries_counted_is_what_catalog_sql_answers(report: Report, asked: Any) -> None:
    headings = ("By language", "By source", "By length")
    for heading, rows in zip(headings, asked("Kept and dropped"), strict=True):
        groups = report.groups(heading)
        for name in {name for name, *_ in rows}:
            kept = sum(n for group, outcome, _, n in rows if (group, outcome) == (name, "kept"))
            total = sum(n for group, _, _, n in rows if group == name)
            assert groups[name][:2] == (kept, total)
    (languages,) = asked("Yield by page type and language")
    (shown,) = report.tables("Yield by page type and language")
    assert "documents.extraction.page_type" in report.sections["Yield by page type and language"]
    assert shown[0][:3] == ["all", sum(row[-1] for row in languages),
                            sum(row[-1] for row in languages if row[1] == "kept")]  # fmt: skip
    assert sum(row[1] for row in shown[1:]) == shown[0][1]
    (hosts,) = asked("Hosts")
    (shown,) = report.tables("Hosts")
    assert [[row[0], row[1], row[2], row[4]] for row in shown] == [
        [host, records, kept, chars] for host, records, kept, _, chars, _ in hosts
    ]
    section = "Licences and opt-outs"
    for rows, table in zip(asked(section), report.tables(section), strict=True):
        assert sum(row[2] for row in table) == sum(row[-1] for row in rows)
    pairs, copies = asked("Duplicates")
    by_kind, _ = report.tables("Duplicates")
    assert sum(row[1] for row in by_kind) == sum(row[-1] for row in pairs)
    assert report.bars("Duplicates") == {f"{n} dropped": f"{kept:,} kept" for n, kept in copies}
    by_benchmark, by_item = asked("Benchmarks")
    (found, *_) = report.tables("Benchmarks")
    assert {row[0]: row[3] for row in found if row[3]} == {row[0]: row[1] for row in by_benchmark}
    assert by_item


def test_every_shipped_query_is_shown_or_waits_for_what_documents_may_have(report: Report) -> None:
    shown = {sql for section in report.sections.values() for sql in queries(section)}
    absent = [path.stem for path in SHIPPED.glob("*.sql") if read_panel(path).sql not in shown]
    assert sorted(absent) == ["declared_recall", "outcomes_by_label", "yields"]


def test_a_recipe_s_panel_changes_the_report_and_no_other_byte(place: Place) -> None:
    folder = place.recipe.parent / "panels"
    folder.mkdir()
    (folder / "hosts.sql").write_text(HOSTS + "GROUP BY ALL ORDER BY ALL")
    (folder / "longest.sql").write_text(
        "-- Longest documents\nSELECT doc_id, n_chars, n_chars / 10000 AS share_of_limit, title "
        "FROM signals JOIN documents USING (doc_id, snapshot, part) ORDER BY n_chars DESC LIMIT 3"
    )
    (folder / "longest.html").write_text(
        "<p>The longest has {{ rows[0].n_chars | number }} characters: {{ rows[0].title }}.</p>"
    )
    plain = {path.name: path.read_bytes() for path in (place.store / "versions" / VERSION).iterdir() if path.is_file()}  # fmt: skip
    recipe = place.recipe.read_text()
    place.recipe.write_text(recipe + "panels: [panels/*]\n")
    assert place.build(version="small-2") == 0
    named = {path.name: path.read_bytes() for path in (place.store / "versions" / "small-2").iterdir() if path.is_file()}  # fmt: skip
    manifest = plain["manifest.json"].replace(VERSION.encode(), b"small-2")
    assert named["manifest.json"] == manifest
    assert {name for name in plain if plain[name] != named[name]} == {
        "report.html", "files.json", "contents.json", "manifest.json"
    }  # fmt: skip
    after = Report(report_of(place, "small-2"))
    assert set(after.sections) - set(Report(report_of(place)).sections) == {
        "Hosts of all records", "Longest documents"
    }  # fmt: skip
    assert "However they end." in after.sections["Hosts of all records"]
    bars = after.bars("Hosts of all records")
    assert bars["site-0.example.org"].isdigit()
    assert re.search(r"The longest has [\d,]+ characters: ", after.sections["Longest documents"])


def test_rows_without_a_template_are_a_table_by_their_types(tmp_path: Path) -> None:
    (tmp_path / "made.sql").write_text(
        "-- Made\nSELECT unhex('00ff') AS id, 0.25 AS share, 7 AS n, '<b>' AS text"
    )
    with ReportTables(FileStore(tmp_path), [], "v") as tables:
        section = panel_section(read_panel(tmp_path / "made.sql"), tables)
    for cell in ("<td>00ff</td>", "25.0%</td>", '<td class="n">7</td>', "<td>&lt;b&gt;</td>"):
        assert cell in section.body


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"a.sql": "SELECT 1"}, r"a\.sql begins with `-- Title`"),
        ({"a.sql": "-- A\nSELECT 1; SELECT 2"}, r"a\.sql: give one statement"),
        ({"a.sql": "-- A\nDROP TABLE records"}, r"a\.sql: .*only reads"),
        ({"a.sql": "-- A\nFROM read_csv('/etc/passwd')"}, r"a\.sql: .*read_csv\(\) is not allowed"),
        ({"a.html": "<p></p>"}, r"a\.html is not a panel"),
        ({"a.txt": ""}, r"a\.txt is not a panel"),
        ({"a.sql": "-- A\nSELECT nothing FROM records"}, r"a\.sql: .*nothing"),
        ({"a.sql": "-- A\nSELECT text FROM documents"}, r"a\.sql: .*text"),
        ({"a.sql": "-- A\nSELECT 1 AS n", "a.html": "{% if %}"}, r"a\.html: .*template"),
    ],
)
def test_a_panel_that_cannot_be_shown_is_refused_before_anything_is_built(
    small_build: Place, tmp_path: Path, files: dict[str, str], message: str
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(RecipeError, match=message):
        check_panels(asking_for(small_build, tmp_path))


def test_a_panel_may_name_the_recipe_s_signals(small_build: Place, tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text("-- A\nSELECT avg(n_words) AS words FROM signals")
    check_panels(asking_for(small_build, tmp_path))


def asking_for(place: Place, folder: Path) -> Any:
    """A pipeline whose recipe names the panels of a folder."""
    recipe = load_recipe(place.recipe).model_copy(update={"panels": ("a.*",)})
    home = Home.resolve(str(place.home))
    return SimpleNamespace(
        recipe=recipe, locations=Locations(folder, home), store=open_store(home.store_url)
    )


def test_the_report_of_a_large_version_looks_at_some_parts(
    small_build: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_session(str(small_build.recipe), Home.resolve(str(small_build.home))) as session:
        manifest = make_version(session.pipeline, VERSION).manifest
        rows = lineage_rows(session.pipeline, manifest)
        whole = render_report(session.pipeline, manifest, rows)
        monkeypatch.setattr(report_tables, "MOST_RECORDS", 20)
        monkeypatch.setattr(report_tables, "MOST_MEMBERS", 2)
        some = render_report(session.pipeline, manifest, rows)
        with some_parts(FileStore(session.pipeline.store.url), rows, VERSION) as tables:
            assert 0 < tables.looked_at < tables.records
            assert len(tables.files["records"]) == len(tables.files["decisions"]) < 5
    assert whole == report_of(small_build)
    before, after = Report(whole), Report(some)
    assert f"in {tables.looked_at} of {tables.records} records" in after.sections["Hosts"]
    assert "one cluster of" in after.sections["Duplicates"]
    assert after.tables("Funnel") == before.tables("Funnel")
    assert after.groups("By source")["all"][1] == tables.looked_at


def test_panels_come_in_the_order_of_their_files(tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / f"{name}.sql").write_text(f"-- Title of {name}\nSELECT 1 AS n")
    paths = [tmp_path / "b.sql", tmp_path / "a.sql"]
    assert [panel.title for panel in panels_of(paths)] == ["Title of b", "Title of a"]


def test_the_panel_of_the_documentation_can_be_shown(small_build: Place, tmp_path: Path) -> None:
    page = (DOCS / "how-to/add-a-panel.md").read_text(encoding="utf-8")
    for kind in ("sql", "html"):
        (block,) = re.findall(rf"```{kind}\n(.*?)```", page, re.DOTALL)
        (tmp_path / f"a.{kind}").write_text(block)
    pipeline = asking_for(small_build, tmp_path)
    check_panels(pipeline)
    (panel,) = own_panels(pipeline)
    with EmptyTables(FileStore(tmp_path), {}) as tables:
        section = panel_section(panel, tables)
    assert section.title == "Kept documents by year"
    assert "0 years" in section.body
