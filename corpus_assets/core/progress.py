"""How a build tells a person what it is doing. The pipeline only knows this protocol."""

from typing import Protocol


class Progress(Protocol):
    def started(self, asset: str, snapshot: str | None, parts: int) -> None: ...

    def advanced(self, asset: str, snapshot: str | None, documents: int, cached: bool) -> None:
        """One part of the asset is done; `documents` went in."""
        ...

    def finished(self, asset: str, snapshot: str | None, cached: int, ran: int) -> None:
        """The asset is done: so many parts were found in the store, so many were run."""
        ...

    def log(self, line: str) -> None:
        """Something a person should know: whom the build waits for, why it begins again."""
        ...


class Silent:
    """Says nothing."""

    def started(self, asset: str, snapshot: str | None, parts: int) -> None:
        return

    def advanced(self, asset: str, snapshot: str | None, documents: int, cached: bool) -> None:
        return

    def finished(self, asset: str, snapshot: str | None, cached: int, ran: int) -> None:
        return

    def log(self, line: str) -> None:
        return
