"""The source formats there are: those that files of this package declare."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from corpus_assets.core.declarations import modules_by_name
from corpus_assets.core.errors import SourceError

if TYPE_CHECKING:
    from corpus_assets.ingest.formats.base import Format

_DECLARED = r'^\w+ = F(?:ile|older)Format\(\s*"(\w+)"'


class _Formats(Mapping[str, "Format"]):
    """Formats by name, in the order of their names; a file is imported when it is asked for."""

    def __getitem__(self, name: str) -> Format:
        return _format(name, _modules()[name])

    def __contains__(self, name: object) -> bool:
        return name in _modules()

    def __iter__(self) -> Iterator[str]:
        return iter(_modules())

    def __len__(self) -> int:
        return len(_modules())


FORMATS: Mapping[str, Format] = _Formats()


def format_of(name: str) -> Format:
    """Return the format that recipes call `name`; SourceError for one that is not known."""
    if name not in FORMATS:
        raise SourceError(f"{name!r} is not a source format; known are {', '.join(FORMATS)}")
    return FORMATS[name]


def _modules() -> dict[str, str]:
    return _modules_in(tuple(sys.modules[__package__].__path__))


@cache
def _modules_in(folders: tuple[str, ...]) -> dict[str, str]:
    return dict(sorted(modules_by_name(_DECLARED, __package__, folders).items()))


@cache
def _format(name: str, module: str) -> Format:
    from corpus_assets.ingest.formats.base import Format

    items = vars(import_module(module)).values()
    return next(item for item in items if isinstance(item, Format) and item.name == name)
