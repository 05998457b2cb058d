"""Whether the class or id of an element could mean anything to resiliparse's rules.

For each element with either, extraction of the main content searches the two with up to twenty
regular expressions, which is most of its time. Every match but one kind holds one of the stems
below, so names without a stem can be spared that. The exception is the rule for articles, which
also matches where separators are doubled or stand at an end. What it matches is kept, whatever
the rules after it say; so a name that it matches for sure needs a stem of an earlier rule to
mean anything.

A stem begins with a blank where the rule wants the beginning of a name, and ends with `$` where it
wants the end of all. Bytes beyond ASCII (which fold case in their own ways) and character
references count as a stem of any rule.
"""

from collections import deque

import numpy as np
import numpy.typing as npt

from corpus_assets.text.bytes import byte_kernel

Bytes = npt.NDArray[np.uint8]
Steps = npt.NDArray[np.uint16]


def _after(starts: tuple[str, ...], words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(start + word for start in starts for word in words)


EARLY_STEMS = (
    # hidden elements, links that lead elsewhere
    *_after((" ", "is-", "is_", "visually-", "visually_"), ("hidden", "h-0")),
    "display-none", "invisible", "collapsed", "nocontent", "expandable",
    *_after((" ", "link", "link-", "link_"), ("skip", "scroll", "next", "prev")),
    "permalink", "pagination",
    # accounts, social media
    "login", "log-in", "log_in", "signin", "sign-in", "sign_in", "signup", "sign-up", "sign_up",
    "account", "user-", "user_",
    "social", "syndication", "newsletter", "follow", "feedback", "engagement", "facebook",
    "twitter", "subscribe",
    *_after((" ", "-", "_"), ("shar", "email", "like", "wa", "jp")),
    # logos, advertisements, counters
    "logo",
    " google", " wide", " advert", " ad_", " ad$", " sponsor", " promoted", " paid", " banner",
    " donate",
    "short-view-count", "spinner",
    # what selects the root of the text
    "article-body", "articlebody", "contentbody", "article-text", "main-content", "postcontent",
    "post-content", "single-pos",
)  # fmt: skip
"""Of what is tried before the rule for articles."""

LATE_STEMS = (
    # articles, headers and footers, navigation, what else there is to read
    "article", "entry", "post", "story", "content", "body", "text", "page",
    "head", "foot", "right", "cookie", "consent", "legal", "fcontainer",
    "nav", "menu", "drop", "bread", "link",
    "trend", "recommended", "featured", "popular", "picks", "related", "next", "guide", "stories",
    # beside the text, over it, in print, said about it
    "side", "sticky", "third", "search", "modal", "popup", "lightbox", "gallery", "carousel",
    "print", "comment", "reply",
)  # fmt: skip
"""Of the rule for articles and of what is tried after it."""

_OTHER, _DASH, _BLANK, _ZERO, _SCORE, _STRANGE, _END = 0, 27, 28, 29, 30, 31, 32
_N_CLASSES = 33
_FOUND = 0


def _classes() -> Bytes:
    classes = np.full(256, _OTHER, dtype=np.uint8)
    for letter in range(26):
        classes[65 + letter] = classes[97 + letter] = 1 + letter
    for byte in b" \t\n\f\r":
        classes[byte] = _BLANK
    classes[ord("-")], classes[ord("_")], classes[ord("0")] = _DASH, _SCORE, _ZERO
    classes[128:] = classes[0] = classes[ord("&")] = _STRANGE
    return classes


def _automaton(stems: tuple[str, ...], classes: Bytes) -> Steps:
    """States of a search for all stems at once (Aho and Corasick 1975), each a row with a column for
    each class of bytes and known by where it begins; the first is the find, the second the start.
    """
    trie: list[dict[int, int]] = [{}, {}]
    found = {0}
    for stem in stems:
        state = 1
        for char in stem:
            mark = _END if char == "$" else int(classes[ord(char)])
            if mark not in trie[state]:
                trie.append({})
                trie[state][mark] = len(trie) - 1
            state = trie[state][mark]
        found.add(state)
    table = np.ones((len(trie), _N_CLASSES), dtype=np.uint16)
    fallback = {1: 1}
    waiting = deque([1])
    while waiting:
        state = waiting.popleft()
        if fallback[state] in found:
            found.add(state)
        for mark in range(_N_CLASSES):
            longer = trie[state].get(mark)
            shorter = int(table[fallback[state], mark]) if state != 1 else 1
            if longer is None:
                table[state, mark] = shorter
            else:
                fallback[longer] = shorter
                waiting.append(longer)
                table[state, mark] = longer
    table[np.isin(table, sorted(found))] = 0
    table[:, _STRANGE] = 0
    return (table * np.uint16(_N_CLASSES)).ravel()


_CLASSES = _classes()
_EARLY, _LATE = _automaton(EARLY_STEMS, _CLASSES), _automaton(LATE_STEMS, _CLASSES)


@byte_kernel
def has_early_stem(data: Bytes, start: int, end: int) -> bool:
    """Whether a value of class or id, data[start:end], has a stem of EARLY_STEMS."""
    return _has_stem(_EARLY, data, start, end)


@byte_kernel
def has_late_stem(data: Bytes, start: int, end: int) -> bool:
    """Whether it has a stem of LATE_STEMS."""
    return _has_stem(_LATE, data, start, end)


@byte_kernel
def has_double(data: Bytes, start: int, end: int) -> bool:
    """Whether separators meet each other or an end in it."""
    was_separator = True
    for at in range(start, end):
        mark = _CLASSES[data[at]]
        is_separator = mark in (_DASH, _BLANK, _SCORE)
        if is_separator and was_separator:
            return True
        was_separator = is_separator
    return was_separator


@byte_kernel
def _has_stem(steps: Steps, data: Bytes, start: int, end: int) -> bool:
    state = np.uint64(steps[_N_CLASSES + _BLANK])  # a name begins as after a blank
    for at in range(start, end):
        state = np.uint64(steps[state + np.uint64(_CLASSES[data[at]])])
        if state == _FOUND:
            return True
    return bool(steps[state + np.uint64(_END)] == _FOUND)
