"""fastText and n-gram models: files, training, scoring. Kernels: the modules are the doors."""

__all__ = [
    "fasttext_file",
    "fasttext_labels",
    "fasttext_library",
    "fasttext_train",
    "files",
    "languages",
    "ngram_counts",
    "ngram_file",
    "ngram_perplexity",
    "ngram_score",
    "ngram_units",
]
