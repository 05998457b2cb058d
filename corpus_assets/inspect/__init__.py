"""Questions about homes and versions: what-if, signals of a document, canary pages, mixes, cost."""

from typing import TYPE_CHECKING

from catalog.doors import lazy_exports

if TYPE_CHECKING:
    from corpus_assets.inspect.benchmark_hits import contamination_of, judged_text
    from corpus_assets.inspect.canary import draw_canary
    from corpus_assets.inspect.canary_page import render_canary
    from corpus_assets.inspect.cost import (
        GIB,
        Crawls,
        cost_at,
        cost_section,
        estimate,
        load_prices,
        version_cost,
    )
    from corpus_assets.inspect.document_signals import signals_of
    from corpus_assets.inspect.mix import MixSource, differences, mix_source, newest_version
    from corpus_assets.inspect.mix_plot import write_plot
    from corpus_assets.inspect.review import judgements_section
    from corpus_assets.inspect.snapshots import (
        Book,
        discover,
        follow,
        known_snapshots,
        make_entry,
        remove_whole,
        shown_bytes,
    )
    from corpus_assets.inspect.sweep import Model, layer_params, sweep_sizes
    from corpus_assets.inspect.tokenizers import find_subject, read_texts, sample_of, side_of
    from corpus_assets.inspect.unreadable_files import skip_failed, unskip_files
    from corpus_assets.inspect.version_columns import Ruling, open_columns, open_version
    from corpus_assets.inspect.whatif import compare
    from corpus_assets.inspect.whatif_answer import answer_of, samples_of
else:
    __getattr__ = lazy_exports(__name__, __file__)

__all__ = [
    "GIB",
    "Book",
    "Crawls",
    "MixSource",
    "Model",
    "Ruling",
    "answer_of",
    "compare",
    "contamination_of",
    "cost_at",
    "cost_section",
    "differences",
    "discover",
    "draw_canary",
    "estimate",
    "find_subject",
    "follow",
    "judged_text",
    "judgements_section",
    "known_snapshots",
    "layer_params",
    "load_prices",
    "make_entry",
    "mix_source",
    "newest_version",
    "open_columns",
    "open_version",
    "read_texts",
    "remove_whole",
    "render_canary",
    "sample_of",
    "samples_of",
    "shown_bytes",
    "side_of",
    "signals_of",
    "skip_failed",
    "sweep_sizes",
    "unskip_files",
    "version_cost",
    "write_plot",
]
