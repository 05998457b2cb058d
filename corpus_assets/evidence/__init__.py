"""Evidence: small models trained at matched compute say whether a version is better."""

__all__ = ["canaries", "gate", "home", "mixtures", "pack", "page", "run"]
