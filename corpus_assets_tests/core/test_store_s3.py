"""The store on a real S3 server, held to the same specification as a folder."""

import fcntl
import os
import pickle
import stat
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from corpus_assets.core.errors import StoreError
from corpus_assets.core.store import LocalStore, Store, open_store
from corpus_assets.core.store_s3 import (
    UNUSED_S,
    S3Store,
    _remove_others,
    cache_folder,
    forget_copies,
)
from corpus_assets_tests.s3_server import (
    WRITER,
    S3Server,
)
from corpus_assets_tests.store_contract import StoreContract

pytestmark = pytest.mark.usefixtures("nothing_of_the_user")


class TestEveryStore(StoreContract):
    @pytest.fixture(params=["folder", "s3"])
    def store(self, request: pytest.FixtureRequest, tmp_path: Path) -> Store:
        if request.param == "folder":
            return LocalStore(tmp_path / "store")
        return open_store(request.getfixturevalue("s3_url"))


def test_a_large_object_is_one_upload_so_that_a_killed_one_leaves_no_hidden_parts(
    s3: S3Store,
) -> None:
    data = os.urandom(1 << 20) * 65
    s3.write("artifacts/big", data)
    assert s3.read("artifacts/big") == data
    tag = s3._client.head("artifacts/big")["e_tag"].strip('"')
    assert "-" not in tag, "objects of several parts have their number in the tag"


def test_a_killed_download_is_left_over_and_one_that_runs_is_not(s3: S3Store) -> None:
    s3.write("a/x", b"x")
    folder = s3.local("a/x").parent
    assert list(s3.leftovers()) == []
    killed, running = (folder / f".{name}.tmp" for name in ("killed", "running"))
    killed.write_bytes(b"text")
    with open(running, "xb") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        assert list(s3.leftovers()) == [killed]


def test_stores_in_one_bucket_do_not_see_each_other(s3: S3Store, s3_url: str) -> None:
    neighbour = S3Store(f"{s3_url}-two")
    neighbour.write("a/x", b"theirs")
    s3.write("a/y", b"ours")
    assert list(s3.list("a")) == ["a/y"]
    assert not s3.exists("a/x")


def test_a_slash_at_the_end_of_the_url_changes_nothing(s3: S3Store, s3_url: str) -> None:
    s3.write("a/x", b"x")
    assert S3Store(f"{s3_url}/").url == s3.url
    assert S3Store(f"{s3_url}/").read("a/x") == b"x"


def test_a_store_is_sent_to_another_process_without_its_credentials(s3: S3Store) -> None:
    s3.write("a/x", b"x")
    sent = pickle.dumps(s3)
    assert WRITER["key"].encode() not in sent
    assert WRITER["secret"].encode() not in sent
    assert pickle.loads(sent).read("a/x") == b"x"


def test_a_forked_process_is_told_and_does_not_hang(s3: S3Store, s3_url: str) -> None:
    s3.write("a/x", b"x")
    script = (
        "import os, signal, sys\n"
        "from corpus_assets.core.errors import StoreError\n"
        "from corpus_assets.core.store import open_store\n"
        "store = open_store(sys.argv[1])\n"
        "store.read('a/x')\n"
        "child = os.fork()\n"
        "if child:\n"
        "    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
        "signal.alarm(20)\n"
        "for use in (lambda: store.read('a/x'), lambda: open_store(sys.argv[1])):\n"
        "    try:\n"
        "        use()\n"
        "    except StoreError as error:\n"
        "        print(error, flush=True)\n"
        "os._exit(0)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, s3_url], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("start workers with the `spawn` method") == 2


def test_more_objects_than_one_answer_holds_are_all_listed(s3: S3Store) -> None:
    names = [f"many/{i:04d}" for i in range(1100)]
    for name in names:
        s3._client.put(name, b"")
    assert list(s3.list("many")) == names


class TestCache:
    def test_a_second_look_downloads_nothing(self, s3: S3Store, s3_url: str) -> None:
        s3.write("a/x", b"text")
        first = s3.local("a/x")
        number = first.stat().st_ino
        again = S3Store(s3_url).local("a/x")
        assert again == first
        assert again.stat().st_ino == number

    def test_an_old_copy_of_an_overwritten_object_goes_when_it_is_out_of_use(
        self, s3: S3Store
    ) -> None:
        s3.write("a/x", b"text to forget")
        old = s3.local("a/x")
        killed = old.with_name(".download.tmp")
        killed.write_bytes(b"text to")
        s3.write("a/x", b"second")
        recent = s3.local("a/x")
        assert old.exists(), "somebody may be about to open it"
        assert killed.exists(), "it may still be running"
        long_ago = time.time() - 2 * UNUSED_S
        for path in (old, killed):
            os.utime(path, (long_ago, long_ago))
        s3.write("a/x", b"third")
        new = s3.local("a/x")
        found = {path for path in cache_folder().rglob("*") if path.is_file()}
        assert found == {recent, new}

    def test_downloads_that_end_while_another_tidies_up(self, s3: S3Store) -> None:
        s3.write("a/x", b"text")
        copy = s3.local("a/x")
        tidied = threading.Event()

        def come_and_go(number: int) -> None:
            while not tidied.is_set():
                for name in (f".{number}-{each}.tmp" for each in range(50)):
                    copy.with_name(name).touch()
                    copy.with_name(name).unlink()

        with ThreadPoolExecutor(3) as pool:
            others = [pool.submit(come_and_go, number) for number in range(3)]
            try:
                for _ in range(2000):
                    _remove_others(copy)
            finally:
                tidied.set()
            for other in others:
                other.result()
        assert copy.read_bytes() == b"text"

    def test_a_look_at_a_copy_keeps_it_in_use(self, s3: S3Store) -> None:
        s3.write("a/x", b"text")
        copy = s3.local("a/x")
        long_ago = time.time() - 2 * UNUSED_S
        os.utime(copy, (long_ago, long_ago))
        s3.local("a/x")
        assert copy.stat().st_mtime > long_ago + UNUSED_S

    def test_an_object_may_lie_below_another(self, s3: S3Store) -> None:
        s3._client.put("a", b"outer")
        first = s3.local("a")
        s3._client.put("a/b/c", b"inner")
        assert s3.local("a/b/c").read_bytes() == b"inner"
        assert s3.local("a") == first

    def test_the_same_url_on_another_server_is_another_store(
        self, s3: S3Store, s3_url: str, s3_server: S3Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        s3.write("a/x", b"text")
        here = s3.local("a/x")
        monkeypatch.setenv("AWS_ENDPOINT_URL", s3_server.endpoint.replace("127.0.0.1", "localhost"))
        assert S3Store(s3_url).local("a/x") != here

    def test_others_on_the_machine_cannot_look_into_it(self, s3: S3Store) -> None:
        s3.write("a/x", b"text")
        s3.local("a/x")
        (folder,) = (cache_folder() / "s3").iterdir()
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700

    def test_a_copy_that_cannot_be_kept_says_where(
        self, s3: S3Store, s3_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        s3.write("a/x", b"text")
        (tmp_path / "file").write_bytes(b"")
        monkeypatch.setenv("CORPUS_CACHE", str(tmp_path / "file"))
        with pytest.raises(StoreError, match="cannot keep a/x in the cache .*set CORPUS_CACHE"):
            S3Store(s3_url).local("a/x")

    def test_a_failed_download_leaves_nothing(
        self, s3: S3Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        s3.write("a/x", b"text")

        def broken(descriptor: int) -> None:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", broken)
            with pytest.raises(StoreError, match="cache .* is full .*CORPUS_CACHE"):
                s3.local("a/x")
        assert [path for path in cache_folder().rglob("*") if path.is_file()] == []
        assert s3.local("a/x").read_bytes() == b"text"

    def test_all_of_a_store_and_of_crawls_can_be_deleted_at_once(
        self, s3: S3Store, s3_url: str
    ) -> None:
        for name in ("a/x", "a/y"):
            s3.write(name, b"text")
            s3.local(name)
        other = S3Store(f"{s3_url}/other")
        other.write("a/x", b"of another store")
        kept = other.local("a/x")
        crawled = cache_folder() / "cache" / "sources" / "part.warc.gz"
        crawled.parent.mkdir(parents=True)
        crawled.write_bytes(b"pages")
        assert forget_copies(s3_url) == 3
        assert [path for path in cache_folder().rglob("*") if path.is_file()] == [kept]
        assert forget_copies(s3_url) == 0
        assert s3.local("a/x").read_bytes() == b"text"

    def test_nodes_on_one_machine_delete_their_common_cache_at_the_same_time(self) -> None:
        for number in range(400):
            crawled = cache_folder() / "cache" / "sources" / str(number % 40) / f"{number}.warc.gz"
            crawled.parent.mkdir(parents=True, exist_ok=True)
            crawled.write_bytes(b"pages")
        ready = threading.Barrier(4)

        def forget() -> int:
            ready.wait()
            return forget_copies("folder")

        with ThreadPoolExecutor(4) as nodes:
            counts = [call.result() for call in [nodes.submit(forget) for _ in range(4)]]
        assert sum(counts) == 400, "each file is counted once"
        assert not (cache_folder() / "cache" / "sources").exists()

    def test_without_a_name_it_lies_in_the_users_cache_folder(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.delenv("CORPUS_CACHE")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        assert cache_folder() == tmp_path / "corpus-assets"
        monkeypatch.delenv("XDG_CACHE_HOME")
        monkeypatch.setenv("HOME", str(tmp_path))
        assert cache_folder() == tmp_path / ".cache" / "corpus-assets"
