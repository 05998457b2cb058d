"""The files that say what a version is: its manifest, and `contents.json` beside it.

`manifest.json` (which shards, with which tokenizer, in which mixture) is all that a trainer, the
loader and the catalog need besides the shards. Its bytes are canonical (sorted keys, groups by id,
shards by name), so equal versions have equal files and `digest` names the version's content.

`contents.json` gives the SHA-256 of every other file in the version's folder, and digests of the
version's rows in the registry. Rows count by content and not by path, so equal versions have equal
files; the registry holds the digest of the file itself.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

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
from catalog.formats.canonical import digest
from catalog.formats.store import Store, relative_path

if TYPE_CHECKING:
    from catalog.db.rows import ArtifactRow, KeyRow, LineageRow, VersionRow

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


def load_manifest(store: Store, version: "VersionRow") -> Manifest:
    """Return the manifest, refused when its bytes or its form are not what was published."""
    data = store.read_verified(version.manifest_path, version.manifest_sha256)
    return parse_manifest(data, version.manifest_path)


# Contents.json.


CONTENTS_FORMAT = "corpus-assets/contents/1"
CONTENTS_NAME = "contents.json"
THRESHOLDS = "thresholds.json"
THRESHOLDS_FORMAT = "corpus-assets/thresholds/2"
"""A file in a version's folder: what each threshold of its selection would keep at other values."""
FUNNEL = "funnel.json"
FUNNEL_FORMAT = "corpus-assets/funnel/1"
"""Another: how many records came in, and how many each stage dropped, by reason."""

Contents = Mapping[str, Any]


def dump_contents(
    version: str,
    files: Mapping[str, str],
    lineage: Sequence["LineageRow"],
    keys: Sequence["KeyRow"],
) -> bytes:
    """Return the file's bytes; `files` maps names in the version's folder to their SHA-256."""
    body = {"format": CONTENTS_FORMAT, "version": version, "files": dict(files)}
    return json.dumps(body | {"rows": _rows(lineage, keys)}, indent=1, sort_keys=True).encode()


def contents_path(version: "VersionRow") -> str:
    return f"{version.manifest_path.rpartition('/')[0]}/{CONTENTS_NAME}"


def parse_contents(data: bytes, path: str) -> Contents:
    """Read the file's bytes; `path` is for the message when it is not one."""
    try:
        body = json.loads(data)
        if body["format"] != CONTENTS_FORMAT:
            raise StoreFileError(
                f"{path} has format {body['format']!r}, this package reads {CONTENTS_FORMAT!r}: "
                "use the corpus-assets that wrote it"
            )
        return {name: dict(body[name]) for name in ("files", "rows")}
    except (KeyError, TypeError, ValueError) as error:
        raise StoreFileError(f"{path} does not list a version's contents: {error!r}") from error


def load_counts(
    store: Store, version: "VersionRow", name: str, expected: str
) -> dict[str, Any] | None:
    """Read a JSON file that was published with a version, in the format that is expected; None
    where it was published without."""
    if version.contents_sha256 is None:
        return None
    path = contents_path(version)
    listed = parse_contents(store.read_verified(path, version.contents_sha256), path)["files"]
    if name not in listed:
        return None
    path = f"{path.rpartition('/')[0]}/{name}"
    body: dict[str, Any] = json.loads(store.read_verified(path, listed[name]))
    if body["format"] != expected:
        raise StoreFileError(
            f"{path} has format {body['format']!r}, this package reads {expected!r}: use the "
            "corpus-assets that wrote it"
        )
    return body


def altered_rows(
    contents: Contents, lineage: Sequence["LineageRow"], keys: Sequence["KeyRow"]
) -> Iterator[tuple[str, str]]:
    """Yield (table, what is wrong) for the registry's rows of a version that are not as
    published."""
    for table, found in _rows(lineage, keys).items():
        if found != contents["rows"].get(table):
            yield (
                table,
                f"the rows of the version have digest {found}, published were "
                f"{contents['rows'].get(table)}: the registry was changed; restore it from a backup",
            )


def _rows(lineage: Sequence["LineageRow"], keys: Sequence["KeyRow"]) -> dict[str, str]:
    files = [[r.table_name, r.snapshot, r.part, r.shard, r.sha256, r.rows] for r in lineage]
    sidecars = [[r.kind, r.snapshot, r.sha256, r.bytes, r.rows] for r in keys]
    return {
        "version_lineage": digest(sorted(files, key=json.dumps)),
        "version_keys": digest(sorted(sidecars, key=json.dumps)),
    }


def inconsistent_artifacts(artifacts: Iterable["ArtifactRow"]) -> Iterator[tuple[str, str]]:
    """Yield (folder, what is wrong) for rows of artifacts that contradict themselves."""
    for row in artifacts:
        folder = f"artifacts/{row.stage}/{row.fingerprint}"
        if digest({out.name: out.sha256 for out in row.outputs}) != row.content_hash:
            yield (
                folder,
                "its outputs in the registry do not have its content hash: the registry was "
                "changed; restore it from a backup",
            )
        for out in row.outputs:
            if out.path != f"{folder}/{out.name}":
                yield folder, f"the registry has its output {out.name} at {out.path}"
