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
    """Decode a request when its turn comes, and let `handle` handle it, unless its connection has
    ended.

    Bytes that are no valid request close the connection.
    """

    def read(request: Message | None, error: Exception | None) -> None:
        """Handle the request that was read; an error closes the connection, and is raised if
        unexpected.
        """
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
    """Return the request; None if its connection ends before it is decoded."""
    while not connection.closed:
        try:
            next(reading)
        except StopIteration as end:
            request: Message = end.value
            return request
        yield None
    reading.close()
    return None
