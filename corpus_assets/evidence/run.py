"""Run a pack: train and score what its plan asks for and is not measured yet.

    plan.json        what is to be run, written and hashed before the first run
    pack.json        what the pack holds: digests of its files, arms, orders, special tokens
    tokens.xz        tokens of all documents, end to end; a text that arms share is there once
    documents.npy    int64: where each document begins, and the end
    arms.parquet     arm, seed, group, document, doc_id: which documents each seed of an arm has, in
                     their order; by their ids a takedown knows what the pack holds
    orders/*.npy     sample at each position of a run, as the loader's formula gives it
    heldout.parquet  documents of the held-out set as tokens
    runs/            results, each written as soon as it is there (`results`)

A run that has a result is not repeated, so a pack may be killed at any moment and started again.
This file travels with packs: torch, numpy and pyarrow are all it needs.
"""

import argparse
import hashlib
import io
import json
import lzma
import os
import platform
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from corpus_assets.core.errors import EvidenceError, MissingExtra
from corpus_assets.evidence.results import Run, measured, read_runs, run_name, write_run
from corpus_assets.evidence.schedule import Data, annealed

FORMAT = "corpus-evidence-pack/3"
RUNS = "runs"
SOURCES = (
    "corpus_assets/core/errors.py",
    "corpus_assets/evidence/model.py",
    "corpus_assets/evidence/results.py",
    "corpus_assets/evidence/run.py",
    "corpus_assets/evidence/schedule.py",
    "corpus_assets/evidence/score.py",
    "corpus_assets/evidence/train.py",
)
"""All that a machine without this package needs of it. Packages are empty in a pack: what a room
exports needs the rest of the project."""


def code_digest() -> str:
    """Return one digest of the sources that train and score."""
    root = Path(__file__).parents[2]
    texts = {name: hashlib.sha256((root / name).read_bytes()).hexdigest() for name in SOURCES}
    return hashlib.sha256(json.dumps(texts, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class Wanted:
    """One run that a plan asks for."""

    arm: str
    learning_rate: float
    seed: int
    tokens: int


def wanted_runs(plan: dict[str, Any]) -> Iterator[Wanted]:
    """Yield the runs of a plan: a seed's arms beside each other, so that what is stopped early can
    be compared; then the baseline's other budgets."""
    main = plan["learning_rates"][0]
    for seed in plan["seeds"]:
        for rate in plan["learning_rates"]:
            for arm in sorted(plan["arms"], key=lambda name: (name != plan["baseline"], name)):
                yield Wanted(arm, rate, seed, plan["proxy"]["tokens"])
        for tokens in plan["budgets"]:
            yield Wanted(plan["baseline"], main, seed, tokens)


class Pack:
    """A pack's folder, read; every file has the digest that `pack.json` names."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.body: dict[str, Any] = json.loads(self._read("pack.json", None))
        if self.body.get("format") != FORMAT:
            raise EvidenceError(
                f"{folder} is a pack of format {self.body.get('format')!r}, this code runs "
                f"{FORMAT!r}; run it with the code that it carries: python {folder}/run.py"
            )
        plan = self._read("plan.json", self.body["files"]["plan.json"])
        self.plan_digest = hashlib.sha256(plan).hexdigest()
        self.plan: dict[str, Any] = json.loads(plan)

    def _read(self, name: str, sha256: str | None) -> bytes:
        try:
            data = (self.folder / name).read_bytes()
        except OSError as error:
            raise EvidenceError(
                f"{self.folder / name} cannot be read ({error.strerror}); give the folder of a pack"
            ) from error
        if sha256 is not None and hashlib.sha256(data).hexdigest() != sha256:
            raise EvidenceError(f"{name} is not the file that was packed; copy the pack again")
        return data

    def file(self, name: str) -> bytes:
        """Return the content of a file of the pack."""
        return self._read(name, self.body["files"][name])

    @cached_property
    def tokens(self) -> npt.NDArray[np.int32]:
        """All documents end to end."""
        raw = lzma.decompress(self.file("tokens.xz"))
        return np.frombuffer(raw, self.body["dtype"]).astype(np.int32)

    @cached_property
    def _arms(self) -> pa.Table:
        return pq.read_table(pa.BufferReader(self.file("arms.parquet")))

    @cached_property
    def _edges(self) -> npt.NDArray[np.int64]:
        edges: npt.NDArray[np.int64] = np.load(io.BytesIO(self.file("documents.npy")))
        return edges

    def samples(self, arm: str, seed: int) -> npt.NDArray[np.int32]:
        """Return the samples [samples, sequence] of an arm's seed: documents of a group end to end,
        groups in the order of their names, cut or filled up to the group's number of samples."""
        sequence, pad = self.plan["proxy"]["sequence"], self.body["pad_id"]
        parts = []
        is_own = pc.and_(pc.equal(self._arms["arm"], arm), pc.equal(self._arms["seed"], seed))
        own = self._arms.filter(is_own)
        for group, count in sorted(self.body["arms"][arm][str(seed)]["groups"].items()):
            documents = own.filter(pc.equal(own["group"], group))["document"].to_numpy()
            pieces = [self.tokens[self._edges[d] : self._edges[d + 1]] for d in documents]
            parts.append(lay_group(pieces, count, sequence, pad))
        return np.concatenate(parts)

    def anneals(self, arm: str) -> bool:
        """Whether an arm is trained from where the baseline's model begins to cool down."""
        return bool(self.plan["proxy"]["protocol"] == "anneal" and arm != self.plan["baseline"])

    def data(self, arm: str, seed: int) -> Data:
        """Return what a run of an arm and seed trains on."""
        if self.anneals(arm):
            base, proxy = self.data(self.plan["baseline"], seed), self.plan["proxy"]
            steps = proxy["tokens"] // proxy["batch_tokens"]
            rows = proxy["batch_tokens"] // proxy["sequence"]
            return annealed(base, self._own_data(arm, seed), steps, rows)
        return self._own_data(arm, seed)

    def _own_data(self, arm: str, seed: int) -> Data:
        body = self.body
        order = np.load(io.BytesIO(self.file(body["arms"][arm][str(seed)]["order"])))
        samples = self.samples(arm, seed)
        return Data(samples, order.astype(np.int64), body["eod_id"], body["pad_id"])

    def runs(self) -> Iterator[Wanted]:
        """Yield the runs of the plan that the pack has documents for: of a sweep, one round's."""
        held = self.body["arms"]
        return (r for r in wanted_runs(self.plan) if str(r.seed) in held.get(r.arm, {}))

    def heldout(self) -> pa.Table:
        """Return domain, host, bytes, context and tokens of every held-out document."""
        return pq.read_table(pa.BufferReader(self.file("heldout.parquet")))


def lay_group(
    pieces: Sequence[npt.NDArray[np.int32]], samples: int, sequence: int, pad_id: int
) -> npt.NDArray[np.int32]:
    """Lay documents end to end into `samples` rows; the last one is cut, or padded."""
    laid = np.full(samples * sequence, pad_id, np.int32)
    flat = np.concatenate([np.empty(0, np.int32), *pieces])[: len(laid)]
    laid[: len(flat)] = flat
    return laid.reshape(samples, sequence)


def batches_digest(data: Data, positions: int) -> str:
    """Return SHA-256 of all tokens of a run in the order it sees them."""
    found = hashlib.sha256()
    for first in range(0, positions, 4096):
        rows = data.order[first : min(positions, first + 4096)]
        found.update(np.ascontiguousarray(data.samples[rows], "<i4").tobytes())
    return found.hexdigest()


def run_pack(
    folder: Path,
    out: Path | None = None,
    *,
    device: str | None = None,
    part: tuple[int, int] = (0, 1),
    keep_weights: bool = False,
    token_nats: bool = False,
    say: Callable[[str], None] | None = None,
) -> int:
    """Run what is missing of a pack and return how many runs that were.

    Results go to `out`, or to the pack itself; those of either are not repeated. `part` (i, n)
    takes every n-th run from the i-th on, for several devices.
    """
    try:
        import torch
    except ImportError as error:
        raise MissingExtra(
            "training needs torch, which is not installed; pip install 'corpus-assets[evidence]', "
            "or copy the pack to a machine that has it and start `python run.py` there"
        ) from error
    from corpus_assets.evidence.score import lay_out, per_document, score_tokens
    from corpus_assets.evidence.train import Trunk, build_model, prepare, train

    say = say or _say
    pack = Pack(folder)
    plan, proxy = pack.plan, pack.plan["proxy"]
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    target = (out or folder) / RUNS
    done = {run.name for place in {target, folder / RUNS} for run in read_runs(place)}
    wanted = list(pack.runs())
    size, sequence = proxy["size"], proxy["sequence"]
    place_of = _places(wanted, proxy["protocol"] == "anneal")
    missing = [
        (number, run)
        for number, run in enumerate(wanted)
        if run_name(run.arm, size, run.learning_rate, run.seed, run.tokens) not in done
        and place_of[number] % part[1] == part[0]
    ]
    say(f"{len(wanted)} runs, {len(missing)} to do here, on {device}")
    if not missing:
        return 0
    if code_digest() != plan["code"]:
        say("the code here differs from the plan's; results will record it")
    rows = proxy["batch_tokens"] // sequence
    model = build_model(size, pack.body["vocab_size"], sequence, device)
    on = prepare(model, rows, sequence)
    if on.note:
        say(on.note)
    hardware = torch.cuda.get_device_name() if device != "cpu" else platform.machine()
    heldout = pack.heldout()
    layout = lay_out(heldout, sequence, pack.body["eod_id"], pack.body["pad_id"])
    trunks: dict[Wanted, Trunk | None] = {}
    for number, run in missing:
        started = time.monotonic()
        power = Power(device)
        data = pack.data(run.arm, run.seed)
        steps = run.tokens // proxy["batch_tokens"]
        shared = replace(run, arm="")  # what the arms of a seed have in common
        trained = train(
            on,
            data,
            steps=steps,
            rows=rows,
            learning_rate=run.learning_rate,
            seed=run.seed,
            keeps_trunk=proxy["protocol"] == "anneal",
            trunk=trunks.get(shared),
        )
        trunks = {shared: trained.trunk}
        nats = score_tokens(on.forward, on.masks, layout, rows, device)
        result = measured(
            per_document(heldout, layout, nats),
            nats if token_nats else None,
            plan=pack.plan_digest,
            arm=run.arm,
            size=size,
            learning_rate=run.learning_rate,
            seed=run.seed,
            tokens=steps * proxy["batch_tokens"],
            steps=steps,
            curve=trained.curve,
            tokens_per_second=round(trained.tokens_per_second, 1),
            hardware=f"{hardware}; {on.note}" if on.note else hardware,
            torch=torch.__version__,
            code=code_digest(),
            batches=batches_digest(data, steps * rows),
            device=device,
            watts=power.stop(),
            seconds=round(time.monotonic() - started, 1),
        )
        if keep_weights:
            write_weights(target / f"{result.name}.weights.npz", model)
        write_run(target, result)
        say(_line(number, len(wanted), result, time.monotonic() - started))
    return len(missing)


class Power:
    """What a GPU draws on average, by `nvidia-smi` every few seconds.

    It is that of the whole device: runs that share one are each noted with all of it.
    """

    def __init__(self, device: str, every_s: float = 2.0) -> None:
        self._seen: list[float] = []
        self._end = threading.Event()
        self._thread: threading.Thread | None = None
        number = device.partition(":")[2] or "0"
        visible = [one for one in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if one]
        self._gpu = visible[int(number)] if int(number) < len(visible) else number
        if device.startswith("cuda") and shutil.which("nvidia-smi"):
            self._thread = threading.Thread(target=self._watch, args=(every_s,), daemon=True)
            self._thread.start()

    def _watch(self, every_s: float) -> None:
        asked = ["nvidia-smi", f"--id={self._gpu}", "--query-gpu=power.draw",
                 "--format=csv,noheader,nounits"]  # fmt: skip
        while True:
            try:
                told = subprocess.run(asked, capture_output=True, text=True, timeout=10, check=True)
                self._seen.append(float(told.stdout))
            except (OSError, ValueError, subprocess.SubprocessError):
                return  # a device that does not say it: unknown
            if self._end.wait(every_s):
                return

    def stop(self) -> float | None:
        """Return the average so far; None where the device did not say."""
        self._end.set()
        if self._thread is not None:
            self._thread.join(timeout=15)
        return round(sum(self._seen) / len(self._seen), 1) if self._seen else None


def _places(wanted: Sequence[Wanted], anneals: bool) -> list[int]:
    """Number what one device does without others: runs, or all arms that anneal from one model."""
    if not anneals:
        return list(range(len(wanted)))
    trunks = list(dict.fromkeys(replace(run, arm="") for run in wanted))
    return [trunks.index(replace(run, arm="")) for run in wanted]


def write_weights(path: Path, model: Any) -> None:
    """Write a model's weights as float32 arrays by name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.tmp")
    with temporary.open("wb") as handle:
        held = {name: weight.cpu().numpy() for name, weight in model.state_dict().items()}
        np.savez(handle, **held)
    temporary.replace(path)


def _line(number: int, count: int, run: Run, seconds: float) -> str:
    table = run.table()
    bits = float(np.sum(table["nats"].to_numpy()) / np.log(2) / np.sum(table["bytes"].to_numpy()))
    return (
        f"{number + 1}/{count} {run.name}: {bits:.4f} bits per byte, loss {run.curve[-1][1]:.3f}, "
        f"{run.tokens_per_second:,.0f} tokens/s, {seconds:.0f} s"
    )


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()  # so that the log of a killed job is complete


def parse_part(written: str) -> tuple[int, int]:
    """Read I/N: every N-th run, starting with the I-th, counted from 0."""
    first, _, count = written.partition("/")
    if not (first.isdecimal() and count.isdecimal() and int(first) < int(count)):
        raise EvidenceError(f"part {written} is not I/N with I below N, like 0/4")
    return int(first), int(count)


def main(arguments: Sequence[str] | None = None, folder: Path | None = None) -> int:
    """Run the pack of `folder` from a command line."""
    parser = argparse.ArgumentParser(description=run_pack.__doc__)
    parser.add_argument("--out", type=Path, help="folder for results [the pack's own]")
    parser.add_argument("--device", help="cuda, cuda:1, cpu [cuda if available]")
    parser.add_argument("--part", default="0/1", help="I/N: every N-th run, starting with the I-th")
    parser.add_argument("--keep-weights", action="store_true", help="keep each run's weights")
    parser.add_argument("--token-nats", action="store_true", help="keep nats of every token")
    given = parser.parse_args(arguments)
    try:
        run_pack(
            folder or Path.cwd(),
            given.out,
            device=given.device,
            part=parse_part(given.part),
            keep_weights=given.keep_weights,
            token_nats=given.token_nats,
            say=_say,
        )
    except (EvidenceError, MissingExtra) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0
