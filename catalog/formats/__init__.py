"""What lies on disk and what names mean. Shared with the pipeline; imports no other room."""

__all__ = [
    "canonical",
    "chat_markers",
    "ids",
    "key_files",
    "line_kinds",
    "lineage_tables",
    "names",
    "order_book",
    "places",
    "private_files",
    "s3",
    "sketches",
    "store",
    "tables",
    "temporary_files",
    "token_order",
    "token_text",
    "urls",
]
