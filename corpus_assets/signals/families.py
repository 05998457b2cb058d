"""The families of signals, found by being there: a new file needs no line anywhere else."""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path

from corpus_assets.core.declarations import modules_by_name
from corpus_assets.signals.base import SignalFamily

DECLARED = r'^    family: Literal\["(\w+)"\]'


class _Families(Mapping[str, type[SignalFamily]]):
    """Families by name, in the order of their names; a file is imported when it is asked for."""

    def __getitem__(self, name: str) -> type[SignalFamily]:
        return _family(name)

    def __contains__(self, name: object) -> bool:
        return name in _modules()

    def __iter__(self) -> Iterator[str]:
        return iter(_modules())

    def __len__(self) -> int:
        return len(_modules())


FAMILIES: Mapping[str, type[SignalFamily]] = _Families()


@cache
def _modules() -> dict[str, str]:
    here, package = Path(__file__).parent, __package__
    published = modules_by_name(DECLARED, f"{package}.published", [str(here / "published")])
    return dict(sorted({**modules_by_name(DECLARED, package, [str(here)]), **published}.items()))


@cache
def _family(name: str) -> type[SignalFamily]:
    module = import_module(_modules()[name])
    return next(
        item
        for item in vars(module).values()
        if isinstance(item, type)
        and issubclass(item, SignalFamily)
        and item.model_fields["family"].default == name
    )
