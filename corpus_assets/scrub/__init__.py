"""Personal data: what it looks like, and where it stands in a text."""

__all__ = ["planner", "recognizers", "settings", "text_hashes", "texts"]
