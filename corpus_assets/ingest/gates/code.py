"""Source files: their programming language, and gates for what nobody or somebody else wrote."""

import re
from functools import lru_cache
from types import MappingProxyType

from pydantic import Field

from corpus_assets.core.identity import Settings
from corpus_assets.ingest.records import Refusal

# The programming language of a file, by its name, and by its first line where it has no suffix
# (an interpreter after `#!`, or an editor's `-*- mode -*-`).
#
# Where several languages share a suffix the commoner one stands here, and a word of the text
# decides the rest (`.h`, `.m`, `.pl`, `.v`, `.ts`).

_BY_LANGUAGE = {
    "Ada": "adb ads",
    "Agda": "agda",
    "Assembly": "asm s nasm",
    "Astro": "astro",
    "AWK": "awk",
    "Batchfile": "bat cmd",
    "C": "c h",
    "C#": "cs csx",
    "C++": "cc cpp cxx c++ hh hpp hxx h++ ipp inl tcc",
    "Clojure": "clj cljs cljc edn",
    "CMake": "cmake",
    "COBOL": "cob cbl cobol",
    "CoffeeScript": "coffee",
    "Common Lisp": "lisp lsp cl asd",
    "Coq": "",
    "Crystal": "cr",
    "CSS": "css",
    "Cuda": "cu cuh",
    "Cython": "pyx pxd pxi",
    "D": "d",
    "Dart": "dart",
    "Dhall": "dhall",
    "Dockerfile": "dockerfile",
    "Elixir": "ex exs",
    "Elm": "elm",
    "Emacs Lisp": "el",
    "Erlang": "erl hrl",
    "F#": "fs fsi fsx",
    "Fortran": "f f77 f90 f95 f03 f08 for",
    "GLSL": "glsl vert frag",
    "Go": "go",
    "GraphQL": "graphql gql",
    "Groovy": "groovy gradle",
    "Haskell": "hs lhs",
    "HCL": "hcl tf tfvars",
    "HTML": "html htm xhtml",
    "Idris": "idr",
    "Java": "java",
    "JavaScript": "js mjs cjs jsx",
    "JSON": "json",
    "Julia": "jl",
    "Jupyter Notebook": "ipynb",
    "Kotlin": "kt kts",
    "Lean": "lean",
    "Less": "less",
    "Literate Agda": "lagda",
    "Lua": "lua",
    "Makefile": "mk mak",
    "Markdown": "md markdown",
    "MATLAB": "matlab",
    "Nim": "nim nims",
    "Nix": "nix",
    "Objective-C": "m",
    "Objective-C++": "mm",
    "OCaml": "ml mli",
    "Pascal": "pas pp dpr",
    "Perl": "pl pm t",
    "PHP": "php phtml php5",
    "PowerShell": "ps1 psm1 psd1",
    "Prolog": "pro prolog",
    "Protocol Buffer": "proto",
    "PureScript": "purs",
    "Python": "py pyi pyw",
    "R": "r rmd",
    "Racket": "rkt",
    "reStructuredText": "rst",
    "Ruby": "rb rake gemspec ru",
    "Rust": "rs",
    "Sass": "sass",
    "Scala": "scala sc sbt",
    "Scheme": "scm ss sld",
    "SCSS": "scss",
    "Shell": "sh bash zsh ksh fish",
    "Solidity": "sol",
    "SPARQL": "sparql rq",
    "SQL": "sql",
    "Stan": "stan",
    "Standard ML": "sml sig fun",
    "Svelte": "svelte",
    "Swift": "swift",
    "SystemVerilog": "sv svh",
    "Tcl": "tcl tk",
    "TeX": "tex sty cls bib ltx",
    "Thrift": "thrift",
    "TOML": "toml",
    "TypeScript": "ts mts cts tsx",
    "Verilog": "v vh",
    "VHDL": "vhd vhdl",
    "Vim Script": "vim",
    "Visual Basic": "vb bas vba",
    "Vue": "vue",
    "WebAssembly": "wat wast",
    "XML": "xml xsd xsl xslt",
    "YAML": "yaml yml",
    "Zig": "zig",
}
BY_SUFFIX = MappingProxyType(
    {suffix: name for name, suffixes in _BY_LANGUAGE.items() for suffix in suffixes.split()}
)
BY_NAME = MappingProxyType(
    {
        "brewfile": "Ruby", "build": "Starlark", "build.bazel": "Starlark", "cmakelists.txt": "CMake",
        "configure.ac": "M4", "containerfile": "Dockerfile", "dockerfile": "Dockerfile",
        "gemfile": "Ruby", "gnumakefile": "Makefile", "jenkinsfile": "Groovy", "justfile": "Just",
        "makefile": "Makefile", "makefile.am": "Makefile", "makefile.in": "Makefile",
        "meson.build": "Meson", "meson_options.txt": "Meson", "podfile": "Ruby",
        "rakefile": "Ruby", "sconstruct": "Python", "snakefile": "Python", "vagrantfile": "Ruby",
        "workspace": "Starlark", "wscript": "Python", ".bashrc": "Shell", ".profile": "Shell",
        ".vimrc": "Vim Script",
    }
)  # fmt: skip
_BY_INTERPRETER = {
    "ash": "Shell", "awk": "AWK", "bash": "Shell", "dash": "Shell", "deno": "TypeScript",
    "escript": "Erlang", "fish": "Shell", "gawk": "AWK", "groovy": "Groovy", "guile": "Scheme",
    "julia": "Julia", "ksh": "Shell", "lua": "Lua", "make": "Makefile", "node": "JavaScript",
    "ocaml": "OCaml", "perl": "Perl", "php": "PHP", "pwsh": "PowerShell", "python": "Python",
    "racket": "Racket", "rscript": "R", "ruby": "Ruby", "runhaskell": "Haskell",
    "sbcl": "Common Lisp", "scala": "Scala", "sh": "Shell", "shell-script": "Shell", "swift": "Swift", "tclsh": "Tcl",
    "ts-node": "TypeScript", "wish": "Tcl", "zsh": "Shell",
}  # fmt: skip
_SHEBANG = re.compile(
    r"#![ \t]*(?:\S{0,200}/)?(?:env[ \t]+(?:-S[ \t]+)?)?([A-Za-z_-]{1,32})[0-9.]{0,8}(?:\s|\Z)"
)
_MODE_LINE = re.compile(
    r"[^\n]{0,200}-\*-[ \t]{0,8}(?:mode:[ \t]{0,8})?([A-Za-z0-9_+-]{1,32})[; \t]{0,8}-\*-"
)
SCAN_CHARS = 1 << 16

_OTHERWISE = {
    "h": (
        re.compile(
            r"^[ \t]{0,8}(?:class|namespace|template)\b|\bstd::|^[ \t]{0,8}(?:public|private):", re.M
        ),
        "C++",
    ),
    "m": (re.compile(r"^[ \t]{0,8}(?:function\b|%|end[ \t]{0,8}$)", re.M), "MATLAB"),
    "pl": (re.compile(r"^[ \t]{0,8}:-|^[a-z]\w{0,64}\([^\n]{0,200}\)[ \t]{0,8}(?::-|\.)", re.M), "Prolog"),
    "v": (re.compile(r"^[ \t]{0,8}(?:Require|Proof|Qed|Theorem|Lemma|Inductive)\b", re.M), "Coq"),
}  # fmt: skip
_OBJECTIVE = re.compile(r"^[ \t]{0,8}(?:@(?:interface|implementation|import|end)|#import)\b", re.M)


def suffix_of(path: str) -> str:
    """Return the last suffix of a file's name in lower case, empty where it has none."""
    name = path.rpartition("/")[2]
    stem, dot, suffix = name.rpartition(".")
    return suffix.lower() if dot and stem else ""


def language_of(path: str, text: str) -> str | None:
    """Return the language of a file, or None where its name and first line tell nothing."""
    name = path.rpartition("/")[2].lower()
    suffix = suffix_of(path)
    found = BY_NAME.get(name) or BY_SUFFIX.get(suffix)
    if found is None:
        return _interpreter(text) if not suffix else None
    if suffix == "ts" and text.lstrip()[:5] == "<?xml":
        return "XML"  # translations of Qt programs
    if suffix == "h" and _OBJECTIVE.search(text, 0, SCAN_CHARS):
        return "Objective-C"
    if suffix in _OTHERWISE:
        pattern, other = _OTHERWISE[suffix]
        is_objective = suffix == "m" and _OBJECTIVE.search(text, 0, SCAN_CHARS)
        is_perl = suffix == "pl" and text[:2] == "#!"
        if not is_objective and not is_perl and pattern.search(text, 0, SCAN_CHARS):
            return other
    return found


def _interpreter(text: str) -> str | None:
    found = _SHEBANG.match(text) or _MODE_LINE.match(text)
    return _BY_INTERPRETER.get(found[1].lower()) if found else None


# Gates for source files: what nobody wrote, and what somebody else wrote.
#
# | reason | what is wrong |
# |---|---|
# | `vendored_path` | a copy of another project's code, by its path |
# | `unknown_file_type` | neither its name nor its first line says what it is |
# | `unwanted_language` | not a language the recipe asks for |
# | `generated_file` | written by a program: by its name, a marker at its top, or mostly data |
# | `minified` | made short for machines: endless lines, hardly a letter |
#
# The bounds on lines and letters are those of The Stack and StarCoder (Kocetkov et al. 2022; Li et
# al. 2023, section 3.1). Cost: a few passes over the text, about 20 ns a character; every pattern is
# linear.

MARKER_CHARS = 3000
MARKER_LINES = 30

_GENERATED_NAMES = re.compile(
    r"(?:^|/)(?:package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|composer\.lock|"
    r"Cargo\.lock|Gemfile\.lock|poetry\.lock|Pipfile\.lock|go\.sum|flake\.lock)$|"
    r"(?:\.pb\.(?:go|cc|h|c)|_pb2(?:_grpc)?\.pyi?|\.pb\.swift|\.g\.dart|\.freezed\.dart|"
    r"\.designer\.cs|\.g\.cs|\.generated\.[a-z]{1,5}|_generated\.[a-z]{1,5}|zz_generated\.[^/]{1,80}|"
    r"\.bundle\.js|\.js\.map|\.css\.map)$",
    re.IGNORECASE,
)
_MINIFIED_NAMES = re.compile(r"[.-]min\.(?:js|mjs|css)$", re.IGNORECASE)
_COMMENT = re.compile(r"\s{0,32}(?:#|//|/?\*|--|;|%|<!--|\"\"\"|\'|\"|REM\b)", re.IGNORECASE)
_MARKERS = re.compile(
    r"@generated\b|"
    r"\b(?:file|code|source|module|document|content) (?:is|was|has been) "
    r"(?:automatically |auto-?|auto |)generated\b|"
    r"\b(?:file|code) (?:automatically |auto-?|auto |)generated (?:by|from|with|using)\b|"
    r"\b(?:automatically |auto-?|auto )generated (?:file|code|by|from|with|using)\b|"
    r"\bgenerated (?:file|code)\b|"
    r"\bgenerated by (?:the protocol buffer compiler|protoc|swig|bison|flex|antlr|thrift|cython|"
    r"gnu autoconf|autoconf|automake|cmake|openapi|swagger|javacc|ragel|lemon)\b"
)
_WARNING = re.compile(r"\b(?:do not|don't|must not be) (?:edit|modify|change|edited|modified)\b")
_ENCODED = re.compile(r"[A-Za-z0-9+/=]{64,}")
_ESCAPED = re.compile(r"(?:\\x[0-9a-fA-F]{2}){8,}|(?:\\u[0-9a-fA-F]{4}){8,}")
_NUMBERS = re.compile(
    r"\b0x[0-9a-fA-F]{1,16}[uUlL]{0,3}\b[,;\s]{0,8}|"
    r"(?<![\w.])-?\d{1,20}(?:\.\d{1,20})?[fF]?\s?,\s{0,8}"
)
_DIGITS = b"0123456789"
FEW_DIGITS = 0.15  # below this share no list of numbers fills half a file
_LETTERS = bytes(byte for byte in range(256) if byte > 127 or chr(byte).isalnum())


class CodeSettings(Settings):
    """Which source files are let in. Bounds on lines and letters hold for all but data formats."""

    languages: tuple[str, ...] | None = Field(
        default=None, description="languages to keep, as named in `code_languages`; None: all known"
    )
    vendored: tuple[str, ...] = Field(
        default=(
            "vendor", "vendored", "third_party", "third-party", "thirdparty", "node_modules",
            "bower_components", "site-packages", "Godeps", "Pods", "Carthage", "external_libs",
            "deps/*/src", ".git",
        ),
        description="names of folders, or patterns for paths, that hold other projects' code",
    )  # fmt: skip
    generated: bool = Field(default=True, description="drop files that a program wrote")
    max_line_chars: int = Field(default=1000, ge=1, description="of the longest line")
    max_mean_line_chars: int = Field(default=100, ge=1, description="of all lines")
    min_alphanumeric_share: float = Field(
        default=0.25, ge=0, le=1, description="of bytes; letters of other scripts count"
    )
    max_data_share: float = Field(
        default=0.5, ge=0, le=1, description="characters in number lists and encoded bytes"
    )
    free_lines: tuple[str, ...] = Field(
        default=("HTML", "JSON", "Markdown", "TeX", "XML", "reStructuredText", "YAML"),
        description="languages whose lines and data may be as they like",
    )


def gate_path(path: str, settings: CodeSettings) -> Refusal | None:
    """Return what a path alone tells."""
    found = _vendored(settings.vendored).search(path)
    if found is not None:
        return Refusal("vendored_path", found[0].strip("/").partition("/")[0][:64])
    if settings.generated and _GENERATED_NAMES.search(path):
        return Refusal("generated_file", "name")
    return Refusal("minified", "name") if _MINIFIED_NAMES.search(path) else None


def gate_code(path: str, text: str, language: str | None, settings: CodeSettings) -> Refusal | None:
    """Return what the text tells, once its path passed; `language` as `language_of` or the source
    says."""
    if language is None:
        name = path.rpartition("/")[2]
        return Refusal("unknown_file_type", name.rpartition(".")[2][:32] if "." in name else None)
    wanted = settings.languages
    if wanted is not None and language.lower() not in {each.lower() for each in wanted}:
        return Refusal("unwanted_language", language[:64])
    if settings.generated and is_marked_generated(text):
        return Refusal("generated_file", "marker")
    if language in settings.free_lines or not text.strip():
        return None
    return _minified(text, settings) or _mostly_data(text, settings)


def is_marked_generated(text: str) -> bool:
    """Whether a comment among the first lines says that a program wrote the file.

    A line that only has the word `generated` counts when the same lines warn of editing.
    """
    lines = text[:MARKER_CHARS].lower().split("\n", MARKER_LINES)[:MARKER_LINES]
    mentioned = False
    for line in lines:
        if "generated" in line and _COMMENT.match(line):
            if _MARKERS.search(line):
                return True
            mentioned = True
    return mentioned and any(_WARNING.search(line) for line in lines)


def _minified(text: str, settings: CodeSettings) -> Refusal | None:
    lines = text.splitlines()
    longest = max(map(len, lines), default=0)
    if longest > settings.max_line_chars:
        return Refusal("minified", "long_line")
    if len(text) > settings.max_mean_line_chars * max(1, len(lines)):
        return Refusal("minified", "mean_line")
    raw = text.encode("utf-8", "replace")
    if len(raw.translate(None, _LETTERS)) > (1 - settings.min_alphanumeric_share) * len(raw):
        return Refusal("minified", "few_letters")
    return None


def _mostly_data(text: str, settings: CodeSettings) -> Refusal | None:
    if not settings.generated:
        return None
    share = settings.max_data_share * len(text)
    return Refusal("generated_file", "data") if _data_chars(text) > share else None


def _data_chars(text: str) -> int:
    """Characters in encoded bytes and in lists of numbers."""
    found = 0
    for line in text.splitlines():
        if len(line) >= 64:
            for word in line.split():
                if len(word) >= 64:
                    found += sum(len(run) for run in _ENCODED.findall(word))
    if "\\x" in text or "\\u" in text:
        found += sum(len(run) for run in _ESCAPED.findall(text))
    raw = text.encode("utf-8", "replace")
    if len(raw) - len(raw.translate(None, _DIGITS)) > FEW_DIGITS * len(raw):
        found += sum(len(run) for run in _NUMBERS.findall(text))
    return found


@lru_cache(maxsize=16)
def _vendored(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """A plain name stands for a folder of that name anywhere; a pattern with `/` begins at one."""
    if not patterns:
        return re.compile(r"(?!)")
    pieces = []
    for pattern in patterns:
        body = re.escape(pattern.strip("/"))
        pieces.append(body.replace(r"\*", "[^/]*").replace(r"\?", "[^/]"))
    return re.compile(rf"(?:^|/)(?:{'|'.join(pieces)})/")


__all__ = ["CodeSettings", "gate_code", "gate_path", "is_marked_generated", "language_of"]
