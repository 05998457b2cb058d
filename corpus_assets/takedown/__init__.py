"""Takedowns carried out: versions rebuilt without what was ordered out, proof, certificate."""

from typing import TYPE_CHECKING

from catalog.doors import lazy_exports

if TYPE_CHECKING:
    from corpus_assets.takedown.residue import search_again
    from corpus_assets.takedown.run import (
        CERTIFICATES,
        MORE_CAME_IN,
        Takedowns,
        open_takedowns,
        release_dead_claims,
        takedown_command,
    )
else:
    __getattr__ = lazy_exports(__name__, __file__)

__all__ = [
    "CERTIFICATES",
    "MORE_CAME_IN",
    "Takedowns",
    "open_takedowns",
    "release_dead_claims",
    "search_again",
    "takedown_command",
]
