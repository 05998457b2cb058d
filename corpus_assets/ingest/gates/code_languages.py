"""The programming language of a file.

It is known by its name, and by its first line where it has no suffix (an interpreter after `#!`, or
an editor's `-*- mode -*-`). Where several languages share a suffix the commoner one is listed, and a
word of the text decides the rest (`.h`, `.m`, `.pl`, `.v`, `.ts`).
"""

import re
from types import MappingProxyType

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
