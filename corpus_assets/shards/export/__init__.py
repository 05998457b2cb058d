"""Export a mix as one flat, shuffled stream of samples, in formats that other trainers read."""

from typing import TYPE_CHECKING

from catalog.doors import lazy_exports

if TYPE_CHECKING:
    from corpus_assets.shards.export.check import (
        CheckedExport,
        check_export,
        exported_version,
        removed_documents,
    )
    from corpus_assets.shards.export.plan import make_plan, partial_folder
    from corpus_assets.shards.export.run import WrittenExport, export_version, open_version
else:
    __getattr__ = lazy_exports(__name__, __file__)

__all__ = [
    "CheckedExport",
    "WrittenExport",
    "check_export",
    "export_version",
    "exported_version",
    "make_plan",
    "open_version",
    "partial_folder",
    "removed_documents",
]
