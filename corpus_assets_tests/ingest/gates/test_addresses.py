from pathlib import Path

import pytest

from corpus_assets.core.errors import CorruptArtifact, SourceError
from corpus_assets.core.urls import address_of
from corpus_assets.ingest.gates.categories import CategoryIndex, build_category_index
from corpus_assets.ingest.gates.settings import checked_category


def write(folder: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)


@pytest.fixture
def lists(tmp_path: Path) -> list[tuple[str, Path]]:
    write(
        tmp_path,
        {
            "adult/domains": "bad.test\nWWW.Worse.test\n\n# a comment\nno host!\n10.0.0.1\n",
            "adult/urls": "mixed.test/~adult\nmixed.test/gallery/\n",
            "gambling/domains": "bets.test\nbad.test\n",
        },
    )
    return [(each, tmp_path / each / name) for each, name in
            (("adult", "domains"), ("adult", "urls"), ("gambling", "domains"))]  # fmt: skip


def open_index(tmp_path: Path, lists: list[tuple[str, Path]]) -> CategoryIndex:
    path = tmp_path / "index.arrow"
    path.write_bytes(build_category_index(lists)[0])
    return CategoryIndex(path)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://bad.test/", "adult"),  # of two categories the recipe's first
        ("https://www.bad.test/x/y?z", "adult"),
        ("http://deep.sub.worse.test/", "adult"),
        ("http://notbad.test/", None),
        ("http://test/", None),
        ("http://mixed.test/", None),
        ("http://www.mixed.test/%7Eadult/pages/1", "adult"),
        ("http://mixed.test/~adults", None),
        ("http://mixed.test/gallery", "adult"),
        ("http://mixed.test/gallery/?page=2", "adult"),
        ("http://sub.mixed.test/gallery", None),
        ("http://bets.test:8080/x", "gambling"),
        ("http://10.0.0.1/", "adult"),
    ],
)
def test_a_page_is_looked_up_by_its_address_and_its_hosts(
    tmp_path: Path, lists: list[tuple[str, Path]], url: str, expected: str | None
) -> None:
    address = address_of(url)
    assert address is not None
    assert open_index(tmp_path, lists).match(address) == expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://www.video.test/watch?v=abc123", "adult"),
        ("https://video.test/watch?v=abc123&utm_source=x", "adult"),
        ("http://video.test/watch?v=other", None),
        ("http://video.test/watch", None),
        ("http://video.test/watch/abc?v=abc123", None),
        ("http://forum.test/viewtopic.php?t=9&f=3", "adult"),  # in whatever order
        ("http://forum.test/viewtopic.php?t=1", None),
        ("http://root.test/?id=7", "adult"),
        ("http://root.test/", None),
    ],
)
def test_an_entry_with_a_query_lists_that_address_only(
    tmp_path: Path, url: str, expected: str | None
) -> None:
    entries = "www.video.test/watch?v=abc123\nforum.test/viewtopic.php?f=3&t=9\nroot.test?id=7\n"
    write(tmp_path, {"adult/urls": entries})
    address = address_of(url)
    assert address is not None
    index = open_index(tmp_path, [("adult", tmp_path / "adult" / "urls")])
    assert index.match(address) == expected


def test_entries_are_counted_and_those_that_are_no_address_too(
    lists: list[tuple[str, Path]],
) -> None:
    data, counts = build_category_index(lists)
    assert counts == {"adult": 5, "gambling": 2, "passed_over": 1}
    assert build_category_index(lists)[0] == data


def test_a_hundred_thousand_entries_are_found_and_nothing_else(tmp_path: Path) -> None:
    write(tmp_path, {"adult/domains": "".join(f"site{n}.test\n" for n in range(0, 200_000, 2))})
    index = open_index(tmp_path, [("adult", tmp_path / "adult" / "domains")])
    assert len(index) == 100_000
    for number in range(0, 200_000, 1999):
        address = address_of(f"http://site{number}.test/")
        assert address is not None
        assert index.match(address) == ("adult" if number % 2 == 0 else None)


def test_no_list_or_a_broken_index_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot be read"):
        build_category_index([("adult", tmp_path / "absent")])
    (tmp_path / "x").write_bytes(b"nothing")
    with pytest.raises(CorruptArtifact, match="not a readable index"):
        CategoryIndex(tmp_path / "x")
    with pytest.raises(ValueError, match="write a plain name"):
        checked_category("../etc")


def test_an_empty_index_blocks_nothing(tmp_path: Path) -> None:
    address = address_of("http://bad.test/")
    assert address is not None
    assert open_index(tmp_path, []).match(address) is None
