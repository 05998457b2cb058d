"""The stages of shards: their number, tokens laid out for them, and the shards themselves."""

import json
from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from corpus_assets.core import files
from corpus_assets.core.earlier import Earlier
from corpus_assets.core.errors import CorruptArtifact
from corpus_assets.core.schemas import LABELS
from corpus_assets.core.stage import Calibration, Scope, Stage
from corpus_assets.core.store import Output, read_output
from corpus_assets.core.task import Task, TaskContext, count, part_label
from corpus_assets.shards import pack as route
from corpus_assets.shards.format import build_shard, token_dtype
from corpus_assets.shards.pack import PackSettings
from corpus_assets.shards.tokens import Encoder, TokenBatch, encoder_of

if TYPE_CHECKING:
    from corpus_assets.graph.pipeline import Pipeline


def plan_shard_counts(graph: "Pipeline", snapshot: str) -> list[Task]:
    totals: dict[str, int] = {}
    for part in graph.results("clean_text", snapshot):
        for group, chars in part.notes["chars_by_group"].items():
            totals[group] = totals.get(group, 0) + chars
    settings = {"chars": totals, "tokens_per_shard": graph.recipe.shards.tokens_per_shard}
    return [SHARD_COUNTS.task(settings, label=snapshot)]


def plan_tokens(graph: "Pipeline", snapshot: str) -> list[Task]:
    shared = {
        "tokenizer": graph.calibration(files.TOKENIZER),
        "shard_counts": graph.calibration(files.SHARD_COUNTS, snapshot),
    }
    settings: dict[str, Any] = {
        "seed": graph.recipe.seed,
        "special": graph.recipe.tokenizer.special_names(),
    }
    settings |= {LABELS.name: True} if graph.recipe.has_labels else {}
    return [
        TOKENS.task(settings, {"final": final} | shared, label=part_label(snapshot, i))
        for i, final in enumerate(graph.parts(files.FINAL, snapshot))
    ]


def plan_shards(graph: "Pipeline", snapshot: str) -> list[Task]:
    """Plan one task a shard of each group; shards without a document are empty."""
    recipe, tokenizer = graph.recipe, graph.calibration(files.TOKENIZER)
    counts: dict[str, int] = dict(
        json.loads(read_output(graph.store, graph.calibration(files.SHARD_COUNTS, snapshot)))
    )
    slices: dict[str, dict[str, tuple[Output, route.Slice]]] = {}
    tokens = graph.parts(files.TOKENS, snapshot)
    for number, listing in enumerate(graph.parts(files.SLICES, snapshot)):
        for name, raw in json.loads(read_output(graph.store, listing)).items():
            entry = (tokens[number], route.Slice(**raw))
            slices.setdefault(name, {})[f"part-{number:05d}"] = entry
            counts.setdefault(name.rpartition("/")[0], 1)
    tasks = []
    for group in sorted(counts):
        for number in range(counts[group]):
            held = slices.get(f"{group}/{number:05d}", {})
            tasks.append(
                SHARDS.task(
                    {
                        "pack": recipe.shards.pack.identity(),
                        "seed": recipe.seed,
                        "snapshot": snapshot,
                        "group": group,
                        "number": number,
                        "special": recipe.tokenizer.special_names(),
                    }
                    | ({"dtype": recipe.shards.dtype} if recipe.shards.dtype != "int32" else {}),
                    inputs={"tokenizer": tokenizer},
                    extra_inputs={name: piece.sha256 for name, (_, piece) in held.items()},
                    params={
                        "slices": {
                            name: {"path": output.path, "row_group": piece.row_group}
                            for name, (output, piece) in held.items()
                        }
                    },
                    label=f"{snapshot} {group} shard {number}",
                )
            )
    return tasks


def run_shard_counts(context: TaskContext) -> None:
    settings = context.task.settings
    counts = route.shard_counts(settings["chars"], settings["tokens_per_shard"])
    context.write_bytes(files.SHARD_COUNTS, json.dumps(counts, sort_keys=True, indent=1).encode())


def run_tokens(context: TaskContext) -> None:
    labels = [LABELS.name] if LABELS.name in context.task.settings else []
    final = context.table("final", ["doc_id", "domain", "tier", *labels, "text"])
    known = _known_tokens(context, final)
    new = pa.array([row for row in range(final.num_rows) if row not in known], pa.int64())
    computed = _encoder(context).encode_batch(final["text"].take(new).to_pylist())
    batch = _joined(known, computed, final.num_rows) if known else computed
    data, slices = route.route_tokens(
        final, batch, context.json("shard_counts"), context.task.settings["seed"]
    )
    context.write_bytes(files.TOKENS, data, final.num_rows)
    listed = {name: asdict(piece) for name, piece in slices.items()}
    context.write_bytes(files.SLICES, json.dumps(listed, sort_keys=True).encode())
    count(context, final.num_rows, final.num_rows)
    context.counts["tokens"] = sum(piece.tokens for piece in slices.values())


def run_shard(context: TaskContext) -> None:
    settings = context.task.settings
    doc_ids, batch = route.join_slices(
        _checked_slice(context, name) for name in sorted(context.param("slices"))
    )
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
    )
    for name, data in built.files.items():
        rows = pq.read_metadata(pa.BufferReader(data)).num_rows if ".spans." in name else 0
        context.write_bytes(name, data, rows)
    count(context, len(doc_ids), len(doc_ids))
    for name in ("samples", "tokens", "documents"):
        context.counts[name] = getattr(built.header, name)


def _encoder(context: TaskContext) -> Encoder:
    special = context.task.settings["special"]
    return encoder_of(context.content("tokenizer"), special["eod"], special["pad"])


def _checked_slice(context: TaskContext, name: str) -> tuple[list[bytes], TokenBatch]:
    """Read one part's documents for a shard. Its own hash is checked, not that of the whole file:
    a part's tokens are read by many shards, each of them only its row group."""
    piece = context.param("slices")[name]
    try:
        file = pq.ParquetFile(context.store.local(piece["path"]))
        doc_ids, batch = route.read_slice(file, piece["row_group"])
        found = route.slice_hash(doc_ids, (batch[i] for i in range(len(batch))))
    except (pa.ArrowException, OSError, ValueError) as error:
        raise CorruptArtifact(
            f"{piece['path']} is not readable; delete its folder in the store and build again"
        ) from error
    if found != context.task.extra_inputs[name]:
        raise CorruptArtifact(
            f"{piece['path']} does not match its recorded hash; delete its folder in the store "
            "and build again"
        )
    return doc_ids, batch


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
    for doc_ids, batch in route.read_tokens(earlier.content(files.TOKENS)):
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
    asset="shards",
    reads=(files.FINAL,),
    writes=(files.SHARD_COUNTS,),
    calibration=Calibration(
        files.SHARD_COUNTS,
        "numbers of shards; no text",
        lambda graph: {
            f"shard_counts/{snapshot}": graph.calibration(files.SHARD_COUNTS, snapshot)
            for snapshot in graph.recipe.snapshots
        },
        asks=(
            "shards.tokens_per_shard",
            "selection.tiers",
            "selection.single_tier",
            "sources.tier",
            "shards.group_by",
            "clean_text.tiers_by_copies",
        ),
    ),
)

TOKENS = Stage(
    "tokens",
    route.VERSION,
    Scope.PART,
    plan_tokens,
    run_tokens,
    asset="shards",
    reads=(files.FINAL, files.TOKENIZER, files.SHARD_COUNTS),
    writes=(files.TOKENS, files.SLICES),
    by_row=frozenset({"final", "shard_counts"}),
)

SHARDS = Stage(
    "shards",
    route.VERSION,
    Scope.SNAPSHOT,
    plan_shards,
    run_shard,
    about="Tokenized, shuffled and packed into memory-mapped shards by domain, tier and labels.",
    reads=(files.TOKENS, files.SLICES, files.SHARD_COUNTS, files.TOKENIZER),
    writes=(files.SHARD_BIN, files.SHARD_IDX, files.SHARD_SPANS, files.SHARD_HEADER),
    fed_by=("clean_text", "documents_out"),
)
