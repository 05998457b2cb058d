"""The web application: its addresses, who may ask, and what may leave.

Everything is rendered here; pages load nothing from elsewhere, and have no scripts but the one that
gives a review its keys, named by its digest. A page chooses its own text, so every value is escaped,
control characters are written out, and no address is followed. Text of a document under a takedown is not shown, whatever version still has it.
"""

import hmac
import re
import secrets
import threading
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from catalog.answers import values_of
from catalog.ask import (
    diff_settings,
    document_history,
    resolve_doc_id,
    resolve_version,
    training_exposure,
    version_funnel,
)
from catalog.db import Registry, VersionRow
from catalog.errors import CatalogError, TakedownRefused, UnknownName, VersionDeleted
from catalog.formats.store import FileStore
from catalog.formats.urls import address_of
from catalog.lineage import Lineage, QueryLimits, require_present
from catalog.pages import environment, put_header, stylesheet
from catalog.plugins import installed, load
from catalog.review import new_judgement, parse_place, summarise_judgements
from catalog.serve import review, story
from catalog.serve.differences import Differences
from catalog.serve.guard import STYLESHEET, Form, Guard, is_foreign
from catalog.serve.thresholds import what_if
from catalog.takedown import show_takedown as show_takedown

OPEN_VERSIONS = 4
SHOWN = 50
MAX_SEARCHED = 8  # versions that are searched for what one does not have
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
WRITTEN_PAGE = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; frame-ancestors 'none'; sandbox allow-same-origin"
}
"""For reports and certificates, which have their style inside. They stay of our origin, or browsers
would leave the session's cookie out when a link leads back from them."""


class Versions:
    """Lineages of the versions that were asked for last, one question at a time each."""

    def __init__(self, registry: Registry, store: FileStore) -> None:
        self.registry, self.store = registry, store
        self._limits = QueryLimits.of_environment()
        self._open: OrderedDict[tuple[str, str], tuple[Lineage, threading.Lock]] = OrderedDict()
        self._lock = threading.Lock()

    @contextmanager
    def lineage(self, name: str | None) -> Iterator[Lineage]:
        """Open a version; one that was revoked or deleted meanwhile is opened again. Of no name,
        the newest released one, and while there is none the newest candidate."""
        row = self.registry.version(name or newest(self.registry.versions()))
        key = (row.name, row.status)
        with self._lock:
            found = self._open.pop(key, None)
            if found is None:
                lineage = Lineage(self.registry, self.store, row.name, self._limits)
                found = (lineage, threading.Lock())
            self._open[key] = found
            closed = [
                self._open.popitem(last=False) for _ in range(len(self._open) - OPEN_VERSIONS)
            ]
        for _, (lineage, lock) in closed:
            with lock:
                lineage.close()
        lineage, lock = found
        with lock:
            yield lineage

    def close(self) -> None:
        with self._lock:
            for lineage, _ in self._open.values():
                lineage.close()
            self._open.clear()


def newest(rows: Sequence[VersionRow]) -> str | None:
    """Return the live version that is asked where none is named."""
    live = [row for row in rows[::-1] if row.status == "live"]
    released = [row for row in live if row.state == "released"]
    return next((row.name for row in released + live), None)


class Application:
    """Pages over one catalog and store."""

    def __init__(self, registry: Registry, store: FileStore, with_review: bool = False) -> None:
        self.registry, self.store = registry, store
        self.versions = Versions(registry, store)
        self._differences = Differences(registry, store)
        self._samples = review.Samples()
        self._form_token = secrets.token_urlsafe(32) if with_review else ""
        self._pages = environment(Path(__file__).with_name("templates"))
        self._pages.globals |= {"link": link, "keys": review.KEYS}

    @asynccontextmanager
    async def open(self, app: Starlette) -> AsyncIterator[None]:
        yield
        self._differences.close()
        self.versions.close()

    def page(
        self, template: str, values: Mapping[str, Any], version: str | None = None, code: int = 200
    ) -> HTMLResponse:
        """Make a page; its search asks `version`, the one that the page is about."""
        rows = self.registry.versions()
        chosen = version or newest(rows)
        searched: dict[str, list[str]] = {"released": [], "candidate": [], "revoked": []}
        for row in rows[::-1]:
            if row.status == "live" or row.name == chosen:
                searched[row.state].append(row.name)
        body = self._pages.get_template(template).render(
            {"searched": searched, "chosen": chosen, **values}
        )
        return HTMLResponse(body, code)

    def say(
        self, message: str | None, code: int, asks: bool = False, then: str = "/"
    ) -> HTMLResponse:
        """Make a page that shows nothing of the catalog."""
        page = self._pages.get_template("bare.html")
        return HTMLResponse(page.render(message=message, asks=asks, then=then), code)

    # Pages.

    def home(self, request: Request) -> Response:
        waiting = [asdict(row) for row in self.registry.takedowns("pending")]
        rows = [asdict(row) | {"state": row.state} for row in self.registry.versions()][::-1]
        return self.page("home.html", {"versions": rows, "waiting": waiting})

    def find(self, request: Request) -> Response:
        asked = request.query_params.get("q", "").strip()
        inside = request.query_params.get("inside") == "yes"
        version = request.query_params.get("version")
        if not asked:
            return RedirectResponse("/", 303)
        kind = story.kind_of(asked)
        with self.versions.lineage(version) as lineage:
            answer = story.found(lineage, kind, asked, inside, SHOWN)
        if kind == "id" and answer.total == 1:
            (match,) = answer.matches
            place = link("documents", match.doc_id, version=answer.version)
            return RedirectResponse(place, 303)
        elsewhere = [] if answer.total else self._elsewhere(answer.version, kind, asked)
        values = {"asked": asked, "kind": kind, "inside": inside, "elsewhere": elsewhere}
        return self.page("find.html", values | values_of(answer), answer.version)

    def _elsewhere(self, version: str, kind: str, asked: str) -> list[dict[str, Any]]:
        """Return the other live versions that have what one has not; texts are not looked into."""
        found = []
        others = [row for row in self.registry.versions()[::-1]
                  if row.status == "live" and row.name != version]  # fmt: skip
        for row in others[:MAX_SEARCHED]:
            with self.versions.lineage(row.name) as lineage:
                total = story.found(lineage, kind, asked, False, 1).total
            if total:
                found.append({"name": row.name, "state": row.state, "total": total})
        return found

    def document(self, request: Request) -> Response:
        with self.versions.lineage(request.query_params.get("version")) as lineage:
            doc_id = resolve_doc_id(lineage, request.path_params["doc_id"])
            answer = document_history(lineage, doc_id)
            shown = story.document_story(lineage, doc_id, answer)
        return self.page("document.html", {"document": answer, **shown}, answer.version)

    def beside(self, request: Request) -> Response:
        with self.versions.lineage(request.query_params.get("version")) as lineage:
            pair = [
                resolve_doc_id(lineage, request.path_params[side]) for side in ("left", "right")
            ]
            answer = story.side_by_side(lineage, pair[0], pair[1])
        return self.page("beside.html", answer, answer["version"])

    def exposure(self, request: Request) -> Response:
        asked = request.query_params
        with self.versions.lineage(asked.get("version")) as lineage:
            answer = training_exposure(
                lineage,
                request.path_params["doc_id"],
                story.number(asked.get("seed", ""), "seed", None),
                story.number(asked.get("steps", ""), "steps", 1000) or 1000,
                story.number(asked.get("batch", ""), "batch", 8) or 8,
            )
        values = values_of(answer) | {"line": story.step_line(answer)}
        return self.page("exposure.html", values, answer.version)

    def version(self, request: Request) -> Response:
        row = self.registry.version(request.path_params["name"])
        name = row.name
        with self.versions.lineage(name) as lineage:
            answer = resolve_version(self.registry, self.store, name)
            steps = version_funnel(lineage)
        others = [r.name for r in self.registry.versions() if r.name != name]
        return self.page(
            "version.html",
            {
                "version": answer,
                "steps": steps,
                "row": row,
                "others": others[::-1],
                "judgements": len(self.registry.judgements(name)),
            },
            name,
        )

    def cost(self, request: Request) -> Response:
        """Show when a version was computed and what it took, which whoever built it can tell."""
        row = self.registry.version(request.path_params["name"])
        points = installed("catalog.version_cost")
        if not points:
            raise CatalogError("the package that knows the cost of versions is not installed here")
        tell = load(points[0], "account of costs")
        url = self.registry.database.url.render_as_string(hide_password=False)
        cost = tell(url, self.store.url, row.name)
        return self.page("cost.html", {"row": row, "cost": cost}, row.name)

    def what_if(self, request: Request) -> Response:
        row = self.registry.version(request.path_params["name"])
        return self.page("what-if.html", what_if(self.store, row, request.query_params), row.name)

    def difference(self, request: Request) -> Response:
        before, after = (request.query_params.get(side, "") for side in ("before", "after"))
        answer = diff_settings(self.registry, self.store, before, after)
        moved = None if answer.deleted else self._differences.documents(before, after)
        is_counting = moved is None and not answer.deleted
        values = values_of(answer.with_documents(moved)) | {"is_counting": is_counting}
        page = self.page("diff.html", values, after)
        if is_counting:
            page.headers["Refresh"] = "2"
        return page

    def review(self, request: Request) -> Response:
        """Show a record of a sample, for people to judge where that is asked for."""
        query = request.query_params
        asked, by = review.asked_of(query), query.get("by", "").strip()
        at = story.number(query.get("at", ""), "at", None)
        with self.versions.lineage(query.get("version")) as lineage:
            version = lineage.version.name
            sizes = self._samples.sizes(lineage)
            drawn = self._samples.drawn(lineage, asked)
            judged = review.judged_by(self.registry.judgements(version), by, drawn)
            shown = review.page_of(lineage, drawn, judged, at)
        values = {
            "version": version,
            "asked": asked,
            "by": by,
            "why": query.get("why", ""),
            "sizes": sizes,
            "here": review.query_of(asked, version, by),
            "form_token": self._form_token,
        }
        page = self.page("review.html", shown | values, version)
        page.headers["Content-Security-Policy"] = review.POLICY
        return page

    def judgements(self, request: Request) -> Response:
        """Show what judgements say of a version."""
        with self.versions.lineage(request.path_params["name"]) as lineage:
            answer = summarise_judgements(lineage, self._samples.sizes)
        return self.page("judgements.html", values_of(answer), answer.version)

    def judge(self, request: Request) -> Response:
        """Record a judgement; only a form of our own page is listened to."""
        form: Form = request.state.form
        given = form.get("form_token", "").encode()
        if not hmac.compare_digest(given, self._form_token.encode()) or is_foreign(request.headers):
            message = "This form is not from these pages or is outdated: nothing was recorded."
            return self._failed(request, message, 403)
        return self._judged(form)

    def resume(self, form: Form) -> str:
        """Return the page of a judgement that was not recorded, with what was typed."""
        names = ("version", "kept", "dropped", *review.FILTERS, "by", "at", "why")
        return link("review", **{name: form.get(name) or None for name in names})

    def _judged(self, form: Form) -> Response:
        verdict, by = form.get("verdict"), form.get("by", "").strip()
        if verdict not in ("good", "bad", "undo"):
            raise CatalogError("a judgement is `good` or `bad`")
        asked, at = review.asked_of(form), story.number(form.get("at", ""), "at", None)
        with self.versions.lineage(form.get("version")) as lineage:
            version = lineage.version.name
            if verdict == "undo":
                place = parse_place(review.last_place(form))
                self.registry.withdraw_judgement(version, *place, by)
            else:
                why = form.get("why", "")
                self.registry.judge(new_judgement(lineage, form, verdict == "good", why, by))
            drawn = self._samples.drawn(lineage, asked)
            if verdict == "undo":
                following = review.number_of(drawn, place)
            else:
                rows = self.registry.judgements(version)
                judged = review.judged_by(rows, by, drawn)
                following = review.next_open(drawn, judged, at or 0)
        here = review.query_of(asked, version, by)
        return RedirectResponse(link("review", **here, at=following or at), 303)

    def sample(self, request: Request) -> Response:
        asked = request.query_params
        with self.versions.lineage(request.path_params["name"]) as lineage:
            answer = story.sample(
                lineage,
                request.path_params["shard"],
                story.number(asked.get("sample", ""), "sample", 0) or 0,
                story.number(asked.get("token", ""), "token", None),
            )
        return self.page("sample.html", answer, answer["version"])

    def takedowns(self, request: Request) -> Response:
        rows = [asdict(row) for row in self.registry.takedowns()][::-1]
        return self.page("takedowns.html", {"requests": rows[:1000], "total": len(rows)})

    def takedown(self, request: Request) -> Response:
        answer = show_takedown(self.registry, _takedown_number(request))
        orders = [
            replace(order, value=address_of(order.kind, order.value))
            for order in answer.suppressions
        ]
        return self.page("takedown.html", values_of(answer) | {"suppressions": orders})

    def certificate(self, request: Request) -> Response:
        """Show a certificate's page, byte for byte: the certificate holds its digest."""
        number, wanted = _takedown_number(request), request.path_params["file"]
        for row in self.registry.certificates(number):
            path = row.path.removesuffix(".json") + ".html"
            if path.rpartition("/")[2] == wanted:
                return HTMLResponse(self.store.read(path), headers=WRITTEN_PAGE)
        raise UnknownName(f"takedown {number} has no certificate {wanted}")

    def report(self, request: Request) -> Response:
        """Show a version's report, below a way back."""
        row = self.registry.version(request.path_params["name"])
        require_present(self.registry, self.store, row)
        path = row.manifest_path.rpartition("/")[0] + "/report.html"
        back = self._pages.get_template("back.html").render(version=row.name)
        page = put_header(self.store.read(path).decode(), back)
        return HTMLResponse(page, headers=WRITTEN_PAGE)

    def style(self, request: Request) -> Response:
        return Response(stylesheet(), media_type="text/css")

    def metrics(self, request: Request) -> Response:
        """Return the catalog's numbers in Prometheus' text format 0.0.4."""
        registry = self.registry
        versions = Counter(row.status for row in registry.versions())
        takedowns = Counter(row.status for row in registry.takedowns())
        lines = [
            "# HELP corpus_metric A number of a stage, or of a version's evidence, written last.",
            "# TYPE corpus_metric gauge",
            *(
                _sample("corpus_metric", row.value, name=row.name, snapshot=row.snapshot or "",
                        version=row.version or "")
                for row in registry.metrics()
            ),
            "# HELP corpus_versions Versions in the catalog.",
            "# TYPE corpus_versions gauge",
            *(_sample("corpus_versions", n, status=status) for status, n in versions.items()),
            "# HELP corpus_takedowns Takedown requests.",
            "# TYPE corpus_takedowns gauge",
            *(_sample("corpus_takedowns", n, status=status) for status, n in takedowns.items()),
        ]  # fmt: skip
        kind = "text/plain; version=0.0.4; charset=utf-8"
        return Response("\n".join(lines) + "\n", media_type=kind)

    # Errors.

    def refused(self, request: Request, error: Exception) -> Response:
        """Say what is wrong, in the words that the command line has for it."""
        code = 404 if isinstance(error, UnknownName) else 400
        code = 451 if isinstance(error, TakedownRefused) else code
        gone = error if isinstance(error, VersionDeleted) else None
        return self._failed(request, str(error), code, gone)

    def missing(self, request: Request, error: Exception) -> Response:
        return self._failed(request, "There is no such page.", 404)

    def _failed(
        self, request: Request, message: str, code: int, gone: VersionDeleted | None = None
    ) -> Response:
        """Say what is wrong, with a way back: to the form with what was typed, or to the version in
        the place of one that is gone."""
        form: Form = getattr(request.state, "form", {})
        values = {"message": message, "gone": gone, "typed": form.get("why"), "back": None}
        if form:
            values["back"] = self.resume(form)
        return self.page("error.html", values, gone.instead if gone else None, code)


def _sample(metric: str, value: float, **labels: str) -> str:
    """Return one line of Prometheus' text format."""
    quoted = (
        value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
        for value in labels.values()
    )
    named = ",".join(f'{name}="{text}"' for name, text in zip(labels, quoted, strict=True))
    return f"{metric}{{{named}}} {value!r}"


def make_app(
    registry: Registry,
    store: FileStore,
    token: str | None = None,
    hosts: tuple[str, ...] = LOOPBACK,
    with_metrics: bool = False,
    with_review: bool = False,
) -> Starlette:
    """Return the application; with a token, nothing is shown to who does not have it. `hosts` are
    the names by which a browser may ask for it: a page of another name gets nothing. With
    `with_review`, who has the token may record judgements, and nothing else."""
    if with_review and token is None:
        raise CatalogError("judgements need a token: open the page with one")
    pages = Application(registry, store, with_review)
    return Starlette(
        routes=[
            Route("/", pages.home),
            Route(STYLESHEET, pages.style),
            Route("/find", pages.find),
            Route("/documents/{doc_id}", pages.document),
            Route("/documents/{doc_id}/exposure", pages.exposure),
            Route("/documents/{left}/beside/{right}", pages.beside),
            Route("/versions/{name}", pages.version),
            Route("/versions/{name}/report", pages.report),
            Route("/versions/{name}/cost", pages.cost),
            Route("/versions/{name}/what-if", pages.what_if),
            Route("/versions/{name}/review", pages.judgements),
            Route("/versions/{name}/shards/{shard:path}", pages.sample),
            Route("/diff", pages.difference),
            Route("/review", pages.review),
            *([Route("/judge", pages.judge, methods=["POST"])] if with_review else []),
            Route("/takedowns", pages.takedowns),
            Route("/takedowns/{number}", pages.takedown),
            Route("/takedowns/{number}/{file}", pages.certificate),
            *([Route("/metrics", pages.metrics)] if with_metrics else []),
        ],
        middleware=[
            Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts), www_redirect=False),
            Middleware(
                Guard, token=token, say=pages.say, resume=pages.resume if with_review else None
            ),
        ],
        exception_handlers={CatalogError: pages.refused, 404: pages.missing},
        lifespan=pages.open,
    )


def _takedown_number(request: Request) -> int:
    """Return the number of a takedown; one that no database could hold is an unknown one."""
    number = request.path_params["number"]
    if not re.fullmatch("[0-9]{1,15}", number):
        raise UnknownName(f"there is no takedown {number[:40]}")
    return int(number)


def link(*path: str, **query: Any) -> str:
    """Return an address inside of the application."""
    asked = {name: value for name, value in query.items() if value is not None}
    place = "/" + "/".join(quote(part, safe="/") for part in path)
    return place + (f"?{urlencode(asked)}" if asked else "")
