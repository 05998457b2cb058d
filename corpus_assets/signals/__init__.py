"""Signals: what can be said of a text, one family a file.

Every class derived from `SignalFamily` in a module here or in `published` is a family; its `family`
is its name in recipes. A new file needs no line anywhere else.
"""

from importlib import import_module
from inspect import isabstract, isclass
from pkgutil import iter_modules

from corpus_assets.signals import published
from corpus_assets.signals.base import SignalFamily
from corpus_assets.signals.text_step import TextStep


def _find_families() -> dict[str, type[SignalFamily]]:
    """Families by name, in the order of their names."""
    found: dict[str, type[SignalFamily]] = {}
    here = iter_modules(__path__, f"{__name__}.")
    for module in (*here, *iter_modules(published.__path__, f"{published.__name__}.")):
        for item in vars(import_module(module.name)).values():
            if not isclass(item) or item.__module__ != module.name:
                continue
            if issubclass(item, SignalFamily) and not isabstract(item):
                found[item.model_fields["family"].default] = item
    return dict(sorted(found.items()))


FAMILIES = _find_families()

__all__ = [
    "TextStep",
    "annotations",
    "base",
    "classifier",
    "embedding_score",
    "imported",
    "page_notes",
    "perplexity",
    "sentences",
    "source_labels",
    "stages",
]
