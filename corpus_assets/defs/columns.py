"""What the columns of assets mean, as the UI shows it. docs/tables.md says more."""

import dagster as dg
import pyarrow as pa

ABOUT = {
    "benchmark": "The benchmark that the item is of.",
    "boilerplate_lines": "Lines that were cut because they repeat.",
    "cluster_id": "The cluster's first member, by snapshot and id.",
    "cluster_size": "Members of the cluster, in all snapshots.",
    "confirmed": "Whether the text was compared, not only hashes.",
    "declared_language": "The language that the page declares.",
    "derived_from": "Keys of the documents that a synthetic one was made from.",
    "doc_id": "The document: 16 bytes, a hash of source, snapshot, address and payload.",
    "doc_token_offset": "First of these tokens within the document.",
    "domain": "The corpus domain of its source: web, code, books ...",
    "edits": "Every change of the extracted text, by place.",
    "failed_rules": "All rules that the document fails.",
    "fetched_at": "When it was fetched, ISO 8601 in UTC; empty when unknown.",
    "generator": "What wrote a synthetic document.",
    "host": "The host of its address.",
    "item_id": "The benchmark's item.",
    "kept": "Whether the document stays.",
    "kept_doc_id": "The member that stands for the cluster.",
    "kind": "How it was tied: capture, url, exact or near.",
    "language": "The language that was identified.",
    "length": "How many tokens of the document stand there.",
    "licence": "SPDX id, or unknown.",
    "matched": "N-grams of the item that the document holds.",
    "n_shingles": "Distinct shingles of the text.",
    "offset": "Byte offset of the record in its file, or its line or row.",
    "part": "The file of the snapshot, by number.",
    "places": "Where in the text the item stands.",
    "published_at": "The date that the page declares.",
    "reason": "The first rule that it fails; empty when it is kept.",
    "row": "Its row in the part's documents.",
    "sample": "The sample of the shard.",
    "scrubbed": "Personal data that were replaced, by kind.",
    "similarity": "To the neighbour that tied it in; 1.0 for exact kinds.",
    "sketch": "224 bytes by which near copies are found; empty for a short text.",
    "snapshot": "The snapshot it came with.",
    "text": "The text of the document.",
    "text_id": "First half of the SHA-256 of the NFC text.",
    "tier": "The quality tier; empty when it is dropped.",
    "title": "The page's title.",
    "total": "N-grams of the item.",
    "url_key": "Its address in SURT form, or the record's key.",
}
OF_ASSET = {
    ("contamination", "kind"): "How the item was met: by its n-grams, near misses or meaning.",
    ("contamination", "similarity"): "Of the item and the passage, where they were compared.",
    ("shards", "offset"): "First of these tokens within the sample.",
}


def described_columns(asset: str, schema: pa.Schema) -> dict[str, dg.TableSchema]:
    """Return an asset's columns as Dagster shows them."""
    listed = [
        dg.TableColumn(
            field.name,
            str(field.type),
            OF_ASSET.get((asset, field.name)) or ABOUT.get(field.name),
        )
        for field in schema
    ]
    return {"dagster/column_schema": dg.TableSchema(columns=listed)}
