"""The graph of tasks: what each stage of a recipe would run, from what the store already has.

Nothing here is remembered between calls: a stage's tasks are a pure function of the recipe, the
pins and the results of the stages before it. That is why any process, Dagster step or command
can ask for any stage, and why a plan is simply the same question asked without running.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from corpus_assets.clean.scrubbing import hash_list_pins
from corpus_assets.clean.span_nodes import span_calibrations
from corpus_assets.core.errors import MissingInput, ModelError, RecipeError
from corpus_assets.core.lock import Lock, PinnedFile
from corpus_assets.core.store import (
    RESULT,
    Output,
    Result,
    Store,
    artifact_folder,
    damaged,
    load_result,
)
from corpus_assets.core.task import Task
from corpus_assets.decontam.nodes import suite_pins
from corpus_assets.graph.calibrations import CALIBRATIONS
from corpus_assets.graph.nodes import GLOBAL_NODES, SNAPSHOT_NODES
from corpus_assets.ingest.gates.gates import Suppressions
from corpus_assets.ingest.list_nodes import category_files, site_pins
from corpus_assets.ingest.pins import SnapshotFiles, file_digest, load_snapshot_files
from corpus_assets.models.files import find_model
from corpus_assets.recipe.locations import Locations
from corpus_assets.recipe.recipe import Recipe
from corpus_assets.signals.stages.classifier_nodes import classifier_files, training_pins
from corpus_assets.signals.stages.perplexity_nodes import has_trained, model_pins
from corpus_assets.signals.stages.rank_nodes import ensemble_of

ASSET_NODES: Mapping[str, tuple[str, ...]] = {
    "documents": ("category_index", "site_rules", "robots_index", "documents"),
    "eval_index": ("eval_index",),
    "classifiers": ("classifier_sample", "classifiers"),
    "perplexity_models": ("perplexity_model", "perplexity_models"),
    "score_ranks": ("score_sample", "score_ranks"),
    "signals": ("signals",),
    "quality_cutoffs": ("quality_cutoffs",),
    "selection": ("selection",),
    "signatures": ("signatures",),
    "clusters": ("clusters",),
    "contamination": ("contamination",),
    "common_items": ("common_items",),
    "clean_text": (
        "line_keys",
        "line_counts",
        "common_lines",
        "line_candidates",
        "boilerplate",
        "span_prints",
        "common_prints",
        "span_grams",
        "repeated_spans",
        "clean_text",
    ),
    "tokenizer": ("tokenizer_amounts", "tokenizer_draw", "tokenizer_sample", "tokenizer"),
    "shards": ("shard_counts", "tokens", "shards"),
    "lineage_keys": ("lineage_keys",),
}
"""Assets in the order of the graph, each with its nodes in the order they run."""

NODE_ASSETS = {node: asset for asset, nodes in ASSET_NODES.items() for node in nodes}


@dataclass
class Pipeline:
    """A recipe bound to a store; answers which tasks a node has and what they left."""

    recipe: Recipe
    locations: Locations
    store: Store
    suppressions: Suppressions = field(default_factory=Suppressions)
    pins: Mapping[str, Output] = field(default_factory=dict)
    is_locked: bool = False  # a lock says what every calibration is: none is resolved
    lock: Lock | None = None  # of the version that is built again
    recorded: Callable[[str], Mapping[str, str]] | None = None  # a stage's contents by fingerprint

    def __post_init__(self) -> None:
        self._known: dict[tuple[str, str | None], list[Result]] = {}
        self._digests: dict[Path, str] = {}
        self._document_tasks: dict[tuple[str, str, str], list[Task]] = {}

    # -- questions ---------------------------------------------------------------------------

    def tasks(self, node: str, snapshot: str | None = None) -> list[Task]:
        """The tasks of a node; MissingInput when a stage before it has not finished.

        A calibration that the lock pins has none: it is not resolved again.
        """
        if self.pin_of(node, snapshot):
            return []
        if node in GLOBAL_NODES:
            return self._unlocked(node, GLOBAL_NODES[node](self))
        if snapshot is None:
            raise MissingInput(f"{node} runs by snapshot; name one")
        if node in CALIBRATIONS:
            return self._unlocked(node, SNAPSHOT_NODES[node](self, snapshot))
        if node != "documents":
            return SNAPSHOT_NODES[node](self, snapshot)
        # Every stage asks for these, and comparing parts with new orders reads their keys.
        asked = (snapshot, self.snapshot_files(snapshot).content_hash, self.suppressions.digest)
        if asked not in self._document_tasks:
            self._document_tasks[asked] = SNAPSHOT_NODES[node](self, snapshot)
        return self._document_tasks[asked]

    def _unlocked(self, node: str, tasks: list[Task]) -> list[Task]:
        """Refuse to resolve what a lock should have pinned: it would not be what the lock names."""
        if self.is_locked and tasks and node in CALIBRATIONS:
            raise RecipeError(
                f"the lock pins no {node}, which this recipe needs; make a new lock with `corpus "
                "lock`, or use --calibrations to resolve what the lock has not"
            )
        return tasks

    def results(self, node: str, snapshot: str | None = None) -> list[Result]:
        """The finished results of all tasks of a node; MissingInput when any is absent."""
        key = (node, snapshot)
        if key not in self._known:
            found = [self.result_of(task) for task in self.tasks(node, snapshot)]
            if any(result is None for result in found):
                asset = NODE_ASSETS[node]
                by_snapshot = ASSET_NODES[asset][-1] in SNAPSHOT_NODES
                where = f" of {snapshot}" if snapshot and by_snapshot else ""
                raise MissingInput(
                    f"{asset}{where} is not complete; materialize it first, or run `corpus build`"
                )
            self._known[key] = [result for result in found if result is not None]
        return self._known[key]

    def result_of(self, task: Task) -> Result | None:
        return self.load(task.stage, task.fingerprint)

    def load(self, stage: str, fingerprint: str) -> Result | None:
        """A finished result; refused where the registry recorded another content for it."""
        result = load_result(self.store, stage, fingerprint)
        known = self.recorded(stage).get(fingerprint) if result and self.recorded else None
        if result is not None and known not in (None, result.content_hash):
            path = f"{artifact_folder(stage, fingerprint)}/{RESULT}"
            what = f"names content {result.content_hash}, the registry recorded {known}"
            raise damaged(self.store, path, what)
        return result

    def pin_of(self, node: str, snapshot: str | None = None) -> Output | None:
        """The lock's file for a calibration; its node is then never run."""
        return self.pins.get(f"{node}/{snapshot}" if snapshot else node)

    def calibration(self, node: str, snapshot: str | None = None) -> Output:
        """A pinned file: the lock's where there is one, else what the graph resolved."""
        pin = self.pin_of(node, snapshot)
        return pin or self.results(node, snapshot)[0].outputs[CALIBRATIONS[node].file]

    def calibrations(self) -> dict[str, Output]:
        """Every calibration of the recipe by its name in a lock."""
        found = {"tokenizer": self.tokenizer_file()}
        found |= classifier_files(self)
        if ensemble_of(self) is not None:
            found["score_ranks"] = self.calibration("score_ranks")
        if has_trained(self):
            found["perplexity_models"] = self.calibration("perplexity_models")
        if self.recipe.eval_suites:
            found["eval_index"] = self.eval_index_file()
            found["common_items"] = self.calibration("common_items")
        found["quality_cutoffs"] = self.cutoffs_file()
        for snapshot in self.recipe.snapshots:
            found[f"boilerplate/{snapshot}"] = self.boilerplate_file(snapshot)
            found[f"shard_counts/{snapshot}"] = self.shard_counts_file(snapshot)
        return found | span_calibrations(self)

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
        if self.lock is not None:  # what calibrations were made from is not read again
            return dict(self.lock.inputs)
        lists = {"blocklists": self.locations.files(self.recipe.blocklists, "blocklists")}
        pinned = self.delivered() | {
            name: tuple(
                PinnedFile(name=path.name, bytes=path.stat().st_size, sha256=self.digest_of(path))
                for path in paths
            )
            for name, paths in (lists | category_files(self)).items()
        }
        pinned |= hash_list_pins(self) | {"eval_suites": suite_pins(self)}
        return pinned | model_pins(self) | training_pins(self)

    def delivered(self) -> dict[str, tuple[PinnedFile, ...]]:
        """The files of all snapshots, and what was pinned with them."""
        pinned = {name: self.snapshot_files(name).pinned for name in self.recipe.snapshots}
        return pinned | site_pins(self)

    def language_model(self) -> tuple[Path, str]:
        """The language identifier's file and digest."""
        setting = self.recipe.language_model
        copies = self.locations.copies("language_model")
        if setting.path is None:
            path = copies[0] if copies else find_model(setting.model, setting.sha256)
            return path, self.digest_of(path)
        (path,) = copies or self.locations.files((setting.path,), "language_model.path")
        if self.digest_of(path) != setting.sha256:
            raise ModelError(
                f"language_model: {path} has SHA-256 {self.digest_of(path)}, the recipe says "
                f"{setting.sha256}: fetch the file again, or correct the recipe"
            )
        return path, self.digest_of(path)

    # -- digests of files outside the store --------------------------------------------------

    def digest_of(self, path: Path) -> str:
        if path not in self._digests:
            self._digests[path] = file_digest(path)
        return self._digests[path]

    def digests_of(self, paths: Sequence[Path]) -> str:
        return "+".join(self.digest_of(path) for path in paths)
