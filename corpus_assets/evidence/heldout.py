"""The held-out set: what small models are asked, by domain, pinned by digest.

A YAML file names files of text by domain, and suites of questions whose answers are scored given
their question:

    max_bytes: 4096                  # of a document
    documents: 300                   # of a domain, chosen by hash
    domains:
      prose:
        - {files: prose.jsonl.gz, licence: CC0-1.0, sha256: 5d...}
    answers:
      arc_easy:
        - {files: arc_easy.jsonl.gz, licence: CC-BY-SA-4.0}

Records are JSON lines or Parquet with `text`, and `id`, `url`, `host` (or `source`), `licence`
where they have them; of any other file each paragraph-wise cut of `max_bytes` is a document. A
takedown in force leaves its documents out, so the digest changes. A set of which an arm holds a
document, whole or in pieces, is refused (`find_contaminated`).
"""

import hashlib
import io
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from pydantic import Field, ValidationError, field_validator

from catalog.figures import counted
from corpus_assets.core.errors import EvidenceError
from corpus_assets.core.identity import Settings, digest, file_digest
from corpus_assets.core.sample import Sample
from corpus_assets.core.urls import address_of
from corpus_assets.decontam import (
    EvalIndexSettings,
    EvalItem,
    EvalSuite,
    ScanSettings,
    SuiteFields,
    build_eval_index,
    eval_records,
    find_questions,
    parse_eval_index,
    read_suites,
    scan_contamination,
)
from corpus_assets.ingest import Suppressions, text_id_of
from corpus_assets.shards import Encoder
from corpus_assets.text.characters import char_tables, nfkc
from corpus_assets.text.codepoints import text_buffers
from corpus_assets.text.ngrams import ngram_hashes

HELDOUT = pa.schema(
    [
        ("id", pa.string()),
        ("domain", pa.string()),
        ("host", pa.string()),
        ("url", pa.string()),
        ("licence", pa.string()),
        ("context", pa.large_string()),  # read and not scored: the question of an answer
        ("text", pa.large_string()),
    ]
)
NGRAM = 13
LEAKED_SHARE = 0.1
"""Share of a held-out document's n-grams that may not stand in an arm: of 4 KB about 70 words, which
a model that knows them by heart scores at next to nothing. A tenth of the set's bits is many times
what comparisons decide about."""
LEAKED_GRAMS = NGRAM
"""And at least so many, a passage of 25 words: less may be a quotation, or a turn of phrase."""
COMMON_HOSTS = 3  # of the set: what so many have belongs to none of them
COPIED_SHARE = 0.5
"""Of one document's n-grams in one text of an arm: a copy, be it edited."""
BATCH_TEXTS = 1024

RECORDS = (".jsonl", ".jsonl.gz", ".jsonl.zst", ".parquet")


class TextFiles(Settings):
    """Files of one licence."""

    files: tuple[str, ...] = Field(min_length=1, description="paths, from the YAML file's folder")
    licence: str = Field(default="", description="where records do not name theirs")
    sha256: str | None = Field(default=None, description="of the only file")
    where: dict[str, str] = Field(default={}, description="fields that a record must have")

    @field_validator("files", mode="before")
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value


class AnswerFiles(TextFiles):
    """Questions and answers, in the form of evaluation suites."""

    fields: SuiteFields = SuiteFields()


class HeldoutSettings(Settings):
    """What the set is made of."""

    max_bytes: int = Field(default=4096, ge=64)
    min_bytes: int = Field(default=200, ge=1)
    documents: int = Field(default=300, ge=1, description="of a domain at most")
    domains: dict[str, tuple[TextFiles, ...]] = Field(default={})
    answers: dict[str, tuple[AnswerFiles, ...]] = Field(default={})


def load_heldout(path: Path, orders: Suppressions) -> pa.Table:
    """Read the set that a YAML file names, without what takedowns in force cover."""
    try:
        settings = HeldoutSettings.model_validate(yaml.safe_load(path.read_text("utf-8")) or {})
    except (OSError, yaml.YAMLError, ValidationError) as error:
        first = error.errors()[0] if isinstance(error, ValidationError) else None
        problem = f"{'.'.join(map(str, first['loc']))}: {first['msg']}" if first else str(error)
        raise EvidenceError(f"{path} is not a held-out set ({problem}); correct it") from error
    rows = []
    for domain, sources in settings.domains.items():
        rows += _chosen(_texts(domain, sources, settings, path.parent), settings.documents)
    for domain, suites in settings.answers.items():
        rows += _chosen(_answers(domain, suites, path.parent), settings.documents)
    return make_heldout(row for row in rows if not is_taken_down(row, orders))


def make_heldout(rows: Iterable[dict[str, str]]) -> pa.Table:
    """Return schema HELDOUT, by domain and id; two documents cannot share both."""
    ordered = sorted(rows, key=lambda row: (row["domain"], row["id"]))
    for left, right in itertools.pairwise(ordered):
        if (left["domain"], left["id"]) == (right["domain"], right["id"]):
            raise EvidenceError(
                f"two held-out documents are called {left['domain']}/{left['id']}; give each its id"
            )
    if not ordered:
        raise EvidenceError("the held-out set has no document; name files with text")
    return pa.Table.from_pylist(ordered, schema=HELDOUT)


def heldout_digest(table: pa.Table) -> str:
    """Return what names the set: a digest of every field, whatever file it lies in."""
    return digest([[_sha256(str(value)) for value in row.values()] for row in table.to_pylist()])


def dump_heldout(table: pa.Table) -> bytes:
    """Return the set as a Parquet file."""
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd")
    return sink.getvalue()


def parse_heldout(data: bytes, expected: str) -> pa.Table:
    """Read a set's file; it must have the digest that names it."""
    try:
        table = pq.read_table(pa.BufferReader(data), schema=HELDOUT)
    except pa.ArrowException as error:
        raise EvidenceError(f"held-out set {expected[:16]} cannot be read: {error}") from error
    if heldout_digest(table) != expected:
        raise EvidenceError(f"held-out set {expected[:16]} was changed; plan with a new one")
    return table


def is_taken_down(row: dict[str, str], orders: Suppressions) -> bool:
    """Whether a takedown covers a held-out document: by address, host, id or text."""
    address = address_of(row["url"]) if row["url"] else None
    key = address.key if address is not None else row["id"]
    try:
        doc_id = bytes.fromhex(row["id"])
    except ValueError:
        doc_id = b""
    return orders.match_record(key, row["host"], doc_id) or orders.match_text(
        text_id_of(row["text"].encode()), ()
    )


@dataclass(frozen=True)
class Leak:
    """A held-out document that stands in an arm, whole or in pieces."""

    share: float  # of its n-grams that some document of the arm has
    documents: tuple[str, ...]  # of the arm that have some, those with most first


def find_contaminated(heldout: pa.Table, texts: pa.Table) -> dict[int, Leak]:
    """Return held-out documents that stand in `texts` (doc_id, text), by row.

    A document's 13-grams count in whatever texts they stand, pieces in several of them together:
    a tenth of them is a leak, and at least a passage of 25 words, or all of a shorter text. What
    documents of several hosts of the set have in common (a licence, a quotation) is no one's own and
    does not count. Also a lightly edited copy in one text is a leak (`decontam`). Answers count with
    their question.
    """
    whole = ["\n".join(filter(None, (row["context"], row["text"]))) for row in heldout.to_pylist()]
    found = _covered(whole, heldout["host"].to_pylist(), texts)
    items = [EvalItem(str(number), "heldout", text) for number, text in enumerate(whole)]
    index = parse_eval_index(build_eval_index(items, EvalIndexSettings()))
    hits = scan_contamination(texts, index, ScanSettings(report_share=COPIED_SHARE))
    columns = (hits[name].to_pylist() for name in ("item_id", "doc_id", "matched", "total"))
    for item, doc_id, matched, total in zip(*columns, strict=True):
        leak = Leak(matched / max(total, 1), (bytes(doc_id).hex(),))
        found.setdefault(int(item), leak)
    return dict(sorted(found.items()))


def _covered(whole: Sequence[str], hosts: Sequence[str], texts: pa.Table) -> dict[int, Leak]:
    """Return the documents of which enough n-grams stand in some texts."""
    grams, firsts = _grams(pa.array(whole, pa.large_string()))
    owner = np.repeat(np.arange(len(whole)), np.diff(firsts))
    _, host = np.unique(np.array(hosts), return_inverse=True)
    pairs = np.unique(np.stack([grams, host[owner].astype(np.uint64)]), axis=1)
    known, shared_by = np.unique(pairs[0], return_counts=True)
    own = known[shared_by < COMMON_HOSTS]
    seen = np.zeros(own.size, np.bool_)
    holders: dict[int, Counter[str]] = {}
    is_own = np.isin(grams, own)
    grams, owner = grams[is_own], owner[is_own]
    order = np.argsort(grams, kind="stable")
    grams, owner = grams[order], owner[order]
    for batch in texts.select(["doc_id", "text"]).to_batches(max_chunksize=BATCH_TEXTS):
        hashes, starts = _grams(batch["text"])
        for number in range(batch.num_rows):
            here = np.unique(hashes[starts[number] : starts[number + 1]])
            here = here[np.isin(here, own, assume_unique=True)]
            if not here.size:
                continue
            seen[np.searchsorted(own, here)] = True
            low, high = (np.searchsorted(grams, here, side=side) for side in ("left", "right"))
            doc_id = bytes(batch["doc_id"][number].as_py()).hex()
            for first, last in zip(low.tolist(), high.tolist(), strict=True):
                for item in owner[first:last].tolist():
                    holders.setdefault(item, Counter())[doc_id] += 1
    covered = seen[np.searchsorted(own, grams)]
    found = {}
    totals = np.bincount(owner, minlength=len(whole))
    matched = np.bincount(owner[covered], minlength=len(whole))
    for item in np.flatnonzero(matched).tolist():
        enough = min(totals[item], max(LEAKED_SHARE * totals[item], LEAKED_GRAMS))
        if matched[item] >= enough:
            by_size = sorted(holders[item].items(), key=lambda entry: (-entry[1], entry[0]))
            found[item] = Leak(matched[item] / totals[item], tuple(doc for doc, _ in by_size))
    return found


def _grams(texts: pa.Array) -> tuple[Any, Any]:
    return ngram_hashes(*text_buffers(nfkc(texts)), char_tables(), NGRAM)


def refuse_contaminated(heldout: pa.Table, texts: pa.Table, arm: str) -> None:
    """Refuse an arm that holds held-out documents; the message names them, not their texts."""
    found = find_contaminated(heldout, texts)
    if not found:
        return
    rows = heldout.to_pylist()
    named = [
        f"{rows[i]['domain']}/{rows[i]['id']} ({leak.share:.0%} in {_holders(leak.documents)})"
        for i, leak in list(found.items())[:5]
    ]
    holders = {doc_id for leak in found.values() for doc_id in leak.documents}
    raise EvidenceError(
        f"arm {arm} holds {counted(len(found), 'held-out document')}, whole or in pieces, in "
        f"{counted(len(holders), 'document')} of its own: {', '.join(named)}"
        f"{', ...' if len(found) > 5 else ''}; a model trained on them cannot be compared: remove "
        "them from the arm (in its recipe name the held-out files under `eval_suites`, with "
        "`contamination.drop_share: 0.1`, and build it again), "
        "or plan with a held-out set from elsewhere. Removing them from this set is not enough: what "
        "else of its sources leaked is not known"
    )


def _holders(documents: Sequence[str]) -> str:
    return documents[0] + (f" and {len(documents) - 1} more" if len(documents) > 1 else "")


def encode_heldout(heldout: pa.Table, encoder: Encoder) -> pa.Table:
    """Return the set as it travels: domain, host, scored bytes, tokens of context, tokens."""
    contexts, texts = (heldout[name].to_pylist() for name in ("context", "text"))
    before, scored = encoder.encode_batch(contexts), encoder.encode_batch(texts)
    lists = [
        np.concatenate([before[i][:-1], scored[i][:-1]]).astype(np.int32) for i in range(len(texts))
    ]
    return pa.table(
        {
            "domain": heldout["domain"],
            "host": heldout["host"],
            "bytes": pa.array([len(text.encode()) for text in texts], pa.int64()),
            "context": pa.array([len(before[i]) - 1 for i in range(len(texts))], pa.int32()),
            "tokens": pa.array(lists, pa.list_(pa.int32())),
        }
    )


def _chosen(rows: Iterable[dict[str, str]], count: int) -> list[dict[str, str]]:
    """Take so many by a hash of their ids."""
    return Sample(b"heldout").ordered(rows, lambda row: row["id"].encode())[:count]


def _texts(
    domain: str, sources: Sequence[TextFiles], settings: HeldoutSettings, folder: Path
) -> Iterator[dict[str, str]]:
    for source, path in _files(sources, folder):
        for number, row in _rows(path, settings.max_bytes):
            text = row.get("text")
            if not isinstance(text, str) or any(row.get(k) != v for k, v in source.where.items()):
                continue
            text = cut_to(text, settings.max_bytes)
            if len(text.encode()) >= settings.min_bytes:
                name = str(row.get("id") or row.get("url") or f"{path.name}/{number}")
                yield _row(name, domain, row, source, text)


def _answers(domain: str, sources: Sequence[AnswerFiles], folder: Path) -> Iterator[dict[str, str]]:
    for source, path in _files(sources, folder):
        suite = EvalSuite(files=(str(path),), benchmark=domain, fields=source.fields)
        for item in read_suites([(suite, [path])]):
            if item.answer.strip():
                stems = find_questions(item.text, item.answer, item.parts, is_stem=bool(item.more))
                question = max(stems, key=len) if stems else item.text
                row = {"host": item.id}
                answer = item.answer if question[-1:].isspace() else f" {item.answer.lstrip()}"
                yield _row(item.id, domain, row, source, answer) | {"context": question}


def _row(
    name: str, domain: str, row: dict[str, Any], source: TextFiles, text: str
) -> dict[str, str]:
    url = str(row.get("url") or "")
    host = row.get("host") or (urlsplit(url).hostname if url else None) or row.get("source")
    licence = row.get("licence") or row.get("license") or source.licence
    return {"id": name, "domain": domain, "host": str(host or name), "url": url,
            "licence": str(licence), "context": "", "text": text}  # fmt: skip


def cut_to(text: str, max_bytes: int) -> str:
    """Return the beginning of a text, at most so many bytes, up to its last whole line or word."""
    if len(text.encode()) <= max_bytes:
        return text
    head = text.encode()[:max_bytes].decode("utf-8", "ignore")
    for edge in ("\n", " "):
        whole = head.rpartition(edge)[0]
        if len(whole) > len(head) // 2:
            return whole
    return head


def _files(sources: Sequence[Any], folder: Path) -> Iterator[tuple[Any, Path]]:
    for source in sources:
        for name in source.files:
            path = folder / name
            if source.sha256 is not None and file_digest(path) != source.sha256:
                raise EvidenceError(f"{name} is not the file that the held-out set pins")
            yield source, path


def _rows(path: Path, max_bytes: int) -> Iterator[tuple[int, dict[str, Any]]]:
    if path.name.endswith(RECORDS):
        yield from ((number, row) for _, row, number in eval_records(path) if isinstance(row, dict))
        return
    try:
        rest = path.read_text("utf-8", "replace")
    except OSError as error:
        raise EvidenceError(f"{path} cannot be read: {error.strerror}") from error
    number = 0
    while rest:
        head = cut_to(rest, max_bytes)
        rest, number = rest[len(head) :].lstrip(), number + 1
        yield number, {"text": head, "source": path.name}


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
