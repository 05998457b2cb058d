"""How much is exported, and in which order, is settled before anything is written."""

from pathlib import Path

import numpy as np
import pytest

from corpus_assets.core.errors import ShardError
from corpus_assets.shards.export.plan import Pass
from corpus_assets_tests.shards.export.small_export import (
    export_to,
    loader_rows,
    plan_of,
    read_samples,
    store_at,
)
from corpus_loader import Manifest

RUN, FIRST_PHASE = 7 * 24, 4 * 24


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("store")


@pytest.fixture(scope="module")
def manifest(root: Path) -> Manifest:
    return store_at(root)


def test_the_whole_run_is_exported_unless_told_otherwise(manifest: Manifest) -> None:
    assert plan_of(manifest, "mds").passes == (Pass(seed=7, first=0, samples=RUN),)


def test_tokens_are_rounded_up_to_whole_samples(manifest: Manifest) -> None:
    assert plan_of(manifest, "mds", tokens=64 * 5).samples == 5
    assert plan_of(manifest, "mds", tokens=64 * 5 + 1).samples == 6


def test_a_phase_is_a_stretch_of_the_same_order(
    tmp_path: Path, manifest: Manifest, root: Path
) -> None:
    export_to(tmp_path / "out", manifest, root, "mds", phase="phase1", tokens=64 * 20)
    rows = loader_rows(manifest, root, None, FIRST_PHASE, FIRST_PHASE + 20)
    assert read_samples(tmp_path / "out", "mds") == rows.tolist()


def test_further_epochs_are_the_same_run_under_the_next_seeds(
    tmp_path: Path, manifest: Manifest, root: Path
) -> None:
    body = export_to(tmp_path / "out", manifest, root, "mds", seed=3, epochs=2.25)
    assert [one["seed"] for one in body.passes] == [3, 4, 5]
    rows = np.concatenate(
        [
            loader_rows(manifest, root, 3),
            loader_rows(manifest, root, 4),
            loader_rows(manifest, root, 5, 0, RUN // 4),
        ]
    )
    assert read_samples(tmp_path / "out", "mds") == rows.tolist()


def test_half_an_epoch_is_the_first_half_of_the_run(manifest: Manifest) -> None:
    assert plan_of(manifest, "mds", epochs=0.5).samples == RUN // 2


@pytest.mark.parametrize(
    ("wishes", "word"),
    [
        ({"tokens": 64 * (RUN + 1)}, "larger mixture.run_tokens"),
        ({"tokens": 0}, "cannot be exported"),
        ({"epochs": 0.0}, "above 0"),
        ({"epochs": float("nan")}, "above 0"),
        ({"tokens": 64, "epochs": 1.0}, "not both"),
        ({"phase": "warmup"}, "no phase 'warmup'"),
    ],
)
def test_wishes_that_cannot_be_met_are_refused(
    manifest: Manifest, wishes: dict[str, object], word: str
) -> None:
    with pytest.raises(ShardError, match=word):
        plan_of(manifest, "mds", **wishes)


def test_formats_and_sizes_that_do_not_exist_are_refused(manifest: Manifest) -> None:
    with pytest.raises(ShardError, match="use one of megatron"):
        plan_of(manifest, "tfrecord")
    with pytest.raises(ShardError, match="32 bits"):
        plan_of(manifest, "mds", file_bytes=2**32)


def test_plans_differ_whenever_the_bytes_would(manifest: Manifest) -> None:
    wishes: list[dict[str, object]] = [
        {},
        {"seed": 8},
        {"tokens": 640},
        {"phase": "phase0"},
        {"file_bytes": 8192},
        {"has_lineage": True},
    ]
    assert len({plan_of(manifest, "mds", **wish).digest() for wish in wishes}) == len(wishes)
