"""The elements of a formula, read by rules that forgive as a page's do."""

import re
from collections.abc import Iterator
from html import unescape

MAX_DEPTH = 64
"""Elements nested deeper are no formula anybody wrote; also what recursion over them may take."""

_TOKEN = re.compile(
    r"<!--.*?(?:-->|\Z)"
    r"|<!\[CDATA\[(?P<cdata>.*?)(?:\]\]>|\Z)"
    r"|<(?P<end>/?)(?:[A-Za-z][\w.-]*:)?(?P<name>[A-Za-z][\w.-]*)"
    r"(?P<attributes>(?:[^<>\"']++|\"[^\"]*\"|'[^']*')*+)>?"  # also where it has no end: none is read twice
    r"|<[!?][^>]*+>?"
    r"|(?P<text>[^<]+|<)",
    re.DOTALL,
)
_ATTRIBUTE = re.compile(
    r"(?:(?<=[\s/\"'])|\A)([^\s=/>\"']++)\s*+=\s*+(?:\"([^\"]*)\"|'([^']*)'|([^\s>\"']+))"
)


class Element:
    """An element: its name without prefix in lower case, its attributes as they are written, and
    what stands in it."""

    __slots__ = ("children", "name", "written")

    def __init__(self, name: str, written: str) -> None:
        self.name, self.written = name, written
        self.children: list[Element | str] = []

    def attribute(self, name: str, default: str = "") -> str:
        return attributes_of(self.written).get(name, default) if self.written else default

    def elements(self) -> list["Element"]:
        return [child for child in self.children if isinstance(child, Element)]

    def text(self) -> str:
        """All text inside."""
        return "".join(child if isinstance(child, str) else child.text() for child in self.children)

    def descendants(self) -> Iterator["Element"]:
        for child in self.elements():
            yield child
            yield from child.descendants()


def attributes_of(written: str) -> dict[str, str]:
    """Attributes of a start tag, the first of each name, entities read."""
    found: dict[str, str] = {}
    for name, double, single, bare in _ATTRIBUTE.findall(written):
        found.setdefault(name.lower(), unescape(double or single or bare))
    return found


def made(name: str, *children: Element | str, written: str = "") -> Element:
    """A new element."""
    element = Element(name, written)
    element.children = list(children)
    return element


def read_elements(markup: str, max_depth: int = MAX_DEPTH) -> Element | None:
    """The tree of some markup below an element without a name; None where it nests too deep.

    An end tag closes back to its nearest open namesake, and is ignored where there is none.
    """
    root = Element("", "")
    path = [root]
    for cdata, end, name, written, text in _TOKEN.findall(markup):
        if not name:
            if text or cdata:
                path[-1].children.append(unescape(text) if text else cdata)
            continue
        name = name.lower()
        if end:
            for depth in range(len(path) - 1, 0, -1):
                if path[depth].name == name:
                    del path[depth:]
                    break
            continue
        element = Element(name, written)
        path[-1].children.append(element)
        if not written.endswith("/"):
            if len(path) > max_depth:
                return None
            path.append(element)
    return root


def plain_text_of(markup: str) -> str:
    """The text of some markup without its tags."""
    parts = (token["cdata"] or unescape(token["text"] or "") for token in _TOKEN.finditer(markup))
    return " ".join("".join(parts).split())
