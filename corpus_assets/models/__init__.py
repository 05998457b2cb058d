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
        home_option,
        how_to_get,
        installed_models,
        is_public,
        model_at,
        model_digest,
        public_models,
        put_lid176,
    )
    from corpus_assets.models.languages import by_language, language_codes, likely_languages
    from corpus_assets.models.ngram_file import NgramModel, is_ngram_file, load_models
    from corpus_assets.models.ngram_perplexity import divergences_of, perplexities, perplexity_of
    from corpus_assets.models.ngram_score import Doubles
    from corpus_assets.models.ngram_settings import NgramSettings
    from corpus_assets.models.ngram_training import join_ngram_models, train_ngram_model
else:
    __getattr__ = lazy_exports(__name__, __file__)

__all__ = [
    "END_OF_LINE",
    "LABEL",
    "LIBRARY",
    "Doubles",
    "FastTextModel",
    "Floats",
    "InstalledModel",
    "LibraryModel",
    "NgramModel",
    "NgramSettings",
    "PublicModel",
    "add_model",
    "by_language",
    "copy_model",
    "default_folder",
    "divergences_of",
    "dump_model",
    "fetch_lid176",
    "home_option",
    "how_to_get",
    "identify",
    "installed_models",
    "is_ngram_file",
    "is_public",
    "join_ngram_models",
    "label_scores",
    "language_codes",
    "likely_languages",
    "load_model",
    "load_models",
    "model_at",
    "model_digest",
    "open_model",
    "parse_model",
    "perplexities",
    "perplexity_of",
    "public_models",
    "put_lid176",
    "train_ngram_model",
    "train_rows",
    "without_spelling",
]
