"""Whether the class or id of an element could mean anything to resiliparse's rules.

For each element with either, extraction of the main content searches the two with up to twenty
regular expressions, which is most of its time. Every match but one kind holds one of the stems
below, so names without a stem can be spared that. The exception is the rule for articles, which
also matches where separators are doubled or stand at an end. Bytes beyond ASCII (which fold case
in their own ways) and character references count as a stem.
"""

from collections import deque

import numpy as np
import numpy.typing as npt

from corpus_assets.kernels.byte_search import byte_kernel

Bytes = npt.NDArray[np.uint8]

STEMS = (
    # articles, headers and footers, navigation, what else there is to read
    "article", "entry", "post", "story", "content", "body", "text", "page",
    "head", "foot", "right", "cookie", "consent", "legal", "fcontainer",
    "nav", "menu", "drop", "bread", "link",
    "trend", "recommended", "featured", "popular", "picks", "related", "next", "guide", "stories",
    # beside the text, over it, hidden
    "side", "sticky", "third", "search", "skip", "scroll", "prev", "pagination",
    "display", "hidden", "invisible", "collapsed", "h-0", "expandable",
    "modal", "popup", "lightbox", "gallery", "carousel", "print", "logo", "short-view", "spinner",
    # accounts, advertisements, social media, comments
    "log", "sign", "account", "user",
    "google", "wide", " ad", "sponsor", "promoted", "paid", "banner", "donate",
    "social", "shar", "syndication", "newsletter", "follow", "email", "like", "feedback",
    "engagement", "facebook", "twitter", "subscribe", "wa", "jp", "comment", "reply",
    # what selects the root of the text
    "main",
)  # fmt: skip

HAS_STEM, HAS_DOUBLE = 1, 2
_OTHER, _DASH, _BLANK, _ZERO, _SCORE, _STRANGE = 0, 27, 28, 29, 30, 31
_N_CLASSES = 32


def _classes() -> Bytes:
    classes = np.full(256, _OTHER, dtype=np.uint8)
    for letter in range(26):
        classes[65 + letter] = classes[97 + letter] = 1 + letter
    for byte in b" \t\n\f\r":
        classes[byte] = _BLANK
    classes[ord("-")], classes[ord("_")], classes[ord("0")] = _DASH, _SCORE, _ZERO
    classes[128:] = classes[0] = classes[ord("&")] = _STRANGE
    return classes


def _automaton(stems: tuple[str, ...], classes: Bytes) -> npt.NDArray[np.uint16]:
    """States of a search for all stems at once (Aho and Corasick 1975); state 0 is a find, state 1
    the start. One row a state, one column a class of bytes."""
    trie: list[dict[int, int]] = [{}, {}]
    found = {0}
    for stem in stems:
        state = 1
        for byte in stem.encode():
            mark = int(classes[byte])
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
    table[0, :] = 0
    return table


_CLASSES = _classes()
_NEXT = _automaton(STEMS, _CLASSES)
_BEGIN = int(_NEXT[1, _BLANK])  # a name begins as after a blank


@byte_kernel
def name_flags(data: Bytes, start: int, end: int) -> int:
    """HAS_STEM, or HAS_DOUBLE where separators meet each other or an end, of data[start:end]."""
    state = np.uint64(_BEGIN)
    was_separator, has_double = True, False
    for at in range(start, end):
        mark = _CLASSES[data[at]]
        state = np.uint64(_NEXT[state, mark])
        if state == 0:
            return HAS_STEM
        is_separator = mark in (_DASH, _BLANK, _SCORE)
        has_double |= is_separator and was_separator
        was_separator = is_separator
    return HAS_DOUBLE if has_double or was_separator else 0
