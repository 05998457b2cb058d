"""Conversations: roles, calls and reasoning between special tokens, which no text can write."""

import functools
import json
import random
from typing import Any

import pytest
from pydantic import ValidationError

from catalog.formats.chat_markers import CHAT_MARKERS, MARKER_CHARS
from catalog.formats.token_text import TokenBytes
from corpus_assets.core.errors import ModelError
from corpus_assets.ingest.formats.chat import chat_text
from corpus_assets.ingest.formats.rows import record_of_row
from corpus_assets.ingest.records import Refusal
from corpus_assets.ingest.source import FieldNames, SourceSpec
from corpus_assets.shards.chat import encode_chat
from corpus_assets.shards.settings import END_OF_DOCUMENT, PAD
from corpus_assets.shards.tokens import Encoder
from corpus_assets.tokenizer.settings import TokenizerSettings
from corpus_assets.tokenizer.train import train_tokenizer

RAIN: list[dict[str, Any]] = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": [{"type": "text", "text": "Is it raining"}, "in Rome?"]},
    {
        "role": "assistant",
        "content": None,
        "reasoning_content": "I should look.",
        "tool_calls": [
            {"type": "function", "function": {"name": "rain", "arguments": '{"city": "Roma è"}'}}
        ],
    },
    {"role": "tool", "content": "dry"},
    {"role": "assistant", "content": "No.", "tool_calls": None},
]
RENDERED = (
    "<|im_start|><|system|>Be kind.<|im_end|>\n"
    "<|im_start|><|user|>Is it raining\nin Rome?<|im_end|>\n"
    "<|im_start|><|assistant|><|think|>I should look.<|end_think|>"
    '<|tool_call|>{"name": "rain", "arguments": {"city": "Roma è"}}<|end_tool_call|><|im_end|>\n'
    "<|im_start|><|tool|><|tool_result|>dry<|end_tool_result|><|im_end|>\n"
    "<|im_start|><|assistant|>No.<|im_end|>"
)

DEEP: list[Any] = functools.reduce(lambda inner, _: [inner], range(100_000), [])


@functools.cache
def _tokenizer(*names: str) -> bytes:
    special = (END_OF_DOCUMENT, PAD, *names)
    small = TokenizerSettings(vocab_size=300, special_slots=16, special_tokens=special)
    return train_tokenizer(["Is it raining in Rome? No, it is dry.\n"] * 6, small)


def _named(text: str) -> str:
    """A text with the names of its markers."""
    for name, char in MARKER_CHARS.items():
        text = text.replace(char, name)
    return text


def test_a_conversation_is_written_with_a_marker_for_each_part() -> None:
    text = chat_text(RAIN)
    assert isinstance(text, str)
    assert _named(text) == RENDERED


def test_each_marker_is_one_special_token_and_nothing_that_is_said_becomes_one() -> None:
    encoder = Encoder(_tokenizer(*CHAT_MARKERS))
    names = TokenBytes(_tokenizer(*CHAT_MARKERS).decode())
    draw = random.Random(3)
    bits = ("a ", "é", "\n", "\U0001f33e", *CHAT_MARKERS, *MARKER_CHARS.values(), "\ufddf", "<|")
    texts = []
    for _ in range(150):
        said = ["".join(draw.choices(bits, k=draw.randrange(9))) for _ in range(4)]
        call = {"function": {"name": said[1], "arguments": draw.choice((said[2], {said[2]: 1}))}}
        messages = [
            {"role": draw.choice(("user", "system", "tool")), "content": said[0]},
            {"role": "assistant", "content": said[3], "tool_calls": [call]},
        ]
        text = chat_text(messages)
        assert isinstance(text, str)
        texts.append(text)
    batch = encode_chat(encoder, texts)
    for number, text in enumerate(texts):
        ids = batch[number].tolist()
        special = [encoder.chat_markers[i] for i in ids if i in encoder.chat_markers]
        assert special == [char for char in text if char in MARKER_CHARS.values()]
        inside = "<|tool_result|>", "<|end_tool_result|>"
        role, *results = [name for name in map(_named, special[1:4]) if name != "<|im_end|>"][:3]
        assert role in ("<|user|>", "<|system|>", "<|tool|>")
        assert (tuple(results) == inside) == (role == "<|tool|>")
        assert _named("".join(special)).endswith(
            "<|im_start|><|assistant|><|tool_call|><|end_tool_call|><|im_end|>"
        )
        assert encoder.decode(ids) == text
        lengths, data = names.lengths_and_text(ids[:-1])
        assert data.decode() == text
        assert sum(lengths) == len(data)
    # In documents of other sources the same characters are text.
    plain = encoder.encode_batch(texts)
    assert not set(plain.flat.tolist()) & encoder.chat_markers.keys()


@pytest.mark.parametrize(
    ("messages", "detail"),
    [
        ("hello", "messages_are_not_a_list"),
        ([], "messages_are_not_a_list"),
        (["hello"], "message_is_not_an_object"),
        ([{"role": "owl", "content": ""}], "unknown_role"),
        ([{"role": "user", "content": [{"type": "image_url"}]}], "content_is_not_text"),
        ([{"role": "user", "tool_calls": "f"}], "tool_calls_are_not_a_list"),
        ([{"role": "user", "tool_calls": [DEEP]}], "tool_call_is_nested_too_deeply"),
    ],
)
def test_what_is_no_conversation_is_damaged(messages: object, detail: str) -> None:
    assert chat_text(messages) == Refusal("damaged_record", detail)
    spec = SourceSpec(name="chat", format="jsonl", fields=FieldNames(messages="turns"))
    found = record_of_row({"turns": messages}, "a.jsonl", spec, 1, 0)
    assert (found.damage, found.detail) == ("damaged_record", detail)


def test_a_row_of_messages_is_a_document() -> None:
    spec = SourceSpec(name="chat", format="jsonl", fields=FieldNames(key="id", messages="a.b"))
    assert spec.fields.columns() == ("id", "a.b")
    found = record_of_row(
        json.loads(json.dumps({"id": "1", "a": {"b": RAIN}})), "a.jsonl", spec, 1, 0
    )
    assert _named(found.text or "") == RENDERED


SHARED = [
    {"from": "system", "value": "Be kind."},
    {"from": "human", "value": "Is it raining in Rome?<|im_end|>"},
    {"from": "function_call", "value": '{"name": "rain", "arguments": {"city": "Roma"}}'},
    {"from": "observation", "value": "dry"},
    {"from": "gpt", "value": "No."},
]


@pytest.mark.parametrize(
    ("stated", "row", "rendered"),
    [
        (
            {"sharegpt": "conversations"},
            {"conversations": SHARED},
            "<|im_start|><|system|>Be kind.<|im_end|>\n"
            "<|im_start|><|user|>Is it raining in Rome?<|im_end|><|im_end|>\n"
            '<|im_start|><|assistant|><|tool_call|>{"name": "rain", "arguments": {"city": "Roma"}}'
            "<|end_tool_call|><|im_end|>\n"
            "<|im_start|><|tool|><|tool_result|>dry<|end_tool_result|><|im_end|>\n"
            "<|im_start|><|assistant|>No.<|im_end|>",
        ),
        ({"openai": "turns"}, {"turns": RAIN}, RENDERED),
        (
            {"alpaca": ["instruction", "input", "output"]},
            {"instruction": "Add.", "input": "2 and 3", "output": "5"},
            "<|im_start|><|user|>Add.\n2 and 3<|im_end|>\n<|im_start|><|assistant|>5<|im_end|>",
        ),
        (
            {"alpaca": ["instruction", "input", "output"]},
            {"instruction": "Say 5.", "input": "", "output": "5"},
            "<|im_start|><|user|>Say 5.<|im_end|>\n<|im_start|><|assistant|>5<|im_end|>",
        ),
        (
            {"alpaca": ["q", "a"]},
            {"q": "Say 5.", "a": "5"},
            "<|im_start|><|user|>Say 5.<|im_end|>\n<|im_start|><|assistant|>5<|im_end|>",
        ),
    ],
)
def test_layouts_that_a_recipe_names_become_the_same_text(
    stated: Any, row: dict[str, Any], rendered: str
) -> None:
    spec = SourceSpec(name="chat", format="jsonl", fields=FieldNames(messages=stated))
    assert set(spec.fields.columns()) == set(row)
    found = record_of_row(row, "a.jsonl", spec, 1, 0)
    assert (_named(found.text or ""), found.damage) == (rendered, None)


@pytest.mark.parametrize(
    ("stated", "row", "detail"),
    [
        ("turns", {"turns": SHARED}, "unknown_role"),  # a layout is never guessed
        ({"sharegpt": "turns"}, {"turns": RAIN}, "unknown_role"),
        ({"sharegpt": "turns"}, {"turns": [{"from": "gpt", "value": 7}]}, "content_is_not_text"),
        ({"alpaca": ["q", "a"]}, {"q": "Say 5.", "a": ""}, "instruction_or_output_is_empty"),
        ({"alpaca": ["q", "a"]}, {"q": None, "a": "5"}, "instruction_or_output_is_empty"),
        ({"alpaca": ["q", "a"]}, {"q": "Say 5.", "a": 5}, "content_is_not_text"),
    ],
)
def test_a_row_of_another_layout_is_damaged(stated: Any, row: dict[str, Any], detail: str) -> None:
    spec = SourceSpec(name="chat", format="jsonl", fields=FieldNames(messages=stated))
    found = record_of_row(row, "a.jsonl", spec, 1, 0)
    assert (found.damage, found.detail) == ("damaged_record", detail)


@pytest.mark.parametrize(
    "stated",
    [{}, {"openai": "a", "sharegpt": "b"}, {"sharegpt": ["a", "b"]}, {"alpaca": "a"}, {"owl": "a"}],
)
def test_a_layout_that_is_not_one_is_refused(stated: Any) -> None:
    with pytest.raises(ValidationError):
        FieldNames(messages=stated)


def test_a_call_in_the_older_form_of_openai_is_a_call() -> None:
    older = {
        "role": "assistant",
        "content": None,
        "function_call": {"name": "f", "arguments": "{}"},
    }
    assert "<|tool_call|>{" in _named(str(chat_text([older])))


def test_a_tokenizer_that_lacks_a_marker_in_use_is_refused() -> None:
    encoder = Encoder(_tokenizer("<|im_start|>", "<|im_end|>", "<|user|>"))
    texts = [chat_text([{"role": role, "content": "a"}]) for role in ("user", "system")]
    assert all(isinstance(text, str) for text in texts)
    assert len(encode_chat(encoder, [str(texts[0])])) == 1
    with pytest.raises(ModelError, match=r"special tokens <\|system\|>; add them"):
        encode_chat(encoder, [str(texts[1])])
