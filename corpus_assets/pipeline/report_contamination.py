"""The report's section on benchmarks: what was found of each, by which files, and what it did."""

from collections import Counter

from corpus_assets.pipeline.charts import ORANGE, horizontal_bars, table
from corpus_assets.pipeline.contamination_view import BenchmarkFound, summarise
from corpus_assets.pipeline.graph import Pipeline
from corpus_assets.stages.contamination_verdicts import COMMON, NEAR_MISS
from corpus_assets.stages.eval_index import items_by_benchmark
from corpus_assets.store import read_output
from corpus_assets.task import read_table

COMMON_SHOWN = 20


def contamination_section(pipeline: Pipeline) -> str:
    if not pipeline.recipe.suites:
        return "<h2>Benchmarks</h2><p>The recipe names no evaluation suite.</p>"
    known = items_by_benchmark(read_output(pipeline.store, pipeline.eval_index_file()))
    results = [
        result
        for snapshot in pipeline.recipe.snapshots
        for result in pipeline.results("clean_text", snapshot)
    ]
    columns = ["benchmark", "item_id", "doc_id", "verdict"]
    found = summarise(
        read_table(pipeline.store, result.outputs["benchmark_hits.parquet"], columns)
        for result in results
    )
    totals: dict[str, Counter[str]] = {}
    for name in ("removed", "cut", "excluded"):
        totals[name] = Counter()
        for result in results:
            totals[name].update(result.notes[f"{name}_by_benchmark"])
    settings = pipeline.recipe.contamination
    head = (
        "<h2>Benchmarks</h2><p>An item counts as seen where a document holds "
        f"{settings.drop_share:.0%} of its n-grams, whatever else became of the document. "
        "<i>Removed</i> and <i>cut</i> are documents that would have been kept. Near misses are "
        "shorter quotations and edited copies: they change nothing and are listed by "
        "<code>corpus contamination --near-misses</code>.</p>"
    )
    bars = [
        (name, one.items_seen, f"{one.items_seen:,} of {known[name][0]:,} items")
        for name, one in found.items()
        if one.items_seen
    ]
    return (
        head
        + (horizontal_bars(sorted(bars, key=lambda row: -row[1]), ORANGE) if bars else "")
        + _by_benchmark(known, found, totals)
        + _excluded(totals["excluded"])
        + _common(found)
        + _files(pipeline)
    )


def _by_benchmark(
    known: dict[str, tuple[int, int]],
    found: dict[str, BenchmarkFound],
    totals: dict[str, Counter[str]],
) -> str:
    rows: list[tuple[object, ...]] = []
    for name, (items, short) in sorted(known.items()):
        one = found.get(name, BenchmarkFound(name))
        examples = ", ".join(f"{item} ({count})" for item, count in one.examples())
        rows.append(
            (name, items, short, one.items_seen, totals["removed"][name], totals["cut"][name],
             one.n_items(NEAR_MISS), one.n_documents(NEAR_MISS), one.n_items(COMMON), examples)
        )  # fmt: skip
    heads = ("benchmark", "items", "too short", "seen", "removed", "cut", "near misses",
             "in documents", "common", "most seen items (documents)")  # fmt: skip
    return table(heads, rows)


def _excluded(places: Counter[str]) -> str:
    if not places:
        return ""
    rows = [(place, count) for place, count in sorted(places.items())]
    return "<h3>Places known to hold a benchmark</h3>" + table(("place", "removed"), rows)


def _common(found: dict[str, BenchmarkFound]) -> str:
    rows = [(name, *row) for name, one in found.items() for row in one.common()]
    if not rows:
        return ""
    rows.sort(key=lambda row: (-row[2], row[0], row[1]))
    return (
        "<h3>Common items</h3><p>So many texts hold them that they are phrases and no leak; their "
        "documents were kept. Look at them: a leak that spread looks the same.</p>"
        + table(("benchmark", "item", "documents"), rows[:COMMON_SHOWN])
    )


def _files(pipeline: Pipeline) -> str:
    rows = [(pin.name, pin.bytes, pin.sha256) for pin in pipeline.inputs()["eval_suites"]]
    return "<h3>Suites</h3>" + table(("file", "bytes", "sha256"), rows)
