"""What a published version left in the store, read without anything that builds one."""

import json
from pathlib import Path

from corpus_assets.lock import Lock, calibration_path
from corpus_assets.recipe import Recipe, parse_recipe
from corpus_assets.store import Output, Store


def recipe_path(digest: str) -> str:
    return f"sources/recipes/{digest}.json"


def load_published_recipe(store: Store, digest: str) -> tuple[Recipe, Path]:
    """A recipe that a version was published from, and the folder its locations start at."""
    raw = json.loads(store.read(recipe_path(digest)))
    return parse_recipe(raw["recipe"], f"published recipe {digest[:12]}"), Path(raw["folder"])


def published_pins(store: Store, version: str) -> dict[str, Output]:
    """The calibrations that a published version's lock pins, as files of the store."""
    folder = f"versions/{version}"
    lock = Lock.model_validate_json(store.read(f"{folder}/lock.json"))
    return {
        name: Output(calibration_path(folder, pin), pin.sha256, pin.bytes, 0)
        for name, pin in lock.calibrations.items()
    }
