"""What all rooms need: declarations, tasks, the store, schemas, identity, errors, the home."""

__all__ = [
    "decisions",
    "display",
    "earlier",
    "errors",
    "exchange",
    "file_copies",
    "files",
    "home",
    "identity",
    "lock",
    "packs",
    "planner",
    "progress",
    "schemas",
    "scratch",
    "stage",
    "store",
    "store_s3",
    "task",
    "urls",
]
