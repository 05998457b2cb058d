"""Finished stages of snapshots, known without a look at their parts.

A stage's tasks follow from the code, the recipe, the orders in force, the list of source files,
files and models outside the store, and the results of the stages that it declares to read, which
for calibrations are the same pinned or resolved. Where all of these are as they were when its last task ended, so are its tasks, and they are
done. The results of the stages before it are known in the same way, so that nothing is read but
one note for each stage and snapshot (`core.finished_stages`).

Of the recipe everything counts but other snapshots, and what only publishing reads. Who changes
more gets the plan by parts. So does a rebuild of a version, and a snapshot of few files.
"""

import contextlib
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from glob import glob, has_magic
from pathlib import Path
from typing import Any

from catalog.formats.places import located, portable
from corpus_assets.core import result_index
from corpus_assets.core.errors import CorpusError, MissingInput
from corpus_assets.core.finished_stages import (
    FinishedStage,
    load_all_finished,
    load_finished,
    save_finished,
)
from corpus_assets.core.identity import digest
from corpus_assets.core.result_index import Bytes
from corpus_assets.core.stage import Stage
from corpus_assets.core.store import Output
from corpus_assets.graph.engine import code_digest
from corpus_assets.graph.pipeline import Pipeline
from corpus_assets.ingest import listed_as
from corpus_assets.models import model_at

BESIDE_RECIPE = "recipe:"
NOT_PLANNED_WITH = {
    *("panels", "survival", "drift", "gate", "evidence", "takedowns"),
    "retention",
    "snapshot_order",  # the snapshots before this one are named beside the recipe, in their order
}
"""Keys of a recipe that no task of a snapshot follows from."""


class FinishedStages:
    """Which stages of snapshots are finished, as far as notes tell."""

    def __init__(self, pipeline: Pipeline, read_all: bool = False) -> None:
        """`read_all`: read all notes at once, for who asks for most of them."""
        self._pipeline = pipeline
        self._all = load_all_finished(pipeline.store) if read_all else None
        self._found: dict[tuple[str, str], FinishedStage | None] = {}
        self._listed: dict[str, str | None] = {}
        self._wholes: dict[str, str] = {}
        self._recipes: dict[Sequence[str], list[Any]] = {}

    def find(self, stage: Stage, snapshot: str) -> FinishedStage | None:
        """Return the note of a stage that is finished; None where only its parts tell."""
        if (stage.name, snapshot) not in self._found:
            self._found[stage.name, snapshot] = self._find(stage, snapshot)
        return self._found[stage.name, snapshot]

    def note(self, stage: Stage, snapshot: str, prints: Bytes) -> None:
        """Note that all tasks of a stage are done, from their fingerprints."""
        pipeline = self._pipeline
        if not self._is_asked or len(pipeline.snapshot_files(snapshot).files) < result_index.FEW:
            return
        key = self.key(stage, snapshot)
        if key is None or self.find(stage, snapshot) is not None:
            return
        finished = pipeline.finished(stage.name, snapshot)
        rows = finished.rows(prints)
        if (rows < 0).any():
            return
        results = digest([prints.tobytes().hex(), finished.columns.contents(rows)])
        if stage.calibration is not None:
            results = _contents(pipeline.parts(stage.calibration.file, snapshot))
        looked_at = pipeline.looked_at(stage.name, snapshot)
        outside = {self._place(path): self._outside(path) for path in looked_at}
        pinned = pipeline.asked_pins(stage.name, snapshot)
        noted = FinishedStage(key, outside, pinned, len(prints), results)
        save_finished(pipeline.store, stage.name, snapshot, noted)

    @property
    def _is_asked(self) -> bool:
        return self._pipeline.locations.kept is None

    def _find(self, stage: Stage, snapshot: str) -> FinishedStage | None:
        if not self._is_asked:
            return None
        if (pin := self._pipeline.pin_of(stage.name, snapshot)) is not None:
            return FinishedStage("", {}, {}, 0, _contents([pin]))
        if self._all is not None:
            noted = self._all.get((stage.name, snapshot))
        else:
            noted = load_finished(self._pipeline.store, stage.name, snapshot)
        if noted is None or noted.key != self.key(stage, snapshot):
            return None
        if any(was != (name in self._pipeline.pins) for name, was in noted.pinned.items()):
            return None
        places = ((self._path(place), was) for place, was in noted.outside.items())
        return noted if all(self._outside(path) == was for path, was in places) else None

    def key(self, stage: Stage, snapshot: str) -> str | None:
        """Return the digest of all that the tasks follow from, but for the files outside; None
        where that cannot be told without a look at parts."""
        if snapshot not in self._listed:
            self._listed[snapshot] = listed_as(self._pipeline.store, snapshot)
        listed = self._listed[snapshot]
        snapshots = self._pipeline.recipe.snapshots
        across = stage.reads_all or stage.reads_before
        window = snapshots[: snapshots.index(snapshot) + 1] if across else (snapshot,)
        read = self._read(stage, snapshot, window)
        if listed is None or read is None:
            return None
        recipe = self._recipe_of(window)
        orders = self._pipeline.suppressions.digest if stage.plan_key is not None else ""
        what = [code_digest(), stage.name, stage.version, snapshot, listed, *recipe, self._named]
        return digest([*what, self._models, self._imports, orders, read])

    def _read(self, stage: Stage, snapshot: str, window: Sequence[str]) -> dict[str, str] | None:
        """Return the digests of the results that a stage reads; None where one is not known."""
        graph = self._pipeline.graph
        found: dict[str, str] = {}
        before = [name for name in window if name != snapshot]
        for files, names in (
            (stage.reads, (snapshot,)),
            (stage.reads_all, window),
            (stage.reads_before, before),
        ):
            for name in {file.stage for file in files}.difference(graph.given):
                for each in names if graph[name].is_by_snapshot else ("",):
                    noted = self.find(graph[name], each) if each else None
                    results = noted.results if noted else None if each else self._whole(name)
                    if results is None:
                        return None
                    found[f"{name}/{each}"] = results
        return found

    def _whole(self, name: str) -> str | None:
        """Return the digest of what a stage over all snapshots gave, pinned or resolved."""
        if name not in self._wholes:
            calibration = self._pipeline.graph[name].calibration
            try:
                if calibration is not None:
                    pins = calibration.files(self._pipeline).items()
                    self._wholes[name] = digest({place: pin.sha256 for place, pin in pins})
                else:
                    found = self._pipeline.results(name)
                    self._wholes[name] = digest([each.content_hash for each in found])
            except MissingInput:
                return None
        return self._wholes[name]

    def _recipe_of(self, window: Sequence[str]) -> list[Any]:
        """Return what counts of the recipe."""
        if window not in self._recipes:
            recipe = self._pipeline.recipe
            others = set(recipe.snapshots).difference(window)
            sources = [
                {key: _without(others, value) for key, value in source.items()}
                for source in self._recipe["sources"]
                if not others.issuperset(source["snapshots"])
            ]
            learnt = [name in recipe.calibration_snapshots for name in window]
            plain = {**self._recipe, "sources": sources, "calibrate_on": learnt}
            self._recipes[window] = [digest(plain), list(window), self._pipeline.is_locked]
        return self._recipes[window]

    @cached_property
    def _recipe(self) -> dict[str, Any]:
        return self._pipeline.recipe.model_dump(mode="json", exclude=NOT_PLANNED_WITH)

    @cached_property
    def _imports(self) -> list[str]:
        """The imports that there are, each named by what it holds."""
        return sorted(self._pipeline.store.list("imports"))

    @cached_property
    def _named(self) -> dict[str, list[str]]:
        """What lies in the folders, and under the patterns, that the recipe names beside sources."""
        found: dict[str, list[str]] = {}
        for place in set(_strings({**self._recipe, "sources": ()})):
            with contextlib.suppress(CorpusError, ValueError, OSError):
                path = self._pipeline.locations.resolve(place)
                if has_magic(path):
                    root = self._pipeline.locations.recipe_folder
                    found[place] = sorted(os.path.relpath(each, root) for each in glob(path))
                elif Path(path).is_dir():
                    found[place] = sorted(os.listdir(path))
        return found

    @cached_property
    def _models(self) -> dict[str, str]:
        """Where the models and lists lie that the recipe names."""
        found: dict[str, str] = {}
        for _, name in self._pipeline.recipe.named_models():
            with contextlib.suppress(CorpusError):
                found[name] = self._place(model_at(name, self._pipeline.locations.home).path)
        return found

    def _place(self, path: Path) -> str:
        """Return a place as a note has it: recipes and homes can be moved."""
        folder = self._pipeline.locations.recipe_folder.absolute()
        if path.absolute().is_relative_to(folder):
            return BESIDE_RECIPE + path.absolute().relative_to(folder).as_posix()
        return portable(str(path), self._pipeline.locations.home.root)

    def _path(self, place: str) -> Path:
        if place.startswith(BESIDE_RECIPE):
            return self._pipeline.locations.recipe_folder / place.removeprefix(BESIDE_RECIPE)
        return Path(located(place, self._pipeline.locations.home.root))

    def _outside(self, path: Path) -> str:
        """Return the digest of a file or model outside the store; nothing where it is gone."""
        try:
            return self._pipeline.digest_of(path)
        except (CorpusError, OSError):
            return ""


def _contents(outputs: Iterable[Output]) -> str:
    return digest([output.sha256 for output in outputs])


def _without(others: Collection[str], value: object) -> object:
    """Return a key of a source, what it says by snapshot without some."""
    if not isinstance(value, Mapping):
        return value
    return {name: each for name, each in value.items() if name not in others}


def _strings(value: object) -> Iterator[str]:
    """Yield every string in plain JSON."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _strings(each)
    elif isinstance(value, Sequence):
        for each in value:
            yield from _strings(each)
