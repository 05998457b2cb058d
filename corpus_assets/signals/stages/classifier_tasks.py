"""Tasks behind learned filters: they draw samples, train classifiers and rank scores."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from corpus_assets.clean.scrubbing import scrubbed_sample
from corpus_assets.core.errors import SourceError
from corpus_assets.core.task import TaskContext, count
from corpus_assets.ingest.page_list import read_page_list
from corpus_assets.recipe.entries import SIDES
from corpus_assets.signals.classifier import Classifier
from corpus_assets.signals.ensemble import rank_table
from corpus_assets.signals.stages.classifiers import TrainSettings, train_classifier
from corpus_assets.signals.stages.signal_models import model_files
from corpus_assets.signals.stages.signals import SignalSettings, compute_signals
from corpus_assets.signals.stages.training_sample import draw_documents, first_drawn, places
from corpus_assets.signals.stages.training_texts import read_texts

COLUMNS = ["doc_id", "url_key", "host", "text"]


def classifier_sample(context: TaskContext) -> None:
    settings, params = context.task.settings, context.task.params
    table = context.table("documents", COLUMNS)
    pages = read_page_list([Path(path) for path in params["urls"]]) if "urls" in params else None
    drawn = draw_documents(
        table,
        settings["seed"],
        settings["max_documents"],
        pages,
        settings["languages"],
        Path(params["lid"]) if "lid" in params else None,
    )
    texts = scrubbed_sample(context, drawn["text"], [None] * drawn.num_rows)
    place = drawn.schema.get_field_index("text")
    drawn = drawn.set_column(place, drawn.schema.field(place), pa.array(texts, pa.large_string()))
    context.write_table("sample.parquet", drawn)
    count(context, table.num_rows, drawn.num_rows)
    if pages is not None:
        context.notes["list_lines_passed_over"] = pages.passed_over


def classifiers(context: TaskContext) -> None:
    settings = context.task.settings
    positives, negatives = (_texts(context, side) for side in SIDES)
    trained = train_classifier(
        positives,
        negatives,
        context.settings(Classifier, "family"),
        context.settings(TrainSettings, "train"),
    )
    context.write_bytes("classifier.bin", trained.model)
    context.counts["documents_in"] = len(positives) + len(negatives)
    context.notes["metrics"] = {settings["name"]: trained.metrics}


def score_sample(context: TaskContext) -> None:
    settings = context.task.settings
    table = context.table("documents", ["doc_id", "domain", "text"])
    place = places(table["doc_id"], settings["seed"])
    rows = np.sort(np.argsort(place, kind="stable")[: settings["max_documents"]])
    drawn = table.take(pa.array(rows))
    scores = compute_signals(
        drawn, context.settings(SignalSettings, "signals"), model_files(context)
    )
    chosen = scores.select(settings["scores"]).append_column("place", pa.array(place[rows]))
    context.write_table("scores.parquet", chosen)
    count(context, table.num_rows, drawn.num_rows)


def score_ranks(context: TaskContext) -> None:
    settings = context.task.settings
    names = context.names("")
    scores = first_drawn((context.table(name) for name in names), settings["max_documents"])
    ranks = {}
    for name in settings["scores"]:
        column = scores[name].cast(pa.float32()).fill_null(float("nan"))
        ranks[name] = rank_table(column.to_numpy(), settings["steps"])
        if not ranks[name]:
            raise SourceError(
                f"signals.families (ensemble): no document of the calibration snapshots has a "
                f"{name} to rank; check its domains, or `calibrate_on`"
            )
    context.write_bytes("ranks.json", json.dumps(ranks, sort_keys=True).encode())
    context.counts["documents_in"] = scores.num_rows


def _texts(context: TaskContext, side: str) -> list[str]:
    """All texts of a side, those of each entry in its order."""
    texts: list[str] = []
    for place, entry in enumerate(context.task.settings[side]):
        key = f"{side}/{place:04d}"
        if "max_documents" in entry:
            tables = [context.table(name) for name in context.names(f"{key}/")]
            texts += first_drawn(tables, entry["max_documents"])["text"].to_pylist()
        else:
            texts += read_files(context.param("files")[key], entry["text"])
    return texts


def read_files(paths: Sequence[str], field: str) -> list[str]:
    """All texts of JSONL and Parquet files; one without a text is an error, they are curated."""
    texts: list[str] = []
    for path in paths:
        is_parquet = path.endswith(".parquet")
        texts += _read_parquet(path, field) if is_parquet else read_texts([path], field=field)
    return texts


def _read_parquet(path: str, column: str) -> list[str]:
    try:
        texts = pq.read_table(path, columns=[column])[column]
    except (OSError, pa.ArrowException, KeyError) as error:
        raise SourceError(
            f"{path}: cannot be read as Parquet with the column {column!r} ({error}); correct "
            "the recipe"
        ) from error
    if texts.null_count or not (
        pa.types.is_string(texts.type) or pa.types.is_large_string(texts.type)
    ):
        raise SourceError(f"{path}: {column!r} must be a string in every row")
    found: list[str] = texts.to_pylist()
    return found
