"""Elements that a scan of markup has to tell from others, and a table to look them up in."""

import numpy as np

from corpus_assets.ingest.kernels.markup import name_hash
from corpus_assets.ingest.kernels.nesting import NESTING
from corpus_assets.ingest.kernels.skipped_elements import SKIPPED
from corpus_assets.ingest.kernels.trim_attributes import NAME_SLOTS, name_table
from corpus_assets.text.bytes import byte_kernel

AS_THEY_ARE = (
    "b", "big", "code", "em", "font", "i", "input", "nobr", "s", "small", "strike", "strong", "tt",
    "u",
)  # fmt: skip
METADATA = ("base", "link", "meta")
RAW = ("iframe", "noembed", "noframes", "script", "style", "textarea", "title", "xmp")
DRAWING = (
    "circle", "clippath", "defs", "ellipse", "g", "line", "lineargradient", "mask", "path",
    "polygon", "polyline", "radialgradient", "rect", "stop", "symbol", "text", "tspan", "use",
)  # fmt: skip
UNFORESEEABLE = ("frameset", "math", "plaintext", "template")
PREFORMATTED = ("listing", "pre")
ENCLOSING = ("applet", "caption", "marquee", "object", "select", "table", "td", "th")
"""While one of these is open, the end tag of what was opened before it is ignored."""
OBSERVED = ("desc", "footer", "head", "html", "svg", "ul")
"""What comes after them is seen otherwise."""

NORMAL_KIND, NOTED_KIND, AS_IT_IS_KIND, METADATA_KIND, RAW_KIND = range(5)
DRAWING_KIND, UNFORESEEABLE_KIND, PRE_KIND, ENCLOSING_KIND, OBSERVED_KIND = range(5, 10)
"""What is done with an element; NOTED only that it is there."""

_SEEN_OTHERWISE = (*AS_THEY_ARE, *RAW, *UNFORESEEABLE, *PREFORMATTED, *ENCLOSING, *OBSERVED)
ELEMENTS, ELEMENT_KINDS = name_table(
    (
        (tuple(sorted({*SKIPPED, *NESTING} - {*_SEEN_OTHERWISE})), NOTED_KIND),
        (AS_THEY_ARE, AS_IT_IS_KIND),
        (METADATA, METADATA_KIND),
        (RAW, RAW_KIND),
        (DRAWING, DRAWING_KIND),
        (UNFORESEEABLE, UNFORESEEABLE_KIND),
        (PREFORMATTED, PRE_KIND),
        (ENCLOSING, ENCLOSING_KIND),
        (OBSERVED, OBSERVED_KIND),
    )
)
SKIPPED_BITS, NESTING_CODES = np.zeros((2, NAME_SLOTS), dtype=np.int64)
"""Of the element in each slot: its bit of SKIPPED, its code of NESTING."""
for _place, _name in enumerate(SKIPPED):
    SKIPPED_BITS[np.flatnonzero(np.uint64(name_hash(_name)) == ELEMENTS)] = 1 << _place
for _name, _code in NESTING.items():
    NESTING_CODES[np.flatnonzero(np.uint64(name_hash(_name)) == ELEMENTS)] = _code


@byte_kernel
def slot_of(name: np.uint64) -> int:
    """Where the element with this hash of its name stands, or a slot of NORMAL_KIND."""
    slot = name % np.uint64(NAME_SLOTS)
    while ELEMENT_KINDS[slot] and ELEMENTS[slot] != name:
        slot = (slot + np.uint64(1)) % np.uint64(NAME_SLOTS)
    return int(slot)
