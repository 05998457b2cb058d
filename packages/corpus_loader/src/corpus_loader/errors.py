"""The error of this package."""


class LoaderError(Exception):
    """A manifest, shard or request cannot be used; the message says which, why and what to do."""
