"""Which files of a repository a file imports, and an order in which imported files come first.

The order is that of DeepSeek-Coder (Guo et al. 2024, arXiv:2401.14196, section 2.2, algorithm 1;
github.com/deepseek-ai/DeepSeek-Coder, issue 43): files that import each other, directly or not, are
together, and of those that are left the one that imports the fewest of them is next, so that a
circle ends somewhere. Ties, which are drawn there, go by path here, as does everything that no
import connects.

Imports are read line by line, by the forms in which languages declare them. What a tokenizer's task
sees of a document is kept with its tokens: patterns of names, which mean files only beside the other
files of the repository. A pattern is a path without its extension:

* `a/b`: the file whose path ends so; of several the one nearest to the importer;
* `=a/b`: the file with this path;
* `a/b/`, `=a/b/`: the files of a folder.

Alternatives of one pattern, the first of which that is there counts, are joined by `ALTERNATIVE`.
"""

import heapq
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, takewhile
from posixpath import normpath
from typing import NamedTuple

VERSION = 1  # raise it whenever an order could change

ALTERNATIVE = "\0"
MAX_IMPORTS = 500  # of a file
MAX_CHARS = 300  # of a pattern
MAX_FILES = 200  # with one name, or in one folder: of more, no one is meant, or not all


@dataclass(frozen=True, slots=True)
class Place:
    """Where a document stands in its repository, and which files it asks for."""

    repository: bytes  # a digest
    path: str
    imports: tuple[str, ...] = ()


class _File(NamedTuple):
    repository: str
    folder: str  # without a slash at its end; empty at the top
    stem: str


Finder = Callable[[_File, str], Iterator[str]]


def imports_of(repository: str, path: str, text: str) -> tuple[str, ...]:
    """Return patterns of what a file imports, each once; () for languages that are not known."""
    language = _language(path)
    if language is None:
        return ()
    folder, _, name = path.rpartition("/")
    file = _File(repository, folder, name.rpartition(".")[0])
    found = dict.fromkeys(p for p in _LANGUAGES[language](file, text) if 1 < len(p) <= MAX_CHARS)
    return tuple(found)[:MAX_IMPORTS]


def import_order(files: Sequence[Place]) -> list[int]:
    """Return the places of a repository's files, which come by path, in the order of their imports."""
    tree = _Tree(files)
    imports = [sorted(tree.imported_by(row)) for row in range(len(files))]
    importers: list[list[int]] = [[] for _ in files]
    for row, asked in enumerate(imports):
        for other in asked:
            importers[other].append(row)
    left = [len(asked) for asked in imports]
    placed = [False] * len(files)
    order: list[int] = []
    for first in range(len(files)):
        if placed[first]:
            continue
        queue = [(left[row], row) for row in _connected(first, imports, importers)]
        heapq.heapify(queue)
        while queue:
            asks, row = heapq.heappop(queue)
            if placed[row] or asks != left[row]:
                continue
            placed[row] = True
            order.append(row)
            for importer in importers[row]:
                if not placed[importer]:
                    left[importer] -= 1
                    heapq.heappush(queue, (left[importer], importer))
    return order


def _connected(first: int, *edges: Sequence[Sequence[int]]) -> set[int]:
    found, open_ = {first}, [first]
    while open_:
        row = open_.pop()
        for other in chain.from_iterable(each[row] for each in edges):
            if other not in found:
                found.add(other)
                open_.append(other)
    return found


class _Tree:
    """Files and folders of a repository by the ends of their paths, for each language."""

    def __init__(self, files: Sequence[Place]) -> None:
        self.files = files
        self.languages = [_language(file.path) for file in files]
        self.stems = [
            _stem(file.path, language) for file, language in zip(files, self.languages, strict=True)
        ]
        self.ends: dict[tuple[str, str], list[int]] = {}
        self.members: dict[tuple[str, str], list[int]] = {}
        self.folders: dict[tuple[str, str], list[str]] = {}
        for row, (stem, language) in enumerate(zip(self.stems, self.languages, strict=True)):
            if language is None:
                continue
            for end in _ends(stem):
                self.ends.setdefault((language, end), []).append(row)
            self.members.setdefault((language, stem.rpartition("/")[0]), []).append(row)
        for language, folder in self.members:
            for end in _ends(folder):
                self.folders.setdefault((language, end), []).append(folder)

    def imported_by(self, row: int) -> set[int]:
        language = self.languages[row]
        if language is None:
            return set()
        found: set[int] = set()
        for pattern in self.files[row].imports:
            for name in pattern.split(ALTERNATIVE):
                rows = self._named(language, name, row)
                if rows:
                    found.update(rows)
                    break
        return found - {row}

    def _named(self, language: str, name: str, row: int) -> list[int]:
        is_whole, name = name.startswith("="), name.removeprefix("=")
        if name.endswith("/"):
            folder = name.rstrip("/")
            if not is_whole:
                folders = self.folders.get((language, folder), [])
                folder = self._nearest(folders, row) or ""
            return self.members.get((language, folder), [])[:MAX_FILES] if folder else []
        rows = self.ends.get((language, name), [])
        if is_whole:
            return [other for other in rows if self.stems[other] == name][:1]
        if language == "python":
            rows = [other for other in rows if not self._is_in_package(other, name)]
        stem = self._nearest([self.stems[other] for other in rows], row)
        return [other for other in rows if self.stems[other] == stem][:1]

    def _is_in_package(self, row: int, name: str) -> bool:
        """Whether a module has a longer name than this, as its folder is a package."""
        above = self.stems[row].removesuffix(name)
        return bool(above) and bool(self._named("python", f"={above}__init__", row))

    def _nearest(self, names: Sequence[str], row: int) -> str | None:
        if not names or len(names) > MAX_FILES:
            return None
        own = self.stems[row].split("/")[:-1]

        def distance(name: str) -> tuple[int, int, str]:
            parts = name.split("/")
            shared = sum(
                1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(own, parts, strict=False))
            )
            return -shared, len(parts), name

        return min(names, key=distance)


def _ends(path: str) -> Iterator[str]:
    while path:
        yield path
        path = path.partition("/")[2]


def _language(path: str) -> str | None:
    name = path.rpartition("/")[2]
    return _EXTENSIONS.get(name.rpartition(".")[2].lower()) if "." in name else None


def _stem(path: str, language: str | None) -> str:
    """Return a path without its extension; C names files with theirs."""
    return path if language in (None, "c") else path.rpartition(".")[0]


def _at(folder: str, name: str) -> str:
    """Return the pattern of a path relative to a folder: `=` for the top of the repository, nothing
    for what is outside of it."""
    path = normpath(f"{folder}/{name}" if folder else name)
    return "" if path.startswith(("..", "/")) else f"={'' if path == '.' else path}"


def _inside(folder: str, name: str) -> str:
    return f"{folder}{name}" if folder in ("", "=") else f"{folder}/{name}"


_PYTHON = re.compile(
    r"^(?:from[ \t]++(\.*)([\w.]*)[ \t]++import[ \t]++(\([^()]{0,5000}\)|[^\n#;]+)"
    r"|import[ \t]++([\w., \t]+))",
    re.MULTILINE,
)


def _python(file: _File, text: str) -> Iterator[str]:
    for dots, module, names, modules in _PYTHON.findall(text):
        for each in modules.split(","):
            yield from _module(each.split()[0].replace(".", "/") if each.split() else "")
        base = module.replace(".", "/")
        if dots:
            base = _at(file.folder, "../" * (len(dots) - 1) + (base or "."))
        if not base:
            continue
        yield from _module(base)
        for each in re.sub(r"#[^\n]*", "", names.strip("()")).split(","):
            name = each.split()[0] if each.split() else ""
            if name.isidentifier():
                yield from _module(_inside(base, name))


def _module(name: str) -> Iterator[str]:
    if name == "=":
        yield "=__init__"
    elif name:
        yield ALTERNATIVE.join((f"{name}/__init__", name))


_SCRIPT = re.compile(
    r"""(?:\bfrom|\bimport|\brequire)\s{0,20}\(?\s{0,20}["'](\.{1,2}(?:/[^"'\n]*)?)["']"""
)
_SCRIPT_ENDS = ("js", "jsx", "ts", "tsx", "mjs", "cjs", "mts", "cts", "vue", "svelte")


def _script(file: _File, text: str) -> Iterator[str]:
    for name in _SCRIPT.findall(text):
        stem, _, extension = name.rpartition(".")
        path = _at(file.folder, stem if extension in _SCRIPT_ENDS else name)
        if path:
            index = _inside(path, "index")
            yield index if path == "=" else ALTERNATIVE.join((path, index))


_JVM = re.compile(r"^[ \t]*+import[ \t]++(?:static[ \t]++)?([\w.]+)(\.\*|\._|\.\{)?", re.MULTILINE)


def _jvm(file: _File, text: str) -> Iterator[str]:
    for name, all_of in _JVM.findall(text):
        path = name.strip(".").replace(".", "/")
        if all_of:
            yield ALTERNATIVE.join((f"{path}/", path))
        elif "/" in path:  # a class, or a member of one
            yield ALTERNATIVE.join((path, path.rpartition("/")[0]))


_INCLUDE = re.compile(
    r"""^[ \t]*+#[ \t]*+(?:include|import)[ \t]*+["<]([^">\n]+)[">]""", re.MULTILINE
)


def _include(file: _File, text: str) -> Iterator[str]:
    for name in _INCLUDE.findall(text):
        elsewhere = "" if name.startswith((".", "/")) else normpath(name)
        yield ALTERNATIVE.join(each for each in (_at(file.folder, name), elsewhere) if each)


_GO = re.compile(r'^import[ \t]*+(?:\(([^()]{0,20000})\)|[\w.]*[ \t]*+("[^"\n]+"))', re.MULTILINE)


def _go(file: _File, text: str) -> Iterator[str]:
    """The rest of an import after the repository's name is a folder."""
    project = file.repository.rpartition("/")[2]
    for block, single in _GO.findall(text):
        for name in re.findall(r'"([^"\n]+)"', block or single):
            parts = name.split("/")
            if project in parts:
                inside = "/".join(parts[parts.index(project) + 1 :])
                yield f"={inside}/" if inside else ""


_MOD = re.compile(r"^[ \t]*+(?:pub(?:\([\w:]+\))?[ \t]++)?mod[ \t]++(\w+)[ \t]*+;", re.MULTILINE)
_USE = re.compile(r"\b(crate|super)::(?:([\w:]+)|\{([^{}]{0,2000})\})")


def _rust(file: _File, text: str) -> Iterator[str]:
    is_top = file.stem in ("mod", "lib", "main")
    own = file.folder if is_top else f"{file.folder}/{file.stem}".lstrip("/")
    source = re.match(r"(.*/)?src(?=/|$)", file.folder)
    for name in _MOD.findall(text):
        yield from _rust_module(_at(own, name))
    top = source.group(0) if source else ""
    for whence, single, several in _USE.findall(text):
        base = top if whence == "crate" else own.rpartition("/")[0]
        for name in (single or several).split(","):
            parts = re.findall(r"\w+", name.partition("{")[0])
            for count in range(len(parts), 0, -1):
                yield from _rust_module(_at(base, "/".join(parts[:count])))


def _rust_module(path: str) -> Iterator[str]:
    if path not in ("", "="):
        yield ALTERNATIVE.join((path, f"{path}/mod"))


_USING = re.compile(
    r"^[ \t]*+(?:global[ \t]++)?using[ \t]++(?:static[ \t]++)?([\w.]+)[ \t]*+;", re.MULTILINE
)


def _csharp(file: _File, text: str) -> Iterator[str]:
    """Namespaces follow folders, often without the first name."""
    for name in _USING.findall(text):
        parts = name.split(".")
        yield ALTERNATIVE.join("/".join(parts[at:]) + "/" for at in range(len(parts)))


_PHP = re.compile(
    r"""^[ \t]*+use[ \t]++(?:function[ \t]++)?\\?([\w\\]+)"""
    r"""|\b(?:require|include)(?:_once)?[ \t(]*+(?:__DIR__[ \t]*+\.[ \t]*+)?["']([^"'\n]+)["']""",
    re.MULTILINE,
)


def _php(file: _File, text: str) -> Iterator[str]:
    for used, required in _PHP.findall(text):
        if used:
            parts = used.split("\\")
            ends = ("/".join(parts[at:]) for at in range(max(1, len(parts) - 1)))
            yield ALTERNATIVE.join(ends)
        else:
            name = required.removesuffix(".php").lstrip("/")
            yield ALTERNATIVE.join(p for p in (_at(file.folder, name), normpath(name)) if p)


_RUBY = re.compile(r"""^[ \t]*+require(_relative)?[ \t(]*+["']([^"'\n]+)["']""", re.MULTILINE)


def _ruby(file: _File, text: str) -> Iterator[str]:
    for relative, name in _RUBY.findall(text):
        name = name.removesuffix(".rb")
        yield _at(file.folder, name) if relative else normpath(name).lstrip("/")


_LANGUAGES: dict[str, Finder] = {
    "python": _python,
    "script": _script,
    "jvm": _jvm,
    "c": _include,
    "go": _go,
    "rust": _rust,
    "csharp": _csharp,
    "php": _php,
    "ruby": _ruby,
}

_EXTENSIONS = {
    **dict.fromkeys(("py", "pyi", "pyx"), "python"),
    **dict.fromkeys(_SCRIPT_ENDS, "script"),
    **dict.fromkeys(("java", "kt", "kts", "scala", "groovy"), "jvm"),
    **dict.fromkeys(("c", "h", "cc", "cpp", "cxx", "hpp", "hh", "hxx", "inl", "ipp"), "c"),
    **dict.fromkeys(("cu", "cuh", "m", "mm"), "c"),
    "go": "go",
    "rs": "rust",
    "cs": "csharp",
    "php": "php",
    "rb": "ruby",
}
