"""The tokenizer: its sample, its training, and the audit of how well it serves."""

from typing import TYPE_CHECKING

from catalog.doors import lazy_exports

if TYPE_CHECKING:
    from corpus_assets.tokenizer.audit import (
        Audit,
        Passage,
        Subject,
        TrainingFacts,
        audit_tokenizer,
        judged,
        measure_tokenizer,
    )
    from corpus_assets.tokenizer.sample import rows_of
    from corpus_assets.tokenizer.scripts import own_scripts
    from corpus_assets.tokenizer.settings import (
        MIN_SCRIPT_SHARE,
        AuditSettings,
        TokenizerEntry,
        TokenizerSettings,
    )
    from corpus_assets.tokenizer.stage import AMOUNTS, DRAW, SAMPLE, TOKENIZER, audit_of
    from corpus_assets.tokenizer.train import name_slots, train_tokenizer
else:
    __getattr__ = lazy_exports(__name__, __file__)

__all__ = [
    "AMOUNTS",
    "DRAW",
    "MIN_SCRIPT_SHARE",
    "SAMPLE",
    "TOKENIZER",
    "Audit",
    "AuditSettings",
    "Passage",
    "Subject",
    "TokenizerEntry",
    "TokenizerSettings",
    "TrainingFacts",
    "audit_of",
    "audit_tokenizer",
    "judged",
    "measure_tokenizer",
    "name_slots",
    "own_scripts",
    "rows_of",
    "train_tokenizer",
]
