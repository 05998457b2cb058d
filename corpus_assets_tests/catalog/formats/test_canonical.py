"""JSON files that carry their own checksum."""

import json

import pytest

from catalog.formats.canonical import canonical_json, sealed_json, unseal


def test_a_sealed_file_gives_its_body_and_two_equal_digests() -> None:
    body, found, recorded = unseal(sealed_json({"b": 1, "a": [2]}))
    assert (body, found) == ({"a": [2], "b": 1}, recorded)


def test_a_changed_body_has_another_digest_than_the_recorded_one() -> None:
    changed = json.loads(sealed_json({"a": 1})) | {"a": 2}
    _, found, recorded = unseal(canonical_json(changed))
    assert found != recorded


@pytest.mark.parametrize("data", [b'{"a": 1}', b"[]", b"1", b"{", b""])
def test_what_has_no_checksum_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="."):
        unseal(data)
