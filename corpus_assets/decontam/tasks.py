"""Tasks of decontamination: the index, the search, common items; and what cleaning asks of them."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.clean.decisions import Drop
from corpus_assets.core.schemas import HITS
from corpus_assets.core.task import LOOKUP_ROWS, TaskContext, count, values
from corpus_assets.decontam import eval_suites as source_exclusions
from corpus_assets.decontam.contamination import REASON, ScanSettings, scan
from corpus_assets.decontam.eval_index import (
    EvalIndex,
    EvalIndexSettings,
    build_eval_index,
    load_eval_index,
    parse_eval_index,
)
from corpus_assets.decontam.eval_suites import EvalSuite, Exclusions, ExclusionSettings, read_suites
from corpus_assets.decontam.verdicts import (
    CUT,
    CommonSettings,
    Span,
    VerdictSettings,
    count_items,
    cuts,
    find_common,
    judge,
    lineage_of,
    names_of,
    verdicts,
)
from corpus_assets.graph.kept_rows import kept_hits

STAGE = "contamination"


def eval_index(context: TaskContext) -> None:
    suites = [
        (EvalSuite.model_validate(raw), [Path(path) for path in paths])
        for raw, paths in context.param("suites")
    ]
    items = read_suites(suites)
    data = build_eval_index(items, context.settings(EvalIndexSettings, "index"))
    context.write_bytes("eval_index.bin", data)
    metrics = parse_eval_index(data).metrics()
    context.counts["items"] = len(items)
    context.counts["unindexed_items"] = metrics["unindexed"]
    context.notes["items_by_benchmark"] = dict(sorted(Counter(i.benchmark for i in items).items()))
    too_short = Counter(benchmark for benchmark, _ in metrics["unindexed_items"])
    context.notes["unindexed_by_benchmark"] = dict(sorted(too_short.items()))


@lru_cache(maxsize=1)
def _index(path: Path) -> EvalIndex:
    """The index of the part before this one is nearly always that of this one."""
    return load_eval_index(path)


def contamination(context: TaskContext) -> None:
    hits = kept_hits(context)
    if hits is None:
        table = context.table("documents", ["doc_id", "domain", "text"])
        hits = scan(table, _index(context.path("eval_index")), context.settings(ScanSettings))
    context.write_table("hits.parquet", hits)
    rows = context.task.inputs["documents"].rows
    count(context, rows, rows)
    context.counts["hits"] = hits.num_rows
    context.notes["hits_by_benchmark"] = dict(sorted(Counter(values(hits["benchmark"])).items()))


def common_items(context: TaskContext) -> None:
    verdict = VerdictSettings(drop_share=context.task.settings["drop_share"])
    limit = context.settings(CommonSettings, "common").common_documents
    common = find_common(_counted(context, verdict), limit)
    context.write_table("common_items.parquet", common)
    context.counts["common_items"] = common.num_rows


def _counted(context: TaskContext, settings: VerdictSettings) -> Iterator[pa.Table]:
    for name in context.names(""):
        if name.endswith("/hits"):
            texts = context.table(f"{name.removesuffix('/hits')}/texts", ["text_id"])
            yield count_items(context.table(name), texts["text_id"], settings)


@dataclass(frozen=True)
class Judged:
    """What decontamination says about the documents of a part."""

    hits: pa.Table  # with share and verdict
    drops: dict[int, Drop] = field(default_factory=dict)
    cuts: dict[int, list[Span]] = field(default_factory=dict)
    worst: dict[int, str] = field(default_factory=dict)  # row -> benchmark that drops it


def judged(context: TaskContext) -> Judged:
    """Drops and cuts of a part, from its hits, the common items and the places left out."""
    hits = context.table("hits") if context.has("hits") else HITS.empty_table()
    settings = context.settings(VerdictSettings, "verdict")
    common = names_of(context.table("common_items")) if context.has("common_items") else frozenset()
    drops: dict[int, Drop] = {}
    worst: dict[int, str] = {}
    for hit in verdicts(hits, settings, common).to_pylist():
        detail = f"{hit['benchmark']}/{hit['item_id']}"
        drops[hit["row"]] = Drop(STAGE, REASON, detail)
        worst[hit["row"]] = hit["benchmark"]
    places = {
        name: ExclusionSettings.model_validate(raw)
        for name, raw in context.task.settings.get("exclude", {}).items()
    }
    if places:
        keys = context.table("documents", ["url_key", "host"])
        for row, place in Exclusions(places).matches(keys).items():
            drops[row] = Drop(STAGE, source_exclusions.REASON, place)
    found = judge(hits, settings, common)
    return Judged(found, drops, cuts(found), worst)


def write_hits(context: TaskContext, found: Judged, drops: Mapping[int, Drop]) -> None:
    """The part's lineage of hits, and counts by benchmark of what they did in the end.

    `drops` are all of the part: a document that an earlier stage dropped is not counted here.
    """
    context.write_table("benchmark_hits.parquet", lineage_of(found.hits), LOOKUP_ROWS)
    done = {row: spans for row, spans in found.cuts.items() if row not in drops}
    context.counts["cut_documents"] = len(done)
    context.counts["cut_chars"] = sum(end - start for own in done.values() for start, end in own)
    own = {row: drop for row, drop in drops.items() if drop.stage == STAGE}
    removed = Counter(
        found.worst[row]
        for row, drop in own.items()
        if drop.reason == REASON and row in found.worst
    )
    places = Counter(drop.detail for drop in own.values() if drop.reason != REASON)
    is_cut = pc.equal(found.hits["verdict"], CUT)
    pairs = found.hits.filter(is_cut).select(["row", "benchmark"]).to_pylist()
    cut = Counter(name for row, name in {(p["row"], p["benchmark"]) for p in pairs} if row in done)
    for name, counted in (("removed", removed), ("cut", cut), ("excluded", places)):
        context.notes[f"{name}_by_benchmark"] = dict(sorted(counted.items()))
