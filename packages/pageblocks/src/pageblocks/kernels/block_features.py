"""What a model is told of each block of a page: small integers that mean the same in any language.

First its own measures, then the elements it stands in, the blocks around it, and the page. All of
them are counts or shares in thousandths; no text and no name of a site gets in. For the second model
there are the first one's scores of the block, its neighbours and its surroundings (`add_context`);
what both find is brought nearer to the mean of blocks of the same make (`level`).
"""

from typing import Any

import numpy as np

from pageblocks.kernels.blocks import Blocks, Ints
from pageblocks.kernels.page_names import (
    BREAKING,
    HINT_BITS_MASK,
    HINTS,
    TAGS,
    names_in,
)
from textkernels.byte_search import byte_kernel, inlined_kernel
from textkernels.compiled import kernel
from textkernels.hashing import FNV_OFFSET, FNV_PRIME

PLACES = names_in(
    "nav header footer aside main article section form table li blockquote figure noscript "
    "button details dialog pre"
)
"""Elements whose distance above a block counts, as a hint's does."""
FAR = 15  # the distance of what is not there
LEVELS = 4
NEAR = 2
SCALE = 1000
GOOD_CHARS = 60
RUN_ITEMS = 10
BOX_CHARS = 400

OWN = names_in(
    "chars words word_length link_share links mark_share digit_share capital_share "
    "ends_sentence in_link is_pre has_math after_br begins_low tag depth title_share "
    "title_words copies line_chars"
)
LEVEL = names_in("blocks chars link_share good_share page_share")
AROUND = names_in("chars link_share tag marks")
PAGE = names_in(
    "blocks chars link_share good_share main_share main_link_share main_blocks articles title_at "
    "box_share box_link_share box_blocks run_items run_share run_good run_before"
)
PLACE = names_in(
    "index index_share chars_before_share from_end same_signature signature_chars "
    "signature_link_share same_parent_signature in_main in_large_main before_main after_main "
    "main_levels since_heading heading next_is_heading since_title since_good until_good "
    "good_before good_after siblings sibling_index box_share in_box before_box after_box box_levels "
    "in_run run_items run_share run_good run_before run_link_share run_item_blocks run_item "
    "run_place run_copies"
)
CONTEXT_NEAR = 3
CONTEXT = (
    ["own"]
    + [f"{side}{n}" for n in range(1, CONTEXT_NEAR + 1) for side in ("before", "after")]
    + [f"level{n}" for n in range(LEVELS)]
    + ["page", "signature", "window", "best_share", "run", "run_first"]
)
FEATURES = (
    [*OWN]
    + [f"near_{name}" for name in (*HINTS, *(f"<{tag}>" for tag in PLACES))]
    + [f"level{n}_{name}" for n in range(LEVELS) for name in LEVEL]
    + [
        f"{side}{n}_{name}"
        for n in range(1, NEAR + 1)
        for side in ("before", "after")
        for name in AROUND
    ]
    + [*PLACE]
    + [f"page_{name}" for name in PAGE]
)
"""Names of the columns, in order; `add_context` puts `CONTEXT` after them."""

MAKE_DEPTH, MAKE_BLOCKS = 3, 3
"""Elements from a block outwards that tell its make; blocks from which on a make has a mean."""

_N_HINTS = len(HINTS)
_N_NEAR = _N_HINTS + len(PLACES)
_PLACE_OF = np.full(len(BREAKING) + 2, -1, dtype=np.int64)
for _number, _name in enumerate(PLACES):
    _PLACE_OF[TAGS[_name]] = _N_HINTS + _number
_IS_HEADING = np.zeros(len(BREAKING) + 2, dtype=np.int64)
for _level in range(1, 7):
    _IS_HEADING[TAGS[f"h{_level}"]] = _level
_ARTICLE = TAGS["article"]
_UNTIL_GOOD = FEATURES.index("until_good")


def block_features(page: Blocks) -> Ints:
    """Features of each block, int32 (n, len(FEATURES)); time linear in blocks times features."""
    features = np.zeros((len(page.blocks), len(FEATURES)), dtype=np.int32)
    if len(page.blocks):
        _fill(page.text, page.blocks, page.elements, page.signatures, features)
    return features


def add_context(page: Blocks, features: Ints, scores: Ints) -> Ints:
    """Features with what a first model's scores (0 to `SCALE`) say around each block."""
    n = len(page.blocks)
    both = np.zeros((n, len(FEATURES) + len(CONTEXT)), dtype=np.int32)
    both[:, : len(FEATURES)] = features
    if n:
        _context(page.blocks, page.elements, page.signatures, scores, both)
    return both


def level(page: Blocks, chances: Ints) -> Ints:
    """Bring chances nearer to the mean of blocks of the same make: posts of a thread, paragraphs of
    a story and entries of a list are each judged by what stands around them, and are one thing.

    Of the same make are blocks whose element and the two around it have the same names and classes,
    and that are links for the most part, or are not.
    """
    levelled = chances.copy()
    if len(page.blocks):
        _level_chances(page.blocks, page.elements, page.signatures, levelled)
    return levelled


@byte_kernel
def _share(part: int, whole: int) -> int:
    return part * SCALE // whole if whole > 0 else 0


@kernel
def _prefixes(blocks: Any) -> Any:
    """Sums before each block: chars, link chars, chars of good blocks, marks."""
    n = len(blocks)
    sums = np.zeros((n + 1, 4), dtype=np.int64)
    for b in range(n):
        chars, link_chars, marks = blocks[b, 4], blocks[b, 6], blocks[b, 8]
        is_good = chars >= GOOD_CHARS and 3 * link_chars < chars and marks > 0
        sums[b + 1, 0] = sums[b, 0] + chars
        sums[b + 1, 1] = sums[b, 1] + link_chars
        sums[b + 1, 2] = sums[b, 2] + (chars if is_good else 0)
        sums[b + 1, 3] = sums[b, 3] + marks
    return sums


@kernel
def group_equal(values: Any) -> Any:
    """Return the number of its group for each of uint64 values, equal ones in one, and how many groups."""
    n = len(values)
    slots = 16
    while slots < 2 * n:
        slots *= 2
    mask = np.uint64(slots - 1)
    keys = np.zeros(slots, dtype=np.uint64)
    numbers = np.full(slots, -1, dtype=np.int64)
    groups = np.empty(n, dtype=np.int64)
    count = 0
    for index in range(n):
        value = values[index]
        slot = (value ^ (value >> np.uint64(29))) & mask
        while numbers[slot] >= 0 and keys[slot] != value:
            slot = (slot + np.uint64(1)) & mask
        if numbers[slot] < 0:
            keys[slot] = value
            numbers[slot] = count
            count += 1
        groups[index] = numbers[slot]
    return groups, count


@byte_kernel
def _next_level(elements: Ints, element: int) -> int:
    """The nearest ancestor with more blocks; the page where there is none."""
    size = elements[element, 5] - elements[element, 4]
    while element > 0 and elements[element, 5] - elements[element, 4] == size:
        element = elements[element, 0]
    return element


@kernel
def _deepest(elements: Any, sums: Any, column: int, numerator: int, denominator: int) -> int:
    """The deepest element that holds more than such a share of a sum; they form a chain."""
    total = sums[len(sums) - 1, column]
    found = 0
    for e in range(1, len(elements)):
        held = sums[elements[e, 5], column] - sums[elements[e, 4], column]
        if held * denominator > total * numerator:
            found = e
    return found


@kernel
def _boxes(blocks: Any, elements: Any, sums: Any) -> Any:
    """How much each element is a box of paragraphs, as readers' modes of browsers count it: a good
    block's length, up to a bound, goes to its element and the one above, half of it to the next, and
    an element's links count against it."""
    worth = np.zeros(len(elements), dtype=np.int64)
    for b in range(len(blocks)):
        if sums[b + 1, 2] == sums[b, 2]:
            continue
        value = min(blocks[b, 4], BOX_CHARS)
        element = blocks[b, 2]
        for part in (2, 2, 1):
            if element > 0:
                worth[element] += value * part
                element = elements[element, 0]
    for e in range(len(elements)):
        held = sums[elements[e, 5], 0] - sums[elements[e, 4], 0]
        linked = sums[elements[e, 5], 1] - sums[elements[e, 4], 1]
        worth[e] = worth[e] * (held - linked) // max(held, 1)
    return worth


@kernel
def _level_chances(blocks: Any, elements: Any, signatures: Any, chances: Any) -> None:
    n = len(blocks)
    keys = np.zeros(n, dtype=np.uint64)
    for b in range(n):
        key, e = FNV_OFFSET, blocks[b, 2]
        for _ in range(MAKE_DEPTH):
            if e > 0:
                key = (key ^ signatures[e]) * FNV_PRIME
                e = elements[e, 0]
        is_link = 2 * blocks[b, 6] > blocks[b, 4]
        keys[b] = key ^ np.uint64(is_link)
    makes, n_makes = group_equal(keys)
    counts, sums = np.zeros(n_makes, dtype=np.int64), np.zeros(n_makes, dtype=np.int64)
    for b in range(n):
        counts[makes[b]] += 1
        sums[makes[b]] += chances[b]
    for b in range(n):
        count = counts[makes[b]]
        if count >= MAKE_BLOCKS:
            chances[b] = (chances[b] + 3 * (sums[makes[b]] // count)) // 4


@kernel
def _runs(elements: Any, sums: Any) -> Any:
    """Entries of one make: siblings with one tag and the same hints, two blocks or more in each on
    the average, none of which holds more than three quarters: posts, cards, rows.

    Gives what runs have, int64 (runs, 6): items, blocks, chars, link chars, good chars, first
    block; the run of each element, -1 for none; and which of its items an element is.
    """
    m = len(elements)
    keys = np.zeros(m, dtype=np.uint64)
    for e in range(1, m):
        key = FNV_OFFSET
        hints = np.int32(elements[e, 2] & HINT_BITS_MASK)
        for value in (elements[e, 0], elements[e, 1], hints):
            key = (key ^ np.uint64(value)) * FNV_PRIME
        keys[e] = key
    found, n_runs = group_equal(keys)
    runs = np.zeros((n_runs, 6), dtype=np.int64)
    largest = np.zeros(n_runs, dtype=np.int64)
    order = np.zeros(m, dtype=np.int64)
    for e in range(1, m):
        first, stop = elements[e, 4], elements[e, 5]
        if stop > first:
            run = runs[found[e]]
            if run[0] == 0:
                run[5] = first
            order[e] = run[0]
            run[0] += 1
            run[1] += stop - first
            for column in range(3):
                run[2 + column] += sums[stop, column] - sums[first, column]
            held = sums[stop, 0] - sums[first, 0]
            largest[found[e]] = max(largest[found[e]], held)
    for e in range(m):
        run = runs[found[e]]
        is_run = run[0] >= 2 and run[1] >= 2 * run[0] and 4 * largest[found[e]] <= 3 * run[2]
        if e == 0 or not is_run:
            found[e] = -1
    return runs, found, order


@byte_kernel
def _run_worth(runs: Any, run: int) -> int:
    """How much a run is one: its characters, times its items up to a bound."""
    return runs[run, 2] * min(runs[run, 0], RUN_ITEMS) if run >= 0 else 0


@kernel
def _entries(elements: Any, sums: Any) -> Any:
    """Runs as of `_runs`, and the entry that each element stands in: of those around it the one
    whose run is most, the outer of equals; 0 for none."""
    runs, run_of, order = _runs(elements, sums)
    item_of = np.zeros(len(elements), dtype=np.int64)
    for e in range(1, len(elements)):
        above = item_of[elements[e, 0]]
        is_more = _run_worth(runs, run_of[e]) > _run_worth(runs, run_of[above])
        item_of[e] = e if is_more else above
    return runs, run_of, order, item_of


@kernel
def _distances(elements: Any) -> Any:
    """How far above each element hints and places are, int32 (elements, hints and places)."""
    near = np.full((len(elements), _N_NEAR), FAR, dtype=np.int32)
    for e in range(len(elements)):
        parent, bits = elements[e, 0], elements[e, 2]
        if parent >= 0:
            for h in range(_N_NEAR):
                near[e, h] = min(near[parent, h] + 1, FAR)
        for h in range(_N_HINTS):
            if bits >> h & 1:
                near[e, h] = 0
        place = _PLACE_OF[elements[e, 1]]
        if place >= 0:
            near[e, place] = 0
    return near


@kernel
def _kin(elements: Any, signatures: Any, sums: Any) -> Any:
    """Elements that are alike, of those that hold blocks: the group of each by its signature; what
    groups have, int64 (groups, 3): elements, chars, link chars; how many children an element has,
    and which of its parent's it is."""
    groups, n_groups = group_equal(signatures)
    held = np.zeros((n_groups, 3), dtype=np.int64)
    children = np.zeros(len(elements), dtype=np.int64)
    order = np.zeros(len(elements), dtype=np.int64)
    for e in range(len(elements)):
        parent, first, stop = elements[e, 0], elements[e, 4], elements[e, 5]
        if stop > first:
            held[groups[e], 0] += 1
            held[groups[e], 1] += sums[stop, 0] - sums[first, 0]
            held[groups[e], 2] += sums[stop, 1] - sums[first, 1]
            if parent >= 0:
                order[e] = children[parent]
                children[parent] += 1
    return groups, held, children, order


@kernel
def _copies(text: Any, blocks: Any) -> Any:
    """How many blocks have the same text as each."""
    n = len(blocks)
    texts = np.empty(n, dtype=np.uint64)
    for b in range(n):
        value = FNV_OFFSET
        for at in range(blocks[b, 0], blocks[b, 1]):
            value = (value ^ np.uint64(text[at])) * FNV_PRIME
        texts[b] = value
    same, n_texts = group_equal(texts)
    counts = np.zeros(n_texts, dtype=np.int64)
    for b in range(n):
        counts[same[b]] += 1
    return counts[same]


@kernel
def _largest_box(boxes: Any) -> int:
    """The element that holds most paragraphs directly, the last of equals; the page for none."""
    box = 0
    for e in range(len(boxes)):
        if boxes[e] >= max(boxes[box], 1):
            box = e
    return box


@kernel
def _largest_run(runs: Any, run_of: Any) -> int:
    """The run that is most of one; -1 where there is none."""
    found = -1
    for e in range(1, len(run_of)):
        if _run_worth(runs, run_of[e]) > _run_worth(runs, found):
            found = run_of[e]
    return found


@kernel
def _title_heading(blocks: Any, elements: Any) -> int:
    """The heading that repeats the page's title; -1 where there is none."""
    found, best = -1, 0
    for b in range(len(blocks)):
        level = _IS_HEADING[elements[blocks[b, 2], 1]]
        if blocks[b, 12] >= 2 and level > 0 and 2 * blocks[b, 12] >= blocks[b, 5]:
            worth = blocks[b, 12] * 8 + (6 - level)
            if worth > best:
                found, best = b, worth
    return found


@kernel
def _fill(text: Any, blocks: Any, elements: Any, signatures: Any, out: Any) -> None:
    sums = _prefixes(blocks)
    near, copies = _distances(elements), _copies(text, blocks)
    groups, held, children, order = _kin(elements, signatures, sums)
    column = 2 if sums[len(blocks), 2] > 0 else 0
    main = _deepest(elements, sums, column, 1, 2)
    large = _deepest(elements, sums, column, 4, 5)
    boxes = _boxes(blocks, elements, sums)
    box = _largest_box(boxes)
    runs, run_of, item_order, item_of = _entries(elements, sums)
    run = _largest_run(runs, run_of)
    title_at = _title_heading(blocks, elements)
    page = np.empty(len(PAGE), dtype=np.int32)
    _fill_page(page, elements, sums, main, boxes, box, title_at)
    _fill_page_runs(page, sums, runs, run)
    met = np.array([-1, 0, -1], dtype=np.int64)
    for b in range(len(blocks)):
        row, element, item = out[b], blocks[b, 2], item_of[blocks[b, 2]]
        at = _fill_own(row, text, blocks, b, elements, copies)
        at = _fill_near(row, at, blocks[b, 11], near, element)
        at, outer = _fill_levels(row, at, elements, element, sums)
        at = _fill_around(row, at, blocks, elements, b)
        at = _fill_place(row, at, blocks, sums, b)
        at = _fill_kin(row, at, elements, element, groups, held)
        at = _fill_main(row, at, elements, b, main, large)
        at = _fill_since(row, at, blocks, elements, sums, b, title_at, met)
        row[at], row[at + 1] = children[outer], order[element]
        at = _fill_box(row, at + 2, elements, b, element, boxes, box)
        if run_of[item] >= 0:
            at = _fill_run(row, at, sums, runs, run_of[item], run, item_order[item])
            row[at] = b - elements[item, 4]
            row[at + 1] = held[groups[element], 0] * 10 // runs[run_of[item], 0]
        else:
            for place in range(10):
                row[at + place] = -1
            at += 8
        for place in range(len(page)):
            row[at + 2 + place] = page[place]
    _fill_until_good(sums, out)


@inlined_kernel
def _fill_own(row: Any, text: Any, blocks: Any, b: int, elements: Any, copies: Any) -> int:
    """`OWN`: what the block itself measures. As all that follow: the place after them."""
    element, flags, chars, words = blocks[b, 2], blocks[b, 3], blocks[b, 4], blocks[b, 5]
    lines = 1
    for place in range(blocks[b, 0], blocks[b, 1]):
        lines += text[place] == 10
    row[0] = chars
    row[1] = words
    row[2] = chars * 10 // max(words, 1)
    row[3] = _share(blocks[b, 6], chars)
    row[4] = blocks[b, 7]
    row[5] = _share(blocks[b, 8], chars)
    row[6] = _share(blocks[b, 9], chars)
    row[7] = _share(blocks[b, 10], chars)
    for bit in range(6):
        row[8 + bit] = flags >> bit & 1
    row[14] = elements[element, 1]
    row[15] = elements[element, 3]
    row[16] = _share(blocks[b, 12], words)
    row[17] = blocks[b, 12]
    row[18] = copies[b]
    row[19] = chars // lines
    return 20


@inlined_kernel
def _fill_near(row: Any, at: int, hints: int, near: Any, element: int) -> int:
    """How far above the block hints and places are; hints of inline elements in it are near."""
    for h in range(_N_NEAR):
        distance = near[element, h]
        if h < _N_HINTS and hints >> h & 1:
            distance = min(distance, 2)
        row[at + h] = distance
    return at + _N_NEAR


@inlined_kernel
def _fill_levels(row: Any, at: int, elements: Any, element: int, sums: Any) -> tuple[int, int]:
    """`LEVEL` of the element and those around it that hold more; also the first of these."""
    outer = level = element
    for number in range(LEVELS):
        first, stop = elements[level, 4], elements[level, 5]
        held = sums[stop, 0] - sums[first, 0]
        row[at] = stop - first
        row[at + 1] = held
        row[at + 2] = _share(sums[stop, 1] - sums[first, 1], held)
        row[at + 3] = _share(sums[stop, 2] - sums[first, 2], held)
        row[at + 4] = _share(held, sums[len(sums) - 1, 0])
        at += 5
        if number == 1:
            outer = level
        level = _next_level(elements, level)
    return at, outer


@inlined_kernel
def _fill_around(row: Any, at: int, blocks: Any, elements: Any, b: int) -> int:
    """`AROUND`: the blocks before and after, -1 where there is none."""
    for distance in range(1, NEAR + 1):
        for side in (-distance, distance):
            other = b + side
            if 0 <= other < len(blocks):
                row[at] = blocks[other, 4]
                row[at + 1] = _share(blocks[other, 6], blocks[other, 4])
                row[at + 2] = elements[blocks[other, 2], 1]
                row[at + 3] = blocks[other, 8]
            else:
                row[at], row[at + 1], row[at + 2], row[at + 3] = -1, -1, -1, -1
            at += 4
    return at


@inlined_kernel
def _fill_place(row: Any, at: int, blocks: Any, sums: Any, b: int) -> int:
    """Where in the page the block stands."""
    n = len(blocks)
    row[at] = b
    row[at + 1] = b * SCALE // n
    row[at + 2] = _share(sums[b, 0], sums[n, 0])
    row[at + 3] = n - b
    return at + 4


@inlined_kernel
def _fill_kin(row: Any, at: int, elements: Any, element: int, groups: Any, held: Any) -> int:
    """What elements with the signature of the block's have."""
    group, parent = groups[element], elements[element, 0]
    row[at] = held[group, 0]
    row[at + 1] = held[group, 1] // max(held[group, 0], 1)
    row[at + 2] = _share(held[group, 2], held[group, 1])
    row[at + 3] = held[groups[parent], 0] if parent >= 0 else 0
    return at + 4


@byte_kernel
def _levels_to(elements: Any, element: int, b: int) -> int:
    """How many levels above an element the first one is that holds a block."""
    levels = 0
    while element > 0 and not elements[element, 4] <= b < elements[element, 5]:
        element = elements[element, 0]
        levels += 1
    return levels


@inlined_kernel
def _fill_main(row: Any, at: int, elements: Any, b: int, main: int, large: int) -> int:
    """Where the block stands by the element that holds most of the page."""
    first, stop = elements[main, 4], elements[main, 5]
    row[at] = first <= b < stop
    row[at + 1] = elements[large, 4] <= b < elements[large, 5]
    row[at + 2] = max(first - b, 0)
    row[at + 3] = max(b - stop + 1, 0)
    row[at + 4] = _levels_to(elements, main, b)
    return at + 5


@inlined_kernel
def _fill_since(
    row: Any, at: int, blocks: Any, elements: Any, sums: Any, b: int, title_at: int, met: Any
) -> int:
    """What came before the block and comes after it. `met`, int64 (3): the last heading, its level
    and the last good block; -1, 0 and -1 before any."""
    n, good = len(blocks), sums[len(blocks), 2]
    row[at] = b - met[0] if met[0] >= 0 else 10_000
    row[at + 1] = met[1]
    row[at + 2] = _IS_HEADING[elements[blocks[b + 1, 2], 1]] if b + 1 < n else 0
    row[at + 3] = b - title_at if title_at >= 0 else -10_000
    row[at + 4] = b - met[2] if met[2] >= 0 else 10_000
    row[at + 5] = 10_000  # `_fill_until_good`
    row[at + 6] = _share(sums[b, 2], good)
    row[at + 7] = _share(good - sums[b + 1, 2], good)
    level = _IS_HEADING[elements[blocks[b, 2], 1]]
    if level:
        met[0], met[1] = b, level
    if sums[b + 1, 2] > sums[b, 2]:
        met[2] = b
    return at + 8


@inlined_kernel
def _fill_box(row: Any, at: int, elements: Any, b: int, element: int, boxes: Any, box: int) -> int:
    """How much the block's element, or one of two around it, is a box of paragraphs, and where the
    block stands by the largest."""
    best = 0
    for _ in range(3):
        best = max(best, boxes[element])
        element = max(elements[element, 0], 0)
    first, stop = elements[box, 4], elements[box, 5]
    row[at] = _share(best, boxes[box])
    row[at + 1] = first <= b < stop
    row[at + 2] = max(first - b, 0)
    row[at + 3] = max(b - stop + 1, 0)
    row[at + 4] = _levels_to(elements, box, b)
    return at + 5


@inlined_kernel
def _fill_run(row: Any, at: int, sums: Any, runs: Any, run: int, largest: int, item: int) -> int:
    """The run of entries that the block stands in, and in which of them."""
    chars, good = sums[len(sums) - 1, 0], sums[len(sums) - 1, 2]
    row[at] = run == largest
    row[at + 1] = runs[run, 0]
    row[at + 2] = _share(runs[run, 2], chars)
    row[at + 3] = _share(runs[run, 4], good)
    row[at + 4] = _share(sums[runs[run, 5], 2], good)
    row[at + 5] = _share(runs[run, 3], runs[run, 2])
    row[at + 6] = runs[run, 1] * 10 // runs[run, 0]
    row[at + 7] = item
    return at + 8


@byte_kernel
def _fill_page(
    page: Any, elements: Any, sums: Any, main: int, boxes: Any, box: int, title_at: int
) -> None:
    """`PAGE`, as far as it is not about runs: the same for every block."""
    n = len(sums) - 1
    articles, worth = 0, 0
    for e in range(len(elements)):
        articles += elements[e, 1] == _ARTICLE
        worth += boxes[e]
    main_from, main_to = elements[main, 4], elements[main, 5]
    box_from, box_to = elements[box, 4], elements[box, 5]
    main_chars = sums[main_to, 0] - sums[main_from, 0]
    page[0] = n
    page[1] = sums[n, 0]
    page[2] = _share(sums[n, 1], sums[n, 0])
    page[3] = _share(sums[n, 2], sums[n, 0])
    page[4] = _share(main_chars, sums[n, 0])
    page[5] = _share(sums[main_to, 1] - sums[main_from, 1], main_chars)
    page[6] = main_to - main_from
    page[7] = articles
    page[8] = title_at
    page[9] = _share(boxes[box], worth)
    page[10] = _share(sums[box_to, 1] - sums[box_from, 1], sums[box_to, 0] - sums[box_from, 0])
    page[11] = box_to - box_from


@byte_kernel
def _fill_page_runs(page: Any, sums: Any, runs: Any, run: int) -> None:
    """The end of `PAGE`: the page's largest run; -1 where it has none."""
    if run < 0:
        page[12:] = -1
        return
    chars, good = sums[len(sums) - 1, 0], sums[len(sums) - 1, 2]
    page[12] = runs[run, 0]
    page[13] = _share(runs[run, 2], chars)
    page[14] = _share(runs[run, 4], good)
    page[15] = _share(sums[runs[run, 5], 2], good)


@kernel
def _fill_until_good(sums: Any, out: Any) -> None:
    """How far the next good block is, from the last block backwards."""
    following = -1
    for back in range(len(out)):
        b = len(out) - 1 - back
        if following >= 0:
            out[b, _UNTIL_GOOD] = following - b
        if sums[b + 1, 2] > sums[b, 2]:
            following = b


@kernel
def _context(blocks: Any, elements: Any, signatures: Any, scores: Any, out: Any) -> None:
    n = len(blocks)
    base = out.shape[1] - _N_CONTEXT
    weights = np.zeros(n + 1, dtype=np.int64)
    scored = np.zeros(n + 1, dtype=np.int64)
    best = 1
    for b in range(n):
        weights[b + 1] = weights[b] + blocks[b, 4]
        scored[b + 1] = scored[b] + np.int64(blocks[b, 4]) * scores[b]
        best = max(best, scores[b])
    groups, n_groups = group_equal(signatures)
    group_weight = np.zeros(n_groups, dtype=np.int64)
    group_score = np.zeros(n_groups, dtype=np.int64)
    for b in range(n):
        group_weight[groups[blocks[b, 2]]] += blocks[b, 4]
        group_score[groups[blocks[b, 2]]] += np.int64(blocks[b, 4]) * scores[b]
    runs, run_of, order, item_of = _entries(elements, _prefixes(blocks))
    run_sums = np.zeros((len(runs), 4), dtype=np.int64)  # of all entries, and of the first
    for e in range(1, len(elements)):
        if run_of[e] >= 0:
            sums = run_sums[run_of[e]]
            first, stop = elements[e, 4], elements[e, 5]
            for at in (0, 2):
                if at == 0 or order[e] == 0:
                    sums[at] += weights[stop] - weights[first]
                    sums[at + 1] += scored[stop] - scored[first]
    for b in range(n):
        at = base
        row = out[b]
        row[at] = scores[b]
        at += 1
        for distance in range(1, CONTEXT_NEAR + 1):
            for side in (-distance, distance):
                row[at] = scores[b + side] if 0 <= b + side < n else -1
                at += 1
        level = blocks[b, 2]
        for _ in range(LEVELS):
            first, stop = elements[level, 4], elements[level, 5]
            row[at] = (scored[stop] - scored[first]) // max(weights[stop] - weights[first], 1)
            at += 1
            level = _next_level(elements, level)
        row[at] = scored[n] // max(weights[n], 1)
        group = groups[blocks[b, 2]]
        row[at + 1] = group_score[group] // max(group_weight[group], 1)
        first, stop = max(b - 5, 0), min(b + 6, n)
        row[at + 2] = (scored[stop] - scored[first]) // max(weights[stop] - weights[first], 1)
        row[at + 3] = scores[b] * SCALE // best
        run = run_of[item_of[blocks[b, 2]]]
        if run >= 0:
            row[at + 4] = run_sums[run, 1] // max(run_sums[run, 0], 1)
            row[at + 5] = run_sums[run, 3] // max(run_sums[run, 2], 1)
        else:
            row[at + 4], row[at + 5] = -1, -1


_N_CONTEXT = len(CONTEXT)
