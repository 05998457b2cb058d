"""The header of a shard: its bytes, and what is none."""

import json

import pytest
from by_hand import make_documents, shard_files

from corpus_loader import LoaderError
from corpus_loader.header import ShardHeader


@pytest.mark.parametrize("dtype", ["int32", "uint16"])
def test_a_header_is_written_as_it_was_read(dtype: str) -> None:
    content = shard_files("S/web/high", 4, make_documents(1, 9, 40), dtype)["header"]
    header = ShardHeader.parse(content, "h")
    assert (header.number, header.dtype, header.documents) == (4, dtype, 9)
    assert header.dump() == content


@pytest.mark.parametrize("content", [b"{}", b"no json", b"[]", b"\xff"])
def test_a_header_that_is_none_is_refused_by_name(content: bytes) -> None:
    with pytest.raises(LoaderError, match=r"shard_x\.header\.json is not a shard header"):
        ShardHeader.parse(content, "shard_x.header.json")


@pytest.mark.parametrize(
    "change", [{"format": "other/9"}, {"format": None}, {"format": "corpus-assets/shard/2"}]
)
def test_a_header_of_another_format_is_refused(change: dict[str, str]) -> None:
    plain = json.loads(shard_files("S/web/high", 0, {})["header"]) | change
    with pytest.raises(LoaderError, match=f"h has format {change['format']}"):
        ShardHeader.parse(json.dumps(plain).encode(), "h")


def test_a_field_of_another_release_is_refused_by_name() -> None:
    plain = json.loads(shard_files("S/web/high", 0, {})["header"]) | {"colour": "red"}
    with pytest.raises(LoaderError, match="colour: this format has no such field"):
        ShardHeader.parse(json.dumps(plain).encode(), "h")
