"""Requests and answers that are too long for one turn of the event loop.

Examples are requests for ten thousand topics, or for a million committed offsets. An API writes
such an answer as steps (`ground.sliced_work`), whose result is the response. Short answers, which
nearly all are, are sent at once. Each slice of a long answer is a turn of the event loop, and other
clients are served in between. An answer must be a snapshot of one moment. So in the first slice an
API takes the metadata image, which never changes, or a copy of what may change.

Hundreds of clients may ask for such an answer at the same time. If all were made together, all
would be in memory before the first one was sent. So at most ANSWERS_AT_ONCE are in the making. The
others wait after their first slice, in the order of their requests. Short answers wait for none.

A long request is decoded in the same way (`protocol.message.SlicedMessage`): at most
ANSWERS_AT_ONCE at a time, and none while an answer waits. Together with the requests whose answer
is in the making, these have at most READ_AT_ONCE_BYTES, unless a single request has more. A short
request that fits does not wait behind a longer one. So the memory of decoded requests is bounded
too: three bytes may become an object of a hundred, and the garbage collector traverses all objects.

It owns the lists of those that are in the making and those that wait. It logs that a slice failed,
as `broker.requests.request_handler` does for short answers.
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
"""The number of answers in the making: as many as handlers by default (`num.io.threads`), each of
which makes one in Kafka."""
READ_AT_ONCE_BYTES = 16 * 1024 * 1024
"""The bytes of the long requests that are held at once: as many as a single one may have
(`protocol.primitives.SLICES_MAX`)."""
ASKED_AT_ONCE = 3
"""The number of items that a slice of `gather` begins, where each may take a slice of its own."""
FREED_AT_ONCE = 4_096
"""The number of items whose memory is freed in one slice."""


class SlicedAnswers:
    """The place where a node's APIs make long answers."""

    def __init__(self, work: SlicedWork) -> None:
        self._work = work
        self._making = 0
        self._waiting: deque[Callable[[], None]] = deque()
        self._unread: deque[tuple[int, Callable[[], None]]] = deque()
        self._held_bytes = 0  # of requests that are read, or whose answer is in the making
        self._handed_bytes = 0  # of the request that is being handed to its API

    def give(
        self,
        context: RequestContext,
        request: Q,
        steps: Steps[R],
        respond: Respond,
        refuse: Callable[[Q, ErrorCode], R],
    ) -> None:
        """Call `respond` with the result of `steps`, at once if it is short and otherwise later.

        If a slice after the first one fails, log that and respond `refuse(request,
        UNKNOWN_SERVER_ERROR)`. Raises any exception of the first slice.
        """

        def done(response: R | None, error: Exception | None) -> None:
            """Respond with the result of long steps, or with an error if a slice failed."""
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
        """Call `judged`, which answers, with the result of `steps`: at once if these are short and
        otherwise later.

        If a later slice fails, or `judged` after it, answer as `give` does.
        """

        def done(result: T | None, error: Exception | None) -> None:
            """Call `judged` with the result of long steps. If a slice or `judged` fails, log that
            and respond an error."""
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
        """Call `ask(item, take_answer)` for each item, `at_once` of them in a slice; an answer may
        come later. Then call `gathered`, which responds, with all answers in the order of the
        items.

        A failure is answered as in `judge`.
        """
        count = awaited = len(items)
        answers = cast(list[U], [None] * count)

        def take_answer(index: int, answer: U) -> None:
            """Store the answer to an item. After the last one, call `gathered`."""
            nonlocal awaited
            answers[index] = answer
            awaited -= 1
            if not awaited:
                gathered(answers)

        def ask_for(index: int) -> None:
            ask(items[index], partial(take_answer, index))

        def all_asked(_: None) -> None:
            """Call `gathered` if there are no items, because no answer comes then."""
            if not count:
                gathered(answers)

        steps = each(ask_for, range(count), at_once)
        self.judge(context, request, steps, all_asked, respond, refuse)

    def write(self, response: R, version: int, done: Callable[[R], None]) -> None:
        """Call `done` with a response that is quick to encode in this version: at once with a short
        one, later with a copy whose long arrays were encoded in slices. Free the long original
        after that."""

        def written(made: R | None, _error: Exception | None) -> None:
            """Pass the encoded response on, or `response` itself if encoding failed, and free the
            original."""
            # If encoding failed, it fails again later, where that failure is handled.
            done(response if made is None else made)
            self.free(response)

        self.make(written_arrays(response, version, Pace()), done, written)

    def free(self, message: Message) -> None:
        """Free the contents of a long message in slices, in later turns, except what is referenced
        elsewhere."""
        self._work.run(_free_steps(message), raise_error)

    def make(
        self,
        steps: Steps[T],
        ended: Callable[[T], None],
        done: Callable[[T | None, Exception | None], None],
    ) -> None:
        """Run the first slice of `steps`. If they end with it, call `ended(result)`.

        Otherwise do the rest later, and then call `done(result, error)`. At most ANSWERS_AT_ONCE
        are in progress. Raises any exception of the first slice.
        """
        try:
            job = next(steps)
        except StopIteration as end:
            ended(end.value)
            return

        held_bytes, self._handed_bytes = self._handed_bytes, 0

        def made(result: T | None, error: Exception | None) -> None:
            """Release the places of the answer and its request, begin the next, and call `done`."""
            self._making -= 1
            self._held_bytes -= held_bytes
            self._begin_next()
            done(result, error)

        self._waiting.append(partial(self._work.resume, steps, job, made))
        self._begin_next()

    def read(
        self,
        steps: Steps[T],
        size_bytes: int,
        done: Callable[[T | None, Exception | None], None],
    ) -> None:
        """Queue the decoding of a request of `size_bytes` by `steps`. After it, call `done(request,
        error)`."""

        def read(request: T | None, error: Exception | None) -> None:
            """Call `done`, and begin the next. The request counts as held in memory until its
            answer is made."""
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
        """Begin waiting responses and reads while fewer than ANSWERS_AT_ONCE are in progress."""
        while self._making < ANSWERS_AT_ONCE:
            begin = self._waiting.popleft() if self._waiting else self._next_unread()
            if begin is None:
                return
            self._making += 1
            begin()

    def _next_unread(self) -> Callable[[], None] | None:
        """Remove from the queue the first request that has room beside those that are held, and
        reserve its bytes. Return the function that begins it; None if no request has room."""
        for index, (size_bytes, begin) in enumerate(self._unread):
            if not self._held_bytes or self._held_bytes + size_bytes <= READ_AT_ONCE_BYTES:
                del self._unread[index]
                self._held_bytes += size_bytes
                return begin
        return None


def _failure(context: RequestContext, error: Exception) -> ErrorCode:
    """Log a failure, as `broker.requests.request_handler` does. Return UNKNOWN_SERVER_ERROR."""
    trace = None if isinstance(error, StringTooLong) else error
    name, version = ApiKey(context.api_key).name, context.api_version
    log.error("%s v%d failed: %s", name, version, error, exc_info=trace)
    return ErrorCode.UNKNOWN_SERVER_ERROR


def _free_steps(message: Message) -> Steps[None]:
    """Free the parts of a message in slices. To drop its last reference would free 300,000 items at
    once."""
    pace = Pace(FREED_AT_ONCE)
    parts: list[object] = [message]
    del message
    while parts:
        item = parts.pop()
        if isinstance(item, Message):
            for name in item.__slots__:
                value = getattr(item, name)
                if type(value) is list:
                    parts += value
                elif isinstance(value, Message):
                    parts.append(value)
        if pace.is_full():
            yield None


def written_arrays(message: R, version: int, pace: Pace) -> Steps[R]:
    """Return `message`, or a copy of it in which each long array of messages is already encoded."""
    changes: dict[str, object] = {}
    for name in message.__slots__:
        value = getattr(message, name)
        if isinstance(value, Message):
            encoded: object = yield from written_arrays(value, version, pace)
        elif _is_array(value):
            encoded = yield from _array_in_slices(value, version, pace)
        else:
            continue
        if encoded is not value:
            changes[name] = encoded
    return replace(message, **changes) if changes else message


def _is_array(value: object) -> bool:
    """Return whether a field is an array of messages that is not encoded yet."""
    if isinstance(value, EncodedItems) or not isinstance(value, list) or not value:
        return False
    return isinstance(value[0], Message)


def _array_in_slices(array: list[Message], version: int, pace: Pace) -> Steps[list[Message]]:
    """Return a copy of `array` whose long items, or all if it is long itself, are encoded. Return
    `array` itself if nothing is long."""
    items = Items[Message](version)
    is_changed = len(array) > KEPT_PIECES
    for item in array:
        pieces = _pieces(item)
        if pace.is_full(pieces if pieces <= KEPT_PIECES else 1):
            yield None
        encoded = item
        if pieces > KEPT_PIECES:
            encoded, pieces = (yield from written_arrays(item, version, pace)), 1
        is_changed = is_changed or encoded is not item
        items.add(encoded, pieces)
    return items.array() if is_changed else array


def _pieces(message: Message) -> int:
    """Return the number of messages in a message, with itself; more than KEPT_PIECES if they are
    too many for one slice."""
    pieces = 1
    for name in message.__slots__:
        value = getattr(message, name)
        if type(value) is list:
            if value and isinstance(value[0], Message):
                pieces += len(value) if len(value) > KEPT_PIECES else sum(map(_pieces, value))
        elif isinstance(value, Message):
            pieces += _pieces(value)
    return pieces
