"""Where the tokens of HTML end, by the standard that parsers follow (WHATWG HTML, section 13.2.5).

Each function answers -1 where a token never ends, or where only a tree builder could tell.
"""

import numpy as np
import numpy.typing as npt

from corpus_assets.ingest.kernels.markup import _is_letter, _read_name
from corpus_assets.text.bytes import byte_kernel, find_byte

Bytes = npt.NDArray[np.uint8]


@byte_kernel
def comment_end(data: Bytes, start: int) -> int:
    """Place after the comment whose text begins at `start`; -1 where it never ends."""
    n = len(data)
    if start < n and data[start] == 62:
        return start + 1
    if start + 1 < n and data[start] == 45 and data[start + 1] == 62:
        return start + 2
    place = find_byte(data, 62, start + 2)
    while place < n:
        if data[place - 1] == 45 and data[place - 2] == 45:
            return place + 1
        if (
            place >= start + 3
            and data[place - 1] == 33
            and data[place - 2] == 45
            and data[place - 3] == 45
        ):
            return place + 1
        place = find_byte(data, 62, place + 1)
    return -1


@byte_kernel
def raw_end(data: Bytes, at: int, name: np.uint64, is_script: bool) -> int:
    """Place of the end tag of a raw element; -1 where there is none or a comment may hide it."""
    n = len(data)
    is_escaped = False
    at = find_byte(data, 60, at)
    while at + 2 < n:
        if data[at + 1] == 47:
            end, found = _read_name(data, at + 2)
            if found == name:
                return at if end < n else -1
        elif is_script:
            if data[at + 1] == 33 and data[at + 2] == 45:
                is_escaped = True
            elif is_escaped and _is_letter(data[at + 1]):
                _, found = _read_name(data, at + 1)
                if found == name:
                    return -1
        at = find_byte(data, 60, at + 1)
    return -1


@byte_kernel
def declaration_end(data: Bytes, at: int) -> int:
    """Place after a document type, or what is read as a comment: `<!...>`, `<?...>`, `</...>`.

    -1 where it never ends, or is a CDATA section, which only SVG and MathML have.
    """
    n = len(data)
    opens = data[at + 1] == 33 and at + 3 < n and data[at + 2] == 91
    if opens and data[at + 3] | 32 == 99:  # "<![C", as of CDATA
        return -1
    end = find_byte(data, 62, at + 2)
    return end + 1 if end < n else -1


@byte_kernel
def text_end(data: Bytes, at: int, name: np.uint64) -> int:
    """Place of the end tag that comes next and closes `name`; -1 where something else does."""
    at = find_byte(data, 60, at)
    if at + 2 < len(data) and data[at + 1] == 47:
        _, found = _read_name(data, at + 2)
        if found == name:
            return at
    return -1
