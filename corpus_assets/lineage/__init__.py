"""The stage that writes key files, so that a document or address is found in milliseconds."""

from typing import TYPE_CHECKING

from catalog.doors import lazy_exports

if TYPE_CHECKING:
    from corpus_assets.lineage.stage import LINEAGE_KEYS, key_rows
else:
    __getattr__ = lazy_exports(__name__, __file__)

__all__ = ["LINEAGE_KEYS", "key_rows"]
