"""P1 and P4 on S3: a corpus in a bucket is the one in a folder, and a takedown proves itself there."""

import json
import threading
import uuid
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest
from click.testing import CliRunner

from catalog.cli.commands import main as catalog_main
from corpus_assets.cli.main import main as corpus_main
from corpus_assets.core.errors import CorruptArtifact
from corpus_assets.core.home import Home
from corpus_assets.core.store import LocalStore
from corpus_assets.core.store_s3 import S3Store
from corpus_assets.session import reopen_session
from corpus_assets_tests.conftest import VERSION, Place
from corpus_assets_tests.own_s3 import forget_environment
from corpus_assets_tests.s3_server import (
    BUCKET,
    S3Server,
    environment,
)
from corpus_loader import Loader, Manifest

pytestmark = pytest.mark.usefixtures("nothing_of_the_user")


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
def built(
    s3_server: S3Server, small_build: Place, tmp_path_factory: pytest.TempPathFactory
) -> Built:
    folder = tmp_path_factory.mktemp("corpus")
    build = ["build", str(small_build.recipe), "--version", VERSION, "--workers", "1"]
    with pytest.MonkeyPatch.context() as patch:
        forget_environment(patch)
        for name, value in environment(s3_server.endpoint).items():
            patch.setenv(name, value)
        url = f"s3://{BUCKET}/{uuid.uuid4().hex}"
        patch.setenv("CORPUS_HOME", str(folder / "remote"))
        patch.setenv("CORPUS_STORE_URL", url)
        patch.setenv("CORPUS_CACHE", str(folder / "cache"))
        assert corpus_main(build) == 0
        local = LocalStore(small_build.store)
        return Built(local, S3Store(url), folder / "remote", small_build.recipe)


class TestACorpusOnS3:
    """The small corpus, built once into a folder and once into a bucket, by the same commands."""

    @pytest.fixture(autouse=True)
    def _pointed_at_the_bucket(
        self,
        built: Built,
        s3_server: S3Server,
        monkeypatch: pytest.MonkeyPatch,
        nothing_of_the_user: None,
    ) -> None:
        for name, value in environment(s3_server.endpoint).items():
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

    def test_damage_in_the_bucket_is_found_and_stops_a_takedown(self, built: Built) -> None:
        s3 = built.s3
        manifest = json.loads(s3.read(f"versions/{VERSION}/manifest.json"))
        recipe = f"sources/recipes/{manifest['recipe']['digest']}.json"
        paths = [
            manifest["groups"][0]["shards"][0]["bin"]["path"],
            recipe,
            next(path for path in s3.list("artifacts/tokens") if path.endswith("result.json")),
            f"versions/{VERSION}/report.html",
        ]
        whole = {path: s3.read(path) for path in paths}
        foreign = f"versions/{VERSION}/notes.txt"
        for path, data in whole.items():
            s3.write(path, data[:-9] + bytes([data[-9] ^ 1]) + data[-8:])
        s3.write(foreign, b"left here")
        try:
            code, answer = ask_catalog("verify", VERSION)
            with (
                pytest.raises(CorruptArtifact, match=recipe),
                reopen_session(Home.resolve(), VERSION),
            ):
                pass
        finally:
            for path, data in whole.items():
                s3.write(path, data)
            s3.delete(foreign)
        assert code == 1
        assert {*paths, foreign} <= {problem["subject"] for problem in answer["problems"]}

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
        manifest = Manifest.parse(s3.read(f"versions/{VERSION}/manifest.json"))
        there = Loader(manifest, s3.local, global_batch=4)
        here = Loader(manifest, local.root, global_batch=4)
        for step in range(min(20, len(here))):
            assert np.array_equal(there.at(step).tokens, here.at(step).tokens)


class _NoDelete(BaseHTTPRequestHandler):
    """The way to the server for somebody without the right to delete objects."""

    protocol_version = "HTTP/1.1"
    target: ClassVar[tuple[str, int]]

    def _pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.command == "DELETE" or (self.command == "POST" and "delete" in self.path):
            code, headers = 403, [("Content-Type", "application/xml")]
            answer = b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"
        else:
            way = HTTPConnection(*self.target)
            way.request(self.command, self.path, body, dict(self.headers))
            found = way.getresponse()
            answer, code = found.read(), found.status
            skipped = {"transfer-encoding", "connection", "content-length"}
            headers = [(k, v) for k, v in found.getheaders() if k.lower() not in skipped]
            if self.command == "HEAD":
                headers.append(("Content-Length", found.getheader("Content-Length") or "0"))
            way.close()
        self.send_response(code)
        for name, value in headers:
            self.send_header(name, value)
        if self.command != "HEAD":
            self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer)

    do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = _pass_on

    def log_message(self, *_: object) -> None:
        return


class TestATakedownOnS3:
    """Last, since it changes the corpus that the others look at."""

    @pytest.mark.slow
    def test_without_the_right_to_delete_it_stays_open_and_says_what_is_left(
        self, built: Built, s3_server: S3Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name, value in environment(s3_server.endpoint).items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("CORPUS_HOME", str(built.home))
        monkeypatch.setenv("CORPUS_STORE_URL", built.s3.url)
        code, _ = ask_catalog(
            "takedown", "request", "--url", "http://site-3.example.org/article", "--reason", "x"
        )
        assert code == 0
        handler = type(
            "Handler", (_NoDelete,), {"target": ("127.0.0.1", s3_server.ports["s3.port"])}
        )
        proxy = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{proxy.server_address[1]}")
        try:
            refused = CliRunner().invoke(catalog_main, ["takedown", "run"])
        finally:
            proxy.shutdown()
            proxy.server_close()
        assert refused.exit_code == 1, refused.output
        assert "could not be deleted" in refused.stderr
        assert "s3:DeleteObject" in refused.stderr
        monkeypatch.setenv("AWS_ENDPOINT_URL", s3_server.endpoint)
        first = json.loads(built.s3.read("certificates/00000001.json"))
        assert first["files"]["outcome"] == "left"
        assert set(first["files"]["left"]) <= set(built.s3.list("artifacts")) | set(
            built.s3.list("versions")
        )
        assert ask_catalog("takedown", "verify", "1")[0] == 1
        done = CliRunner().invoke(catalog_main, ["takedown", "run"])
        assert done.exit_code == 0, done.output
        second = json.loads(built.s3.read("certificates/00000001-2.json"))
        assert second["files"]["outcome"] == "deleted"
        assert second["files"]["deleted"]
        code, proof = ask_catalog("takedown", "verify", "1")
        assert (code, proof["files_left"]) == (0, [])
        assert proof["search"]["files"] > 0
