"""Read the text library: everything written by hand that the generator builds from.

Read through `importlib.resources`, so it works from an installed wheel. Folders are walked in
name order; the order of the file system never reaches the output.
"""

import hashlib
import json
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

import yaml

from corpus_assets.core.errors import SourceError

CORPUS_LANGUAGES = ("en", "de", "fr", "es")
WRONG_LANGUAGES = ("it", "pl", "sv", "ja", "ru")

# The C loader is ten times as fast and reads the same values; wheels of PyYAML carry it.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True)
class Section:
    """Sentences on one aspect of a topic; any few of them, in any order, make sense."""

    name: str
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Bank:
    """Sentences for articles on one topic; `{slot}` is replaced by one of the slot's values."""

    lang: str
    topic: str
    register: str
    titles: tuple[str, ...]
    slots: dict[str, tuple[str, ...]]
    sections: tuple[Section, ...]


@dataclass(frozen=True)
class Written:
    """A text that was written whole: an article, a mathematical note, a chapter."""

    slug: str
    lang: str
    title: str
    topic: str
    register: str
    paragraphs: tuple[str, ...]


@dataclass(frozen=True)
class EvalItem:
    """One benchmark question."""

    id: str
    benchmark: str
    text: str
    answer: str


@dataclass(frozen=True)
class Program:
    """A program file; `licence` is its SPDX identifier."""

    name: str  # e.g. tide_table.py
    extension: str
    licence: str
    text: str


@dataclass(frozen=True)
class Library:
    """The whole library in memory, about a megabyte."""

    digest: str  # SHA-256 over names and bytes of every file
    banks: dict[str, tuple[Bank, ...]]  # by language
    articles: dict[str, tuple[Written, ...]]  # by language
    math: tuple[Written, ...]
    book: tuple[Written, ...]
    spam_frames: tuple[str, ...]
    spam_slots: dict[str, tuple[str, ...]]
    snippets: dict[str, dict[str, tuple[str, ...]]]  # by language, then by kind
    questions: tuple[EvalItem, ...]
    code_questions: tuple[EvalItem, ...]
    quote_frames: tuple[str, ...]
    programs: tuple[Program, ...]


def read_library(root: Traversable | None = None) -> Library:
    """Read the library in `root`, or the one that is part of this package."""
    top = root if root is not None else files("corpus_assets.demo") / "library"
    found = _walk(top)
    if not found:
        raise SourceError("the demo text library is empty; reinstall corpus-assets with its data")
    sha = hashlib.sha256()
    for path, data in found.items():
        sha.update(f"{path}\0{len(data)}\0".encode())
        sha.update(data)
    texts = {path: data.decode("utf-8") for path, data in found.items()}
    spam = _yaml(texts, "spam/en.yaml")
    return Library(
        digest=sha.hexdigest(),
        banks=_by_language([_bank(p, t) for p, t in texts.items() if p.startswith("banks/")]),
        articles=_by_language(
            [_written(p, t, p.split("/")[1]) for p, t in texts.items() if p.startswith("articles/")]
        ),
        math=tuple(_written(p, t, "en") for p, t in texts.items() if p.startswith("math/")),
        book=tuple(_written(p, t, "en") for p, t in texts.items() if p.startswith("book/")),
        spam_frames=_strings(spam["frames"]),
        spam_slots=_slots(spam["slots"]),
        snippets={
            p.removeprefix("snippets/").removesuffix(".yaml"): _slots(_yaml(texts, p))
            for p in texts
            if p.startswith("snippets/")
        },
        questions=_items(texts, "evals/questions.jsonl"),
        code_questions=_items(texts, "evals/code.jsonl"),
        quote_frames=_strings(_yaml(texts, "evals/quotes.yaml")["frames"]),
        programs=tuple(_program(p, t) for p, t in texts.items() if p.startswith("code/")),
    )


def _walk(folder: Traversable, prefix: str = "") -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for entry in sorted(folder.iterdir(), key=lambda each: each.name):
        if entry.name.startswith((".", "_")) or entry.name.lower().startswith("readme"):
            continue
        if entry.is_dir():
            found.update(_walk(entry, f"{prefix}{entry.name}/"))
        else:
            # Git may hand out CRLF on some machines; the bytes generated must not follow it.
            found[prefix + entry.name] = entry.read_bytes().replace(b"\r\n", b"\n")
    return found


def _yaml(texts: dict[str, str], path: str) -> dict[str, Any]:
    if path not in texts:
        raise SourceError(f"the demo text library has no {path}; restore the file")
    try:
        value = yaml.load(texts[path], Loader=_LOADER)  # noqa: S506 - both are safe loaders
    except yaml.YAMLError as error:
        raise SourceError(
            f"demo library file {path} is not valid YAML: fix it ({error})"
        ) from error
    if not isinstance(value, dict):
        raise SourceError(f"demo library file {path} should hold a mapping; fix it")
    return value


def _strings(values: Any) -> tuple[str, ...]:
    """Return each value with single blanks; an empty line between paragraphs stays."""
    return tuple(
        "\n\n".join(" ".join(block.split()) for block in str(value).split("\n\n"))
        for value in values
    )


def _slots(value: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    return {str(name): _strings(values) for name, values in value.items()}


def _bank(path: str, text: str) -> Bank:
    value = _yaml({path: text}, path)
    try:
        return Bank(
            lang=path.split("/")[1],
            topic=str(value["topic"]),
            register=str(value["register"]),
            titles=_strings(value["titles"]),
            slots=_slots(value.get("slots") or {}),
            sections=tuple(
                Section(str(section["name"]), _strings(section["sentences"]))
                for section in value["sections"]
            ),
        )
    except (KeyError, TypeError) as error:
        raise SourceError(f"demo library file {path} lacks or misspells {error}; fix it") from error


def _written(path: str, text: str, lang: str) -> Written:
    blocks = [block.strip() for block in text.strip().split("\n\n") if block.strip()]
    head = blocks[0].split("\n") if blocks else []
    if not head or not head[0].startswith("# ") or len(blocks) < 2:
        raise SourceError(f"demo library file {path} needs a '# Title' line and prose; fix it")
    fields = dict(line.split(": ", 1) for line in head[1:] if ": " in line)
    return Written(
        slug=path.rsplit("/", 1)[1].removesuffix(".md"),
        lang=lang,
        title=head[0].removeprefix("# ").strip(),
        topic=fields.get("topic", path.split("/")[0]),
        register=fields.get("register", "prose"),
        paragraphs=tuple(blocks[1:]),
    )


def _items(texts: dict[str, str], path: str) -> tuple[EvalItem, ...]:
    items = []
    for number, line in enumerate(texts.get(path, "").splitlines(), 1):
        try:
            value = json.loads(line)
            text = str(value["text"])
            answer = str(value["answer"])
            items.append(EvalItem(str(value["id"]), str(value["benchmark"]), text, answer))
        except (ValueError, KeyError, TypeError) as error:
            raise SourceError(f"demo library file {path} line {number}: {error}; fix it") from error
    return tuple(items)


def _program(path: str, text: str) -> Program:
    name = path.removeprefix("code/").removesuffix(".txt")
    marker = "SPDX-License-Identifier:"
    at = text.find(marker)
    if at < 0:
        raise SourceError(f"demo library file {path} has no '{marker}' line; add one")
    licence = text[at + len(marker) :].split()[0]
    return Program(name, name.rsplit(".", 1)[-1], licence, text)


def _by_language(entries: list[Any]) -> dict[str, tuple[Any, ...]]:
    grouped: dict[str, list[Any]] = {}
    for entry in entries:
        grouped.setdefault(entry.lang, []).append(entry)
    return {lang: tuple(grouped[lang]) for lang in sorted(grouped)}
