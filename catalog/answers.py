"""What a command answers: a frozen dataclass, from which JSON, text and exit code derive.

JSON has every field, in order, and the properties marked with `in_json`. Text shows single values as
aligned lines and lists of dataclasses as tables; `Annotated[int, Shown("tokens before")]` says how
a field is shown where its name does not. What has no value is left out. An answer that is a
sentence has `__str__`. What else an answer may have:

    shows       names of the fields and properties that text has, in this order [all fields]
    conclusion  a sentence under the text
    notes       sentences for stderr
    exit_code   of the command; without it `ok` decides: 0, or 1 where it is false
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Annotated, Any, Generic, TypeVar, get_args, get_type_hints

from catalog.figures import size

BROKEN_EXIT = 1

Row = TypeVar("Row")
Property = TypeVar("Property", bound=Callable[[Any], object])


@dataclass(frozen=True, slots=True)
class Shown:
    """How a field is shown: its `title`, the `form` of its values (not asked for None), and of a
    list of dataclasses its `columns`: names of fields and properties, in this order [all fields].
    `key` is its name in JSON, where that is no name in Python.
    """

    title: str = ""
    form: Callable[[Any], object] | None = None
    columns: tuple[str, ...] = ()
    in_text: bool = True
    key: str = ""


JSON_ONLY = Shown(in_text=False)


def in_json(function: Property) -> Property:
    """Mark a property's function: JSON has the property too."""
    function.is_in_json = True  # type: ignore[attr-defined]
    return function


Count = Annotated[int, Shown(form="{:,}".format)]
Bytes = Annotated[int, Shown(form=size)]
Percent = Annotated[float, Shown(form="{:.1%}".format)]
"""Figures as people read them; `Annotated[Count, Shown("tokens before")]` titles one."""


@dataclass(frozen=True, slots=True)
class Rows(Generic[Row]):
    """A list as an answer: JSON is the list; text is its table, or `empty` where it has none."""

    rows: Sequence[Row]
    columns: tuple[str, ...] = ()
    empty: str = "Nothing found."
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Named(Generic[Row]):
    """A mapping as an answer: JSON is the mapping; text is its table with the names in a column
    `title`, or `empty`, and the conclusion."""

    rows: Mapping[str, Row]
    title: str
    columns: tuple[str, ...] = ()
    empty: str = "Nothing found."
    conclusion: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """A field of an answer, or a property that stands beside them."""

    name: str
    key: str
    title: str
    shown: Shown
    is_field: bool


@cache
def parts_of(kind: type) -> tuple[Part, ...]:
    """Return the fields of a dataclass, and those of its properties that JSON has."""
    in_json_too = [name for name, each in _properties(kind) if getattr(each, "is_in_json", False)]
    return (
        *(_part(field.name, field.type, True) for field in fields(kind)),
        *(property_of(kind, name) for name in in_json_too),
    )


def property_of(kind: type, name: str) -> Part:
    """Return a property of a dataclass as a part of its text."""
    hints = get_type_hints(dict(_properties(kind))[name], include_extras=True)
    return _part(name, hints.get("return"), False)


def columns_of(kind: type, names: Sequence[str] = ()) -> list[Part]:
    """Return what text shows of a dataclass: `names`, or what it `shows`, or all of its fields."""
    parts = {part.name: part for part in parts_of(kind)}
    if chosen := names or getattr(kind, "shows", ()):
        return [parts.get(name) or property_of(kind, name) for name in chosen]
    return [part for part in parts.values() if part.is_field and part.shown.in_text]


def values_of(answer: Any) -> dict[str, Any]:
    """Return the fields of an answer by name, as they are."""
    return {field.name: getattr(answer, field.name) for field in fields(answer)}


def exit_code(answer: object) -> int:
    """Return what a command with this answer ends with."""
    return int(getattr(answer, "exit_code", 0 if getattr(answer, "ok", True) else BROKEN_EXIT))


def notes_of(answer: object) -> Iterable[str]:
    """Return what is said about an answer beside it."""
    return getattr(answer, "notes", ())


def _properties(kind: type) -> Iterator[tuple[str, Callable[..., object]]]:
    for each in reversed(kind.__mro__):
        for name, value in vars(each).items():
            if isinstance(value, property) and value.fget is not None:
                yield name, value.fget


def _part(name: str, hint: object, is_field: bool) -> Part:
    said: dict[str, Any] = {}
    for one in get_args(hint)[1:]:
        if isinstance(one, Shown):  # the later ones add to the first
            said |= {f.name: now for f in fields(one) if (now := getattr(one, f.name)) != f.default}
    shown = Shown(**said)
    return Part(name, shown.key or name, shown.title or name.replace("_", " "), shown, is_field)
