"""The stages of shards: their number, tokens laid out for them, and the shards themselves."""

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from catalog.formats.token_order import SEPARATORS
from corpus_assets.core import files
from corpus_assets.core.earlier import Earlier
from corpus_assets.core.errors import ModelError
from corpus_assets.core.exchange import all_ranges, range_inputs, read_ranges, write_ranges
from corpus_assets.core.lazy_sequence import LazySequence
from corpus_assets.core.schemas import LABELS
from corpus_assets.core.shuffle import Regroup
from corpus_assets.core.stage import Calibration, Scope, Stage, part_stage
from corpus_assets.core.store import read_output
from corpus_assets.core.task import Task, TaskContext, count
from corpus_assets.shards import imports, route
from corpus_assets.shards.chat import encode_chat
from corpus_assets.shards.fill_in_the_middle import encode_cut
from corpus_assets.shards.format import build_shard, token_dtype
from corpus_assets.shards.imports import Place
from corpus_assets.shards.pack import Places
from corpus_assets.shards.planner import ShardsPlanner
from corpus_assets.shards.settings import FillInTheMiddle, PackSettings
from corpus_assets.shards.tokens import Encoder, TokenBatch, encoder_of

FILL_IN_THE_MIDDLE = "fill_in_the_middle"
MESSAGES = "messages"
REPOSITORIES = "repositories"

GROUP_TOKENS = 1 << 27
"""Tokens in the slices that are brought together, by the number of shards: half a gigabyte."""


def plan_shard_counts(pipeline: ShardsPlanner, snapshot: str) -> list[Task]:
    totals: dict[str, int] = {}
    for part in pipeline.results("clean_text", snapshot):
        for group, chars in part.notes["chars_by_group"].items():
            totals[group] = totals.get(group, 0) + chars
    settings = {"chars": totals, "tokens_per_shard": pipeline.recipe.shards.tokens_per_shard}
    return [SHARD_COUNTS.task(settings, label=snapshot)]


def _token_settings(pipeline: ShardsPlanner, snapshot: str) -> dict[str, Any]:
    recipe = pipeline.recipe
    settings = {"seed": recipe.seed, "special": recipe.tokenizer.special_names()}
    if recipe.has_labels:
        settings[LABELS.name] = True
    if recipe.source_of(snapshot).has_messages:
        settings[MESSAGES] = True
    domain = recipe.source_of(snapshot).domain
    if domain in recipe.shards.repositories:
        parts = recipe.shards.repositories[domain]
        settings[REPOSITORIES] = {"parts": parts, "imports": imports.VERSION}
    cut = recipe.shards.fill_in_the_middle
    if cut and (cut.domains is None or domain in cut.domains):
        settings[FILL_IN_THE_MIDDLE] = {"rate": cut.rate, "spm": cut.spm}
    return settings


def _group_parts(pipeline: ShardsPlanner, snapshot: str) -> int:
    """Return how many parts have the tokens of a group, by the number of shards."""
    shards = sum(_shard_counts(pipeline, snapshot).values())
    tokens = max(1, shards * pipeline.recipe.shards.tokens_per_shard)
    return max(1, GROUP_TOKENS * len(pipeline.parts(files.TOKENS, snapshot)) // tokens)


def plan_shards(pipeline: ShardsPlanner, snapshot: str) -> Sequence[Task]:
    """Plan one task a shard of each group; shards without a document are empty."""
    recipe = pipeline.recipe
    inputs = {"tokenizer": pipeline.calibration(files.TOKENIZER)}
    slices = TOKEN_SLICES.targets(pipeline, snapshot)
    counts = {name.rpartition("/")[0]: 1 for name in slices} | _shard_counts(pipeline, snapshot)
    settings = {
        "pack": recipe.shards.pack.identity(),
        "seed": recipe.seed,
        "snapshot": snapshot,
        "special": recipe.tokenizer.special_names(),
    } | ({"dtype": recipe.shards.dtype} if recipe.shards.dtype != "int32" else {})

    def task(_: int, group: str, number: int) -> Task:
        return SHARDS.task(
            settings | {"group": group, "number": number},
            inputs,
            label=f"{snapshot} {group} shard {number}",
            **range_inputs(slices.get(f"{group}/{number:05d}", {})),
        )

    shards = [(group, number) for group in sorted(counts) for number in range(counts[group])]
    return LazySequence(task, [group for group, _ in shards], [number for _, number in shards])


def _shard_counts(pipeline: ShardsPlanner, snapshot: str) -> dict[str, int]:
    pinned = pipeline.calibration(files.SHARD_COUNTS, snapshot)
    return dict(json.loads(read_output(pipeline.store, pinned)))


def run_shard_counts(context: TaskContext) -> None:
    settings = context.task.settings
    counts = route.shard_counts(settings["chars"], settings["tokens_per_shard"])
    context.write_bytes(files.SHARD_COUNTS, json.dumps(counts, sort_keys=True, indent=1).encode())


def run_tokens(context: TaskContext) -> None:
    labels = [LABELS.name] if LABELS.name in context.task.settings else []
    final = context.table("final", ["doc_id", "domain", "tier", "language", *labels, "text"])
    known = _known_tokens(context, final)
    new = pa.array([row for row in range(final.num_rows) if row not in known], pa.int64())
    computed = _encode(context, final.take(new))
    batch = _joined(known, computed, final.num_rows) if known else computed
    slices = route.route_tokens(
        final,
        batch,
        context.json("shard_counts"),
        context.task.settings["seed"],
        _places(context, final),
    )
    write_ranges(context, files.TOKENS, slices, final.num_rows)
    count(context, final.num_rows, final.num_rows)
    context.counts["tokens"] = len(batch.flat)
    lengths = np.diff(batch.offsets)
    context.notes["tokens_by_language"] = _by_language(final["language"], lengths)
    powers, documents = np.unique(np.frexp(np.maximum(lengths, 1))[1] - 1, return_counts=True)
    context.notes["lengths"] = dict(zip(map(str, powers.tolist()), documents.tolist(), strict=True))


def run_shard(context: TaskContext) -> None:
    settings = context.task.settings
    slices = list(read_ranges(context))
    doc_ids, batch = route.join_slices(slices)
    tokenizer = _encoder(context).info
    built = build_shard(
        f"{settings['snapshot']}/{settings['group']}",
        settings["number"],
        doc_ids,
        batch,
        seed=settings["seed"],
        settings=context.settings(PackSettings, "pack"),
        tokenizer=tokenizer,
        dtype=token_dtype(settings.get("dtype", "int32"), tokenizer.vocab_size),
        places=route.places_of(slices),
    )
    for name, data in built.files.items():
        rows = pq.read_metadata(pa.BufferReader(data)).num_rows if ".spans." in name else 0
        context.write_bytes(name, data, rows)
    count(context, len(doc_ids), len(doc_ids))
    for name in ("samples", "tokens", "documents"):
        context.counts[name] = getattr(built.header, name)


def _by_language(languages: pa.ChunkedArray, lengths: npt.NDArray[np.int64]) -> dict[str, int]:
    """Add up the tokens of documents by language."""
    table = pa.table({"language": pc.fill_null(languages, "unknown"), "tokens": lengths})
    summed = table.group_by("language", use_threads=False).aggregate([("tokens", "sum")])
    return dict(sorted(zip(*(column.to_pylist() for column in summed.columns), strict=True)))


def _encoder(context: TaskContext) -> Encoder:
    special = context.task.settings["special"]
    return encoder_of(context.content("tokenizer"), special["eod"], special["pad"])


def _encode(context: TaskContext, final: pa.Table) -> TokenBatch:
    """Return the tokens of documents, with markers where the recipe asks for them."""
    encoder, texts = _encoder(context), final["text"].to_pylist()
    encode = encoder.encode_batch
    if MESSAGES in context.task.settings:
        encode = partial(encode_chat, encoder)
    if FILL_IN_THE_MIDDLE not in context.task.settings:
        return encode(texts)
    cut = context.settings(FillInTheMiddle, FILL_IN_THE_MIDDLE)
    doc_ids = final["doc_id"].to_pylist()
    return encode_cut(encoder, doc_ids, texts, cut, context.task.settings["seed"], encode)


def _places(context: TaskContext, final: pa.Table) -> Places | None:
    """Return where documents stand in their repositories: the first parts of their keys are its
    name. None where the recipe joins no files."""
    if REPOSITORIES not in context.task.settings:
        return None
    parts = context.task.settings[REPOSITORIES]["parts"]
    if _encoder(context).file_separator is None:
        raise ModelError(
            f"shards.repositories: the tokenizer lacks the special token {SEPARATORS[0]}; add it to "
            "tokenizer.train.special_tokens, or pin a tokenizer that has it as a special token"
        )
    records = context.table("records", ["doc_id", "url_key"])
    keys = dict(zip(records["doc_id"].to_pylist(), records["url_key"].to_pylist(), strict=True))
    found: list[Place | None] = []
    for doc_id, text in zip(final["doc_id"].to_pylist(), final["text"].to_pylist(), strict=True):
        names = str(keys[doc_id]).split("/", parts)
        if len(names) <= parts:
            found.append(None)
            continue
        repository, path = "/".join(names[:parts]), names[parts]
        digest = hashlib.blake2b(repository.encode(), digest_size=16).digest()
        found.append(Place(digest, path, imports.imports_of(repository, path, text)))
    return found


def _known_tokens(context: TaskContext, final: pa.Table) -> dict[int, Any]:
    """Tokens of the rows of `final` that an earlier result has, by row.

    A row is the same when its id and its text are; ids that occur twice are left out.
    """
    earlier = Earlier.of(context)
    if earlier is None:
        return {}
    before = earlier.input("final", ["doc_id", "text"])
    ids: list[bytes] = before["doc_id"].to_pylist()
    twice = {doc_id for doc_id, n in Counter(ids).items() if n > 1}
    place = {doc_id: row for row, doc_id in enumerate(ids) if doc_id not in twice}
    now: list[bytes] = final["doc_id"].to_pylist()
    were = before["text"].take(pa.array([place.get(doc_id) for doc_id in now], pa.int64()))
    is_same = pc.fill_null(pc.equal(were, final["text"]), False).to_numpy()
    same = {int(row): now[row] for row in np.flatnonzero(is_same)}
    tokens: dict[bytes, Any] = {}
    for _, data in all_ranges(earlier.content(files.TOKENS)):
        doc_ids, batch = route.read_slice(data)
        tokens.update((doc_id, batch[i]) for i, doc_id in enumerate(doc_ids))
    return {row: tokens[doc_id] for row, doc_id in same.items()}


def _joined(known: dict[int, Any], computed: TokenBatch, rows: int) -> TokenBatch:
    """Tokens of all rows in order: those known, and for the others the next one computed."""
    fresh = iter(range(len(computed)))
    return TokenBatch.of(known[i] if i in known else computed[next(fresh)] for i in range(rows))


SHARD_COUNTS = Stage(
    "shard_counts",
    route.VERSION,
    Scope.SNAPSHOT,
    plan_shard_counts,
    run_shard_counts,
    reads=(files.FINAL,),
    writes=(files.SHARD_COUNTS,),
    calibration=Calibration(
        files.SHARD_COUNTS,
        "numbers of shards; no text",
        lambda pipeline: {
            f"shard_counts/{snapshot}": pipeline.calibration(files.SHARD_COUNTS, snapshot)
            for snapshot in pipeline.recipe.snapshots
        },
        asks=(
            "shards.tokens_per_shard",
            "selection.tiers",
            "sources.tier",
            "shards.group_by",
            "clean_text.tiers_by_copies",
        ),
    ),
)

TOKENS = part_stage(
    "tokens",
    6,
    run_tokens,
    reads={"final": files.FINAL},
    writes=(files.TOKENS,),
    settings=_token_settings,
    shared=lambda pipeline, snapshot: {
        "tokenizer": pipeline.calibration(files.TOKENIZER),
        "shard_counts": pipeline.calibration(files.SHARD_COUNTS, snapshot),
    },
    reads_shared=(files.TOKENIZER, files.SHARD_COUNTS),
    reads_if_asked={"records": files.RECORDS},
    asks_for=lambda pipeline, snapshot: (
        pipeline.recipe.source_of(snapshot).domain in pipeline.recipe.shards.repositories
    ),
    by_row=frozenset({"final", "shard_counts", "records"}),
)

TOKEN_SLICES = Regroup(
    files.TOKENS,
    lambda slices: route.slice_bytes(*route.join_slices(slices), route.places_of(slices)),
    _group_parts,
    reads=(files.SHARD_COUNTS,),
)

SHARDS = Stage(
    "shards",
    route.VERSION,
    Scope.SNAPSHOT,
    plan_shards,
    run_shard,
    about="Tokenized, shuffled and packed into memory-mapped shards by domain, tier and labels.",
    reads=(*TOKEN_SLICES.reads, files.SHARD_COUNTS, files.TOKENIZER),
    writes=(files.SHARD_BIN, files.SHARD_IDX, files.SHARD_SPANS, files.SHARD_HEADER),
    fed_by=("clean_text", "documents_out"),
)
