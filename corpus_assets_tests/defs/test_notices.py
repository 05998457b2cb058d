"""Somebody is told: by a real HTTP server, a real SMTP dialogue, a real program."""

import json
import socketserver
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from catalog.db.registry import Registry
from catalog.formats.store import FileStore
from catalog.takedown.requests import request_takedown
from catalog.takedown.target import url_target
from corpus_assets.core.home import Home
from corpus_assets.core.store import open_store
from corpus_assets.defs.notice_sensor import Channels, Notice, NotSent, Seen, news, notices
from corpus_assets.defs.resources import CorpusResource
from corpus_assets_tests.conftest import VERSION, Place

NOTICE = Notice("version", "Version v is published.", {"documents": 3})


@contextmanager
def receiver(status: int = 200) -> Iterator[tuple[str, list[Any]]]:
    got: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/hook/secret", got
        server.shutdown()


@contextmanager
def mail_server() -> Iterator[tuple[str, list[str]]]:
    got: list[str] = []

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.wfile.write(b"220 here\r\n")
            while line := self.rfile.readline().strip():
                verb = line.split()[0].upper()
                if verb == b"DATA":
                    self.wfile.write(b"354 go on\r\n")
                    text = b""
                    while (part := self.rfile.readline()) != b".\r\n":
                        text += part
                    got.append(text.decode())
                self.wfile.write(b"221 bye\r\n" if verb == b"QUIT" else b"250 ok\r\n")
                if verb == b"QUIT":
                    return

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"smtp://127.0.0.1:{server.server_address[1]}", got
        server.shutdown()


def test_a_notice_goes_to_webhook_mail_and_command(tmp_path: Path) -> None:
    copy = tmp_path / "notice.json"
    program = f"import sys; open({str(copy)!r}, 'w').write(sys.stdin.read())"
    with receiver() as (hook, posted), mail_server() as (smtp, mailed):
        mail = ("data@example.org", "legal@example.org")
        Channels(hook, mail, smtp, (sys.executable, "-c", program)).send(NOTICE)
    assert posted == [{"text": "Version v is published.\ndocuments: 3"}]
    assert "Subject: Version v is published." in mailed[0]
    assert "To: data@example.org, legal@example.org" in mailed[0]
    assert json.loads(copy.read_text())["kind"] == "version"


@pytest.mark.parametrize("address", ["http://hooks.example.org/secret", "file:///etc/passwd"])
def test_a_webhook_is_asked_by_https_and_never_quoted(address: str) -> None:
    with pytest.raises(NotSent) as caught:
        Channels(webhook=address).send(NOTICE)
    assert "secret" not in str(caught.value)
    assert "CORPUS_NOTIFY_WEBHOOK" in str(caught.value)


def test_what_is_refused_is_said(tmp_path: Path) -> None:
    with receiver(500) as (hook, _), pytest.raises(NotSent) as caught:
        Channels(webhook=hook).send(NOTICE)
    assert "secret" not in str(caught.value)
    with pytest.raises(NotSent):
        Channels(command=(str(tmp_path / "absent"),)).send(NOTICE)
    with pytest.raises(NotSent):
        Channels(command=(sys.executable, "-c", "raise SystemExit(3)")).send(NOTICE)


@dg.asset(check_specs=[dg.AssetCheckSpec("whole", asset="thing")])
def thing(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
    is_broken = context.run.tags.get("how") == "broken"
    if context.run.tags.get("how") == "dead":
        raise RuntimeError("it is dead")
    return dg.MaterializeResult(
        check_results=[
            dg.AssetCheckResult(
                check_name="whole", passed=not is_broken, severity=dg.AssetCheckSeverity.WARN,
                description="a part is missing",
            )
        ]
    )  # fmt: skip


def run(instance: dg.DagsterInstance, how: str) -> None:
    tags = {"how": how, "corpus/recipe": "demo"}
    dg.materialize([thing], instance=instance, tags=tags, raise_on_error=False)


def test_what_happened_is_told_once_and_the_past_is_not(place: Place) -> None:
    registry = Registry(Home.resolve(str(place.home)).catalog_url)
    store = open_store(str(place.store))
    now = datetime.now(UTC)
    with dg.DagsterInstance.ephemeral() as instance:
        run(instance, "dead")
        run(instance, "broken")
        seen = Seen.now(instance, registry)
        assert list(news(instance, registry, seen, 30, now, store)) == []
        run(instance, "well")
        run(instance, "broken")
        run(instance, "dead")
        target = url_target("http://site-3.example.org/article")
        number = request_takedown(registry, FileStore(str(place.store)), target, "asked").request.id
        told = list(news(instance, registry, seen, 30, now, store))
        assert [one.kind for one in told] == ["check_failed", "run_failed"]
        assert told[0].subject == "The check thing: whole failed."
        assert told[0].details["message"] == "a part is missing"
        assert told[1].details["corpus/recipe"] == "demo"
        assert list(news(instance, registry, seen, 30, now, store)) == []
        (late,) = news(instance, registry, seen, 30, now + timedelta(days=31), store)
        assert (late.kind, late.subject) == (
            "takedown_overdue",
            f"Takedown {number} waits for 31 days.",
        )
        assert list(news(instance, registry, seen, 30, now + timedelta(days=32), store)) == []


def test_a_crawl_that_is_passed_over_is_told_once(place: Place) -> None:
    registry = Registry(Home.resolve(str(place.home)).catalog_url)
    store = open_store(str(place.store))

    @dg.op
    def look(context: dg.OpExecutionContext) -> None:
        context.add_output_metadata({"crawls": [], "passed_over": ["skipped CC-2: it is cut"]})

    @dg.job
    def looking() -> None:
        look()

    with dg.DagsterInstance.ephemeral() as instance:
        seen = Seen.now(instance, registry)
        for told in (["skipped CC-2: it is cut"], []):
            looking.execute_in_process(instance=instance)
            found = list(news(instance, registry, seen, 30, datetime.now(UTC), store))
            assert [one.details["message"] for one in found] == told
            assert {one.kind for one in found} <= {"crawl_passed_over"}


def test_the_sensor_sends_what_is_new_and_tries_again_what_was_not_taken(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = CorpusResource(home=str(place.home))
    with dg.DagsterInstance.ephemeral() as instance:

        def tick(cursor: str | None) -> dg.SensorResult:
            with dg.build_sensor_context(
                instance=instance, cursor=cursor, resources={"corpus": corpus}
            ) as context:
                result = notices(context)
            assert isinstance(result, dg.SensorResult)
            return result

        assert "notifications are off" in str(tick(None).skip_reason)
        with receiver(503) as (hook, posted):
            monkeypatch.setenv("CORPUS_NOTIFY_WEBHOOK", hook)
            first = tick(None)
            before = json.loads(first.cursor or "")
            assert before["versions"] == 1
            older = json.dumps(before | {"versions": 0})
            with pytest.raises(NotSent):
                tick(older)
        with receiver() as (hook, posted):
            monkeypatch.setenv("CORPUS_NOTIFY_WEBHOOK", hook)
            again = tick(older)
            assert [one["text"].partition("\n")[0] for one in posted] == [
                f"Version {VERSION} is published."
            ]
            assert "nothing happened" in str(tick(again.cursor).skip_reason)
