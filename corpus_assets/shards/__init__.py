"""Token shards: encode, pack, mix, write, export; `corpus_loader` reads them."""

from typing import TYPE_CHECKING

from catalog.doors import lazy_exports

if TYPE_CHECKING:
    from corpus_assets.shards.export import (
        CheckedExport,
        WrittenExport,
        check_export,
        export_version,
        exported_version,
        make_plan,
        open_version,
        partial_folder,
        removed_documents,
    )
    from corpus_assets.shards.format import token_dtype
    from corpus_assets.shards.mixture import plan_mixture
    from corpus_assets.shards.mixture_check import shares_met
    from corpus_assets.shards.mixture_settings import MixedGroup, MixtureSettings
    from corpus_assets.shards.mixture_table import Mix, MixRow, gathered_rows, mix_of, mixture_rows
    from corpus_assets.shards.route import group_names
    from corpus_assets.shards.settings import (
        END_OF_DOCUMENT,
        NARROW_IDS,
        PAD,
        FillInTheMiddle,
        PackSettings,
    )
    from corpus_assets.shards.stage import SHARD_COUNTS, SHARDS, TOKEN_SLICES, TOKENS
    from corpus_assets.shards.tokenizer_file import unicode_of_bytes
    from corpus_assets.shards.tokens import Encoder, TokenizerInfo, encoder_of, one_thread
else:
    __getattr__ = lazy_exports(__name__, __file__)

__all__ = [
    "END_OF_DOCUMENT",
    "NARROW_IDS",
    "PAD",
    "SHARDS",
    "SHARD_COUNTS",
    "TOKENS",
    "TOKEN_SLICES",
    "CheckedExport",
    "Encoder",
    "FillInTheMiddle",
    "Mix",
    "MixRow",
    "MixedGroup",
    "MixtureSettings",
    "PackSettings",
    "TokenizerInfo",
    "WrittenExport",
    "check_export",
    "encoder_of",
    "export_version",
    "exported_version",
    "gathered_rows",
    "group_names",
    "make_plan",
    "mix_of",
    "mixture_rows",
    "one_thread",
    "open_version",
    "partial_folder",
    "plan_mixture",
    "removed_documents",
    "shares_met",
    "token_dtype",
    "unicode_of_bytes",
]
