"""Envelope: v0. A client's request that a broker forwards to the active controller (KIP-590).

Behaviour: the request inside is decoded, answered and encoded in its own version, as if the client
had sent it here. Its principal, whether the principal logged in by a delegation token, its address
and its controller mutation quota are the client's; listener and security protocol are the
Envelope's. If this node is not the active controller, the Envelope's error is NOT_CONTROLLER and
there is no response inside, so that the broker tries another node. Served on the controller
listener only.

An unreadable principal is PRINCIPAL_DESERIALIZATION_FAILURE, before any other check. An invalid
address, or an API that is never forwarded, is INVALID_REQUEST. An unreadable request is
UNSUPPORTED_VERSION, as in Apache Kafka.

Rights: the sender of an Envelope needs ClusterAction on the cluster, otherwise it is
CLUSTER_AUTHORIZATION_FAILED. The request inside is authorized for the client, by this node.

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
    ClientIdentity,
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

RightsOf = Callable[[ClientIdentity, str | None, int, int], Rights]
"""Returns the rights of a client: peer, client id, API key and version of its request."""
QuotaOf = Callable[[ClientIdentity, str | None, int, int], RequestQuota | None]
"""Returns the quota of the same request; None if it has none."""


class EnvelopeApi:
    """The handler of Envelope."""

    def __init__(
        self,
        inside: Iterable[Api],
        rights_of: RightsOf,
        answers: SlicedAnswers,
        quota_of: QuotaOf = lambda _asker, _client_id, _key, _version: None,
    ) -> None:
        """`inside` are the APIs that brokers may forward; `answers` reads and writes long requests.

        `rights_of` and `quota_of` return the rights and the quota of a client on this node.
        """
        self._rights_of = rights_of
        self._answers = answers
        self._quota_of = quota_of
        self._inside = {int(api.key): api for api in inside}

    def apis(self) -> list[Api]:
        return [Api(ApiKey.ENVELOPE, 0, 0, self.handle)]

    def handle(self, context: RequestContext, request: EnvelopeRequest, respond: Respond) -> None:
        """Answer the request inside the Envelope, with the client's rights.

        Respond with an error if the Envelope is invalid, or its sender lacks CLUSTER_ACTION on the
        cluster.
        """
        if not context.rights.allows_on_cluster(Operation.CLUSTER_ACTION):
            respond(EnvelopeResponse(None, ErrorCode.CLUSTER_AUTHORIZATION_FAILED))
            return
        steps = self._open(context, request)
        if len(request.request_data) > SLICE_BYTES:
            size_bytes = len(request.request_data)
            self._answers.read(steps, size_bytes, partial(self._opened, respond))
            return
        try:
            inner, body = in_one_go(steps)
        except _Refused as refused:
            respond(EnvelopeResponse(b"", refused.error_code))
            return
        self._handle_inner(respond, inner, body)

    def _opened(
        self,
        respond: Respond,
        inside: tuple[RequestContext, Message] | None,
        error: Exception | None,
    ) -> None:
        """Handle the request of a long Envelope, after it was read in slices. Respond with an error
        if reading or handling failed."""
        try:
            if error is not None:
                raise error
            assert inside is not None, "an Envelope that is read has a request, or an error"
            self._handle_inner(respond, *inside)
        except _Refused as refused:
            respond(EnvelopeResponse(b"", refused.error_code))
        except AssertionError:
            raise
        except Exception:  # noqa: BLE001  logged and answered, as by the request handler
            _log.exception("a long ENVELOPE failed")
            respond(EnvelopeResponse(b"", ErrorCode.UNKNOWN_SERVER_ERROR))

    def _handle_inner(self, respond: Respond, inner: RequestContext, request: Message) -> None:
        """Handle the inner request, and respond with its encoded response in an Envelope.

        If that says NOT_CONTROLLER, the Envelope does, so that the broker tries the other
        controller.
        """

        def answer(response: Any) -> None:
            """Respond NOT_CONTROLLER if `response` says so; otherwise count it in the client's
            quota and encode it."""
            if tells_not_controller(response):
                respond(EnvelopeResponse(b"", ErrorCode.NOT_CONTROLLER))
                return
            if inner.quota is not None:
                inner.quota.answered(response)  # the broker that forwarded it delays the client
            self._answers.write(response, inner.api_version, written)

        def written(response: Message) -> None:
            """Respond with an Envelope around the encoded response."""
            out = encode_response(response, inner.api_version, inner.correlation_id)
            respond(EnvelopeResponse(bytes(out.joined())[4:], ErrorCode.NONE))

        self._inside[inner.api_key].handle(inner, request, answer)

    def _open(
        self, context: RequestContext, envelope: EnvelopeRequest
    ) -> Steps[tuple[RequestContext, Message]]:
        """Return the client's context and the request inside. Raises _Refused if it is invalid."""
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
    """An invalid Envelope, with the error to answer."""

    def __init__(self, error_code: ErrorCode) -> None:
        super().__init__(error_code)
        self.error_code = error_code


def wrap(context: RequestContext, request: Any) -> Steps[EnvelopeRequest]:
    """Return, in slices, an Envelope with a client's request, encoded in that request's version."""
    request = yield from written_arrays(request, context.api_version, Pace())
    frame = encode_request(request, context.api_version, context.correlation_id, context.client_id)
    principal = _principal(context.principal, context.token_authenticated)
    return EnvelopeRequest(frame[4:], principal, _address(context.client_host))


def unwrap(context: RequestContext, envelope: EnvelopeResponse) -> Steps[Any | None]:
    """Return, in slices, the response inside; None if another node must be asked.

    Raises ProtocolError if the controller rejected the Envelope, or if its content is invalid.
    """
    if envelope.error_code == _NOT_CONTROLLER:
        return None
    if envelope.error_code or envelope.response_data is None:
        raise ProtocolError(f"the controller refused an Envelope: {envelope.error_code}")
    inside = memoryview(envelope.response_data)
    key = ApiKey(context.api_key)
    return (yield from decode_response_steps(key, inside, context.api_version))


def tells_not_controller(response: Any) -> bool:
    """Return whether the response, or the first element of one of its lists, is NOT_CONTROLLER."""
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
    """Return a principal's bytes as `DefaultKafkaPrincipalBuilder` writes them.

    They are a version, then DefaultPrincipalData.
    """
    from protocol.messages.consumer_protocol import DefaultPrincipalData

    kind, _, name = principal.partition(":")
    out = MessageBuffer()
    out += _PRINCIPAL_VERSION
    DefaultPrincipalData(kind, name, by_token).write(out, 0)
    return bytes(out.joined())


def _principal_of(data: bytes | None) -> tuple[str, bool]:
    """Return the principal that `_principal` wrote, and whether it logged in by a delegation token.

    Raises _Refused if the bytes are invalid.
    """
    from protocol.messages.consumer_protocol import DefaultPrincipalData

    view = memoryview(data or b"")
    if view[:2] != _PRINCIPAL_VERSION:
        raise _Refused(ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE)
    try:
        principal = decode(DefaultPrincipalData, view, len(_PRINCIPAL_VERSION), 0)
    except ProtocolError as error:
        raise _Refused(ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE) from error
    return f"{principal.type}:{principal.name}", principal.token_authenticated


def _host_of(address: bytes) -> str:
    """Return the text of an IP address of 4 or 16 bytes. Raises _Refused for another length."""
    if len(address) not in (4, 16):
        raise _Refused(ErrorCode.INVALID_REQUEST)
    return address_of_bytes(bytes(address))


def _address(host: str) -> bytes:
    """Return an IP address as its 4 or 16 bytes, without its zone, as Kafka does; four zero bytes
    if it is none."""
    return bytes_of_address(host) or _NO_ADDRESS
