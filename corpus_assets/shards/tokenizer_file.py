"""`tokenizer.json`: read, refused where it could lose text, spelled out in bytes."""

import json
from typing import Any

from tokenizers import Tokenizer

from corpus_assets.core.errors import ModelError

MAX_IDS = 2**31
"""Shards hold ids as signed 32-bit integers."""


def unicode_of_bytes() -> list[str]:
    """Map each byte to its character in byte-level vocabularies (GPT-2's alphabet).

    Bytes that print in Latin-1 map to themselves, the others to U+0100 onwards.
    """
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    alphabet: list[str] = []
    moved = 0
    for byte in range(256):
        if byte in printable:
            alphabet.append(chr(byte))
        else:
            alphabet.append(chr(0x100 + moved))
            moved += 1
    return alphabet


def parse_tokenizer(tokenizer_json: bytes) -> dict[str, Any]:
    """Parse the file as plain data."""
    try:
        definition = json.loads(tokenizer_json)
    except ValueError as error:
        raise ModelError(f"tokenizer.json is not JSON: {error}; restore the file") from error
    if not isinstance(definition, dict) or not isinstance(definition.get("model"), dict):
        raise ModelError("tokenizer.json has no model; give the file of a trained tokenizer")
    return definition


def refuse_lossy(definition: dict[str, Any]) -> None:
    """Refuse a tokenizer whose tokens could not lead back to the text, and say why."""
    kind = definition["model"].get("type", "BPE")
    if kind != "BPE":
        raise ModelError(
            f"tokenizer is a {kind} model, whose tokens do not spell every text exactly; "
            "pin a byte-level BPE tokenizer, or train one"
        )
    if definition.get("normalizer") is not None:
        raise ModelError(
            "tokenizer has a normalizer, so tokens could not be traced to the text; remove it "
            'from a copy of the file (`"normalizer": null`) and pin that'
        )
    if "Metaspace" in _step_types(definition.get("pre_tokenizer")):
        raise ModelError(
            "tokenizer writes spaces as a letter of its own (Metaspace), so a text that holds "
            "that letter would change; pin a byte-level BPE tokenizer, or train one"
        )
    if definition["model"].get("dropout"):
        raise ModelError(
            "tokenizer has BPE dropout, so encoding would differ from run to run; remove it"
        )


def _step_types(step: dict[str, Any] | None) -> set[str]:
    """Yield the types of a pre-tokenizer and of the steps inside it."""
    if step is None:
        return set()
    inner = (_step_types(one) for one in step.get("pretokenizers", ()))
    return {str(step.get("type"))}.union(*inner)


def byte_table(tokenizer: Tokenizer) -> list[bytes]:
    """Bytes of each id. Ids that no token owns, and special tokens, have none."""
    byte_of = {character: byte for byte, character in enumerate(unicode_of_bytes())}
    added = tokenizer.get_added_tokens_decoder()
    vocabulary: dict[str, int] = tokenizer.get_vocab(with_added_tokens=True)
    missing = sum(character not in vocabulary for character in byte_of)
    if missing:
        raise ModelError(
            f"tokenizer lacks {missing} of the 256 byte symbols, so some text has no tokens; "
            "train it byte-level with the whole byte alphabet"
        )
    last = max(vocabulary.values())
    if last >= min(MAX_IDS, 4 * len(vocabulary) + 2**16):
        raise ModelError(
            f"tokenizer has {len(vocabulary)} tokens and ids up to {last}; shards hold ids below "
            "2^31, and a trainer needs a row for each: number the tokens without gaps"
        )
    table = [b""] * (last + 1)
    for token, number in vocabulary.items():
        if number in added:
            table[number] = b"" if added[number].special else added[number].content.encode("utf-8")
            continue
        try:
            table[number] = bytes([byte_of[character] for character in token])
        except KeyError as error:
            raise ModelError(
                f"token {token!r} is not made of byte symbols; use a byte-level tokenizer"
            ) from error
    return table
