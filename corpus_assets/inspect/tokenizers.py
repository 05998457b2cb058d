"""Find tokenizers and texts for an audit: by the name of a version, or from files."""

import gzip
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import pyarrow.parquet as pq
from tokenizers import Tokenizer

from catalog.answers import JSON_ONLY, Count, Shown
from catalog.db import ArtifactRow, Registry
from corpus_assets.core.errors import CorpusError
from corpus_assets.core.home import Home
from corpus_assets.core.sample import Sample
from corpus_assets.core.store import Store, load_result, read_checked
from corpus_assets.recipe import Recipe
from corpus_assets.scrub import ScrubSettings
from corpus_assets.session import open_home
from corpus_assets.shards import END_OF_DOCUMENT, PAD
from corpus_assets.tokenizer import (
    Audit,
    AuditSettings,
    Passage,
    TrainingFacts,
    audit_tokenizer,
    judged,
    rows_of,
)
from corpus_assets.versions import load_published_recipe, published_manifest

FILE_CHARS = 20_000_000
"""Characters read of one file of texts."""
PIECE_CHARS = 200_000
"""A plain text file is measured in pieces of so many characters."""
STORED_DOCUMENTS = 2_000
AUDITED = Sample(b"corpus-assets/audit")
"""Documents measured where a version has no held-out text any more."""


@dataclass(frozen=True, kw_only=True)
class NamedAudit(Audit):
    """The audit of a version's tokenizer, or of a file's."""

    of: str


@dataclass(frozen=True, kw_only=True)
class ComparedAudit(NamedAudit):
    """An audit beside those of other tokenizers on the same text."""

    against: list[NamedAudit]

    @property
    def ok(self) -> bool:
        return self.passed


@dataclass(frozen=True)
class SampledDomain:
    """What a tokenizer was trained on, and what was held out, of one domain."""

    train_below: int
    held_out_from: int
    available_documents: Annotated[Count, Shown("documents there")]
    available_chars: int
    documents: Annotated[Count, Shown("trained on")]
    chars: Annotated[Count, Shown("characters")]
    held_out_documents: Annotated[Count, Shown("held out")]
    held_out_chars: Annotated[Count, Shown("characters")]


@dataclass(frozen=True)
class SampledDocument:
    """Whether a document was trained on."""

    doc_id: Annotated[str, Shown("document")]
    side: Annotated[str, Shown("in the sample")]


@dataclass(frozen=True)
class SampleSummary:
    """The sample of a version's tokenizer."""

    of: str
    sha256: Annotated[str, Shown("tokenizer")]
    documents: Annotated[Count, Shown("documents")]
    chars: Annotated[Count, Shown("characters")]
    domains: Annotated[
        dict[str, SampledDomain],
        Shown(
            "domain",
            columns=(
                "available_documents",
                "documents",
                "chars",
                "held_out_documents",
                "held_out_chars",
            ),
        ),
    ]
    files: Annotated[list[str], JSON_ONLY]


@dataclass(frozen=True, kw_only=True)
class SampleOfDocument(SampleSummary):
    """A sample, and whether a document is in it."""

    document: SampledDocument


@dataclass(frozen=True)
class AuditSubject:
    """A tokenizer to look at; `texts` is what there is to measure it on."""

    title: str
    content: bytes
    eod_token: str
    pad_token: str
    texts: tuple[Passage, ...] = ()
    note: str | None = None  # what is to be known of the texts
    training: TrainingFacts | None = None  # where the sample of a version is there
    settings: AuditSettings = field(default_factory=AuditSettings)
    scrub: ScrubSettings = field(default_factory=ScrubSettings)
    domains: frozenset[str] = frozenset({"web"})

    def audit(self, passages: Iterable[Passage], one_token: Sequence[str] = ()) -> NamedAudit:
        """Return the audit, judged by the version's recipe; the strings must be one token too."""
        report = audit_tokenizer(
            self.content, passages, self.eod_token, self.pad_token, self.training
        )
        asked = {"one_token": (*self.settings.one_token, *one_token)}
        settings = self.settings.model_copy(update=asked)
        found = judged(report, self.content, settings, self.scrub, self.domains)
        return NamedAudit(**vars(found), of=self.title)


def compare_audits(
    home: Home,
    name: str,
    against: Sequence[str],
    texts: Sequence[str],
    one_token: Sequence[str],
    eod: str | None,
    pad: str | None,
) -> ComparedAudit:
    """Audit a tokenizer and measure others on its text, or on that of files."""
    first = find_subject(home, name, eod, pad)
    subjects = [first, *(find_subject(home, other, None, None) for other in against)]
    passages = tuple(read_texts(texts)) if texts else first.texts
    found, *others = (subject.audit(passages, one_token) for subject in subjects)
    if not texts and first.note:
        found.warnings.append(first.note)
    return ComparedAudit(**vars(found), against=others)


def find_subject(home: Home, name: str, eod: str | None, pad: str | None) -> AuditSubject:
    """Find the tokenizer of a version with its held-out text, or read a file."""
    path = Path(name)
    if path.is_file():
        try:
            content = path.read_bytes()
        except OSError as error:
            raise CorpusError(f"{name} cannot be read: {error.strerror}") from error
        return AuditSubject(path.name, content, eod or END_OF_DOCUMENT, pad or PAD)
    store, registry = open_home(home)
    if name not in {row.name for row in registry.versions()}:
        raise CorpusError(
            f"{name} is neither a file nor a version; `catalog versions` lists the versions"
        )
    row = registry.version(name)
    if row.status != "live":
        raise CorpusError(f"version {name} is {row.status}; `catalog versions` names the new one")
    ref = published_manifest(store, row).tokenizer
    content = read_checked(store, ref.path, ref.sha256)
    names = Tokenizer.from_str(content.decode("utf-8"))
    texts, note = _texts_of(store, registry, name, ref.sha256)
    recipe, _ = load_published_recipe(store, row.recipe_digest)
    return AuditSubject(
        f"version {name}",
        content,
        eod or names.id_to_token(ref.eod_id) or END_OF_DOCUMENT,
        pad or names.id_to_token(ref.pad_id) or PAD,
        texts,
        note,
        _training_of(store, registry, recipe, ref.sha256),
        recipe.tokenizer.audit,
        recipe.clean_text.scrub,
        frozenset(source.domain for source in recipe.sources),
    )


def sample_of(home: Home, version: str, doc_id: str | None = None) -> SampleSummary:
    """Return the sample of a version's tokenizer, and on which side of it a document is.

    After a takedown the sample is gone, as all that was made from the removed document.
    """
    store, registry = open_home(home)
    ref = published_manifest(store, registry.version(version)).tokenizer
    made = _made(registry, ref.sha256)
    result = load_result(store, made.stage, made.fingerprint) if made else None
    if made is None or result is None:
        raise CorpusError(
            f"the sample of version {version}'s tokenizer is not in the store: it was pinned by "
            "a lock, or deleted by a takedown"
        )
    files = _sample_files(store, registry, made)
    domains = {name: SampledDomain(**row) for name, row in result.notes["sample"].items()}
    found = SampleSummary(
        of=f"version {version}",
        sha256=ref.sha256,
        documents=sum(row.documents for row in domains.values()),
        chars=sum(row.chars for row in domains.values()),
        domains=domains,
        files=files,
    )
    if doc_id is None:
        return found
    side = side_of(store, files, doc_id)
    return SampleOfDocument(**vars(found), document=SampledDocument(doc_id, side))


def side_of(store: Store, files: Sequence[str], doc_id: str) -> str:
    """Say whether a document was trained on or held out."""
    try:
        wanted = bytes.fromhex(doc_id)
    except ValueError as error:
        raise CorpusError(f"{doc_id} is not a document id; give all 32 hex digits") from error
    for path in files:
        table = pq.read_table(store.local(path), columns=["doc_id", "held_out"])
        for found, held_out in zip(
            table["doc_id"].to_pylist(), table["held_out"].to_pylist(), strict=True
        ):
            if found == wanted:
                return "held out, measured on" if held_out else "trained on"
    return "not in the sample"


def read_texts(files: Iterable[str]) -> Iterator[Passage]:
    """Read passages of files: JSONL (`text`, and `domain`, `language` where given), Parquet with the
    same columns, or plain text. The domain of others is the file's name."""
    for name in files:
        path = Path(name)
        stem = path.name.partition(".")[0]
        room = FILE_CHARS
        try:
            for row in _rows(path):
                if room <= 0:
                    break
                text = str(row["text"])[:room]
                room -= len(text)
                yield Passage(text, str(row.get("domain") or stem), str(row.get("language") or "-"))
        except (OSError, EOFError, ValueError, KeyError, TypeError, pa.ArrowException) as error:
            raise CorpusError(
                f"{name}: not readable as text, JSONL or Parquet with a `text` ({error})"
            ) from error


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    if path.suffix == ".parquet":
        file = pq.ParquetFile(path)
        names = [n for n in ("text", "domain", "language") if n in file.schema_arrow.names]
        for batch in file.iter_batches(columns=names, batch_size=1000):
            yield from batch.to_pylist()
        return
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8", errors="replace", newline="") as lines:
        if ".jsonl" in path.suffixes:
            for line in lines:
                if line.strip():
                    yield dict(json.loads(line))
            return
        while piece := lines.read(PIECE_CHARS):
            yield {"text": piece}


def _texts_of(
    store: Store, registry: Registry, version: str, sha256: str
) -> tuple[tuple[Passage, ...], str | None]:
    made = _made(registry, sha256)
    files = _sample_files(store, registry, made) if made else ()
    tables = (pq.read_table(store.local(path)) for path in files)
    passages = [Passage(*row) for row in rows_of(tables, held_out=True)]
    if passages:
        return tuple(passages), None
    note = (
        "the held-out text of this tokenizer is not in the store: measured on documents of the "
        "version, which may have been trained on"
    )
    return tuple(_stored_documents(store, registry, version)), note


@dataclass(frozen=True)
class _TrainingTexts:
    """Texts of a sample that were trained on, read again at every iteration."""

    store: Store
    files: Sequence[str]

    def __iter__(self) -> Iterator[str]:
        tables = (pq.read_table(self.store.local(path)) for path in self.files)
        return (text for text, *_ in rows_of(tables, held_out=False))


def _training_of(
    store: Store, registry: Registry, recipe: Recipe, sha256: str
) -> TrainingFacts | None:
    """Find what a version's tokenizer was trained on; None where it is not in the store."""
    made = _made(registry, sha256)
    result = load_result(store, made.stage, made.fingerprint) if made else None
    files = _sample_files(store, registry, made) if made else []
    asked = recipe.tokenizer.train
    if asked is None or result is None or not files:
        return None
    scripts = result.notes["audit"]["scripts"]
    texts = _TrainingTexts(store, files)
    return TrainingFacts(texts, scripts, asked.max_token_chars, asked.upsample)


def _stored_documents(store: Store, registry: Registry, version: str) -> Iterator[Passage]:
    """Sample documents of a version by keyed hash of their id, over all files."""
    rows = registry.lineage_files(version, "final_text")
    total = sum(row.rows for row in rows)
    share = min(1.0, STORED_DOCUMENTS / max(1, total))
    for row in rows:
        table = pq.read_table(
            store.local(row.path), columns=["doc_id", "text", "domain", "language"]
        )
        for one in table.to_pylist():
            if AUDITED.holds(one["doc_id"], share):
                yield Passage(one["text"], one["domain"] or "-", one["language"] or "unknown")


def _made(registry: Registry, sha256: str) -> ArtifactRow | None:
    """Find the run of the tokenizer stage that gave a file with this digest."""
    for row in registry.artifacts("tokenizer"):
        if any(out.sha256 == sha256 for out in row.outputs):
            return row
    return None


def _sample_files(store: Store, registry: Registry, made: ArtifactRow) -> list[str]:
    """Find the sample that a tokenizer was made from, by the edges of the registry."""
    wanted = {edge.content_hash for edge in made.inputs if edge.name.startswith("sample/")}
    found = {
        out.sha256: out.path
        for row in registry.artifacts("tokenizer_sample")
        for out in row.outputs
    }
    if not wanted <= set(found) or not all(store.exists(found[one]) for one in wanted):
        return []
    return sorted(found[one] for one in wanted)
