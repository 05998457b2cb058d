"""The stages of decontamination: the index of suites, the search, and items that are common.

`verdict_settings`, `verdict_inputs`, `part_verdicts` and `write_hits` are for cleaning, which drops and
cuts what was found.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.core import files, schemas
from corpus_assets.core.decisions import Drop
from corpus_assets.core.earlier import known_rows
from corpus_assets.core.errors import ModelError
from corpus_assets.core.files import File
from corpus_assets.core.lazy_sequence import LazySequence
from corpus_assets.core.lock import FOLDER, PinnedFile
from corpus_assets.core.shuffle import Gather, Tables
from corpus_assets.core.stage import Calibration, Scope, Stage
from corpus_assets.core.store import Output
from corpus_assets.core.task import LOOKUP_ROWS, Task, TaskContext, count, part_label, values
from corpus_assets.decontam import contamination, eval_index, judgements, source_exclusions
from corpus_assets.decontam import verdicts as verdict_rules
from corpus_assets.decontam.contamination import REASON, scan_contamination
from corpus_assets.decontam.embedders import load_embedder
from corpus_assets.decontam.eval_index import (
    EvalIndex,
    build_eval_index,
    load_eval_index,
    parse_eval_index,
)
from corpus_assets.decontam.eval_suites import read_suites
from corpus_assets.decontam.judgements import as_table, of_table, read_judgements
from corpus_assets.decontam.paraphrases import Paraphrases
from corpus_assets.decontam.planner import DecontamPlanner
from corpus_assets.decontam.settings import (
    CommonSettings,
    EvalIndexSettings,
    EvalSuite,
    ExclusionSettings,
    ParaphraseScan,
    ScanSettings,
    VerdictSettings,
)
from corpus_assets.decontam.source_exclusions import Exclusions
from corpus_assets.decontam.verdicts import (
    CUT,
    HELD_BACK,
    NEAR_REASON,
    PARAPHRASE_REASON,
    Span,
    count_items,
    cuts,
    dropped,
    find_common,
    judge,
    lineage_of,
    names_of,
)


def plan_eval_index(pipeline: DecontamPlanner) -> list[Task]:
    if not pipeline.recipe.suites:
        return []
    described: list[dict[str, Any]] = []
    digests: dict[str, str] = {}
    suites = []
    for number, suite in enumerate(pipeline.recipe.suites):
        paths = pipeline.locations.files(suite.files, "eval_suites")
        body = suite.identity()
        del body["exclude"], body["files"]  # they change no item
        body.pop("split", None)
        described.append(body)
        for i, path in enumerate(paths):
            digests[f"{number:04d}/{i:04d}"] = pipeline.digest_of(path)
        suites.append([suite.model_dump(mode="json"), [str(path) for path in paths]])
    return [
        EVAL_INDEX.task(
            {"index": pipeline.recipe.contamination.index.identity(), "suites": described},
            extra_inputs=digests,
            params={"suites": suites},
        )
    ]


def suite_pins(pipeline: DecontamPlanner) -> tuple[PinnedFile, ...]:
    """Return the files of all suites, for the lock."""
    return tuple(
        PinnedFile(name=path.name, bytes=path.stat().st_size, sha256=pipeline.digest_of(path))
        for suite in pipeline.recipe.suites
        for path in pipeline.locations.files(suite.files, "eval_suites")
    )


def judgement_files(pipeline: DecontamPlanner) -> list[Path]:
    """Return the files of judgements that the recipe names; none where it has no suite."""
    named = pipeline.recipe.contamination.judgements if pipeline.recipe.suites else ()
    return pipeline.locations.files(named, "contamination.judgements")


def judgement_pins(pipeline: DecontamPlanner) -> dict[str, tuple[PinnedFile, ...]]:
    paths = judgement_files(pipeline)
    return {"judgements": pipeline.pins_of(paths)} if paths else {}


def plan_judgements(pipeline: DecontamPlanner) -> list[Task]:
    paths = judgement_files(pipeline)
    digests = {f"{i:04d}": pipeline.digest_of(path) for i, path in enumerate(paths)}
    params = {"files": [str(path) for path in paths]}
    return [JUDGEMENTS.task({}, extra_inputs=digests, params=params)] if paths else []


PARAPHRASES = f"{FOLDER}contamination.paraphrases"  # the model among a version's copies


def paraphrase_model(pipeline: DecontamPlanner) -> tuple[str, Path, str] | None:
    """Return name, folder and digest of the model that finds paraphrases; None where none does."""
    settings = pipeline.recipe.contamination.paraphrases if pipeline.recipe.suites else None
    if settings is None:
        return None
    path, sha256 = pipeline.model(settings.model, "contamination.paraphrases", PARAPHRASES)
    if not path.is_dir():
        raise ModelError(
            f"contamination.paraphrases: model {settings.model} is a file: install the folder "
            "that it is part of under another name (`corpus models add NAME --path FOLDER`)"
        )
    return str(settings.model), path, sha256


def plan_contamination(pipeline: DecontamPlanner, snapshot: str) -> Sequence[Task]:
    if not pipeline.recipe.suites:
        return []
    index = pipeline.calibration(files.EVAL_INDEX)
    settings = pipeline.recipe.contamination.scan.identity()
    model = paraphrase_model(pipeline)
    digests = {} if model is None else {"paraphrases": model[2]}
    params = {} if model is None else {"paraphrases": str(model[1])}
    return LazySequence(
        lambda i, documents: CONTAMINATION.task(
            settings,
            {"documents": documents, "eval_index": index},
            digests,
            params,
            label=part_label(snapshot, i),
        ),
        pipeline.parts(files.DOCUMENTS, snapshot),
    )


def _counts_items(pipeline: DecontamPlanner) -> bool:
    return (
        bool(pipeline.recipe.suites) and pipeline.recipe.contamination.common_documents is not None
    )


def _hits_and_texts(pipeline: DecontamPlanner, snapshot: str) -> dict[str, Sequence[Output]]:
    """Return the hits of each part, and the file with the ids of its texts; nothing where the
    recipe does not count them."""
    if not _counts_items(pipeline):
        return {}
    return {
        "hits": pipeline.parts(files.HITS, snapshot),
        "texts": pipeline.parts(files.SIGNATURES, snapshot),
    }


def verdict_settings(pipeline: DecontamPlanner) -> dict[str, Any]:
    """Return what a task needs to know to say which documents go."""
    settings: dict[str, Any] = {"verdict": pipeline.recipe.contamination.verdict.identity()}
    exclude = {
        suite.benchmark or f"suite {number}": suite.exclude.identity()
        for number, suite in enumerate(pipeline.recipe.suites, 1)
        if suite.exclude
    }
    settings |= {"exclude": exclude} if exclude else {}
    training = pipeline.recipe.training_benchmarks
    return settings | {"training": list(training)} if training else settings


def verdict_inputs(pipeline: DecontamPlanner, snapshot: str) -> Sequence[dict[str, Output]]:
    """Return what it reads for that, for each part; nothing where the recipe has no suite."""
    if not pipeline.recipe.suites:
        return LazySequence(lambda *_: {}, pipeline.parts(files.DOCUMENTS, snapshot))
    shared = {"common_items": pipeline.calibration(files.COMMON_ITEMS)}
    for part in pipeline.parts(files.JUDGEMENTS, snapshot):
        shared["judgements"] = part
    return LazySequence(
        lambda _, hits: {"hits": hits} | shared, pipeline.parts(files.HITS, snapshot)
    )


STAGE = "contamination"


def run_eval_index(context: TaskContext) -> None:
    suites = [
        (EvalSuite.model_validate(raw), [Path(path) for path in paths])
        for raw, paths in context.param("suites")
    ]
    items = read_suites(suites)
    data = build_eval_index(items, context.settings(EvalIndexSettings, "index"))
    context.write_bytes(files.EVAL_INDEX, data)
    metrics = parse_eval_index(data).metrics()
    context.counts["items"] = len(items)
    context.counts["unindexed_items"] = metrics["unindexed"]
    context.notes["items_by_benchmark"] = dict(sorted(Counter(i.benchmark for i in items).items()))
    too_short = Counter(benchmark for benchmark, _ in metrics["unindexed_items"])
    context.notes["unindexed_by_benchmark"] = dict(sorted(too_short.items()))


def run_judgements(context: TaskContext) -> None:
    read = read_judgements(Path(path) for path in context.param("files"))
    context.write_table(files.JUDGEMENTS, as_table(read))
    context.counts["judgements"] = len(read)


@lru_cache(maxsize=1)
def _index(path: Path) -> EvalIndex:
    """Return the index of the part before this one is nearly always that of this one."""
    return load_eval_index(path)


@lru_cache(maxsize=1)
def _paraphrases(index: Path, folder: Path, settings: ParaphraseScan) -> Paraphrases:
    return Paraphrases(_index(index), load_embedder(settings.engine, folder), settings)


def run_contamination(context: TaskContext) -> None:
    hits = _known_hits(context)
    if hits is None:
        table = context.table("documents", ["doc_id", "domain", "text"])
        settings, index = context.settings(ScanSettings), context.path("eval_index")
        search = None
        if settings.paraphrases is not None:
            search = _paraphrases(index, Path(context.param("paraphrases")), settings.paraphrases)
        hits = scan_contamination(table, _index(index), settings, search)
    context.write_table(files.HITS, hits)
    rows = context.task.inputs["documents"].rows
    count(context, rows, rows)
    context.counts["hits"] = hits.num_rows
    context.notes["hits_by_benchmark"] = dict(sorted(Counter(values(hits["benchmark"])).items()))


def _known_hits(context: TaskContext) -> pa.Table | None:
    """Hits of the documents that are left, at their new rows; None where they must be searched."""
    known = known_rows(context)
    if known is None:
        return None
    earlier, rows = known
    now = {old: new for new, old in enumerate(rows)}
    hits = earlier.output(files.HITS)
    moved = [now.get(row) for row in hits["row"].to_pylist()]
    left = hits.filter(pa.array([row is not None for row in moved], pa.bool_()))
    column = pa.array([row for row in moved if row is not None], pa.int32())
    return left.set_column(left.schema.get_field_index("row"), left.schema.field("row"), column)


def _count_items(context: TaskContext, snapshot: str, part: str) -> pa.Table:
    asked = context.task.settings
    settings = VerdictSettings(
        drop_share=asked["drop_share"], exclusive=asked.get("exclusive", False)
    )
    texts = context.table(f"{part}texts", ["text_id"])["text_id"]
    return count_items(context.table(f"{part}hits"), texts, settings)


def _find_common(context: TaskContext, counted: Tables) -> None:
    limit = context.settings(CommonSettings, "common").common_documents
    common = find_common(counted, limit)
    context.write_table(files.COMMON_ITEMS, common)
    context.counts["common_items"] = common.num_rows


@dataclass(frozen=True)
class PartVerdicts:
    """What decontamination says about the documents of a part."""

    hits: pa.Table  # with share and verdict
    drops: dict[int, Drop] = field(default_factory=dict)
    cuts: dict[int, list[Span]] = field(default_factory=dict)
    worst: dict[int, str] = field(default_factory=dict)  # row -> benchmark that drops it
    held_back: dict[int, str] = field(default_factory=dict)  # row -> benchmark that holds it back


def part_verdicts(context: TaskContext) -> PartVerdicts:
    """Return drops and cuts of a part, from its hits, the common items and the places left out."""
    hits = context.table("hits") if context.has("hits") else schemas.HITS.empty_table()
    settings = context.settings(VerdictSettings, "verdict")
    common = names_of(context.table("common_items")) if context.has("common_items") else frozenset()
    judgements = of_table(context.table("judgements")) if context.has("judgements") else {}
    texts = context.table("documents", ["text_id"])["text_id"].to_pylist() if judgements else []
    training = context.task.settings.get("training", ())
    found = judge(hits, settings, common, judgements, texts, training)
    drops: dict[int, Drop] = {}
    worst: dict[int, str] = {}
    for hit in dropped(found, settings).to_pylist():
        detail = f"{hit['benchmark']}/{hit['item_id']}"
        drops[hit["row"]] = Drop(STAGE, hit["reason"], detail)
        worst[hit["row"]] = hit["benchmark"]
    places = {
        name: ExclusionSettings.model_validate(raw)
        for name, raw in context.task.settings.get("exclude", {}).items()
    }
    held = found.filter(pc.equal(found["verdict"], HELD_BACK))
    held_back = dict(zip(held["row"].to_pylist(), held["benchmark"].to_pylist(), strict=True))
    if places:
        keys = context.table("documents", ["url_key", "host"])
        for name in places.keys() & set(training):
            held_back |= dict.fromkeys(Exclusions({name: places.pop(name)}).matches(keys), name)
        for row, place in Exclusions(places).matches(keys).items():
            drops[row] = Drop(STAGE, source_exclusions.REASON, place)
    return PartVerdicts(found, drops, cuts(found), worst, held_back)


def write_hits(context: TaskContext, found: PartVerdicts, drops: Mapping[int, Drop]) -> None:
    """The part's lineage of hits, and counts by benchmark of what they did in the end.

    `drops` are all of the part: a document that an earlier stage dropped is not counted here.
    """
    context.write_table(files.BENCHMARK_HITS, lineage_of(found.hits), LOOKUP_ROWS)
    done = {row: spans for row, spans in found.cuts.items() if row not in drops}
    context.counts["cut_documents"] = len(done)
    context.counts["cut_chars"] = sum(end - start for own in done.values() for start, end in own)
    own = {row: drop for row, drop in drops.items() if drop.stage == STAGE}
    removed = Counter(
        found.worst[row] for row, drop in own.items() if drop.reason != source_exclusions.REASON
    )
    places = Counter(d.detail for d in own.values() if d.reason == source_exclusions.REASON)
    is_cut = pc.equal(found.hits["verdict"], CUT)
    pairs = found.hits.filter(is_cut).select(["row", "benchmark"]).to_pylist()
    cut = Counter(name for row, name in {(p["row"], p["benchmark"]) for p in pairs} if row in done)
    counts = {"removed": removed, "cut": cut, "excluded": places}
    if found.held_back:
        held = Counter(name for row, name in found.held_back.items() if row not in drops)
        context.counts["held_back_documents"] = held.total()
        counts["held_back"] = held
    for name, counted in counts.items():
        context.notes[f"{name}_by_benchmark"] = dict(sorted(counted.items()))


def _calibrations(pipeline: DecontamPlanner, file: File) -> dict[str, Output]:
    return {file.stage: pipeline.calibration(file)} if pipeline.recipe.suites else {}


EVAL_INDEX = Stage(
    "eval_index",
    eval_index.VERSION,
    Scope.ALL,
    plan_eval_index,
    run_eval_index,
    about="N-grams of the items of the evaluation suites.",
    writes=(files.EVAL_INDEX,),
    calibration=Calibration(
        files.EVAL_INDEX,
        "items of evaluation suites; no documents",
        lambda pipeline: _calibrations(pipeline, files.EVAL_INDEX),
        is_model=True,
    ),
    inputs=lambda pipeline: {"eval_suites": suite_pins(pipeline)},
)

JUDGEMENTS = Stage(
    "judgements",
    judgements.VERSION,
    Scope.ALL,
    plan_judgements,
    run_judgements,
    writes=(files.JUDGEMENTS,),
    inputs=judgement_pins,
)

CONTAMINATION = Stage(
    "contamination",
    contamination.VERSION,
    Scope.PART,
    plan_contamination,
    run_contamination,
    about="Benchmark items in documents, found by n-grams and confirmed word by word.",
    reads=(files.DOCUMENTS, files.EVAL_INDEX),
    writes=(files.HITS,),
    drops=(REASON, NEAR_REASON, PARAPHRASE_REASON, source_exclusions.REASON),
    fed_by=("documents", "documents_out"),
    by_row=frozenset({"documents"}),
)

COMMON_ITEMS = Gather(
    files.COMMON_ITEMS,
    _hits_and_texts,
    _count_items,
    _find_common,
    version=verdict_rules.VERSION,
    reads=(files.HITS, files.SIGNATURES),
    settings=lambda pipeline, snapshots: pipeline.recipe.contamination.enough,
    finish_settings=lambda pipeline: {"common": pipeline.recipe.contamination.common.identity()},
    is_asked=lambda pipeline: bool(pipeline.recipe.suites),
    about="Benchmark items that are common phrases, because many texts contain them.",
    calibration=Calibration(
        files.COMMON_ITEMS,
        "names of evaluation items, and in how many documents each was found; no text",
        lambda pipeline: _calibrations(pipeline, files.COMMON_ITEMS),
        asks=("contamination", "eval_suites", "calibrate_on"),
    ),
    inputs=lambda pipeline: {"eval_suites": suite_pins(pipeline)},
)
