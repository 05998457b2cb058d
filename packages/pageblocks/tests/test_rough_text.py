import random
import re

import pytest

from pageblocks.kernels.rough_text import SKIPPED_ELEMENTS, rough_text

TAG = re.compile(
    rb"(?:[^>=]|=[\t\n\f\r ]*(?:\"[^\"]*(?:\"|$)|'[^']*(?:'|$)|(?![\t\n\f\r ]*[\"'])))*(?:>|$)"
)
NAME = re.compile(rb"[A-Za-z][^\t\n\f\r />]*")


def reference(markup: bytes) -> bytes:
    """The same rules, a piece at a time."""
    out: list[bytes] = []
    at = 0
    dead: set[bytes] = set()
    while at < len(markup):
        rest = markup[at:]
        if rest.startswith(b"<!--"):
            end = at + 5 if rest.startswith(b"<!-->") else markup.find(b"-->", at + 4) + 3
            closed = end > at + 3 and b"comment" not in dead
            if not closed:
                dead.add(b"comment")
            at = end if closed else at + 4
            out.append(b" ")
        elif rest[:2] in (b"<!", b"<?", b"</"):
            at = after_tag(markup, at + (2 if rest[1:2] == b"/" else 1))
            out.append(b" ")
        elif rest[:1] == b"<" and rest[1:2].isalpha():
            found = NAME.match(markup, at + 1)
            assert found is not None
            name = found[0].lower()
            at = after_tag(markup, found.end())
            out.append(b" ")
            if (
                name.decode("latin-1") in SKIPPED_ELEMENTS
                and name not in dead
                and markup[at - 2 : at - 1] != b"/"
            ):
                end = re.compile(rb"</" + re.escape(name) + rb"(?=[\t\n\f\r />]|$)", re.I).search(
                    markup, at
                )
                if end is None or end.start() + 2 >= len(markup):
                    dead.add(name)
                else:
                    at = after_tag(markup, end.end())
        else:
            entity = re.compile(
                rb"&#(?:[xX]([0-9a-fA-F]{1,8})|([0-9]{1,8}));?|&([A-Za-z0-9]{1,32});"
            ).match(markup, at)
            if entity is None:
                out.append(rest[:1])
                at += 1
                continue
            at = entity.end()
            code = 32 if entity[3] else int(entity[1], 16) if entity[1] else int(entity[2])
            good = (32 < code < 0xD800 or 0xDFFF < code < 0x110000) and code != 160
            out.append(chr(code).encode() if good else b" ")
    return b" ".join(re.split(rb"[\0\t\n\v\f\r ]+", b"".join(out).strip(b"\0\t\n\v\f\r ")))


def after_tag(markup: bytes, at: int) -> int:
    found = TAG.match(markup, at)
    assert found is not None
    return found.end()


PAGES = [
    b"", b"plain words", b"<p>a</p><p>b</p>", b"a<br>b", b"<p class=\"x>y\">in</p>out",
    b"<script>if (a < b) alert('</p>')</script>after", b"<STYLE>p{}</sTyLe >after",
    b"<script src=x/>code</script>after", b"<svg><text>no</text></svg>yes", b"<!-- <p>no --> yes",
    b"<!-->yes", b"<!-- never ends <p>yes", b"<!--<!--<!--", b"<!doctype html>x<?xml y?>z",
    b"a &amp; b &nbsp; c &#65;&#x42;&#1088; &bogus &#; &#xZ; &#99999999; &#0; & x", b"1 < 2 > 0",
    b"<a href='x' title=\"it's > it\">link</a>", b"<a b=c", b"<", b"</", b"<p", b"<script>",
    b"<script>never ends <p>yes</p>", b"</script>x", b"<select><option>no</select>yes",
    "<p>Grüße, мир, 日本</p>".encode(), b"\xff\xfe\x80", b"x\0y\0\0z", b"<scripty>yes</scripty>",
    b"<textarea><p>no</textarea>yes", b"<noscript>no</noscript>yes", b"<p =\"a>b\">c",
]  # fmt: skip


@pytest.mark.parametrize("markup", PAGES)
def test_markup_goes_and_words_stay(markup: bytes) -> None:
    text, chars = rough_text(markup, 1 << 20)
    assert text == reference(markup)
    assert chars == sum(byte & 0xC0 != 0x80 and byte != 32 for byte in text)


def test_random_soup_is_stripped_like_the_reference() -> None:
    draw = random.Random(1)
    pieces = [b"<", b">", b"/", b"p", b"script", b"</script>", b"<!--", b"-->", b"\"", b"'", b"=",
              b" ", b"\n", b"&", b"#", b"65;", b"x41;", b"amp;", b"style", b"<style", b"word", b"!",
              "é".encode(), b"svg", b"<svg>", b"</svg>", b"\0"]  # fmt: skip
    for _ in range(4000):
        markup = b"".join(draw.choices(pieces, k=draw.randrange(1, 40)))
        assert rough_text(markup, 1 << 20)[0] == reference(markup), markup


def test_output_ends_at_the_limit_and_keeps_what_came_before() -> None:
    text, chars = rough_text(b"<p>word</p>" * 1000, 100)
    assert text == (b"word " * 1000)[: len(text)].rstrip() or text.startswith(b"word word")
    assert 100 <= len(text) <= 104
    assert chars <= len(text)


def test_hostile_markup_is_read_once() -> None:
    for bait in (b"<!--", b"<script>", b"<svg ", b'<p a="', b"&#", b"</", b"<textarea><style>"):
        text, chars = rough_text(bait * 200_000, 1 << 16)
        assert chars <= len(text) <= (1 << 16) + 4
