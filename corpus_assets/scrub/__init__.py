"""Personal data: what it looks like, and where it stands in a text."""
