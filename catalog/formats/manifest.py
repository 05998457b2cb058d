"""The file that says what a version is: its manifest.

`manifest.json` (which shards, with which tokenizer, in which mixture) is all that a trainer, the
loader and the catalog need besides the shards. Its bytes are canonical (sorted keys, groups by id,
shards by name), so equal versions have equal files and `digest` names the version's content.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
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

from catalog.errors import PathRefused, StoreFileError
from catalog.formats.store import relative_path

Format = Literal["corpus-assets/manifest/1", "corpus-assets/manifest/2"]
FORMAT: Format = "corpus-assets/manifest/1"
FORMAT_2: Format = "corpus-assets/manifest/2"
"""Of manifests that a reader of the first form would not understand: groups have labels, or tokens
two bytes."""


def _inside_store(path: str) -> str:
    try:
        return relative_path(path)
    except PathRefused as error:
        raise ValueError(f"{path!r} is not a path inside the store") from error


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
    """The recipe, and what of it was a fallback: names, and the models whose place they took."""

    name: str
    digest: str
    stand_ins: dict[str, str] = Field(default_factory=dict)


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


def join_labels(labels: Mapping[str, str]) -> str:
    """Return labels as they stand in the name of a group: `language=de/topic=math`."""
    return "/".join(f"{name}={value}" for name, value in sorted(labels.items()))


def split_labels(written: str) -> dict[str, str]:
    """Return the labels that `join_labels` wrote."""
    return dict(entry.split("=", 1) for entry in written.split("/")) if written else {}


def group_id(snapshot: str, domain: str, tier: str, labels: str = "") -> str:
    """Return the name of a group: SNAPSHOT/DOMAIN/TIER, and its labels where it has any."""
    return "/".join((snapshot, domain, tier, *([labels] if labels else [])))


class Group(_Part):
    """All shards of one snapshot, domain, tier and labels: what the mixture weighs."""

    id: str
    snapshot: str
    domain: str
    tier: str
    labels: dict[str, str] = Field(default={}, exclude_if=lambda labels: not labels)
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
        labels = join_labels(self.labels)
        if self.id != group_id(self.snapshot, self.domain, self.tier, labels):
            raise ValueError(f"group id {self.id!r} must be SNAPSHOT/DOMAIN/TIER[/LABEL=VALUE...]")
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


def manifest_format(groups: Iterable[Group], dtype: str = "int32") -> Format:
    """Return the oldest format that can say what a version is."""
    is_new = dtype != "int32" or any(group.labels for group in groups)
    return FORMAT_2 if is_new else FORMAT


class Manifest(_Part):
    """A version: the groups there are, and the phases of a run over them."""

    format: Format = FORMAT
    version: str
    recipe: RecipeRef
    lock_digest: str
    seed: int
    seq_len: Annotated[int, Field(ge=2)]
    dtype: Literal["int32", "uint16"] = Field(default="int32", exclude_if=lambda t: t == "int32")
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
        if self.format != manifest_format(self.groups, self.dtype):
            raise ValueError(f"its content is of format {manifest_format(self.groups, self.dtype)}")
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
        """Return the one byte string that stands for this manifest."""
        plain = self.model_dump(mode="json")
        if not self.recipe.stand_ins:
            del plain["recipe"]["stand_ins"]
        return (json.dumps(plain, sort_keys=True, indent=1, ensure_ascii=False) + "\n").encode()

    def digest(self) -> str:
        """Return SHA-256 of `dump()`."""
        return hashlib.sha256(self.dump()).hexdigest()


def parse_manifest(content: bytes, name: str = "manifest.json") -> Manifest:
    """Read a manifest's bytes; `StoreFileError` says what is wrong with the file `name`."""
    try:
        found = json.loads(content)
    except ValueError as error:
        raise StoreFileError(f"{name} is not JSON ({error}); fetch it again") from error
    if isinstance(found, dict) and found.get("format") not in (FORMAT, FORMAT_2):
        raise StoreFileError(
            f"{name} has format {found.get('format')!r}, this package reads {FORMAT!r} and "
            f"{FORMAT_2!r}: "
            "use the corpus-assets that wrote it"
        )
    try:
        return Manifest.model_validate_json(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(step) for step in first["loc"]) or "manifest"
        raise StoreFileError(
            f"{name} is not valid at {place}: {first['msg']}; fetch it again or rebuild the version"
        ) from error
