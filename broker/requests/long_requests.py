"""Requests that are too long to be read in one turn of the loop.

The peer says how many items an array has, and up to 100 MB of them are one request. Such a request
is read in slices (`protocol.message.SlicedMessage`) while others are served; when all of it is
read, it is handled as any other. Owns nothing. Never: how many are read at once
(`broker.requests.sliced_answers`), or where the frame is kept meanwhile (`Reply.keep`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator

from broker.requests.context import Connection
from broker.requests.interference import Reply
from broker.requests.sliced_answers import SlicedAnswers
from ground.sliced_work import Steps
from protocol.errors import ProtocolError
from protocol.message import Message

Reading = Generator[None, None, Message]
"""Reads a request in slices (`protocol.frames.message_codec.decode_steps`)."""


def read_long(
    answers: SlicedAnswers,
    connection: Connection,
    reply: Reply,
    reading: Reading,
    size_bytes: int,
    handle: Callable[[Message], None],
) -> None:
    """Read a request when its turn comes, and have it handled, unless its connection has ended.

    Bytes that are no request close the connection.
    """

    def read(request: Message | None, error: Exception | None) -> None:
        try:
            if error is not None:
                raise error
            if request is not None and not connection.closed:
                handle(request)
        except BaseException as wrong:
            reply.fail(wrong)
            if not isinstance(wrong, ProtocolError):
                raise

    answers.read(_while_open(connection, reading), size_bytes, read)


def _while_open(connection: Connection, reading: Reading) -> Steps[Message | None]:
    """Return the request; None if its connection ends before it is read."""
    while not connection.closed:
        try:
            next(reading)
        except StopIteration as end:
            request: Message = end.value
            return request
        yield None
    reading.close()
    return None
