"""Requests that are too long to be decoded in one turn of the event loop.

The peer says how many items an array has, and a single request may have up to 100 MB of them. Such
a request is decoded in slices (`protocol.message.SlicedMessage`) while others are served. When it
is complete, it is handled as any other. This module does not decide how many requests are decoded
at the same time (`broker.requests.sliced_answers`), nor where a frame is kept meanwhile
(`ReplyPath.keep`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator

from broker.requests.context import ClientConnection
from broker.requests.interference import ReplyPath
from broker.requests.sliced_answers import SlicedAnswers
from ground.sliced_work import Steps
from protocol.errors import ProtocolError
from protocol.message import Message

Reading = Generator[None, None, Message]
"""A generator that decodes a request in slices (`protocol.frames.message_codec.decode_steps`)."""


def read_long(
    answers: SlicedAnswers,
    connection: ClientConnection,
    reply: ReplyPath,
    reading: Reading,
    size_bytes: int,
    handle: Callable[[Message], None],
) -> None:
    """Decode a request in slices when its turn comes. Then call `handle` with it, unless its
    connection has closed.

    An exception of decoding or of `handle` closes the connection, and is raised unless it is a
    ProtocolError.
    """

    def read(request: Message | None, error: Exception | None) -> None:
        """Call `handle` with the decoded request. An error closes the connection, and is raised
        unless it is a ProtocolError."""
        try:
            if error is not None:
                raise error
            if request is not None and not connection.closed:
                handle(request)
        except BaseException as failure:
            reply.fail(failure)
            if not isinstance(failure, ProtocolError):
                raise

    answers.read(_while_open(connection, reading), size_bytes, read)


def _while_open(connection: ClientConnection, reading: Reading) -> Steps[Message | None]:
    """Decode a slice in each step. Return the request; None if its connection closes before it is
    decoded."""
    while not connection.closed:
        try:
            next(reading)
        except StopIteration as end:
            request: Message = end.value
            return request
        yield None
    reading.close()
    return None
