"""The stages of the tokenizer: amounts, draw, sample, then training and audit.

Under a lock they have no tasks: the tokenizer is pinned, and nothing needs its sample.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.core import files
from corpus_assets.core.schemas import DOC_ID
from corpus_assets.core.stage import Calibration, Scope, Stage
from corpus_assets.core.task import Task, TaskContext, count, part_label
from corpus_assets.scrub.texts import sample_settings, scrubbed_sample
from corpus_assets.tokenizer.audit import Passage, audit
from corpus_assets.tokenizer.sample import Ints, TokenizerSample, amounts, draw, places, sides
from corpus_assets.tokenizer.train import (
    VERSION,
    TokenizerSettings,
    load_pinned,
    train_tokenizer,
)

if TYPE_CHECKING:
    from corpus_assets.graph.pipeline import Pipeline

SAMPLE_ROWS = pa.schema(
    [
        ("doc_id", DOC_ID),
        ("domain", pa.string()),
        ("language", pa.string()),
        ("held_out", pa.bool_()),
        ("text", pa.string()),
    ]
)
UNKNOWN = "unknown"


def plan_amounts(graph: "Pipeline", snapshot: str) -> list[Task]:
    if not _is_asked(graph, snapshot):
        return []
    settings = _place_settings(graph, snapshot)
    return [
        AMOUNTS.task(settings, {"signals": signals}, label=part_label(snapshot, i))
        for i, signals in enumerate(graph.parts(files.SIGNALS, snapshot))
    ]


def plan_draw(graph: "Pipeline") -> list[Task]:
    if graph.pin_of("tokenizer"):
        return []
    inputs = {}
    domains = {}
    for snapshot in graph.recipe.calibration_snapshots:
        domains[snapshot] = graph.recipe.source_of(snapshot).domain
        for i, counted in enumerate(graph.parts(files.TOKENIZER_AMOUNTS, snapshot)):
            inputs[f"{snapshot}/{i:05d}"] = counted
    settings = {
        "sample": graph.recipe.tokenizer.sample.identity(),
        "domains": domains,
        "is_trained": graph.recipe.tokenizer.train is not None,
    }
    return [DRAW.task(settings, inputs)]


def plan_sample(graph: "Pipeline", snapshot: str) -> list[Task]:
    if not _is_asked(graph, snapshot):
        return []
    settings = _place_settings(graph, snapshot) | sample_settings(graph, snapshot)
    (drawn,) = graph.parts(files.TOKENIZER_DRAW)
    signals = graph.parts(files.SIGNALS, snapshot)
    return [
        SAMPLE.task(
            settings,
            {"documents": documents, "signals": signals[i], "draw": drawn},
            label=part_label(snapshot, i),
        )
        for i, documents in enumerate(graph.parts(files.DOCUMENTS, snapshot))
    ]


def plan_tokenizer(graph: "Pipeline") -> list[Task]:
    entry = graph.recipe.tokenizer
    inputs = {
        f"sample/{snapshot}/{i:05d}": sample
        for snapshot in graph.recipe.calibration_snapshots
        for i, sample in enumerate(graph.parts(files.TOKENIZER_SAMPLE, snapshot))
    }
    (inputs["draw"],) = graph.parts(files.TOKENIZER_DRAW)
    settings: dict[str, Any] = {"special": entry.special_names()}
    params: dict[str, Any] = {}
    if entry.train is not None:
        settings["train"] = entry.train.identity()
    elif entry.pinned is not None:
        settings["sha256"] = entry.sha256
        params["pinned"] = str(graph.locations.files((entry.pinned,), "tokenizer.pinned")[0])
    return [TOKENIZER.task(settings, inputs, params=params)]


def _is_asked(graph: "Pipeline", snapshot: str) -> bool:
    return snapshot in graph.recipe.calibration_snapshots and not graph.pin_of("tokenizer")


def _place_settings(graph: "Pipeline", snapshot: str) -> dict[str, Any]:
    return {
        "sample": graph.recipe.tokenizer.sample.identity(),
        "seed": graph.recipe.seed,
        "domain": graph.recipe.source_of(snapshot).domain,
    }


def run_amounts(context: TaskContext) -> None:
    settings = context.settings(TokenizerSample, "sample")
    scores = context.table("signals")
    at = _places(context, scores["doc_id"].to_pylist(), _languages(scores), settings)
    context.write_table(
        files.TOKENIZER_AMOUNTS, amounts(at, scores["n_chars"].to_numpy(), settings)
    )
    count(context, scores.num_rows, int((at >= 0).sum()))


def run_draw(context: TaskContext) -> None:
    settings = context.settings(TokenizerSample, "sample")
    domains: dict[str, str] = context.task.settings["domains"]
    if not context.task.settings["is_trained"]:
        settings = settings.model_copy(update={"proportions": dict.fromkeys(domains.values(), 0.0)})
    parts = ((domains[name.rpartition("/")[0]], context.table(name)) for name in context.names(""))
    drawn = draw(parts, settings)
    context.write_bytes(files.TOKENIZER_DRAW, json.dumps(drawn, sort_keys=True, indent=1).encode())


def run_sample(context: TaskContext) -> None:
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
    context.write_table(files.TOKENIZER_SAMPLE, pa.Table.from_arrays(columns, schema=SAMPLE_ROWS))
    count(context, len(at), len(picked))


def run_tokenizer(context: TaskContext) -> None:
    settings = context.task.settings
    names = context.names("sample/")
    if "train" in settings:
        asked = context.settings(TokenizerSettings, "train")
        data = train_tokenizer(_TrainingTexts(context, names), asked)
    else:
        data = load_pinned(Path(context.param("pinned")), settings["sha256"])
    context.write_bytes(files.TOKENIZER, data)
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


def _may_hold(recipe: Mapping[str, Any], name: str) -> str:
    train = recipe["tokenizer"].get("train")
    if train is None:
        return "nothing of this corpus: it was trained elsewhere"
    least = train.get("min_documents")
    if least is None:
        return "pieces of words that stand in the sample it was trained on, readable"
    return (
        f"pieces of words that stand in {least} or more different texts of the sample it was "
        "trained on, readable; nothing longer or rarer"
    )


AMOUNTS = Stage(
    "tokenizer_amounts",
    VERSION,
    Scope.PART,
    plan_amounts,
    run_amounts,
    asset="tokenizer",
    reads=(files.SIGNALS,),
    writes=(files.TOKENIZER_AMOUNTS,),
)

DRAW = Stage(
    "tokenizer_draw",
    VERSION,
    Scope.ALL,
    plan_draw,
    run_draw,
    asset="tokenizer",
    reads_all=(files.TOKENIZER_AMOUNTS,),
    writes=(files.TOKENIZER_DRAW,),
)

SAMPLE = Stage(
    "tokenizer_sample",
    VERSION,
    Scope.PART,
    plan_sample,
    run_sample,
    asset="tokenizer",
    reads=(files.DOCUMENTS, files.SIGNALS, files.TOKENIZER_DRAW),
    writes=(files.TOKENIZER_SAMPLE,),
)

TOKENIZER = Stage(
    "tokenizer",
    VERSION,
    Scope.ALL,
    plan_tokenizer,
    run_tokenizer,
    about="Byte-level BPE, trained on a sample of the calibration snapshots or pinned by digest.",
    reads=(files.TOKENIZER_DRAW,),
    reads_all=(files.TOKENIZER_SAMPLE,),
    writes=(files.TOKENIZER,),
    calibration=Calibration(
        files.TOKENIZER,
        _may_hold,
        lambda graph: {"tokenizer": graph.calibration(files.TOKENIZER)},
        is_model=True,
        asks=("tokenizer", "calibrate_on"),
    ),
)
