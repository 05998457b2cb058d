"""Signals: measurements of a text, one family a file.

Every class derived from `SignalFamily` in a module here or in `published` is a family; its `family`
is its name in recipes. A new file needs no line anywhere else.
"""

from typing import TYPE_CHECKING

from catalog.doors import lazy_exports

if TYPE_CHECKING:
    from corpus_assets.signals.annotations import read_annotations
    from corpus_assets.signals.base import SignalFamily
    from corpus_assets.signals.classifier import Classifier, Label, Name
    from corpus_assets.signals.embedding_score import EmbeddingScore
    from corpus_assets.signals.import_tables import (
        keep_import,
        kind_of,
        redact_imports,
        sorted_table,
        stored_imports,
    )
    from corpus_assets.signals.imported import Imported
    from corpus_assets.signals.page_notes import PageNotes
    from corpus_assets.signals.perplexity import ModelName
    from corpus_assets.signals.sentences import SentenceCut, score_sentences, sentences_of
    from corpus_assets.signals.source_labels import SourceLabels
    from corpus_assets.signals.stages import (
        CLASSIFIER_SAMPLE,
        CLASSIFIERS,
        IMPORTED,
        MODEL,
        PERPLEXITY_MODEL,
        PERPLEXITY_MODELS,
        SCORE_RANKS,
        SCORE_SAMPLE,
        SIGNALS,
        ClassifierEntry,
        EngineComparison,
        PerplexityModelEntry,
        SignalSettings,
        SignalsRecipe,
        check_classifiers,
        check_models,
        compare_with_fasttext,
        installed_folders,
        model_files,
        models_of_signals,
        outside_classifiers,
        outside_files,
        outside_models,
        with_listed_entries,
    )
    from corpus_assets.signals.text_step import TextStep
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
    "Classifier",
    "ClassifierEntry",
    "EmbeddingScore",
    "EngineComparison",
    "Imported",
    "Label",
    "ModelName",
    "Name",
    "PageNotes",
    "PerplexityModelEntry",
    "SentenceCut",
    "SignalFamily",
    "SignalSettings",
    "SignalsRecipe",
    "SourceLabels",
    "TextStep",
    "check_classifiers",
    "check_models",
    "compare_with_fasttext",
    "installed_folders",
    "keep_import",
    "kind_of",
    "model_files",
    "models_of_signals",
    "outside_classifiers",
    "outside_files",
    "outside_models",
    "read_annotations",
    "redact_imports",
    "score_sentences",
    "sentences_of",
    "sorted_table",
    "stored_imports",
    "with_listed_entries",
]
