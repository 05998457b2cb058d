import re
from html import unescape
from random import Random

import pytest

from pageblocks.kernels.blocks import (
    BLOCK_COLUMNS,
    ELEMENT_COLUMNS,
    FLAGS,
    MAX_DEPTH,
    Blocks,
    find_blocks,
)
from pageblocks.kernels.page_names import BREAKING, HINTS, OTHER_LANGUAGES, VOCABULARY

TAG, PARENT, HINT = (ELEMENT_COLUMNS.index(name) for name in ("tag", "parent", "hints"))


def texts(markup: str) -> list[str]:
    return [text for text, _ in placed(markup)]


def placed(markup: str) -> list[tuple[str, str]]:
    """Text of each block and the path of its element."""
    page = find_blocks(markup.encode())
    return [
        (page.text[start:end].tobytes().decode(), path(page, element))
        for start, end, element in page.blocks[:, :3].tolist()
    ]


def path(page: Blocks, element: int) -> str:
    names: list[str] = []
    while element > 0:
        names.insert(0, BREAKING[page.elements[element, TAG] - 1])
        element = int(page.elements[element, PARENT])
    return " ".join(names)


WIDE, THAI = "日本語。", "ไทย"


def naive_texts(markup: str) -> list[str]:
    """The rules in plain Python: blocks by tags that break, white space collapsed, entities read."""
    markup = re.sub(r"<!--.*?-->|<(script|style)\b.*?</\1>", "\0", markup, flags=re.S)
    done: list[str] = []
    block, breaks = "", 0
    for piece in re.split(r"(</?[a-z][^>]*>)", markup):
        tag = re.match(r"</?([a-z0-9]+)", piece)
        if tag is None:
            piece = re.sub(rf"(?<=[{WIDE}])[ \t\r]*\n[ \t\r]*(?=[{WIDE}])", "", piece)
            piece = re.sub(r"[\0\xad\ufeff]", "", unescape(piece))
            block += re.sub(r"[ \t\r\n\f\xa0]+", " ", piece)
            breaks = 0 if piece.replace("\u200b", "").strip() else breaks
        elif tag[1] == "br":
            block, breaks = block + "\n", breaks + 1
        elif tag[1] == "q":
            block, breaks = block + ("”" if piece[1] == "/" else "“"), 0
        if tag is not None and (tag[1] in BREAKING or breaks == 2):
            done.append(block)
            block, breaks = "", 0
    return [clean for each in [*done, block] if (clean := cleaned(each))]


def cleaned(block: str) -> str:
    block = re.sub(rf"\u200b+(?![\u200b{THAI}])|(?<![^ \n])\u200b+|\u200b+(?=[ \n])", "", block)
    block = re.sub(r" *\n *", "\n", re.sub(r" +", " ", re.sub(r"\u200b+", "\u200b", block)))
    return block.strip().removeprefix("\u200b")


PIECES = (
    "<div>", "</div>", "<p>", "</p>", "<li>", "</ul>", "<ul class=nav>", "<td>", "<table>", "</table>",
    "<b>", "</b>", "<a href=x>", "</a>", "<br>", "<br/>", "<!-- <p> -->", "<script>a<p>b</script>",
    "one", " two ", "&amp;", "&eacute;t&eacute;", "&#233;", "&nosuch;", WIDE, " \n ", "<span title='a>b'>",
    "</nosuch>", "<h2>", "</h2>", "&nbsp;", "&lt;p&gt;", "AT&T", "a < b", "\n", f"{WIDE}\r\n{WIDE}", "\xad",
    "&shy;", "\u200b", THAI, "\ufeff", "<q>", "</q>", "12", "&copy2", "&notit;",
)  # fmt: skip


@pytest.mark.parametrize("seed", range(20))
def test_blocks_are_those_of_the_rules_in_plain_python(seed: int) -> None:
    random = Random(seed)
    for _ in range(50):
        markup = "".join(random.choices(PIECES, k=random.randint(1, 30)))
        comparable = markup.replace("title='a>b'", "")
        assert texts(markup) == naive_texts(comparable), markup


def test_elements_close_as_in_a_tolerant_parser() -> None:
    assert placed("<ul><li>a<li>b<ul><li>c</ul>d</ul>e") == [
        ("a", "ul li"), ("b", "ul li"), ("c", "ul li ul li"), ("d", "ul li"), ("e", ""),
    ]  # fmt: skip
    assert placed("<p>a<div>b</div>c") == [("a", "p"), ("b", "div"), ("c", "")]
    assert placed("<div><table><tr><td>a</div>b<td>c<tr><td>d</table>e") == [
        ("a", "div table tr td"), ("b", "div table tr td"), ("c", "div table tr td"),
        ("d", "div table tr td"), ("e", "div"),
    ]  # fmt: skip
    assert placed("<dl><dt>a<dd>b<dt>c</dl>") == [("a", "dl dt"), ("b", "dl dd"), ("c", "dl dt")]
    assert placed("<section>a</div></section>b") == [("a", "section"), ("b", "")]
    assert placed("<x-card>a<x-text>b</x-text></x-card>c") == [
        ("a", "custom"),
        ("b", "custom custom"),
        ("c", ""),
    ]


def test_what_holds_no_text_gives_none() -> None:
    assert texts("<svg><title>a</title><svg></svg></svg>b<template><p>c</template>") == ["b"]
    assert texts("<select><option>a</select><textarea><p>b</textarea>c<![CDATA[d]]>") == ["c"]
    assert texts("a<script>var x = '<p>'</script> b<!-- c --><style>p{}</style>") == ["a b"]
    assert texts("<title>a</title><noscript>b</noscript>") == ["b"]
    assert texts("") == texts("<div><p></p></div>") == []


def test_a_template_that_is_a_shadow_root_is_part_of_the_page_and_others_are_not() -> None:
    card = "<x-card><template {}><style>p</style><p>a<slot></slot><template>b</template></template><p>c</x-card>"
    for mark in ("shadowrootmode=open", 'class=x ShadowRootMode="closed" shadowrootclonable'):
        assert texts(card.format(mark)) == ["a", "c"]
    for mark in ("", "shadowrootmode", "shadowrootmode=none", "data-shadowrootmode=open"):
        assert texts(card.format(mark)) == ["c"]
    assert texts("<div shadowrootmode=open>a</div><template shadowrootmode=open>b") == ["a", "b"]


def test_a_comment_without_an_end_is_no_text_and_takes_no_other_text_along() -> None:
    assert texts("a<!-- b < c <p>d</p>") == ["a", "d"]
    assert texts("<p>a<!-- b </p>c<!-- d") == ["a", "c"]
    assert texts("a<!-- b --> c<!-- d") == ["a c"]


def test_scripts_that_end_themselves_hold_no_page() -> None:
    head = '<head><title/><script src="a.js"/><style type="text/css"/><script src="b.js" /></head>'
    assert texts(f'<?xml version="1.0"?><html>{head}<body><p>a</p><script/></body></html>') == ["a"]
    assert texts(f"<html>{head}<body><p>a</p><script>b</script>c") == ["a", "c"]
    assert texts("<script src=a/>b</script>c<iframe src=d />e") == ["ce"]


def test_entities_are_characters() -> None:
    assert texts(
        "&lt;a&gt; &amp;amp; &copy &#x80; &#0; &#xD800; &CounterClockwiseContourIntegral; &bne;"
    ) == ["<a> &amp; © € \ufffd \ufffd ∳ =⃥"]
    assert texts("&copy2024 &notit; &notin; &ampamp; &hellip &nbspa") == [
        "©2024 ¬it; ∉ &amp; &hellip a"
    ]


def test_preformatted_text_keeps_its_white_space() -> None:
    assert texts("<pre>\n  if a:\n\n      b  # c\n</pre>") == ["  if a:\n\n      b  # c"]
    assert texts("<pre>a<br>  b<br>c</pre> c  d") == ["a\n  b\nc", "c d"]
    assert texts("<pre>\n \n<span>  </span>&nbsp;a<br><br>b\t\n c</pre>") == ["   a\n\nb\t\n c"]
    assert texts("<pre><br>  <div>  a</div>\n  <div>    b</div></pre>") == ["  a", "    b"]
    assert texts("<pre> \n </pre>a") == ["a"]


def test_lines_of_the_source_end_without_a_space_in_chinese_and_japanese() -> None:
    assert texts("日本\n  語の\r\n文、<b>日</b>本") == ["日本語の文、日本"]
    assert texts("日本 語 \n\n の&nbsp;\n文\u3000\n文") == [
        "日本 語 の 文 文"
    ]  # set apart on purpose
    assert texts("<a>出典</a>\n<a>日時</a>") == ["出典 日時"]
    assert texts("日本\nabc\n한국\n어") == ["日本 abc 한국 어"]
    assert texts("<pre>日\n本</pre>") == ["日\n本"]


def test_characters_that_are_not_seen_split_no_words() -> None:
    assert texts("Ge\xadsund&shy;heit java.&#8203;util H\ufeffow \u200b a") == [
        "Gesundheit java.util How a"
    ]
    assert texts("<p>\u200b</p>\u200bข\u200bค\u200b\u200bง\u200b ข\u200b") == ["ข\u200bค\u200bง ข"]


def test_quotations_and_raised_numbers_keep_their_meaning() -> None:
    assert texts("<q>a</q> he said") == ["“a” he said"]
    assert texts("10<sup>6</sup> 10<sup>-<i>3</i></sup> 1990<sup><a href=#n>1</a></sup>") == [
        "10^6 10^-3 1990^1"
    ]


def test_what_the_style_of_an_inline_element_hides_is_left_out() -> None:
    assert texts("a <span style='display:none'>b<span>c</span><img></span>d") == ["a d"]
    assert texts("a<em style='display: none'>b</em>, <a href=x style='display:none'>c</a>d") == [
        "a, d"
    ]
    assert texts("<div style='display:none'>a</div><span hidden>b</span>") == ["a", "b"]
    assert texts("<span style='display:none'>a<p>b</p></span>c") == ["a", "b", "c"]
    assert texts("<span style='display:none'>a") == ["a"]


def test_numbers_of_lines_of_code_are_left_out() -> None:
    assert texts(
        "<pre><span class=linenos>1</span>a\n<span class='lineno'> 2</span>  b\n"
        "<span class=linenow>3</span>c</pre>"
    ) == ["a\n  b\n3c"]


def test_links_of_one_sign_to_a_place_of_the_page_are_left_out() -> None:
    for sign in ("¶", "#", "§", "↩︎", "\uf0c1", "🔗", " ¶ "):
        assert texts(f"<h2>a<a href='#a'>{sign}</a></h2>") == ["a"]
        assert texts(f"<h2><a href=#a>{sign}</a> a <a href=#a>{sign}</a>b") == ["a b"]
    assert texts("<p><a href='#a'>¶</a></p><a href=#b>#</a>") == []
    for kept in (
        "<a href=#a>1</a>",
        "<a href=#a>a</a>",
        "<a href=#a>*</a>",
        "<a href=#a>¶¶</a>",
        "<a href=x>#</a>",
    ):
        assert texts(f"b{kept}") == ["b" + re.sub("<.*?>", "", kept)]
    page = find_blocks("<a href='#a'>¶</a><p>b</p>".encode())
    assert page.blocks[0, BLOCK_COLUMNS.index("links")] == 0


ANNOTATED = (
    '<math><semantics><mi>x</mi><annotation encoding="application/x-tex">x^2 &lt; 1</annotation>'
    "</semantics></math>"
)
DRAWN = '<span class="katex-html" aria-hidden="true"><span>x</span><span>2</span></span>'


def test_mathematics_is_its_tex() -> None:
    assert texts(f"so {ANNOTATED} holds") == ["so $x^2 < 1$ holds"]
    assert texts("so <math><mi>x</mi><mo>=</mo><mn>1</mn></math>.") == ["so $x=1$."]
    assert texts('so <script type="math/tex">x^2</script>.') == ["so $x^2$."]
    assert texts('<p><script type="math/tex; mode=display">x^2</script>') == ["$x^2$"]
    assert texts('so <script type="text/javascript">x = 2</script>.') == ["so ."]
    assert texts("a<br><m:math><m:mi>x</m:mi></m:math>") == ["a\n$x$"]
    assert texts('so <img class=latex alt="x^2">, <img class=photo alt="x^2">.') == ["so $x^2$, ."]
    assert texts(r"so \(x^2\) and $$x^3$$") == [r"so \(x^2\) and $$x^3$$"]


def test_a_formula_that_is_drawn_as_well_is_written_once() -> None:
    assert texts(f"<p><span class=katex-mathml>{ANNOTATED}</span>{DRAWN} y") == ["$x^2 < 1$ y"]
    assert texts(f"<p>{DRAWN} y") == ["$x2$ y"]
    assert texts(f"<p>{DRAWN}{DRAWN} y") == ["$x2$$x2$ y"]
    assert texts(f"<p>{DRAWN.removesuffix('</span>')} y") == ["x2 y"]
    script = '<script type="math/tex">x</script>'
    for drawn in (
        "<span class='MathJax_Preview'>x</span>",
        "<span class=MathJax_SVG id=MathJax-Element-1-Frame><svg></svg></span>",
        "<div class='MathJax_Display'><span class=MathJax><nobr>x</nobr></span></div>",
        "<span class=MathJax_Preview></span><span class='mjx-chtml'><span class=mjx-mi>x</span></span>",
    ):
        assert texts(f"so {drawn}{script} it") == ["so $x$ it"]
    assert texts("a <span class='MathJax_Preview'>x + 1</span> b") == ["a x + 1 b"]


def test_a_formula_of_mathjax_stands_in_its_line() -> None:
    drawn = "<mjx-math aria-hidden=true><mjx-mi><mjx-c></mjx-c></mjx-mi></mjx-math>"
    for_listeners = "<mjx-assistive-mml><math><mi>x</mi></math></mjx-assistive-mml>"
    assert texts(f"so <mjx-container class=MathJax>{drawn}{for_listeners}</mjx-container>.") == [
        "so $x$."
    ]
    assert texts("so <math-renderer class=js-inline-math>$x$</math-renderer>.") == ["so $x$."]


def test_a_formula_of_wikipedia_is_written_though_its_style_hides_it() -> None:
    hidden = f'<span class="mwe-math-mathml-inline" style="display: none;">{ANNOTATED}</span>'
    image = r'<img class="mwe-math-fallback-image-inline" alt="{\displaystyle x^2 &lt; 1}">'
    assert texts(f"so {hidden}{image} holds") == ["so $x^2 < 1$ holds"]
    assert texts(f"so {hidden} holds") == ["so $x^2 < 1$ holds"]
    assert texts(f"so {image} holds") == ["so $x^2 < 1$ holds"]
    assert texts(f"so <span style='display: none;'>{ANNOTATED}</span>.") == ["so ."]


def test_a_formula_without_an_end_is_text_and_the_next_one_is_none_the_less_a_formula() -> None:
    assert texts("<p><math><mi>x</mi> a <math><mi>y</mi></math> b") == ["x a $y$ b"]
    assert texts("<p>a <math/> b <span class=MathJax>c") == ["a b c"]


def test_blocks_with_formulas_say_so() -> None:
    page = find_blocks(f"<p>a<p>b {ANNOTATED}<p><img alt='$5'>c".encode())
    flags = page.blocks[:, BLOCK_COLUMNS.index("flags")] & FLAGS["has_math"]
    assert flags.tolist() == [0, FLAGS["has_math"], 0]
    assert page.text_of(1) == "b $x^2 < 1$"


def test_links_and_words_are_counted() -> None:
    page = find_blocks(
        b"<title>Red Cat</title><h1>The red cat</h1><p>Go <a href=x>to it</a>, <a>now</a>. 12</p>"
    )
    names = ("chars", "words", "link_chars", "links", "marks", "digits", "title_words")
    rows = page.blocks[:, [BLOCK_COLUMNS.index(name) for name in names]].tolist()
    assert rows == [[9, 3, 0, 0, 0, 0, 2], [13, 5, 4, 1, 2, 2, 0]]


@pytest.mark.parametrize(
    ("marks", "hints"),
    [
        ('class="site-nav"', {"navigation"}),
        ('id="articleBody"', {"article", "content"}),
        ("role=contentinfo", {"footer", "content"}),
        ('itemprop="datePublished"', {"meta"}),
        ("hidden", {"hidden"}),
        ('style="display:none"', {"hidden"}),
        ('style="color: red; Display : None;"', {"hidden"}),
        ('style="display: nonesuch; display-none: 1"', set()),
        ('aria-hidden="true"', {"hidden"}),
        ('aria-hidden="false" class="gradient addition"', set()),
        ('data-class="nav" title="footer"', set()),
        ('id="material-komentarze"', {"comment"}),
        ('class="Fussleiste"', {"footer"}),
        ('class="fussball"', set()),
        ('id="noticiasRelacionadas"', {"related"}),
        ("class=zhengwen", {"content"}),
        ('class="wp-block-embed"', {"media"}),
        ('class="embedded"', set()),  # included text, in the help of LibreOffice
    ],
)  # fmt: skip
def test_names_hint_at_what_an_element_is(marks: str, hints: set[str]) -> None:
    page = find_blocks(f"<div {marks}>a</div>".encode())
    bits = int(page.elements[1, HINT])
    assert {name for name, bit in HINTS.items() if bits >> bit & 1} == hints


@pytest.mark.parametrize(
    ("marks", "tag"),
    [
        ('class="postcontent restore"', "div"),  # vBulletin 4
        ('class="messageText SelectQuoteContainer ugc baseHtml"', "div"),  # XenForo 1
        ('class="quoteContainer"', "blockquote"),
        ('class="bbCodeBlock bbCodeBlock--quote"', "blockquote"),  # XenForo 2
        ("", "blockquote"),
    ],
)
def test_a_post_that_is_written_as_a_quotation_is_none(marks: str, tag: str) -> None:
    page = find_blocks(f"<blockquote {marks}>One<br><br>two</blockquote>three".encode())
    assert BREAKING[page.elements[1, TAG] - 1] == tag
    assert page.elements[1, ELEMENT_COLUMNS.index("end_block")] == 2  # its end tag ends it


def test_a_word_of_another_language_hints_at_one_thing() -> None:
    words = [word for given in OTHER_LANGUAGES.values() for word in given.split()]
    stems = [word.rstrip("*") for word in words]
    assert len(set(stems)) == len(stems)
    assert all(stem.isascii() and stem.isalpha() and stem.islower() for stem in stems)
    english = {word.rstrip("*") for given in VOCABULARY.values() for word in given.split()}
    open_ones = tuple(word.rstrip("*") for word in words if word.endswith("*"))
    assert [word for word in english if word.startswith(open_ones) or word in stems] == []


@pytest.mark.parametrize(
    "page",
    [
        b"<div>" * 100_000 + b"a",
        b"</div>" * 100_000 + b"a",
        b"<div><td>" + b"</div>" * 100_000 + b"a",
        b"<!--" * 100_000,
        b"<svg>" * 50_000 + b"a",
        b"<math>" * 50_000 + b"a",
        b"x<sup>" * 30_000 + b"2" + b"</sup>" * 30_000,
        b"<math><mi>x</mi></math>" * 20_000,
        b"<math>" + b"<mrow>" * 50_000 + b"</math>a",
        b"<span class=MathJax>" * 30_000 + b"a",
        b"<script type='math/tex'>" * 10_000 + b"a",
        b"<script/><style/><title/>" * 10_000 + b"a",
        b"<!-- a " * 50_000 + b"<p>b",
        b"<img class=latex alt='x'>" * 20_000,
        b"<a " + b"b=c " * 100_000 + b">a",
        b"<p class='" + b"nav" * 100_000 + b"'>a",
        b"<script>" * 10_000 + b"a",
        b"&" * 100_000 + b"&amp" * 1000,
        b"<span style='display:none'>" * 30_000 + b"a",
        b"<a href=#>#" * 50_000,
        "日\n".encode() * 50_000,
        b"<pre> " * 50_000 + b"a",
        b"&nGt;" * 100_000,  # five bytes that become six
        b"<",
        b"<a",
        b"</",
        b"<p class=",
        b"<p class='x",
        b"\xff\xfe<p>\xe3\x81",
        bytes(range(256)) * 50,
    ],
)
def test_hostile_pages_are_read_to_their_end(page: bytes) -> None:
    found = find_blocks(page)
    assert (found.elements[:, ELEMENT_COLUMNS.index("depth")] <= MAX_DEPTH).all()
    assert (found.blocks[:, 0] < found.blocks[:, 1]).all()


@pytest.mark.parametrize("seed", range(5))
def test_any_bytes_give_blocks_that_lie_in_order_inside_their_elements(seed: int) -> None:
    random = Random(seed)
    for _ in range(200):
        pieces = [random.choice(PIECES).encode() for _ in range(40)]
        page = bytearray(b"".join(pieces))
        for _ in range(10):
            page[random.randrange(len(page))] = random.choice(b"<>/\"'&= \xe3\x81")
        found = find_blocks(bytes(page))
        for number, (start, end, element) in enumerate(found.blocks[:, :3].tolist()):
            assert start < end
            first, stop = found.elements[element, 4:6].tolist()
            assert first <= number < stop
        assert (found.blocks[1:, 0] >= found.blocks[:-1, 1]).all()
