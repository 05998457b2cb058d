"""Proof that a version is whole."""
