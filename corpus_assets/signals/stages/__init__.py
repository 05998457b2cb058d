"""The stages of signals: models trained, scores ranked, signals computed."""

from typing import TYPE_CHECKING

from catalog.doors import lazy_exports

if TYPE_CHECKING:
    from corpus_assets.signals.stages.classifier_settings import ClassifierEntry, check_classifiers
    from corpus_assets.signals.stages.classifiers import (
        CLASSIFIER_SAMPLE,
        CLASSIFIERS,
        outside_classifiers,
    )
    from corpus_assets.signals.stages.oracle import EngineComparison, compare_with_fasttext
    from corpus_assets.signals.stages.perplexity import (
        PERPLEXITY_MODEL,
        PERPLEXITY_MODELS,
        outside_files,
        outside_models,
    )
    from corpus_assets.signals.stages.perplexity_settings import PerplexityModelEntry, check_models
    from corpus_assets.signals.stages.planner import SignalsRecipe
    from corpus_assets.signals.stages.ranks import SCORE_RANKS, SCORE_SAMPLE
    from corpus_assets.signals.stages.settings import SignalSettings
    from corpus_assets.signals.stages.signal_models import (
        MODEL,
        installed_folders,
        model_files,
        models_of_signals,
        with_listed_entries,
    )
    from corpus_assets.signals.stages.signals import IMPORTED, SIGNALS
else:
    __getattr__ = lazy_exports(__name__, __file__)

__all__ = [
    "CLASSIFIERS",
    "CLASSIFIER_SAMPLE",
    "IMPORTED",
    "MODEL",
    "PERPLEXITY_MODEL",
    "PERPLEXITY_MODELS",
    "SCORE_RANKS",
    "SCORE_SAMPLE",
    "SIGNALS",
    "ClassifierEntry",
    "EngineComparison",
    "PerplexityModelEntry",
    "SignalSettings",
    "SignalsRecipe",
    "check_classifiers",
    "check_models",
    "compare_with_fasttext",
    "installed_folders",
    "model_files",
    "models_of_signals",
    "outside_classifiers",
    "outside_files",
    "outside_models",
    "with_listed_entries",
]
