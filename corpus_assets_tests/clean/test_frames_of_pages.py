"""Frames by the trees of pages: whole elements that most pages of a template share go, content stays."""

import random
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pytest

from corpus_assets.clean import boilerplate as lines
from corpus_assets.clean.clean_text import left_by_lines, rewritten
from corpus_assets.clean.pinned_lines import Boilerplate
from corpus_assets.clean.settings import BoilerplateSettings
from corpus_assets.core.schemas import DOC_ID
from corpus_assets_tests.clean.test_random_sites import WORDS
from pageblocks.kernels.blocks import find_blocks
from pageblocks.lines import places_of
from pageblocks.plain_text import text_of

PROMOTION = "Get the best of our paper in a letter every morning."
SETTINGS = BoilerplateSettings()
N = 12


class Read(NamedTuple):
    """All lines of a page, whoever would keep them."""

    text: str
    kinds: list[int]
    places: list[int]


def read(markup: str) -> Read:
    page = find_blocks(markup.encode())
    written = text_of(page, np.ones(len(page.blocks), dtype=np.bool_))
    return Read(written.text, list(written.line_kinds), places_of(page, written.elements).tolist())


def cleaned(pages: list[str], host: str = "site.example") -> list[list[str]]:
    """What is left of the lines of each page."""
    rows = [read(page) for page in pages]
    n = len(rows)
    ids = pa.chunked_array([pa.array([k.to_bytes(16, "big") for k in range(n)], DOC_ID)])
    table = pa.table(
        {
            "doc_id": ids,
            "domain": pa.array(["web"] * n),
            "host": pa.array([host] * n),
            "fetched_at": pa.array(["2024-01-01T00:00:00Z"] * n),
            "text": pa.array([row.text for row in rows], pa.large_string()),
            "line_kinds": pa.array([row.kinds for row in rows], pa.list_(pa.uint8())),
            "line_places": pa.array([row.places for row in rows], pa.list_(pa.uint16())),
        }
    )
    keys = lines.line_keys(rewritten(table, [])[0], table, SETTINGS)
    counted, templates = lines.count_lines(keys, range(n))
    common = lines.common_lines([counted], [templates], SETTINGS)
    candidates = lines.find_candidates(ids, ids, keys, common)
    pinned = Boilerplate.of(lines.choose_keepers([candidates], common, 20))
    return [one.text.strip().split("\n") for one in left_by_lines(table, pinned, SETTINGS, 20)]


def own(number: int, name: str = "story") -> str:
    draw = random.Random(f"{name} {number}")
    return f"{' '.join(draw.choices(WORDS, k=9)).capitalize()}, on day {number}."


def pages(body: Callable[[int], str], n: int = N) -> list[str]:
    return [f"<html><body>{body(number)}</body></html>" for number in range(n)]


def left_after_keeper(found: list[list[str]]) -> list[list[str]]:
    """The first page keeps what the others lose."""
    return found[1:]


def test_a_box_inside_the_text_goes_from_all_pages_but_one() -> None:
    found = cleaned(
        pages(
            lambda k: (
                f"<p>{own(k)}</p><div class=promo><p>{PROMOTION}</p></div><p>{own(k, 'b')}</p>"
            )
        )
    )
    assert found[0] == [own(0), PROMOTION, own(0, "b")]
    for k, left in enumerate(left_after_keeper(found), 1):
        assert left == [own(k), own(k, "b")]


def test_the_frame_of_a_rare_template_goes_too() -> None:
    """A site of twenty articles and seven reviews: the frame of reviews is on a quarter of its pages."""
    articles = pages(lambda k: f"<article><p>{own(k)}</article>", 20)
    reviews = pages(
        lambda k: f"<section><p>{own(k, 'r')}</p><div class=note>{PROMOTION}</div><p>x{own(k)}</section>", 7
    )  # fmt: skip
    found = cleaned([*articles, *reviews])
    assert sum(PROMOTION in left for left in found) == 1


def test_the_same_words_elsewhere_on_the_page_stay() -> None:
    def body(k: int) -> str:
        at = ["<p>{}</p>"] * 6
        at[k % 6] = f"<div class=c{'abcdef'[k % 6]}><p>{{}}</p></div>"
        texts = [own(k, name) for name in "abcdef"]
        texts[k % 6] = PROMOTION
        return "".join(one.format(text) for one, text in zip(at, texts, strict=True))

    assert all(PROMOTION in left for left in cleaned(pages(body)))


def test_a_paragraph_among_others_stays_even_on_every_page() -> None:
    found = cleaned(
        pages(lambda k: f"<div><p>{own(k)}</p><p>{PROMOTION}</p><p>{own(k, 'b')}</div>")
    )
    assert all(left == [own(k), PROMOTION, own(k, "b")] for k, left in enumerate(found))


def test_the_last_of_several_paragraphs_goes() -> None:
    found = cleaned(
        pages(lambda k: f"<div><p>{own(k)}</p><p>{own(k, 'b')}</p><p>{PROMOTION}</p></div>")
    )
    assert all(left == [own(k), own(k, "b")] for k, left in enumerate(found[1:], 1))


ITEMS = [
    "1 teaspoon of sea salt",
    "2 cups of wheat flour",
    "3 eggs from the farm",
    "1 pinch of sugar",
]


def test_ingredients_of_most_recipes_stay_and_a_menu_goes() -> None:
    def body(k: int) -> str:
        draw = random.Random(k)
        items = "".join(f"<li>{item}" for item in draw.sample(ITEMS, 3))
        menu = "".join(f"<li>{name} and all of it" for name in ("Soups", "Breads", "Cakes"))
        return f"<ul class=menu>{menu}</ul><h1>{own(k)}</h1><ul class=parts>{items}</ul><p>{own(k, 'b')}</p>"

    found = cleaned(pages(body, 40))
    for k, left in enumerate(found):
        draw = random.Random(k)
        assert left[-4:] == [*(f"- {item}" for item in draw.sample(ITEMS, 3)), own(k, "b")]
        assert ("- Soups and all of it" in left) is (k == 0)


@pytest.mark.parametrize("tag", ["p", "div class=part", "span"])
def test_ingredients_that_are_no_list_stay_too(tag: str) -> None:
    def body(k: int) -> str:
        items = random.Random(k).sample(ITEMS, 3)
        written = "".join(f"<{tag}>{item}</{tag.split()[0]}><br><br>" for item in items)
        return f"<p class=x>{own(k)}</p><div>{written}</div>"

    for k, left in enumerate(cleaned(pages(body, 40))):
        assert left == [own(k), *random.Random(k).sample(ITEMS, 3)]


@pytest.mark.parametrize(
    "label",
    [
        "<h2>Ingredients of it</h2>",
        "<div class=label>Preparation time</div>",
        "<div class=label>What you will need for this:</div>",
        "<h2>How this was made in the end and by whom</h2>",
    ],
)
def test_what_announces_content_stays_with_it(label: str) -> None:
    found = cleaned(pages(lambda k: f"<p>{own(k)}</p>{label}<p class=value>{own(k, 'b')}</p>"))
    assert all(len(left) == 3 for left in found)


def test_a_heading_goes_with_what_it_announces() -> None:
    box = f"<div class=box><h3>From our shop of books</h3><p>{PROMOTION}</p></div>"
    found = cleaned(
        pages(lambda k: f"<p>{own(k)}</p>{box}<h2>{own(k, 'c')}</h2><p>{own(k, 'b')}</p>")
    )
    assert all(left == [own(k), own(k, "c"), own(k, "b")] for k, left in enumerate(found[1:], 1))


def test_a_verse_is_never_cut_open() -> None:
    refrain = "And home came the herring boats again"
    verses = [f"<p>{own(0, 'v')}<br>{own(1, 'v')}<br>{refrain}</p>"] * 2
    found = cleaned(
        pages(lambda k: f"<h1>{own(k)}</h1>" + "".join(verses).replace("day 1", f"day {k}"))
    )
    assert all(left.count(refrain) == 2 for left in found)


def test_a_document_that_is_all_frame_stays() -> None:
    same = f"<div class=a>{PROMOTION}</div><div class=b>{PROMOTION}</div>"
    found = cleaned(pages(lambda k: f"{same}<i>{k}</i>"))
    assert all(len(left) >= 2 for left in found)


# Random sites, as real markup: whatever they look like, content stays and frames go.

KINDS_OF_CONTENT = ("paragraphs", "recipe", "parts", "verse", "code", "table", "thread", "flat")


def content(
    kind: str, draw: random.Random, number: int, shared: list[str]
) -> tuple[str, list[str]]:
    """Markup, and its lines."""
    mine = [f"{' '.join(draw.choices(WORDS, k=8))}, {number} and {k}." for k in range(4)]
    if kind == "paragraphs":
        return "".join(f"<p>{line}</p>" for line in mine), mine
    if kind == "flat":
        return "<br><br>".join(mine), mine
    if kind == "recipe":
        items = draw.sample(shared, 4)
        listed = "".join(f"<li>{item}" for item in items)
        return f"<h2>Ingredients of it</h2><ul>{listed}</ul><p>{mine[0]}</p>", [
            "Ingredients of it", *(f"- {item}" for item in items), mine[0],
        ]  # fmt: skip
    if kind == "parts":
        items = draw.sample(shared[:5], 4)
        return "".join(f"<div class=part>{item}</div>" for item in items), items
    if kind == "verse":
        stanza = [mine[0], shared[0], mine[1], shared[0]]
        return f"<p>{'<br><br>'.join(stanza)}</p>", stanza
    if kind == "code":
        source = [f"{draw.choice(WORDS)}({number})", "return (pass);", "}"]
        return f"<p>{mine[0]}</p><pre>{chr(10).join(source)}</pre>", [mine[0], *source]
    if kind == "table":
        rows = [
            f"<tr><td>{draw.choice(WORDS)}<td>{number}</tr>",
            "<tr><td>Weight of it all<td>10</tr>",
        ]
        return f"<table>{''.join(rows)}</table><p>{mine[0]}</p>", ["Weight of it all | 10", mine[0]]
    posts = [draw.choice(shared) + ".", *mine[:2]]
    return "".join(
        f"<div class=post-{number}{k}><p>{post}</p></div>" for k, post in enumerate(posts)
    ), posts


@pytest.mark.parametrize("seed", range(40))
def test_on_random_sites_no_line_of_content_is_lost_and_boxes_go(seed: int) -> None:
    draw = random.Random(seed)
    shared = [f"{k} {' '.join(draw.choices(WORDS, k=5))}" for k in range(12)]
    boxes = [
        f"<{tag} class={name}><p>{' '.join(draw.choices(WORDS, k=9))} by {name}.</p></{tag}>"
        for tag, name in zip(("div", "section", "aside"), draw.sample(WORDS, 3), strict=True)
    ]
    kinds = draw.sample(KINDS_OF_CONTENT, 2)
    markup, expected = [], []
    for number in range(draw.randint(8, 24)):
        (first, own_lines), (second, more) = (content(kind, draw, number, shared) for kind in kinds)
        head, middle, foot = boxes
        markup.append(
            f"<body>{head}<h1>Title {number} of it</h1>{first}{middle}{second}{foot}</body>"
        )
        expected.append([*own_lines, *more])
    found = cleaned(markup)
    for left, wanted in zip(found, expected, strict=True):
        lost = [line for line in wanted if left.count(line) < wanted.count(line)]
        assert not lost, lost
    texts = {box: box.split("<p>")[1].split("</p>")[0] for box in boxes}
    for text in texts.values():
        assert sum(text in left for left in found) == 1
