"""The SQL lineage catalog: which version holds what, where each token came from, and proof of it.

Two layers, one face. The *registry* (SQLite or PostgreSQL) knows sources, artifacts, versions,
shards and takedowns: thousands to a few million rows. The *lineage tables* (Parquet files that
the registry lists, read by DuckDB) hold a row a document: billions belong there. This package
imports neither Dagster nor `corpus_assets`; it reads what the pipeline registered.
"""
