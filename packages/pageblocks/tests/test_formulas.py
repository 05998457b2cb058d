"""Formulas of every form as one form of TeX."""

import time

import pytest

from pageblocks.formulas import write_formulas
from pageblocks.formulas.elements import MAX_DEPTH
from pageblocks.formulas.sources import MAX_FORMULA_CHARS, clean_tex


def written(*sources: str, between: str = "") -> list[str]:
    """What is written for pieces of markup that stand one after the other."""
    page, places = b"", []
    for source in sources:
        start = len(page)
        page += source.encode()
        places.append((start, len(page)))
        page += between.encode()
    return [text.decode() for text in write_formulas(page, places)]


def tex(markup: str) -> str:
    """The TeX of a `math` that holds this."""
    return written(f"<math>{markup}</math>")[0][1:-1]


PRESENTATION = {
    "<mfrac><mn>1</mn><mn>3</mn></mfrac>": r"\frac{1}{3}",
    "<mi>m</mi><msup><mi>c</mi><mn>2</mn></msup>": "mc^2",
    "<msup><mi>x</mi><mrow><mi>n</mi><mo>+</mo><mn>1</mn></mrow></msup>": "x^{n+1}",
    "<msub><mi>a</mi><mrow><mi>i</mi><mi>j</mi></mrow></msub>": "a_{ij}",
    "<msubsup><mi>x</mi><mi>i</mi><mn>2</mn></msubsup><mi>y</mi>": "x_i^2 y",
    "<msup><mi>x</mi><mi>n</mi></msup><mi>y</mi>": "x^n y",
    "<msup><mrow><mo>(</mo><mi>a</mi><mo>+</mo><mi>b</mi><mo>)</mo></mrow><mn>2</mn></msup>": "(a+b)^2",
    "<msup><mrow><mi>a</mi><mi>b</mi></mrow><mn>2</mn></msup>": "{ab}^2",
    "<msup><msub><mi>x</mi><mi>i</mi></msub><mn>2</mn></msup>": "x_i^2",
    "<msup><msup><mi>x</mi><mi>i</mi></msup><mn>2</mn></msup>": "{x^i}^2",
    "<msup><mi>f</mi><mo>&#8242;</mo></msup><mo>(</mo><mi>x</mi><mo>)</mo>": "f'(x)",
    "<msqrt><mi>x</mi><mo>+</mo><mn>1</mn></msqrt>": r"\sqrt{x+1}",
    "<mroot><mi>x</mi><mn>3</mn></mroot>": r"\sqrt[3]{x}",
    "<munderover><mo>&sum;</mo><mrow><mi>i</mi><mo>=</mo><mn>1</mn></mrow><mi>n</mi></munderover><mi>i</mi>":
        r"\sum_{i=1}^n i",
    "<munder><mi>lim</mi><mrow><mi>x</mi><mo>&rarr;</mo><mi>&infin;</mi></mrow></munder>":
        r"\lim_{x\rightarrow\infty}",
    "<mover accent='true'><mi>x</mi><mo>^</mo></mover>": r"\hat{x}",
    "<mover><mrow><mi>A</mi><mi>B</mi></mrow><mo>&rarr;</mo></mover>": r"\overrightarrow{AB}",
    "<munder><mi>x</mi><mo>_</mo></munder>": r"\underline{x}",
    "<mover><mo>=</mo><mtext>def</mtext></mover>": r"\overset{\text{def}}{=}",
    "<mover><mo>&rarr;</mo><mi>f</mi></mover>": r"\xrightarrow{f}",
    "<munderover><mi>X</mi><mi>a</mi><mi>b</mi></munderover>": r"\underset{a}{\overset{b}{X}}",
    "<mover><mover><mi>x</mi><mo>&#x23DE;</mo></mover><mn>2</mn></mover>": r"\overbrace{x}^2",
    "<mtable><mtr><mtd><mn>1</mn></mtd><mtd><mn>2</mn></mtd></mtr><mtr><mtd><mn>3</mn></mtd></mtr></mtable>":
        r"\begin{matrix}1 & 2 \\ 3\end{matrix}",
    "<mo>[</mo><mtable><mtr><mtd><mn>1</mn></mtd></mtr></mtable><mo>]</mo>":
        r"\begin{bmatrix}1\end{bmatrix}",
    "<mo>{</mo><mtable><mtr><mtd><mn>1</mn></mtd></mtr></mtable>": r"\begin{cases}1\end{cases}",
    "<mfenced open='(' close=')'><mtable><mtr><mtd><mn>1</mn></mtd></mtr></mtable></mfenced>":
        r"\begin{pmatrix}1\end{pmatrix}",
    "<mfenced open='[' close=')' separators=';,'><mi>a</mi><mi>b</mi><mi>c</mi><mi>d</mi></mfenced>": "[a;b,c,d)",
    "<mo>(</mo><mfrac linethickness='0'><mi>n</mi><mi>k</mi></mfrac><mo>)</mo>": r"\binom{n}{k}",
    "<mi>x</mi><mtext> if </mtext><mi>y</mi>": r"x\text{ if }y",
    "<mtext>100 %</mtext>": r"\text{100 \%}",
    "<mi>sin</mi><mo>&ApplyFunction;</mo><mi>&theta;</mi>": r"\sin\theta",
    "<mi>&alpha;</mi><mi>x</mi>": r"\alpha x",
    "<mi>speed</mi>": r"\mathrm{speed}",
    "<mi mathvariant='bold'>v</mi><mi mathvariant='double-struck'>R</mi>": r"\mathbf{v}\mathbb{R}",
    "<mi>𝐱</mi><mi>ℒ</mi><mi>𝑦</mi><mi>ℝ</mi>": r"\mathbf{x}\mathcal{L}y\mathbb{R}",
    "<mi mathvariant='normal'>d</mi><mi>x</mi>": r"\mathrm{d}x",
    "<mn>2</mn><mo>&InvisibleTimes;</mo><mi>x</mi>": "2x",
    "<mn>2</mn><mn>3</mn>": r"2\,3",
    "<mn>1 000.5</mn><mo>&#x2212;</mo><mn>14</mn>": r"1\,000.5-14",
    "<mo>{</mo><mi>x</mi><mo>&ne;</mo><mn>0</mn><mo>}</mo>": r"\{x\neq0\}",
    "<mmultiscripts><mi>C</mi><mn>6</mn><none/><mprescripts/><none/><mn>14</mn></mmultiscripts>": "{}^{14}C_6",
    "<menclose notation='box'><mi>x</mi></menclose>": r"\boxed{x}",
    "<mi>a</mi><mspace width='2em'/><mi>b</mi>": r"a\quad b",
    "<mphantom><mi>x</mi></mphantom><mi>y</mi>": "y",
    "<mstyle><mpadded><mi>x</mi></mpadded></mstyle>": "x",
    "<semantics><mi>x</mi><annotation encoding='text/plain'>y</annotation></semantics>": "x",
    "x &lt; <mi>y</mi>": "x<y",
}  # fmt: skip


@pytest.mark.parametrize("markup", PRESENTATION)
def test_presentation_is_tex(markup: str) -> None:
    assert tex(markup) == PRESENTATION[markup]


CONTENT = {
    "<apply><plus/><apply><times/><cn>2</cn><ci>x</ci></apply><cn>1</cn></apply>": "2x+1",
    "<apply><times/><apply><plus/><ci>a</ci><ci>b</ci></apply><cn>2</cn></apply>": r"(a+b)\cdot2",
    "<apply><times/><apply><sin/><ci>x</ci></apply><ci>y</ci></apply>": r"(\sin x)y",
    "<apply><times/><cn>2</cn><apply><sin/><ci>x</ci></apply><apply><cos/><ci>x</ci></apply></apply>":
        r"2\sin x\cos x",
    "<apply><times/><apply><ci>f</ci><ci>x</ci></apply><apply><sin/><apply><plus/><ci>x</ci><ci>y</ci></apply></apply>"
    "<ci>z</ci></apply>": r"f(x)\sin(x+y)z",
    "<apply><times/><apply><times/><ci>a</ci><apply><ln/><ci>b</ci></apply></apply><ci>c</ci></apply>": r"(a\ln b)c",
    "<apply><times/><ci>a</ci><apply><diff/><bvar><ci>x</ci></bvar><ci>y</ci></apply><ci>z</ci></apply>":
        r"a(\frac{d}{dx}y)z",
    "<apply><minus/><ci>a</ci><apply><times/><cn>2</cn><apply><sum/><bvar><ci>i</ci></bvar><ci>i</ci></apply></apply></apply>":
        r"a-2\sum_i i",
    "<apply><times/><apply><sum/><bvar><ci>i</ci></bvar><ci>i</ci></apply><ci>b</ci></apply>": r"(\sum_i i)b",
    "<apply><power/><apply><plus/><ci>a</ci><ci>b</ci></apply><cn>2</cn></apply>": "(a+b)^2",
    "<apply><divide/><cn>1</cn><cn>3</cn></apply>": r"\frac{1}{3}",
    "<cn type='rational'>1<sep/>3</cn>": r"\frac{1}{3}",
    "<cn type='e-notation'>6.02<sep/>23</cn>": r"6.02\times 10^{23}",
    "<apply><minus/><ci>a</ci><apply><minus/><ci>b</ci><ci>c</ci></apply></apply>": "a-(b-c)",
    "<apply><minus/><ci>x</ci></apply>": "-x",
    "<apply><root/><degree><cn>3</cn></degree><ci>x</ci></apply>": r"\sqrt[3]{x}",
    "<apply><int/><bvar><ci>x</ci></bvar><lowlimit><cn>0</cn></lowlimit><uplimit><infinity/></uplimit>"
    "<apply><exp/><apply><minus/><ci>x</ci></apply></apply></apply>": r"\int_0^{\infty}e^{-x}\,dx",
    "<apply><sum/><bvar><ci>i</ci></bvar><lowlimit><cn>1</cn></lowlimit><uplimit><ci>n</ci></uplimit>"
    "<apply><selector/><ci>x</ci><ci>i</ci></apply></apply>": r"\sum_{i=1}^n x_i",
    "<apply><diff/><bvar><ci>x</ci></bvar><ci>y</ci></apply>": r"\frac{d}{dx}y",
    "<apply><partialdiff/><bvar><ci>x</ci></bvar><bvar><ci>y</ci></bvar><ci>f</ci></apply>":
        r"\frac{\partial^2}{\partial x\partial y}f",
    "<apply><limit/><bvar><ci>x</ci></bvar><lowlimit><cn>0</cn></lowlimit><apply><sin/><ci>x</ci></apply></apply>":
        r"\lim_{x\to0}\sin x",
    "<apply><eq/><apply><ci>f</ci><ci>x</ci><ci>y</ci></apply><pi/></apply>": r"f(x,y)=\pi",
    "<apply><log/><logbase><cn>2</cn></logbase><ci>x</ci></apply>": r"\log_2 x",
    "<apply><cos/><apply><plus/><ci>x</ci><ci>y</ci></apply></apply>": r"\cos(x+y)",
    "<apply><in/><ci>x</ci><reals/></apply>": r"x\in\mathbb{R}",
    "<apply><forall/><bvar><ci>x</ci></bvar><apply><geq/><ci>x</ci><cn>0</cn></apply></apply>":
        r"\forall x:(x\geq0)",
    "<matrix><matrixrow><cn>1</cn><cn>0</cn></matrixrow><matrixrow><cn>0</cn><cn>1</cn></matrixrow></matrix>":
        r"\begin{pmatrix}1 & 0 \\ 0 & 1\end{pmatrix}",
    "<piecewise><piece><ci>x</ci><apply><gt/><ci>x</ci><cn>0</cn></apply></piece>"
    "<otherwise><cn>0</cn></otherwise></piecewise>": r"\begin{cases}x & x>0 \\ 0 & \text{otherwise}\end{cases}",
    "<interval closure='open-closed'><cn>0</cn><cn>1</cn></interval>": "(0,1]",
    "<apply><factorial/><ci>n</ci></apply>": "n!",
    "<lambda><bvar><ci>x</ci></bvar><apply><power/><ci>x</ci><cn>2</cn></apply></lambda>": r"x\mapsto x^2",
    "<apply><nosuch/><ci>x</ci></apply>": r"\operatorname{nosuch}(x)",
}  # fmt: skip


@pytest.mark.parametrize("markup", CONTENT)
def test_content_is_tex(markup: str) -> None:
    assert tex(markup) == CONTENT[markup]


ANNOTATION = '<annotation encoding="application/x-tex">%s</annotation>'
MI = "<semantics><mi>y</mi>%s</semantics>"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (f"<math alttext='b_1'>{MI % (ANNOTATION % 'a &lt; b')}</math>", "$a < b$"),
        (f"<math>{MI % (ANNOTATION % ' ')}</math>", "$y$"),
        (r"<math alttext='\frac{1}{3}'><mi>y</mi></math>", r"$\frac{1}{3}$"),
        ("<math alttext='y squared over three'><msup><mi>y</mi><mn>2</mn></msup></math>", "$y^2$"),
        ("<math alttext='mc2'><mi>m</mi><msup><mi>c</mi><mn>2</mn></msup></math>", "$mc^2$"),
        ("<math alttext='x=1'></math>", "$x=1$"),
        ("<math></math>", ""),
        (r"<math>%s</math>" % (MI % (ANNOTATION % r"{\displaystyle x^{2}}")), "$x^{2}$"),
        ("<math>%s</math>" % (MI % (ANNOTATION % "a%&#10;+b")), "$a+b$"),
        ('<script type="math/tex">x &lt; 2</script>', "$x &lt; 2$"),  # entities are none in scripts
        ('<script type="math/tex">% <![CDATA[\nx < 2 %]]></script>', "$x < 2$"),
        ('<script type="math/mml"><math><mi>x</mi></math></script>', "$x$"),
        ('<script type="math/asciimath">x/2</script>', "x/2"),
    ],
)
def test_what_a_page_says_itself_comes_before_what_is_converted(source: str, expected: str) -> None:
    assert written(source) == [expected]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (r'<img class="mwe-math-fallback-image-inline" alt="{\displaystyle x_{1}}">', "$x_{1}$"),
        ('<img src="https://s0.wp.com/latex.php?latex=x%5E2&amp;bg=fff" alt="x^2" class="latex">', "$x^2$"),
        ('<img src="/latex.php?latex=a%2Bb+c&bg=ffffff&s=0">', "$a+b c$"),
        (r'<img src="https://latex.codecogs.com/gif.latex?\dpi{120}&space;x^2&plus;1">', "$x^2+1$"),
        (r'<img src="https://latex.codecogs.com/svg.image?%5Cfrac%7B1%7D%7B3%7D" alt="">', r"$\frac{1}{3}$"),
        ('<img src="/cgi-bin/mathtex.cgi?x^3">', "$x^3$"),
        (r'<img src="https://chart.googleapis.com/chart?cht=tx&chl=\sqrt{2}">', r"$\sqrt{2}$"),
        ('<img class="tex" alt="a_n" src="/math/a.png">', "$a_n$"),
        (r'<IMG SRC="img1.png" ALT="$\displaystyle x^{2}$">', "$x^{2}$"),
        (r'<img src="a.png" alt="\begin{align}x\end{align}">', r"$\begin{align}x\end{align}$"),
        ('<img class="ql-img-inline-formula quicklatex-auto-format" alt="&#120;&#94;&#50;" title="x">', "$x^2$"),
        ('<img class="latex" alt="n">', "$n$"),
        ('<img class="Wirisformula" alt="x over 2" data-mathml="«math»«mfrac»«mi»x«/mi»«mn»2«/mn»«/mfrac»«mo»§#177;«/mo»«/math»">',
         r"$\frac{x}{2}\pm$"),
        ('<img class="Wirisformula" alt="x over 2" data-mathml="x">', ""),
        ('<img class="equation" alt="Equation one of the paper">', ""),
        ('<img class="text-math-cover" alt="x^2">', ""),
        ('<img class="photo" alt="x^2 on a board">', ""),
        ('<img alt="$5 off" src="a.png">', ""),
        ('<img alt="$5 or $4$" src="a.png">', ""),
        ('<img src="context.png" alt="The texture of paper">', ""),
    ],
)  # fmt: skip
def test_images_of_formulas_are_what_they_show_and_others_nothing(
    source: str, expected: str
) -> None:
    assert written(source) == [expected]


def test_a_formula_in_two_forms_is_written_once() -> None:
    own = r"<math><annotation encoding='application/x-tex'>{\displaystyle x}</annotation></math>"
    converted = "<math><mfrac><mi>x</mi><mi>y</mi></mfrac></math>"
    image = r'<img class="mwe-math-fallback-image-inline" alt="{\displaystyle x}">'
    assert written(own, image, between="</span>") == ["$x$", ""]
    assert written(own, image, between=" and ") == ["$x$", "$x$"]
    assert written(converted, r'<img class=latex alt="x/y">') == ["", "$x/y$"]
    assert written(own, own) == ["$x$", "$x$"]  # x times x
    preview, script = "<span class=MathJax_Preview>x</span>", "<script type='math/tex'>x</script>"
    assert written(preview, script, between="<!-- a -->\n") == ["", "$x$"]
    assert written(preview, preview) == ["", "x"]
    frame = '<span class="MathJax" data-mathml="&lt;math&gt;&lt;mi&gt;x&lt;/mi&gt;&lt;/math&gt;">x</span>'
    assert written(preview, frame, script) == ["", "", "$x$"]
    assert written(frame) == ["$x$"]


def test_tex_is_written_without_what_is_around_it() -> None:
    for given in (
        "$x^2$",
        "$$x^2$$",
        r"\(x^2\)",
        r"\[ x^2 \]",
        r"{\displaystyle x^2}",
        r"\displaystyle x^2",
    ):
        assert clean_tex(given) == "x^2"
    assert clean_tex("$a$ and $b$") == "$a$ and $b$"
    assert clean_tex("50\\% % a comment\n +\n 1") == "50\\% + 1"
    assert clean_tex("<br />\n x^2 <br>") == "x^2"
    assert clean_tex(r"{\displaystyle }") == clean_tex(" {} ") == ""
    assert clean_tex(r"{\displaystyle a}{b}") == r"{\displaystyle a}{b}"


def test_what_nests_too_deep_or_is_too_large_is_its_text() -> None:
    deep = "<mrow>" * MAX_DEPTH + "<mi>x</mi>"
    assert tex("<mrow>" * (MAX_DEPTH - 3) + "<mi>x</mi>") == "x"
    assert written(f"<math>{deep}<annotation>no</annotation></math>") == ["x"]
    large = "<mn>1</mn> " * (MAX_FORMULA_CHARS // 10)
    assert set(written(f"<math>{large}</math>")[0]) == {"1", " "}


@pytest.mark.parametrize(
    "source",
    [
        "<math>" + "<msup>" * 60 + "<mi>x</mi>" + "<mi>y</mi></msup>" * 60 + "</math>",
        "<math>" + "<apply><plus/>" * 30 + "<ci>x</ci></apply>" * 30 + "</math>",
        "<math>" + "<mfenced>" * 60 + "<mi>x</mi>" + "</mfenced>" * 60 + "</math>",
        "<math>" + "<mi>x" * 60 + "</math>",
        "<math>" + "<mo>(" * 20_000 + "</math>",
        "<math>" + "<mfrac/>" * 16_000 + "</math>",
        "<math>" + "</mrow>" * 18_000 + "</math>",
        "<math>" + '<mi a="' * 18_000 + "</math>",
        "<math " + 'a="b' * 30_000 + "</math>",
        "<math>" + "<!--" * 30_000 + "</math>",
        "<math>" + "<annotation encoding=" * 6_000 + "</math>",
        "<script type='math/tex'>" + "{" * 100_000 + "</script>",
        "<script type='math/tex'>" + r"{\displaystyle " * 8_000 + "}" * 8_000 + "</script>",
        "<script type='math/tex'>" + "%" * 100_000 + "</script>",
        "<img class=latex alt='" + "{" * 100_000 + "'>",
        "<span class=MathJax data-mathml=" + "<math" * 20_000 + "</span>",
        "<math>" + "<!" * 60_000 + "</math>",
        "<math " + "a" * 120_000 + "><mi>x</mi></math>",
        "<math alttext='" + "$" * 100_000 + "'><mi>x</mi></math>",
        "<img class=latex src='" + "latex.php?" * 10_000 + "'>",
        "<img class=Wirisformula data-mathml='" + "«math" * 20_000 + "'>",
        "<img class='" + "math " * 20_000 + "' alt=x>",
        "<script type='math/tex'>" + "%\n" * 50_000 + "</script>",
        "<math>" + "<munderover><mo>&sum;</mo>" * 4_000 + "</math>",
    ],
)
def test_a_formula_made_to_stop_it_is_read_in_little_time(source: str) -> None:
    start = time.process_time()
    (text,) = written(source)
    assert time.process_time() - start < 2
    assert len(text) <= 2 * len(source)


@pytest.mark.parametrize(
    ("row", "tex"),
    [
        ("<mo>∥</mo><mi>x</mi><mo>∥</mo>", r"\|x\|"),
        ("<mi>a</mi><mo>∥</mo><mi>b</mi>", r"a\parallel b"),
        ("<mi>f</mi><mo>(</mo><mi>x</mi><mo>)</mo><mo>∥</mo><mi>g</mi>", r"f(x)\parallel g"),
        ("<mn>1</mn><mo>=</mo><mo>∥</mo><mi>x</mi><msub><mo>∥</mo><mn>2</mn></msub>", r"1=\|x\|_2"),
        ("<mn>2</mn><mo form='prefix'>∥</mo><mi>x</mi><mo form='postfix'>∥</mo>", r"2\|x\|"),
        ("<mn>2</mn><mi mathvariant='normal'>∥</mi><mi>x</mi><mi mathvariant='normal'>∥</mi>", r"2\|x\|"),
        ("<mo>∥</mo><mi>x</mi><mo>∥</mo><mo>∥</mo><mi>b</mi>", r"\|x\|\parallel b"),
        ("<mo>∥</mo><mtable><mtr><mtd><mi>a</mi></mtd></mtr></mtable><mo>∥</mo>",
         r"\begin{Vmatrix}a\end{Vmatrix}"),
        ("<menclose notation='downdiagonalstrike'><mi>x</mi></menclose>", r"\bcancel{x}"),
        ("<menclose notation='updiagonalstrike downdiagonalstrike'><mi>x</mi></menclose>", r"\xcancel{x}"),
    ],
)  # fmt: skip
def test_double_bars_are_norms_or_relations_by_what_stands_around_them(row: str, tex: str) -> None:
    source = f"<math><mrow>{row}</mrow></math>".encode()
    assert write_formulas(source, [(0, len(source))]) == [f"${tex}$".encode()]
