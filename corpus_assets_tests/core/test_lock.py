"""Locks: what they pin, and what they refuse."""

import json
from pathlib import Path
from typing import Any

import pytest

from corpus_assets.core.errors import RecipeError
from corpus_assets.core.lock import (
    FORMAT,
    Lock,
    PinnedFile,
    calibration_path,
    check_inputs,
    import_calibrations,
    load_lock,
)
from corpus_assets.core.store import LocalStore, read_output, sha256_hex

CUTOFFS = b'{"quality": {"*": 0.5}}'
PIN = PinnedFile(name="quality_cutoffs", bytes=len(CUTOFFS), sha256=sha256_hex(CUTOFFS))


def lock(**changes: Any) -> Lock:
    base: dict[str, Any] = {
        "recipe": {"name": "small", "seed": 7},
        "recipe_digest": "ab",
        "inputs": {"crawl-1": (PinnedFile(name="a.warc.gz", bytes=3, sha256="cd"),)},
        "models": {"language": "ef"},
        "calibrations": {"quality_cutoffs": PIN},
    }
    return Lock(**{**base, **changes})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A lock as a version has it: the file, and its calibrations beside it."""
    (tmp_path / "calibrations").mkdir()
    (tmp_path / "lock.json").write_bytes(lock().to_bytes())
    (tmp_path / calibration_path(".", PIN)).write_bytes(CUTOFFS)
    return tmp_path


def test_a_lock_reads_back_as_it_was_written(folder: Path) -> None:
    found = load_lock(folder / "lock.json")
    assert found == lock()
    assert found.digest == lock().digest
    assert found.to_bytes() == (folder / "lock.json").read_bytes()


@pytest.mark.parametrize(
    "changes",
    [
        {"recipe": {"name": "small", "seed": 8}},
        {"inputs": {}},
        {"models": {"language": "00"}},
        {"calibrations": {"quality_cutoffs": PIN.model_copy(update={"sha256": "00"})}},
    ],
)
def test_everything_that_is_pinned_is_in_the_digest(changes: dict[str, Any]) -> None:
    assert lock(**changes).digest != lock().digest


def test_the_calibrations_of_a_lock_come_into_the_store(folder: Path, tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "store")
    pins = import_calibrations(load_lock(folder / "lock.json"), folder, store)
    assert list(pins) == ["quality_cutoffs"]
    assert read_output(store, pins["quality_cutoffs"]) == CUTOFFS
    again = import_calibrations(load_lock(folder / "lock.json"), folder, store)
    assert again == pins


def test_a_missing_calibration_is_named(folder: Path, tmp_path: Path) -> None:
    (folder / "calibrations" / PIN.sha256).unlink()
    with pytest.raises(RecipeError, match=r"pins quality_cutoffs as .*copy the lock's whole"):
        import_calibrations(lock(), folder, LocalStore(tmp_path / "store"))


def test_a_changed_calibration_is_refused(folder: Path, tmp_path: Path) -> None:
    (folder / "calibrations" / PIN.sha256).write_bytes(CUTOFFS.replace(b"5", b"6"))
    store = LocalStore(tmp_path / "store")
    with pytest.raises(RecipeError, match="is not what the lock pins as quality_cutoffs; copy it"):
        import_calibrations(lock(), folder, store)
    assert list(store.list("pins")) == []


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"", "not a lock of this project: Invalid JSON"),
        (b"\xff\xff", "not a lock of this project: "),
        (b"[]", "not a lock of this project: "),
        (b"{}", "not a lock of this project: recipe: Field required"),
        (lock().to_bytes()[:-20], "not a lock of this project: Invalid JSON"),
        (
            json.dumps(lock().identity() | {"more": 1}).encode(),
            "not a lock of this project: more: Extra inputs",
        ),
        (
            json.dumps(lock().identity() | {"format": "corpus-assets/lock/9"}).encode(),
            f"format 'corpus-assets/lock/9' is unknown, not {FORMAT}; restore it, or recreate it",
        ),
    ],
)
def test_what_is_not_a_lock_is_one_line(tmp_path: Path, body: bytes, expected: str) -> None:
    path = tmp_path / "lock.json"
    path.write_bytes(body)
    with pytest.raises(RecipeError) as caught:
        load_lock(path)
    assert str(caught.value).startswith(f"{path}: {expected}")
    assert str(caught.value).endswith("recreate it with `corpus lock RECIPE --upgrade all`")
    assert "\n" not in str(caught.value)


def test_a_missing_lock_is_named(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="none.json: no such lock file"):
        load_lock(tmp_path / "none.json")


def test_a_folder_is_no_lock(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="cannot be read: Is a directory"):
        load_lock(tmp_path)


def test_other_files_than_the_pinned_ones_are_refused() -> None:
    inputs = dict(lock().inputs)
    check_inputs(lock(), inputs)
    check_inputs(lock(), inputs | {"crawl-2": ()})
    changed = inputs["crawl-1"][0].model_copy(update={"sha256": "00"})
    for other in ({}, {"crawl-1": ()}, {"crawl-1": (changed,)}):
        with pytest.raises(
            RecipeError, match="the files of crawl-1 are not those that the lock pins"
        ):
            check_inputs(lock(), other)
