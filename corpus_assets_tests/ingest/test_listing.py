import hashlib
from pathlib import Path

import pytest

from corpus_assets.core.errors import SourceError
from corpus_assets.ingest.listing import list_files, list_names
from corpus_assets.ingest.source import SourceSpec

WARC = SourceSpec(name="web", format="warc")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("b.warc.gz", "a.warc", "sub/c.warc.gz", "notes.txt", ".half.warc.gz", "d.jsonl"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(name.encode())
    return tmp_path


def test_a_folder_gives_the_files_of_its_format_sorted_by_name(folder: Path) -> None:
    found = list_files(WARC, str(folder), "2024-10")
    assert [file.name for file in found] == ["a.warc", "b.warc.gz", "sub/c.warc.gz"]
    for file in found:
        assert file.sha256 == hashlib.sha256(file.name.encode()).hexdigest()
        assert file.size == len(file.name)
        assert Path(file.uri).read_bytes() == file.name.encode()


def test_a_pattern_and_a_file_name_what_they_say(folder: Path) -> None:
    assert [f.name for f in list_files(WARC, f"{folder}/*.warc.gz", "s")] == ["b.warc.gz"]
    assert [f.name for f in list_files(WARC, f"{folder}/**/*.warc.gz", "s")] == [
        "b.warc.gz",
        "sub/c.warc.gz",
    ]
    assert [f.name for f in list_files(WARC, f"file://{folder}/a.warc", "s")] == ["a.warc"]


@pytest.mark.parametrize("name", ["sub/x.arc", "x.arc.gz", "x.warc.zst", "x.wet.zst", "X.ARC.GZ"])
def test_archives_in_other_formats_stop_the_listing_before_anything_is_read(
    folder: Path, name: str
) -> None:
    (folder / name).write_bytes(b"")
    wet = SourceSpec(name="web", format="wet")
    for spec, location in ((WARC, folder), (wet, folder), (WARC, folder / name)):
        with pytest.raises(SourceError, match=f"{name.rpartition('/')[2]}: .* are not read; "):
            list_files(spec, str(location), "s")
    assert (
        len(list_files(WARC, f"{folder}/*.warc", "s")) == 1
    )  # what is not asked for is left alone
    assert list_files(SourceSpec(name="n", format="text"), str(folder), "s")


def test_names_do_not_depend_on_where_the_folder_lies(folder: Path, tmp_path: Path) -> None:
    other = tmp_path.parent / f"{tmp_path.name}-moved"
    folder.rename(other)
    assert [f.name for f in list_files(WARC, str(other), "s")] == [
        "a.warc",
        "b.warc.gz",
        "sub/c.warc.gz",
    ]


def test_names_and_sizes_alone_agree_with_the_full_listing(folder: Path) -> None:
    for location in (str(folder), f"{folder}/*.gz", f"{folder}/a.warc"):
        full = [(f.name, f.size) for f in list_files(WARC, location, "s")]
        assert list_names(location, "warc") == full
    assert ("d.jsonl", 7) in list_names(str(folder))
    assert list_names(f"{folder}/absent") == []


@pytest.mark.parametrize("location", ["", "/absent", "/*.wrc", "/absent.warc.gz"])
def test_nothing_found_is_an_error_that_says_what_was_looked_for(
    tmp_path: Path, location: str
) -> None:
    with pytest.raises(SourceError, match="no file matches") as caught:
        list_files(WARC, f"{tmp_path}{location}", "2024-10")
    assert str(tmp_path) in str(caught.value)
    assert "2024-10" in str(caught.value)
    if location == "":
        assert "*.warc.gz" in str(caught.value)
