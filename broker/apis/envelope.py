"""Envelope: v0. A client's request that a broker passes on to the active controller (KIP-590).

Behaviour: the request inside is decoded, answered and encoded in its own version, as if the client
had sent it here: its principal, with whether a delegation token logged in, and its address are the
client's, as the broker wrote them, and so is its quota of changes to partitions; listener and
security protocol are the Envelope's own. Where
this node is not the active controller (any more), the Envelope's own error is NOT_CONTROLLER and
there is nothing inside, so that the broker tries elsewhere. Served on the controller listener only.

A principal that cannot be read is PRINCIPAL_DESERIALIZATION_FAILURE, before anything else is looked
at; an address that is none, and an API that is not passed on, are INVALID_REQUEST; a request that
cannot be read is UNSUPPORTED_VERSION, as Apache Kafka 4.3 answers.

Rights: who sends an Envelope needs ClusterAction on the cluster, else it is
CLUSTER_AUTHORIZATION_FAILED; what is inside is judged for the client, by this node.

Follows Kafka's `EnvelopeUtils`, `ForwardingManagerUtil` and `RequestChannel.buildResponseSend`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

from broker.requests.context import (
    UNKNOWN_SOFTWARE,
    Api,
    Asker,
    RequestContext,
    RequestQuota,
    Respond,
)
from broker.requests.sliced_answers import SlicedAnswers, written_arrays
from controller.authorization.rights import Rights
from ground.sliced_work import Pace, Steps, in_one_go
from ottla.plugins.authorizer import Operation
from protocol.api_keys import ApiKey, messages_of
from protocol.errors import ErrorCode, ProtocolError
from protocol.frames.message_codec import (
    decode,
    decode_response_steps,
    decode_steps,
    encode_request,
    encode_response,
    read_request_header,
    skip_header_tags,
)
from protocol.ip_address import address_of_bytes, bytes_of_address
from protocol.message import Message
from protocol.messages.envelope import EnvelopeRequest, EnvelopeResponse
from protocol.primitives import SLICE_BYTES, MessageBuffer

_log = logging.getLogger(f"ottla.{__name__}")

_NOT_CONTROLLER = int(ErrorCode.NOT_CONTROLLER)
_NO_ADDRESS = bytes(4)
_PRINCIPAL_VERSION = bytes(2)

RightsOf = Callable[[Asker, str | None, int, int], Rights]
"""Of who asks with a client id, by a request with its API key and version."""
QuotaOf = Callable[[Asker, str | None, int, int], RequestQuota | None]
"""The same for what limits it; None: nothing."""


class EnvelopeApi:
    """Opens envelopes."""

    def __init__(
        self,
        inside: Iterable[Api],
        rights_of: RightsOf,
        answers: SlicedAnswers,
        quota_of: QuotaOf = lambda _asker, _client_id, _key, _version: None,
    ) -> None:
        """`inside` are the APIs that may be passed on, `answers` reads and writes long requests;
        `rights_of` and `quota_of` are those of clients, on this node."""
        self._rights_of = rights_of
        self._answers = answers
        self._quota_of = quota_of
        self._inside = {int(api.key): api for api in inside}

    def apis(self) -> list[Api]:
        """The API with its range."""
        return [Api(ApiKey.ENVELOPE, 0, 0, self.handle)]

    def handle(self, context: RequestContext, request: EnvelopeRequest, respond: Respond) -> None:
        """Answer the request inside."""
        if not context.rights.allows_on_cluster(Operation.CLUSTER_ACTION):
            respond(EnvelopeResponse(None, ErrorCode.CLUSTER_AUTHORIZATION_FAILED))
            return
        steps = self._open(context, request)
        if len(request.request_data) > SLICE_BYTES:
            self._answers.read(steps, partial(self._opened, respond))
            return
        try:
            inner, body = in_one_go(steps)
        except _Refused as refused:
            respond(EnvelopeResponse(b"", refused.error_code))
            return
        self._handle_inside(respond, inner, body)

    def _opened(
        self,
        respond: Respond,
        inside: tuple[RequestContext, Message] | None,
        error: Exception | None,
    ) -> None:
        """Handle the request of a long Envelope, which was read in slices."""
        try:
            if error is not None:
                raise error
            assert inside is not None, "an Envelope that is read has a request, or an error"
            self._handle_inside(respond, *inside)
        except _Refused as refused:
            respond(EnvelopeResponse(b"", refused.error_code))
        except AssertionError:
            raise
        except Exception:  # noqa: BLE001  logged and answered, as by the request handler
            _log.exception("a long ENVELOPE failed")
            respond(EnvelopeResponse(b"", ErrorCode.UNKNOWN_SERVER_ERROR))

    def _handle_inside(self, respond: Respond, inner: RequestContext, request: Message) -> None:
        def answer(response: Any) -> None:
            if tells_not_controller(response):
                respond(EnvelopeResponse(b"", ErrorCode.NOT_CONTROLLER))
                return
            if inner.quota is not None:
                inner.quota.answered(response)  # the broker that passed it on lets it wait
            self._answers.write(response, inner.api_version, written)

        def written(response: Message) -> None:
            out = encode_response(response, inner.api_version, inner.correlation_id)
            respond(EnvelopeResponse(bytes(out.joined())[4:], ErrorCode.NONE))

        self._inside[inner.api_key].handle(inner, request, answer)

    def _open(
        self, context: RequestContext, envelope: EnvelopeRequest
    ) -> Steps[tuple[RequestContext, Message]]:
        """Return who asks, and the request inside. Raises _Refused."""
        principal, by_token = _principal_of(envelope.request_principal)
        host = _host_of(envelope.client_host_address)
        frame = memoryview(envelope.request_data)
        try:
            api_key, version, correlation_id, client_id, pos = read_request_header(frame)
            api = self._inside.get(api_key)
            if api is None:
                raise _Refused(ErrorCode.INVALID_REQUEST)
            if not api.oldest <= version <= api.latest:
                raise _Refused(ErrorCode.UNSUPPORTED_VERSION)
            message = messages_of(api.key).request
            if version >= message.FLEXIBLE_FROM:
                pos = skip_header_tags(frame, pos)
            body = yield from decode_steps(message, frame, pos, version)
        except ProtocolError as error:
            raise _Refused(ErrorCode.UNSUPPORTED_VERSION) from error
        inner = replace(
            context,
            api_key=api_key,
            api_version=version,
            correlation_id=correlation_id,
            client_id=client_id,
            client_host=host,
            principal=principal,
            client_software_name=UNKNOWN_SOFTWARE,
            client_software_version=UNKNOWN_SOFTWARE,
            connection=None,
            token_authenticated=by_token,
        )
        rights = self._rights_of(inner, client_id, api_key, version)
        quota = self._quota_of(inner, client_id, api_key, version)
        return replace(inner, rights=rights, quota=quota), body


class _Refused(Exception):
    """An Envelope that is not opened."""

    def __init__(self, error_code: ErrorCode) -> None:
        super().__init__(error_code)
        self.error_code = error_code


def wrap(context: RequestContext, request: Any) -> Steps[EnvelopeRequest]:
    """A client's request, to be passed on in its own version."""
    request = yield from written_arrays(request, context.api_version, Pace())
    frame = encode_request(request, context.api_version, context.correlation_id, context.client_id)
    principal = _principal(context.principal, context.token_authenticated)
    return EnvelopeRequest(frame[4:], principal, _address(context.client_host))


def unwrap(context: RequestContext, envelope: EnvelopeResponse) -> Steps[Any | None]:
    """The response inside; None where another node has to be asked. Raises ProtocolError."""
    if envelope.error_code == _NOT_CONTROLLER:
        return None
    if envelope.error_code or envelope.response_data is None:
        raise ProtocolError(f"the controller refused an Envelope: {envelope.error_code}")
    inside = memoryview(envelope.response_data)
    key = ApiKey(context.api_key)
    return (yield from decode_response_steps(key, inside, context.api_version))


def tells_not_controller(response: Any) -> bool:
    """Whether a response says NOT_CONTROLLER, as a whole or for its parts, the first included."""
    if response is None:
        return False
    if getattr(response, "error_code", 0) == _NOT_CONTROLLER:
        return True
    return any(
        getattr(part, "error_code", 0) == _NOT_CONTROLLER
        for name in response.__slots__
        if isinstance(parts := getattr(response, name), list)
        for part in parts[:1]
    )


def _principal(principal: str, by_token: bool) -> bytes:
    """As `DefaultKafkaPrincipalBuilder` writes it: a version, then DefaultPrincipalData."""
    from protocol.messages.consumer_protocol import DefaultPrincipalData

    kind, _, name = principal.partition(":")
    out = MessageBuffer()
    out += _PRINCIPAL_VERSION
    DefaultPrincipalData(kind, name, by_token).write(out, 0)
    return bytes(out.joined())


def _principal_of(data: bytes | None) -> tuple[str, bool]:
    """The reverse, and whether a delegation token logged in. Raises _Refused."""
    from protocol.messages.consumer_protocol import DefaultPrincipalData

    view = memoryview(data or b"")
    if view[:2] != _PRINCIPAL_VERSION:
        raise _Refused(ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE)
    try:
        found = decode(DefaultPrincipalData, view, len(_PRINCIPAL_VERSION), 0)
    except ProtocolError as error:
        raise _Refused(ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE) from error
    return f"{found.type}:{found.name}", found.token_authenticated


def _host_of(address: bytes) -> str:
    """The text of an IP address of 4 or 16 bytes. Raises _Refused."""
    if len(address) not in (4, 16):
        raise _Refused(ErrorCode.INVALID_REQUEST)
    return address_of_bytes(bytes(address))


def _address(host: str) -> bytes:
    """An IP address as its 4 or 16 bytes, which leave its zone out, as Kafka's do."""
    return bytes_of_address(host) or _NO_ADDRESS
