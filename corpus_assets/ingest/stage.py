"""The stage of ingest: from source files to documents, gates first, takedowns in force."""

from collections import Counter
from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.core import files, schemas
from corpus_assets.core.lazy_sequence import LazySequence
from corpus_assets.core.lock import PinnedFile
from corpus_assets.core.model_choice import ModelChoice
from corpus_assets.core.result_index import Identified, fingerprints, prints_of
from corpus_assets.core.stage import Scope, Stage
from corpus_assets.core.store import Result
from corpus_assets.core.task import (
    LOOKUP_ROWS,
    Origin,
    Task,
    TaskContext,
    count,
    read_table,
    values,
)
from corpus_assets.core.urls import Blocklist
from corpus_assets.ingest import documents
from corpus_assets.ingest.documents import SUPPRESSED, ingest_part
from corpus_assets.ingest.extract import extractor_version
from corpus_assets.ingest.gates import OPTED_OUT, TRAINING_DISALLOWED, sample_counts
from corpus_assets.ingest.list_stages import category_files, list_inputs, url_lists
from corpus_assets.ingest.part_results import (
    listed_orders,
    origin_of,
    part_task,
    remember,
    result_before,
    spelled_orders,
    standing_parts,
    under_orders,
)
from corpus_assets.ingest.planner import IngestPlanner
from corpus_assets.ingest.purge import purge_part
from corpus_assets.ingest.records import SourceFile
from corpus_assets.ingest.settings import IngestSettings
from corpus_assets.ingest.source import SourceSpec
from corpus_assets.ingest.source_reading import (
    forget_source,
    index_input,
    index_settings,
    open_records,
    reading_params,
)
from corpus_assets.ingest.suppressions import Suppressions
from corpus_assets.ingest.url_word_lists import url_word_files, with_listed_words

EXTRACTION_MODEL = "documents.extraction.model"

DROPS = (
    # taken down, not drawn, or not wanted by its address
    *(SUPPRESSED, "not_sampled", "no_url", "blocked_host", "blocked_category", "blocked_url"),
    # what came with it
    *("damaged_record", "bad_http", "revisit_record", "http_status", "content_type"),
    *("too_large", "undecodable", "not_text"),
    # what its publisher says
    *("robots_disallowed", OPTED_OUT, TRAINING_DISALLOWED, "licence_not_allowed"),
    # source code that is generated or copied from other projects
    *("vendored_path", "unknown_file_type", "unwanted_language", "generated_file", "minified"),
    # what the crawl's URL index says of a record that was then not fetched
    *("index_http_status", "index_content_type", "index_language", "index_truncated"),
    # a look before extraction, and extraction
    *("absurd_markup", "gate_too_short", "gate_language", "no_text"),
    *("extraction_failed", "extraction_timeout", "extraction_memory", "extraction_crashed"),
)
"""Why a record gives no document."""


def plan_documents(pipeline: IngestPlanner, snapshot: str) -> Sequence[Task]:
    source = pipeline.recipe.source_of(snapshot)
    blocklists = pipeline.locations.files(pipeline.recipe.blocklists, "blocklists")
    spec = source.identity()
    del spec["snapshots"]
    spec.pop("crawl", None)  # which files it takes is in their pins
    spec.pop("tier", None)  # the selection's affair
    spec.pop("skip_files", None)  # of other parts
    own_model = extraction_model(pipeline)
    digest = None if own_model is None else own_model[1]
    ingest = with_listed_words(pipeline).identity()
    ingest["extraction"].pop("model", None)  # its digest is an input
    settings = {
        "source": spec,
        "snapshot": snapshot,
        "ingest": ingest,
        "extractor": extractor_version(pipeline.recipe.documents.extraction, digest),
        "orders": [],
    }
    lists = {f"blocklist/{i:04d}": pipeline.digest_of(path) for i, path in enumerate(blocklists)}
    gate = pipeline.recipe.documents.gates.language_gate
    model: dict[str, str] = {}
    if gate is not None and gate.languages:
        path, lists["lid"] = pipeline.language_model()
        model["lid"] = str(path)
    if own_model is not None:
        model["model"], lists["extraction_model"] = str(own_model[0]), own_model[1]
    looked_up = list_inputs(pipeline, snapshot)
    pinned = pipeline.snapshot_files(snapshot)

    def base(part: int, file: SourceFile) -> Task:
        if file.name in source.skip_files.get(snapshot, ()):
            nothing = {"snapshot": snapshot, "part": part, "skipped": file.name, "orders": []}
            return DOCUMENTS.task(nothing, label=f"{snapshot} {file.name}")
        return DOCUMENTS.task(
            settings | {"part": part} | index_settings(source),
            looked_up | index_input(source, pinned, part),
            extra_inputs={file.name: file.sha256} | lists,
            params={
                "file": file.plain(),
                "blocklists": [str(path) for path in blocklists],
                **model,
                **reading_params(source, pipeline.locations, snapshot, file),
            },
            label=f"{snapshot} {file.name}",
        )

    return parts_under_orders(pipeline, snapshot, LazySequence(base, pinned.files))


def extraction_model(pipeline: IngestPlanner) -> tuple[Path, str] | None:
    """Return file and digest of the extractor's model; None where that of the package is used."""
    model = pipeline.recipe.documents.extraction.model
    return None if model is None else pipeline.model(model, EXTRACTION_MODEL)


def parts_under_orders(
    pipeline: IngestPlanner, snapshot: str, bases: Sequence[Task]
) -> Sequence[Task]:
    """Return the tasks whose results stand for the parts of a snapshot. What orders change is
    looked up once; a part that none touches is its base."""
    prints = fingerprints(bases)
    planned_prints = prints.copy()
    standing = standing_parts(pipeline.store, (each.tobytes().hex() for each in prints))
    touched: dict[int, tuple[list[list[str]], Origin]] = {}
    if standing.notes or pipeline.suppressions.rows:
        is_compared = standing.compared == pipeline.suppressions.digest
        pipeline.finished(DOCUMENTS.name, snapshot).rows(prints)  # all that are there in one look
        load = partial(pipeline.load, snapshot=snapshot)
        listed = cache(partial(listed_orders, pipeline.store, pipeline.suppressions))
        for part in range(len(bases)):
            name = prints[part].tobytes().hex()
            if is_compared and name not in standing.notes:
                continue
            note = standing.get(name)
            found = part_task(
                pipeline.store, bases[part], pipeline.suppressions, load, note, listed
            )
            if found.settings["orders"]:
                touched[part] = found.settings["orders"], origin_of(found)
                planned_prints[part] = prints_of([found.fingerprint])[0]

    def task(part: int, base: Task) -> Task:
        return under_orders(base, *touched.get(part, ([], Origin(base.fingerprint))))

    planned = Identified(task, bases)
    planned.prints = planned_prints
    return planned


def plan_key(pipeline: IngestPlanner, snapshot: str) -> tuple[str, str]:
    """Files and orders. Every stage asks for these tasks, and comparing parts with new orders reads
    their keys."""
    return pipeline.snapshot_files(snapshot).content_hash, pipeline.suppressions.digest


def results_before_purge(pipeline: IngestPlanner, snapshot: str) -> Sequence[Result]:
    """Return the results of all parts, of those that orders filtered the ones before."""
    tasks = pipeline.tasks(DOCUMENTS.name, snapshot)
    notes = standing_parts(pipeline.store, (origin_of(task).base for task in tasks))
    load = partial(pipeline.load, snapshot=snapshot)
    others: dict[int, Result] = {}
    for part, task in enumerate(tasks if notes.notes else ()):
        found = result_before(task, load, notes.notes.get(origin_of(task).base))
        if found is not None:
            others[part] = found

    def earlier(part: int, result: Result) -> Result:
        return others.get(part, result)

    return LazySequence(earlier, pipeline.results(DOCUMENTS.name, snapshot))


def remember_parts(pipeline: IngestPlanner, tasks: Sequence[Task]) -> None:
    remember(pipeline.store, tasks, pipeline.suppressions)


def run_documents(context: TaskContext) -> None:
    settings = context.task.settings
    if "skipped" in settings:
        context.write_table(files.RECORDS, schemas.RECORDS.empty_table(), LOOKUP_ROWS)
        context.write_table(files.DOCUMENTS, schemas.DOCUMENTS.empty_table(), LOOKUP_ROWS)
        count(context, 0, 0)
        return
    origin = context.task.origin
    purged = origin.purged if origin is not None else None  # read under the listed orders already
    orders = Suppressions.from_rows(
        spelled_orders(
            context.store,
            ((kind, value) for kind, value in settings["orders"]),
            with_lists=purged is None,
        )
    )
    if purged is not None:
        records, extracted = purge_part(
            read_table(context.store, purged[files.RECORDS]),
            read_table(context.store, purged[files.DOCUMENTS]),
            orders,
        )
    else:
        records, extracted = _ingest(context, orders)
    if purged is not None or SUPPRESSED in set(values(records["reason"])):
        forget_source(context)
    context.write_table(files.RECORDS, records, LOOKUP_ROWS)
    context.write_table(files.DOCUMENTS, extracted, LOOKUP_ROWS)
    count(context, records.num_rows, extracted.num_rows, Counter(values(records["reason"])))
    if settings["ingest"]["gates"]["language_gate"] is not None:
        gated = pc.starts_with(records["reason"].fill_null(""), "gate_")
        context.counts |= sample_counts(records.filter(gated)["detail"].to_pylist())


def _ingest(context: TaskContext, orders: Suppressions) -> tuple[pa.Table, pa.Table]:
    settings = context.task.settings
    spec = SourceSpec.model_validate(settings["source"])
    file = SourceFile(**context.param("file"))
    ingest = context.settings(IngestSettings, "ingest")
    model = _model(context, "model")
    if model is not None:
        own = ModelChoice(path=str(model), sha256=context.task.extra_inputs["extraction_model"])
        extraction = ingest.extraction.model_copy(update={"model": own})
        ingest = ingest.model_copy(update={"extraction": extraction})
    with open_records(context, spec, file, ingest.gates) as records:
        return ingest_part(
            spec,
            settings["snapshot"],
            settings["part"],
            file,
            ingest,
            Blocklist.from_files([Path(path) for path in context.param("blocklists")]),
            orders,
            records=records,
            lists=url_lists(context),
            lid=_model(context, "lid"),
            model=model,
            on_cost=context.spend,
        )


def _model(context: TaskContext, name: str) -> Path | None:
    return Path(context.param(name)) if name in context.task.params else None


def _inputs(pipeline: IngestPlanner) -> dict[str, tuple[PinnedFile, ...]]:
    """Source files of all snapshots, blocklists, and what other lists are made from."""
    lists = {"blocklists": pipeline.locations.files(pipeline.recipe.blocklists, "blocklists")}
    lists |= category_files(pipeline) | url_word_files(pipeline)
    return pipeline.delivered() | {name: pipeline.pins_of(paths) for name, paths in lists.items()}


DOCUMENTS = Stage(
    "documents",
    documents.VERSION,
    Scope.PART,
    plan_documents,
    run_documents,
    about="Text of the source records that pass the gates; records without text have a reason.",
    reads=(files.SOURCE_FILES, files.CATEGORIES, files.SITES, files.ROBOTS_RULES),
    writes=(files.DOCUMENTS, files.RECORDS),
    drops=DROPS,
    inputs=_inputs,
    plan_key=plan_key,
    after=remember_parts,
    before_purge=results_before_purge,
)
