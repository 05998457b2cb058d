"""Tasks behind the tokenizer: what there is to learn from, what is drawn, training and audit."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.clean.scrubbing import scrubbed_sample
from corpus_assets.core.schemas import DOC_ID
from corpus_assets.core.task import TaskContext, count
from corpus_assets.tokenizer.audit import Passage, audit
from corpus_assets.tokenizer.sample import Ints, TokenizerSample, amounts, draw, places, sides
from corpus_assets.tokenizer.train import TokenizerSettings, load_pinned, train_tokenizer

SAMPLE = pa.schema(
    [
        ("doc_id", DOC_ID),
        ("domain", pa.string()),
        ("language", pa.string()),
        ("held_out", pa.bool_()),
        ("text", pa.string()),
    ]
)
UNKNOWN = "unknown"


def tokenizer_amounts(context: TaskContext) -> None:
    settings = context.settings(TokenizerSample, "sample")
    scores = context.table("signals")
    at = _places(context, scores["doc_id"].to_pylist(), _languages(scores), settings)
    context.write_table("amounts.parquet", amounts(at, scores["n_chars"].to_numpy(), settings))
    count(context, scores.num_rows, int((at >= 0).sum()))


def tokenizer_draw(context: TaskContext) -> None:
    settings = context.settings(TokenizerSample, "sample")
    domains: dict[str, str] = context.task.settings["domains"]
    if not context.task.settings["is_trained"]:
        settings = settings.model_copy(update={"proportions": dict.fromkeys(domains.values(), 0.0)})
    parts = ((domains[name.rpartition("/")[0]], context.table(name)) for name in context.names(""))
    drawn = draw(parts, settings)
    context.write_bytes("draw.json", json.dumps(drawn, sort_keys=True, indent=1).encode())


def tokenizer_sample(context: TaskContext) -> None:
    settings = context.settings(TokenizerSample, "sample")
    domain = context.task.settings["domain"]
    scores = context.table("signals")
    drawn = context.json("draw").get(domain)
    languages = _languages(scores)
    at = _places(context, scores["doc_id"].to_pylist(), languages, settings)
    none = np.zeros(len(at), np.bool_)
    trained, held_out = sides(at, drawn) if drawn is not None else (none, none)
    picked = pa.array(np.flatnonzero(trained | held_out))
    texts = context.table("documents", ["doc_id", "text"]).take(picked)
    known = pa.array(languages or [None] * len(at), pa.string()).take(picked)
    cut = pc.utf8_slice_codeunits(texts["text"], 0, settings.max_document_chars)
    columns = [
        texts["doc_id"].combine_chunks(),
        pa.array([domain] * len(picked), pa.string()),
        pc.fill_null(known, UNKNOWN),
        pa.array(held_out).take(picked),
        pa.array(scrubbed_sample(context, cut, known.to_pylist()), pa.string()),
    ]
    context.write_table("sample.parquet", pa.Table.from_arrays(columns, schema=SAMPLE))
    count(context, len(at), len(picked))


def tokenizer(context: TaskContext) -> None:
    settings = context.task.settings
    names = context.names("sample/")
    if "train" in settings:
        asked = context.settings(TokenizerSettings, "train")
        data = train_tokenizer(_TrainingTexts(context, names), asked)
    else:
        data = load_pinned(Path(context.param("pinned")), settings["sha256"])
    context.write_bytes("tokenizer.json", data)
    passages = (Passage(*row) for row in _rows(context, names, True))
    special = settings["special"]
    report = audit(data, passages, special["eod"], special["pad"])
    if "train" in settings and report["vocab_size"] < asked.vocab_size:
        report["warnings"].append(
            f"the vocabulary has {report['vocab_size']:,} of {asked.vocab_size:,} tokens: the "
            "sample has no more pairs to merge; train on more text or lower vocab_size"
        )
    context.notes["audit"] = report
    context.notes["sample"] = context.json("draw")
    drawn = context.json("draw").values()
    context.counts["documents_in"] = sum(domain["documents"] for domain in drawn)
    context.counts["held_out_documents"] = sum(domain["held_out_documents"] for domain in drawn)


@dataclass(frozen=True)
class _TrainingTexts:
    """The texts to learn from, read anew each time."""

    context: TaskContext
    names: Sequence[str]

    def __iter__(self) -> Iterator[str]:
        return (text for text, *_ in _rows(self.context, self.names, False))


def _rows(
    context: TaskContext, names: Sequence[str], held_out: bool
) -> Iterator[tuple[str, str, str]]:
    """(text, domain, language) of one side of the sample, one part in memory at a time."""
    for name in names:
        table = context.table(name)
        table = table.filter(pc.equal(table["held_out"], held_out))
        columns = (table[column].to_pylist() for column in ("text", "domain", "language"))
        yield from zip(*columns, strict=True)


def _places(
    context: TaskContext,
    doc_ids: Sequence[bytes],
    languages: Sequence[str | None] | None,
    settings: TokenizerSample,
) -> Ints:
    setting: dict[str, Any] = dict(context.task.settings)
    return places(doc_ids, languages, setting["domain"], settings, setting["seed"])


def _languages(scores: pa.Table) -> list[str | None] | None:
    return scores["language"].to_pylist() if "language" in scores.column_names else None
