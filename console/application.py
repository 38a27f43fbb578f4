"""The console as an ASGI application: from HTTP to endpoints and back.

All functions that may block run in a few threads, so a thousand tabs wait for each other, and do
not overload the broker. An error is one line of JSON with a status.
"""

from __future__ import annotations

import logging
import mimetypes
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import cast
from urllib.parse import quote

from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import (
    JSONResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Scope

from broker.config.start_error import StartError
from client.refusals import Refused
from console.answers import to_json
from console.bodies import body_of
from console.endpoints import (
    STATIC,
    Ask,
    BadAsk,
    Console,
    Download,
    DownloadStream,
    Endpoint,
    NotHere,
)
from console.entrance import Entrance
from console.events import STREAMS_MAX, Streams
from console.gate import Gate
from console.page_advice import for_page
from protocol.primitives import StringTooLong

THREADS = 16
BODY_BYTES_MAX = 16 * 1024 * 1024
_CLIENT_CLOSED = 499
"""The status that proxies log for a client that closed its connection."""
_STATUS: dict[type[Exception], int] = {
    BadAsk: 400,
    StringTooLong: 400,
    NotHere: 404,
    Refused: 409,
    StartError: 502,
}

_log = logging.getLogger(f"ottla.{__name__}")


def application(console: Console, gate: Gate, endpoints: Sequence[Endpoint]) -> ASGIApp:
    """Return the application, with the gate before it."""
    mimetypes.add_type("text/javascript", ".js")  # a machine's own table may differ
    answering = _Answering(console)
    routes: list[Route | Mount] = [
        Route(endpoint.path, answering.of(endpoint), methods=["POST" if endpoint.writes else "GET"])
        for endpoint in endpoints
    ]
    routes.append(Route("/api/{rest:path}", _no_such_path))
    routes.append(Mount("/", _Page(directory=STATIC, html=True)))

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await to_thread.run_sync(console.close)

    return Starlette(routes=routes, lifespan=lifespan, middleware=[Middleware(Entrance, gate=gate)])


class _Answering:
    """The endpoints of a console as functions of Starlette's routes."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._streams = Streams()
        self._threads: CapacityLimiter | None = None

    def of(self, endpoint: Endpoint) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            try:
                ask = await _ask_of(request, with_body=endpoint.writes)
                if endpoint.events is not None:
                    return self._stream(endpoint.events(self._console, ask))
                assert endpoint.answer is not None
                return await self._once(endpoint, ask)
            except ClientDisconnect:
                return Response(status_code=_CLIENT_CLOSED)  # which nothing reads
            except Exception as error:  # noqa: BLE001 - the one place that catches
                return _failed(error)

        return answer

    async def _once(self, endpoint: Endpoint, ask: Ask) -> Response:
        if self._threads is None:
            self._threads = CapacityLimiter(THREADS)
        return await to_thread.run_sync(self._answered, endpoint, ask, limiter=self._threads)

    def _answered(self, endpoint: Endpoint, ask: Ask) -> Response:
        """Return the answer of an endpoint. Runs in a thread, which also writes large JSON."""
        answer = cast(Callable[[Console, Ask], object], endpoint.answer)
        try:
            result = answer(self._console, ask)
        except StartError:
            if endpoint.writes:
                raise  # the change may have been made
            result = answer(self._console, ask)  # a kept connection's broker may have died
        if isinstance(result, Download):
            return _file(result)
        if isinstance(result, DownloadStream):
            return self._file_stream(result)
        return _Json(result)

    def _file_stream(self, found: DownloadStream) -> Response:
        return StreamingResponse(
            self._streams.pieces(found.pieces),
            media_type=found.media_type,
            headers={**_attachment(found.name), "cache-control": "no-store"},
        )

    def _stream(self, values: Iterator[object]) -> Response:
        if self._streams.is_full:
            return JSONResponse(
                {"error": f"{STREAMS_MAX} live views are open: close a tab of the console"}, 503
            )
        return StreamingResponse(
            self._streams.sent(values, _in_words),
            media_type="text/event-stream",
            headers={"cache-control": "no-store", "x-accel-buffering": "no"},
        )


async def _ask_of(request: Request, *, with_body: bool) -> Ask:
    values = {**request.query_params, **request.path_params}
    if not with_body:
        return Ask(values)
    data = b""
    async for piece in request.stream():
        data += piece
        if len(data) > BODY_BYTES_MAX:
            raise BadAsk(f"the request is larger than {BODY_BYTES_MAX >> 20} MiB")
    return Ask(values, body_of(data) if data else None)


def _in_words(error: Exception) -> str:
    if _status_of(error) is not None:
        return for_page(str(error))
    _log.error("the console failed", exc_info=error)
    return "the console failed: see the stack trace in its log"


def _failed(error: Exception) -> Response:
    return JSONResponse({"error": _in_words(error)}, _status_of(error) or 500)


def _status_of(error: Exception) -> int | None:
    """Return the HTTP status of an error whose text is for the user; None: the console has a
    bug."""
    return next((status for kind, status in _STATUS.items() if isinstance(error, kind)), None)


def _file(found: Download) -> Response:
    return Response(
        found.data, media_type="application/octet-stream", headers=_attachment(found.name)
    )


def _attachment(name: str) -> dict[str, str]:
    """Return the header by which a browser saves an answer under this name."""
    return {"content-disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}"}


async def _no_such_path(request: Request) -> Response:
    return JSONResponse({"error": f"the console has no path {request.url.path}"}, 404)


class _Json(JSONResponse):
    """An answer of an endpoint."""

    def render(self, content: object) -> bytes:
        return to_json(content).encode()


class _Page(StaticFiles):
    """The files of the page; the browser asks for each again, and gets those that changed."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers["cache-control"] = "no-cache"
        return response
