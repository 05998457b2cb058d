"""Jupyter notebooks as the text that their readers see, written as Markdown.

Cells come in their order, with an empty line between them:

| cell | text |
|---|---|
| Markdown, raw, HTML | as it is, without images that are part of it |
| heading (nbformat 3) | `# so`, by its level |
| code | fenced, in the language of the kernel |
| text output of code | fenced, if it has at most 20 lines and 1,000 characters |

Output is what was printed, the value of a cell and the message of an error. Left out: stderr
(warnings and progress bars, with paths of the author's machine), tracebacks, images and the text
that stands for one (`<Figure size ...>`), text that only names an object (`<... at 0x1f>`), HTML and
other forms of an output that has a text.

nbformat itself is not used: it needs a JSON Schema validator and traitlets, and refuses notebooks
that are of no format but can be read.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from corpus_assets.ingest.records import Refusal

SUFFIX = ".ipynb"
MAX_OUTPUT_CHARS = 1000
MAX_OUTPUT_LINES = 20
MAX_HEADING = 6

_BACKTICKS = re.compile(r"`{3,}")
_LANGUAGE = re.compile(r"[a-z0-9+#._-]{1,32}")
_KERNELS = {"python": "python", "julia": "julia", "ir": "r"}  # where only a kernel's name is given
_KERNEL = re.compile("python|julia|ir$")
_INLINE_IMAGE = re.compile(
    r"!\[[^\[\]\n]*\]\((?:data|attachment):[^()\n]*\)|"
    r"<img\b[^<>]*?\bsrc\s*=\s*[\"']?(?:data|attachment):[^<>]*>",
    re.IGNORECASE,
)
_TERMINAL_CODE = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_OBJECT = re.compile(r"<[A-Za-z_][^<>\n]*(?: object| at 0x[0-9A-Fa-f]+)>")
_OUTPUT_TEXTS = ("text/plain", "text/markdown", "text/latex")
_OLD_OUTPUT_TEXTS = ("text", "latex")  # nbformat 3
_IMAGES = ("image/", "png", "jpeg", "svg")


def is_notebook(name: str, text: str) -> bool:
    """Whether a file is a notebook: by its name, if it has text at all."""
    return name.lower().endswith(SUFFIX) and bool(text.strip())


def notebook_text(raw: str) -> str | Refusal:
    """Return a notebook as Markdown, or why it is none."""
    try:
        notebook = json.loads(raw.lstrip("\ufeff"))
    except (ValueError, RecursionError):
        return Refusal("damaged_record", "notebook_not_json")
    cells = _cells(notebook) if isinstance(notebook, dict) else None
    if cells is None:
        return Refusal("damaged_record", "not_a_notebook")
    language = _language(notebook)
    pieces = (piece for cell in cells for piece in _cell(cell, language))
    return "\n\n".join(pieces) + "\n"


def _cells(notebook: Mapping[str, Any]) -> list[Mapping[str, Any]] | None:
    """Return the cells of nbformat 4, or those of all worksheets of nbformat 2 and 3."""
    cells = notebook.get("cells")
    if cells is None and isinstance(sheets := notebook.get("worksheets"), list):
        found = [sheet.get("cells") for sheet in sheets if isinstance(sheet, dict)]
        cells = [_rejoined(cell) for each in found if isinstance(each, list) for cell in each]
    if not isinstance(cells, list):
        return None
    return [cell for cell in cells if isinstance(cell, dict)]


def _language(notebook: Mapping[str, Any]) -> str:
    metadata = _mapping(notebook.get("metadata"))
    kernel = _mapping(metadata.get("kernelspec"))
    said = _mapping(metadata.get("language_info")).get("name"), kernel.get("language")
    name = kernel.get("name")
    of_kernel = _KERNEL.match(name) if isinstance(name, str) else None
    known = _KERNELS[of_kernel[0]] if of_kernel else ""
    return next((found for found in map(_language_name, said) if found), known)


def _language_name(said: Any) -> str:
    """Return a language as a fence names it; empty for what is no name."""
    name = said.strip().lower() if isinstance(said, str) else ""
    return name if _LANGUAGE.fullmatch(name) else ""


def _cell(cell: Mapping[str, Any], language: str) -> Iterator[str]:
    kind = cell.get("cell_type")
    if kind == "code":
        source = _text(cell.get("source", cell.get("input")))
        if source.strip():
            yield _fenced(source, language or _language_name(cell.get("language")))
        output = _output(cell.get("outputs"))
        if output:
            yield _fenced(output)
        return
    source = _INLINE_IMAGE.sub("", _text(cell.get("source"))).strip("\n")
    if kind == "heading" and source.strip():
        level = cell.get("level")
        level = min(max(level, 1), MAX_HEADING) if isinstance(level, int) else 1
        yield f"{'#' * level} {' '.join(source.split())}"
    elif source.strip():
        yield source


def _output(outputs: Any) -> str:
    """Return the text output of a cell; empty where it is long or there is none."""
    texts = (_output_text(each) for each in outputs or () if isinstance(each, dict))
    joined = _as_on_screen(
        "".join(text if text[-1:] == "\n" else text + "\n" for text in texts if text)
    )
    is_long = len(joined) > MAX_OUTPUT_CHARS or joined.count("\n") >= MAX_OUTPUT_LINES
    return "" if is_long else joined


def _output_text(output: Mapping[str, Any]) -> str:
    kind = output.get("output_type")
    if kind == "stream":
        is_error = "stderr" in (output.get("name"), output.get("stream"))
        return "" if is_error else _text(output.get("text"))
    if kind in ("error", "pyerr"):
        return ": ".join(filter(None, (_text(output.get("ename")), _text(output.get("evalue")))))
    data = output.get("data")
    forms, wanted = (data, _OUTPUT_TEXTS) if isinstance(data, dict) else (output, _OLD_OUTPUT_TEXTS)
    if any(form.startswith(_IMAGES) for form in forms):
        return ""
    text = next((text for form in wanted if (text := _text(forms.get(form))).strip()), "")
    return "" if _OBJECT.fullmatch(text.strip()) else text


def _as_on_screen(text: str) -> str:
    """Return printed text without colours, and of a line that was written over its last state."""
    lines = _TERMINAL_CODE.sub("", text).replace("\r\n", "\n").split("\n")
    return "\n".join(line.rstrip("\r").rpartition("\r")[2].rstrip() for line in lines).strip("\n")


def _fenced(text: str, language: str = "") -> str:
    longest = max(map(len, _BACKTICKS.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text.strip(chr(10))}\n{fence}"


def _text(source: Any) -> str:
    """Return text that a notebook has as one string or as a list of lines."""
    if isinstance(source, str):
        return source
    lines: Iterable[Any] = source if isinstance(source, list) else ()
    return "".join(line for line in lines if isinstance(line, str))


def _rejoined(value: Any) -> Any:
    """Return part of an old notebook with its lists of lines as strings: nbformat 2, and some
    writers of 3, leave the line ends out."""
    if isinstance(value, dict):
        return {name: _rejoined(each) for name, each in value.items()}
    if not isinstance(value, list):
        return value
    if not value or not all(isinstance(each, str) for each in value):
        return [_rejoined(each) for each in value]
    return ("" if value[0].endswith(("\n", "\r")) else "\n").join(value)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
