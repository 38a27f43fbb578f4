"""The codec of whole requests and responses: a frame's bytes to header and message, and back.

Generated `read` methods rely on the primitives to check lengths; if bytes end too soon, Python's
own errors are raised. `decode` turns each of them into a `ProtocolError`. Never does I/O.

`ottla.testing.requests.Request` is the same concept, decoded to plain values for a test.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from struct import Struct
from struct import error as StructError
from typing import Any, ClassVar, Protocol, cast

from protocol import primitives
from protocol.api_keys import ApiKey, messages_of
from protocol.errors import ProtocolError
from protocol.malformed_text import REPLACED
from protocol.message import Message, SlicedMessage
from protocol.primitives import SLICE_BYTES, SLICES_MAX, MessageBuffer, RecordSlice

_REQUEST_HEAD = Struct(">hhi")  # API key, version, correlation id
_REQUEST_HEADER = Struct(">hhih")  # the same, and the length of the client id
_SIZE_AND_CORRELATION = Struct(">ii")
_SIZE = Struct(">i")
_API_VERSIONS = int(ApiKey.API_VERSIONS)  # comparing enum members takes a call

ResponseParts = bytes | MessageBuffer | Sequence[bytes | memoryview | RecordSlice]
"""A whole response for the network: one piece, or parts in their order."""

DECODE_ERRORS = (ProtocolError, IndexError, StructError, ValueError)


class Request(Protocol):
    """The interface of every generated request class, for its sender."""

    API_KEY: ClassVar[int]
    MIN_VERSION: ClassVar[int]
    MAX_VERSION: ClassVar[int]
    FLEXIBLE_FROM: ClassVar[int]

    def write(self, out: MessageBuffer, version: int) -> None:
        """Append the message's bytes to `out`."""


def decode(message: Any, buf: memoryview, pos: int, version: int) -> Any:
    """Return the message of class `message` that begins at `pos`. Raises ProtocolError if the bytes
    are malformed."""
    try:
        return message.read(buf, pos, version)[0]
    except ProtocolError:
        raise
    except DECODE_ERRORS as error:
        raise _too_short(message, version, error) from error


def decode_steps(
    message: type[Message], buf: memoryview, pos: int, version: int
) -> Generator[None, None, Message]:
    """Read a message, and yield between its slices (`protocol.message.SlicedMessage`). The
    generator returns the message.

    Raises ProtocolError if the bytes are malformed or have more than SLICES_MAX slices.
    """
    try:
        if not issubclass(message, SlicedMessage):
            return message.read(buf, pos, version)[0]
        steps = message.read_steps(buf, pos, version, pos + SLICE_BYTES)
        for _ in range(SLICES_MAX):
            try:
                next(steps)
            except StopIteration as end:
                request: Message = end.value[0]
                return request
            yield
        raise ProtocolError(f"{message.__name__} v{version} has more than {SLICES_MAX} slices")
    except ProtocolError:
        raise
    except DECODE_ERRORS as error:
        raise _too_short(message, version, error) from error


def _too_short(message: type[Message], version: int, error: Exception) -> ProtocolError:
    """Return, without raising it, the ProtocolError for bytes that are no such message."""
    return ProtocolError(f"{message.__name__} v{version} ends too soon: {error}")


def read_request_header(frame: memoryview) -> tuple[int, int, int, str | None, int]:
    """Return API key, version, correlation id and client id, and the offset after header v1.

    In flexible versions the header's tagged fields follow: see `skip_header_tags`. Raises
    ProtocolError if the frame is too short. A client id of None was null.
    """
    if len(frame) < 10:
        raise ProtocolError(f"a frame of {len(frame)} bytes is too short for a request header")
    api_key, version, correlation_id, length = _REQUEST_HEADER.unpack_from(frame)
    if length < 0:
        return api_key, version, correlation_id, None, 10
    end = 10 + length
    if end > len(frame):
        raise ProtocolError(
            f"the request header is no header: a client id of {length} bytes in a frame of "
            f"{len(frame)}"
        )
    return api_key, version, correlation_id, str(frame[10:end], "utf-8", REPLACED), end


def skip_header_tags(frame: memoryview, pos: int, kind: str = "request") -> int:
    """Return the offset of the body, after the tagged fields of a flexible header. Raises
    ProtocolError, with `kind` in its text, if they are malformed."""
    try:
        return pos + 1 if not frame[pos] else primitives.skip_tagged_fields(frame, pos)
    except DECODE_ERRORS as error:
        raise ProtocolError(f"the {kind} header is no header: {error}") from error


def encode_request(request: Any, version: int, correlation_id: int, client_id: str | None) -> bytes:
    """Return a request's whole frame, with its size, as a client or another broker sends it.

    If the request has a method `frame`, that method makes it.
    """
    own_frame = getattr(request, "frame", None)
    if own_frame is not None:
        return cast(bytes, own_frame(version, correlation_id, client_id))
    out = MessageBuffer()
    out += bytes(4)
    out += _REQUEST_HEAD.pack(request.API_KEY, version, correlation_id)
    out += primitives.nullable_string(client_id)
    if version >= request.FLEXIBLE_FROM:
        out += b"\0"
    request.write(out, version)
    _SIZE.pack_into(out, 0, out.total_size() - 4)
    return out.joined()


def encode_response(response: Any, version: int, correlation_id: int) -> MessageBuffer:
    """Return a response's whole frame, with its size. Record slices are not copied
    (`MessageBuffer.parts`)."""
    out = MessageBuffer()
    out += _SIZE_AND_CORRELATION.pack(0, correlation_id)
    # ApiVersions keeps header v0: a client reads it before it knows the broker (KIP-511).
    if version >= response.FLEXIBLE_FROM and response.API_KEY != _API_VERSIONS:
        out += b"\0"
    response.write(out, version)
    size = out.total_size() if out.slices else len(out)
    _SIZE.pack_into(out, 0, size - 4)
    return out


def response_parts(response: Any, version: int, correlation_id: int) -> ResponseParts:
    """Return a response's whole frame, with its size, as the network sends it: in parts if it has
    record slices."""
    out = encode_response(response, version, correlation_id)
    return out.parts() if out.slices else out


def decode_response(key: ApiKey, frame: memoryview, version: int) -> tuple[int, Any]:
    """Return the correlation id and the response in a frame without its size. Raises
    ProtocolError."""
    return decode_answer(messages_of(key).response, frame, version)


def answer_to(request: Any) -> Any:
    """Return the class of the response to `request`: its attribute `ANSWER` if it has one, else
    that of its API."""
    return getattr(request, "ANSWER", None) or messages_of(ApiKey(request.API_KEY)).response


def decode_answer(response: Any, frame: memoryview, version: int) -> tuple[int, Any]:
    """Return the correlation id and the response, of class `response`, in a frame without its size.
    Raises ProtocolError."""
    correlation_id, pos = _read_response_header(response, frame, version)
    return correlation_id, decode(response, frame, pos, version)


def decode_response_steps(
    key: ApiKey, frame: memoryview, version: int
) -> Generator[None, None, Message]:
    """Read the response in a frame without its size, and yield between its slices. The generator
    returns the response. Raises ProtocolError if the bytes are malformed."""
    response = messages_of(key).response
    _, pos = _read_response_header(response, frame, version)
    return (yield from decode_steps(response, frame, pos, version))


def _read_response_header(response: Any, frame: memoryview, version: int) -> tuple[int, int]:
    """Return the correlation id, and the offset of the response's body.

    Raises ProtocolError if the frame is too short.
    """
    if len(frame) < 4:
        raise ProtocolError(f"a frame of {len(frame)} bytes is too short for a response header")
    (correlation_id,) = _SIZE.unpack_from(frame)
    if version >= response.FLEXIBLE_FROM and response.API_KEY != _API_VERSIONS:
        return correlation_id, skip_header_tags(frame, 4, "response")
    return correlation_id, 4
