"""The header of a shard: what it says of itself, and the hashes of its other files.

    shard_00042.bin            samples end to end, little-endian int32 or uint16 ids, padded
    shard_00042.idx            Megatron-LM's MMIDIDX index of the documents in the .bin
    shard_00042.spans.parquet  whose tokens lie where
    shard_00042.header.json    this

In the .idx a sequence is one piece of a document and its pointer leads past padding and other
documents' pieces, so Megatron-LM's `IndexedDataset` reads whole, real documents piece by piece.
Nothing here knows the mixture, the recipe or the version: shards are shared between versions.
"""

import json
from dataclasses import dataclass

from corpus_loader.errors import FieldError, LoaderError
from corpus_loader.fields import from_json, to_json
from corpus_loader.index import Dtype

FORMAT = "corpus-assets/shard/1"
FORMAT_2 = "corpus-assets/shard/2"
"""Of shards whose tokens have two bytes, which a reader of the first form would not know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileInfo:
    """Name, size and content of one file."""

    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardHeader:
    """What a shard says of itself."""

    group: str
    number: int
    seed: int
    seq_len: int
    dtype: Dtype = "int32"
    packing: str
    tokenizer_sha256: str
    eod_id: int
    pad_id: int
    samples: int
    tokens: int  # without padding
    documents: int
    bin: FileInfo
    idx: FileInfo
    spans: FileInfo

    @classmethod
    def parse(cls, content: bytes, name: str) -> "ShardHeader":
        """Read a header file's bytes; `name` is for the message when it is not one."""
        try:
            found = json.loads(content)
            stated = found.pop("format", None) if isinstance(found, dict) else None
            header = from_json(cls, found)
        except (ValueError, FieldError) as error:
            raise LoaderError(
                f"{name} is not a shard header ({error}); rebuild the shard"
            ) from error
        if header.format != stated:
            raise LoaderError(
                f"{name} has format {stated}, this reads {FORMAT} and {FORMAT_2}; "
                "use the release that wrote it or rebuild the shard"
            )
        return header

    @property
    def format(self) -> str:
        """The oldest format that such a shard can have."""
        return FORMAT if self.dtype == "int32" else FORMAT_2

    def dump(self) -> bytes:
        """Return the bytes of the header's file."""
        plain = {"format": self.format, **to_json(self)}
        text = json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return f"{text}\n".encode()
