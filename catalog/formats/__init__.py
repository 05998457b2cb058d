"""What lies on disk and what names mean. Shared with the pipeline; imports no other room."""

__all__ = [
    "canonical",
    "ids",
    "key_files",
    "manifest",
    "order_book",
    "places",
    "s3",
    "shards",
    "store",
    "urls",
]
