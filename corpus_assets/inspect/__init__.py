"""Questions about homes and versions: what-if, signals of a document, sample pages, mixes, cost."""

from typing import TYPE_CHECKING

from catalog.doors import lazy_exports

if TYPE_CHECKING:
    from corpus_assets.inspect.benchmark_hits import Contamination, contamination_of, judged_text
    from corpus_assets.inspect.build_plan import PlannedAsset, planned_assets
    from corpus_assets.inspect.cost import (
        EVIDENCE_JOULES,
        EVIDENCE_SECONDS,
        Crawls,
        Estimate,
        VersionCost,
        cost_at,
        cost_section,
        estimate,
        load_prices,
        version_cost,
    )
    from corpus_assets.inspect.document_signals import DocumentSignals, signals_of
    from corpus_assets.inspect.mix import MixAnswer, MixComparison, compare_mixes, mix_answer
    from corpus_assets.inspect.mix_plot import write_plot
    from corpus_assets.inspect.plan import text_to_read
    from corpus_assets.inspect.review import judgements_section
    from corpus_assets.inspect.sample_page_html import write_sample_page
    from corpus_assets.inspect.snapshots import (
        AddedCrawl,
        Book,
        Known,
        NewCrawl,
        RemovedSnapshot,
        add_crawl,
        discover,
        follow,
        known_snapshots,
        remove_whole,
    )
    from corpus_assets.inspect.sweep import Model, Sweep, layer_params, sweep_sizes
    from corpus_assets.inspect.token_plan import TokensWanted, plan_tokens
    from corpus_assets.inspect.tokenizers import (
        ComparedAudit,
        NamedAudit,
        SampleSummary,
        compare_audits,
        sample_of,
    )
    from corpus_assets.inspect.unreadable_files import skip_failed, unskip_files
    from corpus_assets.inspect.whatif_answer import Example, WhatIf, what_if
else:
    __getattr__ = lazy_exports(__name__, __file__)

__all__ = [
    "EVIDENCE_JOULES",
    "EVIDENCE_SECONDS",
    "AddedCrawl",
    "Book",
    "ComparedAudit",
    "Contamination",
    "Crawls",
    "DocumentSignals",
    "Estimate",
    "Example",
    "Known",
    "MixAnswer",
    "MixComparison",
    "Model",
    "NamedAudit",
    "NewCrawl",
    "PlannedAsset",
    "RemovedSnapshot",
    "SampleSummary",
    "Sweep",
    "TokensWanted",
    "VersionCost",
    "WhatIf",
    "add_crawl",
    "compare_audits",
    "compare_mixes",
    "contamination_of",
    "cost_at",
    "cost_section",
    "discover",
    "estimate",
    "follow",
    "judged_text",
    "judgements_section",
    "known_snapshots",
    "layer_params",
    "load_prices",
    "mix_answer",
    "plan_tokens",
    "planned_assets",
    "remove_whole",
    "sample_of",
    "signals_of",
    "skip_failed",
    "sweep_sizes",
    "text_to_read",
    "unskip_files",
    "version_cost",
    "what_if",
    "write_plot",
    "write_sample_page",
]
