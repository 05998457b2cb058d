"""The lineage tables: every column once, with its type and what it means.

A new column is one line here and the code that fills it: files, views, UI and reference page follow.
`docs/reference/tables.md` is written by `docs/make_tables.py`.
"""

from collections.abc import Mapping

import pyarrow as pa

from catalog.formats.tables import ID, Column, Table

DOC_ID = Column(
    "doc_id", ID, "The document: a hash of its source, snapshot, address or key, and payload."
)
SNAPSHOT = Column("snapshot", pa.string(), "The snapshot that delivered it.")
PART = Column("part", pa.int32(), "Number of its file in the snapshot.")
SHARD = Column("shard", pa.string(), "The shard, as GROUP/shard_00000.")
OFFSET = Column(
    "offset",
    pa.int64(),
    "Where the record starts in its file: a byte (WARC, WET), a line counted from 1 (JSONL), a row "
    "from 0 (Parquet), or the file's number in its part from 0 (text, code).",
)
URL_KEY = Column("url_key", pa.string(), "The URL in SURT form, or SOURCE:KEY where there is none.")
HOST = Column("host", pa.string(), "The host of the URL.")
FETCHED_AT = Column(
    "fetched_at", pa.string(), "When it was fetched, ISO 8601 in UTC; empty when unknown."
)
LICENCE = Column("licence", pa.string(), "SPDX id or expression, or `unknown`.")
DOMAIN = Column("domain", pa.string(), "Corpus domain of the source: web, code, books ...")
LANGUAGE = Column("language", pa.string(), "The language that was identified.")
TIER = Column("tier", pa.string(), "The quality tier; null when it was dropped.")
TEXT_ID = Column("text_id", ID, "First half of the SHA-256 of the extracted text in NFC.")

EDIT = pa.struct(
    [
        ("start", pa.int32()),
        ("end", pa.int32()),
        ("new_length", pa.int32()),
        ("kind", pa.string()),
    ]
)
PLACE = pa.struct([("start", pa.int32()), ("end", pa.int32())])

RECORDS = Table(
    "records",
    "records.parquet",
    "Every record that came in, kept or not, without text: the ingest ledger.",
    (
        DOC_ID,
        Column("source", pa.string(), "The source that the snapshot is of."),
        SNAPSHOT,
        PART,
        Column("url", pa.string(), "The URL as the source writes it; null where it has keys."),
        URL_KEY,
        HOST,
        Column("file", pa.string(), "The file inside the source; never a path of a machine."),
        OFFSET,
        Column("length", pa.int64(), "Stored bytes; 0 where the format does not say."),
        FETCHED_AT,
        Column(
            "payload_digest",
            pa.string(),
            "`blake3:` and the hash of the payload, or the digest that the archive declares.",
        ),
        Column(
            "refers_to",
            pa.string(),
            "Id of the WARC record that a WET record was made from; null for others.",
        ),
        Column("content_type", pa.string(), "The media type that the source declares."),
        LICENCE,
        Column(
            "preference",
            pa.string(),
            "The publisher's preference about training: `allow`, `disallow` or `unknown`; `unknown` "
            "too where an earlier gate refused the record.",
        ),
        Column(
            "preference_source",
            pa.string(),
            "Every statement and where it was found, most restrictive first, `; ` between: "
            "`file robots.txt Content-Signal: ai-train=no`, `header Content-Usage: train-ai=n`, "
            "`meta noai` ...; null: none.",
        ),
        Column(
            "reason",
            pa.string(),
            "Why no text came out of it; null when it became a document.",
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
            "The date that the page declares, YYYY-MM-DD; null when it declares none.",
        ),
        LICENCE,
        Column("title", pa.string(), "The page's title."),
        Column("declared_language", pa.string(), "The language that the page declares."),
        Column(
            "derived_from",
            pa.list_(pa.string()),
            "`url_key` of each parent; synthetic text only.",
        ),
        Column("generator", pa.string(), "What wrote a synthetic text."),
        TEXT_ID,
        Column(
            "sketch",
            pa.binary(224),
            "112 numbers for finding near copies; null for a short text.",
        ),
        Column("text", pa.large_string(), "The text as it was extracted."),
    ),
    sometimes=(
        Column(
            "page_type",
            pa.string(),
            "Article, forum, product ..., with `documents.extraction.page_type`.",
        ),
        Column(
            "labels",
            pa.struct([]),
            "A string or float64 member for each label, where the source maps `fields.labels` or "
            "`fields.scores`.",
        ),
    ),
    placed=(SNAPSHOT, PART),
    is_open=True,
)

SIGNALS = Table(
    "signals",
    "signals.parquet",
    "What was measured of each document.",
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
    "The outcome of every record: exactly one row each.",
    (
        DOC_ID,
        SNAPSHOT,
        PART,
        OFFSET,
        Column("kept", pa.bool_(), "Whether it is in the version."),
        Column("stage", pa.string(), "The stage that dropped it; null when kept."),
        Column("reason", pa.string(), "Why that stage dropped it; null when kept."),
        Column("detail", pa.string(), "More about the reason; never text of the document."),
        Column(
            "failed_rules",
            pa.list_(pa.string()),
            "All rules of the selection that it fails, in their order.",
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
    "Members of clusters of two or more; a document in none is not listed.",
    (
        DOC_ID,
        SNAPSHOT,
        PART,
        Column("row", pa.int32(), "Its row in the documents of its part."),
        Column("cluster_id", ID, "The first member of the cluster, by snapshot and id."),
        Column(
            "kind",
            pa.string(),
            "Its closest tie to the cluster: `capture`, `url`, `exact` or `near`.",
        ),
        Column("kept", pa.bool_(), "Whether it is the member that is kept."),
        Column("kept_doc_id", ID, "The member that is kept."),
        Column(
            "similarity",
            pa.float32(),
            "To the neighbour that tied it in; 1.0 for exact kinds.",
        ),
        Column("cluster_size", pa.int32(), "Members of the cluster, in all snapshots."),
    ),
)

FINAL_TEXT = Table(
    "final_text",
    "final.parquet",
    "Kept documents, with the text that was tokenized.",
    (
        DOC_ID,
        DOMAIN,
        TIER,
        LANGUAGE,
        Column("boilerplate_lines", pa.int32(), "Lines that were removed because they repeat."),
        Column(
            "scrubbed",
            pa.map_(pa.string(), pa.int32()),
            "Personal data by kind: how many were replaced, never what.",
        ),
        Column(
            "edits",
            pa.list_(EDIT),
            "Characters [start, end) of the extracted text became `new_length` characters; `kind` is "
            "`boilerplate_line`, `repeated_span`, `benchmark_item`, `sentence:CLASSIFIER`, "
            "`text_step`, or the kind of personal data as in `scrubbed`.",
        ),
        Column("text", pa.large_string(), "The text that was tokenized."),
    ),
    sometimes=(
        Column(
            "labels",
            pa.string(),
            "Labels of the document's group (`language=de/topic=math`), or empty, where the recipe "
            "divides groups by labels.",
        ),
    ),
    placed=(SNAPSHOT, PART),
)

SPANS = Table(
    "spans",
    "*.spans.parquet",
    "Which document each run of tokens in a shard is from, by sample and offset.",
    (
        Column("sample", pa.int32(), "Number of the sample in the shard."),
        Column("offset", pa.int32(), "Place of the first token in the sample."),
        Column("length", pa.int32(), "Number of tokens."),
        DOC_ID,
        Column(
            "doc_token_offset", pa.int32(), "Place of the first token in the document's tokens."
        ),
    ),
    placed=(SNAPSHOT, SHARD),
)

BENCHMARK_HITS = Table(
    "benchmark_hits",
    "benchmark_hits.parquet",
    "Benchmark items found in documents. What became of a document is its decision: an earlier stage "
    "may have dropped it.",
    (
        DOC_ID,
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
            "Distinct n-grams of the item that the document has; of a paraphrase, weight of its "
            "content words.",
        ),
        Column(
            "total",
            pa.int32(),
            "Distinct n-grams of the item; of a paraphrase, weight of its content words.",
        ),
        Column("share", pa.float64(), "`matched / total`."),
        Column(
            "similarity",
            pa.float32(),
            "Of the closest edited copy, 1 - edited words / words of the item; of a paraphrase, the "
            "cosine of embeddings; null where none is close.",
        ),
        Column(
            "verdict",
            pa.string(),
            "`drop`, `cut`, `held_back`, `common`, `near_miss`, or `keep` where it was judged no leak.",
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
