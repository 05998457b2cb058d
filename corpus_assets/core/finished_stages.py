"""What is known of a finished stage of a snapshot without a look at its parts (ADR 38).

`finished/<stage>/<snapshot>.json` is written when the last part is done, and says what its tasks
followed from. It proves nothing by itself, may be deleted at any time, and goes before anything
that it stands for is deleted.
"""

from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from corpus_assets.core.result_index import REQUESTS_AT_ONCE
from corpus_assets.core.store import Store, read_sealed, sealed_json

FOLDER = "finished"


@dataclass(frozen=True)
class FinishedStage:
    """A stage of a snapshot all of whose tasks are done."""

    key: str  # of everything in recipe, code and store that its tasks follow from
    outside: Mapping[str, str]  # digests of the files outside the store, by place
    pinned: Mapping[str, bool]  # calibrations that were asked whether a lock pins them
    tasks: int
    results: str  # digest of the tasks' fingerprints and contents, in their order


def load_finished(store: Store, stage: str, snapshot: str) -> FinishedStage | None:
    """Return what is noted of a stage of a snapshot, if anything is."""
    path = _path(stage, snapshot)
    return _read(store, path) if store.exists(path) else None


def load_all_finished(store: Store) -> dict[tuple[str, str], FinishedStage]:
    """Return all notes, read many at a time."""
    paths = [path for path in store.list(FOLDER) if path.endswith(".json")]
    with ThreadPoolExecutor(REQUESTS_AT_ONCE) as pool:
        notes = list(pool.map(partial(_read, store), paths))
    places = (path.removesuffix(".json").split("/")[1:] for path in paths)
    return {(stage, name): note for (stage, name), note in zip(places, notes, strict=True)}


def save_finished(store: Store, stage: str, snapshot: str, finished: FinishedStage) -> None:
    store.write(_path(stage, snapshot), sealed_json(asdict(finished)))


def forget_finished(store: Store, stages: Collection[str]) -> None:
    """Delete the notes of stages; to be done before any of their files goes."""
    for stage in stages:
        for path in list(store.list(f"{FOLDER}/{stage}")):
            store.delete(path)


def _path(stage: str, snapshot: str) -> str:
    return f"{FOLDER}/{stage}/{snapshot}.json"


def _read(store: Store, path: str) -> FinishedStage:
    body: dict[str, Any] = read_sealed(store, path)
    return FinishedStage(**body)
