"""What is taken back of chosen blocks: parts that are none by their markup, and what stands twice."""

import random

import numpy as np
import pytest

from pageblocks.kernels.block_pruning import prune
from pageblocks.kernels.blocks import Blocks, find_blocks
from pageblocks.kernels.copies import drop_copies
from pageblocks.kernels.page_names import (
    HINTS,
    NOT_SHOWN_BIT,
    OTHERS_BIT,
    TAGS,
    WINDOW_BIT,
)
from pageblocks.plain_text import text_of

LONG = (
    "The ferry leaves the old pier at nine every morning and comes back with letters, bread and all "
    "the news of the other side."
)
OTHER = (
    "Nobody on the island keeps a clock any more, since the tide tells everyone well enough when it "
    "is time to mend the nets."
)
STORY = f"<h1>Ferry</h1><p>{OTHER}</p><p>It is small, and it is painted blue.</p>"


def text_after(markup: str) -> str:
    """The text of a page of which every block was chosen."""
    page = find_blocks(markup.encode())
    return text_of(page, prune(page, np.ones(len(page.blocks), np.bool_))).text


@pytest.mark.parametrize("tag", ["nav", "footer", "dialog", "form"])
def test_parts_that_say_what_they_are_go(tag: str) -> None:
    assert "cookies" not in text_after(f"{STORY}<{tag}><p>We bake no cookies.</p></{tag}>")
    assert "cookies" in text_after(f"{STORY}<section><p>We bake no cookies.</p></section>")


@pytest.mark.parametrize(
    "attributes", ['style="display: none !important"', 'class="cookie-banner"', 'id="signInModal"']
)
def test_what_a_page_hides_or_lays_over_itself_goes(attributes: str) -> None:
    part = f"<div {attributes}><div><p>Sign in to go on.</p></div></div>"
    assert "Sign in" not in text_after(STORY + part)
    assert OTHER in text_after(f"<div {attributes}>{STORY}</div>"), "it is all of the page"


@pytest.mark.parametrize("tag", ["main", "article"])
def test_names_of_windows_are_not_believed_inside_of_the_main_content(tag: str) -> None:
    baked = f"<section><{tag} class='tag-cookies'><p>Bake for ten minutes.</p></{tag}></section>"
    assert "Bake" in text_after(STORY + baked)
    assert "Bake" not in text_after(STORY + baked.replace(tag, "div"))


def test_a_shops_other_goods_go() -> None:
    goods = f"<div><ul class='related products'><li>A bell, a lamp</li></ul></div><p>{LONG}</p>"
    assert "bell" not in text_after(STORY + goods)
    assert "bell" in text_after(STORY + goods.replace(" products", "")), "so are see-also notes"


def test_a_tag_that_holds_half_of_the_page_is_not_believed() -> None:
    assert LONG in text_after(f"<form><p>{LONG}</p></form>")
    of_one_make = "".join(f"<form><p>Post {n}. {OTHER}</p></form>" for n in range(9))
    assert text_after(f"<p>A board.</p>{of_one_make}").count(OTHER) == 9
    inside = f"<form>{STORY}<footer><p>All rights reserved.</p></footer></form>"
    assert "rights" not in text_after(inside), "another tag in it is"
    assert OTHER in text_after(inside)


def test_a_window_may_be_longer_than_the_page() -> None:
    window = f"<div id=cliSettingsPopup><p>{OTHER}</p><p>Some keep it for 11 months.</p></div>"
    short = "<p>Fold the dough twice and let it rest for an hour.</p>"
    assert text_after(short + window).startswith("Fold the dough")
    assert "months" not in text_after(short + window)
    assert "months" in text_after(f"<p>Menu</p>{window}"), "a page that is a window stays"


@pytest.mark.parametrize("name", ["class=cookies-not-set", "class='modal-open no-popup'"])
def test_the_name_of_the_whole_page_does_not_hide_a_window(name: str) -> None:
    window = "<div class=cookie-notice><p>We use cookies to count visits.</p></div>"
    found = text_after(f"<body {name}><div id=page>{STORY}</div>{window}</body>")
    assert OTHER in found
    assert "cookies" not in found


def test_text_for_readers_without_scripts_counts_where_there_is_next_to_no_other() -> None:
    asking = "<noscript><p>Switch scripts on to read on.</p></noscript>"
    assert "scripts" not in text_after(STORY + asking)
    page = f"<noscript>{STORY}<p>{LONG}</p></noscript>"
    assert LONG in text_after(page + "<p>Menu</p>")
    assert text_after(f"{page}<p>{LONG} {OTHER}</p>") == f"{LONG} {OTHER}"


def test_text_for_readers_without_scripts_is_weighed_against_all_of_the_page() -> None:
    asking = "<noscript><p>Switch scripts on.</p></noscript>"
    page = find_blocks(f"<p>{LONG}</p>{asking}".encode())
    assert prune(page, np.array([False, True])).tolist() == [False, False]
    page = find_blocks(f"<p>{LONG}</p><noscript><p>{LONG}</p><p>{OTHER}</p></noscript>".encode())
    assert prune(page, np.array([False, True, True])).tolist() == [False, True, True]


def test_a_page_without_text_is_let_through() -> None:
    assert text_after("<nav></nav>") == ""


def plain(page: Blocks, chosen: "np.ndarray[tuple[int], np.dtype[np.bool_]]") -> list[bool]:
    """The same by lists of texts."""
    kept, elements = chosen.tolist(), page.elements.tolist()
    chars = page.blocks[:, 4].tolist()
    names = {number: name for name, number in TAGS.items()}

    def held(start: int, stop: int) -> int:
        return sum(chars[b] for b in range(start, stop) if counts[b])

    def is_part(kind: str | int, number: int) -> bool:
        _, tag, hints, *_ = elements[number]
        if isinstance(kind, str):
            return names.get(tag) == kind
        above = [number]
        while above[-1]:
            above.append(elements[above[-1]][0])
        in_main = any(names.get(elements[e][1]) in ("main", "article") for e in above)
        is_product = hints >> HINTS["product"] & 1
        return (
            hints & kind > 0
            and not (kind == WINDOW_BIT and in_main)
            and not (kind == OTHERS_BIT and not is_product)
        )

    kinds = ("nav", "footer", "dialog", "form", NOT_SHOWN_BIT, WINDOW_BIT, OTHERS_BIT, "noscript")
    of_kept = [(kind, 9 if kind in (WINDOW_BIT, "noscript") else 5) for kind in kinds]
    for kind, bound in [*of_kept, ("noscript", None)]:
        counts = [True] * len(kept) if bound is None else kept
        bound = bound or 5
        inside: set[int] = set()
        total = held(0, len(kept))
        for number, (_, _, _, _, start, stop, *_) in enumerate(elements[1:], 1):
            if is_part(kind, number) and 10 * held(start, stop) < 9 * total:
                inside.update(b for b in range(start, stop) if counts[b])
        if 10 * sum(chars[b] for b in inside) < bound * total:
            kept = [is_kept and b not in inside for b, is_kept in enumerate(kept)]
    left = np.array(kept)
    drop_copies(page, left)
    found: list[bool] = left.tolist()
    return found


def made_page(draw: random.Random, depth: int = 0) -> str:
    tags = (
        "div",
        "section",
        "article",
        "main",
        "ul",
        "nav",
        "footer",
        "form",
        "dialog",
        "table",
        "noscript",
    )
    attributes = ("", "", "", " class=popup", " style='display:none'", " id=similarProducts")
    if depth > 3 or draw.random() < 0.3:
        tag = draw.choice(("p", "li", "td", "pre", "h2", "blockquote"))
        return f"<{tag}>{draw.choice((LONG, OTHER, 'Sold out', 'More of it.'))}</{tag}>"
    tag = draw.choice(tags)
    inner = "".join(made_page(draw, depth + 1) for _ in range(draw.randint(1, 4)))
    return f"<{tag}{draw.choice(attributes)}>{inner}</{tag}>"


def test_the_kernel_takes_back_what_plain_python_does() -> None:
    draw, changed = random.Random(5), 0
    for _ in range(400):
        page = find_blocks("".join(made_page(draw) for _ in range(4)).encode())
        chosen = np.array([draw.random() < 0.8 for _ in page.blocks], np.bool_)
        found = prune(page, chosen)
        assert found.tolist() == plain(page, chosen)
        changed += bool((found != chosen).any())
    assert changed > 100
