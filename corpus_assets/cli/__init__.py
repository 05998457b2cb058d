"""The `corpus` command, one file a group of commands."""

__all__ = ["main"]
