from random import Random
from typing import Any

import pytest

from corpus_assets.ingest.kernels.block_features import (
    CONTEXT,
    FAR,
    FEATURES,
    LEVELS,
    add_context,
    block_features,
)
from corpus_assets.ingest.kernels.blocks import BLOCK_COLUMNS, Blocks, find_blocks
from corpus_assets.ingest.kernels.page_names import BREAKING, HINTS

WORDS = [
    "Home",
    "News",
    "The",
    "cat",
    "sat",
    "on",
    "the",
    "mat,",
    "and",
    "slept.",
    "Read",
    "more",
    "12",
    "Contact",
    "us!",
    "猫が座った。",
]
TAGS = ("div", "p", "ul", "li", "h1", "h2", "nav", "article", "section", "td", "table", "footer")


def random_page(random: Random) -> bytes:
    made = ["<title>The cat</title>"]
    for _ in range(random.randint(1, 40)):
        name = random.choice(TAGS)
        mark = random.choice(
            ("", " class=nav", " class='post-content'", " id=comments", " class=x")
        )
        words = " ".join(random.choices(WORDS, k=random.choice((0, 1, 3, 40))))
        made.append(
            f"<{name}{mark}>" + (f"<a href=x>{words}</a>" if random.random() < 0.3 else words)
        )
        if random.random() < 0.5:
            made.append(f"</{random.choice(TAGS)}>")
    return "".join(made).encode()


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
    import numpy as np

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


def test_a_page_without_text_has_no_rows() -> None:
    page = find_blocks(b"<div></div>")
    assert block_features(page).shape == (0, len(FEATURES))
