"""The text that resiliparse finds in a page is the reference: it must not change."""

import random

import pytest

from corpus_assets.kernels.trim_markup import trim_markup
from corpus_assets.sources.charset import decode
from corpus_assets.sources.engines import make_engine
from corpus_assets.sources.warc import read_warc
from corpus_assets_tests.shared_data import shared_data

pytest.importorskip("resiliparse")

EXTRACT = make_engine({"engine": "resiliparse", "include_comments": False})

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
<nav>|</nav>|<time datetime=1>|</time>|<em x>|</em>|<xmp> <b> </xmp>|<noembed><p></noembed>|<caption>|<col>|<object data=x>"""
PIECE_LIST = [piece for line in PIECES.split("\n") for piece in line.split("|")]


def check(page: bytes) -> None:
    assert EXTRACT(trim_markup(page)) == EXTRACT(page), page


@pytest.mark.parametrize("seed", range(12))
def test_random_markup_gives_the_same_text(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(120):
        body = [draw.choice(PIECE_LIST) + draw.choice(["", "word ", " ", "\n"]) for _ in range(40)]
        start = draw.choice(["", "<!doctype html><html><head><title>x</title></head><body>"])
        check((start + "".join(body)).encode("utf-8"))


@pytest.mark.parametrize("seed", range(4))
def test_random_bytes_give_the_same_text(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(150):
        check(bytes(draw.choices(b"<>/!-=\"' apbi\n", k=draw.randrange(160))))


def test_real_pages_give_the_same_text_and_are_about_half_as_long() -> None:
    before = after = 0
    with shared_data("web/snapshot-B.warc.gz").open("rb") as stream:
        for number, record in enumerate(read_warc(stream, "b", 2_000_000)):
            text = decode(record.payload, record.content_type).text
            if text is not None and number % 6 == 0:
                page = text.encode("utf-8")
                check(page)
                before, after = before + len(page), after + len(trim_markup(page))
    assert after < 0.65 * before


@pytest.mark.parametrize(
    ("page", "trimmed"),
    [
        (b"<p CLASS=x data-y='1' onclick=\"a > b\">", b"<p CLASS=x>"),
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
    assert trim_markup(page) == trimmed


@pytest.mark.parametrize(
    "page",
    [
        b"<!--" * 300_000, b"<script>" * 100_000, b"<" * 1_000_000, b"<a b='" * 200_000,
        b"<svg><title>" * 50_000, b"<p " + b"a " * 500_000, b"</" * 500_000,
    ],
)  # fmt: skip
def test_floods_come_out_no_longer_than_they_went_in(page: bytes) -> None:
    assert len(trim_markup(page)) <= len(page)
