"""Kernels of what lines are, beside the same rules written plainly."""

from collections import defaultdict
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from sample_pages import POST, SENTENCE, random_page

from pageblocks.kernels.blocks import FLAGS, Blocks, find_blocks
from pageblocks.kernels.line_places import block_posts, element_kinds, element_posts
from pageblocks.kernels.page_names import BREAKING, HINTS, TAGS, names_in
from pageblocks.kernels.start_tags import ITEMS as SAID

NAME_OF = {number: name for name, number in TAGS.items()}
ITEMS = ("li", "article", "tr", "dd", "custom")


class Naive:
    """The posts of a page: lists of elements, climbed and searched as often as it takes."""

    def __init__(self, page: Blocks) -> None:
        self.elements = page.elements.tolist()
        self.blocks = page.blocks.tolist()
        self.signatures = page.signatures.tolist()
        self.numbers = range(1, len(self.elements))
        self.names: dict[int, str] = {}
        for e in self.numbers:
            can_be = NAME_OF[self.elements[e][1]] in (
                "div", "li", "article", "table", "tbody", "tr", "td", "dl", "dd", "blockquote", "custom",
            )  # fmt: skip
            if can_be and self.held(e):
                name = next((n for n in ("comment", "post") if self.has(e, n)), None)
                if name:
                    self.names[e] = name
        self.all_named = list(self.names)

    def has(self, e: int, hint: str) -> bool:
        return bool(self.elements[e][2] >> HINTS[hint] & 1)

    def tag(self, e: int) -> str:
        return NAME_OF[self.elements[e][1]]

    def held(self, e: int) -> list[int]:
        return list(range(self.elements[e][4], self.elements[e][5]))

    def chars(self, e: int) -> int:
        return sum(self.blocks[b][4] for b in self.held(e))

    def link_chars(self, e: int) -> int:
        return sum(
            self.blocks[b][4] if self.in_form(b) else min(self.blocks[b][6], self.blocks[b][4])
            for b in self.held(e)
        )

    def in_form(self, b: int) -> bool:
        """Whether a block stands in a form in which nothing was named at first."""
        return any(
            self.tag(e) == "form" and not any(e in self.path(named) for named in self.all_named)
            for e in self.path(self.blocks[b][2])
        )

    def path(self, e: int) -> list[int]:
        """An element and those around it, but for the page."""
        found = []
        while e > 0:
            found.append(e)
            e = self.elements[e][0]
        return found

    def make(self, e: int) -> tuple[object, ...]:
        if self.tag(e) in ITEMS:
            return self.names[e], self.tag(e), self.elements[e][0]
        return self.names[e], self.signatures[e]

    def have_text(self, elements: list[int]) -> bool:
        chars = sum(map(self.chars, elements))
        return (
            len(elements) >= 2
            and chars >= 40 * len(elements)
            and 2 * sum(map(self.link_chars, elements)) < chars
        )

    def drop_holders(self) -> None:
        siblings = defaultdict(list)
        for e in self.names:
            siblings[self.make(e), self.elements[e][0]].append(e)
        for group in siblings.values():
            if self.have_text(group):
                first = group[0]
                for above in self.path(first)[1:9]:
                    before = range(self.elements[above][4], self.elements[first][4])
                    if sum(self.blocks[b][4] for b in before if not self.in_heading(b)) >= 20:
                        break
                    self.names.pop(above, None)

    def in_heading(self, b: int) -> bool:
        return any(
            self.tag(e) in ("h1", "h2", "h3", "h4", "h5", "h6")
            for e in self.path(self.blocks[b][2])
        )

    def named_posts(self) -> list[int]:
        """Elements of posts before what stands around them is looked at."""
        makes = defaultdict(list)
        for e in self.names:
            makes[self.make(e)].append(e)
        chosen = {e for group in makes.values() if self.have_text(group) for e in group}
        posts: list[int] = []
        for e in self.numbers:
            outer = next((above for above in self.path(e)[1:] if above in posts), None)
            if outer is None:
                posts += [e] if e in chosen else []
            elif e in self.names and self.tag(e) == self.tag(outer):
                is_item = self.tag(e) in ITEMS and self.names[e] == self.names[outer]
                is_item = is_item and self.chars(e) >= 20 and 2 * self.link_chars(e) < self.chars(e)
                is_alike = e in chosen and self.signatures[e] == self.signatures[outer]
                posts += [e] if is_item or is_alike else []
        return posts

    def around(self, posts: list[int]) -> dict[int, int]:
        """The element that each post is."""
        outer = [e for e in posts if not any(above in posts for above in self.path(e)[1:])]
        tops: dict[int, int] = {}
        for e in outer:
            tops[e] = e
            for above in self.path(e)[1:9]:
                if sum(above in self.path(other) for other in outer) > 1:
                    break
                tops[e] = above
        alike = defaultdict(list)
        for e, top in tops.items():
            alike[self.elements[top][0], self.signatures[top]].append(e)
        return {e: e for e in posts} | {
            e: tops[e] for group in alike.values() if len(group) >= 2 for e in group
        }

    def names_reader(self, b: int) -> bool:
        if self.blocks[b][11] >> HINTS["user"] & 1:
            return True
        return any(
            self.has(e, "user") and self.chars(e) <= 100 for e in self.path(self.blocks[b][2])
        )

    def says(self, e: int, item: str) -> bool:
        return bool(self.elements[e][6] & SAID[item])

    def is_item(self, e: int) -> bool:
        if self.tag(e) in ("body", "html"):
            return False
        if self.says(e, "answer"):
            return any(self.says(above, "questions") for above in self.path(e))
        return self.says(e, "post") or self.says(e, "topic")

    def with_items(self, named: set[int]) -> set[int]:
        """Posts, and elements that say that they are posts."""
        posts = set(named)
        for e in reversed(self.numbers):
            outer = next((above for above in self.path(e)[1:] if above in named), e)
            if e in named or not self.is_item(e) or not self.is_item(outer):
                continue
            start, stop = self.elements[e][4:6]
            end = min([stop, *(self.elements[p][4] for p in posts if e in self.path(p)[1:])])
            own = sum(self.blocks[b][4] for b in range(start, end) if not self.in_heading(b))
            is_marked = not self.says(e, "topic") or any(
                self.says(part, "post_text") and start <= self.elements[part][4] < end
                for part in self.numbers
            )
            if own >= 20 and is_marked if end < stop else own > 0:
                posts.add(e)
        return posts

    def posts(self) -> list[int]:
        """The post of each element."""
        self.drop_holders()
        around = self.around(self.named_posts())
        makes = defaultdict(list)
        for e in around:
            if self.names[e] == "post":
                makes[self.make(e)].append(e)
        for group in makes.values():
            signed = [e for e in group if any(map(self.names_reader, self.held(around[e])))]
            if 2 * len(signed) < len(group):
                for e in group:
                    del around[e]
        are_posts = self.with_items(set(around.values()))
        return [-1] + [
            next((above for above in self.path(e) if above in are_posts), -1) for e in self.numbers
        ]


def _thread(random: Random) -> bytes:
    """Posts, comments, their parts and what holds them, in each other."""
    marks = (
        "", "class=post", "class=comment", "class='comment odd'", "class=user", "id=post-7", "class=posts",
        "id=comments", "class='post user'", "class=x", "itemtype=https://schema.org/Comment", "id=comment-7",
        "itemscope itemtype='http://schema.org/DiscussionForumPosting'", "itemprop=text", "itemtype=x/Answer",
        "itemtype=https://schema.org/QAPage",
    )  # fmt: skip
    made = []
    for _ in range(random.randint(1, 12)):
        tag = random.choice(
            ("div", "li", "td", "article", "h3", "p", "table", "tr", "section", "form")
        )
        mark, text = random.choice(marks), random.choice(("", "u", "a word or two of it", SENTENCE))
        text = f"<a href=x>{text}</a>" if random.random() < 0.2 else text
        inner = random.choice(marks)
        one = f"<{tag} {mark}>{text}<div {inner}>{random.choice(('u', SENTENCE))}</div>"
        one += f"</{tag}>" if random.random() < 0.8 else ""
        made += [one] * random.choice((1, 1, 2, 3))
    return "".join(made).encode()


@pytest.mark.parametrize("seed", range(300))
def test_posts_are_those_of_the_plain_rules(seed: int) -> None:
    for markup in (_thread(Random(seed)), random_page(Random(seed))):
        page = find_blocks(markup)
        assert element_posts(page).tolist() == Naive(page).posts()


def test_random_threads_have_posts_in_all_ways() -> None:
    pages = [find_blocks(_thread(Random(seed))) for seed in range(300)]
    found = [(page.elements, element_posts(page)) for page in pages]
    roots = [(elements, set(posts.tolist()) - {-1}) for elements, posts in found]
    assert sum(bool(root) for _, root in roots) > 30
    assert any(
        posts[elements[e, 0]] >= 0
        for (elements, posts), (_, root) in zip(found, roots, strict=True)
        for e in root
    )
    named = (1 << HINTS["post"]) | (1 << HINTS["comment"])
    assert any(elements[e, 2] & named == 0 for elements, root in roots for e in root)  # around


@pytest.mark.parametrize("seed", range(100))
def test_kinds_of_elements_are_those_of_the_nearest_of_the_highest_rank(seed: int) -> None:
    random = Random(seed)
    draw = np.random.default_rng(seed)
    codes = draw.integers(0, 6, len(BREAKING) + 2).astype(np.uint8)
    codes[0], codes[TAGS["tr"]] = 1, 7
    ranks = draw.integers(0, 3, 8).astype(np.uint8)
    ranks[1] = 0
    page = find_blocks(_thread(random) if seed % 2 else random_page(random))
    posts = element_posts(page)
    if seed % 3:
        posts = np.full_like(posts, -1)
        for e in range(1, len(posts)):
            posts[e] = e if random.random() < 0.1 else posts[page.elements[e, 0]]
    found = element_kinds(page.blocks, page.elements, posts, codes, ranks, 30)
    assert found.tolist() == [_kind(page, posts, codes, ranks, e) for e in range(len(posts))]


def _kind(
    page: Blocks, posts: npt.NDArray[Any], codes: npt.NDArray[Any], ranks: npt.NDArray[Any], e: int
) -> int:
    """Climb for a row of data, then for what is of the highest rank, up to the post."""
    path, at = [], e
    while at > 0:
        path.append(at)
        at = int(page.elements[at, 0])
    for at in path:
        if page.elements[at, 1] == TAGS["table"]:
            break
        if page.elements[at, 1] == TAGS["tr"]:
            blocks = page.blocks[slice(*page.elements[at, 4:6])]
            if (blocks[:, 4] < 30).all() and not (blocks[:, 3] & FLAGS["is_pre"]).any():
                return int(codes[TAGS["tr"]])
    best = 1
    for at in reversed(path):
        code = 0 if page.elements[at, 1] == TAGS["tr"] else int(codes[page.elements[at, 1]])
        if posts[at] == at:
            best = 1
        elif code and ranks[code] >= ranks[best]:
            best = code
    return best


def _posts_of(markup: str) -> list[int]:
    """How many blocks each post of a page holds."""
    posts = block_posts(find_blocks(markup.encode()))
    return [int((posts == post).sum()) for post in sorted({*posts.tolist()} - {-1})]


def test_the_row_around_the_named_cell_is_the_post() -> None:
    row = f"<tr><td class=user>{{}}<td class=post-body>{SENTENCE * 4}"
    assert _posts_of("<table>" + "".join(row.format(f"u{n}") for n in range(3)) + "</table>") == [
        2,
        2,
        2,
    ]


def test_the_bodies_of_posts_are_parts_of_them_and_what_holds_them_is_none() -> None:
    posts = "".join(POST.format(f"u{n}", SENTENCE) for n in range(4))
    for holder in ("div class=posting", "div id=comments", "div class='thread comment'"):
        assert _posts_of(f"<{holder}><h2>4 replies</h2>{posts}</div><p>end") == [3, 3, 3, 3]


def test_posts_need_a_reader_s_name_and_text_and_company() -> None:
    assert _posts_of(POST.format("u", SENTENCE)) == []
    assert _posts_of(f"<div class=post><h2>a</h2><p>{SENTENCE}</div>" * 3) == []
    assert _posts_of("<div class=post><b class=user>u</b>yes</div>" * 3) == []
    assert _posts_of(f"<div class=comment><a href=x>{SENTENCE}</a></div>" * 3) == []
    assert _posts_of(f"<div class=comment>{SENTENCE}</div>" * 3) == [1, 1, 1]
    assert _posts_of(f"<div class=comment><form>{SENTENCE}</form></div>" * 3) == []
    assert _posts_of(f"<form>{f'<div class=comment>{SENTENCE}</div>' * 3}</form>") == [1, 1, 1]


@pytest.mark.parametrize(
    "says",
    [
        "itemprop=comment itemscope itemtype='https://schema.org/Comment'", "itemtype=http://schema.org/UserComments",
        "id=comment-7", "class='wpforo-post wpfcl-1'", "itemtype=https://schema.org/DiscussionForumPosting",
    ],
)  # fmt: skip
def test_what_says_that_it_is_a_post_is_one_alone(says: str) -> None:
    assert _posts_of(f"<h1>a</h1><div {says}><b>Ann</b><p>{SENTENCE}</div><p>end") == [2]


def test_what_looks_like_it_only_is_none() -> None:
    for says in (
        "id=comment-form",
        "id=comment-7-x",
        "class=wpforo-post-content",
        "itemtype=x/CommentAction",
    ):
        assert _posts_of(f"<div {says}><p>{SENTENCE}</div>") == []


def test_answers_are_posts_on_a_page_of_questions_and_text_on_one_of_frequent_ones() -> None:
    asked = (
        f"<div itemtype=https://schema.org/Question><h2>Why?</h2><div itemprop=text>{SENTENCE}</div>"
        f"<div itemtype=https://schema.org/Answer><p>{SENTENCE}</div></div>"
    )
    assert _posts_of(f"<html itemtype=https://schema.org/QAPage><body>{asked}") == [2, 1]
    assert _posts_of(f"<html itemtype=https://schema.org/FAQPage><body>{asked}") == []


def test_a_discussion_that_holds_a_thread_is_no_post_but_its_first_one_is() -> None:
    holder = "<div itemtype=https://schema.org/DiscussionForumPosting>{}{}</div>"
    replies = f"<div itemtype=https://schema.org/Comment><p>{SENTENCE}</div>" * 2
    assert _posts_of(holder.format("<p>12 Posts 5 Posters 3.2k Views 2 Watching", replies)) == [
        1,
        1,
    ]
    first = f"<div itemprop=text>{SENTENCE}</div>"
    assert _posts_of(holder.format(first, replies)) == [1, 1, 1]


def test_a_very_deep_and_a_very_long_thread_take_time_by_their_size() -> None:
    deep = f"<ol><li class=comment>{SENTENCE}" * 5_000
    assert (
        len(_posts_of(f"<ol><li class=comment>{SENTENCE}</li><li class=comment>{SENTENCE}" + deep))
        > 100
    )
    assert _posts_of(f"<li class=comment>{SENTENCE}</li>" * 20_000) == [1] * 20_000


def test_names_are_those_that_the_parser_knows() -> None:
    assert set(ITEMS) <= set(names_in(" ".join(BREAKING)))
