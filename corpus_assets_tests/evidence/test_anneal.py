"""Arms that anneal: one model of the baseline, and from where it cools down half of an arm's samples."""

from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

from corpus_assets.evidence.heldout import make_heldout
from corpus_assets.evidence.results import read_runs
from corpus_assets.evidence.run import Pack, run_pack
from corpus_assets.evidence.schedule import (
    Data,
    annealed,
    annealed_positions,
    candidate_rows,
    rate_at,
    trunk_steps,
)
from corpus_assets.recipe.evidence import Proxy
from corpus_assets_tests.evidence.tiny import (
    arm,
    heldout_rows,
    texts,
    tiny_encoder,
    tiny_plan,
    write_tiny_pack,
)

ANNEAL = Proxy(
    size="nano", tokens=5120, unique_tokens=2560, sequence=64, batch_tokens=512, protocol="anneal"
)


def numbered(first: int, samples: int, positions: int) -> Data:
    rows = np.repeat(np.arange(first, first + samples, dtype=np.int32)[:, None], 4, axis=1)
    return Data(rows, np.arange(positions) % samples, 0, 1)


@pytest.mark.parametrize(("steps", "rows"), [(10, 8), (7, 3), (100, 2)])
def test_an_arm_has_half_of_each_step_from_where_the_rate_falls(steps: int, rows: int) -> None:
    base, own = numbered(0, 50, steps * rows), numbered(1000, 9, annealed_positions(steps, rows))
    found = annealed(base, own, steps, rows)
    seen = found.samples[found.order][:, 0].reshape(steps, rows)
    trunk, half = trunk_steps(steps), candidate_rows(rows)
    plain = base.samples[base.order][:, 0].reshape(steps, rows)
    assert (seen[:trunk] == plain[:trunk]).all()
    assert (seen[:, half:] == plain[:, half:]).all()
    own_rows = own.samples[own.order][:, 0]
    assert seen[trunk:, :half].reshape(-1).tolist() == own_rows.tolist()
    assert rate_at(trunk - 1, steps) == 1.0  # the rate has not begun to fall
    assert rate_at(trunk + 1, steps) < 1.0


def test_a_step_of_one_sample_cannot_be_shared() -> None:
    with pytest.raises(ValidationError, match="two samples or more"):
        Proxy(batch_tokens=64, sequence=64, tokens=640, unique_tokens=640, protocol="anneal")


def pack_of(folder: Path, protocol: str) -> None:
    encoder = tiny_encoder()
    heldout = make_heldout(heldout_rows())
    proxy = ANNEAL.model_copy(update={"protocol": protocol})
    plan = tiny_plan(("clean", "other"), heldout, encoder, proxy=proxy, seeds=(1, 2))
    arms = {
        "clean": arm(encoder, texts(80, 1), plan.samples_of("clean"), 64),
        "other": arm(encoder, texts(30, 2), plan.samples_of("other"), 64),
    }
    write_tiny_pack(folder, plan, arms, heldout, encoder)


def test_a_pack_holds_for_an_arm_that_anneals_what_its_part_of_a_run_sees(tmp_path: Path) -> None:
    pack_of(tmp_path / "pack", "anneal")
    pack = Pack(tmp_path / "pack")
    base, own = pack.data("clean", 1), pack.data("other", 1)
    # Ten steps of eight samples: four steps cool down, half of their samples are the arm's, and it
    # repeats its 8 samples as often as the baseline its 40.
    assert len(own.samples) - len(base.samples) == 8
    is_own = own.order >= len(base.samples)
    assert is_own.reshape(10, 8).sum(axis=1).tolist() == [0] * 6 + [4] * 4
    assert sorted(np.bincount(own.order[is_own] - len(base.samples)).tolist()) == [2] * 8


def test_arms_go_on_from_one_model_as_if_each_had_been_trained_from_the_start(
    tmp_path: Path,
) -> None:
    pytest.importorskip("torch", reason="training needs the extra `evidence`: torch")
    pack_of(tmp_path / "pack", "anneal")
    pack_of(tmp_path / "plain", "unique")
    run_pack(tmp_path / "pack", device="cpu", say=lambda _: None)
    # Alone, an arm has no model to go on from, and trains the trunk itself.
    for name in ("clean", "other"):
        for path in (tmp_path / "pack" / "runs").glob(f"{name}.*.seed1.*"):
            (tmp_path / f"{name}-{path.name}").write_bytes(path.read_bytes())
            path.unlink()
        run_pack(tmp_path / "pack", device="cpu", say=lambda _: None)
    for path in tmp_path.glob("*.parquet"):
        name = path.name.partition("-")[2]
        assert path.read_bytes() == (tmp_path / "pack" / "runs" / name).read_bytes()
    run_pack(tmp_path / "plain", device="cpu", say=lambda _: None)
    annealed_runs, plain = (
        {(run.arm, run.seed): run for run in read_runs(tmp_path / name / "runs")}
        for name in ("pack", "plain")
    )
    # The baseline is what it is without annealing; the other arm is not.
    assert annealed_runs["clean", 1].table_sha256 == plain["clean", 1].table_sha256
    assert annealed_runs["other", 1].table_sha256 != plain["other", 1].table_sha256


def test_all_arms_that_anneal_from_one_model_are_one_devices_work(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="training needs the extra `evidence`: torch")
    pack_of(tmp_path / "pack", "anneal")
    run_pack(tmp_path / "pack", device="cpu", part=(1, 2), say=lambda _: None)
    found = {(run.arm, run.seed) for run in read_runs(tmp_path / "pack" / "runs")}
    assert found == {("clean", 2), ("other", 2)}
