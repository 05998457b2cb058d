"""From tokens to places in final text, and from there to places in the extracted text."""

from collections.abc import Sequence

from catalog.formats.chat_markers import marker_chars
from catalog.formats.token_order import find_markers, find_separator


def extracted_range(edits: Sequence[tuple[int, int, int]], start: int, end: int) -> tuple[int, int]:
    """Return where characters [start, end) of the final text stand in the extracted text.

    `edits` are (start, end, new_length) in extracted coordinates. A character that an edit wrote
    maps to all that the edit replaced; text cut out next to the range is not part of it. An empty
    range maps to the place before the next character, or to the end of the text.
    """
    if start == end:
        place = _origin(edits, start)[0]
        return place, place
    return _origin(edits, start)[0], _origin(edits, end - 1)[1]


def _origin(edits: Sequence[tuple[int, int, int]], position: int) -> tuple[int, int]:
    """Return the extracted characters that final character `position` came from."""
    shift = 0  # extracted position = final position + shift, between two edits
    for old_start, old_end, new_length in sorted(edits):
        new_start = old_start - shift
        if position < new_start:
            break
        if position < new_start + new_length:
            return old_start, old_end
        shift += (old_end - old_start) - new_length
    return position + shift, position + shift + 1


def byte_alphabet() -> dict[str, int]:
    """Return the letters that byte-level BPE vocabularies write bytes with (GPT-2's table)."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    letters = {chr(value): value for value in plain}
    others = (value for value in range(256) if value not in set(plain))
    letters.update({chr(256 + place): value for place, value in enumerate(others)})
    return letters


class TokenBytes:
    """The bytes that each token of a byte-level BPE tokenizer stands for."""

    def __init__(self, tokenizer_json: str) -> None:
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_str(tokenizer_json)
        self._letters = byte_alphabet()
        added = self._tokenizer.get_added_tokens_decoder()
        self._added = {number: token.content for number, token in added.items()}
        self.markers = find_markers(added)
        self.file_separator = find_separator(added)
        unwritten = {} if self.markers is None else dict.fromkeys(self.markers.ids, "")
        unwritten |= {} if self.file_separator is None else {self.file_separator: ""}
        self._in_text = {
            number: char.encode() for number, char in (unwritten | marker_chars(added)).items()
        }

    def of(self, token: int) -> bytes:
        """Return bytes of one token; an added token (end of document, say) is its own text."""
        if token in self._added:
            return self._added[token].encode("utf-8")
        written = self._tokenizer.id_to_token(token)
        if written is None:
            raise ValueError(f"the tokenizer has no token {token}")
        return bytes(self._letters[letter] for letter in written)

    def lengths_and_text(self, tokens: Sequence[int]) -> tuple[list[int], bytes]:
        """Return byte length of each token, and all their bytes together. Markers are
        what stands for them in a text."""
        known = self._in_text
        pieces = [known[token] if token in known else self.of(token) for token in tokens]
        return [len(piece) for piece in pieces], b"".join(pieces)


def char_range(text: bytes, start: int, end: int) -> tuple[int, int]:
    """Return the whole characters that bytes [start, end) of UTF-8 `text` touch."""
    while start > 0 and start < len(text) and text[start] & 0xC0 == 0x80:
        start -= 1
    while end < len(text) and end > start and text[end] & 0xC0 == 0x80:
        end += 1
    first = len(text[:start].decode("utf-8"))
    return first, first + len(text[start:end].decode("utf-8"))


def context(text: str, start: int, end: int, chars: int = 40) -> dict[str, str]:
    """Return `text[start:end]` with what stands around it."""
    return {
        "before": text[max(0, start - chars) : start],
        "text": text[start:end],
        "after": text[end : end + chars],
    }
