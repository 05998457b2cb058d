"""Packs: the batches of the store, each text once, runs that are not repeated."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from corpus_assets.core.errors import EvidenceError
from corpus_assets.evidence.heldout import encode_heldout, make_heldout
from corpus_assets.evidence.pack import write_pack
from corpus_assets.evidence.results import read_runs
from corpus_assets.evidence.run import Pack, batches_digest, lay_group, run_pack
from corpus_assets.shards.tokens import Encoder
from corpus_assets_tests.evidence.tiny import (
    arm,
    heldout_rows,
    texts,
    tiny_encoder,
    tiny_pack,
    tiny_plan,
)
from corpus_loader import segments as boundaries

torch = pytest.importorskip("torch", reason="training needs the extra `evidence`: torch")


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return tiny_encoder()


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory, encoder: Encoder) -> Path:
    folder = tmp_path_factory.mktemp("packs") / "pack"
    tiny_pack(folder, encoder)
    return folder


def test_the_pack_trains_on_the_batches_of_the_arm_hash_by_hash(
    pack: Path, encoder: Encoder
) -> None:
    from corpus_assets.evidence.schedule import Data

    own = arm(encoder, texts(40, 1), 16, 64)
    samples = lay_group([d.tokens for d in own.documents], 16, 64, encoder.pad_id)
    for seed in (1, 2):
        order = own.order(32, seed)
        drawn = order.locate(np.arange(32)).sample  # one group: samples count from 0
        expected = Data(samples, drawn, encoder.eod_id, encoder.pad_id)
        found = Pack(pack).data("clean", seed)
        assert batches_digest(found, 32) == batches_digest(expected, 32)
    assert batches_digest(Pack(pack).data("clean", 1), 32) != batches_digest(found, 32)


def test_a_text_that_two_arms_share_travels_once(pack: Path, encoder: Encoder) -> None:
    held = [encoder.encode_batch([text])[0].tobytes() for text in texts(40, 1)[:20]]
    opened = Pack(pack)
    flat = opened.tokens.tobytes()
    assert all(flat.count(piece) == 1 for piece in held)
    listed = pq.read_table(pack / "arms.parquet")["document"].to_pylist()
    assert (len(listed), len(set(listed))) == (2 * 80, 60)


def test_training_sees_the_documents_that_the_loader_sees(pack: Path) -> None:
    from corpus_assets.evidence.train import segments_of

    opened = Pack(pack)
    rows = opened.samples("clean", 1)
    eod, pad = opened.body["eod_id"], opened.body["pad_id"]
    ids = boundaries.segments_of(rows, eod, pad).ids
    is_eod = rows == eod  # opens the document behind it
    assert (segments_of(torch.from_numpy(rows), eod).numpy() == ids + is_eod).all()


def test_every_arm_has_the_same_steps_and_tokens_whatever_it_repeats(
    tmp_path: Path, encoder: Encoder
) -> None:
    heldout = make_heldout(heldout_rows())
    plan = tiny_plan(("clean", "small"), heldout, encoder)
    arms = {
        "clean": dict.fromkeys(plan.seeds, arm(encoder, texts(40, 1), 16, 64)),
        "small": dict.fromkeys(plan.seeds, arm(encoder, texts(4, 1), 3, 64)),
    }
    write_pack(tmp_path / "p", plan, arms, encode_heldout(heldout, encoder), encoder.info)
    found = {name: Pack(tmp_path / "p").data(name, 1) for name in arms}
    assert {len(data.order) for data in found.values()} == {32}
    counts = np.bincount(found["small"].order, minlength=3)
    assert counts.sum() == 32
    assert counts.max() - counts.min() <= 1  # used up evenly before it repeats


def test_a_pack_above_its_limit_is_refused_before_anything_is_written(
    tmp_path: Path, encoder: Encoder
) -> None:
    heldout = make_heldout(heldout_rows())
    plan = tiny_plan(("clean",), heldout, encoder)
    arms = {"clean": dict.fromkeys(plan.seeds, arm(encoder, texts(40, 1), 16, 64))}
    with pytest.raises(EvidenceError, match="plan fewer unique tokens"):
        write_pack(tmp_path / "p", plan, arms, encode_heldout(heldout, encoder), encoder.info, 0.01)
    assert not (tmp_path / "p").exists()


def test_a_pack_runs_alone_and_a_killed_one_goes_on_without_repeating(
    tmp_path: Path, encoder: Encoder
) -> None:
    folder = tmp_path / "pack"
    plan = tiny_pack(folder, encoder)
    alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    alone["PYTHONPATH"] = str(Path(torch.__file__).parents[1])  # nothing of this project
    # -S: no .pth file either, by which this project would be found where it is installed editably.
    command = [sys.executable, "-S", "-W", "error::SyntaxWarning", str(folder / "run.py")]
    running = subprocess.Popen([*command, "--device", "cpu"], env=alone, stdout=subprocess.PIPE)
    while not list((folder / "runs").glob("*.json")):
        assert running.poll() is None
        time.sleep(0.01)
    running.send_signal(signal.SIGKILL)
    running.communicate()
    first = {path.name: path.stat().st_mtime_ns for path in (folder / "runs").glob("*.json")}
    assert 1 <= len(first) < 4
    ended = subprocess.run(
        [*command, "--device", "cpu"], env=alone, check=True, capture_output=True
    )
    assert f"{4 - len(first)} to do here" in ended.stdout.decode()
    runs = read_runs(folder / "runs")
    assert len(runs) == 4
    assert all((folder / "runs" / name).stat().st_mtime_ns == at for name, at in first.items())
    assert {(run.plan, run.code, run.steps, run.tokens) for run in runs} == {
        (plan.digest(), plan.code, 4, 2048)
    }
    assert run_pack(folder, device="cpu", say=lambda _: None) == 0
    sources = json.loads((folder / "pack.json").read_bytes())["files"]
    assert not [name for name in sources if name.endswith("pt")]
    assert not list(folder.rglob("*.pt"))  # weights can hold text: not kept unless asked for


@pytest.mark.slow
def test_seeds_are_paired_and_runs_repeat_themselves(tmp_path: Path, encoder: Encoder) -> None:
    tiny_pack(tmp_path / "pack", encoder, seeds=(7,))
    run_pack(tmp_path / "pack", tmp_path / "one", device="cpu", say=lambda _: None)
    run_pack(tmp_path / "pack", tmp_path / "two", device="cpu", say=lambda _: None)
    one, two = (read_runs(tmp_path / name / "runs") for name in ("one", "two"))
    assert [run.table_sha256 for run in one] == [run.table_sha256 for run in two]
    assert one[0].table_sha256 != one[1].table_sha256
    # The first batch is scored before any step: equal weights, and orders of one seed.
    assert abs(one[0].curve[0][1] - one[1].curve[0][1]) < 0.05


def test_a_damaged_pack_is_refused(tmp_path: Path, encoder: Encoder) -> None:
    tiny_pack(tmp_path / "pack", encoder)
    path = tmp_path / "pack" / "documents.npy"
    path.write_bytes(path.read_bytes()[:-8] + b"\0" * 8)
    with pytest.raises(EvidenceError, match="copy the pack again"):
        Pack(tmp_path / "pack").samples("clean", 1)
    with pytest.raises(EvidenceError, match="give the folder of a pack"):
        Pack(tmp_path)
