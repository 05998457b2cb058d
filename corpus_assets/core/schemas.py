"""The vocabulary: what a document is at each stage, as Arrow schemas, and what tiers of equal shares
are called. No stage's logic lives here.

A part's tables are row-aligned where it says so: row i of `SIGNALS`, `SELECTION` and
`SIGNATURES` is row i of the same part's `DOCUMENTS`. Row order is (doc_id, offset), so a
capture repeated inside a snapshot keeps two rows with one doc_id, and each gets its own fate.
"""

import pyarrow as pa

DOC_ID = pa.binary(16)

RECORDS = pa.schema(
    [
        ("doc_id", DOC_ID),
        ("source", pa.string()),
        ("snapshot", pa.string()),
        ("part", pa.int32()),
        ("url", pa.string()),  # null where the source has record keys instead
        ("url_key", pa.string()),  # SURT form, or the record key
        ("host", pa.string()),
        ("file", pa.string()),  # name inside the source, never a machine path
        ("offset", pa.int64()),  # byte offset of the record (or line, or row number) in the file
        ("length", pa.int64()),  # stored length in bytes; 0 where the format has none
        ("fetched_at", pa.string()),  # ISO 8601 UTC, empty when unknown
        ("payload_digest", pa.string()),
        ("refers_to", pa.string()),  # id of the WARC record that a WET record was made from
        ("content_type", pa.string()),
        ("licence", pa.string()),  # SPDX id or "unknown"
        ("preference", pa.string()),  # about training: allow, disallow or unknown
        ("preference_source", pa.string()),  # where it was said, in which words; null: nowhere
        ("reason", pa.string()),  # why no text came out of it; null when it became a document
        ("detail", pa.string()),  # a word more about the reason; never text of the document
    ]
)
"""Every record that a part was given, kept or not, without text: the ingest ledger."""

DOCUMENTS = pa.schema(
    [
        ("doc_id", DOC_ID),
        ("url_key", pa.string()),
        ("host", pa.string()),
        ("domain", pa.string()),  # corpus domain of the source: web, code, books ...
        ("offset", pa.int64()),
        ("fetched_at", pa.string()),
        ("published_at", pa.string()),  # YYYY-MM-DD as the page declares it; null when it does not
        ("licence", pa.string()),
        ("title", pa.string()),
        ("declared_language", pa.string()),
        ("derived_from", pa.list_(pa.string())),  # url_key of each parent, synthetic text only
        ("generator", pa.string()),
        ("text_id", pa.binary(16)),  # first half of SHA-256 of the NFC text in UTF-8
        ("sketch", pa.binary(224)),  # for near copies (sources.sketch); null for a short text
        ("text", pa.large_string()),
    ]
)
"""Records that became documents, with their extracted text. Those of a source that gives labels
have one more column, a struct of them."""

SOURCE_LABELS = "labels"

PAGE_TYPE = pa.field("page_type", pa.string())
"""A column of DOCUMENTS where a recipe's extraction notes the type of pages: article, forum ..."""

SELECTION = pa.schema(
    [
        ("doc_id", DOC_ID),
        ("kept", pa.bool_()),
        ("reason", pa.string()),  # first failing rule in recipe order, null when kept
        ("failed_rules", pa.list_(pa.string())),  # all failing rules
        ("language", pa.string()),
        ("tier", pa.string()),  # null when dropped
    ]
)

LABELS = pa.field("labels", pa.string())
"""A column of SELECTION (null when dropped) and of FINAL_TEXT where a recipe divides groups by
more than domain and tier: `language=de/topic=math`, as in the group's name, or empty."""

SIGNATURES = pa.schema(
    [
        ("doc_id", DOC_ID),
        ("n_shingles", pa.int32()),
    ]
)
"""The bands and sketches of the same rows are arrays beside it (`dedup.signatures`)."""

CLUSTER_MEMBERS = pa.schema(
    [
        ("doc_id", DOC_ID),
        ("snapshot", pa.string()),
        ("part", pa.int32()),
        ("row", pa.int32()),  # row in the part's DOCUMENTS table
        ("cluster_id", DOC_ID),  # its first member by (snapshot rank, doc_id)
        ("kind", pa.string()),  # capture, url, exact or near: the closest tie to the cluster
        ("kept", pa.bool_()),
        ("kept_doc_id", DOC_ID),  # who stands for this cluster
        ("similarity", pa.float32()),  # to the neighbour that tied it in; 1.0 for exact kinds
        ("cluster_size", pa.int32()),
    ]
)
"""Members of clusters of two or more; a document in none is not listed."""

PLACE = pa.struct([("start", pa.int32()), ("end", pa.int32())])
"""Characters [start, end) of the extracted text."""

HITS = pa.schema(
    [
        ("doc_id", DOC_ID),
        ("row", pa.int32()),
        ("benchmark", pa.string()),
        ("item_id", pa.string()),
        # text: by its words; code: by its tokens, names renamed; paraphrase: in other words
        ("kind", pa.string()),
        ("matched", pa.int32()),  # distinct n-grams found; of a paraphrase, weight of its words
        ("total", pa.int32()),  # distinct n-grams of the item, or weight of its words
        ("similarity", pa.float32()),  # of the closest edited copy, or of vectors; null: none
        ("confirmed", pa.bool_()),  # the matched n-grams were compared as text
        ("places", pa.list_(PLACE)),  # where they stand; of an edited copy, where that stands
    ]
)

BENCHMARK_HITS = pa.schema(
    [
        ("doc_id", DOC_ID),
        ("benchmark", pa.string()),
        ("item_id", pa.string()),
        ("kind", pa.string()),
        ("matched", pa.int32()),
        ("total", pa.int32()),
        ("share", pa.float64()),  # matched / total
        ("similarity", pa.float32()),
        ("verdict", pa.string()),  # drop, cut, held_back, common, near_miss; keep: judged no leak
        ("places", pa.list_(PLACE)),
    ]
)
"""Benchmark items found in documents, and what follows; what became of a document is in its
decision, since an earlier stage may have dropped it."""

JUDGEMENTS = pa.schema(
    [
        ("text_id", pa.binary(16)),
        ("benchmark", pa.string()),
        ("item_id", pa.string()),
        ("judgement", pa.string()),  # drop, cut or keep
    ]
)
"""What people said about near misses."""

EDIT = pa.struct(
    [
        ("start", pa.int32()),
        ("end", pa.int32()),
        ("new_length", pa.int32()),
        # boilerplate_line, repeated_span, benchmark_item, sentence:CLASSIFIER, text_step, or the
        # kind of personal data, as in `scrubbed`
        ("kind", pa.string()),
    ]
)
"""Characters [start, end) of the extracted text were replaced by `new_length` characters."""

FINAL_TEXT = pa.schema(
    [
        ("doc_id", DOC_ID),
        ("domain", pa.string()),
        ("tier", pa.string()),
        ("language", pa.string()),
        ("boilerplate_lines", pa.int32()),
        (
            "scrubbed",
            pa.map_(pa.string(), pa.int32()),
        ),  # personal data by kind: how often, never what
        ("edits", pa.list_(EDIT)),
        ("text", pa.large_string()),
    ]
)

DECISIONS = pa.schema(
    [
        ("doc_id", DOC_ID),
        ("snapshot", pa.string()),
        ("part", pa.int32()),
        ("offset", pa.int64()),
        ("kept", pa.bool_()),
        ("stage", pa.string()),  # the stage that dropped it; null when kept
        ("reason", pa.string()),
        ("detail", pa.string()),
        ("failed_rules", pa.list_(pa.string())),
        ("domain", pa.string()),
        ("language", pa.string()),
        ("tier", pa.string()),
    ]
)
"""The fate of every ingested record: exactly one row each."""

SPANS = pa.schema(
    [
        ("sample", pa.int32()),
        ("offset", pa.int32()),  # first token's place in the sample
        ("length", pa.int32()),
        ("doc_id", DOC_ID),
        ("doc_token_offset", pa.int32()),  # first token's place in the document's tokens
    ]
)


def bucket_names(n: int) -> tuple[str, ...]:
    """Return the tiers of n buckets, best first: `q20` to `q01`."""
    width = len(str(n))
    return tuple(f"q{number:0{width}d}" for number in range(n, 0, -1))
