"""The lock: a recipe with every input and every calibration pinned by digest.

A build under a lock resolves nothing from data: cutoffs, boilerplate lines, models, tokenizer
and shard counts are the pinned files, which lie beside the lock in `calibrations/`.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from corpus_assets.core.errors import RecipeError
from corpus_assets.core.identity import Settings, canonical_json, digest
from corpus_assets.core.store import Output, Store, sha256_hex

FORMAT = "corpus-assets/lock/1"
RESTORE = "restore it, or recreate it with `corpus lock RECIPE --upgrade all`"
ONLY_CALIBRATIONS = "use --calibrations to reuse only the lock's calibrations"
FOLDER = "folder:"
"""Begins the names, for a lock's files and for a version's copies, of models that are folders."""


class PinnedFile(Settings):
    """A file that the corpus was made from."""

    name: str
    bytes: int
    sha256: str


class Lock(Settings):
    format: str = FORMAT
    recipe: dict[str, Any]
    recipe_digest: str
    inputs: dict[str, tuple[PinnedFile, ...]]  # snapshot or list name -> files
    models: dict[str, str]  # models from outside, by digest
    calibrations: dict[str, PinnedFile]

    @property
    def digest(self) -> str:
        return digest(self.identity())

    def to_bytes(self) -> bytes:
        return json.dumps(self.identity(), indent=1, sort_keys=True, ensure_ascii=False).encode()


def calibration_path(folder: str, pin: PinnedFile) -> str:
    return f"{folder}/calibrations/{pin.sha256}"


def load_lock(path: Path) -> Lock:
    try:
        lock = Lock.model_validate_json(path.read_bytes())
    except FileNotFoundError as error:
        raise RecipeError(f"{path}: no such lock file") from error
    except OSError as error:
        raise RecipeError(f"{path}: cannot be read: {error.strerror}") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        where = f"{key}: " if key else ""
        raise RecipeError(
            f"{path}: not a lock of this project: {where}{first['msg']}; {RESTORE}"
        ) from error
    if lock.format != FORMAT:
        raise RecipeError(f"{path}: format {lock.format!r} is unknown, not {FORMAT}; {RESTORE}")
    return lock


def import_calibrations(lock: Lock, folder: Path, store: Store) -> dict[str, Output]:
    """Bring a lock's pinned files into the store; each must have the digest the lock gives."""
    pins: dict[str, Output] = {}
    for name, pin in lock.calibrations.items():
        source = folder / "calibrations" / pin.sha256
        try:
            data = source.read_bytes()
        except OSError as error:
            raise RecipeError(
                f"the lock pins {name} as {pin.sha256[:12]}, but {source} cannot be read; copy "
                "the lock's whole folder, calibrations included"
            ) from error
        if sha256_hex(data) != pin.sha256:
            raise RecipeError(f"{source} is not what the lock pins as {name}; copy it again")
        path = f"pins/{pin.sha256}"
        if not store.exists(path):
            store.write(path, data)
        pins[name] = Output(path, pin.sha256, len(data), 0)
    return pins


def check_recipe(lock: Lock, recipe_digest: str) -> None:
    """Refuse to build another recipe than the lock was made from."""
    if lock.recipe_digest != recipe_digest:
        raise RecipeError(
            f"the lock is of recipe {lock.recipe_digest[:12]}, this one is {recipe_digest[:12]}; "
            f"{ONLY_CALIBRATIONS}"
        )


def check_models(
    lock: Lock,
    models: Mapping[str, str],
    whose: str = "the lock",
    instead: str = ONLY_CALIBRATIONS,
) -> None:
    """Refuse to build under a lock with other models from outside than it names. `whose` and
    `instead` say for people what it is of, and what else they can do."""
    for name, sha256 in lock.models.items():
        if models.get(name) != sha256:
            raise RecipeError(
                f"{whose} pins the model {name} with SHA-256 {sha256}, here is "
                f"{models.get(name, 'none')}; install that model, or {instead}"
            )


def check_inputs(
    lock: Lock,
    inputs: Mapping[str, tuple[PinnedFile, ...]],
    whose: str = "the lock",
    instead: str = ONLY_CALIBRATIONS,
) -> None:
    """Refuse to build under a lock from other files than it names."""
    for name, pinned in lock.inputs.items():
        if canonical_json([f.identity() for f in inputs.get(name, ())]) != canonical_json(
            [f.identity() for f in pinned]
        ):
            raise RecipeError(
                f"the files of {name} are not those that {whose} pins; restore them, or {instead}"
            )
