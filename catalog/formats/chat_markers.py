"""The structure of conversations inside a text: characters that stand for special tokens.

A conversation is stored as text in which a noncharacter of Unicode (U+FDD0 to U+FDEF, reserved for
use inside a program, never for exchange) stands for each marker. No edit of a text writes one, and
ingest replaces those of a source, so what people or models wrote cannot become a marker. Only
documents of sources with `fields.messages` are read so.
"""

import re
from collections.abc import Mapping
from typing import Any

CHAT_MARKERS = (
    "<|im_start|>",  # a message begins
    "<|im_end|>",  # a message ends
    "<|system|>",
    "<|user|>",
    "<|assistant|>",
    "<|tool|>",
    "<|tool_call|>",
    "<|end_tool_call|>",
    "<|tool_result|>",
    "<|end_tool_result|>",
    "<|think|>",
    "<|end_think|>",
)
"""Names of special tokens; the n-th is U+FDD0 + n in text. Stored texts hold these: new ones come
last."""

MARKER_CHARS = {name: chr(0xFDD0 + number) for number, name in enumerate(CHAT_MARKERS)}
"""What stands for each token in a text."""

RESERVED_CHARS = re.compile("([\ufdd0-\ufdef])")


def marker_chars(added_tokens: Mapping[int, Any]) -> dict[int, str]:
    """Return what stands in text for those of a tokenizer's added tokens (id -> `AddedToken`) that
    are markers of conversations, by id."""
    return {
        number: MARKER_CHARS[token.content]
        for number, token in added_tokens.items()
        if token.special and token.content in MARKER_CHARS
    }
