"""Tables that stages leave for each other and no version keeps, declared as those of the lineage are
(`catalog/formats/lineage_tables.py`)."""

from dataclasses import replace

import pyarrow as pa

from catalog.formats.lineage_tables import CLUSTER_MEMBERS, DOC_ID, LANGUAGE, PLACE, TEXT_ID, TIER
from catalog.formats.tables import Column, Table

SELECTION = Table(
    "selection",
    "selection.parquet",
    "What the recipe's rules decide about each document.",
    (
        DOC_ID,
        Column("kept", pa.bool_(), "Whether the document stays."),
        Column(
            "reason",
            pa.string(),
            "The first rule that it fails, in the recipe's order; null when kept.",
        ),
        Column("failed_rules", pa.list_(pa.string()), "All rules that it fails."),
        LANGUAGE,
        TIER,
    ),
    sometimes=(
        Column(
            "labels",
            pa.string(),
            "Labels of its group, as in the group's name; null when dropped.",
        ),
    ),
)

SURVIVOR_MEMBERS = replace(CLUSTER_MEMBERS, name="survivor_members")
"""Clusters of the documents that cutoffs are resolved on."""

SIGNATURES = Table(
    "signatures",
    "signatures.parquet",
    "Each document's shingles. The bands and sketches of the same rows are arrays beside it "
    "(`dedup.signatures`).",
    (DOC_ID, Column("n_shingles", pa.int32(), "Distinct shingles of the text.")),
)

HITS = Table(
    "contamination",
    "hits.parquet",
    "Benchmark items found in documents, before anything is decided.",
    (
        DOC_ID,
        Column("row", pa.int32(), "Its row in the documents of its part."),
        Column("benchmark", pa.string(), "The benchmark that the item is of."),
        Column("item_id", pa.string(), "The item."),
        Column(
            "kind",
            pa.string(),
            "How it was found: `text` by its words, `code` by its tokens with names renamed, "
            "`paraphrase` in other words.",
        ),
        Column(
            "matched",
            pa.int32(),
            "Distinct n-grams found; of a paraphrase, weight of its content words.",
        ),
        Column(
            "total",
            pa.int32(),
            "Distinct n-grams of the item; of a paraphrase, weight of its content words.",
        ),
        Column(
            "similarity",
            pa.float32(),
            "Of the closest edited copy, or of embeddings; null: none.",
        ),
        Column("confirmed", pa.bool_(), "Whether the matched n-grams were compared as text."),
        Column(
            "places",
            pa.list_(PLACE),
            "Characters [start, end) of the extracted text; of an edited copy, all of it.",
        ),
    ),
)

JUDGEMENTS = Table(
    "judgements",
    "judgements.parquet",
    "People's judgements of near misses.",
    (
        TEXT_ID,
        Column("benchmark", pa.string(), "The benchmark that the item is of."),
        Column("item_id", pa.string(), "The item."),
        Column("judgement", pa.string(), "`drop`, `cut` or `keep`."),
    ),
)
