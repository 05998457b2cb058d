"""Ranged files: what is written comes back, checked, and a target is its ranges alone."""

import contextlib
import io
import tracemalloc
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from corpus_assets.core import exchange
from corpus_assets.core.errors import CorruptArtifact
from corpus_assets.core.exchange import (
    Range,
    Targets,
    all_ranges,
    group_runs,
    range_inputs,
    ranges_of,
    read_ranges,
    write_ranges,
)
from corpus_assets.core.store import LocalStore, Result
from corpus_assets.core.task import Task, TaskContext

FILE = "tokens.zip"


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path)


def written(store: LocalStore, ranges: Mapping[str, bytes | memoryview], part: int = 0) -> Result:
    context = TaskContext(Task("write", 1, {"part": part}), store)
    with contextlib.closing(context):
        write_ranges(context, FILE, ranges.items(), rows=3)
        return context.commit()


def target(store: LocalStore, results: list[Result], name: str) -> TaskContext:
    files = ((f"{i:05d}", ranges_of(store, result, FILE)) for i, result in enumerate(results))
    task = Task("read", 1, {}, **range_inputs(Targets(files).get(name, {})))
    return TaskContext(task, store)


def test_each_target_reads_its_range_of_every_file(store: LocalStore) -> None:
    results = [
        written(store, {"a": b"first", "web/high/é": b"", "b": b"x" * 5000}, 0),
        written(store, {"b": b"second"}, 1),
        written(store, {}, 2),
    ]
    assert list(read_ranges(target(store, results, "a"))) == [b"first"]
    assert list(read_ranges(target(store, results, "b"))) == [b"x" * 5000, b"second"]
    assert list(read_ranges(target(store, results, "web/high/é"))) == [b""]
    assert list(read_ranges(target(store, results, "nowhere"))) == []
    assert results[0].outputs[FILE].rows == 3


@pytest.mark.parametrize("held_bytes", [0, 1 << 20])
def test_ranges_of_many_files_are_told_by_target_and_wait_in_a_file(
    monkeypatch: pytest.MonkeyPatch, held_bytes: int
) -> None:
    monkeypatch.setattr(exchange, "SPOOLED_BYTES", held_bytes)
    told = {
        str(file): {
            f"t{n}": Range(f"path {file}", n, file * n, f"{n % 256:02x}" * 31 + "00", f"{n:032x}")
            for n in range(300)
            if (n + file) % 3
        }
        for file in range(200)
    }
    tracemalloc.start()
    found = Targets((name, ranges) for name, ranges in told.items())
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert held_bytes or held < 100_000, "of 40,000 ranges"
    assert sorted(found) == sorted(f"t{n}" for n in range(300))
    for n in (0, 1, 77, 299):
        by_file = {name: ranges[f"t{n}"] for name, ranges in told.items() if f"t{n}" in ranges}
        assert found[f"t{n}"] == by_file
        assert list(found[f"t{n}"]) == list(by_file)
    assert found.get("elsewhere") is None


def test_a_whole_file_is_an_archive_of_its_ranges(store: LocalStore) -> None:
    ranges = {"a/00001": b"first", "b": b"second"}
    data = store.read(written(store, ranges).outputs[FILE].path)
    assert dict(all_ranges(data)) == ranges
    assert zipfile.ZipFile(io.BytesIO(data)).testzip() is None


def test_a_ranged_file_is_what_zipfile_writes_and_its_ranges_are_not_copied(
    store: LocalStore,
) -> None:
    large = np.arange(1 << 20, dtype=np.uint64).view(np.uint8).data
    tracemalloc.start()
    result = written(store, {"a": b"", "b": large})
    assert tracemalloc.get_traced_memory()[1] < large.nbytes / 8
    tracemalloc.stop()
    data, sink = store.read(result.outputs[FILE].path), io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        for name in ("a", "b", exchange.INDEX):
            info = zipfile.ZipInfo(name)
            info.create_system = 3
            archive.writestr(info, zipfile.ZipFile(io.BytesIO(data)).read(name))
    assert data == sink.getvalue()


def test_equal_ranges_give_equal_bytes(store: LocalStore) -> None:
    ranges = {"a": b"first", "b": b"second"}
    first, again = written(store, ranges, 0), written(store, ranges, 1)
    assert first.content_hash == again.content_hash


def test_a_target_is_known_by_its_own_ranges(store: LocalStore) -> None:
    before = written(store, {"a": b"first", "b": b"second"}, 0)
    after = written(store, {"a": b"longer than before", "b": b"second"}, 1)
    fingerprints = {
        name: [target(store, [result], name).task.fingerprint for result in (before, after)]
        for name in ("a", "b")
    }
    assert fingerprints["a"][0] != fingerprints["a"][1]
    assert fingerprints["b"][0] == fingerprints["b"][1]


def test_a_damaged_range_is_named_by_those_who_read_it_only(store: LocalStore) -> None:
    result = written(store, {"a": b"first", "b": b"second"})
    path = store.root / result.outputs[FILE].path
    path.write_bytes(path.read_bytes().replace(b"first", b"wrong"))
    assert list(read_ranges(target(store, [result], "b"))) == [b"second"]
    with pytest.raises(
        CorruptArtifact, match=r"artifacts/write/.*/tokens.zip .* delete its folder"
    ):
        list(read_ranges(target(store, [result], "a")))


def test_a_range_may_be_identified_by_a_part_of_it_and_is_checked_as_a_whole(
    store: LocalStore,
) -> None:
    def identified(data: bytes, part: int) -> Result:
        context = TaskContext(Task("write", 1, {"part": part}), store)
        with contextlib.closing(context):
            write_ranges(context, FILE, [("a", data)], identity=lambda all_of_it: all_of_it[:4])
            return context.commit()

    results = [identified(data, i) for i, data in enumerate((b"name one", b"name two", b"else"))]
    same, other, different = (target(store, [result], "a").task for result in results)
    assert same.fingerprint == other.fingerprint != different.fingerprint
    assert list(read_ranges(target(store, results[1:2], "a"))) == [b"name two"]
    path = store.root / results[0].outputs[FILE].path
    path.write_bytes(path.read_bytes().replace(b"name one", b"name two"))
    with pytest.raises(CorruptArtifact, match="tokens.zip"):
        list(read_ranges(target(store, results[:1], "a")))


@pytest.mark.parametrize("kept", [0, 20, 150])
def test_a_file_cut_short_is_named(store: LocalStore, kept: int) -> None:
    result = written(store, {"a": b"first" * 40})
    path = store.root / result.outputs[FILE].path
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(CorruptArtifact, match="tokens.zip"):
        target(store, [result], "a")


def test_a_name_is_written_once(store: LocalStore) -> None:
    context = TaskContext(Task("write", 1, {}), store)
    with pytest.raises(ValueError, match="two ranges a"):
        write_ranges(context, FILE, [("a", b"1"), ("a", b"2")])


def test_groups_are_consecutive_and_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    assert group_runs(exchange.DIRECT_PARTS) == []
    for parts, most in ((257, None), (1000, 7), (90_000, 1), (600, 10_000)):
        runs = group_runs(parts, most)
        assert [part for run in runs for part in run] == list(range(parts))
        assert max(map(len, runs)) <= min(most or exchange.GROUP_PARTS, exchange.GROUP_PARTS)
    monkeypatch.setattr(exchange, "DIRECT_PARTS", 1)
    assert group_runs(2) == [range(2)]
