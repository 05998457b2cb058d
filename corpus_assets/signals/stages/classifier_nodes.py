"""The tasks of the nodes behind classifiers: samples of texts, then training.

Classifiers are calibrations: where the lock pins one it has no tasks, and nobody draws the
samples behind it.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpus_assets.clean.scrubbing import sample_settings
from corpus_assets.core.errors import MissingInput, ModelError
from corpus_assets.core.lock import PinnedFile
from corpus_assets.core.store import Output
from corpus_assets.core.task import Task
from corpus_assets.recipe.entries import SIDES, ClassifierEntry, SnapshotSample, TextFiles
from corpus_assets.signals.base import SignalFamily
from corpus_assets.signals.classifier import MODEL, Classifier
from corpus_assets.signals.ensemble import RANKS
from corpus_assets.signals.stages import classifiers

if TYPE_CHECKING:
    from corpus_assets.graph.pipeline import Pipeline

NODE = "classifiers"
FILE_NAME = "classifier.bin"

Sample = tuple[str, str, int, SnapshotSample]  # classifier, side, place there


def classifier_sample_tasks(graph: "Pipeline", snapshot: str) -> list[Task]:
    """For each sample that names the snapshot, one task a part."""
    return [
        Task(
            "classifier_sample",
            classifiers.VERSION,
            {"max_documents": sample.max_documents, "languages": sample.languages}
            | {"seed": graph.recipe.seed}
            | sample_settings(graph, snapshot),
            {"documents": part.outputs["documents.parquet"]},
            _sample_digests(graph, name, sample),
            _sample_params(graph, name, sample),
            label=f"{name} from {snapshot} part {i}",
        )
        for name, _, _, sample in _samples(graph, snapshot)
        for i, part in enumerate(graph.results("documents", snapshot))
    ]


def classifiers_tasks(graph: "Pipeline") -> list[Task]:
    """One task a classifier that is trained and not pinned by the lock."""
    drawn = _drawn(graph)
    tasks = []
    for name, entry in to_train(graph).items():
        family = family_of(graph.recipe.signals.families, name)
        files = {
            f"{side}/{place:04d}": graph.locations.files(texts.files, f"{_key(name)}.{side}")
            for side in SIDES
            for place, texts in enumerate(entry.texts(side))
            if isinstance(texts, TextFiles)
        }
        settings = {**entry.identity(), "name": name, "family": family.model_dump(mode="json")}
        tasks.append(
            Task(
                NODE,
                classifiers.VERSION,
                settings,
                {key.removeprefix(f"{name}/"): out for key, out in drawn.items()
                 if key.startswith(f"{name}/")},
                {key: graph.digests_of(paths) for key, paths in files.items()},
                {"files": {key: [str(path) for path in paths] for key, paths in files.items()}},
                label=name,
            )
        )  # fmt: skip
    return tasks


def to_train(graph: "Pipeline") -> dict[str, ClassifierEntry]:
    return {n: e for n, e in trained(graph).items() if graph.pin_of(NODE, n) is None}


def trained(graph: "Pipeline") -> dict[str, ClassifierEntry]:
    return {n: e for n, e in graph.recipe.classifiers.items() if e.pinned is None}


def family_of(families: Iterable[SignalFamily], name: str) -> Classifier:
    """The family that scores with a classifier; it says how texts are read, in training too."""
    for family in families:
        if isinstance(family, Classifier) and family.name == name:
            return family
    raise MissingInput(f"classifiers.{name}: no signal family reads it")


def classifier_file(graph: "Pipeline", name: str) -> Output:
    """The file of a classifier that is trained here."""
    pin = graph.pin_of(NODE, name)
    if pin is not None:
        return pin
    place = list(to_train(graph)).index(name)
    return graph.results(NODE)[place].outputs[FILE_NAME]


def classifier_files(graph: "Pipeline") -> dict[str, Output]:
    """All classifiers that are trained here, by their names in a lock."""
    return {f"{NODE}/{name}": classifier_file(graph, name) for name in trained(graph)}


def outside_classifiers(graph: "Pipeline") -> dict[str, tuple[Path, str]]:
    """File and digest of classifiers that come from outside, by the names that signals need."""
    found: dict[str, tuple[Path, str]] = {}
    for name, entry in graph.recipe.classifiers.items():
        if entry.pinned is None:
            continue
        need = f"{MODEL}{name}"
        (path,) = graph.locations.files((entry.pinned,), f"{_key(name)}.pinned", need)
        sha256 = graph.digest_of(path)
        if sha256 != entry.sha256:
            raise ModelError(
                f"{_key(name)}: {path} has SHA-256 {sha256}, the recipe says {entry.sha256}: fetch "
                "the file again, or correct the recipe"
            )
        found[need] = path, sha256
    return found


def training_pins(graph: "Pipeline") -> dict[str, tuple[PinnedFile, ...]]:
    """The files that classifiers learn from, for the lock."""
    pinned: dict[str, tuple[PinnedFile, ...]] = {}
    for name, entry in trained(graph).items():
        for side in SIDES:
            for place, texts in enumerate(entry.texts(side)):
                named = texts.files if isinstance(texts, TextFiles) else texts.urls
                key = f"{NODE}/{name}/{side}/{place}"
                paths = graph.locations.files(named, f"{_key(name)}.{side}")
                if paths:
                    pinned[key] = tuple(
                        PinnedFile(
                            name=path.name, bytes=path.stat().st_size, sha256=graph.digest_of(path)
                        )
                        for path in paths
                    )
    return pinned


def learned_inputs(
    graph: "Pipeline", needs: Sequence[str]
) -> tuple[dict[str, Output], dict[str, str], dict[str, str]]:
    """What signals read of learned filters: files of the store, digests and paths of others."""
    outside = outside_classifiers(graph)
    shared: dict[str, Output] = {}
    digests: dict[str, str] = {}
    paths: dict[str, str] = {}
    for need in needs:
        if need == RANKS:
            shared[need] = graph.calibration(RANKS)
        elif need in outside:
            paths[need], digests[need] = str(outside[need][0]), outside[need][1]
        elif need.startswith(MODEL):
            shared[need] = classifier_file(graph, need.removeprefix(MODEL))
    return shared, digests, paths


# -- samples of texts ------------------------------------------------------------------------


def _samples(graph: "Pipeline", snapshot: str) -> list[Sample]:
    """The samples that draw from a snapshot, in a fixed order."""
    return [
        (name, side, place, sample)
        for name, entry in to_train(graph).items()
        for side, place, sample in entry.samples()
        if snapshot in sample.snapshots
    ]


def _drawn(graph: "Pipeline") -> dict[str, Output]:
    """What was drawn, by classifier, side, place, snapshot and part."""
    found: dict[str, Output] = {}
    for snapshot in graph.recipe.snapshots:
        samples = _samples(graph, snapshot)
        if not samples:
            continue
        results = graph.results("classifier_sample", snapshot)
        parts = len(results) // len(samples)
        for k, (name, side, place, _) in enumerate(samples):
            for part, result in enumerate(results[k * parts : (k + 1) * parts]):
                key = f"{name}/{side}/{place:04d}/{snapshot}/{part:05d}"
                found[key] = result.outputs["sample.parquet"]
    return found


def _sample_digests(graph: "Pipeline", name: str, sample: SnapshotSample) -> dict[str, str]:
    digests: dict[str, str] = {}
    if sample.urls:
        digests["urls"] = graph.digests_of(_lists(graph, name, sample))
    if sample.languages is not None:
        digests["lid"] = graph.language_model()[1]
    return digests


def _sample_params(graph: "Pipeline", name: str, sample: SnapshotSample) -> dict[str, Any]:
    params: dict[str, Any] = {}
    if sample.urls:
        params["urls"] = [str(path) for path in _lists(graph, name, sample)]
    if sample.languages is not None:
        params["lid"] = str(graph.language_model()[0])
    return params


def _lists(graph: "Pipeline", name: str, sample: SnapshotSample) -> list[Path]:
    return graph.locations.files(sample.urls, f"{_key(name)}.urls")


def _key(name: str) -> str:
    return f"classifiers.{name}"
