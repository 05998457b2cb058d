"""The manifest: the file that says what a version is.

`manifest.json` (which shards, with which tokenizer, in which mixture) is all that a trainer needs
besides the shards. Its bytes are canonical (sorted keys, groups by id, shards by name), so equal
versions have equal files and `digest` names the version's content.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from corpus_loader.errors import FieldError, LoaderError
from corpus_loader.fields import at_least, from_json, to_json
from corpus_loader.index import Dtype
from corpus_loader.schedule import RatePiece, check_pieces, rate_at

FORMAT = "corpus-assets/manifest/1"
FORMAT_2 = "corpus-assets/manifest/2"
"""Of manifests that a reader of the first form would not understand: groups have labels, or tokens
two bytes."""
FORMAT_3 = "corpus-assets/manifest/3"
"""Of manifests with learning rates."""

SHA256 = re.compile("[0-9a-f]{64}")
OUTSIDE = re.compile(r"[\x00-\x1f\x7f\\]|://")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRef:
    """A file of the store, by path, content and size."""

    path: str
    sha256: str
    bytes: int

    def __post_init__(self) -> None:
        _check_path(self.path)
        _check_sha256(self.sha256)
        at_least(self, 0, "bytes")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipeRef:
    """The recipe; what of it was a fallback: names, and the models whose place they took; and by
    what evidence versions of it are released: the baseline of small models, or `no evidence`."""

    name: str
    digest: str
    fallbacks: dict[str, str] = field(default_factory=dict)
    evidence: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenizerRef:
    """The tokenizer that the tokens are of."""

    path: str
    sha256: str
    vocab_size: int
    eod_id: int
    pad_id: int

    def __post_init__(self) -> None:
        _check_path(self.path)
        _check_sha256(self.sha256)
        at_least(self, 1, "vocab_size")
        at_least(self, 0, "eod_id", "pad_id")
        if self.vocab_size >= 2**31:
            raise FieldError(f"{self.vocab_size} ids do not fit into 31 bits", "vocab_size")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardRef:
    """One shard: its files and what is in it. `tokens` are without padding."""

    name: str
    bin: FileRef
    idx: FileRef
    spans: FileRef
    header: FileRef
    samples: int
    tokens: int
    documents: int

    def __post_init__(self) -> None:
        at_least(self, 0, "samples", "tokens", "documents")


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """All shards of one snapshot, domain, tier and labels: what the mixture weighs."""

    id: str
    snapshot: str
    domain: str
    tier: str
    labels: dict[str, str] = field(default_factory=dict)
    samples: int
    tokens: int
    documents: int
    shards: tuple[ShardRef, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "shards", tuple(sorted(self.shards, key=lambda s: s.name)))
        at_least(self, 0, "samples", "tokens", "documents")
        if self.id != group_id(self.snapshot, self.domain, self.tier, join_labels(self.labels)):
            raise FieldError(f"group id {self.id!r} must be SNAPSHOT/DOMAIN/TIER[/LABEL=VALUE...]")
        if len({shard.name for shard in self.shards}) != len(self.shards):
            raise FieldError(f"group {self.id} names a shard twice")
        for what in ("samples", "tokens", "documents"):
            if getattr(self, what) != sum(getattr(shard, what) for shard in self.shards):
                raise FieldError(f"{what} of group {self.id} are not the sum of its shards")

    @property
    def first_samples(self) -> dict[str, int]:
        """Number in the group of each shard's first sample, by the shard's name."""
        firsts, first = {}, 0
        for shard in self.shards:
            firsts[shard.name] = first
            first += shard.samples
        return firsts


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """A stretch of the run: `blocks` blocks, each with the same samples per group."""

    name: str
    blocks: int
    counts: dict[str, int]  # group id: samples in a block
    learning_rate: tuple[RatePiece, ...] = ()

    def __post_init__(self) -> None:
        at_least(self, 0, "blocks")
        check_pieces(self.learning_rate)
        for group, count in self.counts.items():
            if count < 1:
                raise FieldError(f"{count} is below 1; leave the group out", "counts", group)


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """A version: the groups there are, and the phases of a run over them."""

    version: str
    recipe: RecipeRef
    lock_digest: str
    seed: int
    seq_len: int
    dtype: Dtype = "int32"
    tokenizer: TokenizerRef
    block_samples: int
    groups: tuple[Group, ...]
    phases: tuple[Phase, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", tuple(sorted(self.groups, key=lambda g: g.id)))
        at_least(self, 2, "seq_len")
        at_least(self, 1, "block_samples")
        samples = {group.id: group.samples for group in self.groups}
        if len(samples) != len(self.groups):
            raise FieldError("two groups share one id")
        if len({phase.name for phase in self.phases}) != len(self.phases):
            raise FieldError("two phases share one name")
        for phase in self.phases:
            empty = [group for group in phase.counts if not samples.get(group)]
            if empty:
                raise FieldError(f"phase {phase.name} draws from {empty[0]}, which has no samples")
            if sum(phase.counts.values()) != self.block_samples:
                raise FieldError(
                    f"counts of phase {phase.name} do not add up to {self.block_samples}"
                )

    @classmethod
    def load(cls, path: str | Path) -> "Manifest":
        """Read a manifest from a local file."""
        path = Path(path)
        try:
            content = path.read_bytes()
        except OSError as error:
            raise LoaderError(
                f"{path.name} cannot be read ({error.strerror}); give the path of a version's "
                "manifest; of a version that a takedown replaced, `catalog versions` shows its "
                "replacement"
            ) from error
        return cls.parse(content, path.name)

    @classmethod
    def parse(cls, content: bytes, name: str = "manifest.json") -> "Manifest":
        """Read a manifest's bytes; `LoaderError` says what is wrong with the file `name`."""
        try:
            found = json.loads(content)
        except ValueError as error:
            raise LoaderError(f"{name} is not JSON ({error}); fetch it again") from error
        stated = found.pop("format", None) if isinstance(found, dict) else None
        if stated not in (FORMAT, FORMAT_2, FORMAT_3):
            raise LoaderError(
                f"{name} has format {stated!r}, this package reads {FORMAT!r} to {FORMAT_3!r}: "
                "use the corpus-assets that wrote it"
            )
        try:
            manifest = from_json(cls, found)
            if manifest.format != stated:
                raise FieldError(f"its content is of format {manifest.format}", "format")
        except FieldError as error:
            place = ".".join(error.place) or "manifest"
            raise LoaderError(
                f"{name} is not valid at {place}: {error.fault}; fetch it again or rebuild the "
                "version"
            ) from error
        return manifest

    @property
    def format(self) -> str:
        """The oldest format that can say what the version is."""
        if any(phase.learning_rate for phase in self.phases):
            return FORMAT_3
        is_new = self.dtype != "int32" or any(group.labels for group in self.groups)
        return FORMAT_2 if is_new else FORMAT

    @property
    def utilisation(self) -> float:
        """Share of the samples' places that hold a document's token; the rest is padding."""
        places = sum(group.samples for group in self.groups) * self.seq_len
        return sum(group.tokens for group in self.groups) / places if places else 1.0

    def learning_rate(self, position: int) -> float | None:
        """Return the learning rate at a position of the run's order; None where its phase states
        none."""
        first = 0
        for phase in self.phases:
            samples = phase.blocks * self.block_samples
            if first <= position < first + samples:
                return rate_at(phase.learning_rate, (position - first) / samples)
            first += samples
        raise LoaderError(f"this run has positions 0..{first - 1}, not {position}")

    def sample_in_group(self, group: str, shard: str, sample: int) -> int:
        """Return the number in its group of a shard's sample."""
        for found in (each for each in self.groups if each.id == group):
            for ref in (each for each in found.shards if each.name == shard):
                if not 0 <= sample < ref.samples:
                    raise LoaderError(f"{shard} has samples 0..{ref.samples - 1}, not {sample}")
                return found.first_samples[shard] + sample
        raise LoaderError(f"group {group!r} has no shard {shard!r} in this manifest")

    def dump(self) -> bytes:
        """Return the one byte string that stands for this manifest."""
        plain = {"format": self.format, **to_json(self)}
        return (json.dumps(plain, sort_keys=True, indent=1, ensure_ascii=False) + "\n").encode()

    def digest(self) -> str:
        """Return SHA-256 of `dump()`."""
        return hashlib.sha256(self.dump()).hexdigest()


def join_labels(labels: Mapping[str, str]) -> str:
    """Return labels as they stand in the name of a group: `language=de/topic=math`."""
    return "/".join(f"{name}={value}" for name, value in sorted(labels.items()))


def split_labels(written: str) -> dict[str, str]:
    """Return the labels that `join_labels` wrote."""
    return dict(entry.split("=", 1) for entry in written.split("/")) if written else {}


def group_id(snapshot: str, domain: str, tier: str, labels: str = "") -> str:
    """Return the name of a group: SNAPSHOT/DOMAIN/TIER, and its labels where it has any."""
    return "/".join((snapshot, domain, tier, *([labels] if labels else [])))


def _check_path(path: str) -> None:
    """Refuse what is no plain relative path: a manifest must not lead out of its store."""
    pure = PurePosixPath(path)
    is_plain = pure.as_posix() == path and not pure.is_absolute() and path not in ("", ".")
    if not is_plain or ".." in pure.parts or OUTSIDE.search(path):
        raise FieldError(f"{path!r} is not a path inside the store", "path")


def _check_sha256(written: str) -> None:
    if not SHA256.fullmatch(written):
        raise FieldError(f"{written!r} is not a SHA-256 in hex", "sha256")
