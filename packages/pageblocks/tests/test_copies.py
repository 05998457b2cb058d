"""An article that stands twice is the text once; what repeats on purpose stays."""

import random

import numpy as np
import pytest

from pageblocks.kernels.blocks import FLAGS, Blocks, find_blocks
from pageblocks.kernels.copies import COPY_CHARS, COPY_PROSE_CHARS, drop_copies
from pageblocks.kernels.page_names import HINTS, NOT_SHOWN_BIT, TAGS
from pageblocks.plain_text import text_of

LONG = (
    "The ferry leaves the old pier at nine every morning and comes back with letters, bread and all "
    "the news of the other side."
)
OTHER = (
    "Nobody on the island keeps a clock any more, since the tide tells everyone well enough when it "
    "is time to mend the nets."
)
THIRD = (
    "Паром старый, и краска с него сходит, но капитан говорит, что он переживёт и его самого, и всех "
    "его внуков до последнего."
)
TALK = "“Will it sail?” she asked. “It will.”"
STORY = (LONG, TALK, OTHER, "He laughed.", THIRD)
REFRAIN = (
    "O blow the winds and roll the sea,",
    "And haul the ropes and pull for me,",
    "For home is far and night is near,",
    "And none shall sing to me but here.",
)


def text_after(markup: str) -> str:
    page = find_blocks(markup.encode())
    kept = np.ones(len(page.blocks), np.bool_)
    drop_copies(page, kept)
    return text_of(page, kept).text


def paragraphs(lines: tuple[str, ...] = STORY) -> str:
    return "".join(f"<p>{line}</p>" for line in lines)


COPIES = {
    "equal": f"<div class=mobile>{paragraphs()}</div>",
    "other elements": f"<section>{''.join(f'<div>{line}</div>' for line in STORY)}</section>",
    "lines": f"<div class=print>{'<br><br>'.join(STORY)}</div>",
    "more": f"<div><p>Printed on 3 May.</p>{paragraphs(STORY[:3])}<div>{paragraphs(STORY[3:])}</div></div>",
}


@pytest.mark.parametrize("name", COPIES)
@pytest.mark.parametrize("first", [paragraphs(), f"<article>{paragraphs()}</article>"])
def test_an_article_that_stands_twice_is_there_once(name: str, first: str) -> None:
    found = text_after(f"{first}<p>Sold out</p>{COPIES[name]}").splitlines()
    assert [found.count(line) for line in STORY] == [1] * len(STORY)
    assert ("Printed on 3 May." in found) == (name == "more"), "what only the copy says stays"
    assert found[: len(STORY)] == list(STORY), "the first one stays"


@pytest.mark.parametrize("how", ["hidden", "style='display:none'", "class='visually-hidden'"])
def test_the_copy_that_is_shown_stays(how: str) -> None:
    one = f"<div>{paragraphs()}</div>"
    hidden = f"<div {how}>{one}</div>"
    assert text_after(f"{hidden}<p>First.</p>{one}").startswith("First.")
    assert text_after(f"{one}<p>Last.</p>{hidden}").endswith("Last.")
    assert text_after(f"{hidden}<p>And.</p>{hidden}").splitlines() == [*STORY, "And."]


def test_what_a_reply_quotes_stands_once() -> None:
    post = f"<article><p>{LONG}</p></article>"
    reply = f"<article><blockquote><p>{LONG}</p></blockquote><p>{OTHER}</p></article>"
    assert text_after(post + reply).splitlines() == [LONG, OTHER]


def test_slides_and_lists_for_another_screen_stand_once() -> None:
    slides = "".join(
        f"<div><a href=/{n}>The boat of the week, number {n}: blue</a></div>" for n in "123"
    )
    page = f"<div class=slides>{slides}</div><p>{LONG}</p><div class=clones>{slides}</div>"
    assert text_after(page).count("number 2") == 1
    goods = "<ul><li>200 g of white flour from the mill</li><li>2 eggs and a spoon of dark honey from the hills</li><li>a pinch of salt and butter</li></ul>"
    assert text_after(f"<div>{goods}</div><div>{goods}</div><p>{LONG}</p>").count("flour") == 1


ON_PURPOSE = {
    "paragraphs": f"<div><p>{LONG}</p><p>{OTHER}</p><p>{LONG}</p></div>",
    "items": f"<ul><li>{LONG}</li><li>{OTHER}</li><li>{LONG}</li></ul>",
    "items of two lists": f"<h2>1</h2><ul><li>{LONG}</li></ul><h2>2</h2><ul><li>{LONG}</li></ul>",
    "rows": f"<table><tr><td>A</td><td>{LONG}</td></tr><tr><td>B</td><td>{LONG}</td></tr></table>",
    "tables": f"<h2>1</h2><table><tr><td>{LONG}</td></tr></table><h2>2</h2><table><tr><td>{LONG}</td></tr></table>",
    "code": f"<div><pre>{LONG}</pre></div><p>{OTHER}</p><section><pre>{LONG}</pre></section>",
}


@pytest.mark.parametrize("name", ON_PURPOSE)
def test_what_is_repeated_on_purpose_stays(name: str) -> None:
    assert text_after(ON_PURPOSE[name]).count(LONG) == 2


@pytest.mark.parametrize(
    ("stanza", "line"),
    [
        ("<p>{}</p>", "{}<br>"),
        ("<div class=stanza>{}</div>", "<p>{}</p>"),
        ("<div class=stanza>{}</div>", "{}<br>"),
        ("<blockquote>{}</blockquote>", "<p>{}</p>"),
        ("<section><div>{}</div></section>", "<span>{}</span><br>"),
        ("<ul>{}</ul>", "<li>{}</li>"),
    ],
)
def test_a_refrain_is_sung_as_often_as_it_stands(stanza: str, line: str) -> None:
    def verse(lines: tuple[str, ...]) -> str:
        return stanza.format("".join(line.format(each) for each in lines))

    verses = (
        tuple(f"In the {n} week the {what} came down." for what in ("ice", "snow", "night"))
        for n in "1234"
    )
    text = text_after("".join(verse(lines) + verse(REFRAIN) for lines in verses))
    assert [text.count(each) for each in REFRAIN] == [4] * 4


def test_signatures_of_a_thread_stand_once() -> None:
    signature = "Captain of the blue ferry<br>On the island since 1987, and<br>still no clock in the house<br>that stands by the sea"
    posts = "".join(
        f"<div class=post><div class=user>Ann</div><p>{line}</p><div class=sig>{signature}</div></div>"
        for line in (LONG, OTHER, THIRD)
    )
    assert text_after(posts).count("no clock") == 1
    assert (
        text_after(posts.replace("class=post", "").replace("class=user", "")).count("no clock") == 3
    )


def test_what_is_short_may_stand_twice() -> None:
    line = "Changed in version 3.2."
    page = f"<div><p>{line}</p></div><p>{OTHER}</p><div><p>{line}</p></div>"
    assert text_after(page).count(line) == 2


def plain(page: Blocks, kept: list[bool]) -> list[bool]:
    """The same by lists of texts."""
    names = {number: name for name, number in TAGS.items()}
    elements, blocks = page.elements.tolist(), page.blocks.tolist()
    texts = [page.text_of(b) for b in range(len(blocks))]
    above = [[e] for e in range(len(elements))]
    for e in range(1, len(elements)):
        above[e] += above[elements[e][0]]
    tags = [names.get(element[1], "") for element in elements]
    hides = NOT_SHOWN_BIT | 1 << HINTS["hidden"]
    hidden = [any(elements[each][2] & hides for each in line[:-1]) for line in above]
    pre = [block[3] & FLAGS["is_pre"] > 0 for block in blocks]
    prose = [
        kept[b]
        and not pre[b]
        and block[4] >= COPY_CHARS * (1 + texts[b].count("\n"))
        and not any(tags[e] in ("li", "dd", "dt") for e in above[block[2]])
        and tags[block[2]] not in ("td", "th")
        for b, block in enumerate(blocks)
    ]

    def of(e: int) -> list[int]:
        return [b for b in range(elements[e][4], elements[e][5]) if kept[b]]

    left, seen, end = list(kept), dict[tuple[str, ...], int](), 0
    for e in range(1, len(elements)):
        parent, _, _, _, start, stop = elements[e][:6]
        size = sum(blocks[b][4] for b in of(e) if not pre[b])
        if start < end or size < COPY_CHARS or tags[e] in ("tr", "td", "th"):
            continue
        first = seen.setdefault(tuple(texts[b] for b in of(e)), e)
        if first == e or start < elements[first][5]:
            continue
        end = stop
        is_refrain = (
            tags[e] in ("p", "li", "dd", "dt", "blockquote") and parent == elements[first][0]
        )
        is_apart = any(kept[elements[first][5] : start])
        is_meant = is_apart and not any(prose[b] for b in of(e)) and tags[e] != "blockquote"
        is_seen = not (hidden[e] or hidden[first]) and 2 * sum(blocks[b][6] for b in of(e)) < size
        if is_refrain or (is_meant and is_seen):
            continue
        gone = e
        if hidden[first] and not hidden[e]:
            gone, seen[tuple(texts[b] for b in of(e))] = first, e
        for b in of(gone):
            left[b] = False
    firsts: dict[str, int] = {}
    for is_shown in (True, False):
        for b, block in enumerate(blocks):
            if left[b] and hidden[block[2]] is not is_shown:
                firsts.setdefault(texts[b], b)
    found = list(left)
    for e in range(1, len(elements)):
        inside = range(elements[e][4], elements[e][5])
        twice = [b for b in of(e) if texts[b] in firsts and firsts[texts[b]] not in inside]
        size = sum(blocks[b][4] for b in twice)
        is_prose = sum(blocks[b][4] for b in twice if prose[b]) >= COPY_PROSE_CHARS
        if is_prose and 10 * size >= 9 * sum(blocks[b][4] for b in of(e)):
            for b in of(e):
                found[b] = found[b] and firsts.get(texts[b], b) == b
    return found


def made_page(draw: random.Random, depth: int = 0) -> str:
    if depth > 3 or draw.random() < 0.3:
        tag = draw.choice(("p", "p", "p", "li", "td", "pre", "h2", "blockquote", "div"))
        line = draw.choice((LONG, OTHER, THIRD, TALK, "Sold out", "<br>".join(REFRAIN[:3])))
        return f"<{tag}>{draw.choice(('', '', '<a href=/>'))}{line}</{tag}>"
    tag = draw.choice(("div", "section", "article", "ul", "table", "blockquote"))
    inner = "".join(made_page(draw, depth + 1) for _ in range(draw.randint(1, 4)))
    how = draw.choice(("", "", "", " hidden", " style='display:none'"))
    return f"<{tag}{how}>{inner}</{tag}>"


def test_the_kernel_drops_what_plain_python_does() -> None:
    draw, changed = random.Random(7), 0
    for _ in range(400):
        parts = [made_page(draw) for _ in range(3)]
        page = find_blocks("".join((*parts, draw.choice(parts))).encode())
        chosen = [draw.random() < 0.9 for _ in page.blocks]
        kept = np.array(chosen, np.bool_)
        drop_copies(page, kept)
        assert kept.tolist() == plain(page, chosen)
        changed += kept.tolist() != chosen
    assert changed > 100
