"""The extractors, and the process they run in. It starts often, so this package imports nothing."""

__all__ = ["engines", "page_child"]
