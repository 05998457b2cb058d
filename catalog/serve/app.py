"""The web application: its addresses, who may ask, and what may leave.

Everything is rendered here; pages have no scripts and load nothing from elsewhere. A page chooses
its own text, so every value is escaped, control characters are written out, and no address is
followed. Text of a document under a takedown is not shown, whatever version still holds it.
"""

import hmac
import secrets
import threading
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlencode

import jinja2
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from catalog.ask import documents, review, tokens, versions
from catalog.db.registry import Registry
from catalog.errors import CatalogError, TakedownRefused, UnknownName
from catalog.figures import short, size
from catalog.formats.store import Store
from catalog.lineage.tables import Lineage
from catalog.plugins import installed, load
from catalog.serve import STYLE, story
from catalog.serve.differences import Differences
from catalog.serve.thresholds import what_if
from catalog.takedown.requests import show as show_takedown

FOLDER = Path(__file__).parent
COOKIE = "catalog_token"
OPEN_VERSIONS = 4
SHOWN = 50
MAX_FORM = 1 << 16  # bytes of a judgement
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
WRITTEN_PAGE = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; frame-ancestors 'none'; sandbox"
}
"""For reports and certificates, which have their style inside."""


class Versions:
    """Lineages of the versions that were asked for last, one question at a time each."""

    def __init__(self, registry: Registry, store: Store) -> None:
        self.registry, self.store = registry, store
        self._open: OrderedDict[tuple[str, str], tuple[Lineage, threading.Lock]] = OrderedDict()
        self._lock = threading.Lock()

    @contextmanager
    def lineage(self, name: str | None) -> Iterator[Lineage]:
        """Open a version; one that was revoked or deleted meanwhile is looked at anew."""
        row = self.registry.version(name or None)
        key = (row.name, row.status)
        with self._lock:
            found = self._open.pop(key, None)
            if found is None:
                found = (Lineage(self.registry, self.store, row.name), threading.Lock())
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


class Application:
    """Pages over one catalog and store."""

    def __init__(self, registry: Registry, store: Store, with_review: bool = False) -> None:
        self.registry, self.store = registry, store
        self.versions = Versions(registry, store)
        self._differences = Differences(registry, store)
        self._form_token = secrets.token_urlsafe(32) if with_review else ""
        loader = jinja2.FileSystemLoader(FOLDER / "templates")
        self._pages = jinja2.Environment(
            loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, finalize=_shown
        )
        self._pages.filters["number"] = lambda value: f"{value:,}"
        self._pages.filters["share"] = _share
        self._pages.filters["size"] = size
        self._pages.globals["link"] = link

    @asynccontextmanager
    async def open(self, app: Starlette) -> AsyncIterator[None]:
        yield
        self._differences.close()
        self.versions.close()

    def page(self, template: str, values: Mapping[str, Any], code: int = 200) -> HTMLResponse:
        names = [row.name for row in self.registry.versions() if row.status == "live"]
        body = self._pages.get_template(template).render({"live": names[::-1], **values})
        return HTMLResponse(body, code)

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
        with self.versions.lineage(version) as lineage:
            kind = story.kind_of(asked)
            if kind == "id":
                doc_id = documents.resolve_doc_id(lineage, asked)
                place = link("documents", doc_id.hex(), version=lineage.version.name)
                return RedirectResponse(place, 303)
            answer = story.found(lineage, kind, asked, inside, SHOWN)
        return self.page("find.html", {"asked": asked, "kind": kind, "inside": inside, **answer})

    def document(self, request: Request) -> Response:
        with self.versions.lineage(request.query_params.get("version")) as lineage:
            doc_id = documents.resolve_doc_id(lineage, request.path_params["doc_id"])
            answer = documents.history(lineage, doc_id)
            told = story.told(lineage, doc_id, answer)
        return self.page("document.html", {"document": answer, **told})

    def beside(self, request: Request) -> Response:
        with self.versions.lineage(request.query_params.get("version")) as lineage:
            pair = [
                documents.resolve_doc_id(lineage, request.path_params[side])
                for side in ("left", "right")
            ]
            answer = story.side_by_side(lineage, pair[0], pair[1])
        return self.page("beside.html", answer)

    def exposure(self, request: Request) -> Response:
        asked = request.query_params
        with self.versions.lineage(asked.get("version")) as lineage:
            answer = tokens.exposure(
                lineage,
                request.path_params["doc_id"],
                story.number(asked.get("seed", ""), "seed", None),
                story.number(asked.get("steps", ""), "steps", 1000) or 1000,
                story.number(asked.get("batch", ""), "batch", 8) or 8,
            )
        return self.page("exposure.html", answer | {"line": story.step_line(answer)})

    def version(self, request: Request) -> Response:
        name = request.path_params["name"]
        row = self.registry.version(name)
        with self.versions.lineage(name) as lineage:
            answer = versions.resolve(self.registry, self.store, name)
            steps = versions.funnel(lineage)
            sums = review.summary(lineage)
        others = [r.name for r in self.registry.versions() if r.name != name]
        return self.page(
            "version.html",
            {"version": answer, "steps": steps, "row": row, "others": others[::-1], "sums": sums},
        )

    def cost(self, request: Request) -> Response:
        """Show when a version was computed and what it took, which whoever built it can tell."""
        row = self.registry.version(request.path_params["name"])
        points = installed("catalog.version_cost")
        if not points:
            raise CatalogError("nothing installed here knows what a version took to build")
        tell = load(points[0], "account of costs")
        url = self.registry.database.url.render_as_string(hide_password=False)
        return self.page("cost.html", {"row": row, "cost": tell(url, self.store.url, row.name)})

    def what_if(self, request: Request) -> Response:
        row = self.registry.version(request.path_params["name"])
        return self.page("what-if.html", what_if(self.store, row, request.query_params))

    def difference(self, request: Request) -> Response:
        before, after = (request.query_params.get(side, "") for side in ("before", "after"))
        answer = versions.diff_settings(self.registry, self.store, before, after)
        counted = None if answer["deleted"] else self._differences.documents(before, after)
        answer["documents"] |= counted or {}
        is_counting = counted is None and not answer["deleted"]
        page = self.page("diff.html", answer | {"is_counting": is_counting})
        if is_counting:
            page.headers["Refresh"] = "2"
        return page

    def review(self, request: Request) -> Response:
        """Show the next record that fits a question, for people to judge where that is asked for."""
        asked = request.query_params
        by = asked.get("by", "").strip()
        skip = story.number(asked.get("skip", ""), "skip", 0) or 0
        wanted = {name: asked.get(name, "") for name in ("stage", "reason", "language")}
        with self.versions.lineage(asked.get("version")) as lineage:
            version = lineage.version.name
            shown = review.next_sample(lineage, wanted, by, skip)
            rules = list(story.rules_of(lineage, shown)) if shown else []
            groups, sums = review.groups(lineage), review.summary(lineage)
        here = {"version": version, "by": by or None} | {k: v or None for k, v in wanted.items()}
        mine = sum(row.judged_by == by for row in self.registry.judgements(version)) if by else 0
        values = {
            "version": version,
            "wanted": wanted,
            "by": by,
            "skip": skip,
            "mine": mine,
            "shown": shown,
            "rules": [rule for rule in rules if rule["failed"]],
            "groups": groups,
            "sums": sums,
            "form_token": self._form_token,
            "next": link("review", **here, skip=skip + 1),
        }
        return self.page("review.html", values)

    async def judge(self, request: Request) -> Response:
        """Record a judgement; only a form of our own page is listened to."""
        body = (await request.body()).decode("utf-8", "replace")
        form = {name: values[0] for name, values in parse_qs(body).items()}
        given = form.get("form_token", "").encode()
        origin = request.headers.get("origin")
        if not hmac.compare_digest(given, self._form_token.encode()) or (
            origin is not None and origin.partition("://")[2] != request.headers.get("host")
        ):
            return Response("this form is not of this page: open it again\n", 403)
        return await run_in_threadpool(self._judged, form)

    def _judged(self, form: Mapping[str, str]) -> Response:
        verdict = form.get("verdict")
        if verdict not in ("agree", "disagree"):
            raise CatalogError("a judgement says agree or disagree")
        by, why = form.get("by", ""), form.get("why", "")
        with self.versions.lineage(form.get("version")) as lineage:
            row = review.judgement(lineage, form, verdict == "agree", why, by)
        self.registry.judge(row)
        asked = {
            name: form.get(f"asked_{name}") or None for name in ("stage", "reason", "language")
        }
        skip = form.get("skip") if form.get("skip") not in (None, "", "0") else None
        place = link("review", version=row.version, by=row.judged_by, **asked, skip=skip)
        return RedirectResponse(place, 303)

    def sample(self, request: Request) -> Response:
        asked = request.query_params
        with self.versions.lineage(request.path_params["name"]) as lineage:
            answer = story.sample(
                lineage,
                request.path_params["shard"],
                story.number(asked.get("sample", ""), "sample", 0) or 0,
                story.number(asked.get("token", ""), "token", None),
            )
        return self.page("sample.html", answer)

    def takedowns(self, request: Request) -> Response:
        rows = [asdict(row) for row in self.registry.takedowns()][::-1]
        return self.page("takedowns.html", {"requests": rows[:1000], "total": len(rows)})

    def takedown(self, request: Request) -> Response:
        answer = show_takedown(self.registry, request.path_params["number"])
        return self.page("takedown.html", answer)

    def certificate(self, request: Request) -> Response:
        """Show a certificate's page, as it was written."""
        number, wanted = request.path_params["number"], request.path_params["file"]
        for row in self.registry.certificates(number):
            path = row.path.removesuffix(".json") + ".html"
            if path.rpartition("/")[2] == wanted:
                return HTMLResponse(self.store.read(path), headers=WRITTEN_PAGE)
        raise UnknownName(f"takedown {number} has no certificate {wanted}")

    def report(self, request: Request) -> Response:
        """Show a version's report, as it was written."""
        row = self.registry.version(request.path_params["name"])
        path = row.manifest_path.rpartition("/")[0] + "/report.html"
        return HTMLResponse(self.store.read(path), headers=WRITTEN_PAGE)

    def style(self, request: Request) -> Response:
        return FileResponse(STYLE, media_type="text/css")

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
        return self.page("error.html", {"said": str(error)}, code)

    def missing(self, request: Request, error: Exception) -> Response:
        return self.page("error.html", {"said": "there is no such page"}, 404)


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
    store: Store,
    token: str | None = None,
    hosts: tuple[str, ...] = LOOPBACK,
    with_metrics: bool = False,
    with_review: bool = False,
) -> Starlette:
    """Return the application; with a token, nothing is shown to who does not have it. `hosts` are
    the names by which a browser may ask for it: a page of another name gets nothing. With
    `with_review`, who has the token may record judgements, and nothing else."""
    if with_review and token is None:
        raise CatalogError("judgements are recorded for people who have a token: give one")
    pages = Application(registry, store, with_review)
    return Starlette(
        routes=[
            Route("/", pages.home),
            Route("/style.css", pages.style),
            Route("/find", pages.find),
            Route("/documents/{doc_id}", pages.document),
            Route("/documents/{doc_id}/exposure", pages.exposure),
            Route("/documents/{left}/beside/{right}", pages.beside),
            Route("/versions/{name}", pages.version),
            Route("/versions/{name}/report", pages.report),
            Route("/versions/{name}/cost", pages.cost),
            Route("/versions/{name}/what-if", pages.what_if),
            Route("/versions/{name}/shards/{shard:path}", pages.sample),
            Route("/diff", pages.difference),
            Route("/review", pages.review),
            *([Route("/judge", pages.judge, methods=["POST"])] if with_review else []),
            Route("/takedowns", pages.takedowns),
            Route("/takedowns/{number:int}", pages.takedown),
            Route("/takedowns/{number:int}/{file}", pages.certificate),
            *([Route("/metrics", pages.metrics)] if with_metrics else []),
        ],
        middleware=[
            Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts), www_redirect=False),
            Middleware(Guard, token=token, with_review=with_review),
        ],
        exception_handlers={CatalogError: pages.refused, 404: pages.missing},
        lifespan=pages.open,
    )


class Guard:
    """Reading only, for those who know the token; what is said of it stays in this session.

    Where judgements are recorded, their form may be sent as well.
    """

    def __init__(self, app: ASGIApp, token: str | None, with_review: bool = False) -> None:
        self._app, self._token, self._with_review = app, token, with_review
        self._session = secrets.token_urlsafe(32)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        answer = await self._answer(request)
        await (answer or self._app)(scope, receive, _with_headers(send))

    async def _answer(self, request: Request) -> Response | None:
        """Return what the guard itself says; None lets the question pass."""
        if self._token is not None and request.url.path == "/enter":
            return await self._enter(request)
        is_judgement = self._with_review and request.url.path == "/judge"
        if request.method not in ("GET", "HEAD") and not is_judgement:
            return Response("these pages are for reading\n", 405)
        if is_judgement and int(request.headers.get("content-length") or MAX_FORM) >= MAX_FORM:
            return Response("a judgement is shorter\n", 413)
        if self._token is None or request.url.path == "/style.css" or self._is_known(request):
            return None
        return HTMLResponse(_ENTER.format(said=""), 401)

    async def _enter(self, request: Request) -> Response:
        if request.method != "POST":
            return HTMLResponse(_ENTER.format(said=""), 401)
        given = (await request.body())[:4096].decode("ascii", "replace").partition("token=")[2]
        if not hmac.compare_digest(given.encode(), quote(self._token or "", safe="").encode()):
            return HTMLResponse(_ENTER.format(said="<p>This is not the token.</p>"), 401)
        answer = RedirectResponse("/", 303)
        answer.set_cookie(COOKIE, self._session, httponly=True, samesite="strict")
        return answer

    def _is_known(self, request: Request) -> bool:
        cookie = request.cookies.get(COOKIE, "")
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        return hmac.compare_digest(cookie.encode(), self._session.encode()) or (
            hmac.compare_digest(given.encode(), (self._token or "").encode())
        )


_ENTER = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>catalog</title>'
    '<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="/style.css">'
    "</head><body><main><h1>catalog</h1>{said}<form method=post action=/enter>"
    "<label>Token <input name=token type=password autofocus></label> "
    "<button>Enter</button></form></main></body></html>"
)


def _with_headers(send: Send) -> Send:
    async def sending(message: Any) -> None:
        if message["type"] == "http.response.start":
            known = {name for name, _ in message["headers"]}
            message["headers"] = list(message["headers"]) + [
                (name.lower().encode(), value.encode())
                for name, value in HEADERS.items()
                if name.lower().encode() not in known
            ]
        await send(message)

    return sending


def link(*path: str, **query: Any) -> str:
    """Return an address inside of the application."""
    asked = {name: value for name, value in query.items() if value is not None}
    place = "/" + "/".join(quote(part, safe="/") for part in path)
    return place + (f"?{urlencode(asked)}" if asked else "")


def _shown(value: Any) -> Any:
    """Return a value as a page shows it: control characters, which a text may use to hide or turn
    others around, are written out; line breaks and tabs stay."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return short(value)
    if not isinstance(value, str) or hasattr(value, "__html__") or value.isprintable():
        return value
    return "".join(
        letter
        if letter.isprintable() or letter in "\n\t\u3000\u00a0\u200c\u200d"
        else letter.encode("unicode_escape").decode("ascii")
        for letter in value
    )


def _share(part: float, whole: float) -> str:
    return f"{part / whole:.1%}" if whole else "–"
