"""What one training run measured: `NAME.json` beside `NAME.parquet`, nothing averaged.

    NAME.json      `Run`: which run it was, loss curve, speed, machine, SHA-256 of the others
    NAME.parquet   `TABLE`: one row a document of the held-out set, in the order of the set
    NAME.nats.npy  float32, one a scored token in the same order; where it was asked for

The JSON is written last, each file under a temporary name first: a run that was killed left no
JSON, and so no run. This file travels with packs: it needs numpy and pyarrow alone.
"""

import hashlib
import io
import json
import os
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from corpus_assets.core.errors import EvidenceError

FORMAT = "corpus-evidence-run/2"

TABLE = pa.schema(
    [
        ("document", pa.int32()),  # its number in the held-out set
        ("domain", pa.string()),
        ("host", pa.string()),  # documents of one host are not independent of each other
        ("nats", pa.float64()),  # over all scored tokens
        ("bytes", pa.int64()),  # UTF-8 bytes that those tokens spell
        ("tokens", pa.int32()),  # scored: special tokens are none
        ("item", pa.int32()),  # of which document it is a wrong choice; its own number: of none
    ]
)


@dataclass(frozen=True)
class Run:
    """One model: an arm of a plan at a size, learning rate, seed and number of tokens."""

    plan: str  # digest of the plan
    arm: str
    size: str
    learning_rate: float
    seed: int
    tokens: int  # trained on, repetitions counted
    steps: int
    curve: list[list[float]]  # [tokens so far, nats per token]
    tokens_per_second: float
    hardware: str
    torch: str
    code: str = ""  # digest of the sources that ran
    batches: str = ""  # digest of the tokens in the order they were trained on
    table_sha256: str = ""
    nats_sha256: str = ""
    table_bytes: bytes = b""
    nats_bytes: bytes = b""

    @property
    def name(self) -> str:
        return run_name(self.arm, self.size, self.learning_rate, self.seed, self.tokens)

    def table(self) -> pa.Table:
        """Return the rows of `TABLE` without wrong choices."""
        rows = self.choices()
        return rows.filter(pc.equal(rows["item"], rows["document"]))

    def choices(self) -> pa.Table:
        """Return all rows of `TABLE`."""
        # One thread: a worker that still holds Python's bytes when the interpreter ends aborts the
        # process (apache/arrow#34314), and a table has a few thousand rows.
        return pq.read_table(pa.BufferReader(self.table_bytes), schema=TABLE, use_threads=False)

    def bits(self) -> npt.NDArray[np.float64]:
        """Return bits per byte of each document of `table()`."""
        rows = self.table()
        found: npt.NDArray[np.float64] = (
            rows["nats"].to_numpy() / np.log(2) / rows["bytes"].to_numpy()
        )
        return found

    def token_nats(self) -> npt.NDArray[np.float32] | None:
        """Return nats of every scored token of `table()`, or None where they were not kept."""
        if not self.nats_bytes:
            return None
        found: npt.NDArray[np.float32] = np.load(io.BytesIO(self.nats_bytes), allow_pickle=False)
        rows = self.choices()
        is_own = pc.equal(rows["item"], rows["document"]).to_numpy()
        own: npt.NDArray[np.float32] = found[np.repeat(is_own, rows["tokens"].to_numpy())]
        return own

    def files(self) -> dict[str, bytes]:
        """Return the run's files by name, the JSON last."""
        held = {f"{self.name}.nats.npy": self.nats_bytes} if self.nats_bytes else {}
        body = {name: value for name, value in asdict(self).items() if name not in _CONTENTS}
        text = json.dumps({"format": FORMAT, **body}, sort_keys=True, indent=1, allow_nan=False)
        return held | {
            f"{self.name}.parquet": self.table_bytes,
            f"{self.name}.json": text.encode() + b"\n",
        }


_CONTENTS = ("table_bytes", "nats_bytes")


def run_name(arm: str, size: str, learning_rate: float, seed: int, tokens: int) -> str:
    """Return the name of a run's files."""
    return f"{arm}.{size}.{tokens}.lr{learning_rate:g}.seed{seed}"


def measured(
    table: pa.Table, token_nats: npt.NDArray[np.float32] | None = None, **fields: Any
) -> Run:
    """Return a run from its table and the other fields of `Run`."""
    sink = io.BytesIO()
    pq.write_table(table.cast(TABLE), sink, compression="zstd")
    nats = io.BytesIO()
    if token_nats is not None:
        np.save(nats, token_nats.astype("<f4"), allow_pickle=False)
    return Run(
        **fields,
        table_sha256=_sha256(sink.getvalue()),
        nats_sha256=_sha256(nats.getvalue()) if token_nats is not None else "",
        table_bytes=sink.getvalue(),
        nats_bytes=nats.getvalue(),
    )


def write_run(folder: Path, run: Run) -> None:
    """Write a run into a results folder; half of one is never seen."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in run.files().items():
        temporary = folder / f".{name}.tmp"
        with temporary.open("wb") as handle:
            handle.write(data)
            handle.flush()
            os.fsync(handle.fileno())
        os.replace(temporary, folder / name)


def read_runs(folder: Path) -> list[Run]:
    """Return every finished run of a results folder, by name."""
    return [read_run(path) for path in sorted(folder.glob("*.json"))]


def read_run(path: Path) -> Run:
    """Return the run whose JSON lies at `path`; its files must have the digests it names."""
    table, nats = path.with_suffix(".parquet"), path.with_suffix(".nats.npy")
    try:
        return parse_run(
            path.read_bytes(),
            table.read_bytes(),
            nats.read_bytes() if nats.exists() else b"",
            path.name,
        )
    except OSError as error:
        raise EvidenceError(
            f"run {path.stem} cannot be read ({error.strerror}); copy the results again, or delete "
            f"{path.name} and run the pack again"
        ) from error


def parse_run(text: bytes, table: bytes, nats: bytes, name: str) -> Run:
    """Return a run from the bytes of its files; `name` is for messages."""
    try:
        body = json.loads(text)
        if body.pop("format") != FORMAT:
            raise ValueError(f"its format is not {FORMAT}")
        known = {field.name for field in fields(Run)} - set(_CONTENTS)
        run = Run(**{key: body[key] for key in known}, table_bytes=table, nats_bytes=nats)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise EvidenceError(f"{name} is not the JSON of a run ({error}); copy it again") from error
    for data, recorded in ((table, run.table_sha256), (nats, run.nats_sha256)):
        if recorded and _sha256(data) != recorded:
            raise EvidenceError(
                f"the files of {name} are not those that were measured: one has digest "
                f"{_sha256(data)[:16]}, not {recorded[:16]}; copy the results again"
            )
    return run


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
