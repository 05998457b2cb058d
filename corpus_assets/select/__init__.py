"""Selection: which documents stay by their signals, and the cutoffs that the lock pins."""

from typing import TYPE_CHECKING

from catalog.doors import lazy_exports

if TYPE_CHECKING:
    from corpus_assets.select.columns import (
        SOURCE_TIER,
        TIE_KEY,
        Columns,
        Mask,
        Numbers,
        first_failures,
        resolved,
        rule_cutoff,
        with_source,
        with_tie_keys,
    )
    from corpus_assets.select.groups import GroupBy, check_columns, group_values
    from corpus_assets.select.losses import LOSSES_NOTE, RULES, rule_losses_message, summed_losses
    from corpus_assets.select.planner import SelectPlanner
    from corpus_assets.select.published_languages import (
        CONFIGS,
        WORD_LISTS,
        read_configurations,
        write_table,
    )
    from corpus_assets.select.requirement import Requirement, requirement_of
    from corpus_assets.select.rules import (
        CHARACTERS,
        SINGLE_TIER,
        Bounds,
        Rule,
        SelectionSettings,
        column_of,
        cutoff_for,
        is_label_type,
        leaf_columns,
        tier_cutoff,
    )
    from corpus_assets.select.selection import (
        Cutoffs,
        parse_cutoffs,
        plain_cutoffs,
        resolve_cutoffs,
    )
    from corpus_assets.select.shares import SHARES, share_gaps
    from corpus_assets.select.stage import QUALITY_CUTOFFS, SCORE_SURVIVORS, SELECTION, SURVIVORS
    from corpus_assets.select.tables import read_language_tables
else:
    __getattr__ = lazy_exports(__name__, __file__)

__all__ = [
    "CHARACTERS",
    "CONFIGS",
    "LOSSES_NOTE",
    "QUALITY_CUTOFFS",
    "RULES",
    "SCORE_SURVIVORS",
    "SELECTION",
    "SHARES",
    "SINGLE_TIER",
    "SOURCE_TIER",
    "SURVIVORS",
    "TIE_KEY",
    "WORD_LISTS",
    "Bounds",
    "Columns",
    "Cutoffs",
    "GroupBy",
    "Mask",
    "Numbers",
    "Requirement",
    "Rule",
    "SelectPlanner",
    "SelectionSettings",
    "check_columns",
    "column_of",
    "cutoff_for",
    "first_failures",
    "group_values",
    "is_label_type",
    "leaf_columns",
    "parse_cutoffs",
    "plain_cutoffs",
    "read_configurations",
    "read_language_tables",
    "requirement_of",
    "resolve_cutoffs",
    "resolved",
    "rule_cutoff",
    "rule_losses_message",
    "share_gaps",
    "summed_losses",
    "tier_cutoff",
    "with_source",
    "with_tie_keys",
    "write_table",
]
