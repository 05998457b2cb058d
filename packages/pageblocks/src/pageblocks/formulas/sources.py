"""What stands for the formulas of a page: one form of TeX, whatever markup each has.

A formula is `$...$`, inline and displayed ones alike. Its TeX is, in this order,

1. that of an annotation (`application/x-tex`), which KaTeX, Wikipedia and LaTeXML write;
2. `alttext` of a `math` (LaTeXML), where it is TeX and no words;
3. presentation MathML, converted (`presentation`), else content MathML (`content`);
4. of a script, its text; of an image, the MathML that it keeps (Wiris), else what it says it is a
   picture of: `alt`, else the query of the service that draws it;
5. the drawing itself, of KaTeX (`katex`) and MathJax 3 (`chtml`, `svg`), where nothing else is there;
   of other drawings, their label.

One formula stands in several forms beside each other, for browsers of several kinds; it is written once.
What is too large, or nests too deep, is its text.
"""

import re
from collections.abc import Callable
from html import unescape
from typing import NamedTuple
from urllib.parse import unquote

from pageblocks.formulas.chtml import mathml_of_chtml
from pageblocks.formulas.elements import Element, attributes_of, plain_text_of, read_elements
from pageblocks.formulas.joining import is_one_group
from pageblocks.formulas.katex import MAX_DRAWN_DEPTH, mathml_of_katex
from pageblocks.formulas.presentation import tex_of
from pageblocks.formulas.svg import mathml_of_svg

MAX_FORMULA_CHARS = 1 << 17
MAX_DRAWING_CHARS = 2 * MAX_FORMULA_CHARS

_NAME = re.compile(r"<([a-z0-9:-]*)", re.IGNORECASE)
_KATEX = re.compile(r"<span\b[^<>]{0,400}?\bclass\s*=\s*[\"']?katex-html", re.IGNORECASE)
_START_TAG = re.compile(r"<[^\s/>]*((?:[^<>\"']|\"[^\"]*\"|'[^']*')*+)>")
_ANNOTATION = re.compile(
    r"<(?:\w+:)?annotation\b(?=[^>]{0,200}?\bencoding\s*=\s*[\"']?[^\"'>]{0,40}tex\b)[^>]{0,400}>([^<]*)<",
    re.IGNORECASE,
)
_ANY_ANNOTATION = re.compile(
    r"<((?:\w+:)?annotation(?:-xml)?)\b[^>]*>.*?(?:</\1>|\Z)", re.IGNORECASE | re.DOTALL
)
_MATH = re.compile(r"<(?:\w+:)?math\b", re.IGNORECASE)
_MATH_END = re.compile(r"</(?:\w+:)?math\s*>", re.IGNORECASE)
_DATA = re.compile(r"\bdata-(mathml|latex)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')", re.IGNORECASE)
_LABEL = re.compile(r"\baria-label\s*=\s*(?:\"([^\"]+)\"|'([^']+)')", re.IGNORECASE)
_SVG = re.compile(r"<svg\b", re.IGNORECASE)
_BETWEEN = re.compile(
    rb"(?:\s|<!--.{0,300}?-->|</?(?:span|div|nobr|noscript|meta|link)\b[^<>]{0,400}>)*+",
    re.IGNORECASE | re.DOTALL,
)
_WIRIS = str.maketrans("«»¨§`", "<>\"&'")
"""What the Wiris editor writes for the characters that attributes may not have."""
MAX_BETWEEN, MAX_ATTRIBUTE_CHARS, MAX_AROUND = 1000, 4000, 4
"""What one formula's forms have between them, in bytes; of the address and class of an image; how
often delimiters and styles stand in each other."""

_COMMENT = re.compile(r"((?:[^\\%]|\\.)*+)%.*")
_CDATA = re.compile(r"\A\s*(?:%\s*)?<!\[CDATA\[|(?:%\s*)?\]\]>\s*\Z")
_SPACES = re.compile(r"\s+")
_LINE_BREAK = re.compile(r"<br ?/?>", re.IGNORECASE)  # of boards, whose editors write it into TeX
_DELIMITERS = (("$$", "$$"), ("$", "$"), (r"\(", r"\)"), (r"\[", r"\]"))
_STYLE = re.compile(r"\\(?:display|text|script|scriptscript)style(?![A-Za-z])\s*")
_GROUPED_STYLE = re.compile(r"\{\s*\\(?:display|text|script|scriptscript)style(?![A-Za-z])")
_MARK = re.compile(r"[\\^_{}]")
_WORD = re.compile(r"(?<!\\)\b[^\W\d_]{4,}")

_FORMULA_CLASS = re.compile(
    r"tex|latex|math|formula|equation|mathtex|texrender|latexcenter|(?:la)?tex-?(?:img|image)|math-?(?:img|image)|"
    r"mwe-math-fallback.*|ql-img-\w+-formula|math-(?:inline|display|tex)",
    re.IGNORECASE,
)
_DRAWN_BY = re.compile(
    r"latex\.php\?(?:.*?&)?latex=(?P<encoded>[^&]*)|(?:\?|&)(?:tex|chl)=(?P<query>[^&]*)"
    r"|(?:\.latex|\.image|latex\.codecogs\.com/\w+|math(?:tex|\w*)\.cgi|mimetex\.cgi)\?(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
_SETTINGS = re.compile(
    r"\\(?:dpi\{\d+\}|bg_?\w+|fg_?\w+|fn_\w+|inline|large|small|tiny|huge|normalsize)(?![A-Za-z])\s*",
    re.IGNORECASE,
)


class _Formula(NamedTuple):
    """TeX, and whether it is the page's own and not converted; or text that is no formula."""

    tex: str = ""
    is_own: bool = True
    text: str = ""

    def written(self) -> str:
        return f"${self.tex}$" if self.tex else self.text


_DRAWING, _SCRIPT, _IMAGE, _MATHML = "drawing", "script", "image", "mathml"
_LAST_DRAWING = "last drawing"  # of KaTeX and MathJax 3: no script with the same formula follows


def write_formulas(page: bytes, places: list[tuple[int, int]]) -> list[bytes]:
    """What is written for the markup at each place, in page order; nothing for what is no formula,
    or stands beside it in another form."""
    known: dict[bytes, tuple[str, _Formula]] = {}  # pages repeat their formulas
    found: list[tuple[str, _Formula]] = []
    for start, end in places:
        source = page[start:end]
        if source not in known:
            known[source] = _read(source.decode("utf-8", "replace"))
        found.append(known[source])
    for place in range(1, len(found)):
        between = page[places[place - 1][1] : places[place][0]]
        if len(between) <= MAX_BETWEEN and _BETWEEN.fullmatch(between):
            _write_once(found, place)
    return [formula.written().encode("utf-8", "surrogatepass") for _, formula in found]


def _write_once(found: list[tuple[str, _Formula]], place: int) -> None:
    """Keep of a formula and what stands directly before it one, where they are the same."""
    (before, first), (kind, second) = found[place - 1 : place + 1]
    if before == _DRAWING and (second.tex or not first.tex):
        found[place - 1] = before, _Formula()
    elif before in (_MATHML, _SCRIPT) and kind != _MATHML and kind != _SCRIPT and first.tex:
        if second.is_own and second.tex and not first.is_own:
            found[place - 1] = before, _Formula()
        elif kind != _IMAGE or first.tex == second.tex or not first.is_own:
            found[place] = kind, _Formula()


def _read(source: str) -> tuple[str, _Formula]:
    name = _NAME.match(source)
    element = name[1].lower().rpartition(":")[2] if name else ""
    if element == "img":
        return _IMAGE, _of_image(_attributes(source))
    if element == "script":
        return _SCRIPT, _of_script(source)
    if element == "math":
        return _MATHML, _of_mathml(source)
    if element == "mjx-container":
        drawn = _of_drawing(source)
        if drawn.tex:
            return _LAST_DRAWING, drawn
        read = mathml_of_svg if _SVG.search(source) else mathml_of_chtml
        return _LAST_DRAWING, _of_boxes(source, read)
    if element == "span" and _KATEX.match(source):
        return _LAST_DRAWING, _of_boxes(source, mathml_of_katex)
    return _DRAWING, _of_drawing(source)


def _attributes(source: str) -> dict[str, str]:
    tag = _START_TAG.match(source)
    return attributes_of(tag[1]) if tag else {}


def _of_script(source: str) -> _Formula:
    kind = _attributes(source).get("type", "").lower()
    start, end = source.find(">") + 1, source.rfind("</")
    inside = _CDATA.sub("", source[start : end if end >= start else len(source)])
    if "mml" in kind:
        return _of_mathml(inside)
    if "asciimath" in kind:
        return _Formula(text=" ".join(inside.split()))
    return _Formula(clean_tex(inside))


def _of_mathml(source: str) -> _Formula:
    annotation = _ANNOTATION.search(source)
    tex = clean_tex(unescape(annotation[1])) if annotation else ""
    if tex:
        return _Formula(tex)
    attributes = _attributes(source)
    said = clean_tex(attributes.get("alttext", ""))
    if said and _MARK.search(said):
        return _Formula(said)
    tree = read_elements(source) if len(source) <= MAX_FORMULA_CHARS else None
    if tree is not None:
        tex = " ".join(tex_of(tree).split())
    if tex and not (said and _is_math(said) and not _MARK.search(tex)):
        return _Formula(tex, is_own=False)
    if said and _is_math(said):
        return _Formula(said)
    return _Formula(text=plain_text_of(_ANY_ANNOTATION.sub("", source)) if tree is None else "")


def _is_math(tex: str) -> bool:
    """Whether it is TeX without commands, and no words about a formula."""
    return _MARK.search(tex) is not None or _WORD.search(tex) is None


def _of_drawing(source: str) -> _Formula:
    """What MathJax drew, by the MathML that it keeps beside for those who listen."""
    if len(source) <= 8 * MAX_FORMULA_CHARS:
        for kind, double, single in _DATA.findall(source):
            written = unescape(double or single)
            formula = (
                _of_mathml(written) if kind.lower() == "mathml" else _Formula(clean_tex(written))
            )
            if formula.tex:
                return formula
        start = _MATH.search(source)
        end = _MATH_END.search(source, start.end()) if start else None
        if start and end and (formula := _of_mathml(source[start.start() : end.end()])).tex:
            return formula
    text = plain_text_of(source)
    label = "" if text else next((unescape(a or b) for a, b in _LABEL.findall(source)), "").strip()
    return _Formula(clean_tex(label)) if _MARK.search(label) else _Formula(text=text or label)


def _of_boxes(source: str, mathml_of: Callable[[Element], Element]) -> _Formula:
    """What a drawing shows that has nothing else beside it, by the boxes that it is set from."""
    if len(source) <= MAX_DRAWING_CHARS and (tree := read_elements(source, MAX_DRAWN_DEPTH)):
        tex = " ".join(tex_of(mathml_of(tree)).split())
        if tex:
            return _Formula(tex, is_own=False)
    return _Formula(text=plain_text_of(source))


def _of_image(attributes: dict[str, str]) -> _Formula:
    said = attributes.get("data-mathml", "")
    if said and _MATH.search(markup := said.translate(_WIRIS)):
        return _of_mathml(markup)
    return _Formula(clean_tex(_tex_of_image(attributes)))


def _tex_of_image(attributes: dict[str, str]) -> str:
    """What an image is a picture of, if it is one of a formula."""
    alt, source = attributes.get("alt", "").strip(), attributes.get("src", "")[:MAX_ATTRIBUTE_CHARS]
    if any(
        alt.startswith(start) and alt.endswith(end) and len(alt) > len(start + end)
        for start, end in _DELIMITERS
    ) or alt.startswith(r"\begin{"):
        return alt if alt[0] == "\\" or not alt[1:2].isdigit() or _MARK.search(alt) else ""
    drawn = _DRAWN_BY.search(source)
    names = attributes.get("class", "")[:MAX_ATTRIBUTE_CHARS].split()
    is_classed = any(map(_FORMULA_CLASS.fullmatch, names))
    if drawn is None and not is_classed:
        return ""
    if alt and (_is_math(alt) or (drawn is not None and _MARK.search(alt))):
        return _SETTINGS.sub("", alt)
    title = attributes.get("title", "").strip()
    if drawn is not None:
        encoded, query, rest = drawn.group("encoded", "query", "rest")
        plain = (encoded or query or "").replace("+", " ") if rest is None else rest
        return _SETTINGS.sub("", unquote(plain).replace("&space;", " ").replace("&plus;", "+"))
    return title if title and _MARK.search(title) else ""


def clean_tex(tex: str) -> str:
    """TeX in one line, without comments, delimiters and the style of its size around it."""
    if "%" in tex and "\n" in tex.strip():
        *lines, last = tex.strip().split("\n")
        tex = "".join(_without_comment(line) for line in lines) + last
    tex = _SPACES.sub(" ", _LINE_BREAK.sub(" ", tex)).strip()
    for _ in range(MAX_AROUND):
        before = tex
        for start, end in _DELIMITERS:
            inner = tex[len(start) : len(tex) - len(end)]
            if (
                tex.startswith(start)
                and tex.endswith(end)
                and len(tex) > len(start + end)
                and start not in inner
            ):
                tex = inner.strip()
                break
        if _GROUPED_STYLE.match(tex) and is_one_group(tex):
            tex = tex[1:-1].strip()
        if style := _STYLE.match(tex):
            tex = tex[style.end() :]
        if tex == before:
            break
    return tex if tex.strip("{} ") else ""


def _without_comment(line: str) -> str:
    """A line of TeX, whose end a comment takes along."""
    found = _COMMENT.fullmatch(line)
    return found[1] if found else f"{line}\n"
