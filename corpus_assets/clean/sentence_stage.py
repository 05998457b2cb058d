"""The stage that scores sentences, for those that cleaning cuts by their scores.

It reads text and models, and neither the selection nor the bounds of scores: another threshold or
bound does not run it again.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from corpus_assets.clean.clean_text import SENTENCE, Cuts, rewritten
from corpus_assets.clean.planner import CleanPlanner
from corpus_assets.clean.rewriting import BATCH_DOCUMENTS, places_in_extracted
from corpus_assets.clean.upstream import step_settings, text_steps
from corpus_assets.core import files
from corpus_assets.core.earlier import aligned_rows
from corpus_assets.core.lazy_sequence import LazySequence
from corpus_assets.core.stage import Scope, Stage
from corpus_assets.core.store import Output
from corpus_assets.core.task import Task, TaskContext, part_label
from corpus_assets.signals import (
    Classifier,
    SentenceCut,
    SignalSettings,
    model_files,
    models_of_signals,
    score_sentences,
)

VERSION = 1

SCORED = pa.list_(pa.struct([("start", pa.int32()), ("end", pa.int32()), ("score", pa.float32())]))
"""Sentences of a document, in characters of its extracted text."""


def plan_sentence_scores(pipeline: CleanPlanner, snapshot: str) -> Sequence[Task]:
    families = _families(pipeline, snapshot)
    if not families.families:
        return []
    settings = {"scores": families.plain(), "score_versions": families.identity()}
    settings |= step_settings(pipeline)
    shared, extra, params = models_of_signals(pipeline, families.needs())
    return LazySequence(
        lambda i, documents: SENTENCE_SCORES.task(
            settings,
            {"documents": documents} | shared,
            extra,
            params,
            label=part_label(snapshot, i),
        ),
        pipeline.parts(files.DOCUMENTS, snapshot),
    )


def sentence_inputs(pipeline: CleanPlanner, snapshot: str) -> Sequence[dict[str, Output]]:
    """Return what cleaning reads of it for each part, where the recipe cuts sentences."""
    if not _families(pipeline, snapshot).families:
        return LazySequence(lambda *_: {}, pipeline.parts(files.DOCUMENTS, snapshot))
    return LazySequence(
        lambda _, scores: {"sentences": scores}, pipeline.parts(files.SENTENCE_SCORES, snapshot)
    )


def _families(pipeline: CleanPlanner, snapshot: str) -> SignalSettings:
    domain = pipeline.recipe.source_of(snapshot).domain
    cuts = pipeline.recipe.clean_text.sentences
    known = pipeline.recipe.classifiers
    families = (one.family(known) for one in cuts if one.applies_to(domain))
    return SignalSettings(families=tuple(families))


def run_sentence_scores(context: TaskContext) -> None:
    found = aligned_rows(context, files.SENTENCE_SCORES)
    if found is None:
        found = _score(context)
    context.write_table(files.SENTENCE_SCORES, found)


def _score(context: TaskContext) -> pa.Table:
    """Return a column a classifier, row-aligned with the documents."""
    settings = SignalSettings.of_plain(context.task.settings["scores"])
    families = [one for one in settings.families if isinstance(one, Classifier)]
    models, steps = model_files(context), text_steps(context)
    schema = pa.schema([(family.name, SCORED) for family in families])
    batches = []
    documents = context.table("documents", ["domain", "text"])
    for piece in documents.to_batches(max_chunksize=BATCH_DOCUMENTS):
        batch, left = rewritten(pa.table(piece), steps)
        columns = []
        for of_texts in score_sentences(batch, families, models):
            for row, item in enumerate(left):
                if item is not None:
                    places = places_in_extracted(item.kept, [(a, b) for a, b, _ in of_texts[row]])
                    scores = (score for _, _, score in of_texts[row])
                    of_texts[row] = [(*p, s) for p, s in zip(places, scores, strict=True)]
            columns.append(pa.array([[_named(one) for one in own] for own in of_texts], SCORED))
        batches.append(pa.RecordBatch.from_arrays(columns, schema=schema))
    return pa.Table.from_batches(batches, schema=schema)


def _named(sentence: tuple[int, int, float]) -> dict[str, float]:
    return dict(zip(("start", "end", "score"), sentence, strict=True))


def scored_cuts(scores: pa.Table, cuts: "Sequence[SentenceCut]") -> list[Cuts]:
    """Return the sentences of each document that go, by kind."""
    bounds = {one.name: np.float32(one.min_score) for one in cuts}
    return [
        {
            f"{SENTENCE}{name}": [
                (one["start"], one["end"])
                for one in found
                if np.float32(one["score"]) >= bounds[name]
            ]
            for name, found in row.items()
        }
        for row in scores.to_pylist()
    ]


SENTENCE_SCORES = Stage(
    "sentence_scores",
    VERSION,
    Scope.PART,
    plan_sentence_scores,
    run_sentence_scores,
    reads=(files.DOCUMENTS, files.CLASSIFIER),
    writes=(files.SENTENCE_SCORES,),
    by_row=frozenset({"documents"}),
)
