"""Plan what an export holds, before a token is copied.

Sample i of an export is the sample at a position of the loader's order: an export is one or more
passes, each a stretch of positions under one seed. So it can be compared with the loader sample by
sample, and every sample leads back to its documents by the formula of the order.
"""

from collections.abc import Sequence
from importlib import metadata
from math import ceil
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from corpus_assets.core.errors import ShardError
from corpus_assets.core.identity import digest
from corpus_loader import Manifest, Order

FORMAT: Literal["corpus-assets/export/1"] = "corpus-assets/export/1"
LayoutName = Literal["megatron", "datatrove", "mds", "hf-parquet"]
FORMATS: tuple[LayoutName, ...] = ("megatron", "datatrove", "mds", "hf-parquet")
FILE_BYTES = {"megatron": 2**26, "datatrove": 2**28, "mds": 2**26, "hf-parquet": 2**28}
"""Bytes of tokens in a file; Megatron-LM's is one file that is written in stretches so long."""


def partial_folder(out: Path) -> Path:
    """Return where an export lies while it is written."""
    return out.with_name(out.name + ".partial")


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Pass(_Part):
    """Positions [first, first + samples) of the loader's order for `seed`."""

    seed: int
    first: int
    samples: int


class ExportPlan(_Part):
    """Everything that the bytes of an export hang on; equal plans give equal files."""

    format: Literal["corpus-assets/export/1"] = FORMAT
    tool_version: str
    layout: LayoutName
    version: str
    manifest_sha256: str
    tokenizer_sha256: str
    vocab_size: int
    eod_id: int
    pad_id: int
    seq_len: int
    dtype: Literal["uint16", "int32"]
    phase: str | None
    order: str = "sample i is the loader's: position first + i of a pass, the passes end to end"
    passes: tuple[Pass, ...]
    file_samples: int
    has_lineage: bool

    @property
    def samples(self) -> int:
        return sum(one.samples for one in self.passes)

    @property
    def parts(self) -> int:
        return -(-self.samples // self.file_samples)

    @property
    def token_bytes(self) -> int:
        return 2 if self.dtype == "uint16" else 4

    @property
    def row_bytes(self) -> int:
        return self.seq_len * self.token_bytes

    def part_range(self, number: int) -> tuple[int, int]:
        """First sample of a part and the one after its last."""
        first = number * self.file_samples
        return first, min(first + self.file_samples, self.samples)

    def digest(self) -> str:
        return digest(self.model_dump(mode="json"))


def make_plan(
    manifest: Manifest,
    manifest_sha256: str,
    layout: str,
    *,
    seed: int | None = None,
    tokens: int | None = None,
    epochs: float | None = None,
    phase: str | None = None,
    file_bytes: int | None = None,
    has_lineage: bool = False,
) -> ExportPlan:
    """Settle what `corpus export` writes; a wish that cannot be met is refused here.

    `tokens` counts places in samples, padding too, and is rounded up to whole samples; `epochs`
    counts passes over the run (or over the phase), each after the first under the next seed.
    """
    known = next((name for name in FORMATS if name == layout), None)
    if known is None:
        raise ShardError(f"there is no export format {layout!r}; use one of {', '.join(FORMATS)}")
    narrow = manifest.tokenizer.vocab_size <= 65_499  # where Megatron-LM too takes 16 bits
    dtype: Literal["uint16", "int32"] = "uint16" if narrow and layout != "hf-parquet" else "int32"
    row_bytes = manifest.seq_len * (2 if dtype == "uint16" else 4)
    wanted_bytes = FILE_BYTES[layout] if file_bytes is None else file_bytes
    if layout == "mds" and wanted_bytes >= 2**32 - 2**20:
        raise ShardError("an MDS file counts its bytes in 32 bits; ask for less than 4 GiB a file")
    return ExportPlan(
        tool_version=metadata.version("corpus-assets"),
        layout=known,
        version=manifest.version,
        manifest_sha256=manifest_sha256,
        tokenizer_sha256=manifest.tokenizer.sha256,
        vocab_size=manifest.tokenizer.vocab_size,
        eod_id=manifest.tokenizer.eod_id,
        pad_id=manifest.tokenizer.pad_id,
        seq_len=manifest.seq_len,
        dtype=dtype,
        phase=phase,
        passes=_passes(manifest, seed, tokens, epochs, phase),
        file_samples=max(1, wanted_bytes // row_bytes),
        has_lineage=has_lineage,
    )


def _passes(
    manifest: Manifest,
    seed: int | None,
    tokens: int | None,
    epochs: float | None,
    phase: str | None,
) -> tuple[Pass, ...]:
    chosen = manifest.seed if seed is None else seed
    first, end = _stretch(manifest, phase)
    run = end - first
    where = f"phase {phase}" if phase is not None else "the run"
    if run <= 0:
        raise ShardError(f"{where} of version {manifest.version} holds no sample to export")
    if tokens is not None and epochs is not None:
        raise ShardError("give either --tokens or --epochs, not both")
    if tokens is not None:
        samples = -(-tokens // manifest.seq_len)
        if not 1 <= samples <= run:
            raise ShardError(
                f"{where} of version {manifest.version} has {run * manifest.seq_len} tokens, "
                f"{tokens} cannot be exported; build a version with larger mixture.run_tokens, or "
                "ask for --epochs above 1"
            )
        return (Pass(seed=chosen, first=first, samples=samples),)
    times = 1.0 if epochs is None else epochs
    if not 0 < times <= 1_000_000:
        raise ShardError(f"{times:g} epochs cannot be exported; give a number above 0")
    left = ceil(times * run)
    passes: list[Pass] = []
    while left > 0:
        take = min(left, run)
        passes.append(Pass(seed=chosen + len(passes), first=first, samples=take))
        left -= take
    return tuple(passes)


def _stretch(manifest: Manifest, phase: str | None) -> tuple[int, int]:
    order = Order.of(manifest)
    if phase is None:
        return 0, len(order)
    names: Sequence[str] = [each.name for each in manifest.phases]
    if phase not in names:
        raise ShardError(
            f"version {manifest.version} has no phase {phase!r}; it has {', '.join(names)}"
        )
    return order.phase_bounds(names.index(phase))
