"""Proof that a version is whole."""

from typing import TYPE_CHECKING

from catalog.doors import lazy_exports

if TYPE_CHECKING:
    from catalog.verify.version import Verified, verify
else:
    __getattr__ = lazy_exports(__name__, __file__)

__all__ = ["Verified", "verify"]
