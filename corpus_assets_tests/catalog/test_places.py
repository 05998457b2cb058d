"""Places inside a home are recorded relative to it."""

from pathlib import Path

import pytest

from catalog.db.registry import Registry
from catalog.db.rows import FileRow, SnapshotRow, SourceRow
from catalog.formats.places import located, portable


@pytest.mark.parametrize(
    ("uri", "recorded"),
    [
        ("/a/home/web/x.warc.gz", "home:web/x.warc.gz"),
        ("file:///a/home/web/x.warc.gz", "home:web/x.warc.gz"),
        ("/a/home/web/../y/*.gz", "home:y/*.gz"),
        ("/a/home2/x", "/a/home2/x"),
        ("/a/homes/../other/x", "/a/homes/../other/x"),
        ("s3://bucket/a/home/x", "s3://bucket/a/home/x"),
        ("https://example.org/a/home/x", "https://example.org/a/home/x"),
    ],
)
def test_only_places_inside_the_home_are_recorded_relative_to_it(uri: str, recorded: str) -> None:
    assert portable(uri, Path("/a/home")) == recorded


def test_a_recorded_place_is_found_below_the_home_as_it_is_now() -> None:
    recorded = portable("/a/home/web/x", Path("/a/home"))
    assert located(recorded, Path("/b/moved")) == "/b/moved/web/x"
    assert located("/elsewhere/x", Path("/b/moved")) == "/elsewhere/x"


def test_a_home_behind_a_link_records_what_the_home_itself_would(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    for home in (tmp_path / "real", tmp_path / "link"):
        for spelled in ("real", "link"):
            assert portable(str(tmp_path / spelled / "x"), home) == "home:x"


def test_the_registry_of_a_moved_home_knows_where_source_files_are(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    first = Registry(f"sqlite:///{old}/catalog.db", home=old)
    first.upgrade()
    first.put_source(SourceRow("web", "warc", "web"))
    files = [FileRow(0, "a", str(old / "a"), 1, "0" * 64), FileRow(1, "b", "/far/b", 1, "1" * 64)]
    first.put_snapshot(SnapshotRow("S", "web", 0), files)
    old.rename(new)
    moved = Registry(f"sqlite:///{new}/catalog.db", home=new)
    assert [file.uri for file in moved.source_files("S")] == [str(new / "a"), "/far/b"]
