from random import Random
from typing import Any

import numpy as np
import pytest
from sample_pages import random_page

from pageblocks.kernels.block_features import (
    CONTEXT,
    FAR,
    FEATURES,
    LEVELS,
    MAKE_BLOCKS,
    MAKE_DEPTH,
    add_context,
    block_features,
    level,
)
from pageblocks.kernels.blocks import BLOCK_COLUMNS, Blocks, find_blocks
from pageblocks.kernels.page_names import BREAKING, HINTS


def naive_features(page: Blocks) -> list[dict[str, int]]:
    """What the columns mean, computed block by block from the tree."""
    blocks = [dict(zip(BLOCK_COLUMNS, row, strict=True)) for row in page.blocks.tolist()]
    elements = page.elements.tolist()

    def inside(element: int) -> list[dict[str, Any]]:
        return blocks[elements[element][4] : elements[element][5]]

    def share(part: int, whole: int) -> int:
        return part * 1000 // whole if whole else 0

    def total(group: list[dict[str, Any]], name: str) -> int:
        return sum(each[name] for each in group)

    def is_good(block: dict[str, Any]) -> bool:
        return (
            block["chars"] >= 60 and 3 * block["link_chars"] < block["chars"] and block["marks"] > 0
        )

    def good(group: list[dict[str, Any]]) -> int:
        return total([each for each in group if is_good(each)], "chars")

    def bounds(element: int) -> tuple[int, int]:
        return elements[element][4], elements[element][5]

    def text(block: dict[str, Any]) -> bytes:
        return page.text[block["start"] : block["end"]].tobytes()

    everything = total(blocks, "chars")
    held = good if good(blocks) else (lambda group: total(group, "chars"))
    main = max(e for e in range(len(elements)) if e == 0 or 2 * held(inside(e)) > held(blocks))
    worth = [0] * len(elements)
    for block in filter(is_good, blocks):
        element = block["element"]
        for part in (2, 2, 1):
            if element > 0:
                worth[element] += min(block["chars"], 400) * part
                element = elements[element][0]
    for element in range(len(elements)):
        held_chars = total(inside(element), "chars")
        unlinked = held_chars - total(inside(element), "link_chars")
        worth[element] = worth[element] * unlinked // max(held_chars, 1)
    box = max(range(len(elements)), key=lambda e: (worth[e], e)) if any(worth) else 0
    box_from, box_to = bounds(box)

    def run_of(element: int) -> list[int]:
        """Siblings of one make that hold text, where they are entries; else none."""
        made = elements[element][:3]
        run = [e for e in range(1, len(elements)) if elements[e][:3] == made and inside(e)]
        held = [total(inside(e), "chars") for e in run]
        blocks_held = sum(len(inside(e)) for e in run)
        is_run = len(run) > 1 and blocks_held >= 2 * len(run) and 4 * max(held) <= 3 * sum(held)
        return run if is_run and element else []

    def all_of(run: list[int]) -> list[dict[str, Any]]:
        return [each for e in run for each in inside(e)]

    def run_worth(run: list[int]) -> int:
        return total(all_of(run), "chars") * min(len(run), 10)

    runs = [run_of(e) for e in range(len(elements))]
    page_run = max(runs, key=run_worth)  # the first of equals

    def of_run(run: list[int], prefix: str) -> dict[str, int]:
        names = ("items", "share", "good", "before")
        if not run:
            return {f"{prefix}run_{name}": -1 for name in names}
        values = (
            len(run),
            share(total(all_of(run), "chars"), everything),
            share(good(all_of(run)), good(blocks)),
            share(good(blocks[: bounds(run[0])[0]]), good(blocks)),
        )
        return {f"{prefix}run_{name}": value for name, value in zip(names, values, strict=True)}

    rows = []
    for number, block in enumerate(blocks):
        element = block["element"]
        above = [element]
        while elements[above[-1]][0] >= 0:
            above.append(elements[above[-1]][0])
        row = {
            "chars": block["chars"],
            "link_share": share(block["link_chars"], block["chars"]),
            "mark_share": share(block["marks"], block["chars"]),
            "tag": elements[element][1],
            "copies": sum(text(each) == text(block) for each in blocks),
            "index": number,
            "chars_before_share": share(total(blocks[:number], "chars"), everything),
            "in_main": int(elements[main][4] <= number < elements[main][5]),
            "page_good_share": share(good(blocks), everything),
            "page_blocks": len(blocks),
            "box_share": share(max(worth[e] for e in [*above, 0, 0][:3]), worth[box]),
            "in_box": int(box_from <= number < box_to),
            "before_box": max(box_from - number, 0),
            "after_box": max(number - box_to + 1, 0),
            "page_box_share": share(worth[box], sum(worth)),
            "page_box_blocks": box_to - box_from,
            "since_heading": 10_000,
            "until_good": 10_000,
        }
        item = max(reversed(above), key=lambda e: run_worth(runs[e]))  # the outer of equals
        run = runs[item]
        row |= of_run(run, "") | of_run(page_run, "page_")
        row["in_run"] = int(run == page_run) if run else -1
        row["run_item"] = run.index(item) if run else -1
        row["run_place"] = number - bounds(item)[0] if run else -1
        for hint, bit in HINTS.items():
            near = [at for at, e in enumerate(above) if elements[e][2] >> bit & 1]
            row[f"near_{hint}"] = min([*near, FAR, *([2] if block["hints"] >> bit & 1 else [])])
        named = [BREAKING[elements[e][1] - 1] if e else "" for e in above]
        row["near_<nav>"] = min(named.index("nav") if "nav" in named else FAR, FAR)
        level = element
        for at in range(LEVELS):
            group = inside(level)
            row[f"level{at}_blocks"] = len(group)
            row[f"level{at}_link_share"] = share(total(group, "link_chars"), total(group, "chars"))
            row[f"level{at}_good_share"] = share(good(group), total(group, "chars"))
            row[f"level{at}_page_share"] = share(total(group, "chars"), everything)
            level = next((e for e in above if bounds(e) != bounds(level) and e < level), 0)
        for back in range(1, number + 1):
            if BREAKING[elements[blocks[number - back]["element"]][1] - 1][:1] == "h" and BREAKING[
                elements[blocks[number - back]["element"]][1] - 1
            ] in ("h1", "h2"):
                row["since_heading"] = back
                break
        ahead = [at for at in range(number + 1, len(blocks)) if is_good(blocks[at])]
        if ahead:
            row["until_good"] = ahead[0] - number
        if run:
            row["run_item_blocks"] = len(all_of(run)) * 10 // len(run)
            links = total(all_of(run), "link_chars")
            row["run_link_share"] = share(links, total(all_of(run), "chars"))
            alike = [
                e
                for e in range(len(elements))
                if page.signatures[e] == page.signatures[element] and inside(e)
            ]
            row["run_copies"] = len(alike) * 10 // len(run)
        rows.append(row)
    return rows


@pytest.mark.parametrize("seed", range(10))
def test_features_are_what_their_names_say(seed: int) -> None:
    random = Random(seed)
    for _ in range(10):
        page = find_blocks(random_page(random))
        found = block_features(page)
        for row, expected in zip(found.tolist(), naive_features(page), strict=True):
            given = dict(zip(FEATURES, row, strict=True))
            assert {name: given[name] for name in expected} == expected


def test_scores_of_the_surroundings_are_means_by_length() -> None:
    page = find_blocks(b"<div class=a><p>four<p>eight888</div><div class=b>six666</div>")
    scores = np.array([100, 400, 1000], dtype=np.int32)
    both = add_context(page, block_features(page), scores)
    rows = [dict(zip(CONTEXT, row, strict=True)) for row in both[:, len(FEATURES) :].tolist()]
    assert [row["own"] for row in rows] == [100, 400, 1000]
    assert [row["before1"] for row in rows] == [-1, 100, 400]
    assert [row["after2"] for row in rows] == [1000, -1, -1]
    assert [row["level1"] for row in rows] == [300, 300, (400 + 3200 + 6000) // 18]
    assert {row["page"] for row in rows} == {(400 + 3200 + 6000) // 18}
    assert [row["signature"] for row in rows] == [300, 300, 1000]
    assert [row["best_share"] for row in rows] == [100, 400, 1000]


def test_scores_of_a_run_are_those_of_its_entries() -> None:
    entries = "".join(f"<div class=post><h4>u{n}</h4><p>text of {n}</div>" for n in range(3))
    page = find_blocks(f"<h1>title</h1><div>{entries}</div>".encode())
    scores = np.array([900, 100, 300, 200, 600, 0, 400], dtype=np.int32)
    both = add_context(page, block_features(page), scores)
    rows = [dict(zip(CONTEXT, row, strict=True)) for row in both[:, len(FEATURES) :].tolist()]
    assert [row["run"] for row in rows] == [-1] + [(3 * 2 * 100 + 3 * 7 * 1300 // 3) // 27] * 6
    assert [row["run_first"] for row in rows] == [-1] + [(2 * 100 + 7 * 300) // 9] * 6


def test_posts_of_a_board_are_a_run_and_its_layout_is_none() -> None:
    posts = "".join(
        f"<article class=post><b>{n}</b><p>says</p><p>more</p></article>" for n in "abc"
    )
    around = "<div id=x>one</div><div id=y><h1>The board</h1>{}</div><div id=z>two</div>"
    page = find_blocks(around.format(posts).encode())
    rows = [dict(zip(FEATURES, row, strict=True)) for row in block_features(page).tolist()]
    assert [row["run_items"] for row in rows] == [-1, -1, *[3] * 9, -1]
    assert [row["run_item"] for row in rows[2:11]] == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert [row["run_place"] for row in rows[2:11]] == [0, 1, 2] * 3


def plainly_levelled(page: Blocks, chances: list[int]) -> list[int]:
    """The same by lists of what stands around each block."""
    elements, signatures = page.elements.tolist(), page.signatures.tolist()

    def make(block: list[int]) -> tuple[Any, ...]:
        row = dict(zip(BLOCK_COLUMNS, block, strict=True))
        element, around = row["element"], []
        while element and len(around) < MAKE_DEPTH:
            around.append(signatures[element])
            element = elements[element][0]
        return 2 * row["link_chars"] > row["chars"], *around

    makes = [make(block) for block in page.blocks.tolist()]
    levelled = []
    for own, chance in zip(makes, chances, strict=True):
        alike = [other for each, other in zip(makes, chances, strict=True) if each == own]
        mean = sum(alike) // len(alike)
        levelled.append((chance + 3 * mean) // 4 if len(alike) >= MAKE_BLOCKS else chance)
    return levelled


def test_blocks_of_one_make_are_judged_as_one() -> None:
    posts = "".join(f"<div class=post{n}><p>A text.</p><i>u{n}</i></div>" for n in range(3))
    page = find_blocks(f"<p>Alone</p><section>{posts}</section>".encode())
    texts = [page.text[a:b].tobytes() for a, b in page.blocks[:, :2].tolist()]
    assert texts == [b"Alone", *(one for n in b"012" for one in (b"A text.", b"u%c" % n))]
    found = level(page, np.array([400, 900, 0, 900, 0, 300, 0], np.int32))
    assert found.tolist() == [400, 750, 0, 750, 0, 600, 0]


def test_links_are_of_another_make_than_text() -> None:
    page = find_blocks(b"<p>One</p><p>Two</p><p>Three</p><p><a href=x>Four</a></p>")
    found = level(page, np.array([600, 900, 600, 0], np.int32))
    assert found.tolist() == [675, 750, 675, 0]


@pytest.mark.parametrize("seed", range(20))
def test_the_kernel_levels_as_plain_python_does(seed: int) -> None:
    random = Random(seed)
    page = find_blocks(b"".join(random_page(random) for _ in range(3)))
    chances = [random.randint(0, 1000) for _ in page.blocks]
    given = np.array(chances, np.int32)
    assert level(page, given).tolist() == plainly_levelled(page, chances)
    assert given.tolist() == chances, "what was given stays as it is"


def test_a_page_without_text_has_no_rows() -> None:
    page = find_blocks(b"<div></div>")
    assert block_features(page).shape == (0, len(FEATURES))
    assert level(page, np.zeros(0, np.int32)).tolist() == []
