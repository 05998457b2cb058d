from pathlib import Path

import pytest

from corpus_assets.core.errors import SourceError
from corpus_assets.ingest import source_groups
from corpus_assets.ingest.listing import list_files, list_names
from corpus_assets.ingest.source import SourceSpec
from corpus_assets_tests.ingest.gates.licence_samples import APACHE, MIT

CODE = SourceSpec(name="code", format="code")


def spec() -> SourceSpec:
    return SourceSpec(name="notes", format="text")


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    for number in range(10):
        (tmp_path / f"{number}.txt").write_bytes(b"x" * (number + 1))
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "deep.md").write_text("# deep")
    (tmp_path / "picture.png").write_bytes(b"no text")
    (tmp_path / ".hidden.txt").write_bytes(b"hidden")
    (tmp_path / "link.txt").symlink_to(tmp_path / "0.txt")
    return tmp_path


def test_small_files_are_gathered_into_parts_bounded_by_number_and_bytes(
    notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"{n}.txt" for n in range(10)] + ["sub/deep.md"]
    [whole] = list_files(spec(), str(notes), "s")
    assert [member.name for member in whole.members] == names
    assert whole.size == sum(range(1, 11)) + 6
    monkeypatch.setattr(source_groups, "FILES_PER_PART", 4)
    by_number = list_files(spec(), str(notes), "s")
    assert [len(part.members) for part in by_number] == [4, 4, 3]
    assert [part.name for part in by_number] == ["files-00000", "files-00001", "files-00002"]
    monkeypatch.undo()
    monkeypatch.setattr(source_groups, "BYTES_PER_PART", 12)
    by_bytes = list_files(spec(), str(notes), "s")
    assert [part.size for part in by_bytes] == [10, 11, 7, 8, 9, 10, 6]
    assert [m.name for part in by_bytes for m in part.members] == names


def test_a_part_is_known_by_what_its_members_hold_and_not_by_where_they_lie(
    notes: Path, tmp_path: Path
) -> None:
    [before] = list_files(spec(), str(notes), "s")
    moved = tmp_path.parent / f"{tmp_path.name}-moved"
    notes.rename(moved)
    [after] = list_files(spec(), f"{moved}", "s")
    assert (after.sha256, after.members) == (before.sha256, before.members)
    (moved / "3.txt").write_bytes(b"yyyy")
    assert list_files(spec(), str(moved), "s")[0].sha256 != before.sha256


def test_names_and_sizes_alone_agree_with_the_members(notes: Path) -> None:
    [part] = list_files(spec(), str(notes), "s")
    assert list_names(str(notes), "text") == [(m.name, m.size) for m in part.members]


def test_a_pattern_may_name_one_kind_of_file(notes: Path) -> None:
    [part] = list_files(spec(), f"{notes}/**/*.md", "s")
    assert [member.name for member in part.members] == ["sub/deep.md"]
    assert (Path(part.uri) / "sub/deep.md").is_file()


def test_each_file_of_a_tree_has_the_licence_nearest_above_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in {
        "LICENSE": MIT,
        "a.py": "x = 1",
        "lib/b.py": "y = 2",
        "lib/inner/LICENSE-APACHE": APACHE,
        "lib/inner/LICENSE-MIT": MIT,
        "lib/inner/deep/c.py": "z = 3",
        "odd/LICENSE": "ask me",
        "odd/d.py": "w = 4",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(source_groups, "FILES_PER_PART", 2)
    parts = list_files(CODE, str(tmp_path), "s")
    licences = {member.name: member.licence for part in parts for member in part.members}
    assert len(parts) == 4
    assert licences["a.py"] == "MIT"
    assert licences["lib/b.py"] == "MIT"
    assert licences["lib/inner/deep/c.py"] == "Apache-2.0 OR MIT"
    assert licences["odd/d.py"] == "unknown"  # and not what stands above that
    (tmp_path / "LICENSE").write_text(APACHE)
    assert list_files(CODE, str(tmp_path), "s")[1].sha256 != parts[1].sha256


def test_a_file_name_that_is_no_text_is_an_error_that_names_it(tmp_path: Path) -> None:
    try:
        (tmp_path / "b\udcff.txt").write_bytes(b"x")
    except (OSError, UnicodeEncodeError):
        pytest.skip("this file system has no such names")
    with pytest.raises(SourceError, match="not UTF-8; rename it"):
        list_files(spec(), str(tmp_path), "s")
