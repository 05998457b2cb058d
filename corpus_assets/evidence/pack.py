"""Write a pack: the runs of a plan as a folder that any machine with torch runs alone.

What lies in the folder is described in `run`. A text that several arms have travels once: tokens of all
documents lie end to end, arms are lists of documents.
"""

import contextlib
import hashlib
import io
import json
import lzma
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from corpus_assets.core.errors import EvidenceError
from corpus_assets.evidence import run
from corpus_assets.evidence.arms import Arm, tokens_digest
from corpus_assets.evidence.plan import Plan
from corpus_assets.shards import TokenizerInfo

STARTER = '''"""Run what is missing of this pack: python run.py --help"""

import sys
from pathlib import Path

from corpus_assets.evidence.run import main

sys.exit(main(folder=Path(__file__).absolute().parent))
'''
XZ = [{"id": lzma.FILTER_LZMA2, "preset": 6, "lc": 0, "lp": 1, "pb": 1, "dict_size": 1 << 26}]
"""Two-byte numbers: the place inside a number says more than the byte before it."""


def write_pack(
    folder: Path,
    plan: Plan,
    arms: Mapping[str, Mapping[int, Arm]],
    heldout: pa.Table,
    tokenizer: TokenizerInfo,
    max_mib: float | None = None,
) -> int:
    """Write a pack and return its bytes; `arms` has each arm by seed, `heldout` the columns of
    `run.Pack.heldout`.

    A folder that is there already is refused, and so is a pack above `max_mib`, before anything is
    written.
    """
    if folder.exists() and any(folder.iterdir()):
        raise EvidenceError(f"{folder} is not empty; give another folder, or delete it first")
    if not set(arms) <= set(plan.arms):
        raise EvidenceError(f"the plan has arms {sorted(plan.arms)}, given were {sorted(arms)}")
    dtype = "<u2" if tokenizer.vocab_size <= 1 << 16 else "<i4"
    root = Path(run.__file__).parents[2]  # read first: what follows takes minutes
    files = {name: (root / name).read_bytes() for name in run.SOURCES}
    packages = {folder for name in run.SOURCES for folder in PurePosixPath(name).parents[:-1]}
    files |= {f"{package}/__init__.py": b"" for package in packages}
    files |= {"plan.json": plan.dump(), "run.py": STARTER.encode()}
    described: dict[str, dict[str, Any]] = {}
    chosen, pool = [], _Pool()
    for name, by_seed in sorted(arms.items()):
        described[name] = {}
        for seed, arm in sorted(by_seed.items()):
            numbers = [pool.number(document.tokens) for document in arm.documents]
            groups = [document.group for document in arm.documents]
            ids = pa.array([document.doc_id for document in arm.documents], pa.binary(16))
            chosen.append(pa.table({"arm": [name] * len(groups),
                                    "seed": pa.array([seed] * len(groups), pa.int64()),
                                    "group": groups,
                                    "document": pa.array(numbers, pa.int32()),
                                    "doc_id": ids}))  # fmt: skip
            order = arm.sample_numbers(plan.positions_of(name), seed)
            data = _npy(order.astype("<u2" if order.max() < 1 << 16 else "<u4"))
            order_file = f"orders/{hashlib.sha256(data).hexdigest()[:32]}.npy"
            files[order_file] = data
            described[name][str(seed)] = {
                "groups": dict(arm.samples), "order": order_file, "tokens": arm.tokens,
            }  # fmt: skip
    flat, edges = pool.laid()
    files["tokens.xz"] = lzma.compress(
        flat.astype(dtype).tobytes(), format=lzma.FORMAT_XZ, filters=XZ
    )
    files["documents.npy"] = _npy(edges)
    files["arms.parquet"] = _parquet(pa.concat_tables(chosen))
    files["heldout.parquet"] = _parquet(heldout)
    body: dict[str, Any] = {
        "format": run.FORMAT,
        "dtype": dtype,
        "vocab_size": tokenizer.vocab_size,
        "eod_id": tokenizer.eod_id,
        "pad_id": tokenizer.pad_id,
        "arms": described,
        "files": {name: hashlib.sha256(data).hexdigest() for name, data in sorted(files.items())},
    }
    files["pack.json"] = json.dumps(body, indent=1, sort_keys=True).encode()
    size = sum(len(data) for data in files.values())
    if max_mib is not None and size > max_mib * 2**20:
        raise EvidenceError(
            f"the pack would have {size / 2**20:.1f} MiB, {max_mib:g} are allowed; tokens take "
            f"{len(files['tokens.xz']) / 2**20:.1f} of them: plan fewer unique tokens or fewer arms"
        )
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    (folder / run.RUNS).mkdir(exist_ok=True)
    return size


@dataclass(frozen=True)
class Packed:
    """What a pack says of itself; None for what a stopped or damaged one does not tell."""

    versions: frozenset[str] | None
    doc_ids: frozenset[str] | None  # in hex


def find_pack(folder: Path) -> Packed | None:
    """Return what the pack in a folder holds, finished or not; None where there is none."""
    if not all((folder / name).is_file() for name in ("plan.json", "tokens.xz")):
        return None
    versions = doc_ids = None
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
        arms = json.loads((folder / "plan.json").read_bytes())["arms"]
        versions = frozenset(str(arm["version"]) for arm in arms.values())
    with contextlib.suppress(EvidenceError, pa.ArrowException, ValueError, KeyError, TypeError):
        data = run.Pack(folder).file("arms.parquet")
        ids = pq.read_table(pa.BufferReader(data), columns=["doc_id"])["doc_id"]
        doc_ids = frozenset(doc_id.hex() for doc_id in ids.to_pylist())
    return Packed(versions, doc_ids)


class _Pool:
    """Documents by their tokens, each once."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}
        self._pieces: list[np.ndarray[Any, Any]] = []

    def number(self, tokens: "np.ndarray[Any, Any]") -> int:
        found = self._known.setdefault(tokens_digest(tokens), len(self._pieces))
        if found == len(self._pieces):
            self._pieces.append(tokens)
        return found

    def laid(self) -> tuple["np.ndarray[Any, Any]", "np.ndarray[Any, Any]"]:
        edges = np.cumsum([0, *(len(piece) for piece in self._pieces)], dtype=np.int64)
        return np.concatenate(self._pieces), edges


def _npy(array: Any) -> bytes:
    sink = io.BytesIO()
    np.save(sink, array, allow_pickle=False)
    return sink.getvalue()


def _parquet(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd", compression_level=19)
    return sink.getvalue()
