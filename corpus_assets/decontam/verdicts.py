"""What follows from benchmark items found in documents: drop, cut, or only a look.

A hit whose share of the item's n-grams reaches `drop_share`, or exceeds it where the recipe says
`exclusive`, is contamination, unless the item is common: a phrase that so many documents hold (licences, boilerplate, famous quotations) says
nothing about where a document comes from. Which items are common is a statistic over many
documents, so it is a calibration: resolved once and pinned in the lock.
"""

from collections.abc import Collection, Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.core.schemas import BENCHMARK_HITS, DOC_ID
from corpus_assets.decontam.judgements import Judgements
from corpus_assets.decontam.settings import ParaphraseVerdict, VerdictSettings

VERSION = 1

REASON = "contains_eval_item"
NEAR_REASON = "resembles_eval_item"
PARAPHRASE_REASON = "paraphrases_eval_item"

DROP, CUT, COMMON, NEAR_MISS, KEEP = "drop", "cut", "common", "near_miss", "keep"
HELD_BACK = "held_back"

TEXT, CODE, PARAPHRASE = "text", "code", "paraphrase"  # kinds of hits

VERDICTS = pa.schema(
    [
        ("row", pa.int32()),
        ("doc_id", DOC_ID),
        ("benchmark", pa.string()),
        ("item_id", pa.string()),
        ("reason", pa.string()),
    ]
)

COMMON_ITEMS = pa.schema(
    [
        ("benchmark", pa.string()),
        ("item_id", pa.string()),
        ("documents", pa.int64()),  # different texts of the calibration snapshots that hold it
    ]
)

Span = tuple[int, int]
Items = frozenset[tuple[str, str]]


def judge(
    hits: pa.Table,
    settings: VerdictSettings,
    common: Items = frozenset(),
    judgements: Judgements | None = None,
    text_ids: Sequence[bytes] = (),
    training: Collection[str] = (),
) -> pa.Table:
    """Return the hits with `share` and `verdict`: drop, cut, common, near_miss, held_back or keep.

    `text_ids`, by row, are read where there are judgements. A near miss of a common item is one.
    `training` are benchmarks whose items hold a document back where others drop or cut. Passages
    that are no paraphrases by the settings, or of items that are found there anyway, are left out.
    """
    hits = _with_near_paraphrases(hits, settings.paraphrases)
    total = pc.max_element_wise(hits["total"].cast("float64"), 1.0)
    share = pc.divide(hits["matched"].cast("float64"), total)
    is_hit = pc.and_(_is_enough(share, settings), hits["confirmed"])
    names = list(zip(hits["benchmark"].to_pylist(), hits["item_id"].to_pylist(), strict=True))
    kinds, rows = hits["kind"].to_pylist(), hits["row"].to_pylist()
    of_paraphrases = settings.paraphrases.action if settings.paraphrases else "review"
    verdict: list[str] = []
    for hit, name, row, kind in zip(is_hit.to_pylist(), names, rows, kinds, strict=True):
        action = of_paraphrases if kind == PARAPHRASE else settings.near_miss
        unjudged = NEAR_MISS if action == "review" else action
        if name in common:
            verdict.append(COMMON if hit else NEAR_MISS)
        elif hit:
            verdict.append(HELD_BACK if name[0] in training else settings.action)
        else:
            judgement = judgements.get((text_ids[row], *name)) if judgements else None
            is_held = name[0] in training and unjudged != NEAR_MISS
            verdict.append(judgement or (HELD_BACK if is_held else unjudged))
    judged = hits.append_column("share", share).append_column(
        "verdict", pa.array(verdict, pa.string())
    )
    entries = list(zip(rows, names, kinds, verdict, strict=True))
    known = {(row, name) for row, name, kind, outcome in entries if (kind, outcome) in _DECISIVE}
    is_needed = [kind != PARAPHRASE or (row, name) not in known for row, name, kind, _ in entries]
    return judged if all(is_needed) else judged.filter(pa.array(is_needed, pa.bool_()))


_DECISIVE = {(kind, outcome) for kind in (TEXT, CODE) for outcome in (DROP, CUT, COMMON, HELD_BACK)}


def _with_near_paraphrases(hits: pa.Table, settings: ParaphraseVerdict | None) -> pa.Table:
    is_other = pc.not_equal(hits["kind"], PARAPHRASE)
    if settings is None:
        return hits.filter(is_other)
    alike = pc.round(hits["similarity"].cast("float64"), 4)  # as it was before it was stored
    is_near = pc.fill_null(pc.greater_equal(alike, settings.min_similarity), False)
    return hits.filter(pc.or_(is_other, is_near))


def _is_enough(share: pa.ChunkedArray, settings: VerdictSettings) -> pa.ChunkedArray:
    passes = pc.greater if settings.exclusive else pc.greater_equal
    return passes(share, settings.drop_share)


def verdicts(hits: pa.Table, settings: VerdictSettings, common: Items = frozenset()) -> pa.Table:
    """Return schema VERDICTS of hits without judgements by people."""
    return dropped(judge(hits, settings, common), settings)


def dropped(judged: pa.Table, settings: VerdictSettings) -> pa.Table:
    """Return schema VERDICTS, by row: documents to drop, each with its worst hit.

    Worst is a quotation before a paraphrase, then the largest share, then the longest item, then
    (benchmark, item_id).
    """
    judged = judged.append_column("is_paraphrase", pc.equal(judged["kind"], PARAPHRASE))
    worst = judged.filter(pc.equal(judged["verdict"], DROP)).sort_by(
        [
            ("row", "ascending"),
            ("is_paraphrase", "ascending"),
            ("share", "descending"),
            ("total", "descending"),
            ("benchmark", "ascending"),
            ("item_id", "ascending"),
        ]
    )
    rows = worst.column("row").to_numpy()
    is_first = np.ones(rows.size, bool)
    is_first[1:] = rows[1:] != rows[:-1]
    first = worst.filter(pa.array(is_first))
    is_near = pc.invert(_is_enough(first["share"], settings))
    quoted = pc.if_else(is_near, NEAR_REASON, REASON)
    reason = pc.if_else(first["is_paraphrase"], PARAPHRASE_REASON, quoted)
    return first.append_column("reason", reason).select(VERDICTS.names).cast(VERDICTS)


def cuts(judged: pa.Table) -> dict[int, list[Span]]:
    """Row -> places to cut out of its text, sorted, none touching another."""
    chosen = judged.filter(pc.equal(judged["verdict"], CUT))
    found: dict[int, list[Span]] = {}
    for row, places in zip(chosen["row"].to_pylist(), chosen["places"].to_pylist(), strict=True):
        found.setdefault(row, []).extend((place["start"], place["end"]) for place in places)
    return {row: merged(spans) for row, spans in found.items()}


def merged(spans: Iterable[Span]) -> list[Span]:
    """Return the same places, sorted, those that touch made one."""
    out: list[Span] = []
    for start, end in sorted(spans):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((start, end))
    return out


def lineage_of(judged: pa.Table) -> pa.Table:
    """Return schema BENCHMARK_HITS: what the version keeps of a part's hits, no text among it."""
    ordered = judged.sort_by(
        [(name, "ascending") for name in ("doc_id", "row", "kind", "benchmark", "item_id")]
    )
    return ordered.select(BENCHMARK_HITS.names).cast(BENCHMARK_HITS)


def count_items(hits: pa.Table, text_ids: pa.ChunkedArray, settings: VerdictSettings) -> pa.Table:
    """(benchmark, item_id, text_id) of every text of a part that holds an item, each once."""
    judged = judge(hits, settings)
    found = judged.filter(pc.not_equal(judged["verdict"], NEAR_MISS))
    texts = text_ids.take(found["row"].combine_chunks().cast(pa.int64()))
    pairs = found.select(["benchmark", "item_id"]).append_column("text_id", texts)
    return pairs.group_by(["benchmark", "item_id", "text_id"], use_threads=False).aggregate([])


def find_common(parts: Iterable[pa.Table], more_than: int | None) -> pa.Table:
    """Return schema COMMON_ITEMS, by name: items that more different texts hold than `more_than`.

    Copies count once: a page that was fetched a hundred times is one text.
    """
    texts: dict[tuple[str, str], set[bytes]] = {}
    for part in parts if more_than is not None else ():
        for row in part.to_pylist():
            texts.setdefault((row["benchmark"], row["item_id"]), set()).add(row["text_id"])
    rows = [
        {"benchmark": benchmark, "item_id": item_id, "documents": len(held)}
        for (benchmark, item_id), held in sorted(texts.items())
        if more_than is not None and len(held) > more_than
    ]
    return pa.Table.from_pylist(rows, schema=COMMON_ITEMS)


def names_of(common: pa.Table) -> Items:
    """Return the common items by (benchmark, item_id)."""
    return frozenset(
        zip(common["benchmark"].to_pylist(), common["item_id"].to_pylist(), strict=True)
    )
