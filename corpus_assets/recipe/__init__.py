"""Recipes: the settings of all rooms put together, read and checked."""

from typing import TYPE_CHECKING

from catalog.doors import lazy_exports

if TYPE_CHECKING:
    from corpus_assets.recipe.evidence import LEARNING_RATES, ComparisonRule, EvidenceSettings, Runs
    from corpus_assets.recipe.first_recipe import recipe_name, sample_share, write_recipe
    from corpus_assets.recipe.load import (
        changed_recipe,
        find_recipe,
        load_recipe,
        parse_recipe,
        shipped_file,
        shipped_recipes,
        value_at,
    )
    from corpus_assets.recipe.operations import (
        KEEPS,
        DriftBounds,
        Retention,
        TakedownSettings,
    )
    from corpus_assets.recipe.recipe import Recipe
    from corpus_assets.recipe.skipped_files import load_skipped, save_skipped
    from corpus_assets.recipe.snapshots import (
        AddedSnapshot,
        add_snapshot,
        load_added,
        load_entries,
        load_with_added,
        merge_added,
        remove_snapshot,
        undo_add,
    )
else:
    __getattr__ = lazy_exports(__name__, __file__)

__all__ = [
    "KEEPS",
    "LEARNING_RATES",
    "AddedSnapshot",
    "ComparisonRule",
    "DriftBounds",
    "EvidenceSettings",
    "Recipe",
    "Retention",
    "Runs",
    "TakedownSettings",
    "add_snapshot",
    "changed_recipe",
    "find_recipe",
    "load_added",
    "load_entries",
    "load_recipe",
    "load_skipped",
    "load_with_added",
    "merge_added",
    "parse_recipe",
    "recipe_name",
    "remove_snapshot",
    "sample_share",
    "save_skipped",
    "shipped_file",
    "shipped_recipes",
    "undo_add",
    "value_at",
    "write_recipe",
]
