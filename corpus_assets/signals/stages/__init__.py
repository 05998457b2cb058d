"""The stages of signals: models trained, scores ranked, signals computed."""

__all__ = [
    "classifier_training",
    "classifiers",
    "perplexity",
    "perplexity_training",
    "ranks",
    "signal_models",
    "signals",
]
