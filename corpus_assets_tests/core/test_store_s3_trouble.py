"""What an S3 store says when something is wrong."""

import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from corpus_assets.core.errors import StoreError
from corpus_assets.core.store import open_store
from corpus_assets.core.store_s3 import S3Store
from corpus_assets_tests.chaos import dice
from corpus_assets_tests.faulty_proxy import faulty_proxy
from corpus_assets_tests.s3_server import (
    READER,
    S3Server,
    environment,
)

pytestmark = pytest.mark.usefixtures("nothing_of_the_user")


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
        self, s3: S3Store, s3_url: str, s3_server: S3Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        s3.write("a/y", b"y")
        for name, value in environment(s3_server.endpoint, READER).items():
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
    def _keys(self, nothing_of_the_user: None, monkeypatch: pytest.MonkeyPatch) -> None:
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
        with pytest.raises(StoreError, match=r"pip install 'corpus-assets\[s3\]'"):
            open_store("s3://bucket/x")


def test_a_server_that_refuses_resets_and_cuts_off_answers_is_asked_again(
    s3_server: S3Server, s3_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = bytes(range(256)) * 400
    with faulty_proxy(s3_server.endpoint, 0.3, dice()) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.endpoint)
        store = S3Store(s3_url)
        for number in range(5):
            path = f"a/{number:02d}/x"
            store.write(path, data)
            assert store.read(path) == store.local(path).read_bytes() == data
            assert store.read_range(path, 1000, 5000) == data[1000:6000]
            assert store.exists(path)
            assert store.list("a") == [f"a/{n:02d}/x" for n in range(number + 1)]
            assert len(list(store.folders("a"))) == number + 1
        for path in store.list("a"):
            store.delete(path)
        assert store.list("a") == []
    assert len(proxy.met) > 2, "several kinds of faults were met"
