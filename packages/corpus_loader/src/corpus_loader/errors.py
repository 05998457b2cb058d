"""Every error this package raises on purpose."""


class LoaderError(Exception):
    """A manifest, shard or request cannot be used; the message says which, why and what to do."""


class FieldError(LoaderError):
    """A field holds what it must not; `place` leads to it from the outermost object."""

    def __init__(self, fault: str, *place: str) -> None:
        super().__init__(f"{'.'.join(place)}: {fault}" if place else fault)
        self.fault = fault
        self.place = place

    def within(self, place: str) -> "FieldError":
        """Return the same error as the object around it sees it."""
        return FieldError(self.fault, place, *self.place)
