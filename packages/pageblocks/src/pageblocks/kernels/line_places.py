"""What the lines of a page's blocks are, by the elements they stand in; where in the tree those stand;
and which of them are posts.

A post is one of several elements of one make that are named as posts or comments and hold text, that
is neither in links nor in forms for the most part. What is named as a post and not as a comment, as
entries of a blog are too, counts where readers are named in it. A named element that begins with such
posts holds them and is none itself; one inside a post is a part of it, or, of the same make, a reply.
Of a post that only its text is named of, the element around it counts, where several such stand side
by side.

An element that says itself that it is a post (microdata, the number of a comment: `start_tags.ITEMS`) is
one, alone too. It is none where it is a part of a named post, or holds a thread: where it begins with
another post, or is called a discussion and no text of its own is marked before the next post.

All is linear in the page.
"""

from typing import Any

import numpy as np

from pageblocks.kernels.block_features import group_equal
from pageblocks.kernels.blocks import FLAGS, Blocks, Ints
from pageblocks.kernels.page_names import BREAKING, HINTS, TAGS, names_in
from pageblocks.kernels.start_tags import ITEMS
from textkernels.compiled import kernel
from textkernels.hashing import FNV_OFFSET, FNV_PRIME

MIN_POST_CHARS = 40
"""Characters of the posts of one make on the average, names and dates with them."""

MAX_CAPTION_CHARS = 20
"""Of what stands before the first post in an element that is named as posts and holds them."""

MAX_USER_CHARS = 100
"""Of an element that names a reader, with what it says of him."""

MAX_AROUND = 8
"""Elements around a named one that are looked at: whether they are the post, or hold posts."""

_POST, _COMMENT, _USER = (1 << HINTS[name] for name in ("post", "comment", "user"))
_NO_POST, _IS_POST, _IS_COMMENT = range(3)
_POST_ITEM, _TOPIC_ITEM, _ANSWER_ITEM, _QUESTIONS_ITEM, _TEXT_ITEM = (
    ITEMS[name] for name in ("post", "topic", "answer", "questions", "post_text")
)
_POST_ITEMS = _POST_ITEM | _TOPIC_ITEM | _ANSWER_ITEM
_BODY, _HTML = TAGS["body"], TAGS["html"]
_TABLE, _ROW, _FORM, _PRE = TAGS["table"], TAGS["tr"], TAGS["form"], FLAGS["is_pre"]
_CAN_BE_POST = np.zeros(len(BREAKING) + 2, dtype=np.bool_)
for _name in names_in("div li article table tbody tr td dl dd blockquote custom"):
    _CAN_BE_POST[TAGS[_name]] = True
_IS_ITEM = np.zeros(len(BREAKING) + 2, dtype=np.bool_)
for _name in names_in("li article tr dd custom"):
    _IS_ITEM[TAGS[_name]] = True
"""Items of lists have classes of their own (`odd`, `by-author`) and are of one make all the same."""
_IS_HEADING = np.zeros(len(BREAKING) + 2, dtype=np.bool_)
for _level in range(1, 7):
    _IS_HEADING[TAGS[f"h{_level}"]] = True


def element_posts(page: Blocks) -> Ints:
    """The post that each element stands in, by the number of that post's element; -1 for none."""
    found = np.full(len(page.elements), -1, dtype=np.int32)
    _find_posts(page.blocks, page.elements, page.signatures, found)
    return found


def block_posts(page: Blocks) -> Ints:
    """The post that each block stands in, by the number of that post's element; -1 for none."""
    return element_posts(page)[page.blocks[:, 2]]


@kernel
def element_places(elements: Any, signatures: Any) -> Any:
    """Where each element stands, uint16 (elements), even and not 0: by the tags around it, and its own
    class and that of its parent. Classes further out often name the page (`category-news`)."""
    tags = np.empty(len(elements), dtype=np.uint64)
    places = np.empty(len(elements), dtype=np.uint16)
    tags[0] = FNV_OFFSET
    places[0] = 2
    for e in range(1, len(elements)):
        above = elements[e, 0]
        tags[e] = (tags[above] ^ np.uint64(elements[e, 1])) * FNV_PRIME
        key = (tags[e] ^ signatures[e]) * FNV_PRIME
        if above > 0 and elements[above, 1] != _BODY:
            key = (key ^ signatures[above]) * FNV_PRIME
        key ^= key >> np.uint64(32)
        places[e] = (key % np.uint64(0x7FFF) + np.uint64(1)) * np.uint64(2)
    return places


@kernel
def element_kinds(
    blocks: Any, elements: Any, posts: Any, codes: Any, ranks: Any, max_cell_chars: int
) -> Any:
    """What the lines of blocks in each element are, uint8 (elements): the code of the nearest element
    around them with the highest rank.

    `codes` uint8, by tag: of the page (0), of rows, and of others that say what stands in them; 0 for
    those that do not. `ranks` uint8, by code. A post begins anew, whatever it stands in or
    is an item of. A row counts
    before all where each of its blocks has fewer than `max_cell_chars` characters and none is
    preformatted, up to the next table inside.
    """
    n, m = len(blocks), len(elements)
    large = np.zeros(n + 1, dtype=np.int32)  # blocks before each that no row of data has
    for b in range(n):
        is_large = blocks[b, 4] >= max_cell_chars or blocks[b, 3] & _PRE > 0
        large[b + 1] = large[b] + is_large
    kinds = np.empty(m, dtype=np.uint8)
    in_row = np.zeros(m, dtype=np.bool_)
    page, row = codes[0], codes[_ROW]
    kinds[0] = page
    for e in range(1, m):
        above, tag = elements[e, 0], elements[e, 1]
        kind = page if posts[e] == e else kinds[above]
        in_row[e] = in_row[above] and tag != _TABLE
        if tag == _ROW:
            in_row[e] = large[elements[e, 5]] == large[elements[e, 4]]
        elif posts[e] != e and codes[tag] > 0 and ranks[codes[tag]] >= ranks[kind]:
            kind = codes[tag]
        kinds[e] = kind
    for e in range(m):
        if in_row[e]:
            kinds[e] = row
    return kinds


@kernel
def _find_posts(blocks: Any, elements: Any, signatures: Any, posts: Any) -> None:
    """Fill in `element_posts`, int32 (elements)."""
    hints = items = 0
    for e in range(1, len(elements)):
        hints |= elements[e, 2]
        items |= elements[e, 6]
    if not (hints & (_POST | _COMMENT) or items & _POST_ITEMS):
        return
    names = _names(elements)
    sums = _sums(blocks, elements, names)
    makes, siblings = _makes(elements, signatures, names)
    _drop_holders(elements, sums, names, siblings)
    is_post = _chosen(elements, names, makes, sums)
    _descend(elements, signatures, names, sums, is_post, posts)
    around = _around(elements, signatures, posts)
    _drop_unsigned(elements, names, makes, sums, posts, around)
    _number(elements, around, posts)
    if items & _POST_ITEMS:
        _add_items(elements, sums, around, posts)
        _number(elements, around, posts)


@kernel
def _names(elements: Any) -> Any:
    """Whether each element with text is named as a comment or as a post, int8 (elements)."""
    names = np.zeros(len(elements), dtype=np.int8)
    for e in range(1, len(elements)):
        hints = elements[e, 2]
        if _CAN_BE_POST[elements[e, 1]] and elements[e, 5] > elements[e, 4]:
            if hints & _COMMENT:
                names[e] = _IS_COMMENT
            elif hints & _POST:
                names[e] = _IS_POST
    return names


@kernel
def _sums(blocks: Any, elements: Any, names: Any) -> Any:
    """Sums before each block: chars; those in links, and in forms that hold nothing named; those outside
    of headings; blocks that name readers."""
    n, m = len(blocks), len(elements)
    sums = np.zeros((n + 1, 4), dtype=np.int64)
    for b in range(n):
        sums[b + 1, 0] = sums[b, 0] + blocks[b, 4]
    holds_named = names > 0
    for back in range(m - 1):
        e = m - 1 - back
        if holds_named[e]:
            holds_named[elements[e, 0]] = True
    in_heading, in_user = np.zeros(m, dtype=np.bool_), np.zeros(m, dtype=np.bool_)
    in_form = np.zeros(m, dtype=np.bool_)
    for e in range(1, m):
        above = elements[e, 0]
        in_heading[e] = in_heading[above] or _IS_HEADING[elements[e, 1]]
        chars = sums[elements[e, 5], 0] - sums[elements[e, 4], 0]
        is_user = elements[e, 2] & _USER > 0 and chars <= MAX_USER_CHARS
        in_user[e] = in_user[above] or is_user
        in_form[e] = in_form[above] or (elements[e, 1] == _FORM and not holds_named[e])
    for b in range(n):
        e, chars = blocks[b, 2], blocks[b, 4]
        sums[b + 1, 1] = sums[b, 1] + (chars if in_form[e] else min(blocks[b, 6], chars))
        sums[b + 1, 2] = sums[b, 2] + (0 if in_heading[e] else chars)
        sums[b + 1, 3] = sums[b, 3] + (in_user[e] or blocks[b, 11] & _USER > 0)
    return sums


@kernel
def _makes(elements: Any, signatures: Any, names: Any) -> Any:
    """The make of each named element, by its kind of name and its tag and class, of items with the
    element they stand in for the class; and what is equal for siblings of one make. uint64, 0 for
    elements without a name."""
    makes = np.zeros(len(elements), dtype=np.uint64)
    siblings = np.zeros(len(elements), dtype=np.uint64)
    for e in range(1, len(elements)):
        if names[e]:
            key = (FNV_OFFSET ^ np.uint64(names[e])) * FNV_PRIME
            above = np.uint64(elements[e, 0])
            if _IS_ITEM[elements[e, 1]]:
                key = (key ^ np.uint64(elements[e, 1])) * FNV_PRIME
                siblings[e] = makes[e] = ((key ^ above) * FNV_PRIME) | np.uint64(1)
            else:
                makes[e] = ((key ^ signatures[e]) * FNV_PRIME) | np.uint64(1)
                siblings[e] = ((makes[e] ^ above) * FNV_PRIME) | np.uint64(1)
    return makes, siblings


@kernel
def _drop_holders(elements: Any, sums: Any, names: Any, siblings: Any) -> None:
    """Take the name from elements that hold siblings of one make and have little before the first."""
    where = np.flatnonzero(names)
    groups, count = group_equal(siblings[where])
    has_many = _have_text(elements, sums, where, groups, count)
    for at in range(len(where)):
        if not has_many[groups[at]]:
            continue
        has_many[groups[at]] = False  # what follows is not the first
        first = where[at]
        above = elements[first, 0]
        for _ in range(MAX_AROUND):
            start, stop = elements[above, 4], elements[first, 4]
            if above <= 0 or sums[stop, 2] - sums[start, 2] >= MAX_CAPTION_CHARS:
                break
            names[above] = _NO_POST
            above = elements[above, 0]


@kernel
def _chosen(elements: Any, names: Any, makes: Any, sums: Any) -> Any:
    """Whether each element is one of two or more of its make, that hold enough text together."""
    where = np.flatnonzero(names)
    groups, count = group_equal(makes[where])
    has_many = _have_text(elements, sums, where, groups, count)
    chosen = np.zeros(len(elements), dtype=np.bool_)
    for at in range(len(where)):
        chosen[where[at]] = has_many[groups[at]]
    return chosen


@kernel
def _have_text(elements: Any, sums: Any, where: Any, groups: Any, count: int) -> Any:
    """Whether each group has two elements or more, and as much text, not in links, as posts have."""
    held = np.zeros((count, 3), dtype=np.int64)
    for at in range(len(where)):
        first, stop = elements[where[at], 4], elements[where[at], 5]
        group = held[groups[at]]
        group[0] += 1
        group[1] += sums[stop, 0] - sums[first, 0]
        group[2] += sums[stop, 1] - sums[first, 1]
    found = np.zeros(count, dtype=np.bool_)
    for number in range(count):
        size, chars, links = held[number]
        found[number] = size >= 2 and chars >= MIN_POST_CHARS * size and 2 * links < chars
    return found


@kernel
def _descend(
    elements: Any, signatures: Any, names: Any, sums: Any, is_post: Any, posts: Any
) -> None:
    """The innermost post of each element: of posts in a post, replies count, and parts do not."""
    for e in range(1, len(elements)):
        outer = posts[elements[e, 0]]
        posts[e] = outer
        if outer < 0:
            posts[e] = e if is_post[e] else -1
        elif names[e] and elements[e, 1] == elements[outer, 1]:
            first, stop = elements[e, 4], elements[e, 5]
            chars = sums[stop, 0] - sums[first, 0]
            is_item = (
                _IS_ITEM[elements[e, 1]]
                and names[e] == names[outer]
                and chars >= MAX_CAPTION_CHARS
                and 2 * (sums[stop, 1] - sums[first, 1]) < chars
            )
            if is_item or (is_post[e] and signatures[e] == signatures[outer]):
                posts[e] = e


@kernel
def _around(elements: Any, signatures: Any, posts: Any) -> Any:
    """The element that is each post, int32 (elements), -1 where none is: for posts outside of others
    the outermost one around that holds no second, where two of its make stand side by side."""
    m = len(elements)
    around = np.full(m, -1, dtype=np.int32)
    counts = np.zeros(m, dtype=np.int64)
    for back in range(m - 1):
        e = m - 1 - back
        if posts[e] == e:
            around[e] = e
            counts[e] = posts[elements[e, 0]] < 0
        counts[elements[e, 0]] += counts[e]
    where = np.flatnonzero(counts * (around >= 0))
    tops, keys = np.empty(len(where), dtype=np.int32), np.empty(len(where), dtype=np.uint64)
    for at in range(len(where)):
        top = where[at]
        for _ in range(MAX_AROUND):
            above = elements[top, 0]
            if above <= 0 or counts[above] != 1:
                break
            top = above
        tops[at] = top
        keys[at] = ((FNV_OFFSET ^ np.uint64(elements[top, 0])) * FNV_PRIME) ^ signatures[top]
    groups, count = group_equal(keys)
    sizes = np.zeros(count, dtype=np.int64)
    for at in range(len(where)):
        sizes[groups[at]] += 1
    for at in range(len(where)):
        if sizes[groups[at]] >= 2:
            around[where[at]] = tops[at]
    return around


@kernel
def _drop_unsigned(
    elements: Any, names: Any, makes: Any, sums: Any, posts: Any, around: Any
) -> None:
    """Take back what is named as a post where fewer than half of its make name a reader."""
    is_named = np.zeros(len(elements), dtype=np.bool_)
    for e in range(1, len(elements)):
        is_named[e] = around[e] >= 0 and names[e] == _IS_POST
    where = np.flatnonzero(is_named)
    groups, count = group_equal(makes[where])
    signed = np.zeros((count, 2), dtype=np.int64)
    for at in range(len(where)):
        post = around[where[at]]
        signed[groups[at], 0] += 1
        signed[groups[at], 1] += sums[elements[post, 5], 3] > sums[elements[post, 4], 3]
    for at in range(len(where)):
        if 2 * signed[groups[at], 1] < signed[groups[at], 0]:
            around[where[at]] = -1


@kernel
def _add_items(elements: Any, sums: Any, around: Any, posts: Any) -> None:
    """Add elements that say that they are posts to those that are (`around`), by `posts` so far."""
    m = len(elements)
    is_item, in_questions = np.zeros(m, dtype=np.bool_), np.zeros(m, dtype=np.bool_)
    texts = np.zeros(len(sums) + 1, dtype=np.int64)  # marked ones that begin before each block
    for e in range(1, m):
        items = elements[e, 6]
        in_questions[e] = in_questions[elements[e, 0]] or items & _QUESTIONS_ITEM > 0
        is_item[e] = elements[e, 1] not in (_BODY, _HTML) and (
            items & _POST_ITEM > 0
            or (items & _TOPIC_ITEM > 0 and items & _ANSWER_ITEM == 0)
            or (items & _ANSWER_ITEM > 0 and in_questions[e])
        )
        texts[elements[e, 4] + 1] += items & _TEXT_ITEM > 0
    texts = np.cumsum(texts)
    first = np.full(m, len(sums), dtype=np.int64)  # block of the first post in each element
    for back in range(m - 1):
        e = m - 1 - back
        start, stop, above = elements[e, 4], elements[e, 5], elements[e, 0]
        is_post = posts[e] == e
        outer = posts[above]
        if is_item[e] and not is_post and (outer < 0 or is_item[outer]):
            end = min(first[e], stop)
            own = sums[end, 2] - sums[start, 2]
            is_post = own > 0
            if end < stop:
                is_marked = elements[e, 6] & _TOPIC_ITEM == 0 or texts[end] > texts[start]
                is_post = own >= MAX_CAPTION_CHARS and is_marked
            if is_post:
                around[e] = e
        first[above] = min(first[above], start if is_post else first[e])


@kernel
def _number(elements: Any, around: Any, posts: Any) -> None:
    """The innermost post of each element, by the elements that posts are."""
    is_post = np.zeros(len(elements), dtype=np.bool_)
    for e in range(1, len(elements)):
        if around[e] >= 0:
            is_post[around[e]] = True
    posts[0] = -1
    for e in range(1, len(elements)):
        posts[e] = e if is_post[e] else posts[elements[e, 0]]
