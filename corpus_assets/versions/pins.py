"""Calibrations that a build reuses: from the lock beside its recipe, or from live versions.

As in package managers, what was resolved once stays until someone asks for an upgrade: a new
threshold, weight or snapshot trains no tokenizer (ADR 27). A calibration is reused while the
recipe asks for the same (`Calibration.asks`), the files that it is made from are the same, and so
are the calibrations that it is made with (`Calibration.follows`).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from catalog.db import Registry
from catalog.figures import counted
from corpus_assets.core.errors import RecipeError
from corpus_assets.core.home import Home
from corpus_assets.core.identity import canonical_json
from corpus_assets.core.lock import Lock, import_calibrations, load_lock
from corpus_assets.core.stage import Calibration, Stage
from corpus_assets.core.store import Output
from corpus_assets.graph import Pipeline
from corpus_assets.recipe import shipped_file
from corpus_assets.versions.published import lock_pins, published_lock
from corpus_assets.versions.version import locked_recipe

ALL_CALIBRATIONS = "all"  # every calibration, where names of some are asked for


@dataclass(frozen=True)
class ReusedCalibrations:
    """Calibrations that are not resolved again."""

    pins: Mapping[str, Output] = field(default_factory=dict)
    origin: Mapping[str, str] = field(default_factory=dict)  # the lock that each of them is from
    changed: tuple[str, ...] = ()  # pinned there too, but the recipe asks for another now

    def lines(self) -> list[str]:
        """Show how many calibrations are reused from where, and which are recomputed."""
        found = [
            f"reused {counted(n, 'calibration')} from {where}"
            for where, n in Counter(self.origin.values()).items()
        ]
        if self.changed:
            found.append(f"recalibrated: {named_calibrations(self.changed)}")
        return found


def named_calibrations(calibrations: Iterable[str]) -> str:
    """Name calibrations for people, several of one stage by their number."""
    stages = Counter(map(_stage, sorted(calibrations)))
    single = {_stage(name): name for name in calibrations}
    return ", ".join(single[s] if n == 1 else f"{s} ({n})" for s, n in stages.items())


def lock_folder(recipe: Path, home: Home) -> Path:
    """Return where the lock of a recipe lies: beside it, or in the home where the recipe is one
    that ships with the project."""
    is_shipped = shipped_file(f"recipes/{recipe.name}") == recipe
    folder = home.root / "locks" if is_shipped else recipe.parent
    return folder / f"{recipe.stem}.lock"


def reuse_calibrations(
    pipeline: Pipeline, registry: Registry, folder: Path, upgrade: Sequence[str] = ()
) -> ReusedCalibrations:
    """Choose the calibrations that a build reuses. `upgrade` leaves some out: by their names
    in a lock, by their stage, or all of them."""
    stages = pipeline.graph.calibrations
    unknown = sorted({_stage(name) for name in upgrade} - {*stages, ALL_CALIBRATIONS})
    if unknown:
        raise RecipeError(f"no calibration is called {unknown[0]!r}; known: {', '.join(stages)}")
    if ALL_CALIBRATIONS in upgrade:
        return ReusedCalibrations()
    pins: dict[str, Output] = {}
    origin: dict[str, str] = {}
    passed_over: set[str] = set()
    for where, lock, found in _locks(pipeline, registry, folder):
        for name in _fitting(pipeline, lock, pins, upgrade):
            pins[name], origin[name] = found[name], where
        passed_over |= {name for name in found if stages[_stage(name)].asks}
        if passed_over <= set(pins):
            break
    return ReusedCalibrations(pins, origin, tuple(sorted(passed_over - set(pins))))


def _locks(
    pipeline: Pipeline, registry: Registry, folder: Path
) -> Iterator[tuple[str, Lock, Mapping[str, Output]]]:
    """The lock beside the recipe; without one, those of its live versions, the newest first."""
    if (folder / "lock.json").is_file():
        lock = load_lock(folder / "lock.json")
        yield str(folder.name), lock, import_calibrations(lock, folder, pipeline.store)
        return
    for row in reversed(registry.versions()):
        named = registry.recipe(row.recipe_digest).name
        if row.status != "live" or named != pipeline.recipe.name:
            continue
        if pipeline.store.exists(f"versions/{row.name}/lock.json"):  # else it is built again
            lock = published_lock(pipeline.store, row)
            yield f"version {row.name}", lock, lock_pins(lock, row.name)


def _fitting(
    pipeline: Pipeline, lock: Lock, taken: Mapping[str, Output], upgrade: Sequence[str]
) -> list[str]:
    """Return the calibrations of a lock that can be reused beside those that are already."""
    recipe = locked_recipe(pipeline.recipe)
    chosen = {name: output.sha256 for name, output in taken.items()}
    found: list[str] = []
    for stage in pipeline.graph:
        calibration = stage.calibration
        if calibration is None or not calibration.asks:
            continue
        inputs = stage.inputs(pipeline)
        for name in sorted(name for name in lock.calibrations if _stage(name) == stage.name):
            if (
                name not in chosen
                and not {name, stage.name} & set(upgrade)
                and _asks(calibration, recipe, name) == _asks(calibration, lock.recipe, name)
                and all(inputs[key] == lock.inputs.get(key) for key in _own(stage, inputs, name))
                and all(chosen.get(n) == sha256 for n, sha256 in _made_with(calibration, lock))
            ):
                chosen[name] = lock.calibrations[name].sha256
                found.append(name)
    return found


def _asks(calibration: Calibration, recipe: Mapping[str, Any], name: str) -> bytes:
    """What a recipe says about a calibration, in a form that can be compared."""
    rest = name.partition("/")[2]
    found = []
    for dotted in calibration.asks:
        value: Any = recipe
        for key in dotted.split("."):
            if isinstance(value, list):
                value = {entry["name"]: entry[key] for entry in value if key in entry}
                continue
            value = value.get(rest if key == "*" else key) if isinstance(value, Mapping) else None
        found.append(value)
    return canonical_json(found)


def _own(stage: Stage, inputs: Iterable[str], name: str) -> Iterator[str]:
    """Files of a stage that one of its calibrations is made from: those in its name, if any are."""
    return (key for key in inputs if _stage(key) != stage.name or key.startswith(f"{name}/"))


def _made_with(calibration: Calibration, lock: Lock) -> Iterator[tuple[str, str]]:
    return (
        (name, pin.sha256)
        for name, pin in lock.calibrations.items()
        if _stage(name) in calibration.follows
    )


def _stage(name: str) -> str:
    return name.partition("/")[0]
