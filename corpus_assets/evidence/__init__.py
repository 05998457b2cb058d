"""Evidence: small models trained at matched compute say whether a version is better."""

from typing import TYPE_CHECKING

from catalog.doors import lazy_exports

if TYPE_CHECKING:
    from corpus_assets.evidence.canaries import memories
    from corpus_assets.evidence.gate import (
        Compared,
        Decided,
        Results,
        baseline_of,
        compare_results,
        decide_gate,
        find_results,
        stored_results,
    )
    from corpus_assets.evidence.home import (
        Imported,
        forget_heldout,
        import_runs,
        missing_runs,
        pack_plan,
        plan_comparison,
        plan_version,
        store_heldout,
        stored_plan,
        train_missing,
    )
    from corpus_assets.evidence.mixtures import (
        Groups,
        ProposedMix,
        comparison_text,
        search_mixture,
    )
    from corpus_assets.evidence.on_ray import run_on_ray
    from corpus_assets.evidence.pack import find_pack
    from corpus_assets.evidence.page import (
        choices_section,
        evidence_page,
        gates_section,
        loss_curves,
        sweep_page,
    )
    from corpus_assets.evidence.run import parse_part, run_pack, wanted_runs
    from corpus_assets.evidence.sweep import (
        KeyResult,
        expect_sweep,
        keep_choices,
        key_results,
        next_steps,
        open_round,
        parse_values,
        plan_sweep,
        sweep_results,
        sweep_standing,
        train_rounds,
    )
else:
    __getattr__ = lazy_exports(__name__, __file__)

__all__ = [
    "Compared",
    "Decided",
    "Groups",
    "Imported",
    "KeyResult",
    "ProposedMix",
    "Results",
    "baseline_of",
    "choices_section",
    "compare_results",
    "comparison_text",
    "decide_gate",
    "evidence_page",
    "expect_sweep",
    "find_pack",
    "find_results",
    "forget_heldout",
    "gates_section",
    "import_runs",
    "keep_choices",
    "key_results",
    "loss_curves",
    "memories",
    "missing_runs",
    "next_steps",
    "open_round",
    "pack_plan",
    "parse_part",
    "parse_values",
    "plan_comparison",
    "plan_sweep",
    "plan_version",
    "run_on_ray",
    "run_pack",
    "search_mixture",
    "store_heldout",
    "stored_plan",
    "stored_results",
    "sweep_page",
    "sweep_results",
    "sweep_standing",
    "train_missing",
    "train_rounds",
    "wanted_runs",
]
