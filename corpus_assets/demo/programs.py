"""Variants of the library's programs: other names, other constants, another order.

A variant is a program that somebody could have written for the same task. Only names that the
file itself defines are changed, everywhere alike, so that a variant still parses.
"""

import re

from corpus_assets.demo.draw import Draw
from corpus_assets.demo.library import Program

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
    """One honest variation of a program."""
    head, mark, body = _split_header(program.text)
    if program.extension in ("py", "js", "ts", "rs") and draw.chance(70):
        body = _reorder(body, draw)
    body = _rename(body, program.extension, draw)
    body = _NUMBER.sub(lambda match: str(int(match.group(1)) + draw.between(1, 40)), body)
    return head + mark + body


def near_copy(text: str, repo: str) -> str:
    """The same file with one more comment in its header, as a fork would leave it."""
    head, mark, body = _split_header(text)
    lines = head.split("\n")
    licence_line = next(line for line in lines if "SPDX-License-Identifier" in line)
    at = lines.index(licence_line)
    note = licence_line[: licence_line.index("SPDX")] + f"Taken over from upstream by {repo}."
    note += next((f" {end}" for end in ("*/", "-->") if end in licence_line), "")
    return "\n".join([*lines[: at + 1], note, *lines[at + 1 :]]) + mark + body


def relicensed(text: str, licence: str) -> str:
    """The file with another licence in its header."""
    return re.sub(r"(SPDX-License-Identifier:\s*)\S+", rf"\g<1>{licence}", text, count=1)


def minified(program: Program) -> str:
    """All of a program on one line, comments gone, as a bundler leaves it."""
    kept = []
    for line in program.text.split("\n"):
        stripped = re.sub(r"\s*(?://|#|--|\*|/\*).*$", "", line).strip()
        if stripped:
            kept.append(stripped)
    one_line = re.sub(r"\s*([{}();,=+<>:])\s*", r"\1", ";".join(kept))
    return f"/* SPDX-License-Identifier: {program.licence} */" + one_line * 3 + "\n"


def generated_table(licence: str, draw: Draw) -> str:
    """A file that a program wrote: a table of numbers and a warning not to edit it."""
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
    """The first comment block with its licence, the blank line after it, and the rest."""
    at = text.find("\n\n", text.find("SPDX-License-Identifier"))
    if at < 0:
        at = text.find("\n", text.find("SPDX-License-Identifier"))
    return text[:at], "\n", text[at + 1 :]


def _reorder(body: str, draw: Draw) -> str:
    """Functions of the top level in another order, each in a place where one stood before."""
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
