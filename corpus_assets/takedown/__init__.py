"""Takedowns carried out: versions rebuilt without what was ordered out, proof, certificate."""

__all__ = ["residue", "run"]
