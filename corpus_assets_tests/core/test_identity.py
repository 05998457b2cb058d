"""Identity: what is in a fingerprint, and what cannot get in."""

import hashlib
import json
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from corpus_assets.core.identity import Settings, canonical_json, digest, fingerprint, keyed_hash

plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("ab", max_size=3), inner),
    max_leaves=12,
)


class Thresholds(Settings):
    low: float = 0.1
    names: tuple[str, ...] = ("a",)


def test_settings_refuse_unknown_keys() -> None:
    with pytest.raises(ValidationError, match="hihg"):
        Thresholds.model_validate({"hihg": 1})


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Thresholds().low = 2.0


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "-inf"])
def test_settings_refuse_numbers_that_json_cannot_hold(value: object) -> None:
    with pytest.raises(ValidationError, match="finite"):
        Thresholds.model_validate({"low": value})


def test_defaults_are_part_of_the_identity() -> None:
    assert Thresholds().identity() == {"low": 0.1, "names": ["a"]}
    assert Thresholds().identity() == Thresholds(low=0.1).identity()


@given(plain)
def test_canonical_json_is_json_and_reads_back(value: object) -> None:
    assert json.loads(canonical_json(value)) == value


@given(
    st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=3), plain),
    st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), st.text("0af", max_size=4)),
    plain,
)
def test_a_fingerprint_is_the_digest_of_all_that_is_in_it(
    settings: dict[str, object], inputs: dict[str, str], own: object
) -> None:
    """Also where a task shares most of its settings with the one before it."""
    for each in (settings, settings | {"part": own}, settings | {"part": 2}):
        plainly = digest({"stage": "ä", "version": 3, "settings": each, "inputs": inputs})
        assert fingerprint("ä", 3, each, inputs) == plainly


@given(st.dictionaries(st.text("abcdefg", max_size=3), plain, max_size=6))
def test_the_order_of_keys_makes_no_difference(value: dict[str, object]) -> None:
    assert digest(dict(reversed(value.items()))) == digest(value)


def test_text_is_not_escaped_and_nothing_is_padded() -> None:
    assert canonical_json({"b": "é", "a": [1, 2.5, None]}) == '{"a":[1,2.5,null],"b":"é"}'.encode()


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_numbers_without_a_canonical_form_are_refused(value: float) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        canonical_json([value])


BASE = ("signals", 1, {"min": 1}, {"documents": "aa"})


def test_a_fingerprint_is_the_digest_of_stage_version_settings_and_inputs() -> None:
    expected = hashlib.sha256(
        b'{"inputs":{"documents":"aa"},"settings":{"min":1},"stage":"signals","version":1}'
    ).hexdigest()
    assert fingerprint(*BASE) == expected


@pytest.mark.parametrize(
    "changed",
    [
        ("selection", 1, {"min": 1}, {"documents": "aa"}),
        ("signals", 2, {"min": 1}, {"documents": "aa"}),
        ("signals", 1, {"min": 2}, {"documents": "aa"}),
        ("signals", 1, {"min": 1}, {"documents": "ab"}),
        ("signals", 1, {"min": 1}, {"records": "aa"}),
        ("signals", 1, {"min": 1}, {"documents": "aa", "lid": "bb"}),
    ],
)
def test_each_part_of_a_fingerprint_counts(
    changed: tuple[str, int, dict[str, int], dict[str, str]],
) -> None:
    assert fingerprint(*changed) != fingerprint(*BASE)


def test_a_fingerprint_is_the_same_in_every_process() -> None:
    code = (
        "from corpus_assets.core.identity import fingerprint;"
        "print(fingerprint('s', 1, dict.fromkeys({'a', 'b', 'c'}, 1), {'x': 'é'}))"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1")
    }
    assert len(seen) == 1


def test_a_keyed_hash_is_blake2b_64_little_endian() -> None:
    raw = hashlib.blake2b(b"data", digest_size=8, key=b"key").digest()
    assert keyed_hash(b"key", b"data") == int.from_bytes(raw, "little")
    assert keyed_hash(b"other", b"data") != keyed_hash(b"key", b"data")


def test_a_key_longer_than_blake2b_takes_is_cut() -> None:
    assert keyed_hash(b"k" * 100, b"data") == keyed_hash(b"k" * 64, b"data")
