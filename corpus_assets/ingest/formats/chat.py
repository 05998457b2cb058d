"""Conversations as text: messages with roles, tool calls and reasoning, in one of a few layouts.

    <|im_start|><|system|>You are kind.<|im_end|>
    <|im_start|><|user|>Is it raining in Rome?<|im_end|>
    <|im_start|><|assistant|><|think|>I should look.<|end_think|><|tool_call|>{"name": ...}<|end_tool_call|><|im_end|>
    <|im_start|><|tool|><|tool_result|>dry<|end_tool_result|><|im_end|>

Each marker is one character that no source can write (`catalog.formats.chat_markers`), and later one
special token. A layout is data (`LAYOUTS`): where messages say role and content, and what roles are
called there.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from catalog.formats.chat_markers import MARKER_CHARS, RESERVED_CHARS
from corpus_assets.ingest.records import Refusal


class Layout(NamedTuple):
    """Where a message says who speaks, and what."""

    role: str
    content: str
    roles: Mapping[str, str]  # name -> marker
    calls: frozenset[str] = frozenset()  # roles whose content is one call of a tool


LAYOUTS = {
    "openai": Layout(
        "role",
        "content",
        {
            "system": "<|system|>",
            "developer": "<|system|>",
            "user": "<|user|>",
            "assistant": "<|assistant|>",
            "tool": "<|tool|>",
            "function": "<|tool|>",
        },
    ),
    # Of the dumps of ShareGPT, and as LLaMA-Factory's data/README.md extends them with tools.
    "sharegpt": Layout(
        "from",
        "value",
        {
            "system": "<|system|>",
            "human": "<|user|>",
            "user": "<|user|>",
            "gpt": "<|assistant|>",
            "chatgpt": "<|assistant|>",
            "assistant": "<|assistant|>",
            "function_call": "<|assistant|>",
            "observation": "<|tool|>",
            "tool": "<|tool|>",
        },
        calls=frozenset({"function_call"}),
    ),
}
_START, _END = MARKER_CHARS["<|im_start|>"], MARKER_CHARS["<|im_end|>"]


def chat_text(messages: Any, layout: Layout = LAYOUTS["openai"]) -> str | Refusal:
    """Return a conversation as text; what is not one is refused as damaged."""
    if not isinstance(messages, list) or not messages:
        return _damaged("messages_are_not_a_list")
    lines = []
    for message in messages:
        if not isinstance(message, Mapping):
            return _damaged("message_is_not_an_object")
        said_by = str(message.get(layout.role))
        role = layout.roles.get(said_by)
        if role is None:
            return _damaged("unknown_role")
        content = _content(message.get(layout.content))
        if content is None:
            return _damaged("content_is_not_text")
        if role == "<|tool|>":
            content = _between("tool_result", content)
        elif said_by in layout.calls:
            content = _between("tool_call", content)
        reasoning = message.get("reasoning_content")
        if isinstance(reasoning, str) and reasoning:
            content = _between("think", _plain(reasoning)) + content
        calls = message.get("tool_calls") or ()
        if not isinstance(calls, list | tuple):
            return _damaged("tool_calls_are_not_a_list")
        older = message.get("function_call")  # OpenAI's form before `tool_calls`
        calls = [*calls, {"function": older}] if isinstance(older, Mapping) else calls
        try:
            content += "".join(_between("tool_call", _call(call)) for call in calls)
        except RecursionError:
            return _damaged("tool_call_is_nested_too_deeply")
        lines.append(f"{_START}{MARKER_CHARS[role]}{content}{_END}")
    return "\n".join(lines)


def exchange_text(said: Sequence[Any]) -> str | Refusal:
    """Return an instruction, what it is about, and the answer as a conversation of two messages, as
    in the layout of Alpaca (Taori et al. 2023); what it is about may be absent."""
    *asked, answer = (_content(text) for text in said)
    if answer is None or None in asked:
        return _damaged("content_is_not_text")
    if not answer or not asked[0]:
        return _damaged("instruction_or_output_is_empty")
    question = "\n".join(text for text in asked if text)
    messages = [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
    return chat_text(messages)


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
