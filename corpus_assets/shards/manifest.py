"""A corpus version in one small file: which shards, with which tokenizer, in which mixture.

`manifest.json` is all that a trainer, the loader and the catalog need besides the shards. Its
bytes are canonical (sorted keys, groups by id, shards by name), so equal versions have equal
files and `digest` names the version's content.
"""

import hashlib
import json
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from corpus_assets.core.errors import ShardError

FORMAT: Literal["corpus-assets/manifest/1"] = "corpus-assets/manifest/1"


def _inside_store(path: str) -> str:
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or "\\" in path:
        raise ValueError(f"{path!r} is not a path inside the store")
    return path


StorePath = Annotated[str, AfterValidator(_inside_store)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Count = Annotated[int, Field(ge=0)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class FileRef(_Part):
    """A file of the store, by path, content and size."""

    path: StorePath
    sha256: Sha256
    bytes: Count


class RecipeRef(_Part):
    name: str
    digest: str


class TokenizerRef(_Part):
    path: StorePath
    sha256: Sha256
    vocab_size: Annotated[int, Field(ge=1, lt=2**31)]
    eod_id: Count
    pad_id: Count


class ShardRef(_Part):
    """One shard: its files and what is in it. `tokens` are without padding."""

    name: str
    bin: FileRef
    idx: FileRef
    spans: FileRef
    header: FileRef
    samples: Count
    tokens: Count
    documents: Count


class Group(_Part):
    """All shards of one snapshot, domain and tier: what the mixture weighs."""

    id: str
    snapshot: str
    domain: str
    tier: str
    samples: Count
    tokens: Count
    documents: Count
    shards: tuple[ShardRef, ...]

    @field_validator("shards")
    @classmethod
    def _by_name(cls, shards: tuple[ShardRef, ...]) -> tuple[ShardRef, ...]:
        return tuple(sorted(shards, key=lambda shard: shard.name))

    @model_validator(mode="after")
    def _adds_up(self) -> "Group":
        if self.id != f"{self.snapshot}/{self.domain}/{self.tier}":
            raise ValueError(f"group id {self.id!r} must be SNAPSHOT/DOMAIN/TIER")
        if len({shard.name for shard in self.shards}) != len(self.shards):
            raise ValueError(f"group {self.id} names a shard twice")
        for what in ("samples", "tokens", "documents"):
            if getattr(self, what) != sum(getattr(shard, what) for shard in self.shards):
                raise ValueError(f"{what} of group {self.id} are not the sum of its shards")
        return self


class Phase(_Part):
    """A stretch of the run: `blocks` blocks, each with the same samples per group."""

    name: str
    blocks: Count
    counts: dict[str, Annotated[int, Field(ge=1)]]  # group id: samples in a block


class Manifest(_Part):
    """A version: the groups there are, and the phases of a run over them."""

    format: Literal["corpus-assets/manifest/1"] = FORMAT
    version: str
    recipe: RecipeRef
    lock_digest: str
    seed: int
    seq_len: Annotated[int, Field(ge=2)]
    tokenizer: TokenizerRef
    block_samples: Annotated[int, Field(ge=1)]
    groups: tuple[Group, ...]
    phases: tuple[Phase, ...]

    @field_validator("groups")
    @classmethod
    def _by_id(cls, groups: tuple[Group, ...]) -> tuple[Group, ...]:
        return tuple(sorted(groups, key=lambda group: group.id))

    @model_validator(mode="after")
    def _fits_together(self) -> "Manifest":
        samples = {group.id: group.samples for group in self.groups}
        if len(samples) != len(self.groups):
            raise ValueError("two groups share one id")
        if len({phase.name for phase in self.phases}) != len(self.phases):
            raise ValueError("two phases share one name")
        for phase in self.phases:
            empty = [group for group in phase.counts if not samples.get(group)]
            if empty:
                raise ValueError(f"phase {phase.name} draws from {empty[0]}, which has no samples")
            if sum(phase.counts.values()) != self.block_samples:
                raise ValueError(
                    f"counts of phase {phase.name} do not add up to {self.block_samples}"
                )
        return self

    @property
    def utilisation(self) -> float:
        """Share of the samples' places that hold a document's token; the rest is padding."""
        places = sum(group.samples for group in self.groups) * self.seq_len
        return sum(group.tokens for group in self.groups) / places if places else 1.0

    def dump(self) -> bytes:
        """The one byte string that stands for this manifest."""
        plain = self.model_dump(mode="json")
        return (json.dumps(plain, sort_keys=True, indent=1, ensure_ascii=False) + "\n").encode()

    def digest(self) -> str:
        """SHA-256 of `dump()`."""
        return hashlib.sha256(self.dump()).hexdigest()


def parse_manifest(content: bytes, name: str = "manifest.json") -> Manifest:
    """Read a manifest's bytes; `name` is for the message when it is not one."""
    try:
        found = json.loads(content)
    except ValueError as error:
        raise ShardError(f"{name} is not JSON ({error}); fetch it again") from error
    if isinstance(found, dict) and found.get("format") != FORMAT:
        raise ShardError(
            f"{name} has format {found.get('format')!r}, this reads {FORMAT!r}; "
            "use the release that wrote it"
        )
    try:
        return Manifest.model_validate_json(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(step) for step in first["loc"]) or "manifest"
        raise ShardError(
            f"{name} is not valid at {place}: {first['msg']}; fetch it again or rebuild the version"
        ) from error


def load_manifest(path: Path) -> Manifest:
    """Read a manifest from a local file."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ShardError(
            f"{path.name} cannot be read ({error.strerror}); give the path of a version's manifest; "
            "of a version that a takedown replaced, `catalog versions` names the one in its place"
        ) from error
    return parse_manifest(content, path.name)
