"""The stages of signals: models trained, scores ranked, signals computed."""

__all__ = [
    "classifier_settings",
    "classifiers",
    "oracle",
    "perplexity",
    "perplexity_training",
    "planner",
    "ranks",
    "settings",
    "signal_models",
    "signals",
]
