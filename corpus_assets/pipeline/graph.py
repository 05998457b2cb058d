"""The graph of tasks: what each stage of a recipe would run, from what the store already has.

Nothing here is remembered between calls: a stage's tasks are a pure function of the recipe, the
pins and the results of the stages before it. That is why any process, Dagster step or command
can ask for any stage, and why a plan is simply the same question asked without running.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from corpus_assets.errors import MissingInput
from corpus_assets.locations import Locations
from corpus_assets.lock import PinnedFile
from corpus_assets.models import find_model
from corpus_assets.pipeline.pins import SnapshotFiles, file_digest, load_snapshot_files
from corpus_assets.pipeline.shard_plan import shard_tasks
from corpus_assets.recipe import Recipe
from corpus_assets.sources.gates import Suppressions
from corpus_assets.stages import (
    boilerplate,
    clean_text,
    clusters,
    contamination,
    documents,
    eval_index,
    quality_model,
    selection,
    shards,
    signals,
    signatures,
    tokenizer,
)
from corpus_assets.store import Output, Result, Store, load_result
from corpus_assets.task import Task

SNAPSHOT_NODES = (
    "documents",
    "signals",
    "selection",
    "signatures",
    "clusters",
    "contamination",
    "line_counts",
    "boilerplate",
    "clean_text",
    "tokenizer_sample",
    "shard_counts",
    "tokens",
    "shards",
)
GLOBAL_NODES = ("eval_index", "quality_model", "quality_cutoffs", "tokenizer")

ASSET_NODES: Mapping[str, tuple[str, ...]] = {
    "documents": ("documents",),
    "eval_index": ("eval_index",),
    "quality_model": ("quality_model",),
    "signals": ("signals",),
    "quality_cutoffs": ("quality_cutoffs",),
    "selection": ("selection",),
    "signatures": ("signatures",),
    "clusters": ("clusters",),
    "contamination": ("contamination",),
    "clean_text": ("line_counts", "boilerplate", "clean_text"),
    "tokenizer": ("tokenizer_sample", "tokenizer"),
    "shards": ("shard_counts", "tokens", "shards"),
}
"""Assets in the order of the graph, each with its nodes in the order they run."""

CALIBRATION_FILES: Mapping[str, str] = {
    "quality_model": "quality.bin",
    "eval_index": "eval_index.bin",
    "quality_cutoffs": "cutoffs.json",
    "boilerplate": "boilerplate.parquet",
    "tokenizer": "tokenizer.json",
    "shard_counts": "shard_counts.json",
}
"""The nodes that a lock pins, each with the one file it writes."""


@dataclass
class Pipeline:
    """A recipe bound to a store; answers which tasks a node has and what they left."""

    recipe: Recipe
    locations: Locations
    store: Store
    suppressions: Suppressions = field(default_factory=Suppressions)
    pins: Mapping[str, Output] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._known: dict[tuple[str, str | None], list[Result]] = {}
        self._digests: dict[Path, str] = {}

    # -- questions ---------------------------------------------------------------------------

    def tasks(self, node: str, snapshot: str | None = None) -> list[Task]:
        """The tasks of a node; MissingInput when a stage before it has not finished.

        A calibration that the lock pins has none: it is not resolved again.
        """
        if self.pin_of(node, snapshot):
            return []
        method = getattr(self, f"_{node}")
        tasks: list[Task] = method(snapshot) if node in SNAPSHOT_NODES else method()
        return tasks

    def results(self, node: str, snapshot: str | None = None) -> list[Result]:
        """The finished results of all tasks of a node; MissingInput when any is absent."""
        key = (node, snapshot)
        if key not in self._known:
            found = [self.result_of(task) for task in self.tasks(node, snapshot)]
            if any(result is None for result in found):
                where = f" of {snapshot}" if snapshot else ""
                raise MissingInput(
                    f"{node}{where} is not complete; materialize it first, or run `corpus build`"
                )
            self._known[key] = [result for result in found if result is not None]
        return self._known[key]

    def result_of(self, task: Task) -> Result | None:
        return load_result(self.store, task.stage, task.fingerprint)

    def pin_of(self, node: str, snapshot: str | None = None) -> Output | None:
        """The lock's file for a calibration; its node is then never run."""
        return self.pins.get(f"{node}/{snapshot}" if snapshot else node)

    def calibration(self, node: str, snapshot: str | None = None) -> Output:
        """A pinned file: the lock's where there is one, else what the graph resolved."""
        pin = self.pin_of(node, snapshot)
        return pin or self.results(node, snapshot)[0].outputs[CALIBRATION_FILES[node]]

    def calibrations(self) -> dict[str, Output]:
        """Every calibration of the recipe by its name in a lock."""
        found = {"tokenizer": self.tokenizer_file()}
        if self.recipe.quality_model:
            found["quality_model"] = self.quality_model_file()
        if self.recipe.eval_suites:
            found["eval_index"] = self.eval_index_file()
        found["quality_cutoffs"] = self.cutoffs_file()
        for snapshot in self.recipe.snapshots:
            found[f"boilerplate/{snapshot}"] = self.boilerplate_file(snapshot)
            found[f"shard_counts/{snapshot}"] = self.shard_counts_file(snapshot)
        return found

    def quality_model_file(self) -> Output:
        return self.calibration("quality_model")

    def eval_index_file(self) -> Output:
        return self.calibration("eval_index")

    def cutoffs_file(self) -> Output:
        return self.calibration("quality_cutoffs")

    def boilerplate_file(self, snapshot: str) -> Output:
        return self.calibration("boilerplate", snapshot)

    def shard_counts_file(self, snapshot: str) -> Output:
        return self.calibration("shard_counts", snapshot)

    def tokenizer_file(self) -> Output:
        return self.calibration("tokenizer")

    def snapshot_files(self, snapshot: str) -> SnapshotFiles:
        return load_snapshot_files(self.store, snapshot)

    def inputs(self) -> dict[str, tuple[PinnedFile, ...]]:
        """Every file that goes in, for the lock."""
        pinned = {name: self.snapshot_files(name).pinned for name in self.recipe.snapshots}
        lists = {"blocklists": self.recipe.blocklists, "eval_suites": self.recipe.eval_suites}
        if self.recipe.quality_model:
            lists["quality_positives"] = self.recipe.quality_model.positives
            lists["quality_negatives"] = self.recipe.quality_model.negatives
        for name, patterns in lists.items():
            pinned[name] = tuple(
                PinnedFile(name=path.name, bytes=path.stat().st_size, sha256=self._digest(path))
                for path in self.locations.files(patterns, name)
            )
        return pinned

    def language_model(self) -> tuple[Path, str]:
        """The language identifier's file and digest."""
        setting = self.recipe.language_model
        path = find_model(setting.model, setting.sha256)
        return path, self._digest(path)

    # -- nodes: one method each --------------------------------------------------------------

    def _documents(self, snapshot: str) -> list[Task]:
        source = self.recipe.source_of(snapshot)
        blocklists = self.locations.files(self.recipe.blocklists, "blocklists")
        spec = source.identity()
        del spec["snapshots"]
        settings = {
            "source": spec,
            "snapshot": snapshot,
            "ingest": self.recipe.documents.identity(),
            "suppressions": self.suppressions.identity(),
        }
        lists = {f"blocklist/{path.name}": self._digest(path) for path in blocklists}
        return [
            Task(
                "documents",
                documents.VERSION,
                settings | {"part": part},
                extra_inputs={file.name: file.sha256} | lists,
                params={
                    "file": asdict(file),
                    "blocklists": [str(path) for path in blocklists],
                },
                label=f"{snapshot} {file.name}",
            )
            for part, file in enumerate(self.snapshot_files(snapshot).files)
        ]

    def _quality_model(self) -> list[Task]:
        entry = self.recipe.quality_model
        if entry is None:
            return []
        positives = self.locations.files(entry.positives, "quality_model.positives")
        negatives = self.locations.files(entry.negatives, "quality_model.negatives")
        return [
            Task(
                "quality_model",
                quality_model.VERSION,
                {"train": entry.train.identity(), "seed": self.recipe.seed},
                extra_inputs={
                    "positives": self._digests_of(positives),
                    "negatives": self._digests_of(negatives),
                },
                params={
                    "positives": [str(path) for path in positives],
                    "negatives": [str(path) for path in negatives],
                },
            )
        ]

    def _eval_index(self) -> list[Task]:
        if not self.recipe.eval_suites:
            return []
        suites = self.locations.files(self.recipe.eval_suites, "eval_suites")
        return [
            Task(
                "eval_index",
                eval_index.VERSION,
                self.recipe.eval_index.identity(),
                extra_inputs={path.name: self._digest(path) for path in suites},
                params={"suites": [str(path) for path in suites]},
            )
        ]

    def _signals(self, snapshot: str) -> list[Task]:
        needs = self.recipe.signals.needs()
        settings = {
            "signals": self.recipe.signals.model_dump(mode="json"),
            "families": self.recipe.signals.identity(),  # with the version of each family
        }
        shared: dict[str, Output] = {}
        params: dict[str, Any] = {}
        extra: dict[str, str] = {}
        if "quality" in needs:
            shared["quality"] = self.quality_model_file()
        if "lid" in needs:
            path, extra["lid"] = self.language_model()
            params["lid"] = str(path)
        return [
            Task(
                "signals",
                signals.VERSION,
                settings,
                {"documents": part.outputs["documents.parquet"]} | shared,
                extra,
                params,
                label=_part_label(snapshot, i),
            )
            for i, part in enumerate(self.results("documents", snapshot))
        ]

    def _quality_cutoffs(self) -> list[Task]:
        inputs: dict[str, Output] = {}
        for snapshot in self.recipe.calibration_snapshots:
            domain = self.recipe.source_of(snapshot).domain
            for i, part in enumerate(self.results("signals", snapshot)):
                inputs[f"{domain}/{snapshot}/{i:05d}"] = part.outputs["signals.parquet"]
        settings = self.recipe.selection.identity()
        return [Task("quality_cutoffs", selection.VERSION, settings, inputs)]

    def _selection(self, snapshot: str) -> list[Task]:
        cutoffs = self.cutoffs_file()
        settings = {
            "selection": self.recipe.selection.identity(),
            "domain": self.recipe.source_of(snapshot).domain,
        }
        return [
            Task(
                "selection",
                selection.VERSION,
                settings,
                {"signals": part.outputs["signals.parquet"], "cutoffs": cutoffs},
                label=_part_label(snapshot, i),
            )
            for i, part in enumerate(self.results("signals", snapshot))
        ]

    def _signatures(self, snapshot: str) -> list[Task]:
        settings = self.recipe.signatures.identity()
        return [
            Task(
                "signatures",
                signatures.VERSION,
                settings,
                {"documents": part.outputs["documents.parquet"]},
                label=_part_label(snapshot, i),
            )
            for i, part in enumerate(self.results("documents", snapshot))
        ]

    def _clusters(self, snapshot: str) -> list[Task]:
        inputs: dict[str, Output] = {}
        window = self.cluster_window(snapshot)
        for name in window:
            for node, file in (("signals", "signals"), ("selection", "selection"),
                               ("signatures", "signatures")):  # fmt: skip
                for i, part in enumerate(self.results(node, name)):
                    inputs[f"{name}/{i:05d}/{node}"] = part.outputs[f"{file}.parquet"]
        settings = {
            "clusters": self.recipe.clusters.identity(),
            "signatures": self.recipe.signatures.identity(),
            "window": list(window),
            "parts": len(self.results("signatures", snapshot)),
        }
        return [Task("clusters", clusters.VERSION, settings, inputs, label=snapshot)]

    def cluster_window(self, snapshot: str) -> Sequence[str]:
        """The snapshots whose documents a snapshot is compared with, first in rank first.

        Rank is the order in the recipe; a snapshot itself is always the last of its window.
        """
        scope = self.recipe.clusters.scope
        place = self.recipe.snapshots.index(snapshot)
        before = (
            {"per_snapshot": 0, "all": place}[scope] if isinstance(scope, str) else scope.rolling
        )
        return self.recipe.snapshots[max(0, place - before) : place + 1]

    def _contamination(self, snapshot: str) -> list[Task]:
        if not self.recipe.eval_suites:
            return []
        index = self.eval_index_file()
        settings = self.recipe.contamination.scan.identity()
        return [
            Task(
                "contamination",
                contamination.VERSION,
                settings,
                {"documents": part.outputs["documents.parquet"], "eval_index": index},
                label=_part_label(snapshot, i),
            )
            for i, part in enumerate(self.results("documents", snapshot))
        ]

    def _line_counts(self, snapshot: str) -> list[Task]:
        if self.pin_of("boilerplate", snapshot):
            return []
        settings = self.recipe.clean_text.boilerplate.identity()
        return [
            Task(
                "line_counts",
                boilerplate.VERSION,
                settings,
                {"documents": part.outputs["documents.parquet"]},
                label=_part_label(snapshot, i),
            )
            for i, part in enumerate(self.results("documents", snapshot))
        ]

    def _boilerplate(self, snapshot: str) -> list[Task]:
        inputs = {
            f"{i:05d}": part.outputs["line_counts.parquet"]
            for i, part in enumerate(self.results("line_counts", snapshot))
        }
        settings = self.recipe.clean_text.boilerplate.identity()
        return [Task("boilerplate", boilerplate.VERSION, settings, inputs, label=snapshot)]

    def _clean_text(self, snapshot: str) -> list[Task]:
        members = self.results("clusters", snapshot)[0]
        lines = self.boilerplate_file(snapshot)
        hits = self.results("contamination", snapshot)
        settings = {
            "clean_text": self.recipe.clean_text.identity(),
            "verdict": self.recipe.contamination.verdict.identity(),
            "domain": self.recipe.source_of(snapshot).domain,
        }
        tasks = []
        selected = self.results("selection", snapshot)
        for i, part in enumerate(self.results("documents", snapshot)):
            inputs = {
                "records": part.outputs["records.parquet"],
                "documents": part.outputs["documents.parquet"],
                "selection": selected[i].outputs["selection.parquet"],
                "members": members.outputs[f"members-{i:05d}.parquet"],
                "boilerplate": lines,
            }
            if hits:
                inputs["hits"] = hits[i].outputs["hits.parquet"]
            label = _part_label(snapshot, i)
            tasks.append(Task("clean_text", clean_text.VERSION, settings, inputs, label=label))
        return tasks

    def _tokenizer_sample(self, snapshot: str) -> list[Task]:
        entry = self.recipe.tokenizer
        is_asked = snapshot in self.recipe.calibration_snapshots and not self.pin_of("tokenizer")
        if entry.train is None or not is_asked:
            return []
        settings = {
            "sample": entry.sample.identity(),
            "seed": self.recipe.seed,
            "domain": self.recipe.source_of(snapshot).domain,
        }
        scores = self.results("signals", snapshot)
        return [
            Task(
                "tokenizer_sample",
                tokenizer.VERSION,
                settings,
                {
                    "documents": part.outputs["documents.parquet"],
                    "signals": scores[i].outputs["signals.parquet"],
                },
                label=_part_label(snapshot, i),
            )
            for i, part in enumerate(self.results("documents", snapshot))
        ]

    def _tokenizer(self) -> list[Task]:
        entry = self.recipe.tokenizer
        if entry.pinned is not None:
            path = self.locations.files((entry.pinned,), "tokenizer.pinned")[0]
            settings: dict[str, Any] = entry.identity()
            del settings["pinned"], settings["train"], settings["sample"]
            params = {"pinned": str(path)}
            return [Task("tokenizer", tokenizer.VERSION, settings, params=params)]
        inputs = {
            f"{snapshot}/{i:05d}": part.outputs["sample.parquet"]
            for snapshot in self.recipe.calibration_snapshots
            for i, part in enumerate(self.results("tokenizer_sample", snapshot))
        }
        settings = {"max_chars": entry.sample.max_chars}
        if entry.train is not None:
            settings["train"] = entry.train.identity()
        return [Task("tokenizer", tokenizer.VERSION, settings, inputs)]

    def _shard_counts(self, snapshot: str) -> list[Task]:
        totals: dict[str, int] = {}
        for part in self.results("clean_text", snapshot):
            for group, chars in part.notes["chars_by_group"].items():
                totals[group] = totals.get(group, 0) + chars
        settings = {"chars": totals, "tokens_per_shard": self.recipe.shards.tokens_per_shard}
        return [Task("shard_counts", shards.VERSION, settings, label=snapshot)]

    def _tokens(self, snapshot: str) -> list[Task]:
        shared = {
            "tokenizer": self.tokenizer_file(),
            "shard_counts": self.shard_counts_file(snapshot),
        }
        return [
            Task(
                "tokens",
                shards.VERSION,
                {"seed": self.recipe.seed, "special": self.recipe.tokenizer.special_names()},
                {"final": part.outputs["final.parquet"]} | shared,
                label=_part_label(snapshot, i),
            )
            for i, part in enumerate(self.results("clean_text", snapshot))
        ]

    def _shards(self, snapshot: str) -> list[Task]:
        return shard_tasks(
            self.store,
            snapshot,
            self.results("tokens", snapshot),
            self.shard_counts_file(snapshot),
            self.tokenizer_file(),
            self.recipe,
        )

    # -- digests of files outside the store --------------------------------------------------

    def _digest(self, path: Path) -> str:
        if path not in self._digests:
            self._digests[path] = file_digest(path)
        return self._digests[path]

    def _digests_of(self, paths: Sequence[Path]) -> str:
        return "+".join(self._digest(path) for path in paths)


def _part_label(snapshot: str, part: int) -> str:
    return f"{snapshot} part {part}"
