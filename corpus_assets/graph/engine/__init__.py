"""Where tasks run: processes of this machine, or whatever implements `Engine`."""

__all__ = ["base", "local", "tries"]
