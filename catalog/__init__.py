"""The SQL lineage catalog: which version holds what, where each token came from, and proof of it.

Two layers, one face. The *registry* (SQLite or PostgreSQL) knows sources, artifacts, versions,
shards and takedowns: thousands to a few million rows. The *lineage tables* (Parquet files that
the registry lists, read by DuckDB) hold a row a document: billions belong there. This package
imports neither Dagster nor `corpus_assets`; it reads what the pipeline registered.

    cli/       the `catalog` command
    serve/     the catalog's pages
    ask/       answers about versions, documents and tokens
    verify/    proof that a version is whole
    takedown/  requests, what they touch, certificates
    lineage/   the lineage tables and their key files
    db/        the registry: rows, models, migrations, methods
    pages/     how pages are made: templates, charts, the look of all of them
    formats/   what lies on disk and what names mean, shared with the pipeline
    answers.py what a command answers: a dataclass, from which text and JSON derive
    copies.py  what commands write beside the store's results
    doors.py   how a package exports names without importing its modules
"""

__all__ = ["answers", "ask", "cli", "copies", "db", "doors", "errors", "figures", "formats", "lineage", "pages",
           "stopping", "takedown"]  # fmt: skip
