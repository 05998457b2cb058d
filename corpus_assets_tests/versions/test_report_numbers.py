"""Every number of the report is what SQL counts in the version's own tables."""

import html
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from catalog.db.registry import Registry
from catalog.db.rows import SuppressionRow
from catalog.figures import counted, wilson
from catalog.formats.store import FileStore
from catalog.lineage.tables import Lineage
from corpus_assets.core.home import Home
from corpus_assets.versions import outcomes
from corpus_assets.versions.panel import Panel
from corpus_assets.versions.report import OUTCOMES
from corpus_assets.versions.report_tables import ReportTables
from corpus_assets_tests.conftest import VERSION, Place
from corpus_assets_tests.registry_states import add_orders

Table = list[list[Any]]
STAGES = list(OUTCOMES)[1:]


def report_of(place: Place, version: str = VERSION) -> str:
    return (place.store / f"versions/{version}/report.html").read_text(encoding="utf-8")


def value(cell: str) -> Any:
    """A cell as SQL has it; a percentage as it is written."""
    text = html.unescape(re.sub(r"<[^>]*>", "", cell))
    return int(text.replace(",", "")) if re.fullmatch(r"[\d,]+", text) else text


class Report:
    """A page by its sections: tables as rows, bars as label and text."""

    def __init__(self, page: str) -> None:
        found = re.findall(r'<h2 id="[^"]+">([^<]*)</h2>(.*?)(?=<h2 |</main>)', page, re.DOTALL)
        self.sections = dict(found)

    def tables(self, section: str) -> list[Table]:
        return [
            [[value(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row)]
             for row in re.findall(r"<tr>(.*?)</tr>", body)]
            for body in re.findall(r"<tbody>(.*?)</tbody>", self.sections[section], re.DOTALL)
        ]  # fmt: skip

    def bars(self, section: str) -> dict[str, str]:
        body = re.findall(r'<dl class="bars">(.*?)</dl>', self.sections[section], re.DOTALL)[-1]
        pairs = re.findall(r'<dt>(.*?)</dt>.*?"said">(.*?)</dd>', body)
        return {html.unescape(label): text for label, text in pairs}

    def groups(
        self, heading: str, section: str = "Kept and dropped"
    ) -> dict[str, tuple[int, int, list[float]]]:
        """Kept, of how many, and the widths of all pieces in percent."""
        section = self.sections[section].partition(heading)[2].partition("<h3>")[0]
        rows = re.findall(
            r'<dt>(.*?)</dt><dd>(.*?)<line .*?"said">([\d,]+) of ([\d,]+): <b>', section
        )
        return {
            html.unescape(name): (
                value(kept), value(total), [float(w) for w in re.findall(r'<rect .*?width="([\d.]+)', pieces)]
            )
            for name, pieces, kept, total in rows
        }  # fmt: skip


@pytest.fixture(scope="module")
def report(small_build: Place) -> Report:
    return Report(report_of(small_build))


@pytest.fixture(scope="module")
def tables(small_build: Place) -> Iterator[Lineage]:
    home = Home.resolve(str(small_build.home))
    with Lineage(Registry(home.catalog_url), FileStore(home.store_url), VERSION) as lineage:
        for name in ("decisions", "records", "signals", "spans", "final_text", "cluster_members",
                     "benchmark_hits"):  # fmt: skip
            lineage.connection.execute(f"CREATE TEMP TABLE {name} AS FROM {lineage.scan(name)}")
        lineage.connection.execute(
            "CREATE TEMP VIEW measured AS SELECT * FROM decisions JOIN "
            "(SELECT doc_id, any_value(COLUMNS(* EXCLUDE (doc_id, snapshot, part))) FROM signals "
            "GROUP BY doc_id) USING (doc_id) WHERE stage IS DISTINCT FROM 'documents'"
        )
        lineage.connection.execute(
            "CREATE TEMP VIEW delivered AS SELECT * FROM decisions JOIN records "
            'USING (doc_id, snapshot, part, "offset") WHERE records.reason '
            "IS DISTINCT FROM 'suppressed'"
        )
        yield lineage


def ask(tables: Lineage, sql: str) -> Table:
    return [list(row.values()) for row in tables.query(sql)]


def percent(part: int, whole: int) -> str:
    return f"{part / whole:.1%}"


def test_the_funnel_and_the_snapshots(report: Report, tables: Lineage) -> None:
    counted = ask(
        tables, "SELECT stage, reason, count(*) FROM decisions WHERE NOT kept GROUP BY ALL"
    )
    (shown,) = report.tables("Funnel")
    assert sorted(row[:3] for row in shown) == sorted(counted)
    left, entered = ask(tables, "SELECT count(*) FROM decisions")[0][0], {}
    for stage in STAGES:
        entered[stage] = left
        left -= sum(n for where, _, n in counted if where == stage)
        assert report.bars("Funnel")[stage].startswith(f"{left:,} (")
    assert [row[3] for row in shown] == [percent(n, entered[stage]) for stage, _, n, _ in shown]
    by_snapshot = ask(tables, "SELECT snapshot, count(*) FILTER (kept), count(*) FROM decisions "
                              "GROUP BY ALL")  # fmt: skip
    assert report.bars("Kept by snapshot") == {
        name: f"{kept:,} ({percent(kept, n)} of {n:,})" for name, kept, n in by_snapshot
    }


@pytest.mark.parametrize(
    ("heading", "group", "table"),
    [
        ("By language", "coalesce(language, 'unknown')", "measured"),
        ("By source", "source", "delivered"),
        ("By length", "floor(log2(n_chars))", "measured"),
    ],
)
def test_kept_beside_dropped(
    report: Report, tables: Lineage, heading: str, group: str, table: str
) -> None:
    pieces = ", ".join(f"count(*) FILTER (stage = '{name}')" for name in STAGES)
    rows = ask(tables, f"SELECT {group}, count(*), count(*) FILTER (kept), {pieces} FROM {table} "
                       "GROUP BY ALL")  # fmt: skip
    rows.append(["all", *(sum(row[i] for row in rows) for i in range(1, len(rows[0])))])
    between = [f"{1 << p:,} to {(2 << p) - 1:,}" for p in range(7, 20)]
    lengths = ["under 128", *between, "1,048,576 and more"]
    shown = report.groups(heading)
    wanted = {
        lengths[min(max(int(name) - 6, 0), 14)] if isinstance(name, float) else name:
        (kept, n, pytest.approx([100 * piece / n for piece in (kept, *gone) if piece], abs=0.01))
        for name, n, kept, *gone in rows
    }  # fmt: skip
    assert shown == wanted
    shares = [kept / n for kept, n, _ in shown.values()]
    far = [abs(share - shares[0]) for share in shares]
    assert next(iter(shown)) == "all"
    assert far[1:] == sorted(far[1:], reverse=True)


def test_tokens_by_language_and_lengths(
    report: Report, tables: Lineage, small_build: Place
) -> None:
    rows = ask(tables, "SELECT coalesce(language, 'unknown'), count(DISTINCT doc_id), sum(length) "
                       "FROM spans JOIN final_text USING (doc_id) GROUP BY ALL")  # fmt: skip
    documents, tokens = (sum(row[i] for row in rows) for i in (1, 2))
    (shown,) = report.tables("Tokens by language")
    wanted = [
        [name, n, percent(n, documents), t, percent(t, tokens), f"{t / n:,.3f}"]
        for name, n, t in sorted(rows, key=lambda row: -row[2])
    ]
    assert shown == wanted
    manifest = json.loads((small_build.store / f"versions/{VERSION}/manifest.json").read_bytes())
    assert tokens == sum(group["tokens"] for group in manifest["groups"])
    lengths = ask(tables, "SELECT floor(log2(n))::INT AS p, count(*) FROM (SELECT sum(length) AS n "
                          "FROM spans GROUP BY doc_id) GROUP BY ALL ORDER BY p")  # fmt: skip
    assert {k: v for k, v in report.bars("Lengths of kept documents").items() if v[0] != "0"} == {
        f"{2**p:,} to {2 ** (p + 1) - 1:,}": f"{n:,} ({percent(n, documents)})" for p, n in lengths
    }


def test_hosts_licences_and_opt_outs(report: Report, tables: Lineage) -> None:
    hosts = ask(
        tables,
        "SELECT host, count(*) AS n, count(*) FILTER (delivered.kept) AS kept, "
        "coalesce(sum(n_chars) FILTER (delivered.kept), 0)::BIGINT FROM delivered LEFT JOIN "
        "(SELECT DISTINCT doc_id, n_chars FROM measured) USING (doc_id) WHERE host IS NOT NULL "
        "GROUP BY ALL HAVING kept > 0 ORDER BY kept DESC, host",
    )
    (shown,) = report.tables("Hosts")
    assert shown == [[h, n, k, percent(k, n), chars] for h, n, k, chars in hosts[:20]]
    assert f"of {len(hosts)} that have any" in report.sections["Hosts"]
    assert report.bars("Hosts") == {
        h: f"{k:,} ({percent(k, n)} of {n:,})" for h, n, k, _ in hosts[:20]
    }
    section = "Licences and opt-outs"
    for column, heading, table in zip(
        ("licence", "preference"), ("Licences", "Opt-outs"), report.tables(section), strict=True
    ):
        drawn = report.groups(f"<h3>{heading}", section)
        whole = ask(tables, f"SELECT {column}, count(*) FILTER (kept), count(*) FROM delivered "
                            "GROUP BY ALL")  # fmt: skip
        assert {name: drawn[name][:2] for name, *_ in whole} == {n: (k, of) for n, k, of in whole}
        rows = ask(tables, f"SELECT source, {column}, count(*), count(*) FILTER (kept) "
                           "FROM delivered GROUP BY ALL")  # fmt: skip
        assert sorted(row[:5] for row in table) == sorted(
            [*row, percent(row[3], row[2])] for row in rows
        )


def test_duplicates_by_kind_and_across_snapshots(report: Report, tables: Lineage) -> None:
    rows = ask(
        tables,
        "SELECT m.kind, m.snapshot, k.snapshot AS kept_in, count(*) FROM cluster_members AS m JOIN "
        "(SELECT DISTINCT doc_id, snapshot FROM records WHERE reason IS NULL) AS k "
        "ON m.kept_doc_id = k.doc_id WHERE NOT m.kept GROUP BY ALL",
    )
    by_kind, across = report.tables("Duplicates")
    assert len(by_kind) >= 2
    for kind, total, same, other in by_kind:
        assert total == sum(n for k, _, _, n in rows if k == kind)
        assert same == sum(n for k, a, b, n in rows if k == kind and a == b)
        assert other == total - same
    assert {(here, there): n for here, there, n in across} == {
        (here, there): sum(n for _, a, b, n in rows if (a, b) == (here, there))
        for _, here, there, _ in rows
        if here != there
    }
    dropped = ask(tables, "SELECT count(*) FROM decisions WHERE stage = 'clusters'")
    assert sum(row[1] for row in by_kind) == dropped[0][0]
    copies = ask(tables, "SELECT n, count(*) FROM (SELECT count(*) AS n FROM cluster_members "
                         "WHERE NOT kept GROUP BY kept_doc_id) GROUP BY ALL")  # fmt: skip
    assert report.bars("Duplicates") == {f"{n} dropped": f"{k:,} kept" for n, k in copies}


def test_snapshots_rules_edits_benchmarks_and_groups(
    report: Report, tables: Lineage, small_build: Place
) -> None:
    rows = ask(
        tables,
        "SELECT snapshot, count(*), count(*) FILTER (stage IS DISTINCT FROM 'selection'), "
        "avg(quality_score) FILTER (stage IS DISTINCT FROM 'selection') FROM measured GROUP BY ALL",
    )
    (shown,) = report.tables("Snapshots side by side")
    assert sorted(row[:4] for row in shown) == sorted(
        [name, n, percent(left, n), f"{quality:.3f}"] for name, n, left, quality in rows
    )
    (reasons, *_) = report.tables("Selection rules")
    failed = ask(
        tables,
        "SELECT rule, count(*) FROM (SELECT unnest(failed_rules) AS rule FROM "
        "measured) GROUP BY ALL",
    )
    assert {row[0]: row[3] for row in reasons if row[3]} == dict(failed)
    lines = ask(tables, "SELECT sum(boilerplate_lines) FROM final_text")[0][0]
    assert report.bars("Edits in kept documents")["boilerplate lines"] == f"{lines:,}"
    removed = ask(tables, "SELECT count(*) FROM decisions WHERE stage = 'contamination'")[0][0]
    (benchmarks, *_) = report.tables("Benchmarks")
    assert sum(row[4] for row in benchmarks) == removed == 1
    shards = Registry(Home.resolve(str(small_build.home)).catalog_url).version_shards(VERSION)
    groups: dict[str, list[int]] = {}
    for row in shards:
        groups.setdefault(row.group_id, []).append(row.tokens)
    assert report.bars("Tokens by group") == {
        name: f"{sum(some):,} in {counted(len(some), 'shard')}" for name, some in groups.items()
    }
    mixed, shares = report.tables("Mixture")
    assert {row[0]: row[1] for row in mixed} == {name: sum(some) for name, some in groups.items()}
    assert [row[0] for row in shares] == [
        "phases.main.share",
        "phases.cooldown.share",
        *(
            f"phases.{phase}.shares.domain.{domain}"
            for phase in ("main", "cooldown")
            for domain in ("books", "web")
        ),
    ]


def test_a_host_that_was_taken_down_is_not_in_the_report_after_it(place: Place) -> None:
    host = "site-0.example.org"
    assert host in report_of(place)
    registry = Registry(Home.resolve(str(place.home)).catalog_url)
    add_orders(registry, [SuppressionRow("host", host)])
    assert place.build(version="small-2") == 0
    after = Report(report_of(place, "small-2"))
    assert host not in report_of(place, "small-2")
    before = Report(report_of(place)).groups("By source")
    assert after.groups("By source")["web"][1] == before["web"][1] - 1
    assert ["documents", "suppressed", 1] in [row[:3] for row in after.tables("Funnel")[0]]


def test_labels_of_too_many_values_are_no_groups(tmp_path: Path) -> None:
    many = outcomes.MOST_GROUPS + 5
    panel = Panel(
        "made",
        "",
        "",
        "SELECT 'books' AS source, 'title ' || i AS name, 'kept' AS outcome, NULL AS reason, "
        f"1 AS records FROM range({many}) AS t(i) UNION ALL "
        "SELECT 'web', 'en', 'selection', 'short', 7 UNION ALL SELECT 'web', 'en', 'kept', NULL, 2",
    )
    with ReportTables(FileStore(tmp_path), [], "v") as tables:
        found = outcomes.count_outcomes(tables, panel)
    assert found == {"books": None, "web": {"en": {"kept": 2, "selection/short": 7}}}


def test_groups_beyond_the_largest_are_counted_as_one() -> None:
    sizes = {"a": 9, "b": 5, "c": 3, "d": 1}
    found = {name: Counter({"kept": n, "selection/x": 1}) for name, n in sizes.items()}
    whole, groups = outcomes.shares(found, 2, "others")
    assert (whole.kept, whole.records) == (18, 22)
    assert {one.group: (one.kept, one.records) for one in groups} == {
        "a": (9, 10), "b": (5, 6), "2 others": (4, 6)
    }  # fmt: skip
    assert groups[0].group == "2 others"


@pytest.mark.parametrize(
    ("part", "whole", "wanted"),
    [
        (0, 27, (0.0, 0.1246)),
        (5, 10, (0.2366, 0.7634)),
        (27, 27, (0.8754, 1.0)),
        (0, 0, (0.0, 1.0)),
    ],
)
def test_intervals_are_wilson_s(part: int, whole: int, wanted: tuple[float, float]) -> None:
    assert wilson(part, whole) == pytest.approx(wanted, abs=1e-4)
