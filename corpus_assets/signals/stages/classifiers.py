"""The stages of classifiers: samples of texts, then training.

Classifiers are calibrations: where the lock pins one it has no tasks, and no sample is drawn for
it.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from corpus_assets.core import files
from corpus_assets.core.errors import MissingInput, RecipeError, SourceError
from corpus_assets.core.lazy_sequence import LazySequence
from corpus_assets.core.lock import PinnedFile
from corpus_assets.core.sample import first_drawn
from corpus_assets.core.schemas import SOURCE_LABELS
from corpus_assets.core.stage import Calibration, Scope, Stage
from corpus_assets.core.store import Output, local_checked
from corpus_assets.core.task import Task, TaskContext, count
from corpus_assets.scrub import sample_settings, scrubbed_sample
from corpus_assets.signals.base import SignalFamily
from corpus_assets.signals.classifier import MODEL, Classifier, Label, Reading
from corpus_assets.signals.ensemble import RANKS
from corpus_assets.signals.import_tables import find_import
from corpus_assets.signals.importance import Importance
from corpus_assets.signals.importance_training import train_importance
from corpus_assets.signals.imported import IMPORT, Imported
from corpus_assets.signals.source_labels import SourceLabels
from corpus_assets.signals.stages.classifier_settings import (
    LABELLED,
    SIDES,
    ClassifierEntry,
    SnapshotSample,
    TextFiles,
    TrainSettings,
)
from corpus_assets.signals.stages.classifier_training import (
    VERSION,
    TrainedClassifier,
    train_classifier,
    train_labels,
)
from corpus_assets.signals.stages.planner import SignalsPlanner
from corpus_assets.signals.stages.training_sample import (
    draw_documents,
    read_page_list,
    read_texts,
)
from corpus_assets.text.batch import TextBatch

NODE = files.CLASSIFIER.stage
COLUMNS = ["doc_id", "url_key", "host", "text"]

Sample = tuple[str, str, int, SnapshotSample]  # classifier, side, place there


def plan_sample(pipeline: SignalsPlanner, snapshot: str) -> Sequence[Task]:
    """For each sample that names the snapshot, one task a part."""
    drawn = [
        (
            name,
            {"max_documents": sample.max_documents, "languages": sample.languages}
            | {"seed": pipeline.recipe.seed}
            | _label_settings(pipeline, name)
            | sample_settings(pipeline, snapshot),
            _sample_digests(pipeline, name, sample),
            _sample_params(pipeline, name, sample),
        )
        for name, _, _, sample in _samples(pipeline, snapshot)
    ]
    if not drawn:
        return []
    documents = pipeline.parts(files.DOCUMENTS, snapshot)

    def task(number: int, _: int) -> Task:
        which, i = divmod(number, len(documents))
        name, settings, digests, params = drawn[which]
        label = f"{name} from {snapshot} part {i}"
        return CLASSIFIER_SAMPLE.task(settings, {"documents": documents[i]}, digests, params, label)

    return LazySequence(task, range(len(drawn) * len(documents)))


def _label_settings(pipeline: SignalsPlanner, name: str) -> dict[str, Any]:
    """Return the signal that a classifier's sample takes labels from, and the family that gives it."""
    signal = pipeline.recipe.classifiers[name].labels_from
    if signal is None:
        return {}
    return {"signal": signal, "family": _labelling(pipeline, name, signal).identity()}


def _labelling(pipeline: SignalsPlanner, name: str, signal: str) -> Imported | SourceLabels:
    column = signal.partition(".")[0]
    for family in pipeline.recipe.signals.families:
        if isinstance(family, Imported | SourceLabels) and column in family.columns():
            return family
    raise RecipeError(
        f"{_key(name)}.labels_from: no family `source_labels` or `imported` gives {column!r}; list "
        "one that does under signals.families"
    )


def plan_classifiers(pipeline: SignalsPlanner) -> list[Task]:
    """One task a classifier that is trained and not pinned by the lock."""
    drawn = _drawn(pipeline)
    tasks = []
    for name, entry in to_train(pipeline).items():
        family = family_of(pipeline.recipe.scoring_families(), name)
        texts_of = {
            f"{side}/{place:04d}": pipeline.locations.files(texts.files, f"{_key(name)}.{side}")
            for side in SIDES
            for place, texts in enumerate(entry.texts(side))
            if isinstance(texts, TextFiles)
        }
        settings = {
            **entry.identity(),
            "name": name,
            "family": family.model_dump(mode="json", exclude={"engine"}),
        }
        tasks.append(
            CLASSIFIERS.task(
                settings,
                {key.removeprefix(f"{name}/"): out for key, out in drawn.items()
                 if key.startswith(f"{name}/")},
                {key: pipeline.digests_of(paths) for key, paths in texts_of.items()},
                {"files": {key: [str(path) for path in paths] for key, paths in texts_of.items()}},
                label=name,
            )
        )  # fmt: skip
    return tasks


def to_train(pipeline: SignalsPlanner) -> dict[str, ClassifierEntry]:
    return {n: e for n, e in trained(pipeline).items() if pipeline.pin_of(NODE, n) is None}


def trained(pipeline: SignalsPlanner) -> dict[str, ClassifierEntry]:
    return {n: e for n, e in pipeline.recipe.classifiers.items() if e.is_trained}


def family_of(families: Iterable[SignalFamily], name: str) -> Classifier | Label | Importance:
    """Return the family that scores with a classifier; it says how texts are read, in training too."""
    for family in families:
        if isinstance(family, Classifier | Label | Importance) and family.name == name:
            return family
    raise MissingInput(f"classifiers.{name}: no signal family reads it")


def classifier_file(pipeline: SignalsPlanner, name: str) -> Output:
    """Return the file of a classifier that is trained here."""
    pin = pipeline.pin_of(NODE, name)
    if pin is not None:
        return pin
    place = list(to_train(pipeline)).index(name)
    return pipeline.parts(files.CLASSIFIER)[place]


def classifier_files(pipeline: SignalsPlanner) -> dict[str, Output]:
    """All classifiers that are trained here, by their names in a lock."""
    return {f"{NODE}/{name}": classifier_file(pipeline, name) for name in trained(pipeline)}


def outside_classifiers(pipeline: SignalsPlanner) -> dict[str, tuple[Path, str]]:
    """File and digest of classifiers that come from outside, by the names that signals need."""
    found: dict[str, tuple[Path, str]] = {}
    for name, entry in pipeline.recipe.classifiers.items():
        need = f"{MODEL}{name}"
        if entry.model is not None:
            found[need] = pipeline.model(entry.model, _key(name), need)
    return found


def training_pins(pipeline: SignalsPlanner) -> dict[str, tuple[PinnedFile, ...]]:
    """Return the files that classifiers learn from, for the lock."""
    pinned: dict[str, tuple[PinnedFile, ...]] = {}
    for name, entry in trained(pipeline).items():
        for side in SIDES:
            for place, texts in enumerate(entry.texts(side)):
                named = texts.files if isinstance(texts, TextFiles) else texts.urls
                key = f"{NODE}/{name}/{side}/{place}"
                paths = pipeline.locations.files(named, f"{_key(name)}.{side}")
                if paths:
                    pinned[key] = tuple(
                        PinnedFile(
                            name=path.name,
                            bytes=path.stat().st_size,
                            sha256=pipeline.digest_of(path),
                        )
                        for path in paths
                    )
    return pinned


def learned_inputs(
    pipeline: SignalsPlanner, needs: Sequence[str]
) -> tuple[dict[str, Output], dict[str, str], dict[str, str]]:
    """Return what signals read of learned filters: files of the store, digests and paths of others."""
    outside = outside_classifiers(pipeline)
    shared: dict[str, Output] = {}
    digests: dict[str, str] = {}
    paths: dict[str, str] = {}
    for need in needs:
        if need == RANKS:
            shared[need] = pipeline.calibration(files.SCORE_RANKS)
        elif need in outside:
            paths[need], digests[need] = str(outside[need][0]), outside[need][1]
        elif need.startswith(MODEL):
            shared[need] = classifier_file(pipeline, need.removeprefix(MODEL))
    return shared, digests, paths


# Samples of texts.


def _samples(pipeline: SignalsPlanner, snapshot: str) -> list[Sample]:
    """Return the samples that draw from a snapshot, in a fixed order."""
    return [
        (name, side, place, sample)
        for name, entry in to_train(pipeline).items()
        for side, place, sample in entry.samples()
        if snapshot in sample.snapshots
    ]


def _drawn(pipeline: SignalsPlanner) -> dict[str, Output]:
    """Return what was drawn, by classifier, side, place, snapshot and part."""
    found: dict[str, Output] = {}
    for snapshot in pipeline.recipe.snapshots:
        samples = _samples(pipeline, snapshot)
        if not samples:
            continue
        drawn = pipeline.parts(files.CLASSIFIER_SAMPLE, snapshot)
        parts = len(drawn) // len(samples)
        for k, (name, side, place, _) in enumerate(samples):
            for part, output in enumerate(drawn[k * parts : (k + 1) * parts]):
                found[f"{name}/{side}/{place:04d}/{snapshot}/{part:05d}"] = output
    return found


def _sample_digests(pipeline: SignalsPlanner, name: str, sample: SnapshotSample) -> dict[str, str]:
    digests: dict[str, str] = {}
    if sample.urls:
        digests["urls"] = pipeline.digests_of(_lists(pipeline, name, sample))
    if sample.languages is not None:
        digests["lid"] = pipeline.language_model()[1]
    signal = pipeline.recipe.classifiers[name].labels_from
    if signal is not None:
        for need in _labelling(pipeline, name, signal).needs():
            digests[need] = need.removeprefix(IMPORT)
    return digests


def _sample_params(pipeline: SignalsPlanner, name: str, sample: SnapshotSample) -> dict[str, Any]:
    params: dict[str, Any] = {}
    if sample.urls:
        params["urls"] = [str(path) for path in _lists(pipeline, name, sample)]
    if sample.languages is not None:
        params["lid"] = str(pipeline.language_model()[0])
    signal = pipeline.recipe.classifiers[name].labels_from
    if signal is not None:
        for need in _labelling(pipeline, name, signal).needs():
            kept = find_import(pipeline.store, need.removeprefix(IMPORT))
            params["import"] = [need, kept.path, kept.now]
    return params


def _lists(pipeline: SignalsPlanner, name: str, sample: SnapshotSample) -> list[Path]:
    return pipeline.locations.files(sample.urls, f"{_key(name)}.urls")


def _key(name: str) -> str:
    return f"classifiers.{name}"


# What tasks do.


def run_sample(context: TaskContext) -> None:
    settings, params = context.task.settings, context.task.params
    table = context.table("documents", [*COLUMNS, "text_id", SOURCE_LABELS])
    n_documents = table.num_rows
    label_of: dict[bytes, str] = {}
    if "signal" in settings:
        labels = _labels(context, table)
        table = table.filter(labels.is_valid())
        label_of = dict(
            zip(table["doc_id"].to_pylist(), labels.drop_null().to_pylist(), strict=True)
        )
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
    if "signal" in settings:
        own = [label_of[doc_id] for doc_id in drawn["doc_id"].to_pylist()]
        drawn = drawn.append_column("label", pa.array(own, pa.string()))
    context.write_table(files.CLASSIFIER_SAMPLE, drawn)
    count(context, n_documents, drawn.num_rows)
    if pages is not None:
        context.notes["list_lines_passed_over"] = pages.passed_over


def _labels(context: TaskContext, table: pa.Table) -> pa.Array:
    """Return the label of each document, by the family that gives it."""
    family_settings = dict(context.task.settings["family"])
    del family_settings["version"]
    family: Imported | SourceLabels = (
        Imported.model_validate(family_settings)
        if family_settings["family"] == "imported"
        else SourceLabels.model_validate(family_settings)
    )
    models = {}
    if "import" in context.task.params:
        need, path, sha256 = context.param("import")
        models[need] = local_checked(context.store, path, sha256)
    batch = TextBatch.from_arrow(table["text"])
    there = [name for name in family.of_documents() if name in table.column_names]
    batch.columns = {name: table[name].combine_chunks() for name in there}
    column, *members = context.task.settings["signal"].split(".")
    found = family.compute(batch, models).column(column)
    labels = pc.struct_field(found, members) if members else found
    if not pa.types.is_string(labels.type):
        raise RecipeError(
            f"{context.task.settings['signal']} is not a label but {labels.type}; name one that is"
        )
    return labels


def run_classifiers(context: TaskContext) -> None:
    settings = context.task.settings
    if "labels_from" in settings:
        tables = context.tables(context.names(f"{LABELLED}/"))
        drawn = first_drawn(tables, settings["documents"]["max_documents"])
        taught = train_labels(
            drawn["text"].to_pylist(),
            drawn["label"].to_pylist(),
            _family(settings),
            context.settings(TrainSettings, "train"),
        )
        context.write_bytes(files.CLASSIFIER, taught.model)
        context.counts["documents_in"] = drawn.num_rows
        context.notes["metrics"] = {settings["name"]: taught.metrics}
        return
    positives, negatives = (_texts(context, side) for side in SIDES)
    family = _family(settings)
    if isinstance(family, Importance):
        table = train_importance(positives, negatives, family)
        trained = TrainedClassifier(
            table, {"n_targets": len(positives), "n_raw": len(negatives), "model_bytes": len(table)}
        )
    else:
        trained = _trained(context, positives, negatives)
    context.write_bytes(files.CLASSIFIER, trained.model)
    context.counts["documents_in"] = len(positives) + len(negatives)
    context.notes["metrics"] = {settings["name"]: trained.metrics}


def _trained(context: TaskContext, positives: list[str], negatives: list[str]) -> TrainedClassifier:
    settings = context.task.settings
    return train_classifier(
        positives,
        negatives,
        _family(settings),
        context.settings(TrainSettings, "train"),
    )


def _family(settings: Mapping[str, Any]) -> Classifier | Importance:
    """Return what scores with a classifier, as far as training asks it."""
    family_settings = settings["family"]
    is_importance = family_settings["family"] == "importance"
    family = (
        Importance(**family_settings) if is_importance else Classifier(name=family_settings["name"])
    )
    return family.with_reading(Reading(**{key: settings[key] for key in Reading.model_fields}))


def _texts(context: TaskContext, side: str) -> list[str]:
    """All texts of a side, those of each entry in its order."""
    texts: list[str] = []
    for place, entry in enumerate(context.task.settings[side]):
        key = f"{side}/{place:04d}"
        if "max_documents" in entry:
            tables = context.tables(context.names(f"{key}/"))
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


def _may_hold(recipe: Mapping[str, Any], name: str) -> str:
    families = recipe.get("signals", {}).get("families", ())
    if {"importance"} == {f["family"] for f in families if f.get("name") == name}:
        return (
            "how often words and pairs of words fall into each of some thousand hashed places; no "
            "text"
        )
    least = recipe["classifiers"][name]["train"]["min_documents"]
    return (
        f"64-bit hashes of words that occur in {least} or more of the texts it was trained on, and "
        "how they weigh; rarer words and runs of words as weights in hashed places; no spelling"
    )


CLASSIFIER_SAMPLE = Stage(
    "classifier_sample",
    VERSION,
    Scope.PART,
    plan_sample,
    run_sample,
    reads=(files.DOCUMENTS,),
    writes=(files.CLASSIFIER_SAMPLE,),
)

CLASSIFIERS = Stage(
    "classifiers",
    VERSION,
    Scope.ALL,
    plan_classifiers,
    run_classifiers,
    about="Classifiers, trained on their positives and negatives.",
    reads_all=(files.CLASSIFIER_SAMPLE,),
    writes=(files.CLASSIFIER,),
    calibration=Calibration(
        files.CLASSIFIER,
        _may_hold,
        classifier_files,
        is_model=True,
        is_by_name=True,
        asks=("classifiers.*",),
    ),
    inputs=training_pins,
)
