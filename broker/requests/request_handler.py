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
from functools import partial
from typing import Any, Protocol

from broker.requests.context import (
    Api,
    AtOnce,
    AtOnceAnswer,
    Expected,
    Later,
    Repeating,
    RequestContext,
)
from broker.requests.context import Connection as KnownConnection
from protocol.api_keys import ApiKey, messages_of
from protocol.errors import ErrorCode, ProtocolError
from protocol.message_codec import (
    ResponseParts,
    decode,
    read_request_header,
    response_parts,
    skip_header_tags,
)
from protocol.primitives import StringTooLong

log = logging.getLogger(f"ottla.{__name__}")

Decode = Callable[[memoryview, int, int], Any]
"""A frame, where its body starts, and the version → the request; ProtocolError where it is none."""
Header = tuple[int, int, int, str | None]
"""API key, version, correlation id, client id."""
Encode = Callable[[Any, int, int], ResponseParts]
"""A response, the version and the correlation id → its frame."""

_API_VERSIONS = int(ApiKey.API_VERSIONS)


@dataclass(slots=True)
class RequestMetrics:
    """Counts per API since the start."""

    requests: int = 0
    errors: int = 0


class Connection(KnownConnection, Protocol):
    """The same, with what requests keep for those that follow."""

    at_once: AtOnce | None
    at_once_metrics: RequestMetrics
    """Where its answers count; there where `at_once` is."""
    expect: Callable[[memoryview], Expected | None] | None
    """Prepares for a request that `at_once` would answer."""


class Reply(Protocol):
    """The way back to one request's connection."""

    def __call__(self, parts: Any) -> None:
        """Send a response: one bytes-like or a list of bytes and slices; None: nothing to send."""

    def close(self) -> None:
        """Close the connection instead of answering."""


class _Served:
    """One API with what a request of it needs; its messages are imported by the first one."""

    __slots__ = ("api", "decode", "encode", "flexible_from", "latest", "metrics", "oldest", "quick")

    def __init__(self, api: Api) -> None:
        self.api = api
        self.oldest = api.oldest
        self.latest = api.latest
        self.quick = api.quick
        self.metrics = RequestMetrics()
        self.decode: Decode | None = None
        self.encode: Encode = response_parts
        self.flexible_from = 0

    def load(self) -> None:
        request_class = messages_of(self.api.key).request
        self.flexible_from = request_class.FLEXIBLE_FROM
        if self.api.key is ApiKey.PRODUCE:
            from protocol import produce_codec  # its messages are not loaded at a start

            self.decode, self.encode = produce_codec.read_request, produce_codec.encode
        else:
            self.decode = partial(decode, request_class)


class RequestHandler:
    """All APIs of one node."""

    def __init__(self, apis: Iterable[Api] = ()) -> None:
        self.apis: dict[int, Api] = {}
        self._served: dict[int, _Served] = {}
        self.serve(apis)

    def serve(self, apis: Iterable[Api]) -> None:
        """These, too: what they are made of may use this handler."""
        for api in apis:
            self.apis[int(api.key)] = api
            self._served[int(api.key)] = _Served(api)

    def served(self) -> list[Api]:
        """All APIs."""
        return list(self.apis.values())

    @property
    def metrics(self) -> dict[int, RequestMetrics]:
        """Counts by API key."""
        return {key: served.metrics for key, served in self._served.items()}

    def handle_at_once(
        self, connection: Connection, frame: memoryview, later: Later
    ) -> AtOnceAnswer | None:
        """The answer to a request that is like one before it, empty where there is to be none, or
        where it comes by what `later` gave; None where `handle` is to be asked. `frame` is used
        only until this returns.

        Raises ProtocolError where the connection is to be closed.
        """
        at_once = connection.at_once
        if at_once is None:
            return None
        try:
            answer = at_once(frame, later)
        except (ProtocolError, AssertionError):
            raise
        except Exception as error:  # noqa: BLE001  answered by _ask; not tried a second time
            return self.say_failed(connection, frame, error)
        if answer is not None:
            connection.at_once_metrics.requests += 1
        return answer

    def say_failed(self, connection: Connection, frame: memoryview, error: Exception) -> bytes:
        """The answer to a request that was tried at once, or expected, and failed by `error`.

        Raises ProtocolError where the connection is to be closed.
        """
        connection.at_once = connection.expect = None
        answers: list[bytes] = []
        self.handle(connection, frame, _Collected(answers), error)
        return bytes(answers[0])

    def handle(
        self,
        connection: Connection,
        frame: memoryview,
        reply: Reply,
        failure: Exception | None = None,
    ) -> None:
        """Answer one request. `frame` is used only until this returns. With a `failure` of an
        attempt to, it is only said that it failed.

        Raises ProtocolError where the connection is to be closed.
        """
        api_key, version, correlation_id, client_id, pos = read_request_header(frame)
        served = self._served.get(api_key)
        if served is None:
            raise ProtocolError(f"API key {api_key} is not served")
        if not served.oldest <= version <= served.latest:
            self._say_range(served, connection, frame, reply)
            return
        served.metrics.requests += 1
        if served.decode is None:
            served.load()
        if version >= served.flexible_from:
            pos = skip_header_tags(frame, pos)
        header = api_key, version, correlation_id, client_id
        the_long_way = partial(self._read_and_ask, served, connection, header, pos, reply)
        if served.quick is None or failure is not None:
            the_long_way(frame, failure)
            return
        try:
            done = served.quick(
                frame, pos, version, correlation_id, reply, the_long_way, connection.listener_name
            )
        except (ProtocolError, AssertionError):
            raise
        except Exception as error:  # noqa: BLE001  answered by _ask; not tried a second time
            the_long_way(frame, error)
        else:
            _note(done, connection, served.metrics, partial(the_long_way, frame))

    def _say_range(
        self, served: _Served, connection: Connection, frame: memoryview, reply: Reply
    ) -> None:
        """Answer a version that is not served: of ApiVersions alone, with our range."""
        api_key, version, correlation_id, client_id, pos = read_request_header(frame)
        if api_key != _API_VERSIONS:
            raise ProtocolError(f"{served.api.key.name} version {version} is not served")
        if version > served.latest:
            skip_header_tags(frame, pos)  # a newer header has them, too
        served.metrics.requests += 1
        context = _context(connection, api_key, 0, correlation_id, client_id)
        respond = partial(_unsupported, partial(_respond, served.encode, context, reply))
        self._ask(served, context, messages_of(served.api.key).request(), respond)

    def _read_and_ask(
        self,
        served: _Served,
        connection: Connection,
        header: Header,
        pos: int,
        reply: Reply,
        frame: memoryview,
        failure: Exception | None = None,
    ) -> None:
        assert served.decode is not None
        context = _context(connection, *header)
        request = served.decode(frame, pos, context.api_version)
        self._ask(
            served, context, request, partial(_respond, served.encode, context, reply), failure
        )

    def _ask(
        self,
        served: _Served,
        context: RequestContext,
        request: Any,
        respond: Callable[[Any], None],
        failure: Exception | None = None,
    ) -> None:
        try:
            if failure is not None:
                raise failure
            served.api.handle(context, request, respond)
        except (ProtocolError, AssertionError):
            raise
        except Exception as error:
            served.metrics.errors += 1
            # The peer's names can be too long for a record: no bug of ours, so no trace.
            trace = None if isinstance(error, StringTooLong) else error
            name = served.api.key.name
            log.error("%s v%d failed: %s", name, context.api_version, error, exc_info=trace)
            respond(self.refusal(context.api_key, request, ErrorCode.UNKNOWN_SERVER_ERROR))

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


class _Collected:
    """The reply of a request that is answered during the call."""

    def __init__(self, answers: list[Any]) -> None:
        self._answers = answers

    def __call__(self, parts: Any) -> None:
        self._answers.append(parts)

    def close(self) -> None:
        raise ProtocolError("the answer cannot be written")


def _note(
    done: bool | AtOnce | Repeating,
    connection: Connection,
    metrics: RequestMetrics,
    the_long_way: Callable[[], None],
) -> None:
    """What a quick attempt gave: at most, what is to be tried with the next request."""
    if done is False:
        the_long_way()
    if isinstance(done, bool):
        return
    connection.at_once_metrics = metrics
    if isinstance(done, Repeating):
        connection.at_once, connection.expect = done
    else:
        connection.at_once, connection.expect = done, None


def _context(
    connection: Connection, api_key: int, version: int, correlation_id: int, client_id: str | None
) -> RequestContext:
    return RequestContext(
        api_key,
        version,
        correlation_id,
        client_id,
        connection.client_host,
        connection.listener_name,
        connection.connection_id,
        connection.principal,
        connection.security_protocol,
        connection.client_software_name,
        connection.client_software_version,
        connection,
    )


def _respond(encode: Encode, context: RequestContext, reply: Reply, response: Any) -> None:
    if response is None:
        reply(None)
        return
    try:
        parts = encode(response, context.api_version, context.correlation_id)
    except StringTooLong as error:
        # Names that this client has sent: nothing is wrong here, and it cannot be told.
        name, connection = ApiKey(context.api_key).name, context.connection_id
        log.warning("closing %s: %s v%d: %s", connection, name, context.api_version, error)
        reply.close()
        return
    except Exception:
        # Others' answers may be on their way in the same turn: only this one is lost.
        log.exception("a response to %s v%d", ApiKey(context.api_key).name, context.api_version)
        reply.close()
        return
    reply(parts)


def _unsupported(respond: Callable[[Any], None], response: Any) -> None:
    response.error_code = int(ErrorCode.UNSUPPORTED_VERSION)
    response.api_keys = [k for k in response.api_keys if k.api_key == ApiKey.API_VERSIONS]
    respond(response)
