"""Write the sources beside the web: code, books, mathematics, synthetic texts.

Programs are variants of the library's: other names, other constants, another order, as another
author could have written for the same task. Only names that the file itself defines are changed,
everywhere alike, so that a variant still parses.
"""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

from corpus_assets.core.errors import SourceError
from corpus_assets.demo import plan
from corpus_assets.demo.compose import Article, compose, jaccard
from corpus_assets.demo.draw import Draw
from corpus_assets.demo.library import EvalItem, Library, Program
from corpus_assets.demo.plan import EXPECT, Entry
from corpus_assets.demo.sites import AUTHORS
from corpus_assets.demo.texts import digest_of
from corpus_assets.demo.warc import gzip_member
from corpus_assets.demo.web import math_key

LANGUAGES = {
    "py": "Python", "js": "JavaScript", "ts": "TypeScript", "go": "Go", "rs": "Rust", "c": "C",
    "h": "C", "cpp": "C++", "cc": "C++", "hpp": "C++", "java": "Java", "kt": "Kotlin",
    "rb": "Ruby", "pl": "Perl", "php": "PHP", "lua": "Lua", "sh": "Shell", "sql": "SQL",
    "r": "R", "jl": "Julia", "hs": "Haskell", "ml": "OCaml", "scala": "Scala", "cs": "C#",
    "swift": "Swift", "css": "CSS", "html": "HTML",
}  # fmt: skip

_DEFINED = re.compile(
    r"\b(?:def|class|fn|func|function|struct|enum|trait|interface|type|let|const|var|mut|local"
    r"|sub|CREATE TABLE|CREATE VIEW)\s+(?:mut\s+)?([A-Za-z_]\w*)"
    r"|^\s*([a-z_]\w*)(?:\s*:[^=\n]+)? (?:=|:=|<-) "
    r"|\bfor\s+(?:\(?(?:let|const|var|my|local)?\s*)?([a-z_]\w*)"
    r"|\b(?:void|int|long|char|float|double|bool|size_t|string|u?int\d+_t|FILE|boolean)\b"
    r"[ *\[\]]+([a-z_]\w*)",
    re.MULTILINE,
)
_CALLABLE = re.compile(
    r"\b(?:def|class|fn|func|function|struct|enum|trait|interface|type|sub)\s+([A-Za-z_]\w*)"
)
_WORD = re.compile(r"(?<![\w@%\\])([A-Za-z_]\w*)")
_NUMBER = re.compile(r"(?<![\w.\"'#-])([1-9]\d{2,4})(?![\w.\"'])")
_DEFINED_IN = {
    "sh": re.compile(
        r"(?:^|\blocal |\bexport |\breadonly |\$[0-9] |;)\s*([a-z_]\w*)(?:=|\(\))"
        r"|\bread (?:-r )?([a-z_]\w*)",
        re.MULTILINE,
    ),
    "sql": re.compile(
        r"^\s+([a-z_]\w*)\s+(?:TEXT|REAL|INTEGER|INT|NUMERIC|DECIMAL|DATE|VARCHAR|BOOLEAN)\b"
        r"|\bAS\s+([a-z_]\w*)|\b([a-z_]\w*)\s+AS\s+\(|\bTABLE\s+([a-z_]\w*)",
        re.MULTILINE,
    ),
}
_MEMBERS_FOLLOW_DOTS = ("c", "h", "cpp", "go", "sql")
_IMPORT = re.compile(r"\s*(?:#include|import |from \S+ import|use |package |require)")
_FIRST_OF_FUNCTION = re.compile(r"(?:def|fn|pub fn|function|async function|sub) ")
_KEPT = frozenset((
    "unsigned", "signed", "long", "short", "float", "struct", "enum", "union", "static", "errno",
    "sizeof", "typedef", "stdin", "stdout", "stderr", "func", "make", "append", "where", "match",
    "impl", "async", "await", "public", "private", "final", "main", "self", "this", "init", "new",
    "String", "None", "True", "False", "true", "false", "null", "nil", "and", "not", "for", "while",
    "if", "else", "return", "import", "from", "with", "print", "const", "let", "var", "def",
    "class", "type", "int", "char", "double", "bool", "void", "size_t", "string", "error", "usize",
    "test", "setup", "args", "argv", "argc", "std", "len", "map", "set", "list", "str", "dict",
    "range", "Some", "Ok", "Err", "Item", "next", "iter", "fmt", "into", "clone", "default", "key",
    "get", "put", "push", "pop", "done", "select", "table",
))  # fmt: skip
_EXTRA_WORDS = (
    "local", "base", "raw", "next", "item", "plan", "core", "step", "known", "plain", "inner",
    "given", "first", "total", "draft", "field", "north", "small", "wide", "spare",
)  # fmt: skip


def variant(program: Program, draw: Draw) -> str:
    """Vary a program in one way."""
    head, mark, body = _split_header(program.text)
    if program.extension in ("py", "js", "ts", "rs") and draw.chance(70):
        body = _reorder(body, draw)
    body = _rename(body, program.extension, draw)
    body = _NUMBER.sub(lambda match: str(int(match.group(1)) + draw.between(1, 40)), body)
    return head + mark + body


def near_copy(text: str, repo: str) -> str:
    """Return the same file with one more comment in its header, as a fork would leave it."""
    head, mark, body = _split_header(text)
    lines = head.split("\n")
    licence_line = next(line for line in lines if "SPDX-License-Identifier" in line)
    at = lines.index(licence_line)
    note = licence_line[: licence_line.index("SPDX")] + f"Taken over from upstream by {repo}."
    note += next((f" {end}" for end in ("*/", "-->") if end in licence_line), "")
    return "\n".join([*lines[: at + 1], note, *lines[at + 1 :]]) + mark + body


def relicensed(text: str, licence: str) -> str:
    """Return the file with another licence in its header."""
    return re.sub(r"(SPDX-License-Identifier:\s*)\S+", rf"\g<1>{licence}", text, count=1)


def minified(program: Program) -> str:
    """Return all of a program on one line, comments gone, as a bundler leaves it."""
    kept = []
    for line in program.text.split("\n"):
        stripped = re.sub(r"\s*(?://|#|--|\*|/\*).*$", "", line).strip()
        if stripped:
            kept.append(stripped)
    one_line = re.sub(r"\s*([{}();,=+<>:])\s*", r"\1", ";".join(kept))
    return f"/* SPDX-License-Identifier: {program.licence} */" + one_line * 3 + "\n"


def generated_table(licence: str, draw: Draw) -> str:
    """Return a file that a program wrote: a table of numbers and a warning not to edit it."""
    rows = [
        "    " + ", ".join(f"0x{draw.bits64() & 0xFFFFFFFF:08x}" for _ in range(40)) + ","
        for _ in range(60)
    ]
    return (
        f"// SPDX-License-Identifier: {licence}\n"
        "// Code generated by tablegen. DO NOT EDIT.\n"
        "static const unsigned int table[] = {\n" + "\n".join(rows) + "\n};\n"
    )


def _split_header(text: str) -> tuple[str, str, str]:
    """Return the first comment block with its licence, the blank line after it, and the rest."""
    at = text.find("\n\n", text.find("SPDX-License-Identifier"))
    if at < 0:
        at = text.find("\n", text.find("SPDX-License-Identifier"))
    return text[:at], "\n", text[at + 1 :]


def _reorder(body: str, draw: Draw) -> str:
    """Functions of the top level in another order, each in the place of another."""
    blocks = re.split(r"\n\n(?=\S)", body)
    places = [at for at, block in enumerate(blocks) if _is_movable(block)]
    moved = [blocks[at] for at in places]
    draw.shuffle(moved)
    for at, block in zip(places, moved, strict=True):
        blocks[at] = block
    return "\n\n".join(blocks)


def _is_movable(block: str) -> bool:
    return bool(_FIRST_OF_FUNCTION.match(block)) and not block.startswith(("def main", "fn main"))


def _rename(body: str, extension: str, draw: Draw) -> str:
    """New names for what the body defines.

    A name after a dot may be a library's method of the same name and is left alone, unless the
    file defines a method like it, or the language keeps members of its own structs there.
    """
    patterns = [_DEFINED, *([_DEFINED_IN[extension]] if extension in _DEFINED_IN else [])]
    matches = [match for pattern in patterns for match in pattern.finditer(body)]
    defined = {name for match in matches for name in match.groups() if name}
    methods = {match.group(1) for match in _CALLABLE.finditer(body)}
    lines = body.split("\n")
    imported = {word for line in lines if _IMPORT.match(line) for word in _WORD.findall(line)}
    new_names: dict[str, str] = {}
    for name in sorted(defined - imported):
        if name[0].isupper() and not name.isupper() and name not in methods:
            continue  # a pattern or a type of a library, as in `let Some(x)`
        if len(name) >= 3 and name not in _KEPT and not (name[:2] == "__" or name[-2:] == "_t"):
            new_names[name] = _new_name(name, draw.choice(_EXTRA_WORDS))

    def rename(match: re.Match[str]) -> str:
        name = match.group(1)
        before = match.string[: match.start()]
        is_member = before.endswith(".") and not before.endswith("..")
        if is_member and extension not in _MEMBERS_FOLLOW_DOTS and name not in methods:
            return name
        return new_names.get(name, name)

    return "\n".join(line if _IMPORT.match(line) else _WORD.sub(rename, line) for line in lines)


def _new_name(name: str, word: str) -> str:
    if name.isupper():
        return f"{word.upper()}_{name}"
    if name[:1].isupper():
        return word.capitalize() + name
    if "_" in name or name.islower():
        return f"{name}_{word}"
    return name + word.capitalize()


PROPRIETARY = "LicenseRef-Proprietary"
MAX_LIKENESS = 0.6  # 5-gram Jaccard of two files that are not meant as duplicates

_OWNERS = (
    "harbour-tools", "lanternworks", "mosscode", "plainlathe", "tidewheel", "ferncode",
    "opencanal", "quietbits", "saltrow", "hedgelab",
)  # fmt: skip
_FOLDERS = ("src", "lib", "tools", "core", "internal/util", "pkg", "examples", "scripts")

Row = dict[str, Any]


def write_code(library: Library, out: Path) -> list[Entry]:
    """`code/code-2024-03.jsonl.gz`: path, language, licence, repo, text. The path is the key."""
    file = f"code/{plan.CODE_SNAPSHOT}.jsonl.gz"
    rows: list[Row] = []
    entries: list[Entry] = []
    for row, entry in _code_files(library, file):
        rows.append(row)
        entries.append(entry)
    order = Draw("code order").sample(range(len(rows)), len(rows))
    _write(out / file, gzip_member(json_lines(rows[at] for at in order)))
    return [entries[at] for at in order]


def write_books(library: Library, out: Path) -> list[Entry]:
    """`books/books-2024-01.parquet`: id, title, author, licence, text."""
    file = f"books/{plan.BOOKS_SNAPSHOT}.parquet"
    rows: list[Row] = []
    entries: list[Entry] = []

    def add(row: Row, *planted: str, of: str | None = None, note: str = "") -> None:
        entry = Entry(plan.BOOKS_SNAPSHOT, file, row["id"], "en", "books", list(planted), of)
        entry.expect = EXPECT[planted[0]] if planted else None
        entry.note = note
        entries.append(entry)
        rows.append(row)

    for chapter in library.book:
        draw = Draw("book", chapter.slug)
        pieces = _pieces(chapter.paragraphs, draw.between(2, 3))
        for number, text in enumerate(pieces, 1):
            key = f"{chapter.slug}-{number}"
            add(_book(key, f"{chapter.title} ({number})", "CC0-1.0", text))
    originals = Draw("book copies").sample(range(len(rows)), plan.BOOK_COPIES)
    for number, at in enumerate(originals):
        original = rows[at]
        key = f"reprint-{original['id']}"
        text = original["text"]
        if number % 2:
            text += "\n\nReprinted without changes."
        note = f"jaccard {jaccard(original['text'], text):.3f}"
        add(_book(key, original["title"], "CC0-1.0", text), "mirror", of=original["id"], note=note)
        entries[at].group = entries[-1].group = f"group-book-{original['id']}"
    banks = library.banks["en"]
    for number in range(plan.BOOK_PROPRIETARY):
        draw = Draw("proprietary book", number)
        article = compose(banks[number % len(banks)], draw, f"book-{number}")
        row = _book(f"trade-book-{number}", article.title, PROPRIETARY, article.text())
        add(row, "proprietary_licence")
    path = out / file
    path.parent.mkdir(parents=True, exist_ok=True)
    schema = pa.schema(
        [(name, pa.string()) for name in ("id", "title", "author", "licence", "text")]
    )
    table = pa.Table.from_pylist(rows, schema=schema)
    pq.write_table(table, path, compression="zstd", compression_level=3)
    return entries


def write_math(library: Library, out: Path) -> list[Entry]:
    """`math/math-2024-04.jsonl`: id, licence, text. The web has the same notes as pages."""
    file = f"math/{plan.MATH_SNAPSHOT}.jsonl"
    rows: list[Row] = []
    entries: list[Entry] = []
    for note in library.math:
        text = "\n\n".join((note.title, *note.paragraphs))
        key = math_key(note.slug)
        rows.append({"id": key, "licence": "CC-BY-4.0", "text": text})
        entry = Entry(plan.MATH_SNAPSHOT, file, key, "en", "math", [])
        entry.group = f"group-math-{note.slug}"
        entries.append(entry)
    _write(out / file, json_lines(rows))
    return entries


def write_synthetic(parents: list[tuple[str, Article]], out: Path) -> list[Entry]:
    """`synthetic/synthetic-2024-06.jsonl.zst`: texts made of sentences of planted articles."""
    file = f"synthetic/{plan.SYNTHETIC_SNAPSHOT}.jsonl.zst"
    rows: list[Row] = []
    entries: list[Entry] = []
    chosen = Draw("synthetic parents").sample(parents, len(parents))
    taken = 0
    for number in range(plan.SYNTHETIC_TEXTS):
        count = 2 if number % 4 == 0 else 1
        mine = [chosen[(taken + step) % len(chosen)] for step in range(count)]
        taken += count
        draw = Draw("synthetic", number)
        key = f"synthetic-{number:04}"
        urls = [url for url, _ in mine]
        rows.append(
            {
                "id": key,
                "generator": f"demo-composer-{1 + number % 2}",
                "licence": "CC-BY-4.0",
                "derived_from": urls,
                "text": digest_of([article for _, article in mine], draw),
            }
        )
        entry = Entry(plan.SYNTHETIC_SNAPSHOT, file, key, "en", "synthetic", ["synthetic"])
        entry.of = urls[0]
        entry.note = "derived from " + " and ".join(urls)
        entries.append(entry)
    # One thread and no content size from a stream: the same bytes for the same library version.
    _write(out / file, zstandard.ZstdCompressor(level=6).compress(json_lines(rows)))
    return entries


def json_lines(rows: Iterable[Row]) -> bytes:
    """Write one JSON object a line, UTF-8, keys as given."""
    return b"".join(json.dumps(row, ensure_ascii=False).encode("utf-8") + b"\n" for row in rows)


def _code_files(library: Library, file: str) -> Iterator[tuple[Row, Entry]]:
    """Originals, variants, copies, generated files; `plan.CODE_FILES` in all."""
    special = (
        plan.CODE_EXACT_COPIES + plan.CODE_NEAR_COPIES + plan.CODE_PROPRIETARY + plan.CODE_GENERATED
    )
    programs = [each for each in library.programs if each.licence != PROPRIETARY]
    closed = [each for each in library.programs if each.licence == PROPRIETARY]
    written: dict[str, list[str]] = {each.name: [] for each in programs}
    quotes = Draw("code quotes").sample(library.code_questions, plan.CODE_EVAL_QUOTES)
    plain: list[tuple[Row, Entry]] = []
    for number in range(plan.CODE_FILES - special):
        draw = Draw("code", number)
        if number < len(programs):
            program, text = programs[number], programs[number].text
        else:
            program, text = _new_variant(programs, number, written)
        written[program.name].append(text)
        pair = _code_row(program, text, number, file)
        if program.extension == "py" and draw.chance(20) and len(quotes) > 0:
            _quote_in_code(pair, quotes.pop())
        plain.append(pair)
        yield pair
    copied = [pair for pair in plain if pair[1].expect is None]
    sources = Draw("code copies").sample(copied, plan.CODE_EXACT_COPIES + plan.CODE_NEAR_COPIES)
    number = len(plain)
    for index, (row, entry) in enumerate(sources):
        repo = _repo(number)
        exact = index < plan.CODE_EXACT_COPIES
        text = row["text"] if exact else near_copy(row["text"], repo)
        copy, copy_entry = _row(row, text, repo, number, file)
        _plant(copy_entry, "code_duplicate", f"jaccard {jaccard(row['text'], text):.3f}")
        copy_entry.of = entry.key
        entry.group = copy_entry.group = f"group-code-{entry.key}"
        number += 1
        yield copy, copy_entry
    for index in range(plan.CODE_PROPRIETARY):
        program = closed[index] if index < len(closed) else programs[index % len(programs)]
        draw = Draw("proprietary code", index)
        text = program.text if index < len(closed) else variant(program, draw)
        text = relicensed(text, PROPRIETARY)
        row, entry = _code_row(program, text, number, file)
        row["licence"] = PROPRIETARY
        number += 1
        yield row, _plant(entry, "proprietary_licence")
    for index in range(plan.CODE_GENERATED):
        program = programs[index % len(programs)]
        draw = Draw("generated code", index)
        text = minified(program) if index % 2 else generated_table(program.licence, draw)
        name = f"bundle{index}.min.js" if index % 2 else f"table{index}.c"
        made = Program(name, name.rsplit(".", 1)[1], program.licence, text)
        row, entry = _code_row(made, text, number, file)
        number += 1
        yield row, _plant(entry, "generated_code", "minified" if index % 2 else "table")


def _new_variant(
    programs: list[Program], number: int, written: dict[str, list[str]]
) -> tuple[Program, str]:
    """Return the next program with a variant that no file before it could be taken for."""
    for step in range(len(programs)):
        program = programs[(number + step) % len(programs)]
        text = variant(program, Draw("code", number, step))
        if all(jaccard(text, other) < MAX_LIKENESS for other in written[program.name]):
            return program, text
    raise SourceError("the demo library's programs allow too few variants; add some programs")


def _quote_in_code(pair: tuple[Row, Entry], item: EvalItem) -> None:
    """Append a whole benchmark task and its solution to a program."""
    row, entry = pair
    row["text"] = row["text"].rstrip("\n") + f"\n\n\n{item.text}{item.answer}".rstrip("\n") + "\n"
    entry.eval_items = [item.id]
    _plant(entry, "eval_quote")


def _plant(entry: Entry, phenomenon: str, note: str = "") -> Entry:
    entry.planted.append(phenomenon)
    entry.expect = EXPECT[phenomenon]
    entry.note = note
    return entry


def _code_row(program: Program, text: str, number: int, file: str) -> tuple[Row, Entry]:
    row = {
        "path": program.name,
        "language": LANGUAGES.get(program.extension, program.extension),
        "licence": program.licence,
    }
    return _row(row, text, _repo(number), number, file)


def _row(like: Row, text: str, repo: str, number: int, file: str) -> tuple[Row, Entry]:
    name = like["path"].rsplit("/", 1)[-1]
    # The path begins with its repository and is the key: no two files share it.
    path = f"{repo}/{Draw('folder', number).choice(_FOLDERS)}/{name}"
    row = {
        "path": path,
        "language": like["language"],
        "licence": like["licence"],
        "repo": repo,
        "text": text,
    }
    return row, Entry(plan.CODE_SNAPSHOT, file, path, "code", "code", [])


def _repo(number: int) -> str:
    return f"{_OWNERS[number % len(_OWNERS)]}/project-{number:03}"


def _book(key: str, title: str, licence: str, text: str) -> Row:
    author = Draw("book author").choice(AUTHORS)
    return {"id": key, "title": title, "author": author, "licence": licence, "text": text}


def _pieces(paragraphs: tuple[str, ...], count: int) -> list[str]:
    """Consecutive paragraphs in `count` pieces of about the same number."""
    size = -(-len(paragraphs) // count)
    return ["\n\n".join(paragraphs[at : at + size]) for at in range(0, len(paragraphs), size)]


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
