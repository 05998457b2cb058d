"""The vocabulary: what a document is at each stage, as the Arrow schemas of the declared tables.
No stage's logic lives here.

A part's tables are row-aligned where it says so: row i of `SIGNALS`, `SELECTION` and
`SIGNATURES` is row i of the same part's `DOCUMENTS`. Row order is (doc_id, offset), so a
capture repeated inside a snapshot keeps two rows with one doc_id, and each gets its own outcome.
"""

from catalog.formats import lineage_tables
from catalog.formats.tables import ID
from corpus_assets.core import tables

DOC_ID = ID

RECORDS = lineage_tables.RECORDS.schema
DOCUMENTS = lineage_tables.DOCUMENTS.schema
SIGNALS = lineage_tables.SIGNALS.schema
CLUSTER_MEMBERS = lineage_tables.CLUSTER_MEMBERS.schema
BENCHMARK_HITS = lineage_tables.BENCHMARK_HITS.schema
FINAL_TEXT = lineage_tables.FINAL_TEXT.schema
DECISIONS = lineage_tables.DECISIONS.schema
SPANS = lineage_tables.SPANS.schema

SELECTION = tables.SELECTION.schema
SIGNATURES = tables.SIGNATURES.schema
HITS = tables.HITS.schema
JUDGEMENTS = tables.JUDGEMENTS.schema

SOURCE_LABELS = lineage_tables.DOCUMENTS.column("labels").name
DECLARED_RECALL = lineage_tables.DOCUMENTS.column("declared_recall").field
PAGE_TYPE = lineage_tables.DOCUMENTS.column("page_type").field
LABELS = lineage_tables.FINAL_TEXT.column("labels").field
"""Of SELECTION too, where it is null when dropped."""
