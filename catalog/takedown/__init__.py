"""Takedowns: what a request means, what it touches, and the proof that it was done."""

__all__ = ["book", "certificates", "import_file", "left", "requests", "signing", "target"]
