"""One rule for names of versions, snapshots, sources and domains, wherever they come in."""

import pytest

from catalog.db.registry import Registry
from catalog.db.rows import SnapshotRow, SourceRow, VersionRow
from catalog.errors import BadName
from catalog.formats.names import check_name

BAD = (
    "", ".", "..", "a..b", "../x", "a/b", "a\\b", "-x", ".x", "a b", "a,b", "a\n", "a\x1b[2J",
    "a\u202eb", "a\x00", "x" * 101, "x" * 300, "café",
)  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_would_not_be_one_plain_folder_is_refused_on_one_line(
    name: str, registry: Registry
) -> None:
    registry.put_source(SourceRow("web", "warc", "web", ""))
    for put in (
        lambda: check_name("snapshot", name),
        lambda: registry.put_source(SourceRow(name, "warc", "web", "")),
        lambda: registry.put_source(SourceRow("web", "warc", name, "")),
        lambda: registry.put_snapshot(SnapshotRow(name, "web", 0), []),
        lambda: registry.publish_version(VersionRow(name, "l", "r", "m", "s", 0, 0, 0), [], []),
    ):
        with pytest.raises(BadName, match="is no name for a") as caught:
            put()
        assert str(caught.value).isprintable()
        assert len(str(caught.value)) < 300
    assert [source.name for source in registry.sources()] == ["web"]


def test_usual_names_are_fine_and_a_takedown_finds_room_for_its_ending() -> None:
    for name in ("CC-MAIN-2024-10", "a", "demo_1.2", "x" * 100):
        assert check_name("snapshot", name) == name
    assert check_name("version", "x" * 100 + ".td12")
    with pytest.raises(BadName):
        check_name("snapshot", "x" * 100 + ".td12")
