"""Proof that a version is whole."""

__all__ = ["version"]
