"""What is left of the documents of each page type and language, as a table of the report."""

from collections import Counter
from collections.abc import Mapping
from typing import Any, TypeAlias

from catalog.pages import Percent
from corpus_assets.clean import YieldLoss, snapshot_yields, summed_yields, yield_losses
from corpus_assets.graph import Pipeline
from corpus_assets.versions.outcomes import KEPT
from corpus_assets.versions.panel import Panel, shipped
from corpus_assets.versions.report_tables import ReportTables

MOST_GROUPS = 18
SMALL_SHARE = 0.005  # of all documents: smaller groups are one
MOST_PARTS = 1_000  # that are counted for warnings, of all snapshots together
COPIES = "clusters"

Kind: TypeAlias = tuple[str, str]  # a page type and a language
HEADS = ("documents", "kept", "share kept", "copies", "lost", "share lost", "most lost to")


def yield_panel(tables: ReportTables) -> Panel:
    """Return the query that counts by page type where documents have one, else by language alone."""
    noted = tables.has_column("documents", "page_type")
    return shipped("yields" if noted else "outcomes_by_language")


def yield_values(pipeline: Pipeline, panel: Panel, tables: ReportTables) -> Mapping[str, Any]:
    """Return what the section shows."""
    found: dict[Kind, Counter[tuple[str, str]]] = {}
    has_types = False
    for row in tables.ask(panel.sql):
        page_type, language = row.get("page_type"), row.get("language", row.get("name"))
        has_types |= page_type is not None
        kind = (page_type or "none", language or "unknown")
        outcome = (row["outcome"], row["reason"] or "")
        found.setdefault(kind, Counter())[outcome] += row["records"]
    rows = [(*kind[not has_types :], *_row(outcomes)) for kind, outcomes in _folded(found)]
    names = ("page type", "language")[not has_types :]
    return {
        "has_types": has_types,
        "losses": _losses(pipeline),
        "heads": (*names, *HEADS),
        "rows": rows,
    }


def _folded(
    found: Mapping[Kind, Counter[tuple[str, str]]],
) -> list[tuple[Kind, Counter[tuple[str, str]]]]:
    """Return all documents as one group, then the largest groups by page type, then the rest."""
    total = sum(found.values(), Counter[tuple[str, str]]())
    size = {kind: outcomes.total() for kind, outcomes in found.items()}
    of_type = Counter[str]()
    for (page_type, _), n in size.items():
        of_type[page_type] += n
    largest = sorted(found, key=lambda kind: (-size[kind], kind))
    shown = [kind for kind in largest[:MOST_GROUPS] if size[kind] >= SMALL_SHARE * total.total()]
    shown.sort(key=lambda kind: (-of_type[kind[0]], kind[0], -size[kind], kind[1]))
    rest = largest[len(shown) :]
    out = [(("all", "all"), total), *((kind, found[kind]) for kind in shown)]
    if rest:
        named = ("several", f"{len(rest):,} smaller groups")
        out.append((named, sum((found[kind] for kind in rest), Counter())))
    return out


def _row(outcomes: Counter[tuple[str, str]]) -> tuple[object, ...]:
    documents = outcomes.total()
    lost = {one: n for one, n in outcomes.items() if one[0] not in (KEPT, COPIES)}
    kept = sum(n for (stage, _), n in outcomes.items() if stage == KEPT)
    gone = sum(lost.values())
    most = min(lost, key=lambda one: (-lost[one], one), default=None)
    said = "" if most is None else f"{most[0]}/{most[1]} {lost[most]:,}"
    share, share_lost = (Percent(n / max(documents, 1)) for n in (kept, gone))
    return documents, kept, share, documents - kept - gone, gone, share_lost, said


def _losses(pipeline: Pipeline) -> list[tuple[str, YieldLoss]]:
    """Return the page types and languages that lose more than the others of a domain."""
    recipe = pipeline.recipe
    parts = max(1, MOST_PARTS // max(len(recipe.snapshots), 1))
    domains: dict[str, list[str]] = {}
    for snapshot in recipe.snapshots:
        domains.setdefault(recipe.source_of(snapshot).domain, []).append(snapshot)
    return [
        (domain, loss)
        for domain, snapshots in sorted(domains.items())
        for loss in yield_losses(
            summed_yields(snapshot_yields(pipeline, one, parts) for one in snapshots)
        )
    ]
