"""What brokers say to each other, as the other side reads it from the frame."""

from __future__ import annotations

from typing import Any

from protocol.api_keys import ApiKey, messages_of
from protocol.frames.message_codec import (
    decode,
    decode_answer,
    encode_request,
    encode_response,
    read_request_header,
    skip_header_tags,
)


def as_read(request: Any, version: int) -> Any:
    """A request, by the generated class."""
    frame = memoryview(encode_request(request, version, 1, "f"))[4:]
    key, version, _, _, end = read_request_header(frame)
    message = messages_of(ApiKey(key)).request
    pos = skip_header_tags(frame, end) if version >= message.FLEXIBLE_FROM else end
    return decode(message, frame, pos, version)


def answer_as_read(answer_class: Any, response: Any, version: int) -> Any:
    """A response, by the class that whoever asked reads it with (`answer_to`)."""
    frame = encode_response(response, version, 1).joined()
    return decode_answer(answer_class, memoryview(bytearray(frame))[4:], version)[1]
