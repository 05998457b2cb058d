"""Evidence: small models trained at matched compute say whether a version is better."""

__all__ = ["gate", "home", "mixtures", "page", "run"]
