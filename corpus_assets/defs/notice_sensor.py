"""Notices about what happens: a failed run or check, a crawl that is passed over, a version, a
takedown done or overdue.

    CORPUS_NOTIFY_WEBHOOK   https address that takes `{"text": ...}`, as Slack's and others' do
    CORPUS_NOTIFY_MAIL      addresses, with commas; CORPUS_SMTP_URL says by which server
    CORPUS_NOTIFY_COMMAND   a program with its arguments; gets the notice as JSON on its input

A sensor looks every half minute at what Dagster and the catalog recorded since the last time. What
cannot be sent is tried again at the next look, so a notice comes once or more, and never less.
Notices have names, numbers and our own messages in them, no text of documents and no secrets.
"""

import json
import os
import shlex
import smtplib
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from email.message import EmailMessage
from urllib.parse import unquote, urlsplit

import dagster as dg
from dagster import DagsterEventType

from catalog.db import Registry, VersionRow
from catalog.errors import CatalogError
from corpus_assets.core.errors import CorpusError, StoreError
from corpus_assets.core.home import Home
from corpus_assets.core.store import Store
from corpus_assets.defs.links import page
from corpus_assets.defs.resources import CorpusResource
from corpus_assets.defs.sensors import PASSED_OVER
from corpus_assets.session import open_home
from corpus_assets.versions import version_growth

LOOKED_AT = 200  # events at a time
SEND_S = 20.0
ERROR_CHARS = 500
LOCAL = ("127.0.0.1", "::1", "localhost")
DUE_DAYS = 30.0
RUN_SUCCESS, RUN_FAILURE = DagsterEventType.RUN_SUCCESS, DagsterEventType.RUN_FAILURE


@dataclass(frozen=True)
class Notice:
    """Something that happened; `kind` is run_failed, check_failed, crawl_passed_over, version,
    takedown_done or takedown_overdue."""

    kind: str
    subject: str
    details: Mapping[str, str | int] = field(default_factory=dict)

    @property
    def text(self) -> str:
        lines = [f"{name}: {value}" for name, value in self.details.items()]
        return "\n".join([self.subject, *lines])


class NotSent(CorpusError):
    """A notice did not reach somebody who should have it."""


@dataclass(frozen=True)
class Channels:
    """Where notices go."""

    webhook: str = ""
    mail: tuple[str, ...] = ()
    smtp: str = ""
    command: tuple[str, ...] = ()

    @classmethod
    def of_environment(cls) -> "Channels":
        addresses = os.environ.get("CORPUS_NOTIFY_MAIL", "").split(",")
        return cls(
            os.environ.get("CORPUS_NOTIFY_WEBHOOK", ""),
            tuple(address.strip() for address in addresses if address.strip()),
            os.environ.get("CORPUS_SMTP_URL", "smtp://localhost"),
            tuple(shlex.split(os.environ.get("CORPUS_NOTIFY_COMMAND", ""))),
        )

    def __bool__(self) -> bool:
        return bool(self.webhook or self.mail or self.command)

    def send(self, notice: Notice) -> None:
        """Send a notice by every channel there is."""
        try:
            if self.webhook:
                _post(self.webhook, notice)
            if self.mail:
                _mail(self.smtp, self.mail, notice)
            if self.command:
                data = json.dumps(asdict(notice) | {"text": notice.text}).encode()
                subprocess.run(self.command, input=data, check=True, timeout=SEND_S)
        except (OSError, ValueError, subprocess.SubprocessError, smtplib.SMTPException) as error:
            what = type(error).__name__  # its message may name an address with a secret in it
            raise NotSent(
                f"a notice ({notice.kind}) could not be sent: {what}; check CORPUS_NOTIFY_WEBHOOK, "
                "CORPUS_NOTIFY_MAIL with CORPUS_SMTP_URL, and CORPUS_NOTIFY_COMMAND"
            ) from None


def _post(address: str, notice: Notice) -> None:
    where = urlsplit(address)
    if where.scheme != "https" and (where.scheme != "http" or where.hostname not in LOCAL):
        raise ValueError("a webhook's address begins with https://")
    data = json.dumps({"text": notice.text}).encode()
    asked = urllib.request.Request(address, data, {"Content-Type": "application/json"})  # noqa: S310
    try:
        with urllib.request.urlopen(asked, timeout=SEND_S) as answer:  # noqa: S310
            answer.read()
    except urllib.error.HTTPError as refused:
        refused.close()
        raise


def _mail(server: str, addresses: Sequence[str], notice: Notice) -> None:
    """Send by `smtp://`, with STARTTLS where the server has it, or `smtps://`."""
    where = urlsplit(server)
    message = EmailMessage()
    message["Subject"] = " ".join(notice.subject.split())
    message["From"] = os.environ.get("CORPUS_NOTIFY_FROM", addresses[0])
    message["To"] = ", ".join(addresses)
    message.set_content(notice.text)
    kind = smtplib.SMTP_SSL if where.scheme == "smtps" else smtplib.SMTP
    with kind(where.hostname or "localhost", where.port or 0, timeout=SEND_S) as connection:
        if where.scheme == "smtp" and connection.has_extn("starttls"):
            connection.starttls()
        if where.username:
            connection.login(unquote(where.username), unquote(where.password or ""))
        connection.send_message(message)


# What happened.


@dataclass
class Seen:
    """What the cursor remembers: how far the records were looked at."""

    failed: str = ""
    succeeded: str = ""
    versions: int = 0
    certificates: int = 0
    overdue: list[int] = field(default_factory=list)
    passed_over: list[str] = field(default_factory=list)

    @classmethod
    def now(cls, instance: dg.DagsterInstance, registry: Registry) -> "Seen":
        """Return the state of a first look: what happened before it is not reported."""
        seen = cls()
        for _ in _runs(instance, seen):
            pass
        seen.versions, seen.certificates = len(registry.versions()), len(registry.certificates())
        return seen


def news(
    instance: dg.DagsterInstance,
    registry: Registry,
    seen: Seen,
    due_days: float,
    now: datetime,
    store: Store,
) -> Iterator[Notice]:
    """Yield what happened since the last look, and move `seen` on."""
    for run_id, why in _runs(instance, seen):
        yield from _failed_checks(instance, run_id)
        for line in _passed_over(instance, run_id):
            if line not in seen.passed_over:  # a crawl that stays so is news once, not every week
                seen.passed_over.append(line)
                yield Notice("crawl_passed_over", "A new crawl was skipped.", {"message": line})
        if why is not None:
            yield _failure(instance, run_id, why)
    versions = registry.versions()
    for row in versions[seen.versions :]:
        seen.versions += 1
        details: dict[str, str | int] = {"documents": row.documents, "tokens": row.tokens}
        details |= {"status": row.state} | _difference(registry, store, row)
        details |= _linked("versions", row.name)
        yield Notice("version", f"Version {row.name} is published.", details)
    for certificate in registry.certificates()[seen.certificates :]:
        seen.certificates += 1
        yield Notice(
            "takedown_done",
            f"Takedown {certificate.request_id} is done.",
            {"certificate": certificate.path} | _linked("takedowns", str(certificate.request_id)),
        )
    for request in registry.takedowns("pending"):
        age = (now - datetime.fromisoformat(request.created_at)).total_seconds() / 86_400
        if age > due_days and request.id not in seen.overdue:
            seen.overdue.append(request.id)
            yield Notice(
                "takedown_overdue",
                f"Takedown {request.id} waits for {age:.0f} days.",
                {"filed": request.created_at, "attempts": request.attempts},
            )


def _runs(instance: dg.DagsterInstance, seen: Seen) -> Iterator[tuple[str, str | None]]:
    """Yield the runs that ended since the last look, with the messages of those that failed."""
    for status, name in ((RUN_SUCCESS, "succeeded"), (RUN_FAILURE, "failed")):
        while True:
            cursor = getattr(seen, name) or None
            found = instance.fetch_run_status_changes(status, LOOKED_AT, cursor, ascending=True)
            for record in found.records:
                event = record.event_log_entry.dagster_event
                message = (event.message or "") if event is not None else ""
                yield record.run_id, message if status is RUN_FAILURE else None
            setattr(seen, name, found.cursor)
            if not found.has_more:
                break


def _failure(instance: dg.DagsterInstance, run_id: str, why: str) -> Notice:
    details: dict[str, str | int] = {"run": run_id}
    run = instance.get_run_by_id(run_id)
    if run is not None:
        details["job"] = run.job_name
        details |= {name: value for name, value in run.tags.items() if name.startswith("corpus/")}
    details["message"] = why.partition("\n")[0][:ERROR_CHARS]
    return Notice("run_failed", f"Run {run_id[:8]} failed.", details)


def _failed_checks(instance: dg.DagsterInstance, run_id: str) -> Iterator[Notice]:
    for entry in instance.all_logs(run_id, of_type=DagsterEventType.ASSET_CHECK_EVALUATION):
        event = entry.dagster_event
        check = event.asset_check_evaluation_data if event is not None else None
        if check is None or check.passed:
            continue
        name = f"{check.asset_key.to_user_string()}: {check.check_name}"
        details: dict[str, str | int] = {"severity": check.severity.value}
        if check.partition:
            details["partition"] = check.partition
        if check.description:
            details["message"] = check.description[:ERROR_CHARS]
        yield Notice("check_failed", f"The check {name} failed.", details)


def _passed_over(instance: dg.DagsterInstance, run_id: str) -> Iterator[str]:
    """Yield the messages about new crawls that were not taken."""
    for entry in instance.all_logs(run_id, of_type=DagsterEventType.STEP_OUTPUT):
        event = entry.dagster_event
        found = event.step_output_data.metadata.get(PASSED_OVER) if event is not None else None
        if isinstance(found, dg.JsonMetadataValue) and isinstance(found.value, list):
            yield from (str(line)[:ERROR_CHARS] for line in found.value)


def _difference(registry: Registry, store: Store, row: VersionRow) -> dict[str, str | int]:
    """Return what a version has that the one before it had not."""
    try:
        growth = version_growth(registry, store, row)
    except (CatalogError, StoreError):  # it was deleted meanwhile
        return {}
    return {**growth.details()} if growth is not None else {}


def _linked(*path: str) -> dict[str, str | int]:
    address = page(*path)
    return {"page": address} if address is not None else {}


@dg.sensor(
    minimum_interval_seconds=30,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Notifies by mail, webhook or command about failed runs and checks, skipped crawls, new "
    "versions, and takedowns that are done or overdue.",
)
def notices(context: dg.SensorEvaluationContext, corpus: CorpusResource) -> dg.SensorResult:
    """Send what happened since the last look."""
    channels = Channels.of_environment()
    if not channels:
        why = "notifications are off: set CORPUS_NOTIFY_WEBHOOK, _MAIL or _COMMAND"
        return dg.SensorResult(skip_reason=dg.SkipReason(why))
    store, registry = open_home(Home.resolve(corpus.home or None))
    if not context.cursor:
        seen = Seen.now(context.instance, registry)
        why = "notifications are on"
        return dg.SensorResult(skip_reason=dg.SkipReason(why), cursor=json.dumps(asdict(seen)))
    seen = Seen(**json.loads(context.cursor))
    due_days = float(os.environ.get("CORPUS_TAKEDOWN_DUE_DAYS", DUE_DAYS))
    sent = 0
    for notice in news(context.instance, registry, seen, due_days, datetime.now(UTC), store):
        channels.send(notice)
        sent += 1
    why = f"{sent} notices were sent" if sent else "nothing happened"
    return dg.SensorResult(skip_reason=dg.SkipReason(why), cursor=json.dumps(asdict(seen)))
