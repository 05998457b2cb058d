"""fastText and n-gram models: files, training, scoring. Kernels: the modules are the doors."""

from typing import TYPE_CHECKING

from catalog.doors import lazy_exports

if TYPE_CHECKING:
    from corpus_assets.models.fasttext_file import (
        END_OF_LINE,
        LABEL,
        FastTextModel,
        Floats,
        load_model,
        parse_model,
        without_spelling,
    )
    from corpus_assets.models.fasttext_labels import identify, label_scores, open_model
    from corpus_assets.models.fasttext_library import LIBRARY, LibraryModel
    from corpus_assets.models.fasttext_train import dump_model, train_rows
    from corpus_assets.models.files import (
        InstalledModel,
        PublicModel,
        add_model,
        copy_model,
        default_folder,
        fetch_lid176,
        how_to_get,
        installed_models,
        model_at,
        model_digest,
        public_models,
        put_lid176,
    )
    from corpus_assets.models.languages import by_language, likely_languages
    from corpus_assets.models.ngram_counts import Trie, count_ngrams, least_count, spelling_of
    from corpus_assets.models.ngram_file import (
        NgramModel,
        dump_models,
        is_ngram_file,
        load_models,
        parse_models,
    )
    from corpus_assets.models.ngram_perplexity import divergences_of, perplexities, perplexity_of
    from corpus_assets.models.ngram_score import (
        BOUNDARY,
        EDGE,
        FIRST_WORD,
        UNKNOWN,
        Doubles,
        count_letters,
    )
    from corpus_assets.models.ngram_units import fold_units, split_units, unit_kinds
else:
    __getattr__ = lazy_exports(__name__, __file__)

__all__ = [
    "BOUNDARY",
    "EDGE",
    "END_OF_LINE",
    "FIRST_WORD",
    "LABEL",
    "LIBRARY",
    "UNKNOWN",
    "Doubles",
    "FastTextModel",
    "Floats",
    "InstalledModel",
    "LibraryModel",
    "NgramModel",
    "PublicModel",
    "Trie",
    "add_model",
    "by_language",
    "copy_model",
    "count_letters",
    "count_ngrams",
    "default_folder",
    "divergences_of",
    "dump_model",
    "dump_models",
    "fetch_lid176",
    "fold_units",
    "how_to_get",
    "identify",
    "installed_models",
    "is_ngram_file",
    "label_scores",
    "least_count",
    "likely_languages",
    "load_model",
    "load_models",
    "model_at",
    "model_digest",
    "open_model",
    "parse_model",
    "parse_models",
    "perplexities",
    "perplexity_of",
    "public_models",
    "put_lid176",
    "spelling_of",
    "split_units",
    "train_rows",
    "unit_kinds",
    "without_spelling",
]
