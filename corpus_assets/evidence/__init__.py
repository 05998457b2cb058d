"""Evidence: small models trained at matched compute say whether a version is better."""

from typing import TYPE_CHECKING

from catalog.doors import lazy_exports

if TYPE_CHECKING:
    from corpus_assets.evidence.canaries import memories
    from corpus_assets.evidence.gate import (
        Compared,
        Decided,
        Results,
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
    from corpus_assets.evidence.mixtures import ProposedMix, comparison_text, search_mixture
    from corpus_assets.evidence.pack import find_pack
    from corpus_assets.evidence.page import evidence_page, gates_section, loss_curves
    from corpus_assets.evidence.run import parse_part, run_pack, wanted_runs
else:
    __getattr__ = lazy_exports(__name__, __file__)

__all__ = [
    "Compared",
    "Decided",
    "Imported",
    "ProposedMix",
    "Results",
    "compare_results",
    "comparison_text",
    "decide_gate",
    "evidence_page",
    "find_pack",
    "find_results",
    "forget_heldout",
    "gates_section",
    "import_runs",
    "loss_curves",
    "memories",
    "missing_runs",
    "pack_plan",
    "parse_part",
    "plan_comparison",
    "plan_version",
    "run_pack",
    "search_mixture",
    "store_heldout",
    "stored_plan",
    "stored_results",
    "train_missing",
    "wanted_runs",
]
