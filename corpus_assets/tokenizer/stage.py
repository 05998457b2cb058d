"""The stages of the tokenizer: amounts, draw, sample, then training and audit.

It learns from final text: what was selected, deduplicated, decontaminated and scrubbed. Under a
lock they have no tasks: the tokenizer is pinned, and nothing needs its sample.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import TypeAdapter

from corpus_assets.core import files
from corpus_assets.core.errors import MissingInput, ModelError
from corpus_assets.core.schemas import DOC_ID
from corpus_assets.core.stage import Calibration, Scope, Stage, part_stage
from corpus_assets.core.store import Output, read_output
from corpus_assets.core.task import Task, TaskContext, count
from corpus_assets.tokenizer.audit import Audit, Passage, TrainingFacts, audit_tokenizer, judged
from corpus_assets.tokenizer.planner import TokenizerPlanner
from corpus_assets.tokenizer.sample import (
    MAX_DOCUMENT_CHARS,
    Ints,
    amounts,
    draw,
    places,
    rows_of,
    sides,
)
from corpus_assets.tokenizer.scripts import own_scripts
from corpus_assets.tokenizer.settings import MIN_SCRIPT_SHARE, TokenizerSample, TokenizerSettings
from corpus_assets.tokenizer.train import VERSION, load_pinned, train_tokenizer

SAMPLE_ROWS = pa.schema(
    [
        ("doc_id", DOC_ID),
        ("domain", pa.string()),
        ("language", pa.string()),
        ("held_out", pa.bool_()),
        ("text", pa.large_string()),
    ]
)
UNKNOWN = "unknown"


def plan_draw(pipeline: TokenizerPlanner) -> list[Task]:
    if pipeline.pin_of("tokenizer"):
        return []
    inputs = {}
    domains = {}
    for snapshot in pipeline.recipe.calibration_snapshots:
        domains[snapshot] = pipeline.recipe.source_of(snapshot).domain
        for i, counted in enumerate(pipeline.parts(files.TOKENIZER_AMOUNTS, snapshot)):
            inputs[f"{snapshot}/{i:05d}"] = counted
    entry = pipeline.recipe.tokenizer
    weights = entry.sample.weights(pipeline.recipe.mixture.domain_shares)
    others = set(domains.values()) - weights.keys() if weights else set()
    if others and (rest := 1 - sum(weights.values())) > 0:  # of shares that leave them at most 1%
        weights |= dict.fromkeys(others, rest / len(others))
    settings = {
        "sample": entry.sample.identity(),
        "domains": domains,
        "proportions": weights if entry.train else dict.fromkeys(domains.values(), 0.0),
    }
    return [DRAW.task(settings, inputs)]


def plan_tokenizer(pipeline: TokenizerPlanner) -> list[Task]:
    entry = pipeline.recipe.tokenizer
    inputs = {
        f"sample/{snapshot}/{i:05d}": sample
        for snapshot in pipeline.recipe.calibration_snapshots
        for i, sample in enumerate(pipeline.parts(files.TOKENIZER_SAMPLE, snapshot))
    }
    (inputs["draw"],) = pipeline.parts(files.TOKENIZER_DRAW)
    settings: dict[str, Any] = {"special": entry.special_names()}
    params: dict[str, Any] = {}
    if entry.train is not None:
        settings["train"] = entry.train.identity()
    elif entry.pinned is not None:
        settings["sha256"] = entry.pinned.sha256
        if pipeline.locations.kept is None:  # a version that is built again brings the tokenizer
            path, settings["sha256"] = pipeline.model(entry.pinned, "tokenizer.pinned")
            params["pinned"] = str(path)
    return [TOKENIZER.task(settings, inputs, params=params)]


def _is_asked(pipeline: TokenizerPlanner, snapshot: str) -> bool:
    return snapshot in pipeline.recipe.calibration_snapshots and not pipeline.pin_of("tokenizer")


def _place_settings(pipeline: TokenizerPlanner, snapshot: str) -> dict[str, Any]:
    source = pipeline.recipe.source_of(snapshot)
    settings = {
        "sample": pipeline.recipe.tokenizer.sample.identity(),
        "seed": pipeline.recipe.seed,
        "domain": source.domain,
    }
    return settings | ({"messages": True} if source.has_messages else {})


def run_amounts(context: TaskContext) -> None:
    settings = context.settings(TokenizerSample, "sample")
    final = context.table("final", ["doc_id", "language", "text"])
    at = _places(context, final, settings)
    counted = amounts(at, pc.utf8_length(final["text"]).to_numpy())
    context.write_table(files.TOKENIZER_AMOUNTS, counted)
    count(context, final.num_rows, int((at >= 0).sum()))


def run_draw(context: TaskContext) -> None:
    settings = context.settings(TokenizerSample, "sample")
    domains: dict[str, str] = context.task.settings["domains"]
    names = context.names("")
    of_parts = (domains[name.rpartition("/")[0]] for name in names)
    drawn = draw(
        zip(of_parts, context.tables(names), strict=True),
        settings,
        context.task.settings["proportions"],
    )
    context.write_bytes(files.TOKENIZER_DRAW, json.dumps(drawn, sort_keys=True, indent=1).encode())


def run_sample(context: TaskContext) -> None:
    settings = context.settings(TokenizerSample, "sample")
    final = context.table("final", ["doc_id", "domain", "language", "text"])
    drawn = context.json("draw")[context.task.settings["domain"]]
    trained, held_out = sides(_places(context, final, settings), drawn)
    picked = pa.array(np.flatnonzero(trained | held_out))
    rows = final.take(picked).combine_chunks()
    text = rows["text"]
    if "messages" in context.task.settings:  # markers are tokens already
        text = pc.replace_substring_regex(text, r"[\x{FDD0}-\x{FDEF}]+", "\n")
    cut = pc.utf8_slice_codeunits(text, 0, MAX_DOCUMENT_CHARS)
    columns = [
        rows["doc_id"],
        rows["domain"],
        pc.fill_null(rows["language"], UNKNOWN),
        pa.array(held_out).take(picked),
        cut,
    ]
    context.write_table(files.TOKENIZER_SAMPLE, pa.Table.from_arrays(columns, schema=SAMPLE_ROWS))
    count(context, final.num_rows, len(picked))


def run_tokenizer(context: TaskContext) -> None:
    settings = context.task.settings
    names = context.names("sample/")
    training = None
    if "train" in settings:
        asked = context.settings(TokenizerSettings, "train")
        texts = _TrainingTexts(context, names)
        scripts = asked.scripts or own_scripts(
            _rows(context, names, False), MIN_SCRIPT_SHARE, asked.min_documents
        )
        data = train_tokenizer(texts, asked, scripts, _sampled(context.json("draw")))
        training = TrainingFacts(texts, scripts, asked.max_token_chars, asked.upsample)
    else:
        data = load_pinned(Path(context.param("pinned")), settings["sha256"])
    context.write_bytes(files.TOKENIZER, data)
    passages = (Passage(*row) for row in _rows(context, names, True))
    special = settings["special"]
    report = audit_tokenizer(data, passages, special["eod"], special["pad"], training)
    if "train" in settings and asked.vocab_size and report.vocab_size < asked.vocab_size:
        report.warnings.append(
            f"the vocabulary has {report.vocab_size:,} of {asked.vocab_size:,} tokens: the "
            "sample has no more pairs to merge; train on more text or lower vocab_size"
        )
    context.notes["audit"] = asdict(report)
    context.notes["sample"] = context.json("draw")
    drawn = context.json("draw").values()
    context.counts["documents_in"] = sum(domain["documents"] for domain in drawn)
    context.counts["held_out_documents"] = sum(domain["held_out_documents"] for domain in drawn)


def _sampled(drawn: Mapping[str, Mapping[str, int]]) -> Fraction:
    """Return what share of the characters of the corpus, as it may be drawn from, is trained on."""
    trained = sum(domain["chars"] for domain in drawn.values())
    return Fraction(trained, max(1, sum(domain["available_chars"] for domain in drawn.values())))


@dataclass(frozen=True)
class _TrainingTexts:
    """The texts to learn from, read again at every iteration."""

    context: TaskContext
    names: Sequence[str]

    def __iter__(self) -> Iterator[str]:
        return (text for text, *_ in _rows(self.context, self.names, False))


def _rows(
    context: TaskContext, names: Sequence[str], held_out: bool
) -> Iterator[tuple[str, str, str]]:
    return rows_of(context.tables(names), held_out)


def _places(context: TaskContext, final: pa.Table, settings: TokenizerSample) -> Ints:
    setting = context.task.settings
    doc_ids, languages = (final[name].to_pylist() for name in ("doc_id", "language"))
    return places(doc_ids, languages, settings, setting["seed"])


def audit_of(pipeline: TokenizerPlanner) -> Audit:
    """Return the audit of the tokenizer, judged by the recipe: the one that came with it; of one
    that a lock brings and the store has not made, one without held-out text."""
    recipe = pipeline.recipe
    tokenizer = pipeline.calibration(files.TOKENIZER)
    data, special = read_output(pipeline.store, tokenizer), recipe.tokenizer.special_names()
    report = _noted(pipeline, tokenizer) or audit_tokenizer(
        data, (), special["eod"], special["pad"]
    )
    domains = {source.domain for source in recipe.sources}
    return judged(report, data, recipe.tokenizer.audit, recipe.clean_text.scrub, domains)


def _noted(pipeline: TokenizerPlanner, tokenizer: Output) -> Audit | None:
    """Return what was noted when this tokenizer was made, where the store has it still."""
    try:
        (result,) = pipeline.unpinned(TOKENIZER.name).results(TOKENIZER.name)
    except MissingInput:
        return None
    is_same = result.outputs[files.TOKENIZER].sha256 == tokenizer.sha256
    return TypeAdapter(Audit).validate_python(result.notes["audit"]) if is_same else None


def refuse_failed(pipeline: TokenizerPlanner) -> None:
    """Refuse a tokenizer that no tokens should be made with, unless the recipe only wants to be
    warned."""
    report = audit_of(pipeline)
    if not report.usable and pipeline.recipe.tokenizer.audit.on_failure == "stop":
        raise ModelError(
            f"the tokenizer fails its audit: {'; '.join(report.problems)}. No tokens were "
            "written. Correct the recipe, or set tokenizer.audit.on_failure to warn and build "
            "again: it is not retrained"
        )


def _may_hold(recipe: Mapping[str, Any], name: str) -> str:
    train = recipe["tokenizer"].get("train")
    if train is None:
        return "no text of this corpus: it was trained elsewhere"
    return (
        f"pieces of words that occur in {train['min_documents']} or more different texts of the sample it was "
        "trained on, readable; nothing longer or rarer"
    )


AMOUNTS = part_stage(
    "tokenizer_amounts",
    VERSION,
    run_amounts,
    reads={"final": files.FINAL},
    writes=(files.TOKENIZER_AMOUNTS,),
    settings=_place_settings,
    is_asked=_is_asked,
)

DRAW = Stage(
    "tokenizer_draw",
    VERSION,
    Scope.ALL,
    plan_draw,
    run_draw,
    reads_all=(files.TOKENIZER_AMOUNTS,),
    writes=(files.TOKENIZER_DRAW,),
)

SAMPLE = part_stage(
    "tokenizer_sample",
    VERSION,
    run_sample,
    reads={"final": files.FINAL},
    writes=(files.TOKENIZER_SAMPLE,),
    settings=_place_settings,
    is_asked=_is_asked,
    shared=lambda pipeline, snapshot: {"draw": pipeline.parts(files.TOKENIZER_DRAW)[0]},
    reads_shared=(files.TOKENIZER_DRAW,),
)

TOKENIZER = Stage(
    "tokenizer",
    VERSION,
    Scope.ALL,
    plan_tokenizer,
    run_tokenizer,
    about="Byte-level BPE, trained on final text of the calibration snapshots or pinned by digest.",
    reads=(files.TOKENIZER_DRAW,),
    reads_all=(files.TOKENIZER_SAMPLE,),
    writes=(files.TOKENIZER,),
    calibration=Calibration(
        files.TOKENIZER,
        _may_hold,
        lambda pipeline: {"tokenizer": pipeline.calibration(files.TOKENIZER)},
        is_model=True,
        asks=(
            *("tokenizer.train", "tokenizer.sample", "tokenizer.pinned"),
            *("tokenizer.end_of_document", "tokenizer.pad", "calibrate_on"),
        ),
    ),
    accept=refuse_failed,
)
