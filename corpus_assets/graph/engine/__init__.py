"""Where tasks run: processes of this machine, or a Ray cluster."""

__all__ = ["base", "choice", "tries"]
