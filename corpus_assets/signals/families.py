"""The families of signals, found by being there: a new file needs no line anywhere else."""

from importlib import import_module
from inspect import isabstract, isclass
from pathlib import Path
from pkgutil import iter_modules

from corpus_assets.signals import published
from corpus_assets.signals.base import SignalFamily


def _find_families() -> dict[str, type[SignalFamily]]:
    """Families by name, in the order of their names."""
    found: dict[str, type[SignalFamily]] = {}
    here = iter_modules([str(Path(__file__).parent)], f"{__package__}.")
    for module in (*here, *iter_modules(published.__path__, f"{published.__name__}.")):
        for item in vars(import_module(module.name)).values():
            if not isclass(item) or item.__module__ != module.name:
                continue
            if issubclass(item, SignalFamily) and not isabstract(item):
                found[item.model_fields["family"].default] = item
    return dict(sorted(found.items()))


FAMILIES = _find_families()
