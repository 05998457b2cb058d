"""Who may ask, and what may be sent: who knows the token; forms of these pages, of bounded length.

1. A form is read up to `MAX_FORM` bytes, whatever length it declares, before it is known who sends it.
2. Who has neither the token nor this session's cookie is asked for the token, and then led to the
   page that was asked for.
3. A form that changes something carries a token that only our own pages hold: another site can have
   a browser send the form, but cannot read the page. Browsers also say where a form comes from.
"""

import hmac
import re
import secrets
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qs, quote

from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

COOKIE = "catalog_token"
MAX_FORM = 1 << 16  # bytes
STYLESHEET = "/style.css"  # which everyone may read
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    # With `no-referrer` browsers send `Origin: null` with our own forms as well.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}

Form = dict[str, str]


class FormTooLong(Exception):
    """More than `MAX_FORM` bytes were sent, or announced."""


async def read_form(request: Request) -> Form:
    """Read the fields of a form; of a field given twice, the first."""
    if int(request.headers.get("content-length") or 0) > MAX_FORM:
        raise FormTooLong
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > MAX_FORM:
            raise FormTooLong
    sent = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True)
    return {name: values[0] for name, values in sent.items()}


def is_foreign(headers: Mapping[str, str]) -> bool:
    """Whether a browser says that a form is of another site's page. `Origin: null` says nothing:
    policies and extensions hide where a form comes from."""
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site not in ("same-origin", "none")
    origin = headers.get("origin")
    return origin not in (None, "null") and origin.partition("://")[2] != headers.get("host")


class Guard:
    """Reading only, for those who know the token.

    `say` makes a page that shows nothing of the catalog. With `resume` judgements may be sent too: it
    names the page on which one that was refused is to be found again.
    """

    def __init__(
        self,
        app: ASGIApp,
        token: str | None,
        say: Callable[..., Response],
        resume: Callable[[Form], str] | None = None,
    ) -> None:
        self._app, self._token, self._say, self._resume = app, token, say, resume
        self._session = secrets.token_urlsafe(32)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        try:
            answer = await self._answer(request)
        except ClientDisconnect:
            return
        await (answer or self._app)(scope, receive, _with_headers(send))

    async def _answer(self, request: Request) -> Response | None:
        """Return what the guard itself says; None lets the question pass, with its form."""
        path = request.url.path
        if "\0" in path or "%00" in request.url.query:  # which no database holds in a text
            return self._say("A URL cannot contain NUL characters.", 400)
        is_enter = self._token is not None and path == "/enter"
        form: Form = {}
        if request.method not in ("GET", "HEAD"):
            is_judgement = self._resume is not None and path == "/judge"
            if request.method != "POST" or not (is_enter or is_judgement):
                return self._say("These pages are read-only.", 405)
            try:
                form = await read_form(request)
            except FormTooLong:
                return self._say(f"A form may have at most {MAX_FORM >> 10} KiB.", 413)
        if is_enter:
            return self._enter(form)
        if self._token is None or path == STYLESHEET or self._is_known(request):
            request.state.form = form
            return None
        then = quote(path) + (f"?{request.url.query}" if request.url.query else "")
        return self._ask(self._resume(form) if form and self._resume is not None else then)

    def _enter(self, form: Form) -> Response:
        then = form.get("then", "/")
        if not form:
            return self._ask("/")
        if not _is_same(form.get("token", ""), self._token or ""):
            return self._ask(then, "The token is wrong.")
        # A path of these pages: `//host` and `/\host` would lead to another site.
        answer = RedirectResponse(then if re.fullmatch(r"/(?![/\\])[!-~]*", then) else "/", 303)
        answer.set_cookie(COOKIE, self._session, httponly=True, samesite="strict")
        return answer

    def _ask(self, then: str, message: str | None = None) -> Response:
        return self._say(message, 401, asks=True, then=then)

    def _is_known(self, request: Request) -> bool:
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        return _is_same(request.cookies.get(COOKIE, ""), self._session) or (
            _is_same(given, self._token or "")
        )


def _is_same(given: str, secret: str) -> bool:
    return hmac.compare_digest(given.encode(), secret.encode())


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
