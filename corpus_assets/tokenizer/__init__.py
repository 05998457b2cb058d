"""The tokenizer: its sample, its training, and the audit of how well it serves."""

__all__ = ["audit", "sample", "scripts", "settings", "stage", "train"]
