"""Selection: which documents stay by their signals, and the cutoffs that the lock pins."""

from typing import TYPE_CHECKING

from catalog.doors import lazy_exports

if TYPE_CHECKING:
    from corpus_assets.select.columns import (
        Columns,
        Mask,
        Numbers,
        as_judged,
        first_failures,
        rule_cutoff,
    )
    from corpus_assets.select.groups import GroupBy, check_columns, group_values
    from corpus_assets.select.losses import RULES, language_losses_message
    from corpus_assets.select.planner import SelectPlanner
    from corpus_assets.select.published_languages import (
        CONFIGS,
        WORD_LISTS,
        read_configurations,
    )
    from corpus_assets.select.requirement import Requirement, requirement_of, tier_bounds
    from corpus_assets.select.rules import (
        CHARACTERS,
        SINGLE_TIER,
        Bounds,
        Rule,
        SelectionSettings,
        column_of,
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
    "QUALITY_CUTOFFS",
    "RULES",
    "SCORE_SURVIVORS",
    "SELECTION",
    "SHARES",
    "SINGLE_TIER",
    "SURVIVORS",
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
    "as_judged",
    "check_columns",
    "column_of",
    "first_failures",
    "group_values",
    "language_losses_message",
    "parse_cutoffs",
    "plain_cutoffs",
    "read_configurations",
    "read_language_tables",
    "requirement_of",
    "resolve_cutoffs",
    "rule_cutoff",
    "share_gaps",
    "tier_bounds",
]
