"""The entrance to the console's application: the gate, the pages of login and logout, and the
headers by which browsers keep the console to itself.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from urllib.parse import parse_qs

from anyio import CapacityLimiter, to_thread
from starlette.requests import ClientDisconnect, Request
from starlette.responses import (
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
)
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from console.gate import Asked, Gate, Refusal
from console.login.attempts import FailedLogins
from console.login.login_page import LOGIN_PATH, LOGOUT_PATH, OPEN_PATHS, login_page
from console.login.logins import TOKEN, USER, WEEK_S

HASHES_AT_ONCE = 2
"""The passwords that are hashed at once; each takes 32 MiB and a core."""
FORM_BYTES_MAX = 16 * 1024
_WRONG = {
    True: "This is not the token of this console.",
    False: "The user name or the password is wrong.",
}
_HEADERS = {
    "content-security-policy": (
        "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; "
        "form-action 'self'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
}
"""The headers of each answer that has no such header of its own."""


class Entrance:
    """An ASGI middleware: the application answers only requests that pass the gate."""

    def __init__(
        self, app: ASGIApp, gate: Gate, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._app = app
        self._gate = gate
        self._clock = clock
        self._failed = FailedLogins()
        self._hashing: CapacityLimiter | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        response = await self._instead(Request(scope, receive))

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                named = {key for key, _ in message["headers"]}
                message["headers"] += [
                    (key.encode(), value.encode())
                    for key, value in _HEADERS.items()
                    if key.encode() not in named
                ]
            await send(message)

        await (response or self._app)(scope, receive, with_headers)

    async def _instead(self, request: Request) -> Response | None:
        """Return the answer of the entrance; None if the application answers."""
        asked = Asked(
            request.method, request.url.path, dict(request.headers), dict(request.cookies)
        )
        if asked.method == "POST" and asked.path in (LOGIN_PATH, LOGOUT_PATH):
            refused = self._gate.form_refusal(asked)
            if refused is not None:
                return PlainTextResponse(refused.reason, refused.status)
            if asked.path == LOGOUT_PATH:
                return self._log_out(asked)
            return await self._log_in(request, asked)
        token = request.query_params.get(TOKEN)
        if token is not None and asked.path == "/" and self._gate.foreign(asked) is None:
            cookie = self._gate.login.cookie_of({TOKEN: token})
            if cookie is not None:
                return self._welcome(asked, cookie)
        refused = self._gate.refusal(asked)
        if refused is None or (asked.path in OPEN_PATHS and self._gate.foreign(asked) is None):
            return None
        return self._refused(asked, refused)

    def _refused(self, asked: Asked, refused: Refusal) -> Response:
        if asked.path.startswith("/api/"):
            return JSONResponse({"error": refused.reason.strip()}, refused.status)
        if refused.status == 401:
            return _page(login_page(self._gate.login.fields), 401)
        return PlainTextResponse(refused.reason, refused.status)

    async def _log_in(self, request: Request, asked: Asked) -> Response:
        """Answer the login form: with the cookie, or with the form and an error."""
        try:
            form = await _form_of(request)
        except ClientDisconnect:
            return Response(status_code=400)
        if form is None:
            return PlainTextResponse("the form is too large\n", 413)
        address = request.client.host if request.client else ""
        if self._hashing is None:
            self._hashing = CapacityLimiter(HASHES_AT_ONCE)
        async with self._hashing:  # also the check: many logins at once do not pass it together
            wait_s = math.ceil(self._failed.wait_s(address, self._clock()))
            if wait_s > 0:
                return self._too_many(wait_s)
            cookie = await to_thread.run_sync(self._gate.login.cookie_of, form)
            if cookie is not None:
                return self._welcome(asked, cookie)
            self._failed.add(address, self._clock())
        fields = self._gate.login.fields
        return _page(login_page(fields, _WRONG[TOKEN in fields], form.get(USER, "")), 401)

    def _too_many(self, wait_s: int) -> Response:
        words = f"Too many failed logins: wait {wait_s} seconds."
        page = login_page(self._gate.login.fields, words)
        return _page(page, 429, {"retry-after": str(wait_s)})

    def _welcome(self, asked: Asked, cookie: str) -> Response:
        """Return the redirect to the page, which sets the cookie; a token leaves the address."""
        response = RedirectResponse("/", 303)
        response.set_cookie(
            self._gate.cookie,
            cookie,
            max_age=WEEK_S,
            httponly=True,
            samesite="strict",
            secure=self._gate.is_secure(asked),
        )
        return response

    def _log_out(self, asked: Asked) -> Response:
        self._gate.login.log_out(asked.cookies.get(self._gate.cookie, ""))
        response = RedirectResponse("/", 303)
        response.delete_cookie(
            self._gate.cookie,
            httponly=True,
            samesite="strict",
            secure=self._gate.is_secure(asked),
        )
        return response


def _page(text: str, status: int, headers: Mapping[str, str] | None = None) -> Response:
    """Return a page with a form. Under no-referrer, a browser would send the form with the origin
    `null`, which the gate rejects."""
    return HTMLResponse(text, status, {"referrer-policy": "same-origin", **(headers or {})})


async def _form_of(request: Request) -> dict[str, str] | None:
    """Return the fields of a form; None if it is larger than FORM_BYTES_MAX."""
    data = b""
    async for piece in request.stream():
        data += piece
        if len(data) > FORM_BYTES_MAX:
            return None
    parsed = parse_qs(data.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=10)
    return {name: values[-1] for name, values in parsed.items()}
