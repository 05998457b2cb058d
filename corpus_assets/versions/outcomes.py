"""What became of groups of a version's records: kept, or dropped by a stage for a reason."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from corpus_assets.signals import Label, PageNotes, SignalSettings, SourceLabels
from corpus_assets.versions.panel import Panel
from corpus_assets.versions.report_tables import ReportTables

KEPT = "kept"
MOST_GROUPS = 1_000

Outcomes = dict[str, Counter[str]]
"""Records by group and by outcome: `kept`, or stage/reason."""


def label_columns(signals: SignalSettings) -> list[str]:
    """Return the signals that are labels of documents, a topic for one."""
    found: list[str] = []
    for family in signals.families:
        if isinstance(family, Label):
            found.append(family.name)
        elif isinstance(family, SourceLabels):
            found += family.labels
        elif isinstance(family, PageNotes):
            found += family.columns()
    return found


def count_outcomes(tables: ReportTables, panel: Panel) -> dict[str, Outcomes | None]:
    """Run a query for (source,) name, outcome, reason, records; by source where it has one.

    A source with more than MOST_GROUPS names has None: they are no kinds, but identifiers or titles.
    """
    tables.ask(f"CREATE OR REPLACE TEMP TABLE counted AS {panel.sql}")
    columns = {row["column_name"] for row in tables.query("DESCRIBE counted")}
    source = "source" if "source" in columns else "''"
    names = tables.query(
        f"FROM counted SELECT {source} AS source, count(DISTINCT name) AS n GROUP BY ALL ORDER BY ALL"
    )
    found: dict[str, Outcomes | None] = {
        row["source"]: {} if row["n"] <= MOST_GROUPS else None for row in names
    }
    listed = [name for name, outcomes in found.items() if outcomes is not None]
    for row in tables.query(
        f"FROM counted SELECT {source} AS source, name, outcome, reason, records "
        f"WHERE list_contains(?, {source}) ORDER BY ALL",
        [listed],
    ):
        outcomes = found[row["source"]]
        if outcomes is not None:
            outcome = KEPT if row["outcome"] == KEPT else f"{row['outcome']}/{row['reason']}"
            outcomes.setdefault(row["name"], Counter())[outcome] += row["records"]
    return found


@dataclass(frozen=True)
class Share:
    """A group of records beside the others: how many were kept, and who dropped the rest."""

    group: str
    records: int
    kept: int
    dropped: Mapping[str, int]  # by stage
    most: tuple[str, int] | None  # the reason that most were dropped for

    @property
    def share(self) -> float:
        return self.kept / self.records if self.records else 0.0

    @classmethod
    def of(cls, group: str, outcomes: Counter[str]) -> "Share":
        gone = Counter({outcome: n for outcome, n in outcomes.items() if outcome != KEPT})
        stages: Counter[str] = Counter()
        for outcome, n in gone.items():
            stages[outcome.partition("/")[0]] += n
        most = min(gone.items(), key=lambda item: (-item[1], item[0]), default=None)
        return cls(group, sum(outcomes.values()), outcomes[KEPT], stages, most)


def shares(outcomes: Outcomes, shown: int, others: str) -> tuple[Share, list[Share]]:
    """Return all groups as one, and the largest of them with the rest as one more group, those
    first whose share lies farthest from the whole."""
    whole = Share.of("all", _summed(outcomes.values()))
    size = sorted(outcomes, key=lambda name: (-sum(outcomes[name].values()), name))
    found = [Share.of(name, outcomes[name]) for name in size[:shown]]
    if len(size) > shown:
        rest = _summed(outcomes[name] for name in size[shown:])
        found.append(Share.of(f"{len(size) - shown:,} {others}", rest))
    return whole, sorted(found, key=lambda one: (-abs(one.share - whole.share), one.group))


def _summed(counters: Iterable[Counter[str]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for one in counters:
        total.update(one)
    return total
