"""The stages that write key files: a document or address is found in milliseconds, and a removed text
is looked for without reading those that are left."""

from typing import TYPE_CHECKING

from catalog.doors import lazy_exports

if TYPE_CHECKING:
    from corpus_assets.lineage.stage import LINEAGE_KEYS, key_rows
    from corpus_assets.lineage.text_digests import (
        GRAM_WORDS,
        KEPT_ONE_IN,
        MAX_DIGESTS,
        DigestIndex,
        gram_digests,
    )
    from corpus_assets.lineage.text_keys import (
        TEXT_KEYS,
        read_text_keys,
        text_ids,
        text_keys_task,
    )
else:
    __getattr__ = lazy_exports(__name__, __file__)

__all__ = [
    "GRAM_WORDS",
    "KEPT_ONE_IN",
    "LINEAGE_KEYS",
    "MAX_DIGESTS",
    "TEXT_KEYS",
    "DigestIndex",
    "gram_digests",
    "key_rows",
    "read_text_keys",
    "text_ids",
    "text_keys_task",
]
