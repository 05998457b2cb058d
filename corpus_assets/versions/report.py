"""Render a version's report: one HTML page that needs nothing else, with counts and no text.

The page is a pure function of the version, so two builds give the same file: when it was built and
what that took is in the catalog, and added by `corpus report`. It names hosts of kept documents and holds no text
of any, so that the page of a version after a takedown has nothing of what was removed.
"""

from collections import Counter

from catalog.cli.terminal import escape
from catalog.figures import counted
from corpus_assets.clean.stage import CUT_SENTENCES
from corpus_assets.core import files
from corpus_assets.core.store import read_output
from corpus_assets.core.task import read_table
from corpus_assets.decontam.eval_index import items_by_benchmark
from corpus_assets.decontam.verdicts import COMMON, NEAR_MISS
from corpus_assets.graph.pipeline import Pipeline
from corpus_assets.scrub.texts import scrubbed_totals
from corpus_assets.shards.mixture import fitted
from corpus_assets.shards.mixture_table import mixture_table
from corpus_assets.signals.imported import Imported
from corpus_assets.signals.stages.signals import IMPORTED
from corpus_assets.versions.benchmarks_found import BenchmarkFound, summarise
from corpus_assets.versions.drift import Shape, shape_of
from corpus_assets.versions.fates import (
    MOST_GROUPS,
    Counted,
    Fates,
    count_fates,
    duplicates,
    shares,
)
from corpus_assets.versions.funnel import funnel
from corpus_assets.versions.pages import (
    FATES,
    ORANGE,
    Fated,
    Percent,
    fate_bars,
    funnel_bars,
    horizontal_bars,
    page,
    table,
    with_contents,
)
from corpus_assets.versions.rule_charts import rules_and_signals
from corpus_loader import Manifest

QUALITY = "quality_score"
SHOWN = 25  # groups of a dimension


def render_report(pipeline: Pipeline, manifest: Manifest) -> str:
    counted = count_fates(pipeline)
    rules, signals = rules_and_signals(pipeline)
    sections = [
        ("Funnel", _funnel(pipeline)),
        ("Kept by snapshot", _by_snapshot(pipeline)),
        ("Language gate", _language_gate(pipeline)),
        ("Kept beside dropped", _kept_beside_dropped(counted)),
        ("Tokens by language", _languages(pipeline)),
        ("Lengths of kept documents", _lengths(pipeline)),
        ("Hosts", _hosts(counted)),
        ("Licences and opt-outs", _licences(counted)),
        ("Duplicates", _duplicates(pipeline)),
        ("Snapshots beside each other", _beside(pipeline)),
        ("Imported signals", _imported(pipeline)),
        ("Selection rules", rules),
        ("Signals and their thresholds", signals),
        ("Benchmarks", _contamination(pipeline)),
        ("Edits in kept documents", _scrub(pipeline)),
        ("Tokens by group", _tokens(manifest)),
        ("Mixture", _mixture(pipeline, manifest)),
        ("Pinned calibrations", _models(pipeline)),
    ]
    body = _head(pipeline, manifest) + with_contents(sections)
    return page(f"corpus {manifest.version}", body)


def _head(pipeline: Pipeline, manifest: Manifest) -> str:
    groups = manifest.groups
    numbers = {
        "documents": sum(g.documents for g in groups),
        "tokens": sum(g.tokens for g in groups),
        "samples": sum(g.samples for g in groups),
        "shards": sum(len(g.shards) for g in groups),
        "snapshots": len(pipeline.recipe.snapshots),
    }
    shown = "".join(f"<div><b>{value:,}</b>{name}</div>" for name, value in numbers.items())
    return (
        f"<h1>{escape(manifest.version)}</h1><p>Recipe {escape(manifest.recipe.name)} "
        f"<code>{manifest.recipe.digest[:16]}</code>, lock <code>{manifest.lock_digest[:16]}</code>, "
        f"seed {manifest.seed}, samples of {manifest.seq_len} tokens, "
        f"{manifest.utilisation:.2%} of them filled.</p>"
        + "".join(f"<p><b>{escape(line)}</b></p>" for line in pipeline.recipe.caveats())
        + f'<div class="big">{shown}</div>'
        "<p>A <i>record</i> is what a source delivered, a <i>document</i> a record that gave text. "
        "A share is of the row's own records or documents, unless its column says of what. Times and "
        f"costs are not part of a version: <code>corpus report {escape(manifest.version)}</code> "
        "and <code>catalog serve</code> add them.</p>"
    )


def _funnel(pipeline: Pipeline) -> str:
    steps = funnel(pipeline)
    chart = funnel_bars([(step.stage, step.entered, step.left) for step in steps])
    reasons = [
        (step.stage, reason, count, Percent(count / step.entered))
        for step in steps
        for reason, count in step.reasons.most_common()
    ]
    heads = ("stage", "reason", "records", "share of what entered the stage")
    return (
        "<p>Records that each stage left, of those that entered it. Every record that came in is in "
        "a shard or in one row below.</p>" + chart + table(heads, reasons)
    )


def _by_snapshot(pipeline: Pipeline) -> str:
    rows = []
    for snapshot in pipeline.recipe.snapshots:
        steps = funnel(pipeline, [snapshot])
        rows.append((snapshot, steps[0].entered, steps[-1].left))
    return "<p>Documents in shards, of the records of the snapshot.</p>" + funnel_bars(rows)


# Groups: what became of them beside the others.


def _kept_beside_dropped(counted: Counted) -> str:
    """Show every group that a filter could favour, those first that lie farthest from the rest."""
    labels = [name for name in counted.by if name.startswith("label ")]
    parts = [
        "<p>What became of each group, and the share of it that is kept with its 95% interval "
        "(Wilson). The upright line is the share of all groups; those farthest from it come first. "
        "A group that lies far off is one that a rule treats unlike the others: look whether it "
        "was meant to. Records under a takedown are left out.</p>"
    ]
    for dimension, title, others in (
        ("language", "By language, of documents", "other languages"),
        ("source", "By source, of records", "other sources"),
        *((name, f"By {name.removeprefix('label ')}, of documents", "others") for name in labels),
        ("length", "By length, of documents, in characters as extracted", "other lengths"),
    ):
        parts.append(f"<h3>{escape(title)}</h3>")
        if dimension in counted.crowded:
            parts.append(f"<p>It has more than {MOST_GROUPS:,} values.</p>")
        elif fates := counted.by.get(dimension):
            parts.append(_fates(fates, others))
        else:
            parts.append("<p>Nothing to show.</p>")
    return "".join(parts)


def _fates(fates: Fates, others: str) -> str:
    whole, groups = shares(fates, SHOWN, others)
    stages = [name for name, _ in FATES[1:]]
    return fate_bars(
        [
            Fated(
                one.group,
                one.records,
                [one.kept, *(one.dropped.get(stage, 0) for stage in stages)],
                "" if one.most is None else f"most: {one.most[0]} {one.most[1]:,}",
            )
            for one in [whole, *groups]
        ],
        whole.share,
    )


def _languages(pipeline: Pipeline) -> str:
    documents, tokens = Counter[str](), Counter[str]()
    for result in pipeline.all_results("clean_text"):
        for name, n in result.notes["languages"].items():
            documents[name or "unknown"] += n
    for result in pipeline.all_results("tokens"):
        tokens.update(result.notes["tokens_by_language"])
    total = sum(tokens.values()) or 1
    order = sorted(tokens, key=lambda name: (-tokens[name], name))
    bars = [
        (name, tokens[name], f"{tokens[name]:,} ({tokens[name] / total:.1%})") for name in order
    ]
    rows = [
        (name, documents[name], Percent(documents[name] / max(sum(documents.values()), 1)),
         tokens[name], Percent(tokens[name] / total), tokens[name] / max(documents[name], 1))
        for name in order
    ]  # fmt: skip
    heads = ("language", "documents", "share of the version's documents", "tokens",
             "share of the version's tokens", "tokens per document")  # fmt: skip
    return "<p>Of kept documents.</p>" + horizontal_bars(bars[:SHOWN]) + table(heads, rows)


def _lengths(pipeline: Pipeline) -> str:
    powers: Counter[int] = Counter()
    for result in pipeline.all_results("tokens"):
        powers.update({int(power): n for power, n in result.notes["lengths"].items()})
    total = sum(powers.values()) or 1
    between = range(min(powers, default=0), max(powers, default=-1) + 1)
    rows = [
        (f"{1 << p:,} to {(2 << p) - 1:,}", powers[p], f"{powers[p]:,} ({powers[p] / total:.1%})")
        for p in between
    ]
    return (
        "<p>Documents by their tokens, the mark of their end included; shares of all documents of "
        "the version.</p>" + horizontal_bars(rows)
    )


def _hosts(counted: Counted) -> str:
    rows = [
        (host.name, host.records, host.kept, Percent(host.kept / host.records), host.chars)
        for host in counted.hosts
    ]
    if not rows:
        return "<p>No kept document has a host.</p>"
    heads = ("host", "records", "kept", "share kept", "characters of kept documents, as extracted")
    return (
        f"<p>The {len(rows):,} with most kept documents, of {counted.n_hosts:,} that have any. "
        "Bars are their kept documents, of the records that they have.</p>"
        + funnel_bars([(host.name, host.records, host.kept) for host in counted.hosts])
        + table(heads, rows)
    )


def _licences(counted: Counted) -> str:
    parts = []
    for kind, title, about in (
        ("licence", "Licences, of records", "As pages and sources state them."),
        (
            "preference",
            "Opt-outs, of records",
            "What pages and sites say about training, where the recipe listens.",
        ),
    ):
        rows: list[tuple[object, ...]] = []
        whole: Fates = {}
        for dimension, fates in counted.by.items():
            if not dimension.startswith(f"{kind} of "):
                continue
            for group, fated in fates.items():
                whole.setdefault(group, Counter()).update(fated)
            source = dimension.removeprefix(f"{kind} of ")
            if dimension in counted.crowded:
                rows.append((source, f"more than {MOST_GROUPS:,} values", "", "", "", ""))
            _, groups = shares(fates, SHOWN, "others")
            for one in sorted(groups, key=lambda one: (-one.records, one.group)):
                most = "" if one.most is None else f"{one.most[0]} {one.most[1]:,}"
                rows.append((source, one.group, one.records, one.kept, Percent(one.share), most))
        heads = ("source", kind, "records", "kept", "share kept", "most dropped for")
        chart = _fates(whole, "others") if whole else ""
        parts.append(f"<h3>{title}</h3><p>{about}</p>{chart}" + table(heads, rows))
    return "".join(parts)


def _duplicates(pipeline: Pipeline) -> str:
    """Show duplicates by kind, by where the kept copy is, and kept documents by their copies."""
    gone, every = duplicates(pipeline)
    pairs = Counter(
        zip(*(gone[name].to_pylist() for name in ("kind", "snapshot", "kept_in")), strict=True)
    )
    by_kind: dict[str, list[int]] = {}
    across: Counter[tuple[str, str]] = Counter()
    for (kind, here, there), n in pairs.items():
        by_kind.setdefault(kind, [0, 0])[here != there] += n
        if here != there:
            across[here, there] += n
    kinds = [(kind, same + other, same, other) for kind, (same, other) in sorted(by_kind.items())]
    most = sorted(across.items(), key=lambda item: (-item[1], item[0]))[:SHOWN]
    sizes = Counter(Counter(gone["kept_doc_id"].to_pylist()).values())
    rows = [(f"{size} dropped", sizes[size], f"{sizes[size]:,} kept") for size in sorted(sizes)]
    some = (
        f" Counted is one cluster of {every}, by the id of its kept document." if every > 1 else ""
    )
    return (
        "<p>Documents that gave way to a copy, by what ties them: the same capture, the same "
        f"address crawled again, the same text, nearly the same text.{some}</p>"
        + table(("kind", "dropped", "kept copy in the same snapshot", "in another one"), kinds)
        + "<h3>Across snapshots</h3>"
        + table(("dropped in", "kept in", "documents"), [(*pair, n) for pair, n in most])
        + "<h3>Kept documents by the copies that gave way to them</h3>"
        + horizontal_bars(rows[:30])
    )


# Everything else.


def _language_gate(pipeline: Pipeline) -> str:
    """Report how often the gate before extraction was wrong, by a sample of refused pages."""
    if pipeline.recipe.documents.gates.language_gate is None:
        return ""
    rows = []
    for snapshot in pipeline.recipe.snapshots:
        totals: Counter[str] = Counter()
        for result in pipeline.results("documents", snapshot):
            totals.update(result.counts)
            totals.update(
                {name: n for name, n in result.notes.get("reasons", {}).items() if "gate_" in name}
            )
        refused = totals["gate_language"] + totals["gate_too_short"]
        sampled, wrong = totals["gate_sampled"], totals["gate_false_drops"]
        rows.append((snapshot, refused, sampled, wrong, _drop_rate(refused, sampled, wrong)))
    return (
        "<p>Pages refused by their roughly stripped text; a sample of them "
        "was extracted anyway. A false drop gave text that the recipe wants.</p>"
        + table(("snapshot", "refused", "sampled", "false drops", "false-drop rate"), rows)
    )


def _drop_rate(refused: int, sampled: int, wrong: int) -> float | str:
    if sampled:
        return Percent(wrong / sampled)
    return "not known: none was sampled, raise `sample_share`" if refused else "-"


def _beside(pipeline: Pipeline) -> str:
    """Compare each snapshot with the one before it of its source, as the drift checks do."""
    rows: list[tuple[object, ...]] = []
    for source in pipeline.recipe.sources:
        before: Shape | None = None
        for snapshot in source.snapshots:
            shape = shape_of(pipeline, snapshot, QUALITY)
            moved = "" if before is None else round(shape.language_distance(before), 4)
            quality = "" if shape.quality is None else round(shape.quality, 4)
            languages = ", ".join(
                f"{name} {count / max(shape.kept, 1):.0%}"
                for name, count in sorted(shape.languages.items(), key=lambda x: (-x[1], x[0]))[:4]
            )
            rows.append(
                (snapshot, shape.documents, Percent(shape.survival), quality, moved, languages)
            )
            before = shape
    heads = ("snapshot", "documents", "selection keeps", "mean quality", "languages moved", "most")
    return (
        "<p>What selection keeps. <i>Languages moved</i>: total "
        "variation distance from the snapshot of the same source before it.</p>"
        + table(heads, rows)
    )


def _imported(pipeline: Pipeline) -> str:
    """Say how many documents annotations of others speak of."""
    families = [f for f in pipeline.recipe.signals.families if isinstance(f, Imported)]
    if not families:
        return ""
    annotated, documents = Counter[str](), 0
    for result in pipeline.all_results("signals"):
        annotated.update(result.notes.get(IMPORTED, {}))
        documents += result.counts["documents_in"]
    rows = [
        (f.name, f.key, ", ".join(f.columns()), annotated[f.name],
         Percent(annotated[f.name] / documents) if documents else "")
        for f in families
    ]  # fmt: skip
    heads = ("import", "joined by", "columns", "documents with a row", "share")
    return f"<p>Of {counted(documents, 'document')}.</p>" + table(heads, rows)


def _scrub(pipeline: Pipeline) -> str:
    totals: Counter[str] = Counter()
    for result in pipeline.all_results("clean_text"):
        totals.update(scrubbed_totals(result.counts))
        totals["boilerplate_lines"] += result.counts.get("boilerplate_lines", 0)
        if CUT_SENTENCES in result.counts:
            totals[CUT_SENTENCES] += result.counts[CUT_SENTENCES]
    rows = [(name.replace("_", " "), count, f"{count:,}") for name, count in sorted(totals.items())]
    return horizontal_bars(rows)


def _tokens(manifest: Manifest) -> str:
    rows = [
        (g.id, g.tokens, f"{g.tokens:,} in {counted(len(g.shards), 'shard')}")
        for g in manifest.groups
    ]
    return horizontal_bars(rows)


def _mixture(pipeline: Pipeline, manifest: Manifest) -> str:
    groups = pipeline.recipe.mixed_groups(manifest.groups)
    rows = [
        (row["group"], row["tokens"], row["drawn_tokens"], Percent(row["share"]), row["epochs"])
        for row in mixture_table(groups, manifest.phases)
    ]
    phases = ", ".join(f"{phase.name} {phase.blocks} blocks" for phase in manifest.phases)
    there = {group.domain for group in manifest.groups if group.samples}
    gone = sorted({source.domain for source in pipeline.recipe.sources} - there)
    _, gave_way = fitted(groups, pipeline.recipe.mixture, manifest.seq_len)
    notes = [f"Nothing of domain {name} is there: its share went to the others." for name in gone]
    notes += [gave_way] if gave_way is not None else []
    return (
        f"<p>{escape(phases)} of {manifest.block_samples} samples.</p>"
        + "".join(f"<p>{escape(note)}</p>" for note in notes)
        + table(("group", "tokens", "tokens a run draws", "share of the run", "epochs"), rows)
    )


def _models(pipeline: Pipeline) -> str:
    rows = [(name, out.bytes, out.sha256[:16]) for name, out in pipeline.calibrations().items()]
    return table(("calibration", "bytes", "sha256"), sorted(rows))


# Benchmarks.

COMMON_SHOWN = 20


def _contamination(pipeline: Pipeline) -> str:
    if not pipeline.recipe.suites:
        return "<p>The recipe names no evaluation suite.</p>"
    known = items_by_benchmark(read_output(pipeline.store, pipeline.calibration(files.EVAL_INDEX)))
    columns = ["benchmark", "item_id", "doc_id", "verdict"]
    found = summarise(
        read_table(pipeline.store, result.outputs[files.BENCHMARK_HITS], columns)
        for result in pipeline.all_results("clean_text")
    )
    totals: dict[str, Counter[str]] = {}
    fates = ("removed", "cut", "held_back", "excluded")
    totals |= {name: Counter() for name in fates}
    for result in pipeline.all_results("clean_text"):
        for name in fates:
            totals[name].update(result.notes.get(f"{name}_by_benchmark", {}))
    settings = pipeline.recipe.contamination
    head = (
        "<p>An item counts as seen where a document holds "
        f"{settings.drop_share:.0%} of its n-grams, whatever else became of the document. "
        "<i>Removed</i> and <i>cut</i> are documents that would have been kept, <i>held back</i> "
        "those that are kept and left to the phases. Near misses are "
        "shorter quotations, edited copies and, where the recipe looks for them, paraphrases that "
        "were left as they are; they are listed by "
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
             totals["held_back"][name], one.n_items(NEAR_MISS), one.n_documents(NEAR_MISS),
             one.n_items(COMMON), examples)
        )  # fmt: skip
    heads = ("benchmark", "items", "too short", "seen", "removed", "cut", "held back",
             "near misses", "in documents", "common", "most seen items (documents)")  # fmt: skip
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
