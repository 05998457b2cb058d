"""The text that resiliparse finds in a page is the reference: it must not change."""

import random
import re

import pytest

from corpus_assets.ingest.extract.charset import decode
from corpus_assets.ingest.extract.engines import make_engine, pack_trimmed
from corpus_assets.ingest.formats.warc import read_warc
from corpus_assets.ingest.kernels.skipped_elements import ANY_SKIPPED, SKIPPED, names_in
from corpus_assets.ingest.kernels.trim_markup import trim_markup
from corpus_assets_tests.shared_data import shared_data

pytest.importorskip("resiliparse")

OPTIONS = {"engine": "resiliparse", "include_comments": False}
EXTRACT = make_engine(OPTIONS)
EXTRACT_TRIMMED = make_engine(OPTIONS | {"is_trimmed": True})

PIECES = """<!doctype html>|<html lang=en>|<head>|</head>|<body class="a b">|</body>|<title>T & t</title>
<meta name=a content="b>c">|<link rel=next href=x>|<base href=/>|<noscript>|</noscript>|<style>p > a {}</style>
<script>if (a < b) { "</p>" }</script>|<script><!-- <p> --></script>|<script><!--<script></script>--></script>
<SCRIPT src=x></SCRIPT >|<div class="post content" data-x='1' id=main>|<div>|</div>|<div class=nav-x hidden>
<p class= id=x>|<p title="a > b">|<p>|</p>|<a href="x"class="skip">|<a href='y' rel=tag>|<a href=z>|</a>
<b id=1>|<b id=2 x=3>|<b>|</b>|<i a=b>|</i>|<font size=1>|</font>|<ul class=menu>|<ul>|<li>|</li>|</ul>
<table border=1>|<tr>|<td width=5>|</td>|</tr>|</table>|<input type=hidden value=v>|<input type=text>|<br/>|<br clear=all />
<img src=x alt='a b'/>|<pre>|</pre>|<textarea>|</textarea>|<textarea> x  <p> </textarea>|<select a=1>|<option v=1>
</select>|<svg viewBox="0 0"><path d="M 1 2"/><title>icon</title></svg>|<svg>|</svg>|<svg/>|<g>|<foreignObject>|<style>
</style>|<math>|</math>|<mi>|<template>|</template>|<iframe src=x>a <p> b</iframe>|<!-- a  comment -->|<!-->|<!--->
<!--x--!>|<!--|-->|<![if IE]>|<![CDATA[ x ]]>|<?php echo ?>|</>|</ x>|<|>|"|'|=|/|\ue000|¶|A plain  sentence,
 with words \n\n and spaces. |   \t\n |&nbsp;|&amp; more|語の文|<header role=banner>|</header>|<footer>|</footer>
<article itemprop=x style="display: none">|</article>|<main role="main">|</main>|<section aria-hidden=true x>|</section>
<p/class=q/>|<p =x class=y>|<p class="a" class="nav">|<p\fid=a\rx>|<frameset>|<plaintext>|<h1 onclick="a('>')">|</h1>
<div class=q>|<div class='q r' id=s>|<div id=q- >|<div class=q>|</div>|</div>|<figure>|</figure>|<figcaption>|<label for=x>
</label>|<button>|</button>|<noscript>|<video src=x>|</video>|<audio>|<map>|<area alt=x>|<embedimg>|</embedimg>|<dl>|</dl>
<dt>|<dd>|</dd>|<h2>|</h2>|<h3>|<form>|</form>|<center>|</center>|<details>|<summary>|<search>|</search>|<ruby>|<rt>|<address>
<th>|<marquee>|</marquee>|</object>|<span class=q role=tab style="color: red">|</span>|<ol>|</ol>|<blockquote>|</blockquote>
<nav>|</nav>|<time datetime=1>|</time>|<em x>|</em>|<xmp> <b> </xmp>|<noembed><p></noembed>|<caption>|<col>|<object data=x>"""
PIECE_LIST = [piece for line in PIECES.split("\n") for piece in line.split("|")]


def check(page: bytes) -> None:
    trimmed = trim_markup(page)
    text = EXTRACT(page)
    assert EXTRACT(trimmed.markup) == text, page
    assert EXTRACT_TRIMMED(pack_trimmed(*trimmed)) == text, page


@pytest.mark.parametrize("seed", range(12))
def test_random_markup_gives_the_same_text(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(120):
        body = [draw.choice(PIECE_LIST) + draw.choice(["", "word ", " ", "\n"]) for _ in range(40)]
        start = draw.choice(["", "<!doctype html><html><head><title>x</title></head><body>"])
        check((start + "".join(body)).encode("utf-8"))


NAMES = """article entry-x post storyline main_content body text page q q-r q_r q- -q q--r q__r grid col-3 nav
site-nav menu-item drop-down breadcrumbs linkbar mylink linklist trends featured editors-picks related other-guides
more_stories header site-header head footer right l-right copyright cookie fcontainer sidebar left-side-box one-third
sticky-bar search searchbox skip-link scroll-up next prev-post pagination hidden is-hidden visually-hidden h-0 nocontent
expandable-lg modal popup-window p-lightbox gallery carousel login sign-up account user-info google-ads ad ad_1f adx padding
wide-ad widebanner sponsored promoted paid donate social share-btn sharing newsletter follow email likes feedback
brand-engagement facebook twitter subscribe wa jp l-wa wafer comments no-comment user-reply brand-logo logotype print-x
short-view-count spinner article-body articleBody contentBody main-content postcontent single-post ſearch &#110;av NAV
overflow-hidden log_in sign_up givefeedback give_feedback m-like c-jp __wa address ad-box text-center linknext link_prev
visually_invisible is_h-0 advertisement advertiselink google_ad Spinner consent legal recommended trending popular read-next invisible collapsed display-none menu dropdown  \t
ad\tx syndication""".replace("\n", " ").split(" ")


@pytest.mark.parametrize("tag", ["div", "section", "span", "a", "li", "td", "p"])
@pytest.mark.parametrize(
    "form", ["class='{}'", "id='{}'", "class='q' id='{}'", "class='{} q' id=r"]
)
def test_every_name_that_a_rule_knows_is_kept(tag: str, form: str) -> None:
    for name in NAMES:
        element = f"<{tag} {form.format(name)}>Words <a href=x>of a link</a>.</{tag}>"
        check(f"<body><main><div><div>One. {element} Two.</div></div></main>".encode())


@pytest.mark.parametrize("seed", range(10))
def test_random_names_of_elements_give_the_same_text(seed: int) -> None:
    draw = random.Random(seed)
    tags = [
        "div",
        "div",
        "p",
        "td",
        "section",
        "span",
        "a",
        "li",
        "ul",
        "h2",
        "article",
        "blockquote",
        "form",
    ]

    def attribute() -> str:
        name = draw.choice(
            ["class", "class", "id", "role", "style", "rel", "data-ad", "itemprop", "CLASS"]
        )
        values = {
            "role": ["tab", "main", "x"],
            "style": ["display:none", "color: red"],
            "rel": ["tag", "main"],
        }
        value = " ".join(draw.choices(values.get(name, NAMES), k=draw.choice([1, 1, 2, 3])))
        return draw.choice(
            [
                f' {name}="{value}"',
                f" {name}='{value} '",
                f" {name}={value.split()[0] if value.split() else 'q'}",
            ]
        )

    def element(depth: int) -> str:
        tag = draw.choice(tags)
        inside = "".join(
            element(depth + 1)
            if depth < 7 and draw.random() < 0.55
            else draw.choice(
                [
                    "Some words of text. ",
                    "<a href=x>a link of some words</a> ",
                    "more words, and more ",
                ]
            )
            for _ in range(draw.randrange(1, 4))
        )
        return f"<{tag}{''.join(attribute() for _ in range(draw.choice([0, 1, 1, 2])))}>{inside}</{tag}>"

    for _ in range(60):
        body = "".join(element(0) for _ in range(3))
        check(
            f"<!doctype html><html><head><title>x</title></head><body>{body}</body></html>".encode()
        )


@pytest.mark.parametrize("length", [*range(60, 70), *range(124, 132), 300])
def test_white_space_of_texts_of_every_length_is_collapsed(length: int) -> None:
    draw = random.Random(length)
    after = b"x" * draw.choice([0, 200])
    for pieces in (b"a", b"ab ", b"a \t", b" ", b" \n", b"ab\n\f\r\x0b\xc3\xa9"):
        for _ in range(20):
            text = bytes(draw.choices(pieces, k=length))
            expected = re.sub(rb"[ \t\n\f\r]+", b" ", text)
            trimmed = trim_markup(b"<p>" + text + b"<p>" + after).markup
            assert trimmed == b"<p>" + expected + b"<p>" + after


BLOCKS = ["ul", "footer", "div", "div id=x", "article", "section", "li", "p", "a", "table", "tr", "td",
          "caption", "select", "option", "object", "marquee", "button", "nav", "b"]  # fmt: skip
CODE = [
    "a = b; ",
    "\n\t\x0b  ",
    "<!-- ",
    "-->",
    "<!-",
    "</",
    "</scrip",
    "<scr",
    "</style",
    "é語",
    "x" * 90,
]


def code(draw: random.Random, length: int) -> str:
    pieces: list[str] = []
    while sum(map(len, pieces)) < length:
        pieces.append(draw.choice(CODE) if draw.random() < 0.4 else "code(); ")
    return "".join(pieces)


@pytest.mark.parametrize("seed", range(12))
def test_scripts_of_any_length_in_any_element_give_the_same_text(seed: int) -> None:
    draw = random.Random(seed)
    cut = 0
    for _ in range(60):
        page, opened = "<!doctype html><body>" + "<section>" * draw.randrange(7), []
        for number in range(30):
            kind = draw.randrange(6)
            if kind == 0 or kind == 1:
                opened.append(draw.choice(BLOCKS))
                page += f"<{opened[-1]}>"
            elif kind == 2 and opened:
                place = -1 if draw.random() < 0.8 else draw.randrange(len(opened))
                page += f"</{opened.pop(place).split()[0]}>"
            elif kind == 3:
                name = draw.choice(["script", "style"])
                page += f"<{name}>{code(draw, draw.choice([9, 400, 1490, 1700, 6000]))}</{name}>"
            elif kind == 4:
                page += f"<a>link{number}{'l' * draw.choice([1, 90, 900, 3000])}</a>"
            else:
                page += f" text{number}{' t' * draw.choice([1, 50, 600])} "
        raw = page.encode()
        check(raw)
        cut += len(trim_markup(raw).markup) < len(raw) - 1000
    assert cut > 5


@pytest.mark.parametrize("before", ["ul", "footer", "div id=x", "div class=x", "div", "article"])
@pytest.mark.parametrize(
    "inside",
    ["", "<table><tr><td></ul></footer>", "<select></ul></footer></select>", "<object></ul></footer>",
     "<ul></footer>", "<footer></ul>", "<ul></ul>", "<ul></ul></ul></footer></footer>", "<b></ul></footer>"],
)  # fmt: skip
def test_scripts_count_in_full_where_links_are_measured(before: str, inside: str) -> None:
    sizes = (0, 100, 300, 700, 1400, 2000, 9000)
    for depth in (1, 3, 6):
        for link in sizes:
            for script in sizes:
                check(
                    f"<!doctype html><body>{'<section>' * depth}<{before}><p>text {'t' * 20}"
                    f"<a>{'l' * link}</a>{inside}<p>more<a>{'l' * link}</a>"
                    f"<script>{'s' * script}</script><p>last".encode()
                )


@pytest.mark.parametrize("seed", range(4))
def test_random_bytes_give_the_same_text(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(150):
        check(bytes(draw.choices(b"<>/!-=\"' apbi\n", k=draw.randrange(160))))


def test_real_pages_give_the_same_text_and_are_less_than_half_as_long() -> None:
    before = after = 0
    with shared_data("web/snapshot-B.warc.gz").open("rb") as stream:
        for number, record in enumerate(read_warc(stream, "b", 2_000_000)):
            text = decode(record.payload, record.content_type).text
            if text is not None and number % 6 == 0:
                page = text.encode("utf-8")
                check(page)
                before, after = before + len(page), after + len(trim_markup(page).markup)
    assert after < 0.55 * before


@pytest.mark.parametrize(
    ("page", "trimmed"),
    [
        (b"<p CLASS=logo data-y='1' onclick=\"a > b\">", b"<p CLASS=logo>"),
        (b"<p class=q id='z'><div id=z class=q><div class=q><div id=q->", b"<p><div id=x><div id=_><div id=_>"),
        (b"<p class=nav><p id=nav><p id=nav_><p class=nav id=q>", b"<p><p id=nav><p><p class=nav id=q>"),
        (b"<td class=q role=tab><p class=q style=a><p class='' style=none>", b"<td role=tab id=_><p><p style=none>"),
        (b"<p id=q style='a:Hidden' role=x><p id=q style=&#110;><p class=q style=b>", b"<p style='a:Hidden' id=x><p style=&#110; id=x><p>"),
        (b"<div class=q class=logo><p id=q id=logo><a rel=x rel=tag style=a style=none>", b"<div id=_><p><a>"),
        (b"<a rel='nofollow' role=button itemprop=name aria-hidden=false aria-expanded=true>", b"<a>"),
        (b"<a rel='tag ' role=Main itemprop=datePublished aria-hidden=true hidden>", b"<a rel='tag ' role=Main itemprop=datePublished aria-hidden=true hidden>"),
        (b"<div class=q>a<div id=q-1>b</div><div>c</div></div>", b"<main    >a<div id=x>b</div><div>c</div></main>"),
        (b"<DIV class=q>a<ul><li><b>b</ul><p></DIV >", b"<main    >a<ul><li><b>b</ul><p></main>"),
        (b"<a href=x rel=tag>a</a>", b"<a rel=tag>a</a>"),
        (b"<html><head><meta charset=utf-8><title>t</title><style>a</style></head><p>", b"<html><head></head><p>"),
        (b"<title>t</title><!doctype html><p>", b"<title>t</title><!doctype html><p>"),
        (b"<p>a  \n b<!-- some comment -->c", b"<p>a b<!---->c"),
        (b"<pre>a  \n b</pre>  c", b"<pre>a  \n b</pre>  c"),
        (b"<b title=x>y</b>", b"<b title=x>y</b>"),
        (b"<input type=hidden>", b"<input type=hidden>"),
        (b"<br/><br a=b /><p a='x'/>", b"<br/><br /><p />"),
        (b"<p><script>a  <  b</script>", b"<p><script>a  <  b</script>"),
        (b"<p><template a=b><p c=d>", b"<p><template a=b><p c=d>"),
        (b"<p a=b><p c='d", b"<p><p c='d"),
        (b"", b""),
        (b"<", b"<"),
    ],
)  # fmt: skip
def test_only_what_is_never_read_goes(page: bytes, trimmed: bytes) -> None:
    assert trim_markup(page).markup == trimmed


def test_elements_that_are_skipped_are_noted_where_they_are_met() -> None:
    for place, name in enumerate(SKIPPED):
        content = f"<p>a <{name}>b</{name}> c".encode()
        skipped = trim_markup(content).skipped
        assert skipped == 1 << place, name
        assert names_in(skipped) == [name]
    assert trim_markup(b"<p>a <img alt=x> <!-- <svg> --> b").skipped == 0
    assert trim_markup(b"<p>a <math> b").skipped == ANY_SKIPPED
    assert trim_markup(b"<p>a <label x='").skipped == ANY_SKIPPED


@pytest.mark.parametrize(
    "page",
    [
        b"<!--" * 300_000, b"<script>" * 100_000, b"<" * 1_000_000, b"<a b='" * 200_000,
        b"<svg><title>" * 50_000, b"<p " + b"a " * 500_000, b"</" * 500_000,
    ],
)  # fmt: skip
def test_floods_come_out_no_longer_than_they_went_in(page: bytes) -> None:
    assert len(trim_markup(page).markup) <= len(page)


@pytest.mark.parametrize(
    "tags",
    [b"<div id=_></div>", b"<div/id=-></div>", b'<b a=""c=d><p hidden="">', b'<p role="tab"id=->'],
)
def test_what_grows_has_room_for_it(tags: bytes) -> None:
    page = tags * 50_000
    trimmed = trim_markup(page).markup
    assert len(trimmed) <= 1.2 * len(page)
    check(tags * 200)
