"""The local store: whole files or none, and nothing half-written that a later run would trust.

What every kind of store does is specified in `store_contract.py` and tested in `store_s3/test_store_s3.py`.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from corpus_assets.core.errors import CorruptArtifact, StoreError
from corpus_assets.core.store import (
    LocalStore,
    Output,
    commit_result,
    load_result,
    open_store,
    read_output,
    sha256_hex,
)
from corpus_assets.core.task import Task, TaskContext, execute, parquet_bytes
from corpus_assets_tests.small_disk import remount, small_disk

FINGERPRINT = "0" * 64
FOLDER = f"artifacts/demo/{FINGERPRINT}"


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path / "store")


def files_below(folder: Path) -> list[str]:
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


def test_a_write_that_fails_leaves_the_old_file_and_no_other(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.write("a/b", b"old")

    def refuse(*_: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(StoreError, match=r"cannot write a/b to the store .*Input/output error"):
        store.write("a/b", b"new")
    assert store.read("a/b") == b"old"
    assert files_below(store.root) == ["a/b"]


def test_a_file_is_on_disk_before_it_gets_its_name(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    fsync, replace = os.fsync, os.replace

    def note_sync(descriptor: int) -> None:
        events.append("sync")
        fsync(descriptor)

    def note_replace(source: Path, target: Path) -> None:
        events.append("rename")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", note_sync)
    monkeypatch.setattr(os, "replace", note_replace)
    store.write("a/b", b"x")
    assert events == ["sync", "rename"]


def test_a_writer_killed_in_the_middle_leaves_no_file_of_that_name(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from corpus_assets.core.store import LocalStore\n"
        "os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "LocalStore(Path(sys.argv[1])).write('a/b', b'x' * 100_000)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)])
    assert done.returncode == -signal.SIGKILL
    store = LocalStore(tmp_path)
    assert not store.exists("a/b")
    assert list(store.list("a")) == []
    store.write("a/b", b"y")
    assert store.read("a/b") == b"y"


def test_the_result_is_written_after_all_files(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []
    write = LocalStore.write

    def note(self: LocalStore, path: str, data: bytes) -> None:
        written.append(path)
        write(self, path, data)

    monkeypatch.setattr(LocalStore, "write", note)
    commit_result(store, "demo", FINGERPRINT, {"z": (b"1", 0), "a": (b"2", 0)}, {}, {})
    assert written == [f"{FOLDER}/z", f"{FOLDER}/a", f"{FOLDER}/result.json"]


def test_a_commit_that_stops_between_files_does_not_count(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"one": (b"1", 0), "two": (b"2", 0)}
    write = LocalStore.write

    def stop_at_two(self: LocalStore, path: str, data: bytes) -> None:
        if path.endswith("two"):
            raise StoreError("pulled the plug")
        write(self, path, data)

    with monkeypatch.context() as patch:
        patch.setattr(LocalStore, "write", stop_at_two)
        with pytest.raises(StoreError, match="plug"):
            commit_result(store, "demo", FINGERPRINT, files, {}, {})
    assert load_result(store, "demo", FINGERPRINT) is None
    made = commit_result(store, "demo", FINGERPRINT, files, {}, {})
    assert load_result(store, "demo", FINGERPRINT) == made


def test_committing_the_same_content_again_keeps_the_first_result(store: LocalStore) -> None:
    files = {"a": (b"same", 1)}
    first = commit_result(store, "demo", FINGERPRINT, files, {"n": 1}, {})
    again = commit_result(store, "demo", FINGERPRINT, files, {"n": 2}, {})
    assert again == first


def test_a_content_hash_depends_on_names_and_bytes_only(store: LocalStore) -> None:
    one = commit_result(store, "demo", "1" * 64, {"a": (b"x", 1)}, {"n": 1}, {})
    two = commit_result(store, "other", "2" * 64, {"a": (b"x", 7)}, {"n": 2}, {"k": "v"})
    three = commit_result(store, "demo", "3" * 64, {"b": (b"x", 1)}, {}, {})
    assert one.content_hash == two.content_hash != three.content_hash


@pytest.mark.parametrize("at", [0, 1000, -1])
def test_one_flipped_bit_of_a_table_is_noticed(store: LocalStore, at: int) -> None:
    data = parquet_bytes(pa.table({"text": [f"line {i}" for i in range(500)]}))
    made = commit_result(store, "demo", FINGERPRINT, {"t.parquet": (data, 500)}, {}, {})
    damaged = bytearray(data)
    damaged[at] ^= 1
    store.write(f"{FOLDER}/t.parquet", bytes(damaged))
    task = Task("next", 1, {}, {"t": made.outputs["t.parquet"]})
    context = TaskContext(task, store)
    for access in (context.table, context.content, context.path):
        with pytest.raises(CorruptArtifact, match=r"t\.parquet .*delete its folder and build"):
            access("t")


def test_a_truncated_file_is_noticed(store: LocalStore) -> None:
    made = commit_result(store, "demo", FINGERPRINT, {"a": (b"abcdef", 0)}, {}, {})
    store.write(made.outputs["a"].path, b"abc")
    with pytest.raises(CorruptArtifact):
        read_output(store, made.outputs["a"])


def test_bytes_that_match_their_hash_but_are_no_table_are_named(store: LocalStore) -> None:
    made = commit_result(store, "demo", FINGERPRINT, {"t.parquet": (b"no table", 0)}, {}, {})
    context = TaskContext(Task("next", 1, {}, {"t": made.outputs["t.parquet"]}), store)
    with pytest.raises(CorruptArtifact, match=r"t\.parquet is not readable Parquet"):
        context.table("t")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff\xfe",
        b"[]",
        b"null",
        b"{}",
        b'{"outputs": [], "counts": {}, "notes": {}}',
        b'{"outputs": {"a": {"path": "x"}}, "counts": {}, "notes": {}}',
        b'{"outputs": {"a": 3}, "counts": {}, "notes": {}}',
    ],
)
def test_a_damaged_result_is_one_line_that_says_what_to_do(store: LocalStore, body: bytes) -> None:
    store.write(f"{FOLDER}/result.json", body)
    with pytest.raises(CorruptArtifact, match="damaged; delete its folder and build") as caught:
        load_result(store, "demo", FINGERPRINT)
    assert "\n" not in str(caught.value)


def test_a_result_that_points_out_of_the_store_is_refused(store: LocalStore) -> None:
    outside = store.root.parent / "secret"
    outside.write_bytes(b"secret")
    output = Output("../secret", sha256_hex(b"secret"), 6, 0)
    with pytest.raises(StoreError, match="not a path inside the store"):
        read_output(store, output)


def test_a_finished_task_is_not_run_again(store: LocalStore) -> None:
    runs: list[str] = []

    def work(context: TaskContext) -> None:
        runs.append(context.task.label)
        context.write_bytes("a", b"x")

    first = execute(Task("demo", 1, {}, label="first"), store, work)
    second = execute(Task("demo", 1, {}, params={"where": "else"}, label="second"), store, work)
    assert runs == ["first"]
    assert (first.cached, second.cached) == (False, True)
    assert second.result == first.result


def test_many_inputs_are_read_ahead_in_their_order(store: LocalStore) -> None:
    def write(context: TaskContext) -> None:
        for i in range(40):
            context.write_table(f"{i:02d}.parquet", pa.table({"number": [i]}))

    outputs = execute(Task("write", 1, {}), store, write).result.outputs
    context = TaskContext(Task("read", 1, {}, dict(outputs)), store)
    names = context.names("")
    assert [t["number"].to_pylist() for t in context.tables(names)] == [[i] for i in range(40)]
    assert list(context.tables([])) == []
    store.delete(outputs["30.parquet"].path)
    reading = context.tables(names)
    assert [next(reading)["number"][0].as_py() for _ in range(30)] == list(range(30))
    with pytest.raises(StoreError, match="30.parquet"):
        next(reading)


def test_a_task_whose_function_fails_leaves_no_result(store: LocalStore) -> None:
    def work(context: TaskContext) -> None:
        context.write_bytes("a", b"x")
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        execute(Task("demo", 1, {}), store, work)
    assert files_below(store.root.parent) == []


def test_equal_tables_give_equal_files_however_they_are_cut() -> None:
    whole = pa.table({"n": list(range(100)), "t": ["x"] * 100})
    cut = pa.concat_tables([whole.slice(0, 33), whole.slice(33)])
    tagged = whole.replace_schema_metadata({"made": "today"})
    assert parquet_bytes(cut) == parquet_bytes(tagged) == parquet_bytes(whole)


def test_a_full_disk_is_named_and_nothing_half_written_is_trusted(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", size_kib=64) as disk:
        store = LocalStore(disk / "store")
        files = {"small": (b"s", 0), "large": (os.urandom(200_000), 0)}
        with pytest.raises(StoreError) as caught:
            commit_result(store, "demo", FINGERPRINT, files, {}, {})
        message = str(caught.value)
        assert f"the disk of the store {store.url} is full" in message
        assert "free some space and run the same command again" in message
        assert "\n" not in message
        assert load_result(store, "demo", FINGERPRINT) is None
        assert files_below(store.root) == [f"{FOLDER}/small"]
        remount(disk, "size=1m")
        made = commit_result(store, "demo", FINGERPRINT, files, {}, {})
        assert read_output(store, made.outputs["large"]) == files["large"][0]


def test_a_read_only_disk_is_one_line(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", size_kib=64) as disk:
        store = LocalStore(disk)
        store.write("a/b", b"x")
        remount(disk, "ro")
        with pytest.raises(
            StoreError, match=r"cannot write a/c to the store .*Read-only"
        ) as caught:
            store.write("a/c", b"y")
        assert "\n" not in str(caught.value)
        assert store.read("a/b") == b"x"


@pytest.mark.parametrize(
    "access", [lambda s: s.write("a/b", b"x"), lambda s: s.read("a/b"), lambda s: s.local("a/b")]
)
def test_a_store_that_is_a_file_is_one_line(
    tmp_path: Path, access: Callable[[LocalStore], object]
) -> None:
    (tmp_path / "store").write_bytes(b"not a folder")
    with pytest.raises(StoreError) as caught:
        access(LocalStore(tmp_path / "store"))
    assert "\n" not in str(caught.value)


def test_a_file_url_is_a_folder(tmp_path: Path) -> None:
    open_store(f"file://{tmp_path}/s").write("a", b"x")
    assert (tmp_path / "s" / "a").read_bytes() == b"x"


def test_other_kinds_of_urls_are_refused() -> None:
    with pytest.raises(StoreError, match=r"ftp://x.*use a folder, file:// or s3://"):
        open_store("ftp://x")


def test_a_result_file_is_canonical_json(store: LocalStore) -> None:
    commit_result(store, "demo", FINGERPRINT, {"a": (b"x", 3)}, {"n": 1}, {"é": [1]})
    raw = store.read(f"{FOLDER}/result.json")
    assert (
        raw
        == json.dumps(
            json.loads(raw), sort_keys=True, separators=(",", ":"), ensure_ascii=False
        ).encode()
    )


def test_no_link_in_the_store_is_followed(store: LocalStore, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_bytes(b"not ours")
    store.write("artifacts/a/x", b"x")
    (store.root / "artifacts" / "file").symlink_to(outside / "secret")
    (store.root / "artifacts" / "folder").symlink_to(outside)
    for path in ("artifacts/file", "artifacts/folder/secret", "artifacts/folder/new"):
        for use in (store.read, store.exists, store.local, lambda p: store.write(p, b"")):
            with pytest.raises(StoreError, match=r"artifacts/f\w+ in the store .* symbolic link"):
                use(path)
    with pytest.raises(StoreError, match="symbolic link"):
        store.delete("artifacts/folder/secret")
    with pytest.raises(StoreError, match="symbolic link, and none is followed"):
        list(store.list("artifacts"))
    store.delete("artifacts/file")
    store.delete("artifacts/folder")
    assert list(store.list("artifacts")) == ["artifacts/a/x"]
    assert (outside / "secret").read_bytes() == b"not ours"


def test_files_and_folders_are_for_their_owner_alone_whatever_the_umask(store: LocalStore) -> None:
    before = os.umask(0)
    try:
        store.write("artifacts/a/x", b"text")
    finally:
        os.umask(before)
    found = {path: path.stat().st_mode & 0o777 for path in (store.root, *store.root.rglob("*"))}
    assert {mode for path, mode in found.items() if path.is_dir()} == {0o700}
    assert {mode for path, mode in found.items() if path.is_file()} == {0o600}


def test_a_name_that_the_disk_does_not_take_is_said(store: LocalStore) -> None:
    store.write("versions/v/x", b"")
    for use in (store.read, store.exists, store.local, store.delete):
        with pytest.raises(StoreError, match=r"'versions/x+'.* File name too long"):
            use("versions/" + "x" * 300)
