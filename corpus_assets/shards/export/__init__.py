"""Export a mix as one flat, shuffled stream of samples, in formats that other trainers read."""

__all__ = ["check", "plan", "run"]
