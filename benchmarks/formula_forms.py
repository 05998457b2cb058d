"""The markup that a formula has on pages of each kind: a part of `formulas.py`.

Each form is written as the program or site that it is named after writes it, shortened where that
bears no formula (styles, heights, ids). Content MathML is written from what a formula means, all
others from its layout. A form that has nothing for a formula raises `NotInThisForm`.
"""

import re
from collections.abc import Callable
from html import escape
from typing import NamedTuple
from urllib.parse import quote

from formula_boxes import katex_boxes, mathjax_boxes
from formula_layout import NotInThisForm, in_characters, in_html, layout, mathml, tex
from formula_trees import Node

_XMLNS = 'xmlns="http://www.w3.org/1998/Math/MathML"'


class Formula(NamedTuple):
    """What a form is written from."""

    tree: Node
    layout: Node
    tex: str
    is_displayed: bool

    @property
    def display(self) -> str:
        return "block" if self.is_displayed else "inline"

    def writings(self) -> list[str]:
        """Its TeX, and what means the same: a mixed number is a sum."""
        if self.tree.kind != "mixed":
            return [self.tex]
        return [self.tex, self.tex.replace(r"\frac", r"+\frac")]


def formula(tree: Node, is_displayed: bool) -> Formula:
    stands = layout(tree)
    return Formula(tree, stands, " ".join(tex(stands).split()), is_displayed)


_CONTENT = {
    "sum": "plus", "prod": "times", "neg": "minus", "frac": "divide", "pow": "power", "index": "selector",
    "sqrt": "root", "abs": "abs", "fact": "factorial", "bar": "mean",
    "=": "eq", "≤": "leq", "≥": "geq", "<": "lt", "≠": "neq", "≈": "approx", "∈": "in", "∑": "sum", "∏": "product",
}  # fmt: skip
_CONSTANTS = {"π": "pi", "∞": "infinity", "ℝ": "reals"}


def _applied(name: str, *parts: str) -> str:
    return f"<apply><{name}/>{''.join(parts)}</apply>"


def content(node: Node) -> str:
    """Content MathML."""
    kind = node.kind
    if kind == "num":
        return f"<cn>{node.text}</cn>"
    if kind == "sym":
        constant = _CONSTANTS.get(node.text)
        return f"<{constant}/>" if constant else f"<ci>{node.text}</ci>"
    if kind == "sum":
        return _content_sum(node)
    parts = [content(part) for part in node.parts]
    if kind in ("rel", "func"):
        return _applied(_CONTENT.get(node.text, node.text), *parts)
    if kind in _CONTENT:
        return _applied(_CONTENT[kind], *parts)
    if kind == "root":
        return _applied("root", f"<degree>{parts[1]}</degree>", parts[0])
    if kind == "call":
        return f"<apply><ci>{node.text}</ci>{''.join(parts)}</apply>"
    if kind == "deriv":
        return _applied("diff", f"<bvar>{parts[1]}</bvar>", parts[0])
    if kind in ("big", "int", "lim"):
        variable, *bounds, body = parts
        names = ("lowlimit", "uplimit")
        limits = (f"<{name}>{bound}</{name}>" for name, bound in zip(names, bounds, strict=False))
        name = {"int": "int", "lim": "limit"}.get(kind) or _CONTENT[node.text]
        return _applied(name, f"<bvar>{variable}</bvar>", *limits, body)
    if kind == "matrix":
        rows = ("".join(map(content, row.parts)) for row in node.parts)
        return f"<matrix>{''.join(f'<matrixrow>{row}</matrixrow>' for row in rows)}</matrix>"
    if kind == "cases":
        rows = ("".join(map(content, row.parts)) for row in node.parts)
        return f"<piecewise>{''.join(f'<piece>{row}</piece>' for row in rows)}</piecewise>"
    raise NotInThisForm(kind)


def _content_sum(node: Node) -> str:
    written = content(node.parts[0])
    for part in node.parts[1:]:
        is_minus = part.kind == "neg"
        name = "minus" if is_minus else "plus"
        written = _applied(name, written, content(part.parts[0] if is_minus else part))
    return written


def drawing(part: Node, classes: tuple[str, str, str]) -> str:
    """Spans as KaTeX and MathJax draw with: classes of a piece, a fraction and a script."""
    piece, fraction, script = classes
    if not part.parts:
        return f'<span class="{piece}">{escape(part.text)}</span>'
    inner = [drawing(each, classes) for each in part.parts]
    if part.kind == "frac":
        above, below = (
            f'<span style="top:-3em"><span class="pstrut"></span>{each}</span>' for each in inner
        )
        line = '<span style="top:-3.23em"><span class="frac-line"></span></span>'
        return f'<span class="{fraction}"><span class="vlist">{below}{line}{above}</span></span>'
    if part.kind in ("sub", "sup", "subsup"):
        base, *scripts = inner
        return base + "".join(
            f'<span class="{script}"><span class="vlist">{each}</span></span>' for each in scripts
        )
    if part.kind == "fence":
        inner = [
            f'<span class="mopen">{part.text[0]}</span>',
            *inner,
            f'<span class="mclose">{part.text[1]}</span>',
        ]
    return f'<span class="{piece}">{"".join(inner)}</span>'


_KATEX = ("mord mathnormal", "mfrac", "msupsub")
_MATHJAX_2 = ("mi", "mfrac", "msup")


def _math(given: Formula, inside: str, attributes: str = "") -> str:
    return f'<math {_XMLNS}{attributes} display="{given.display}">{inside}</math>'


def _with_annotation(given: Formula, written: str) -> str:
    annotation = f'<annotation encoding="application/x-tex">{escape(written)}</annotation>'
    return f"<semantics>{mathml(given.layout)}{annotation}</semantics>"


def _latexml(given: Formula) -> str:
    said = f' alttext="{escape(given.tex)}" class="ltx_Math"'
    inside = _with_annotation(given, given.tex).replace(
        "<annotation ",
        f'<annotation-xml encoding="MathML-Content">{_content_or_nothing(given)}</annotation-xml><annotation ',
    )
    return _latexml_equation(given, _math(given, inside, said))


def _content_or_nothing(given: Formula) -> str:
    try:
        return content(given.tree)
    except NotInThisForm:
        return ""


def _latexml_equation(given: Formula, math: str) -> str:
    if not given.is_displayed:
        return math
    return (
        '<table class="ltx_equation ltx_eqn_table"><tbody><tr class="ltx_equation ltx_eqn_row ltx_align_baseline">'
        '<td class="ltx_eqn_cell ltx_eqn_center_padleft"></td>'
        f'<td class="ltx_eqn_cell ltx_align_center">{math}</td>'
        '<td class="ltx_eqn_cell ltx_eqn_center_padright"></td></tr></tbody></table>'
    )


def _katex(given: Formula) -> str:
    drawn = (
        f'<span class="katex"><span class="katex-mathml"><math {_XMLNS}>{_with_annotation(given, given.tex)}</math></span>'
        f'<span class="katex-html" aria-hidden="true"><span class="base"><span class="strut" style="height:1em"></span>'
        f"{drawing(given.layout, _KATEX)}</span></span></span>"
    )
    return f'<p><span class="katex-display">{drawn}</span></p>' if given.is_displayed else drawn


def _katex_alone(given: Formula) -> str:
    drawn = (
        '<span class="katex"><span class="katex-html" aria-hidden="true"><span class="base">'
        '<span class="strut" style="height:1em;vertical-align:-0.25em;"></span>'
        f"{katex_boxes(given.layout)}</span></span></span>"
    )
    return f'<p><span class="katex-display">{drawn}</span></p>' if given.is_displayed else drawn


def _katex_script(given: Formula) -> str:
    mode = "; mode=display" if given.is_displayed else ""
    script = f'<script type="math/tex{mode}">{given.tex}</script>'
    return f"<p>{script}</p>" if given.is_displayed else script


def _mathjax_2(given: Formula) -> str:
    """As a browser's page is saved: the drawing, and the script that it was made from."""
    said = escape(f"<math {_XMLNS}>{mathml(given.layout)}</math>", quote=True)
    frame = (
        f'<span class="MathJax" tabindex="0" role="presentation" data-mathml="{said}"><nobr aria-hidden="true">'
        f'<span class="math"><span>{drawing(given.layout, _MATHJAX_2)}</span></span></nobr>'
        f'<span class="MJX_Assistive_MathML" role="presentation">{_math(given, mathml(given.layout))}</span></span>'
    )
    mode = "; mode=display" if given.is_displayed else ""
    script = f'<script type="math/tex{mode}" id="MathJax-Element-1">{given.tex}</script>'
    preview = '<span class="MathJax_Preview" style="color: inherit;"></span>'
    if given.is_displayed:
        return f'<p>{preview}<div class="MathJax_Display" style="text-align: center;">{frame}</div>{script}</p>'
    return preview + frame + script


def _mathjax_2_preview(given: Formula) -> str:
    """As a server sends it: the source to look at until it is drawn, and the script."""
    preview = f'<span class="MathJax_Preview">{escape(given.tex)}</span>'
    script = _katex_script(given)
    return script.replace("<script", f"{preview}<script")


def _mathjax_3(given: Formula) -> str:
    display = ' display="true"' if given.is_displayed else ""
    container = (
        f'<mjx-container class="MathJax CtxtMenu_Attached_0" jax="CHTML" tabindex="0"{display} style="font-size: 113.1%;">'
        f'<mjx-math class="MJX-TEX" aria-hidden="true">{_mathjax_3_drawing(given.layout)}</mjx-math>'
        f'<mjx-assistive-mml unselectable="on" display="{given.display}">{_math(given, mathml(given.layout))}'
        "</mjx-assistive-mml></mjx-container>"
    )
    return f"<p>{container}</p>" if given.is_displayed else container


def _mathjax_3_drawing(part: Node) -> str:
    """Its characters are in the style sheet."""
    inside = "".join(map(_mathjax_3_drawing, part.parts)) or "".join(
        f'<mjx-c class="mjx-c{ord(char):X}"></mjx-c>' for char in part.text
    )
    return f'<mjx-mrow class="mjx-n">{inside}</mjx-mrow>'


def _mathjax_3_alone(given: Formula) -> str:
    display = ' display="true"' if given.is_displayed else ""
    container = (
        f'<mjx-container class="MathJax" jax="CHTML" tabindex="0"{display} style="font-size: 113.1%;">'
        f'<mjx-math class="MJX-TEX">{mathjax_boxes(given.layout)}</mjx-math></mjx-container>'
    )
    return f"<p>{container}</p>" if given.is_displayed else container


def _between(start: str, end: str) -> Callable[[Formula], str]:
    def write(given: Formula) -> str:
        written = f"{start}{escape(given.tex)}{end}"
        return f"<p>{written}</p>" if given.is_displayed else written

    return write


def _between_signs(inline: tuple[str, str], displayed: tuple[str, str]) -> Callable[[Formula], str]:
    def write(given: Formula) -> str:
        return _between(*(displayed if given.is_displayed else inline))(given)

    return write


def _wikipedia(given: Formula) -> str:
    written = rf"{{\displaystyle {given.tex}}}"
    inside = (
        f'<semantics><mrow class="MJX-TeXAtom-ORD"><mstyle displaystyle="true" scriptlevel="0">{mathml(given.layout)}'
        f'</mstyle></mrow><annotation encoding="application/x-tex">{escape(written)}</annotation></semantics>'
    )
    element = (
        f'<span class="mwe-math-element mwe-math-element-{given.display}">'
        f'<span class="mwe-math-mathml-{given.display} mwe-math-mathml-a11y" style="display: none;">'
        f'<math {_XMLNS} alttext="{escape(written)}">{inside}</math></span>'
        '<img src="https://wikimedia.org/api/rest_v1/media/math/render/svg/8f5cb50a4aa3f5ddc72fb16c2c8d8d1f1ae8e3ae" '
        f'class="mwe-math-fallback-image-{given.display}" aria-hidden="true" style="vertical-align: -0.338ex;" '
        f'alt="{escape(written)}"></span>'
    )
    return f"<dl><dd>{element}</dd></dl>" if given.is_displayed else element


def _image(source: str, attributes: str) -> Callable[[Formula], str]:
    """An image: its address ends in the TeX where `source` has `%s`, `attributes` say it."""

    def write(given: Formula) -> str:
        address = source.replace("%s", quote(given.tex, safe=""))
        image = f'<img src="{escape(address)}" {attributes.replace("%s", escape(given.tex))}>'
        return f'<p style="text-align:center;">{image}</p>' if given.is_displayed else image

    return write


def _wrapped(inline: str, displayed: str) -> Callable[[Formula], str]:
    """Delimiters and elements around the TeX, which stands where there is `%s`."""

    def write(given: Formula) -> str:
        return (displayed if given.is_displayed else inline).replace("%s", escape(given.tex))

    return write


def _prefixed(given: Formula) -> str:
    """As publishers make it from XML, entities in place of characters."""
    markup = _math(given, mathml(given.layout)).replace(
        _XMLNS, _XMLNS.replace("xmlns", "xmlns:mml")
    )
    markup = re.sub(r"<(/?)", r"<\1mml:", markup).encode("ascii", "xmlcharrefreplace").decode()
    return f'<div class="disp-formula">{markup}</div>' if given.is_displayed else markup


def _mathml_script(given: Formula) -> str:
    script = f'<script type="math/mml">{_math(given, mathml(given.layout))}</script>'
    return f'<div class="formula">{script}</div>' if given.is_displayed else script


def _kramdown(given: Formula) -> str:
    mode = "; mode=display" if given.is_displayed else ""
    script = f'<script type="math/tex{mode}">% <![CDATA[\n{given.tex} %]]></script>'
    return f"\n{script}\n" if given.is_displayed else script


def _mathjax_4(given: Formula) -> str:
    display = ' display="true"' if given.is_displayed else ""
    container = (
        f'<mjx-container class="MathJax" jax="CHTML" tabindex="0"{display}>'
        f'<mjx-math data-latex="{escape(given.tex)}" display="{given.display}" class="MJX-TEX" aria-hidden="true">'
        f"{_mathjax_3_drawing(given.layout)}</mjx-math></mjx-container>"
    )
    return f"<p>{container}</p>" if given.is_displayed else container


def _mathjax_3_svg(given: Formula) -> str:
    pieces = "".join(
        f'<use data-c="{ord(char):X}" xlink:href="#MJX-1"></use>' for char in given.tex
    )
    markup = _mathjax_3(given).replace('jax="CHTML"', 'jax="SVG"')
    svg = f'<svg role="img" focusable="false" viewBox="0 -750 1000 950"><g stroke="currentColor">{pieces}</g></svg>'
    return re.sub(r"<mjx-math.*?</mjx-math>", svg, markup)


def _wikipedia_mobile(given: Formula) -> str:
    """The image in `noscript`, and a place for it that a script fills."""
    image = re.search(r"<img[^>]*>", _wikipedia(given))
    if image is None:
        raise ValueError(given.tex)
    said = escape(rf"{{\displaystyle {given.tex}}}")
    place = (
        f'<span class="lazy-image-placeholder" style="width: 9ex;height: 3ex;" data-alt="{said}" '
        'data-class="mwe-math-fallback-image-inline">&nbsp;</span>'
    )
    return _wikipedia(given).replace(image[0], f"<noscript>{image[0]}</noscript>{place}")


def _wiris(given: Formula) -> str:
    """MathType's editor in Moodle: MathML with other characters for `<`, `>`, quotes and `&`."""
    signs = str.maketrans({"<": "«", ">": "»", '"': "¨", "'": "`", "&": "§"})
    said = _math(given, mathml(given.layout)).translate(signs)
    image = f'<img class="Wirisformula" src="/pluginfile.php/1/a.png" alt="a formula" role="math" data-mathml="{said}">'
    return f"<p>{image}</p>" if given.is_displayed else image


def _quicklatex(given: Formula) -> str:
    """Every character of `alt` as an entity."""
    said = "".join(f"&#{ord(char)};" for char in given.tex)
    image = (
        f'<img src="https://example.org/ql-cache/quicklatex.com-0_l3.png" class="ql-img-{given.display}-formula '
        f'quicklatex-auto-format" alt="{said}" title="Rendered by QuickLaTeX.com" height="14" width="86">'
    )
    return f'<p class="ql-center-displayed-equation">{image}</p>' if given.is_displayed else image


def _only(write: Callable[[Node], str]) -> Callable[[Formula], str]:
    def write_it(given: Formula) -> str:
        written = write(given.layout).strip()
        return f"<p>{written}</p>" if given.is_displayed else written

    return write_it


def _frac(given: Formula) -> str:
    """Wikipedia's template `frac`, a number before the fraction."""
    if given.tree.kind != "mixed":
        raise NotInThisForm(given.tree.kind)
    whole, part = given.tree.parts
    above, below = (each.text for each in part.parts)
    written = (
        f'<span class="frac">{whole.text}<span class="sr-only">+</span><span class="num">{above}</span>&frasl;'
        f'<span class="den">{below}</span></span>'
    )
    return f"<p>{written}</p>" if given.is_displayed else written


def _sfrac(given: Formula) -> str:
    """Wikipedia's template `sfrac`: a numerator over a denominator."""
    if given.tree.kind != "mixed":
        raise NotInThisForm(given.tree.kind)
    whole, part = given.tree.parts
    above, below = (each.text for each in part.parts)
    written = (
        f'<span class="sfrac">{whole.text}<span class="sr-only">+</span><span class="tion"><span class="num">{above}</span>'
        f'<span class="sr-only">/</span><span class="den">{below}</span></span></span>'
    )
    return f"<p>{written}</p>" if given.is_displayed else written


FORMS: dict[str, Callable[[Formula], str]] = {
    "presentation MathML": lambda given: _math(given, mathml(given.layout)),
    "MathML with prefix and entities": _prefixed,
    "content MathML": lambda given: _math(given, content(given.tree)),
    "MathML with an annotation": lambda given: _math(given, _with_annotation(given, given.tex)),
    "MathML with alttext": lambda given: _math(given, mathml(given.layout), f' alttext="{escape(given.tex)}"'),
    "LaTeXML (arXiv, ar5iv)": _latexml,
    "KaTeX": _katex,
    "KaTeX, HTML alone": _katex_alone,
    "MathJax 2, script": _katex_script,
    "MathJax 2, script of kramdown": _kramdown,
    "MathJax 2, script of MathML": _mathml_script,
    "MathJax 2, preview and script": _mathjax_2_preview,
    "MathJax 2, drawn": _mathjax_2,
    "MathJax 3, drawn": _mathjax_3,
    "MathJax 3, CHTML alone": _mathjax_3_alone,
    "MathJax 3, drawn as SVG": _mathjax_3_svg,
    "MathJax 4, drawn": _mathjax_4,
    "dollar signs in text": _between_signs(("$", "$"), ("$$", "$$")),
    r"`\(` and `\[` in text": _between_signs((r"\(", r"\)"), (r"\[", r"\]")),
    "environment in text": _between(r"\begin{equation}", r"\end{equation}"),
    "Stack Exchange": _wrapped('<span class="math-container">$%s$</span>', '<p><span class="math-container">$$%s$$</span></p>'),
    "Sphinx, Pandoc": _wrapped(
        r'<span class="math notranslate nohighlight">\(%s\)</span>', r'<div class="math notranslate nohighlight">\[%s\]</div>'
    ),
    "GitHub": _wrapped(
        '<math-renderer class="js-inline-math" style="display: inline-block">$%s$</math-renderer>',
        '<p><math-renderer class="js-display-math" style="display: block">$$%s$$</math-renderer></p>',
    ),
    "Springer Nature": _wrapped(
        r'<span class="mathjax-tex">\(%s\)</span>',
        '<div id="Equ1" class="c-article-equation"><div class="c-article-equation__content"><span class="mathjax-tex">'
        "$$%s$$</span></div></div>",
    ),
    "Wikipedia": _wikipedia,
    "Wikipedia, mobile": _wikipedia_mobile,
    "Wikipedia, before 2012": _image("//upload.wikimedia.org/math/a/b/c/abc.png", 'class="tex" alt="%s"'),
    "WordPress": _image("https://s0.wp.com/latex.php?latex=%s&bg=ffffff&fg=000000&s=0", 'alt="%s" class="latex"'),
    "CodeCogs, no `alt`": _image("https://latex.codecogs.com/svg.image?%s", 'alt=""'),
    "QuickLaTeX": _quicklatex,
    "mathTeX": _image("/cgi-bin/mathtex.cgi?%s", 'alt=""'),
    "Google Charts": _image("https://chart.googleapis.com/chart?cht=tx&chl=%s", 'alt=""'),
    "Sphinx, images": _image("_images/math/0a1b.png", 'class="math" alt="%s"'),
    "Wiris (Moodle)": _wiris,
    "LaTeX2HTML": _image("img12.png", 'align="middle" border="0" alt="$ %s$"'),
    "`sup` and `sub`": _only(in_html),
    "Unicode": _only(lambda part: escape(in_characters(part))),
    "`frac` of Wikipedia": _frac,
    "`sfrac` of Wikipedia": _sfrac,
}  # fmt: skip
