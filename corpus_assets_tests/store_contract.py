"""What every store does, whatever it is made of: one specification, run over each kind.

A test class inherits it and has a fixture `store`: an empty store, a new one for each test.
"""

import io
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpus_assets.core.errors import CorruptArtifact, DriftError, StoreError
from corpus_assets.core.store import Store, commit_result, load_result, open_store, read_output

FILES = {"a.bin": (b"first", 0), "b.bin": (b"second", 2)}
FINGERPRINT = "f" * 64


def _first_byte(store: Store) -> Callable[[str], bytes]:
    return lambda path: store.read_range(path, 0, 1)


class StoreContract:
    @pytest.mark.parametrize("data", [b"", b"\x00", b"some bytes", bytes(range(256)) * 4096])
    def test_what_is_written_is_read(self, store: Store, data: bytes) -> None:
        store.write("artifacts/x/part-00000.bin", data)
        assert store.read("artifacts/x/part-00000.bin") == data

    def test_pieces_are_one_file(self, store: Store) -> None:
        store.write("artifacts/x/pieces.zip", [b"some", memoryview(b" "), b"", b"bytes"])
        assert store.read("artifacts/x/pieces.zip") == b"some bytes"

    @pytest.mark.parametrize(
        ("offset", "length"), [(0, 10), (3, 4), (9, 1), (4, 0), (0, 11), (8, 5), (10, 1), (99, 3)]
    )
    def test_a_range_is_read_as_far_as_the_file_goes(
        self, store: Store, offset: int, length: int
    ) -> None:
        store.write("artifacts/x/ranges.zip", b"0123456789")
        found = store.read_range("artifacts/x/ranges.zip", offset, length)
        assert found == b"0123456789"[offset : offset + length]

    def test_a_second_write_replaces_the_first(self, store: Store) -> None:
        store.write("versions/v/report.html", b"a longer first text")
        store.write("versions/v/report.html", b"second")
        assert store.read("versions/v/report.html") == b"second"
        assert list(store.list("versions")) == ["versions/v/report.html"]

    def test_a_file_that_is_created_is_there_once_for_all(self, store: Store) -> None:
        assert store.create("order_book/00000001.json", b"first")
        assert not store.create("order_book/00000001.json", b"second")
        assert store.read("order_book/00000001.json") == b"first"
        assert list(store.list("order_book")) == ["order_book/00000001.json"]

    def test_of_many_who_create_one_file_at_once_one_does(self, store: Store) -> None:
        with ThreadPoolExecutor(8) as pool:
            made = list(pool.map(lambda n: store.create("a/b", bytes([n]) * 9), range(8)))
        assert sum(made) == 1
        assert store.read("a/b") == bytes([made.index(True)]) * 9

    def test_only_files_exist(self, store: Store) -> None:
        store.write("a/b/c", b"x")
        assert store.exists("a/b/c")
        assert not store.exists("a/b")
        assert not store.exists("a/b/c/d")
        assert not store.exists("a/b/cc")
        assert not store.exists("elsewhere/x")

    def test_reading_what_is_missing_says_what_to_do(self, store: Store) -> None:
        store.write("a/b/c", b"x")
        for path in ("a/b/d", "a/b", "z"):
            for access in (store.read, store.local, _first_byte(store)):
                with pytest.raises(StoreError) as caught:
                    access(path)
                message = str(caught.value)
                assert path in message
                assert store.url in message
                assert "\n" not in message

    def test_a_missing_file_is_named_as_missing(self, store: Store) -> None:
        for access in (store.read, store.local, _first_byte(store)):
            with pytest.raises(StoreError, match="a/b is not in the store .*`corpus build`"):
                access("a/b")

    @pytest.mark.parametrize(
        "path",
        [
            *("", ".", "/", "/etc/passwd", "..", "../x", "a/../b", "a/../../x", "a/.."),
            *("a//b", "./a", "a/", "a\\b", "a\nb", "s3://bucket/a"),
        ],
    )
    def test_paths_out_of_the_store_are_refused(self, store: Store, path: str) -> None:
        for access in (store.read, store.exists, store.local, lambda p: store.write(p, b"x")):
            with pytest.raises(StoreError, match="is not a path inside the store"):
                access(path)
        if path:
            with pytest.raises(StoreError, match="is not a path inside the store"):
                list(store.list(path))

    def test_an_empty_prefix_lists_all(self, store: Store) -> None:
        for path in ("b/c", "a", "b/.c.tmp"):
            store.write(path, b"x")
        assert list(store.list("")) == ["a", "b/c"]

    @pytest.mark.parametrize(
        "name", ["a b", "a%20b", "a+b", "x#y?z=1", "{*}[~]", "ü/é", "日本/語.txt", "a&b;c=d,e'\""]
    )
    def test_unusual_names_survive(self, store: Store, name: str) -> None:
        path = f"odd names/{name}"
        store.write(path, name.encode())
        assert store.read(path) == name.encode()
        assert store.local(path).read_bytes() == name.encode()
        assert list(store.list("odd names")) == [path]

    def test_a_folder_is_listed_with_all_below_it_and_nothing_beside_it(self, store: Store) -> None:
        paths = ["a/x", "a/b/y", "a/b/c/z", "ab/x", "a-b/x", "a.x"]
        for path in paths:
            store.write(path, b"x")
        assert list(store.list("a")) == ["a/b/c/z", "a/b/y", "a/x"]
        assert list(store.list("a/b")) == ["a/b/c/z", "a/b/y"]
        assert list(store.list("a/x")) == []
        assert list(store.list("nothing")) == []
        assert sorted(store.folders("a")) == ["b"]
        assert sorted(store.folders("a/b")) == ["c"]
        assert not list(store.folders("nothing"))

    def test_a_listing_is_ordered_folder_by_folder(self, store: Store) -> None:
        for path in ("s/b/1", "s/b-c/1", "s/b.d", "s/B/1", "s/a/10", "s/a/9", "s/é"):
            store.write(path, b"")
        assert list(store.list("s")) == [
            *("s/B/1", "s/a/10", "s/a/9", "s/b/1", "s/b-c/1", "s/b.d", "s/é")
        ]

    def test_temporary_files_are_not_listed(self, store: Store) -> None:
        store.write("a/x", b"x")
        store.write("a/.x.0123.tmp", b"half")
        assert list(store.list("a")) == ["a/x"]

    def test_a_local_file_can_be_memory_mapped(self, store: Store) -> None:
        tokens = np.arange(10_000, dtype="<i4")
        store.write("artifacts/shard/shard_00000.bin", tokens.tobytes())
        mapped = np.memmap(store.local("artifacts/shard/shard_00000.bin"), dtype="<i4", mode="r")
        assert np.array_equal(mapped, tokens)

    def test_a_local_file_can_be_read_as_parquet(self, store: Store) -> None:
        table = pa.table({"n": list(range(1000))})
        sink = io.BytesIO()
        pq.write_table(table, sink, row_group_size=100)
        store.write("artifacts/t/part-00000.parquet", sink.getvalue())
        path = store.local("artifacts/t/part-00000.parquet")
        assert pq.read_table(path) == table
        assert pq.ParquetFile(path).read_row_group(3)["n"].to_pylist() == list(range(300, 400))

    def test_a_local_file_follows_a_second_write(self, store: Store) -> None:
        store.write("versions/v/x", b"first")
        assert store.local("versions/v/x").read_bytes() == b"first"
        store.write("versions/v/x", b"other")
        assert store.local("versions/v/x").read_bytes() == b"other"

    def test_readers_see_one_whole_write_or_another(self, store: Store) -> None:
        texts = [bytes([letter]) * 300_000 for letter in b"abcdefgh"]
        store.write("race/x", texts[0])

        def write_and_read(text: bytes) -> list[bytes]:
            store.write("race/x", text)
            return [store.read("race/x"), store.local("race/x").read_bytes()]

        with ThreadPoolExecutor(4) as pool:
            seen = [data for pair in pool.map(write_and_read, texts) for data in pair]
        assert set(seen) <= set(texts)
        assert store.read("race/x") in texts

    def test_a_store_opened_by_its_url_is_the_same_store(self, store: Store) -> None:
        store.write("a/b", b"x")
        again = open_store(store.url)
        assert again.url == store.url
        assert again.read("a/b") == b"x"

    def test_a_result_is_found_once_it_is_committed(self, store: Store) -> None:
        assert load_result(store, "demo", FINGERPRINT) is None
        made = commit_result(store, "demo", FINGERPRINT, FILES, {"rows": 2}, {"note": "é"})
        found = load_result(store, "demo", FINGERPRINT)
        assert found == made
        assert found is not None
        assert read_output(store, found.outputs["b.bin"]) == b"second"

    def test_files_without_their_result_do_not_count(self, store: Store) -> None:
        store.write(f"artifacts/demo/{FINGERPRINT}/a.bin", b"left by a killed run")
        assert load_result(store, "demo", FINGERPRINT) is None
        commit_result(store, "demo", FINGERPRINT, FILES, {}, {})
        assert store.read(f"artifacts/demo/{FINGERPRINT}/a.bin") == b"first"

    def test_two_contents_of_one_fingerprint_are_reported(self, store: Store) -> None:
        commit_result(store, "demo", FINGERPRINT, FILES, {}, {})
        with pytest.raises(DriftError, match="raise VERSION"):
            commit_result(store, "demo", FINGERPRINT, {"a.bin": (b"other", 0)}, {}, {})

    def test_changed_bytes_are_refused(self, store: Store) -> None:
        made = commit_result(store, "demo", FINGERPRINT, FILES, {}, {})
        store.write(made.outputs["a.bin"].path, b"FIRST")
        with pytest.raises(CorruptArtifact, match="recorded is"):
            read_output(store, made.outputs["a.bin"])
