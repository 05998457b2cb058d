"""Cleaning: boilerplate, repeated spans and personal data out of kept texts, on record."""

__all__ = ["clean_text", "line_stages", "losses", "sentence_stage", "span_stages", "stage"]
