"""Frame → header → request → API → response → frame: the only place that catches.

Holds the three kinds of wrong apart. Bytes that are no request raise `ProtocolError`, which closes
the connection. What an API refuses is in its response. Any other exception is our own bug: it is
logged once and answered with UNKNOWN_SERVER_ERROR, except an `AssertionError`, a broken invariant,
which goes on to stop the process.

An ApiVersions request newer than ours is answered in version 0 with our range (KIP-511).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from broker.apis.context import Api, RequestContext
from protocol.api_keys import ApiKey, messages_of
from protocol.errors import ErrorCode, ProtocolError
from protocol.message_codec import decode, encode_response, read_client_id, read_request_head

log = logging.getLogger("ottla.request")


class Connection(Protocol):
    """What the network tells of a connection."""

    @property
    def connection_id(self) -> str: ...
    @property
    def client_host(self) -> str: ...
    @property
    def listener_name(self) -> str: ...


class Reply(Protocol):
    """The way back to one request's connection."""

    def __call__(self, parts: Any) -> None:
        """Send a response: one bytes-like or a list of bytes and slices; None: nothing to send."""

    def close(self) -> None:
        """Close the connection instead of answering."""


@dataclass(slots=True)
class RequestMetrics:
    """Counts per API since the start."""

    requests: int = 0
    errors: int = 0


class _Served:
    """One API with what a request of it needs; its messages are imported by the first one."""

    __slots__ = ("api", "flexible_from", "metrics", "request_class")

    def __init__(self, api: Api) -> None:
        self.api = api
        self.metrics = RequestMetrics()
        self.request_class: Any = None
        self.flexible_from = 0

    def load(self) -> None:
        self.request_class = messages_of(self.api.key).request
        self.flexible_from = self.request_class.FLEXIBLE_FROM


class RequestHandler:
    """All APIs of one node."""

    def __init__(self, apis: Iterable[Api]) -> None:
        self.apis: dict[int, Api] = {int(api.key): api for api in apis}
        self._served = {key: _Served(api) for key, api in self.apis.items()}

    @property
    def metrics(self) -> dict[int, RequestMetrics]:
        """Counts by API key."""
        return {key: served.metrics for key, served in self._served.items()}

    def handle(self, connection: Connection, frame: memoryview, reply: Reply) -> None:
        """Answer one request. `frame` is used only until this returns.

        Raises ProtocolError where the connection is to be closed.
        """
        api_key, version, correlation_id = read_request_head(frame)
        served = self._served.get(api_key)
        if served is None:
            raise ProtocolError(f"API key {api_key} is not served")
        api = served.api
        too_new = False
        if not api.oldest <= version <= api.latest:
            if api_key != ApiKey.API_VERSIONS:
                raise ProtocolError(f"{api.key.name} version {version} is not served")
            too_new = True
        if served.request_class is None:
            served.load()
        flexible = version >= served.flexible_from and not too_new
        client_id, pos = read_client_id(frame, flexible)
        context = RequestContext(
            api_key,
            0 if too_new else version,
            correlation_id,
            client_id,
            connection.client_host,
            connection.listener_name,
            connection.connection_id,
        )
        served.metrics.requests += 1
        request_class = served.request_class
        request = request_class() if too_new else decode(request_class, frame, pos, version)
        respond = self._responder(context, reply)
        try:
            api.handle(context, request, _unsupported(respond) if too_new else respond)
        except (ProtocolError, AssertionError):
            raise
        except Exception:
            served.metrics.errors += 1
            log.exception("%s v%d failed", api.key.name, version)
            respond(self.refusal(api_key, request, ErrorCode.UNKNOWN_SERVER_ERROR))

    def refusal(self, api_key: int, request: Any, error: ErrorCode) -> Any:
        """The response that says `error` for all of `request`.

        Raises ProtocolError for an API whose response cannot say it.
        """
        api = self.apis[api_key]
        if api.refuse is not None:
            return api.refuse(request, error)
        response = messages_of(api.key).response()
        if not hasattr(response, "error_code"):
            raise ProtocolError(f"{api.key.name} has no way to say that it failed")
        response.error_code = int(error)
        return response

    def _responder(self, context: RequestContext, reply: Reply) -> Callable[[Any], None]:
        version = context.api_version
        correlation_id = context.correlation_id

        def respond(response: Any) -> None:
            if response is None:
                reply(None)
                return
            try:
                out = encode_response(response, version, correlation_id)
            except Exception:
                # Others' answers may be on their way in the same turn: only this one is lost.
                log.exception("a response to %s v%d", ApiKey(context.api_key).name, version)
                reply.close()
                return
            reply(out.parts() if out.slices else out)

        return respond


def _unsupported(respond: Callable[[Any], None]) -> Callable[[Any], None]:
    def answer(response: Any) -> None:
        response.error_code = int(ErrorCode.UNSUPPORTED_VERSION)
        response.api_keys = [k for k in response.api_keys if k.api_key == ApiKey.API_VERSIONS]
        respond(response)

    return answer
