"""Formulas that are there as drawings alone: KaTeX's boxes, and the elements of MathJax 3."""

import time

import pytest

from pageblocks import extract
from pageblocks.formulas import write_formulas
from pageblocks.formulas.katex import MAX_DRAWN_DEPTH


def written(source: str) -> str:
    (text,) = write_formulas(source.encode(), [(0, len(source.encode()))])
    return text.decode()


def katex(inside: str) -> str:
    return f'<span class="katex-html" aria-hidden="true"><span class="base">{inside}</span></span>'


def box(name: str, *inside: str) -> str:
    return f'<span class="{name}">{"".join(inside)}</span>'


def boxes(*levels: tuple[float, str]) -> str:
    """A `vlist` of parts, each with how far below the line it stands."""
    strut = '<span class="pstrut" style="height:3em;"></span>'
    parts = "".join(
        f'<span style="top:{below - 3:.4f}em;">{strut}{inside}</span>' for below, inside in levels
    )
    depth = '<span class="vlist-r"><span class="vlist" style="height:0.3em;"><span></span></span></span>'
    first = (
        f'<span class="vlist" style="height:1em;">{parts}</span><span class="vlist-s">\u200b</span>'
    )
    return f'<span class="vlist-t vlist-t2"><span class="vlist-r">{first}</span>{depth}</span>'


def old_boxes(*levels: tuple[float, str]) -> str:
    """A `vlist` as the first versions wrote it, without struts in it."""
    empty = '<span class="fontsize-ensurer reset-size5 size5"><span style="font-size:0em;">\u200b</span></span>'
    parts = "".join(
        f'<span style="top:{below}em;">{empty}{inside}</span>' for below, inside in levels
    )
    return f'<span class="vlist">{parts}<span class="baseline-fix">{empty}\u200b</span></span>'


def small(inside: str) -> str:
    return box("sizing reset-size6 size3 mtight", inside)


def scripts(*levels: tuple[float, str]) -> str:
    return box("msupsub", boxes(*((below, small(inside)) for below, inside in levels)))


def drawing(path: str, width: int = 400000, height: int = 522) -> str:
    return f'<svg width="1em" viewBox="0 0 {width} {height}"><path d="{path}"></path></svg>'


def table(*columns: tuple[str, list[str]]) -> str:
    parts = (
        box(f"col-align-{side}", boxes(*((1.2 * n - 1, cell) for n, cell in enumerate(cells))))
        for side, cells in columns
    )
    return box("mtable", *parts)


X, Y, ONE, TWO, N = (
    box("mord mathnormal", "x"), box("mord mathnormal", "y"), box("mord", "1"), box("mord", "2"),
    box("mord mathnormal mtight", "n"),
)  # fmt: skip
LINE = box("frac-line")
THIRD = box("mfrac", boxes((0.686, box("mord", "3")), (-0.23, LINE), (-0.677, ONE)))
EQUALS = '<span class="mspace" style="margin-right:0.2778em;"></span>' + box("mrel", "=")
SUM = box("mop op-symbol large-op", "∑")
BELOW = box("mord mtight", box("mord mathnormal mtight", "i"), box("mrel mtight", "="), ONE)
OPEN, SHUT = box("mopen nulldelimiter"), box("mclose nulldelimiter")

KATEX = {
    box("mord", OPEN, THIRD, SHUT): r"\frac{1}{3}",
    box("mfrac", old_boxes((0.345, TWO), (-0.23, LINE), (-0.394, ONE))): r"\frac{1}{2}",
    box("mord", X, scripts((-0.363, TWO))): "x^2",
    box("mord", X, scripts((0.15, N))): "x_n",
    box("mord", X, scripts((0.247, N), (-0.413, TWO))) + Y: "x_n^2 y",
    box("mord", X, old_boxes((0.2, N), (-0.4, TWO))): "x_n^2",
    box("mord", ONE, box("mord", TWO, scripts((-0.363, TWO)))): "12^2",
    box("mord", box("mord", ONE), scripts((-0.4, box("mord", ONE, TWO)))): "1^{12}",
    box("mord", box("mord", X, Y), scripts((-0.363, TWO))): "{xy}^2",
    box("mopen", "(") + X + box("mclose", box("mclose", ")"), scripts((-0.8, N))): "(x)^n",
    box("mord", box("mord mathnormal", "f"), scripts((-0.4, box("mord mtight", "′′")))): "f''",
    box("mord sqrt", boxes((0, box("mord", X)), (0.1, drawing("M95,702")))): r"\sqrt{x}",
    box("mord sqrt", box("root", boxes((-0.6, small(box("mord", "3"))))), boxes((0, X))): r"\sqrt[3]{x}",
    box("sqrt mord", box("sqrt-sign", "√"), old_boxes((0, X), (-0.7, box("sqrt-line")))): r"\sqrt{x}",
    box("mop op-limits", boxes((1.18, small(BELOW)), (0, SUM), (-1.25, small(N)))): r"\sum_{i=1}^n",
    box("mop op-limits", boxes((0.7, small(X)), (5.55e-17, box("mop", "lim")))): r"\lim_x",
    box("mop", box("mop op-symbol", "∫"), scripts((0.3, box("mord", "0")), (-1, N))) + X: r"\int_0^n x",
    box("mop", "lo", '<span style="margin-right:0.0139em;">g</span>') + X: r"\log x",
    box("mop", box("mord mathrm", "Var")) + box("mopen", "("): r"\operatorname{Var}(",
    box("mord accent", boxes((0, X), (0, box("accent-body", box("mord", "^"))))): r"\hat{x}",
    box("mord accent", boxes((0, X), (0, box("accent-body", drawing("M377 20", 471, 714))))): r"\vec{x}",
    box("mord accent", boxes((0, X + Y), (-0.4, box("svg-align", drawing("M529 0h5", 1062, 239))))): r"\widehat{xy}",
    box("mord accent", boxes((0, X + Y), (-0.4, drawing("M0 241v40h399891c")))): r"\overrightarrow{xy}",
    box("mord overline", boxes((0, X + Y), (-0.6, box("overline-line")))): r"\overline{xy}",
    box("mord underline", boxes((0.2, box("underline-line")), (0, X + Y))): r"\underline{xy}",
    box("mord mover", boxes((0, box("mord mover", boxes((0, X), (-1, drawing("M6 548"))))), (-1.6, small(N)))):
        r"\overbrace{x}^n",
    box("mrel x-arrow", boxes((0, drawing("M0 241v40h399891c")), (-0.6, small(N)))): r"\xrightarrow{n}",
    box("mrel", box("rlap", box("inner", box("mrel", "\ue020")))) + box("mrel", "="): r"\neq",
    box("mrel", box("mrel", "∈"), box("llap", box("inner", box("mord", "/")))): r"\notin",
    box("mord", "∣") + X + box("mord", "∣"): "|x|",
    X + box("mrel", "∣") + Y: r"x\mid y",
    box("mord text", box("mord", "if\xa0")) + X: r"\text{if }x",
    box("mord text", box("mord", "a\xa0"), box("mord", X, scripts((-0.363, TWO)))): r"\text{a }x^2",
    box("mord mathbf", "v") + box("mord mathbb", "R") + box("mord mathrm", "d"): r"\mathbf{v}\mathbb{R}\mathrm{d}",
    X + '<span class="mspace" style="margin-right:1em;"></span>' + Y: r"x\quad y",
    box("minner", box("mopen", box("delimsizing", "(")), table(("c", [X, ONE]), ("c", [Y, TWO])), box("mclose", ")")):
        r"\begin{pmatrix}x & y \\ 1 & 2\end{pmatrix}",
    box("minner", box("mopen", box("delimsizing mult", boxes((1, "⎩"), (0, "⎨"), (-1, "⎧")))), table(("l", [X, Y])), SHUT):
        r"\begin{cases}x \\ y\end{cases}",
    table(("r", [X, Y]), ("l", [EQUALS + ONE, EQUALS + TWO])): r"\begin{aligned}x & =1 \\ y & =2\end{aligned}",
    box("mord", box("mopen", "("), box("mfrac", boxes((0.7, TWO), (-0.7, N))), box("mclose", ")")): r"\binom{n}{2}",
    box("mopen", box("delimsizing mult", boxes((0, drawing("M319 602 V0 h263 v84", 667, 3600))))) + X: r"\lfloor x",
    box("mord", box("vlist-t", box("vlist", box("", box("mord", X)), box("", box("stretchy fbox"))))): r"\boxed{x}",
    X + '<span class="mord" style="color:transparent;"><span class="mord">y</span></span>': "x",
    box("tag", box("mord text", box("mord", "(1)"))): r"\quad\text{(1)}",
    box("new-kind", box("vlist-t", box("vlist", box("", X), box("", Y)))): "yx",
}  # fmt: skip


@pytest.mark.parametrize("inside", KATEX)
def test_boxes_of_katex_are_tex(inside: str) -> None:
    assert written(katex(inside)) == f"${KATEX[inside]}$"
    renamed = inside.replace('"sizing', '"katex-sizing').replace('"strut', '"katex-strut')
    assert written(katex(renamed)) == f"${KATEX[inside]}$"


def test_a_fraction_keeps_its_bar_where_styles_and_empty_spans_were_taken_away() -> None:
    below, above = box("", box("mord", "3")), box("", box("mord", "1"))
    for line in ("", box("", LINE)):
        fraction = box("mfrac", box("vlist-t", box("vlist-r", box("vlist", below, line, above))))
        assert written(katex(fraction)) == r"$\frac{1}{3}$"
    powers = box("msupsub", box("vlist-t vlist-t2", box("vlist", box("", N), box("", TWO))))
    assert written(katex(box("mord", X, powers))) == "$x_n^2$"
    power = box("msupsub", box("vlist-t", box("vlist", box("", TWO))))
    assert written(katex(box("mord", X, power))) == "$x^2$"


def c(*codes: str) -> str:
    return "".join(f'<mjx-c class="mjx-c{code} TEX-I"></mjx-c>' for code in codes)


def mjx(name: str, *inside: str) -> str:
    return f"<mjx-{name}>{''.join(inside)}</mjx-{name}>"


A, B, TWO_C = mjx("mi", c("1D44E")), mjx("mi", c("1D44F")), mjx("mn", c("32"))
BIG = mjx("mo", c("2211"))
CHTML = {
    mjx("mfrac", mjx("frac", mjx("num", mjx("nstrut"), A), mjx("dbox", mjx("dtable", mjx("line"), mjx(
        "row", mjx("den", mjx("dstrut"), B)))))): r"\frac{a}{b}",
    mjx("mo", c("28")) + '<mjx-mfrac><mjx-frac atop="true">' + mjx("num", A) + mjx("den", B) + "</mjx-frac></mjx-mfrac>"
    + mjx("mo", c("29")): r"\binom{a}{b}",
    mjx("msup", A, mjx("script", TWO_C)): "a^2",
    mjx("msub", A, mjx("script", TWO_C)): "a_2",
    mjx("msubsup", A, mjx("script", TWO_C, mjx("spacer"), B)): "a_b^2",
    mjx("msqrt", mjx("sqrt", mjx("surd", mjx("mo", c("221A"))), mjx("box", A))): r"\sqrt{a}",
    mjx("mroot", mjx("root", TWO_C), mjx("sqrt", mjx("surd"), mjx("box", A))): r"\sqrt[2]{a}",
    mjx("munderover", mjx("over", B), mjx("box", mjx("munder", mjx("row", mjx("base", BIG)), mjx("row", mjx("under", A))))):
        r"\sum_a^b",
    mjx("munderover", BIG, mjx("script", B, mjx("spacer"), A)): r"\sum_a^b",
    mjx("mover", mjx("over", mjx("mo", '<mjx-stretchy-h class="mjx-c2013"><mjx-ext></mjx-ext></mjx-stretchy-h>')),
        mjx("base", A, B)): r"\overline{ab}",
    mjx("munder", mjx("row", mjx("base", mjx("mo", c("6C", "69", "6D", "2006", "73", "75", "70")))), mjx(
        "row", mjx("under", A))): r"\limsup_a",
    mjx("mtable", mjx("table", mjx("itable", mjx("mtr", mjx("mtd", A), mjx("mtd", B)), mjx("mtr", mjx("mtd", TWO_C)))),
        mjx("labels", mjx("mtext", c("28", "31", "29")))): r"\begin{matrix}a & b \\ 2\end{matrix}\quad\text{(1)}",
    mjx("mtext", c("69", "66", "A0")) + A: r"\text{if }a",
    f'<mjx-mi class="mjx-cal mjx-i">{c("4C")}</mjx-mi><mjx-mi class="mjx-n">{c("64")}</mjx-mi>':
        r"\mathcal{L}\mathrm{d}",
    mjx("mi", c("1D717")): r"\vartheta",
    mjx("mi", "x") + mjx("mnew", mjx("mo", c("2B")), A): "x+a",
}  # fmt: skip


@pytest.mark.parametrize("inside", CHTML)
def test_elements_of_mathjax_are_tex(inside: str) -> None:
    source = (
        f'<mjx-container class="MathJax" jax="CHTML"><mjx-math>{inside}</mjx-math></mjx-container>'
    )
    assert written(source) == f"${CHTML[inside]}$"


def test_drawings_beside_each_other_are_all_written_and_one_beside_its_source_is_not() -> None:
    drawn = f'<span class="katex">{katex(box("mord", OPEN, THIRD, SHUT))}</span>'
    math = (
        '<span class="katex-mathml"><math><semantics><mi>x</mi><annotation encoding="application/x-tex">\\tfrac13'
        f"</annotation></semantics></math></span>{katex(THIRD)}"
    )
    power = mjx("msup", A, mjx("script", TWO_C))
    container = f'<mjx-container class="MathJax"><mjx-math>{power}</mjx-math></mjx-container>'
    words = "The river rose in the night, and the lower town was under water by dawn."
    said = f"<main><p>{words} {drawn}{drawn} {drawn}, {math}, {container} {container}. {words}</p></main>"
    third = r"$\frac{1}{3}$"
    assert extract(said).text == (
        f"{words} {third}{third} {third}, $\\tfrac13$, $a^2$ $a^2$. {words}"
    )


def test_drawings_that_nest_too_deep_are_their_characters() -> None:
    deep = '<span class="mord">' * MAX_DRAWN_DEPTH + "x" + "</span>" * MAX_DRAWN_DEPTH
    assert written(katex(deep)) == "x"
    nested = X
    for _ in range(12):
        nested = box(
            "mord", OPEN, box("mfrac", boxes((0.6, X), (-0.2, LINE), (-0.7, nested))), SHUT
        )
    assert written(katex(nested)).count(r"\frac{") == 12


HOSTILE = ("accent", "mover", "text", "mop", "mfrac", "msupsub", "x-arrow", "minner", "delimsizing mult", "mtable", "llap")  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_drawing_made_to_stop_it_is_read_in_little_time(name: str) -> None:
    deep = f'<span class="{name}"><span class="vlist"><span>'
    for inside in ("<b></b>" * 10_000, "x" * 50_000, '<span class="vlist"></span>' * 3000):
        for source in (
            katex(deep * 50 + inside + "</span>" * 150),
            katex(f'<span class="{name}">' * 150 + inside + "</span>" * 150),
            katex(f'<span class="{name}"><span class="vlist">{inside}</span></span>'),
        ):
            start = time.process_time()
            assert len(written(source)) <= 2 * len(source)
            assert time.process_time() - start < 2
    cells = "".join(f'<span style="top:{n}em">x</span>' for n in range(3000))
    start = time.process_time()
    written(katex(box("mtable", box("col-align-c", box("vlist", cells)) * 2)))
    written(katex(box("mtable", *[box("col-align-c", boxes((0, X)))] * 1500)))
    assert time.process_time() - start < 2


def node(name: str, *inside: str, up: float = 0) -> str:
    return f'<g data-mml-node="{name}" transform="translate(0,{up})">{"".join(inside)}</g>'


def sign(name: str, *chars: str, up: float = 0) -> str:
    return node(name, *(f'<use data-c="{ord(char):X}"></use>' for char in chars), up=up)


@pytest.mark.parametrize(
    ("inside", "tex"),
    [
        (node("msubsup", sign("mi", "𝑢"), sign("mi", "𝑖", up=363), sign("mn", "1", "2", up=-292)), "u_{12}^i"),
        (node("mfrac", sign("mn", "1"), sign("mi", "𝑥"), "<rect></rect>"), r"\frac{1}{x}"),
        (node("mroot", f"<g>{sign('mi', '𝑥')}</g>", sign("mn", "3"), sign("mo", "√"), "<rect></rect>"), r"\sqrt[3]{x}"),
        (node("msqrt", f"<g>{sign('mi', '𝑥')}</g>", sign("mo", "√"), "<rect></rect>"), r"\sqrt{x}"),
        (sign("mi", "s", "i", "n") + sign("mi", "𝛼"), r"\sin\alpha"),
        (node("munderover", sign("mo", "∑"), sign("mi", "𝑖", up=-800), sign("mi", "𝑛", up=800)), r"\sum_i^n"),
        (node("menclose", sign("mi", "𝑥"), '<line x1="0" y1="0" x2="9" y2="9"></line>'), r"\cancel{x}"),
        (sign("mo", "⎛", "⎜", "⎝") + sign("mi", "𝐱") + sign("mi", "d"), r"(\mathbf{x}\mathrm{d}"),
        (node("mtable", node("mtr", node("mtd", sign("mn", "1")), node("mtd", sign("mn", "2")))),
         r"\begin{matrix}1 & 2\end{matrix}"),
    ],
)  # fmt: skip
def test_a_drawing_of_mathjax_in_svg_is_read_by_its_nodes(inside: str, tex: str) -> None:
    drawn = f'<svg><defs><path id="MJX-1"></path></defs><g>{node("math", inside)}</g></svg>'
    source = f'<mjx-container class="MathJax" jax="SVG">{drawn}</mjx-container>'
    assert written(source) == f"${tex}$"


def test_a_drawing_without_characters_is_its_label() -> None:
    label = '<span class="MathJax_SVG"><svg aria-label="{}"><path></path></svg></span>'
    assert written(label.format(r"\frac{1}{2}")) == r"$\frac{1}{2}$"
    assert written(label.format("one half")) == "one half"


def test_lines_through_a_drawing_are_strikes() -> None:
    line = '<span class="svg-align"><svg><line x1="0" y1="{}" x2="100%" y2="0"></line></svg></span>'
    letter = box("mord mathnormal", "x")
    for y, tex in (("100%", r"\cancel{x}"), ("0", r"\bcancel{x}")):
        drawn = katex(box("mord", boxes((0, letter), (0, line.format(y)))))
        assert written(drawn) == f"${tex}$"
