"""Requests that take long to read, and answers that take long to make: those of ten thousand
topics, or of a million committed offsets.

An API writes such an answer down as steps (`ground.sliced_work`), whose result is the
response. Short ones, as nearly all are, are answered at once. Of a long one each slice is a turn of
the loop, and in between others are served. So what it tells must be of one moment: an API takes the
metadata image, which never changes, or a copy of what may change, in the first slice.

Hundreds of clients may ask for such an answer at once. If all were made together, all would be in
memory before the first one left. So ANSWERS_AT_ONCE are in the making; the others stand after their
first slice, in the order in which they were asked for. What is short waits for none of them.

A long request is read in the same way (`protocol.message.SlicedMessage`): only ANSWERS_AT_ONCE are
being read, and none while an answer waits. With those whose answer is in the making they are of
READ_AT_ONCE_BYTES, or a single one; a shorter one that has room does not wait for a longer. So what
requests unfold to in memory is bounded, too: three bytes may become an object of a hundred, and the
collector of garbage looks at all objects.

Owns which of them are in the making. Says in the log that a slice failed, as
`broker.requests.request_handler` does for what is answered at once.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar, cast

from broker.requests.context import RequestContext, Respond, Response
from ground.ordered_work import raise_error
from ground.sliced_work import Pace, SlicedWork, Steps, each
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.frames.encoded_items import KEPT_PIECES, EncodedItems, Items
from protocol.message import Message, replace
from protocol.primitives import StringTooLong

log = logging.getLogger(f"ottla.{__name__}")

Q = TypeVar("Q", bound=Message)
T = TypeVar("T")
U = TypeVar("U")
R = TypeVar("R", bound=Message)


ANSWERS_AT_ONCE = 8
"""As many as handlers by default (`num.io.threads`), each of which makes one in Kafka."""
READ_AT_ONCE_BYTES = 16 * 1024 * 1024
"""What one request may have (`protocol.primitives.SLICES_MAX`)."""
ASKED_AT_ONCE = 3
"""Answers that one request asks for in a slice, where each may take a slice of its own."""
FREED_AT_ONCE = 4_096
"""Items whose memory is given back in one slice."""


class SlicedAnswers:
    """Where the APIs of a node have their answers made: see the module."""

    def __init__(self, work: SlicedWork) -> None:
        self._work = work
        self._making = 0
        self._waiting: deque[Callable[[], None]] = deque()
        self._unread: deque[tuple[int, Callable[[], None]]] = deque()
        self._held_bytes = 0  # of requests that are read, or whose answer is in the making
        self._handed_bytes = 0  # of the one that is being handed to its API

    def give(
        self,
        context: RequestContext,
        request: Q,
        steps: Steps[R],
        respond: Respond,
        refuse: Callable[[Q, ErrorCode], R],
    ) -> None:
        """Answer with what comes of `steps`; with `refuse(request, UNKNOWN_SERVER_ERROR)` where a
        slice fails that is not the first one. What that one raises, this does."""

        def done(response: R | None, error: Exception | None) -> None:
            if error is not None:
                response = refuse(request, _failure(context, error))
            respond(response)

        self.make(steps, respond, done)

    def judge(
        self,
        context: RequestContext,
        request: Q,
        steps: Steps[T],
        judged: Callable[[T], None],
        respond: Respond,
        refuse: Callable[[Q, ErrorCode], Response],
    ) -> None:
        """Call `judged`, which answers, with what comes of `steps`.

        Where a later slice fails, or `judged` after it, respond as `give` does.
        """

        def done(result: T | None, error: Exception | None) -> None:
            if error is None:
                try:
                    judged(cast(T, result))
                    return
                except AssertionError:
                    raise
                except Exception as failure:  # noqa: BLE001  answered, as in a handler
                    error = failure
            respond(refuse(request, _failure(context, error)))

        self.make(steps, judged, done)

    def gather(
        self,
        context: RequestContext,
        request: Q,
        items: Sequence[T],
        ask: Callable[[T, Callable[[U], None]], None],
        gathered: Callable[[list[U]], None],
        respond: Respond,
        refuse: Callable[[Q, ErrorCode], Response],
        at_once: int = ASKED_AT_ONCE,
    ) -> None:
        """Ask for the answer to each item, `at_once` of them a slice, which may come later; call
        `gathered`, which responds, with all of them in the order of the items.

        A failure is answered as `judge` does.
        """
        count = awaited = len(items)
        answers = cast(list[U], [None] * count)

        def told(index: int, answer: U) -> None:
            nonlocal awaited
            answers[index] = answer
            awaited -= 1
            if not awaited:
                gathered(answers)

        def ask_for(index: int) -> None:
            ask(items[index], partial(told, index))

        def asked(_: None) -> None:
            if not count:
                gathered(answers)

        steps = each(ask_for, range(count), at_once)
        self.judge(context, request, steps, asked, respond, refuse)

    def write(self, response: R, version: int, done: Callable[[R], None]) -> None:
        """Call `done` with a response that is quick to write in its version: at once with a short
        one, else with one whose long arrays have been written in slices."""

        def written(made: R | None, _error: Exception | None) -> None:
            # What cannot be written fails again, where such a failure is minded.
            done(response if made is None else made)
            self.let_go(response)

        self.make(written_arrays(response, version, Pace()), done, written)

    def let_go(self, message: Message) -> None:
        """Free what a long message holds in slices, unless it is held elsewhere."""
        self._work.run(_let_go(message), raise_error)

    def make(
        self,
        steps: Steps[T],
        ended: Callable[[T], None],
        done: Callable[[T | None, Exception | None], None],
    ) -> None:
        """Call `ended` with what comes of short steps; `done(result, error)` after long ones."""
        try:
            job = next(steps)
        except StopIteration as end:
            ended(end.value)
            return

        held_bytes, self._handed_bytes = self._handed_bytes, 0

        def made(result: T | None, error: Exception | None) -> None:
            self._making -= 1
            self._held_bytes -= held_bytes
            self._begin_next()
            done(result, error)

        self._waiting.append(partial(self._work.go_on, steps, job, made))
        self._begin_next()

    def read(
        self,
        steps: Steps[T],
        size_bytes: int,
        done: Callable[[T | None, Exception | None], None],
    ) -> None:
        """Read a request of so many bytes by `steps` when its turn comes, and then call
        `done(request, error)`."""

        def read(request: T | None, error: Exception | None) -> None:
            self._handed_bytes = size_bytes
            try:
                done(request, error)
            finally:
                self._held_bytes -= self._handed_bytes
                self._handed_bytes = 0
                self._making -= 1
                self._begin_next()

        self._unread.append((size_bytes, partial(self._work.run, steps, read)))
        self._begin_next()

    def _begin_next(self) -> None:
        while self._making < ANSWERS_AT_ONCE:
            begin = self._waiting.popleft() if self._waiting else self._next_unread()
            if begin is None:
                return
            self._making += 1
            begin()

    def _next_unread(self) -> Callable[[], None] | None:
        """The first request that has room beside those that are read."""
        for index, (size_bytes, begin) in enumerate(self._unread):
            if not self._held_bytes or self._held_bytes + size_bytes <= READ_AT_ONCE_BYTES:
                del self._unread[index]
                self._held_bytes += size_bytes
                return begin
        return None


def _failure(context: RequestContext, error: Exception) -> ErrorCode:
    """Log a failure, as `broker.requests.request_handler` does; return what the client is told."""
    trace = None if isinstance(error, StringTooLong) else error
    name, version = ApiKey(context.api_key).name, context.api_version
    log.error("%s v%d failed: %s", name, version, error, exc_info=trace)
    return ErrorCode.UNKNOWN_SERVER_ERROR


def _let_go(message: Message) -> Steps[None]:
    """Take a message apart. Its last reference would free 300,000 items in one go."""
    pace = Pace(FREED_AT_ONCE)
    held: list[object] = [message]
    del message
    while held:
        item = held.pop()
        if isinstance(item, Message):
            for name in item.__slots__:
                value = getattr(item, name)
                if type(value) is list:
                    held += value
                elif isinstance(value, Message):
                    held.append(value)
        if pace.is_full():
            yield None


def written_arrays(message: R, version: int, pace: Pace) -> Steps[R]:
    """Return `message`, or a copy of it in which each long array of messages is written already."""
    changes: dict[str, object] = {}
    for name in message.__slots__:
        value = getattr(message, name)
        if isinstance(value, Message):
            short: object = yield from written_arrays(value, version, pace)
        elif _is_array(value):
            short = yield from _written_array(value, version, pace)
        else:
            continue
        if short is not value:
            changes[name] = short
    return replace(message, **changes) if changes else message


def _is_array(value: object) -> bool:
    """Return whether a field is an array of messages that is not written yet."""
    if isinstance(value, EncodedItems) or not isinstance(value, list) or not value:
        return False
    return isinstance(value[0], Message)


def _written_array(array: list[Message], version: int, pace: Pace) -> Steps[list[Message]]:
    items = Items[Message](version)
    is_changed = len(array) > KEPT_PIECES
    for item in array:
        pieces = _pieces(item)
        if pace.is_full(pieces if pieces <= KEPT_PIECES else 1):
            yield None
        short = item
        if pieces > KEPT_PIECES:
            short, pieces = (yield from written_arrays(item, version, pace)), 1
        is_changed = is_changed or short is not item
        items.add(short, pieces)
    return items.array() if is_changed else array


def _pieces(message: Message) -> int:
    """Return how many messages one is, those within it too; more than KEPT_PIECES if they are too
    many for one slice."""
    pieces = 1
    for name in message.__slots__:
        value = getattr(message, name)
        if type(value) is list:
            if value and isinstance(value[0], Message):
                pieces += len(value) if len(value) > KEPT_PIECES else sum(map(_pieces, value))
        elif isinstance(value, Message):
            pieces += _pieces(value)
    return pieces
