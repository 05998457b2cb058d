"""The lineage tables: every column once, with its type and what it means.

A new column is one line here and the code that fills it: files, views, UI and reference page follow.
`docs/reference/tables.md` is written by `docs/make_tables.py`.
"""

from collections.abc import Mapping

import pyarrow as pa

from catalog.formats.line_kinds import LINE_KINDS
from catalog.formats.tables import ID, Column, Table

DOC_ID = Column("doc_id", ID, "Document id: a hash of source, snapshot, URL or key, and payload.")
SNAPSHOT = Column("snapshot", pa.string(), "The snapshot that delivered it.")
PART = Column("part", pa.int32(), "Number of its file in the snapshot.")
SHARD = Column("shard", pa.string(), "The shard, as GROUP/shard_00000.")
OFFSET = Column(
    "offset",
    pa.int64(),
    "Start of the record in its file: a byte (WARC, WET), a line from 1 (JSONL), a "
    "row from 0 (Parquet), or the number of the file in its part from 0 (text, code).",
)
URL_KEY = Column("url_key", pa.string(), "The URL in SURT form, or SOURCE:KEY without a URL.")
HOST = Column("host", pa.string(), "The host of the URL.")
FETCHED_AT = Column("fetched_at", pa.string(), "Fetch time, ISO 8601 in UTC; empty if unknown.")
LICENCE = Column("licence", pa.string(), "SPDX id or expression, or `unknown`.")
DOMAIN = Column("domain", pa.string(), "Corpus domain of the source: web, code, books ...")
LANGUAGE = Column("language", pa.string(), "The identified language.")
TIER = Column("tier", pa.string(), "The quality tier; null if dropped.")
TEXT_ID = Column("text_id", ID, "First half of the SHA-256 of the extracted text in NFC.")

EDIT = pa.struct(
    [
        ("start", pa.int32()),
        ("end", pa.int32()),
        ("new_length", pa.int32()),
        ("kind", pa.string()),
    ]
)
RECALL = pa.struct([("type", pa.string()), ("lines", pa.int32()), ("found", pa.int32())])
PLACE = pa.struct([("start", pa.int32()), ("end", pa.int32())])

LINE_KINDS_OF_TEXT = Column(
    "line_kinds",
    pa.list_(pa.uint8()),
    "What each line of `text` is, blank ones too, as a number; [lines](#lines) has the names. Null: "
    "the extractor does not say.",
)

RECORDS = Table(
    "records",
    "records.parquet",
    "Every ingested record, kept or not, without text.",
    (
        DOC_ID,
        Column("source", pa.string(), "The source of the snapshot."),
        SNAPSHOT,
        PART,
        Column("url", pa.string(), "The URL as in the source; null for records with keys."),
        URL_KEY,
        HOST,
        Column("file", pa.string(), "The file within the source; never a local path."),
        OFFSET,
        Column("length", pa.int64(), "Stored bytes; 0 if the format does not state it."),
        FETCHED_AT,
        Column(
            "payload_digest",
            pa.string(),
            "`blake3:` and the hash of the payload, or the digest declared by the archive.",
        ),
        Column(
            "refers_to",
            pa.string(),
            "WET: id of the original WARC record; else null.",
        ),
        Column("content_type", pa.string(), "The declared media type."),
        LICENCE,
        Column(
            "preference",
            pa.string(),
            "The publisher's training preference: `allow`, `disallow` or `unknown` (also if "
            "an earlier gate refused the record).",
        ),
        Column(
            "preference_source",
            pa.string(),
            "The statements and where they were found, most restrictive first, separated by "
            "`; `: `file robots.txt Content-Signal: ai-train=no`, `header Content-Usage: "
            "train-ai=n`, `meta noai` ...; null: none.",
        ),
        Column(
            "reason",
            pa.string(),
            "Why it gave no text; null for documents.",
        ),
        Column("detail", pa.string(), "More about the reason; never text of the document."),
    ),
)

DOCUMENTS = Table(
    "documents",
    "documents.parquet",
    "Records that gave text, with their extracted text.",
    (
        DOC_ID,
        URL_KEY,
        HOST,
        DOMAIN,
        OFFSET,
        FETCHED_AT,
        Column(
            "published_at",
            pa.string(),
            "The declared publication date, YYYY-MM-DD, or null.",
        ),
        LICENCE,
        Column("title", pa.string(), "The page's title."),
        Column("declared_language", pa.string(), "The declared language."),
        Column(
            "derived_from",
            pa.list_(pa.string()),
            "Synthetic text: `url_key` of each parent.",
        ),
        Column("generator", pa.string(), "Synthetic text: what wrote it."),
        TEXT_ID,
        Column(
            "sketch",
            pa.binary(224),
            "112 numbers for finding near copies; null for a short text.",
        ),
        Column("text", pa.large_string(), "The extracted text."),
        LINE_KINDS_OF_TEXT,
        Column(
            "line_places",
            pa.list_(pa.uint16()),
            "Hash of the place of each line of `text` in the page's tree of elements: equal at one place "
            "of a template. An odd number: in the same element as the line before. 0 or null: unknown.",
        ),
    ),
    sometimes=(
        Column(
            "page_type",
            pa.string(),
            "Article, forum, product ..., with `documents.extraction.page_type`.",
        ),
        Column(
            "declared_recall",
            pa.list_(RECALL),
            "By type of schema.org: lines that the page declares in its JSON-LD, and how many of them "
            "the text has, with `engine: blocks`. Null: it declares no text.",
        ),
        Column(
            "labels",
            pa.struct([]),
            "A string or float64 member per label, with `fields.labels` or `fields.scores` of "
            "the source.",
        ),
    ),
    placed=(SNAPSHOT, PART),
    is_open=True,
)

SIGNALS = Table(
    "signals",
    "signals.parquet",
    "The signals of each document.",
    (
        DOC_ID,
        Column(
            "n_chars",
            pa.int64(),
            "Characters of the extracted text. The other columns are those of the recipe's signal "
            "families.",
        ),
    ),
    placed=(SNAPSHOT, PART),
    is_open=True,
)

DECISIONS = Table(
    "decisions",
    "decisions.parquet",
    "The outcome of every record, one row each.",
    (
        DOC_ID,
        SNAPSHOT,
        PART,
        OFFSET,
        Column("kept", pa.bool_(), "Whether it is in the version."),
        Column("stage", pa.string(), "The stage that dropped it; null if kept."),
        Column("reason", pa.string(), "Why that stage dropped it; null if kept."),
        Column("detail", pa.string(), "More about the reason; never text of the document."),
        Column(
            "failed_rules",
            pa.list_(pa.string()),
            "All rules of `selection` that it fails, in order.",
        ),
        DOMAIN,
        LANGUAGE,
        TIER,
    ),
)

DROPPING_STAGES = ("documents", "selection", "clusters", "contamination", "clean_text")
"""The values of `stage`, in the order of the graph."""

CLUSTER_MEMBERS = Table(
    "cluster_members",
    "members-*.parquet",
    "Members of clusters of two or more documents.",
    (
        DOC_ID,
        SNAPSHOT,
        PART,
        Column("row", pa.int32(), "Its row among the documents of its part."),
        Column("cluster_id", ID, "The first member of the cluster, by snapshot and id."),
        Column(
            "kind",
            pa.string(),
            "Its closest relation to the cluster: `capture`, `url`, `exact` or `near`.",
        ),
        Column("kept", pa.bool_(), "Whether it is the kept member."),
        Column("kept_doc_id", ID, "The kept member."),
        Column(
            "similarity",
            pa.float32(),
            "Similarity to its closest neighbour; 1.0 for exact kinds.",
        ),
        Column("cluster_size", pa.int32(), "Members of the cluster in all snapshots."),
    ),
)

FINAL_TEXT = Table(
    "final_text",
    "final.parquet",
    "Kept documents with the tokenized text.",
    (
        DOC_ID,
        DOMAIN,
        TIER,
        LANGUAGE,
        Column("boilerplate_lines", pa.int32(), "Number of removed boilerplate lines."),
        Column(
            "scrubbed",
            pa.map_(pa.string(), pa.int32()),
            "Number of replacements of personal data, by kind.",
        ),
        Column(
            "edits",
            pa.list_(EDIT),
            "Characters [start, end) of the extracted text became `new_length` characters; "
            "`kind` is `boilerplate_line`, `repeated_span`, `benchmark_item`, "
            "`sentence:CLASSIFIER`, `text_step`, `encoding`, or a kind of personal data.",
        ),
        Column("text", pa.large_string(), "The tokenized text."),
        LINE_KINDS_OF_TEXT,
    ),
    sometimes=(
        Column(
            "labels",
            pa.string(),
            "Labels of the document's group (`language=de/topic=math`) or empty, with "
            "`shards.group_by`.",
        ),
    ),
    placed=(SNAPSHOT, PART),
)

SPANS = Table(
    "spans",
    "*.spans.parquet",
    "Which document each run of tokens in a shard comes from.",
    (
        Column("sample", pa.int32(), "Number of the sample in the shard."),
        Column("offset", pa.int32(), "Position of the first token in the sample."),
        Column("length", pa.int32(), "Number of tokens."),
        DOC_ID,
        Column("doc_token_offset", pa.int32(), "Position of the first token in the document."),
    ),
    placed=(SNAPSHOT, SHARD),
)

BENCHMARK_HITS = Table(
    "benchmark_hits",
    "benchmark_hits.parquet",
    "Benchmark items found in documents. `decisions` has the outcome of a document.",
    (
        DOC_ID,
        Column("benchmark", pa.string(), "The benchmark."),
        Column("item_id", pa.string(), "The item."),
        Column(
            "kind",
            pa.string(),
            "How it was found: `text` by words, `code` by tokens, `paraphrase` in other words.",
        ),
        Column(
            "matched",
            pa.int32(),
            "Distinct n-grams of the item in the document; for a paraphrase, weight of its "
            "content words.",
        ),
        Column(
            "total",
            pa.int32(),
            "Distinct n-grams of the item; for a paraphrase, weight of its content words.",
        ),
        Column("share", pa.float64(), "`matched / total`."),
        Column(
            "similarity",
            pa.float32(),
            "For an edited copy, 1 - edited words / words of the item; for a paraphrase, the "
            "cosine of embeddings; null if none is close.",
        ),
        Column(
            "verdict",
            pa.string(),
            "`drop`, `cut`, `held_back`, `common`, `near_miss`, or `keep` (judged not to be a "
            "leak).",
        ),
        Column("places", pa.list_(PLACE), "Characters [start, end) of the extracted text."),
    ),
    placed=(SNAPSHOT, PART),
)

LINEAGE_TABLES: Mapping[str, Table] = {
    table.name: table
    for table in (
        RECORDS,
        DECISIONS,
        CLUSTER_MEMBERS,
        SIGNALS,
        DOCUMENTS,
        FINAL_TEXT,
        SPANS,
        BENCHMARK_HITS,
    )
}
"""All of them by name."""

LINES = Table(
    "lines",
    DOCUMENTS.file,
    "The lines of extracted texts, with what each is: one row per line that is not blank.",
    (
        DOC_ID,
        SNAPSHOT,
        PART,
        OFFSET,
        Column("line", pa.int32(), "Its number in the text, from 1."),
        Column(
            "kind",
            pa.string(),
            f"{', '.join(f'`{name}`' for name in LINE_KINDS[:-1])} or `{LINE_KINDS[-1]}`: the first "
            "line of a post or comment.",
        ),
        Column("text", pa.string(), "The line."),
    ),
)
"""A view of DOCUMENTS; it has no files."""
