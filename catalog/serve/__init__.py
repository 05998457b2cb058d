"""The catalog as pages of a browser: documents, versions, takedowns, tokens. Read-only."""

from typing import TYPE_CHECKING

from catalog.doors import lazy_exports

if TYPE_CHECKING:
    from catalog.serve.app import LOOPBACK, make_app
else:
    __getattr__ = lazy_exports(__name__, __file__)

__all__ = ["LOOPBACK", "make_app"]
