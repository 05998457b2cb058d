"""Conversations as text: messages with roles, tool calls and reasoning, as in OpenAI's chat format.

    <|im_start|><|system|>You are kind.<|im_end|>
    <|im_start|><|user|>Is it raining in Rome?<|im_end|>
    <|im_start|><|assistant|><|think|>I should look.<|end_think|><|tool_call|>{"name": ...}<|end_tool_call|><|im_end|>
    <|im_start|><|tool|><|tool_result|>dry<|end_tool_result|><|im_end|>

Each marker is one character that no source can write (`catalog.formats.chat_markers`), and later one
special token.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from catalog.formats.chat_markers import MARKER_CHARS, RESERVED_CHARS
from corpus_assets.ingest.records import Refusal

ROLES = {
    "system": "<|system|>",
    "developer": "<|system|>",
    "user": "<|user|>",
    "assistant": "<|assistant|>",
    "tool": "<|tool|>",
    "function": "<|tool|>",
}
_START, _END = MARKER_CHARS["<|im_start|>"], MARKER_CHARS["<|im_end|>"]


def chat_text(messages: Any) -> str | Refusal:
    """Return a conversation as text; what is not one is refused as damaged."""
    if not isinstance(messages, list) or not messages:
        return _damaged("messages_are_not_a_list")
    lines = []
    for message in messages:
        if not isinstance(message, Mapping):
            return _damaged("message_is_not_an_object")
        role = ROLES.get(str(message.get("role")))
        if role is None:
            return _damaged("unknown_role")
        content = _content(message.get("content"))
        if content is None:
            return _damaged("content_is_not_text")
        if role == "<|tool|>":
            content = _between("tool_result", content)
        reasoning = message.get("reasoning_content")
        if isinstance(reasoning, str) and reasoning:
            content = _between("think", _plain(reasoning)) + content
        calls = message.get("tool_calls") or ()
        if not isinstance(calls, list | tuple):
            return _damaged("tool_calls_are_not_a_list")
        try:
            content += "".join(_between("tool_call", _call(call)) for call in calls)
        except RecursionError:
            return _damaged("tool_call_is_nested_too_deeply")
        lines.append(f"{_START}{MARKER_CHARS[role]}{content}{_END}")
    return "\n".join(lines)


def _content(content: Any) -> str | None:
    """Return what a message says; None where a part of it is no text."""
    if content is None:
        return ""
    if isinstance(content, str):
        return _plain(content)
    if not isinstance(content, list):
        return None
    parts = [part.get("text") if isinstance(part, Mapping) else part for part in content]
    texts = [part for part in parts if isinstance(part, str)]
    return _plain("\n".join(texts)) if len(texts) == len(parts) else None


def _call(call: Any) -> str:
    """Return name and arguments of a call, as JSON; whatever else it is stays as it is."""
    function = call.get("function") if isinstance(call, Mapping) else None
    if isinstance(function, Mapping):
        arguments = function.get("arguments")
        if isinstance(arguments, str):  # as OpenAI's format has them
            with suppress(ValueError, RecursionError):
                arguments = json.loads(arguments)
        call = {"name": function.get("name"), "arguments": arguments}
    return _plain(json.dumps(call, ensure_ascii=False, default=str))


def _between(name: str, text: str) -> str:
    return f"{MARKER_CHARS[f'<|{name}|>']}{text}{MARKER_CHARS[f'<|end_{name}|>']}"


def _plain(text: str) -> str:
    return RESERVED_CHARS.sub("\ufffd", text)


def _damaged(detail: str) -> Refusal:
    return Refusal("damaged_record", detail)
