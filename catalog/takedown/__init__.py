"""Takedowns: what a request means, what it touches, and the proof that it was done."""

__all__ = ["certificates", "import_file", "left", "requests", "target"]
