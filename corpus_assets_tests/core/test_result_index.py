"""Packs of results: a stage of many parts is known from one read, and nothing stale is trusted."""

import gc
import hashlib
import shutil
import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from corpus_assets.core import result_index
from corpus_assets.core.errors import CorruptArtifact
from corpus_assets.core.lazy_sequence import LazySequence
from corpus_assets.core.result_index import Results, StageResults, forget_results
from corpus_assets.core.store import (
    LocalStore,
    Output,
    Result,
    artifact_folder,
    commit_result,
    load_result,
)

MANY = 100


class CountingStore(LocalStore):
    """Notes which files of tasks are asked for."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.asked: list[str] = []

    def read(self, path: str) -> bytes:
        self.asked += [path] if path.startswith("artifacts/") else []
        return super().read(path)

    def exists(self, path: str) -> bool:
        self.asked += [path] if path.startswith("artifacts/") else []
        return super().exists(path)


@pytest.fixture
def store(tmp_path: Path) -> CountingStore:
    return CountingStore(tmp_path / "store")


@pytest.fixture(autouse=True)
def _small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_index, "SEGMENT_ROWS", 10)
    monkeypatch.setattr(result_index, "SEGMENT_S", 0.0)
    monkeypatch.setattr(result_index, "GROUP_ROWS", 7)


def fingerprint(number: int) -> str:
    return hashlib.sha256(b"%d" % number).hexdigest()


def commit(store: LocalStore, number: int) -> Result:
    files = {"b.bin": (b"%d" % number, number), "ä/1".replace("/", "-"): (b"x", 0)}
    if number % 3 == 0:
        files["third"] = (b"", 0)
    notes = {"reasons": {"tröstlich": number}, "list": [1, None]}
    return commit_result(store, "demo", fingerprint(number), files, {"n": number}, notes)


def prints(results: list[Result]) -> result_index.Bytes:
    return np.array([list(bytes.fromhex(each.fingerprint)) for each in results], np.uint8)


def found(store: LocalStore, results: list[Result]) -> list[bool]:
    return (StageResults(store, "demo", "s").rows(prints(results)) >= 0).tolist()


def indexed(store: LocalStore, results: list[Result]) -> StageResults:
    made = StageResults(store, "demo", "s")
    for each in results:
        made.add(each)
    made.save()
    return made


def test_results_come_back_as_their_own_files_say_in_any_order(store: CountingStore) -> None:
    results = [commit(store, n) for n in range(MANY)]
    indexed(store, results)
    assert len(store.list("results")) == 1, "what was written on the way is joined"
    wanted = results[::-2]
    read = StageResults(
        store, "demo", "s", lambda: [(r.fingerprint, r.content_hash) for r in wanted]
    )
    again = Results(read.columns, read.rows(prints(wanted)))
    assert again == [load_result(store, "demo", each.fingerprint) for each in wanted]
    assert again[-1] == again[len(again) - 1] == list(again)[-1]
    files = [each.outputs["b.bin"] for each in wanted]
    assert list(again.files("b.bin")) == again.files("b.bin")[:] == files
    assert again.files("b.bin")[-2] == files[-2]
    with pytest.raises(KeyError, match="third"):
        list(again.files("third"))


def test_a_finished_part_is_not_asked_for(store: CountingStore) -> None:
    results = [commit(store, n) for n in range(MANY)]
    indexed(store, results)
    store.asked = []
    assert all(found(store, results))
    assert store.asked == []


def test_what_no_index_names_is_read_where_its_folder_is_and_not_looked_for_where_it_is_not(
    store: CountingStore,
) -> None:
    known, others = ([commit(store, n) for n in range(a, a + MANY)] for a in (0, MANY))
    indexed(store, known)
    for each in others[5:]:
        shutil.rmtree(store.root / artifact_folder("demo", each.fingerprint))
    (store.root / artifact_folder("demo", others[0].fingerprint) / "result.json").unlink()
    store.asked = []
    assert found(store, known + others) == [True] * MANY + [False] + [True] * 4 + [False] * (
        MANY - 5
    )
    folders = {path.rpartition("/")[0] for path in store.asked}
    assert folders == {artifact_folder("demo", each.fingerprint) for each in others[:5]}


def test_a_part_whose_folder_was_deleted_is_made_again(store: CountingStore) -> None:
    results = [commit(store, n) for n in range(MANY)]
    indexed(store, results)
    shutil.rmtree(store.root / artifact_folder("demo", results[3].fingerprint))
    assert found(store, results) == [n != 3 for n in range(MANY)]
    read = StageResults(store, "demo", "s")
    read.add(commit(store, 3))
    assert (read.rows(prints(results)) >= 0).all()
    read.save()
    assert all(found(store, results))
    assert len(store.list("results")) == 1


def test_a_killed_driver_leaves_index_files_that_count_and_what_they_lack_is_read(
    store: CountingStore,
) -> None:
    results = [commit(store, n) for n in range(MANY)]
    made = StageResults(store, "demo", "s")
    for each in results[:95]:
        made.add(each)
    del made
    assert len(store.list("results")) == 9
    store.asked = []
    assert all(found(store, results))
    assert len(set(store.asked)) == 10


def test_two_drivers_at_once_lose_nothing(store: CountingStore) -> None:
    results = [commit(store, n) for n in range(2 * MANY)]
    indexed(store, results[:80])
    one, other = StageResults(store, "demo", "s"), StageResults(store, "demo", "s")
    for first, second in zip(results[:MANY], results[MANY:], strict=True):
        one.add(first)
        other.add(second)
    one.save()
    other.save()
    store.asked = []
    assert all(found(store, results))
    assert store.asked == []


def test_few_results_have_no_index(store: CountingStore) -> None:
    results = [commit(store, n) for n in range(5)]
    indexed(store, results)
    assert store.list("results") == []
    assert all(found(store, results))


def test_a_damaged_pack_is_named(store: CountingStore) -> None:
    results = [commit(store, n) for n in range(MANY)]
    indexed(store, results)
    (path,) = store.list("results")
    data = bytearray((store.root / path).read_bytes())
    data[len(data) // 2] ^= 1
    (store.root / path).write_bytes(data)
    with pytest.raises(CorruptArtifact, match=f"{path}.*delete it and build again"):
        found(store, results)
    (store.root / path).unlink()
    assert all(found(store, results))


def test_a_pack_that_names_another_content_than_the_registry_is_refused(
    store: CountingStore,
) -> None:
    results = [commit(store, n) for n in range(MANY)]
    indexed(store, results)
    recorded = {r.fingerprint: r.content_hash for r in results} | {results[7].fingerprint: "0" * 64}
    with pytest.raises(CorruptArtifact, match="the registry recorded 000"):
        StageResults(store, "demo", "s", recorded.items)
    (path,) = store.list("results")
    store.delete(path)
    with pytest.raises(CorruptArtifact, match=r"result\.json.*the registry recorded 000"):
        StageResults(store, "demo", "s", recorded.items).rows(prints(results))


def test_a_collection_takes_results_out_of_every_index_file(store: CountingStore) -> None:
    results = [commit(store, n) for n in range(MANY)]
    indexed(store, results)
    gone = {("demo", each.fingerprint) for each in results[:40]}
    for each in results[:40]:
        (store.root / artifact_folder("demo", each.fingerprint) / "result.json").unlink()
    forget_results(store, {*gone, ("other", results[50].fingerprint)})
    assert found(store, results) == [False] * 40 + [True] * 60
    (path,) = store.list("results")
    assert results[0].fingerprint.encode() not in store.read(path)
    forget_results(store, {("demo", each.fingerprint) for each in results})
    assert store.list("results") == []


def test_items_of_a_lazy_sequence_are_made_when_they_are_asked_for() -> None:
    made: list[int] = []

    def double(number: int, value: int) -> int:
        made.append(number)
        return 2 * value

    each = LazySequence(double, range(10, 20))
    assert (len(each), made) == (10, [])
    assert (each[3], each[-1], made) == (26, 38, [3, 9])
    assert each[2:4] == [24, 26]
    assert list(each) == [*range(20, 40, 2)]
    with pytest.raises(IndexError):
        each[10]
    with pytest.raises(ValueError, match=r"\[2, 3\]"):
        LazySequence(double, [1, 2], [1, 2, 3])


def test_what_is_held_of_a_stage_does_not_grow_with_its_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(result_index, "GROUP_ROWS", 100)
    monkeypatch.setattr(result_index, "SEGMENT_ROWS", 1000)

    def held(number: int) -> int:
        store = LocalStore(tmp_path / str(number))
        results = []
        for name in map(fingerprint, range(number)):
            folder = artifact_folder("demo", name)
            (store.root / folder).mkdir(parents=True)
            outputs = {f: Output(f"{folder}/{f}", name, 1, 2) for f in ("a", "b.bin", "c")}
            results.append(Result("demo", name, outputs))
        indexed(store, results)
        wanted = prints(results)
        gc.collect()
        tracemalloc.start()
        before = pa.total_allocated_bytes()
        read = StageResults(
            store, "demo", "s", lambda: ((r.fingerprint, r.content_hash) for r in results)
        )
        found = Results(read.columns, read.rows(wanted))
        assert all(file.rows == 2 for file in found.files("b.bin"))
        size = tracemalloc.get_traced_memory()[0] + pa.total_allocated_bytes() - before
        tracemalloc.stop()
        return size

    _, few, more = held(100), held(1000), held(3000)  # the first loads what is loaded once
    assert more - few < 64 * 2000, "the number of a row, where groups begin, and no column of them"


def test_one_listing_serves_all_snapshots_of_a_stage_until_one_of_them_looks_again(
    store: CountingStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed: list[str] = []
    folders = store.folders
    monkeypatch.setattr(store, "folders", lambda path: listed.append(path) or folders(path))
    listings = result_index.Listings(store)
    wanted = result_index.prints_of([fingerprint(1)])
    found = [StageResults(store, "demo", f"s{n}", listings=listings) for n in range(5)]
    assert [each.rows(wanted).tolist() for each in found] == [[-1]] * 5
    assert listed == ["artifacts/demo"]
    assert [each.rows(wanted).tolist() for each in found] == [[-1]] * 5
    assert listed == ["artifacts/demo"] * 2, "what another build finished since is found"


def test_a_listing_knows_what_was_made_since(store: CountingStore) -> None:
    listings = result_index.Listings(store)
    before = StageResults(store, "demo", "s", listings=listings)
    assert before.rows(result_index.prints_of([fingerprint(1)])).tolist() == [-1]
    made = [commit(store, n) for n in range(MANY)]
    for result in made:
        before.add(result)
    before.save()
    again = StageResults(store, "demo", "s", listings=listings)
    assert (again.rows(prints(made)) >= 0).all()
