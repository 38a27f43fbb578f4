"""Frame → header → request → API → response → frame: the only place that catches.

Two ways. What is prepared (`broker.requests.prepared`) is answered from the frame alone. All else
goes the general way: read, handled by its API with the rights that `broker.requests.admission`
gives, written; and when such a request has been answered, its API may prepare for the next one like
it.

Holds the three kinds of wrong apart. Bytes that are no request raise `ProtocolError`, which closes
the connection. What an API refuses is in its response. Any other exception is our own bug: it is
logged once and answered with UNKNOWN_SERVER_ERROR, except an `AssertionError`, a broken invariant,
which goes on to stop the process.

Quotas meet a request here, and nowhere else in this room. While any is set, one look-up says
whether one limits who sent it (`broker.quotas`). If so, `context.quota` goes along: an API whose
answer depends on the quota asks it (Fetch, and the controller about partitions), and when the
answer is made, it is told in `throttle_time_ms` how long the client has to wait, and the connection
is then not read for that long. Of such a request nothing is prepared. Whoever changes a quota calls
`admission.changed`, so that no prepared answer outlives it.

An ApiVersions request newer than ours is answered in version 0 with our range (KIP-511).
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
    Asker,
    AskingConnection,
    Connection,
    Expected,
    Later,
    NoQuotas,
    PreparedRequest,
    Quotas,
    RequestContext,
    RequestQuota,
    Respond,
    Response,
    ResponseWriter,
)
from broker.requests.interference import Interference, Meeting, Reply
from broker.requests.long_requests import read_long
from broker.requests.prepared import Entry, Kind, PreparedRequests, identity_of, kind_of
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
"""API key, version, correlation id, client id."""

_NOT_YET = object()
_API_VERSIONS = int(ApiKey.API_VERSIONS)


class Entrance(Protocol):
    """Where frames come in from the network: `RequestHandler`, or who stands before it."""

    def handle(self, connection: Connection, frame: memoryview, reply: Reply) -> None:
        """See `RequestHandler`."""

    def handle_at_once(
        self, connection: Connection, frame: memoryview, later: Later
    ) -> Answer | None:
        """See `RequestHandler`."""

    def expect(self, connection: Connection, message: memoryview) -> Expected | None:
        """See `RequestHandler`."""


class _Served:
    """One API with what a request of it needs; its messages are imported by the first one."""

    __slots__ = ("api", "flexible_from", "latest", "metrics", "of_followers", "oldest", "request")

    def __init__(self, api: Api) -> None:
        self.api = api
        self.oldest = api.oldest
        self.latest = api.latest
        self.metrics = RequestMetrics()
        self.of_followers = RequestMetrics() if api.key is ApiKey.FETCH else None
        """Fetches of other brokers, which Kafka counts apart."""
        self.request: Any = None
        """The class that reads it."""
        self.flexible_from = 0

    def load(self) -> None:
        self.request = messages_of(self.api.key).request
        self.flexible_from = self.request.FLEXIBLE_FROM

    def metrics_of(self, request: Any) -> RequestMetrics:
        """Where a request that was read is counted."""
        if self.of_followers is None:
            return self.metrics
        state = request.replica_state  # from v15 on
        replica_id = request.replica_id if state is None else state.replica_id
        return self.of_followers if replica_id >= 0 else self.metrics

    def counted(self, connection: Connection, request: Any) -> RequestMetrics:
        """Where the request is counted, which that connection has sent."""
        metrics = self.metrics_of(request)
        metrics.begun()
        if connection.times is not None:
            connection.times.of(metrics)
        return metrics


class RequestHandler:
    """All APIs of one node."""

    def __init__(
        self,
        apis: Iterable[Api] = (),
        prepared_max_bytes: int = 0,
        identity: Callable[[Asker, bytes], Hashable] = identity_of,
    ) -> None:
        """`prepared_max_bytes`: what may be prepared for; 0: each request goes the general way."""
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
        """These, too: what they are made of may use this handler."""
        for api in apis:
            self.apis[int(api.key)] = api
            self._served[int(api.key)] = _Served(api)

    def interfere_by(self, interference: Interference | None) -> None:
        """Who comes between each request and its API from now on; None: nobody."""
        self._interference = interference

    def trace_by(self, tracer: Tracer | None) -> None:
        """Who follows requests of clients that ask for it; None: nobody does."""
        self._tracer = tracer

    def read_by(self, answers: SlicedAnswers) -> None:
        """Have `answers` read requests that are too long for one turn of the loop."""
        self._answers = answers

    def limit_by(self, quotas: Quotas) -> None:
        """From now on by these."""
        self._quotas = quotas
        self.admission.changed()

    def served(self) -> list[Api]:
        """All APIs."""
        return list(self.apis.values())

    @property
    def metrics(self) -> dict[int, RequestMetrics]:
        """Counts by API key; those of other brokers' Fetches are in `follower_fetches`."""
        return {key: served.metrics for key, served in self._served.items()}

    @property
    def follower_fetches(self) -> RequestMetrics | None:
        """Of Fetches of other brokers; None: the API is not served."""
        served = self._served.get(int(ApiKey.FETCH))
        return None if served is None else served.of_followers

    # --- what is prepared -----------------------------------------------------------------------

    def handle_at_once(
        self, connection: AskingConnection, frame: memoryview, later: Later
    ) -> Answer | None:
        """The answer to a request that is like one before it, empty where there is to be none, or
        where it comes by what `later` gave; None where `handle` is to be asked. `frame` is used
        only until this returns.

        Raises ProtocolError where the connection is to be closed.
        """
        found = self.prepared.find(connection, frame)
        if found is None:
            return None
        entry, values = found
        try:
            answer = entry.request.answer(frame, values, later)
        except (ProtocolError, AssertionError):
            raise
        except Exception as error:  # noqa: BLE001  answered by _ask; not tried a second time
            return self._say_failed(connection, frame, error)
        if answer is not None:
            entry.metrics.begun()
            if connection.times is not None:
                connection.times.of(entry.metrics)
        return answer

    def expect(self, connection: AskingConnection, message: memoryview) -> Expected | None:
        """Prepare for the connection's next request, which will lie in `message`, its size first,
        as the last one does now. None where that is not possible."""
        frame = message[SIZE_BYTES:]
        if int.from_bytes(message[:SIZE_BYTES]) != len(frame):
            return None
        found = self.prepared.find(connection, frame)
        if found is None:
            return None
        entry, values = found
        expected = entry.request.expect(message, values)
        return expected and _Expected(self, connection, frame, entry, expected)

    def _say_failed(self, connection: Any, frame: memoryview, error: Exception) -> bytes:
        """The answer to a request that something was prepared for, which failed."""
        self.prepared.forget(connection, frame)
        answers: list[Any] = []
        self.handle(connection, frame, _Collected(answers), error)
        return bytes(answers[0] or b"")

    # --- the general way ------------------------------------------------------------------------

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
            if api_key != _API_VERSIONS:
                raise ProtocolError(f"{served.api.key.name} version {version} is not served")
            self.say_range(connection, frame, reply)
            return
        if served.request is None:
            served.load()
        if version >= served.flexible_from:
            pos = skip_header_tags(frame, pos)
        rights = self.admission.rights_of(connection, client_id, api_key, version)
        context = _context(connection, api_key, version, correlation_id, client_id, rights)
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
        connection: Connection,
        context: RequestContext,
        frame: memoryview,
        reply: Reply,
        request: Message,
        failure: Exception | None = None,
    ) -> None:
        """Have a request that was read handled by its API."""
        quota = context.quota
        metrics = served.counted(connection, request)
        tracer, times = self._tracer, connection.times
        context.trace = None if tracer is None else tracer.request(context, len(frame), times)
        if self._interference is not None and failure is None:
            self._meet(self._interference, served, connection, context, request, reply)
            return
        respond = partial(_respond, context, reply)
        if context.writer is not None:
            respond = partial(_respond_to_long, context.writer, request, respond)
        if quota is not None:
            respond = partial(_respond_limited, quota, connection, respond)
            self._ask(served, context, request, respond, failure)
            quota.handled()
            return
        prepares = self._prepares and served.api.prepare is not None and failure is None
        prepares = prepares and context.trace is None  # who is followed comes by here each time
        if not prepares or self.prepared.find(connection, frame) is not None:
            self._ask(served, context, request, respond, failure)
            return
        first = _First(self.prepared, context, metrics, self.admission.epoch, respond)
        self._ask(served, context, request, first.respond, failure)
        self._prepare(served.api, first, frame, request)

    def _meet(
        self,
        interference: Interference,
        served: _Served,
        connection: Connection,
        context: RequestContext,
        request: Message,
        reply: Reply,
    ) -> None:
        quota = context.quota
        refusal = partial(self.refusal, context.api_key)
        ask, write = partial(self._ask, served, context), partial(_respond, context)
        if quota is not None:
            write = partial(_write_limited, quota, connection, context)
        say_range = partial(self._answer_range, served, replace(context, api_version=0), reply)
        interference.meet(Meeting(context, request, reply, ask, refusal, write, say_range))
        if quota is not None:
            quota.handled()

    def say_range(self, connection: Connection, frame: memoryview, reply: Reply) -> None:
        """Answer an ApiVersions request as one whose version is not served: with our range."""
        api_key, version, correlation_id, client_id, pos = read_request_header(frame)
        served = self._served[api_key]
        if version > served.latest:
            skip_header_tags(frame, pos)  # a newer header has them, too
        served.counted(connection, None)
        rights = self.admission.rights_of(connection, client_id, api_key, 0)
        context = _context(connection, api_key, 0, correlation_id, client_id, rights)
        self._answer_range(served, context, reply)

    def _answer_range(self, served: _Served, context: RequestContext, reply: Reply) -> None:
        """Say in version 0, which any client reads, that a version is not served (KIP-511)."""
        respond = partial(_unsupported, partial(_respond, context, reply))
        self._ask(served, context, messages_of(served.api.key).request(), respond)

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
            served.metrics_of(request).failed()
            # The peer's names can be too long for a record: no bug of ours, so no trace.
            trace = None if isinstance(error, StringTooLong) else error
            name = served.api.key.name
            log.error("%s v%d failed: %s", name, context.api_version, error, exc_info=trace)
            respond(self.refusal(context.api_key, request, ErrorCode.UNKNOWN_SERVER_ERROR))

    def _prepare(self, api: Api, first: _First, frame: memoryview, request: Any) -> None:
        """Prepare for requests like this one, which is handled, and whose frame is still there."""
        assert api.prepare is not None
        try:
            prepared = api.prepare(first.context, frame, request)
        except AssertionError:
            raise
        except Exception:
            log.exception("%s v%d: not prepared", api.key.name, first.context.api_version)
            return
        found = None if prepared is None else kind_of(prepared.shape, frame)
        if prepared is not None and found is not None:
            first.prepare(found, prepared)

    def refusal(self, api_key: int, request: Any, error: ErrorCode) -> Any:
        """The response that says `error` for all of `request`.

        Raises ProtocolError for an API that is not served, or whose response cannot say it.
        """
        api = self.apis.get(api_key)
        if api is None:
            raise ProtocolError(f"API key {api_key} is not served")
        if api.refuse is not None:
            refused = api.refuse(request, error)
            if isinstance(refused, ProtocolError):
                raise refused
            return refused
        response = messages_of(api.key).response()
        if not hasattr(response, "error_code"):
            raise ProtocolError(f"{api.key.name} has no way to say that it failed")
        response.error_code = int(error)
        return response


class _First:
    """A request for whose kind nothing is prepared: that is done when it is handled and answered,
    whichever is later."""

    __slots__ = ("_epoch", "_metrics", "_prepared", "_respond", "_response", "_table", "context")

    def __init__(
        self,
        table: PreparedRequests,
        context: RequestContext,
        metrics: RequestMetrics,
        epoch: int,
        respond: Callable[[Any], None],
    ) -> None:
        """`epoch`: as it was read before the request was judged."""
        self.context = context
        self._table = table
        self._metrics = metrics
        self._epoch = epoch
        self._respond = respond
        self._prepared: tuple[Kind, PreparedRequest] | None = None
        self._response: Any = _NOT_YET

    def respond(self, response: Any) -> None:
        """Answer the request."""
        self._respond(response)
        if not isinstance(response, ProtocolError):
            self._response = response
            self._remember()

    def prepare(self, kind: Kind, prepared: PreparedRequest) -> None:
        """The request is handled, and this is for those that follow."""
        self._prepared = kind, prepared
        self._remember()

    def _remember(self) -> None:
        if self._prepared is None or self._response is _NOT_YET:
            return
        kind, prepared = self._prepared
        if prepared.follows(self._response):
            self._table.remember(self.context, kind, prepared, self._epoch, self._metrics)


class _Expected:
    """What an API expects, with what each answer needs."""

    __slots__ = ("_connection", "_entry", "_expected", "_frame", "_handler")

    def __init__(
        self,
        handler: RequestHandler,
        connection: AskingConnection,
        frame: memoryview,
        entry: Entry,
        expected: Expected,
    ) -> None:
        self._handler = handler
        self._connection = connection
        self._frame = frame
        self._entry = entry
        self._expected = expected

    def answer(self) -> Answer | None:
        try:
            answer = self._expected.answer()
        except (ProtocolError, AssertionError):
            raise
        except Exception as error:  # noqa: BLE001  as in handle_at_once
            return self._handler._say_failed(self._connection, self._frame, error)
        if answer is not None:
            self._entry.metrics.begun()
            if self._connection.times is not None:
                self._connection.times.of(self._entry.metrics)
        return answer

    def settle(self) -> None:
        self._expected.settle()


class _Collected:
    """The reply of a request that is answered during the call."""

    def __init__(self, answers: list[Any]) -> None:
        self._answers = answers

    def __call__(self, parts: Any) -> None:
        self._answers.append(parts)

    def keep(self, frame: memoryview) -> memoryview:
        raise ProtocolError(f"a request of {len(frame)} bytes is not answered at once")

    def fail(self, error: BaseException) -> None:
        raise error

    def close(self) -> None:
        raise ProtocolError("the answer cannot be written")

    def last(self, data: bytes) -> None:
        raise ProtocolError(f"a connection that ends with {len(data)} bytes")


def _context(
    connection: Connection,
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
    quota: RequestQuota,
    connection: Connection,
    respond: Respond,
    response: Response,
) -> None:
    wait_ms = quota.answered(None if isinstance(response, ProtocolError) else response)
    if wait_ms:
        connection.throttled(wait_ms)
    respond(response)


def _write_limited(
    quota: RequestQuota,
    connection: Connection,
    context: RequestContext,
    reply: Reply,
    response: Any,
) -> None:
    _respond_limited(quota, connection, partial(_respond, context, reply), response)


def _respond(context: RequestContext, reply: Reply, response: Response) -> None:
    if response is None:
        reply(None)
    elif isinstance(response, ProtocolError):
        reply.fail(response)
    elif context.writer is None:
        _write(context, reply, response)
    else:
        context.writer.write(response, context.api_version, partial(_write, context, reply))


def _respond_to_long(
    writer: ResponseWriter, request: Message, respond: Respond, response: Response
) -> None:
    respond(response)
    writer.let_go(request)


def _write(context: RequestContext, reply: Reply, response: Message) -> None:
    try:
        parts = response_parts(response, context.api_version, context.correlation_id)
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
