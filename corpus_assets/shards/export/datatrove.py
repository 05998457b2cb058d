"""datatrove's tokenized files, for `DatatroveFolderDataset(folder, seq_len - 1, token_size=N)`.

    00000_shuffled.ds           samples end to end, N bytes a token, little-endian
    00000_shuffled.ds.index     uint64: token after the end of each document or piece of one
    00000_shuffled.ds.metadata  tokenizer|N, number of tokens, the same for people

The dataset hands out `seq_len` + 1 tokens at a time, so asked for one token less than our samples
have it gives exactly our samples. Each run of padding counts as a document of its own.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from corpus_assets.shards.export.files import FileEntry, HashedFile, PartRecord, write_file
from corpus_assets.shards.export.layout import packed_tokens
from corpus_assets.shards.export.plan import ExportPlan
from corpus_assets.shards.export.stream import Chunk
from corpus_loader.segments import segments_of


class Datatrove:
    takes_lineage = False

    def open_part(self, folder: Path, plan: ExportPlan, number: int) -> "DatatrovePart":
        return DatatrovePart(folder, plan, number)

    def finish(
        self, folder: Path, plan: ExportPlan, parts: Sequence[PartRecord]
    ) -> list[FileEntry]:
        return []


class DatatrovePart:
    def __init__(self, folder: Path, plan: ExportPlan, number: int) -> None:
        self._folder, self._plan = folder, plan
        self._name = f"{number:05d}_shuffled.ds"
        self._tokens = HashedFile(folder, self._name)
        self._index = HashedFile(folder, f"{self._name}.index")

    def add(self, chunk: Chunk) -> None:
        before = self._tokens.bytes // self._plan.token_bytes
        self._tokens.write(packed_tokens(chunk, self._plan))
        bounds = segments_of(chunk.tokens, self._plan.eod_id, self._plan.pad_id).cu_seqlens
        self._index.write((bounds[1:].astype(np.uint64) + np.uint64(before)).astype("<u8"))

    def finish(self) -> list[FileEntry]:
        count = self._tokens.bytes // self._plan.token_bytes
        lines = [f"tokenizer.json|{self._plan.token_bytes}", str(count), _for_people(count)]
        return [
            self._tokens.finish(),
            self._index.finish(),
            write_file(self._folder, f"{self._name}.metadata", "\n".join(lines).encode()),
        ]

    def abandon(self) -> None:
        self._tokens.__exit__(None, None, None)
        self._index.__exit__(None, None, None)


def _for_people(count: int) -> str:
    """`1.23 MT`: tokens with an SI prefix, three digits."""
    value, prefix = float(count), ""
    for following in ("k", "M", "G", "T", "P"):
        if value < 999.5:
            break
        value, prefix = value / 1000, following
    return f"{value:.3g} {prefix}T"
