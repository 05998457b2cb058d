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
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
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
    code_shapes,
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
        (
            "item",
            pa.string(),
        ),  # id of the answer that it is a wrong choice beside; empty: it is none
    ]
)
LEAKED_GRAMS = 13
"""In a passage of 25 words; less may be a quotation, or a turn of phrase."""
COMMON_HOSTS = 3  # of the set: what so many have belongs to none of them
COPIED_SHARE = 0.5
"""Of one document's n-grams in one text of an arm: a copy, be it edited."""
BATCH_TEXTS = 1024
HEAD = re.compile(r"\w+:")  # of the answer, or of the choices
LABEL = re.compile(r"\(?(?P<label>[A-Z]|\d)[.):]\s+(?P<choice>\S.*)")

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


Grams = Callable[[pa.Array], tuple[Any, Any]]


@dataclass(frozen=True)
class _Trace:
    """What a leak leaves in an arm: enough n-grams of a held-out document."""

    grams: Grams  # hashes of a batch of texts, and each text's first
    share: float  # of a document's n-grams
    least: int  # and at least so many; fewer where a document has no more, if `may_be_short`
    in_one: float = 0.0  # counted in texts that have so large a share each
    may_be_short: bool = False


def _words(length: int) -> Grams:
    def grams(texts: pa.Array) -> tuple[Any, Any]:
        return ngram_hashes(*text_buffers(nfkc(texts)), char_tables(), length)

    return grams


def _code(language: str) -> Grams:
    def grams(texts: pa.Array) -> tuple[Any, Any]:
        hashes, firsts, names = code_shapes(texts, language, CODE_TOKENS)
        is_code = np.repeat(names <= MOST_NAMES, np.diff(firsts))
        edges = np.append(0, np.cumsum(is_code))
        return hashes[is_code], edges[firsts]

    return grams


CODE_TOKENS = 20
MOST_NAMES = 0.65  # of the tokens of code; in prose three of four are names or more
TRACES = (
    # Of 4 KB about 70 words, which a model that knows them by heart scores at next to nothing. A
    # tenth of the set's bits is many times what comparisons decide about.
    _Trace(_words(13), share=0.1, least=LEAKED_GRAMS, may_be_short=True),
    # Cut into pieces, or edited, so that few runs of 13 words are left. Shorter runs are in other
    # texts too: a twentieth of them in prose, a seventh in code.
    _Trace(_words(8), share=0.25, least=40),
    # With its names changed. Texts that share a line or two are many: each must have a tenth.
    _Trace(_code("c"), share=1 / 3, least=60, in_one=0.1),
    _Trace(_code("python"), share=1 / 3, least=60, in_one=0.1),
)


def find_contaminated(heldout: pa.Table, texts: pa.Table) -> dict[int, Leak]:
    """Return held-out documents that stand in `texts` (doc_id, text), by row.

    A document's n-grams count in whatever texts they stand, pieces in several of them together
    (`TRACES`): a tenth of its 13-grams is a leak, and at least a passage of 25 words, or all of a
    shorter text; a quarter of its 8-grams; of code a third of what is left when names are changed. What
    documents of several hosts of the set have in common (a licence, a quotation) is no one's own and
    does not count. Also a lightly edited copy in one text is a leak (`decontam`). Answers count with
    their question.
    """
    whole = ["\n".join(filter(None, (row["context"], row["text"]))) for row in heldout.to_pylist()]
    hosts = heldout["host"].to_pylist()
    found: dict[int, Leak] = {}
    for trace in TRACES:
        found = _covered(trace, whole, hosts, texts) | found
    items = [EvalItem(str(number), "heldout", text) for number, text in enumerate(whole)]
    index = parse_eval_index(build_eval_index(items, EvalIndexSettings()))
    hits = scan_contamination(texts, index, ScanSettings(report_share=COPIED_SHARE))
    columns = (hits[name].to_pylist() for name in ("item_id", "doc_id", "matched", "total"))
    for item, doc_id, matched, total in zip(*columns, strict=True):
        leak = Leak(matched / max(total, 1), (bytes(doc_id).hex(),))
        found.setdefault(int(item), leak)
    return dict(sorted(found.items()))


def _covered(
    trace: _Trace, whole: Sequence[str], hosts: Sequence[str], texts: pa.Table
) -> dict[int, Leak]:
    """Return the documents of which enough n-grams stand in some texts."""
    grams, firsts = trace.grams(pa.array(whole, pa.large_string()))
    owner = np.repeat(np.arange(len(whole)), np.diff(firsts))
    _, host = np.unique(np.array(hosts), return_inverse=True)
    pairs = np.unique(np.stack([grams, host[owner].astype(np.uint64)]), axis=1)
    known, shared_by = np.unique(pairs[0], return_counts=True)
    own = known[shared_by < COMMON_HOSTS]
    is_own = np.isin(grams, own)
    grams, owner = grams[is_own], owner[is_own]
    order = np.argsort(grams, kind="stable")
    grams, owner = grams[order], owner[order]
    totals = np.bincount(owner, minlength=len(whole))
    covered = np.zeros(grams.size, np.bool_)
    holders: dict[int, Counter[str]] = {}
    for batch in texts.select(["doc_id", "text"]).to_batches(max_chunksize=BATCH_TEXTS):
        hashes, starts = trace.grams(batch["text"])
        for number in range(batch.num_rows):
            here = np.unique(hashes[starts[number] : starts[number + 1]])
            here = here[np.isin(here, own, assume_unique=True)]
            if not here.size:
                continue
            low, high = (np.searchsorted(grams, here, side=side) for side in ("left", "right"))
            rows = np.repeat(low - np.append(0, np.cumsum(high - low)[:-1]), high - low)
            rows += np.arange(rows.size)  # of `grams`, all of these
            items, counts = np.unique(owner[rows], return_counts=True)
            has_part = counts >= trace.in_one * totals[items]
            covered[rows[np.isin(owner[rows], items[has_part])]] = True
            doc_id = bytes(batch["doc_id"][number].as_py()).hex()
            for item, count in zip(
                items[has_part].tolist(), counts[has_part].tolist(), strict=True
            ):
                holders.setdefault(item, Counter())[doc_id] = count
    matched = np.bincount(owner[covered], minlength=len(whole))
    found = {}
    for item in np.flatnonzero(matched).tolist():
        enough = max(trace.share * totals[item], trace.least)
        if matched[item] >= (min(totals[item], enough) if trace.may_be_short else enough):
            by_size = sorted(holders[item].items(), key=lambda entry: (-entry[1], entry[0]))
            found[item] = Leak(matched[item] / totals[item], tuple(doc for doc, _ in by_size))
    return found


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
            "item": _items(heldout),
            "tokens": pa.array(lists, pa.list_(pa.int32())),
        }
    )


def _items(heldout: pa.Table) -> pa.Array:
    """Return the row of which each is a wrong choice; its own where it is none."""
    domains, ids, items = (heldout[name].to_pylist() for name in ("domain", "id", "item"))
    row_of = {key: row for row, key in enumerate(zip(domains, ids, strict=True))}
    own = [item or name for name, item in zip(ids, items, strict=True)]
    rows = [row_of[key] for key in zip(domains, own, strict=True)]
    return pa.array(rows, pa.int32())


def _chosen(rows: Iterable[dict[str, str]], count: int) -> list[dict[str, str]]:
    """Take so many by a hash of their ids, answers with their wrong choices."""
    groups: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        groups.setdefault(row["item"] or row["id"], []).append(row)
    drawn = Sample(b"heldout").ordered(groups, str.encode)[:count]
    return [row for item in drawn for row in groups[item]]


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
                question, answer, wrong = cloze_form(item)
                for number, choice in enumerate((answer, *wrong)):
                    text = choice if question[-1:].isspace() else f" {choice.lstrip()}"
                    name = f"{item.id}/choice{number}" if number else item.id
                    row = _row(name, domain, {"host": item.id}, source, text)
                    yield row | {"context": question, "item": item.id if number else ""}


def cloze_form(item: EvalItem) -> tuple[str, str, list[str]]:
    """Return the question without its choices, the right answer spelled out, and the wrong choices:
    none where the item does not list them."""
    stems = find_questions(item.text, item.answer, item.parts, is_stem=bool(item.more))
    question = max(stems, key=len) if stems else item.text
    if not stems and question.endswith(item.answer) and question != item.answer:
        question = question.removesuffix(item.answer).rstrip()  # the text goes on to the answer
    listed = item.more or _behind(item.text, stems)
    lines = [line.strip() for line in listed.splitlines() if line.strip(" \t:")]
    lines = [line for line in lines if not HEAD.fullmatch(line)]
    labelled = [LABEL.fullmatch(line) for line in lines]
    by_label = {found["label"]: found["choice"] for found in labelled if found is not None}
    if item.answer.strip() in by_label:  # the answer is a letter
        answer = by_label.pop(item.answer.strip())
        return question, answer, list(by_label.values())
    choices = list(dict.fromkeys(lines))
    answer = item.answer.strip()
    if answer not in choices or len(choices) < 2:
        return question, item.answer, []
    return question, answer, [choice for choice in choices if choice != answer]


def _behind(text: str, stems: Sequence[str]) -> str:
    """Return what follows the question: the first of its stems that has something behind it."""
    whole = unicodedata.normalize("NFKC", text)
    for stem in stems:
        _, found, rest = whole.partition(stem)
        if found and rest.strip():
            return rest
    return ""


def _row(
    name: str, domain: str, row: dict[str, Any], source: TextFiles, text: str
) -> dict[str, str]:
    url = str(row.get("url") or "")
    host = row.get("host") or (urlsplit(url).hostname if url else None) or row.get("source")
    licence = row.get("licence") or row.get("license") or source.licence
    return {"id": name, "domain": domain, "host": str(host or name), "url": url,
            "licence": str(licence), "context": "", "text": text, "item": ""}  # fmt: skip


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
