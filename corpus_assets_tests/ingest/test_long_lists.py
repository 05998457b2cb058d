"""The pinned list of a snapshot of many files: not held in memory, and the same as a short one."""

import tracemalloc
from pathlib import Path

import pytest

from corpus_assets.core.errors import CorruptArtifact
from corpus_assets.core.identity import digest
from corpus_assets.core.store import LocalStore, Output
from corpus_assets.ingest import snapshots
from corpus_assets.ingest.records import SourceFile, SourceMember
from corpus_assets.ingest.snapshots import (
    SnapshotFiles,
    load_snapshot_files,
    save_snapshot_files,
)

HOME = Path("/a/home")


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path)


def listed(files: int, robots: int = 0, indexes: int = 0) -> SnapshotFiles:
    member = SourceMember("a/é", 3, "0" * 64, "MIT")
    return SnapshotFiles(
        "crawl",
        'a "location"',
        tuple(
            SourceFile(f"ü{'x' * 5000 * (n == 1)}{n}", f"/{n}", n, f"{n:064x}", (member,) * (n % 3))
            for n in range(files)
        ),
        tuple(SourceFile(f"robots {n}", "/", n, f"{n:064x}") for n in range(robots)),
        tuple(Output(f"index-{n}", f"{n:064x}", n, 1) for n in range(indexes)),
    )


@pytest.mark.parametrize("robots", [0, 2])
@pytest.mark.parametrize("indexes", [0, 7])
def test_a_long_list_says_what_a_short_one_says(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch, robots: int, indexes: int
) -> None:
    written = listed(7, robots, indexes)
    save_snapshot_files(store, written, HOME)
    short = load_snapshot_files(store, "crawl", HOME)
    monkeypatch.setattr(snapshots, "LONG_BYTES", 0)
    long = load_snapshot_files(store, "crawl", HOME)
    assert isinstance(short.files, tuple)
    assert not isinstance(long.files, tuple)
    assert short == written
    assert long == written
    files, beside = ([[f.name, f.sha256] for f in each] for each in (written.files, written.robots))
    rows = [output.sha256 for output in written.indexes]
    known = digest([files, beside, rows] if robots or indexes else files)
    assert short.content_hash == long.content_hash == known


def test_a_long_list_that_was_altered_is_refused(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "LONG_BYTES", 0)
    save_snapshot_files(store, listed(3), HOME)
    path = store.root / "sources/crawl.json"
    path.write_bytes(path.read_bytes().replace(b"MIT", b"BSD"))
    with pytest.raises(CorruptArtifact, match=r"sources/crawl\.json .* SHA-256"):
        load_snapshot_files(store, "crawl", HOME)


def test_a_long_list_takes_8_bytes_a_file(store: LocalStore) -> None:
    save_snapshot_files(store, listed(10_000), HOME)
    tracemalloc.start()
    found = load_snapshot_files(store, "crawl", HOME)
    assert sum(file.size for file in found.files) == sum(range(10_000))
    assert tracemalloc.get_traced_memory()[0] < 20 * 10_000
    tracemalloc.stop()
