"""The way of a request: frame → header → request → API → response → frame.

A prepared request (`broker.requests.prepared`) is answered from its frame alone. All others go the
general way: they are decoded, handled by their API with the rights that `broker.requests.admission`
gives, and their response is encoded. After that, the API may prepare for further ones like this.

This module decides what the exceptions of handlers mean. Bytes that are no valid request raise
`ProtocolError`, which closes the connection. An `AssertionError`, a broken invariant, stops the
process. Any other exception is a bug of Ottla: it is logged once, and answered with
UNKNOWN_SERVER_ERROR. A newer ApiVersions than ours gets our range in version 0 (KIP-511).

Quotas apply to requests here, and nowhere else in this package. If one limits the sender
(`broker.quotas`), it is in `context.quota` for APIs whose answer depends on it. The response's
`throttle_time_ms` says how long the client has to wait, and the connection is not read for that
long. Nothing is prepared for such a request, and a change of a quota invalidates all.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

from broker.requests.admission import Admission
from broker.requests.context import (
    Answer,
    Api,
    ClientConnection,
    ClientIdentity,
    ExpectedRequest,
    Later,
    NoQuotas,
    PreparedRequest,
    Quotas,
    RequestContext,
    RequestQuota,
    RequestSource,
    Respond,
    Response,
    ResponseWriter,
)
from broker.requests.interference import Interference, Meeting, ReplyPath
from broker.requests.long_requests import read_long
from broker.requests.prepared import Kind, PreparedEntry, PreparedRequests, identity_of, kind_of
from broker.requests.request_times import RequestMetrics
from broker.requests.sliced_answers import SlicedAnswers
from broker.requests.tracer import Tracer
from controller.authorization.rights import Rights
from ground.sliced_work import first_slice
from protocol.api_keys import ApiKey, messages_of
from protocol.errors import ErrorCode, ProtocolError
from protocol.frames.framing import SIZE_BYTES
from protocol.frames.message_codec import (
    decode,
    decode_steps,
    read_request_header,
    response_parts,
    skip_header_tags,
)
from protocol.message import Message
from protocol.primitives import SLICE_BYTES, StringTooLong

log = logging.getLogger(f"ottla.{__name__}")

Header = tuple[int, int, int, str | None]
"""The API key, version, correlation id and client id of a request."""

_NOT_YET = object()
_API_VERSIONS = int(ApiKey.API_VERSIONS)


class Entrance(Protocol):
    """The receiver of frames from the network: `RequestHandler`, or a component in front of it."""

    def handle(self, connection: ClientConnection, frame: memoryview, reply: ReplyPath) -> None:
        """Answer one request, now or later. Raises ProtocolError to close the connection."""

    def handle_at_once(
        self, connection: ClientConnection, frame: memoryview, later: Later
    ) -> Answer | None:
        """Return a prepared answer, empty if it comes by `later`; None if `handle` must answer."""

    def expect(self, connection: ClientConnection, message: memoryview) -> ExpectedRequest | None:
        """Prepare for the connection's next request. Return None if that is not possible."""


class _Served:
    """An API with its metrics and, from its first request on, the class that decodes these."""

    __slots__ = ("api", "flexible_from", "latest", "metrics", "of_followers", "oldest", "request")

    def __init__(self, api: Api) -> None:
        self.api = api
        self.oldest = api.oldest
        self.latest = api.latest
        self.metrics = RequestMetrics()
        self.of_followers = RequestMetrics() if api.key is ApiKey.FETCH else None
        """The metrics of other brokers' Fetches, which Kafka counts separately."""
        self.request: Any = None
        """The class that decodes a request."""
        self.flexible_from = 0

    def load(self) -> None:
        """Import the API's messages, and set the class that decodes requests."""
        self.request = messages_of(self.api.key).request
        self.flexible_from = self.request.FLEXIBLE_FROM

    def metrics_of(self, request: Any) -> RequestMetrics:
        """Return the metrics for a request: `of_followers` for a broker's Fetch, else `metrics`."""
        if self.of_followers is None:
            return self.metrics
        state = request.replica_state  # from v15 on
        replica_id = request.replica_id if state is None else state.replica_id
        return self.of_followers if replica_id >= 0 else self.metrics

    def counted(self, connection: ClientConnection, request: Any) -> RequestMetrics:
        """Count the request in its metrics, set these in the connection's times, return them."""
        metrics = self.metrics_of(request)
        metrics.begun()
        if connection.times is not None:
            connection.times.set_metrics(metrics)
        return metrics


class RequestHandler:
    """The handler of all requests that come to one node."""

    def __init__(
        self,
        apis: Iterable[Api] = (),
        prepared_max_bytes: int = 0,
        identity: Callable[[ClientIdentity, bytes], Hashable] = identity_of,
    ) -> None:
        """Serve these APIs. If `prepared_max_bytes` is 0, each request goes the general way."""
        self.apis: dict[int, Api] = {}
        self.admission = Admission()
        self._quotas: Quotas = NoQuotas()
        self.prepared = PreparedRequests(self.admission, prepared_max_bytes, identity)
        self._prepares = prepared_max_bytes > 0
        self._served: dict[int, _Served] = {}
        self._interference: Interference | None = None
        self._tracer: Tracer | None = None
        self._answers: SlicedAnswers | None = None
        self.serve(apis)

    def serve(self, apis: Iterable[Api]) -> None:
        """Serve these APIs too, in place of those that have the same key."""
        for api in apis:
            self.apis[int(api.key)] = api
            self._served[int(api.key)] = _Served(api)

    def interfere_by(self, interference: Interference | None) -> None:
        """Set the component that sees each request before its API does; None removes it."""
        self._interference = interference

    def trace_by(self, tracer: Tracer | None) -> None:
        """Set the tracer of requests of clients that ask for it; None: no request is traced."""
        self._tracer = tracer

    def slice_by(self, answers: SlicedAnswers) -> None:
        """Let `answers` decode requests too long for one turn, and encode their responses."""
        self._answers = answers

    def limit_by(self, quotas: Quotas) -> None:
        """Set the quotas of all further requests, and invalidate prepared requests."""
        self._quotas = quotas
        self.admission.changed()

    def served(self) -> list[Api]:
        return list(self.apis.values())

    @property
    def metrics(self) -> dict[int, RequestMetrics]:
        """The metrics by API key; those of other brokers' Fetches are in `follower_fetches`."""
        return {key: served.metrics for key, served in self._served.items()}

    @property
    def follower_fetches(self) -> RequestMetrics | None:
        """The metrics of other brokers' Fetches; None if the API is not served."""
        served = self._served.get(int(ApiKey.FETCH))
        return None if served is None else served.of_followers

    # --- prepared requests ----------------------------------------------------------------------

    def handle_at_once(
        self, connection: RequestSource, frame: memoryview, later: Later
    ) -> Answer | None:
        """Return the answer to a prepared request; None if `handle` must handle it. The answer is
        empty if the request gets no response, or if it comes by the callback that `later` returned.
        `frame` is used only until this returns. Raises ProtocolError if the connection is to be
        closed. Another exception is logged, and answered with UNKNOWN_SERVER_ERROR."""
        match = self.prepared.find(connection, frame)
        if match is None:
            return None
        entry, values = match
        try:
            answer = entry.request.answer(frame, values, later)
        except (ProtocolError, AssertionError):
            raise
        except Exception as error:  # noqa: BLE001 answered by _call_api; not tried a second time
            return self._say_failed(connection, frame, error)
        if answer is not None:
            entry.metrics.begun()
            if connection.times is not None:
                connection.times.set_metrics(entry.metrics)
        return answer

    def expect(self, connection: RequestSource, message: memoryview) -> ExpectedRequest | None:
        """Prepare for the connection's next request. `message` has the last one, its size first,
        and will have the next one. Return None if that is not possible."""
        frame = message[SIZE_BYTES:]
        if int.from_bytes(message[:SIZE_BYTES]) != len(frame):
            return None
        match = self.prepared.find(connection, frame)
        if match is None:
            return None
        entry, values = match
        expected = entry.request.expect(message, values)
        return expected and _Expected(self, connection, frame, entry, expected)

    def _say_failed(self, connection: Any, frame: memoryview, error: Exception) -> bytes:
        """Drop the prepared entry, log its `error`, and return UNKNOWN_SERVER_ERROR as answer."""
        self.prepared.invalidate(connection, frame)
        answers: list[Any] = []
        self.handle(connection, frame, _Collected(answers), error)
        return bytes(answers[0] or b"")

    # --- the general way ------------------------------------------------------------------------

    def handle(
        self,
        connection: ClientConnection,
        frame: memoryview,
        reply: ReplyPath,
        failure: Exception | None = None,
    ) -> None:
        """Answer one request, now or later. With `failure`, the exception of an earlier attempt,
        answer that the request failed. `frame` is used only until this returns. Raises
        ProtocolError if the connection is to be closed."""
        api_key, version, correlation_id, client_id, pos = read_request_header(frame)
        served = self._served.get(api_key)
        if served is None:
            raise ProtocolError(f"API key {api_key} is not served")
        if not served.oldest <= version <= served.latest:
            if api_key != _API_VERSIONS:
                raise ProtocolError(f"{served.api.key.name} version {version} is not served")
            self.say_range(connection, frame, reply)
            return
        if served.request is None:
            served.load()
        if version >= served.flexible_from:
            pos = skip_header_tags(frame, pos)
        rights = self.admission.rights_of(connection, client_id, api_key, version)
        context = _context_of(connection, api_key, version, correlation_id, client_id, rights)
        if self._quotas.enabled:
            quota = self._quotas.of(connection, client_id, api_key, version, len(frame))
            context.quota = quota
        answers = self._answers if failure is None else None
        if len(frame) <= SLICE_BYTES or answers is None:
            request = decode(served.request, frame, pos, version)
        else:
            short = first_slice(decode_steps(served.request, frame, pos, version))
            if not short:
                frame = reply.keep(frame)
                steps = decode_steps(served.request, frame, pos, version)
                context.writer = answers
                handle = partial(self._handle_read, served, connection, context, frame, reply)
                read_long(answers, connection, reply, steps, len(frame), handle)
                return
            (request,) = short
        self._handle_read(served, connection, context, frame, reply, request, failure)

    def _handle_read(
        self,
        served: _Served,
        connection: ClientConnection,
        context: RequestContext,
        frame: memoryview,
        reply: ReplyPath,
        request: Message,
        failure: Exception | None = None,
    ) -> None:
        """Count a decoded request, and let the interference or the API handle it, under its quota.
        If nothing is prepared for its kind, let the API prepare for further ones."""
        quota = context.quota
        metrics = served.counted(connection, request)
        tracer, times = self._tracer, connection.times
        context.trace = None if tracer is None else tracer.request(context, len(frame), times)
        if self._interference is not None and failure is None:
            self._meet_interference(self._interference, served, connection, context, request, reply)
            return
        respond = partial(_respond, context, reply)
        if context.writer is not None:
            respond = partial(_respond_to_long, context.writer, request, respond)
        if quota is not None:
            respond = partial(_respond_limited, quota, connection, respond)
            self._call_api(served, context, request, respond, failure)
            quota.handled()
            return
        prepares = self._prepares and served.api.prepare is not None and failure is None
        prepares = prepares and context.trace is None  # a traced one goes the general way each time
        if not prepares or self.prepared.find(connection, frame) is not None:
            self._call_api(served, context, request, respond, failure)
            return
        first = _FirstOfKind(self.prepared, context, metrics, self.admission.epoch, respond)
        self._call_api(served, context, request, first.respond, failure)
        self._prepare(served.api, first, frame, request)

    def _meet_interference(
        self,
        interference: Interference,
        served: _Served,
        connection: ClientConnection,
        context: RequestContext,
        request: Message,
        reply: ReplyPath,
    ) -> None:
        """Let the interference treat the request. It may call the API (`carry_out`)."""
        quota = context.quota
        refusal = partial(self.refusal, context.api_key)
        carry_out, answer = partial(self._call_api, served, context), partial(_respond, context)
        if quota is not None:
            answer = partial(_write_limited, quota, connection, context)
        say_range = partial(self._answer_range, served, replace(context, api_version=0), reply)
        interference.meet(Meeting(context, request, reply, carry_out, refusal, answer, say_range))
        if quota is not None:
            quota.handled()

    def say_range(self, connection: ClientConnection, frame: memoryview, reply: ReplyPath) -> None:
        """Answer an ApiVersions request of an unserved version with the served range."""
        api_key, version, correlation_id, client_id, pos = read_request_header(frame)
        served = self._served[api_key]
        if version > served.latest:
            skip_header_tags(frame, pos)  # a newer header has them too
        served.counted(connection, None)
        rights = self.admission.rights_of(connection, client_id, api_key, 0)
        context = _context_of(connection, api_key, 0, correlation_id, client_id, rights)
        self._answer_range(served, context, reply)

    def _answer_range(self, served: _Served, context: RequestContext, reply: ReplyPath) -> None:
        """Answer UNSUPPORTED_VERSION in version 0, with the range of ApiVersions (KIP-511)."""
        respond = partial(_respond_unsupported, partial(_respond, context, reply))
        self._call_api(served, context, messages_of(served.api.key).request(), respond)

    def _call_api(
        self,
        served: _Served,
        context: RequestContext,
        request: Any,
        respond: Callable[[Any], None],
        failure: Exception | None = None,
    ) -> None:
        """Call the handler, unless there is a `failure`. Log that or an exception of the handler,
        and answer UNKNOWN_SERVER_ERROR. Raises only ProtocolError and AssertionError."""
        try:
            if failure is not None:
                raise failure
            served.api.handle(context, request, respond)
        except (ProtocolError, AssertionError):
            raise
        except Exception as error:
            served.metrics_of(request).failed()
            # Names that the peer sent can be too long for a response: no bug, so log no trace.
            trace = None if isinstance(error, StringTooLong) else error
            name = served.api.key.name
            log.error("%s v%d failed: %s", name, context.api_version, error, exc_info=trace)
            respond(self.refusal(context.api_key, request, ErrorCode.UNKNOWN_SERVER_ERROR))

    def _prepare(self, api: Api, first: _FirstOfKind, frame: memoryview, request: Any) -> None:
        """Let the API prepare for requests like this one, which was handled. Log its exception."""
        assert api.prepare is not None
        try:
            prepared = api.prepare(first.context, frame, request)
        except AssertionError:
            raise
        except Exception:
            log.exception("%s v%d: not prepared", api.key.name, first.context.api_version)
            return
        kind = None if prepared is None else kind_of(prepared.shape, frame)
        if prepared is not None and kind is not None:
            first.prepare(kind, prepared)

    def refusal(self, api_key: int, request: Any, error: ErrorCode) -> Any:
        """Return the response that reports `error` for all of `request`.

        Raises ProtocolError if the API is not served, or its response cannot report an error.
        """
        api = self.apis.get(api_key)
        if api is None:
            raise ProtocolError(f"API key {api_key} is not served")
        if api.refuse is not None:
            response_or_error = api.refuse(request, error)
            if isinstance(response_or_error, ProtocolError):
                raise response_or_error
            return response_or_error
        response = messages_of(api.key).response()
        if not hasattr(response, "error_code"):
            raise ProtocolError(f"{api.key.name} has no way to say that it failed")
        response.error_code = int(error)
        return response


class _FirstOfKind:
    """A kind's first request. After it is handled and answered, the table prepares for the kind."""

    __slots__ = ("_epoch", "_metrics", "_prepared", "_respond", "_response", "_table", "context")

    def __init__(
        self,
        table: PreparedRequests,
        context: RequestContext,
        metrics: RequestMetrics,
        epoch: int,
        respond: Callable[[Any], None],
    ) -> None:
        """Store the arguments. `epoch` was read before the request was judged."""
        self.context = context
        self._table = table
        self._metrics = metrics
        self._epoch = epoch
        self._respond = respond
        self._prepared: tuple[Kind, PreparedRequest] | None = None
        self._response: Any = _NOT_YET

    def respond(self, response: Any) -> None:
        """Respond, and add the kind to the table if it is prepared already."""
        self._respond(response)
        if not isinstance(response, ProtocolError):
            self._response = response
            self._remember_if_complete()

    def prepare(self, kind: Kind, prepared: PreparedRequest) -> None:
        """Set the way to answer further requests. A response must allow it, before or after."""
        self._prepared = kind, prepared
        self._remember_if_complete()

    def _remember_if_complete(self) -> None:
        """Add the kind to the table if it is prepared, and its response is there and allows it."""
        if self._prepared is None or self._response is _NOT_YET:
            return
        kind, prepared = self._prepared
        if prepared.follows(self._response):
            self._table.remember(self.context, kind, prepared, self._epoch, self._metrics)


class _Expected:
    """An expected request, with what its answer needs beyond the API's own part."""

    __slots__ = ("_connection", "_entry", "_expected", "_frame", "_handler")

    def __init__(
        self,
        handler: RequestHandler,
        connection: RequestSource,
        frame: memoryview,
        entry: PreparedEntry,
        expected: ExpectedRequest,
    ) -> None:
        self._handler = handler
        self._connection = connection
        self._frame = frame
        self._entry = entry
        self._expected = expected

    def answer(self) -> Answer | None:
        """Return the answer; None: nothing was done, so handle the request in the general way."""
        try:
            answer = self._expected.answer()
        except (ProtocolError, AssertionError):
            raise
        except Exception as error:  # noqa: BLE001  as in handle_at_once
            return self._handler._say_failed(self._connection, self._frame, error)
        if answer is not None:
            self._entry.metrics.begun()
            if self._connection.times is not None:
                self._connection.times.set_metrics(self._entry.metrics)
        return answer

    def settle(self) -> None:
        """Do the work that may wait until the answer was passed to the connection."""
        self._expected.settle()


class _Collected:
    """A reply that collects the answer of a request that is answered during the call."""

    def __init__(self, answers: list[Any]) -> None:
        self._answers = answers

    def __call__(self, parts: Any) -> None:
        self._answers.append(parts)

    def keep(self, frame: memoryview) -> memoryview:
        """Raise ProtocolError: a long request is not answered during the call."""
        raise ProtocolError(f"a request of {len(frame)} bytes is not answered at once")

    def fail(self, error: BaseException) -> None:
        """Raise the error."""
        raise error

    def close(self) -> None:
        """Raise ProtocolError, which closes the connection."""
        raise ProtocolError("the answer cannot be written")

    def last(self, data: bytes) -> None:
        """Raise ProtocolError: these bytes cannot be sent."""
        raise ProtocolError(f"a connection that ends with {len(data)} bytes")


def _context_of(
    connection: ClientConnection,
    api_key: int,
    version: int,
    correlation_id: int,
    client_id: str | None,
    rights: Rights,
) -> RequestContext:
    return RequestContext(
        api_key,
        version,
        correlation_id,
        client_id,
        connection.client_host,
        connection.listener_name,
        connection.connection_id,
        rights,
        connection.principal,
        connection.security_protocol,
        connection.client_software_name,
        connection.client_software_version,
        connection,
        connection.token_authenticated,
    )


def _respond_limited(
    quota: RequestQuota, connection: ClientConnection, respond: Respond, response: Response
) -> None:
    """Count the response against the quota, throttle the connection if need be, and respond."""
    wait_ms = quota.answered(None if isinstance(response, ProtocolError) else response)
    if wait_ms:
        connection.throttled(wait_ms)
    respond(response)


def _write_limited(
    quota: RequestQuota,
    connection: ClientConnection,
    context: RequestContext,
    reply: ReplyPath,
    response: Any,
) -> None:
    """Write a response to `reply`, as `_respond_limited` does."""
    _respond_limited(quota, connection, partial(_respond, context, reply), response)


def _respond(context: RequestContext, reply: ReplyPath, response: Response) -> None:
    """Encode and send a response; None: send nothing. A ProtocolError closes the connection."""
    if response is None:
        reply(None)
    elif isinstance(response, ProtocolError):
        reply.fail(response)
    elif context.writer is None:
        _encode_reply(context, reply, response)
    else:
        context.writer.write(response, context.api_version, partial(_encode_reply, context, reply))


def _respond_to_long(
    writer: ResponseWriter, request: Message, respond: Respond, response: Response
) -> None:
    """Respond, and then free the request in slices."""
    respond(response)
    writer.free(request)


def _encode_reply(context: RequestContext, reply: ReplyPath, response: Message) -> None:
    """Encode and send the response. If encoding fails, log that and close the connection."""
    try:
        parts = response_parts(response, context.api_version, context.correlation_id)
    except StringTooLong as error:  # names that the client sent: no response can report this
        name, connection = ApiKey(context.api_key).name, context.connection_id
        log.warning("closing %s: %s v%d: %s", connection, name, context.api_version, error)
        reply.close()
        return
    except Exception:
        # Other answers may be sent in the same turn: only this one is lost.
        log.exception("a response to %s v%d", ApiKey(context.api_key).name, context.api_version)
        reply.close()
        return
    reply(parts)


def _respond_unsupported(respond: Callable[[Any], None], response: Any) -> None:
    """Respond UNSUPPORTED_VERSION, and of the served APIs only ApiVersions."""
    response.error_code = int(ErrorCode.UNSUPPORTED_VERSION)
    response.api_keys = [k for k in response.api_keys if k.api_key == ApiKey.API_VERSIONS]
    respond(response)
