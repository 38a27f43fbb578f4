"""A client's operation without I/O: a generator that yields requests and receives the responses.

After the generator yields a `RequestStep`, it is resumed with the response. After it yields a
number of seconds, it is resumed when they have passed. A driver with connections and a clock runs
it: `client.cluster` blocks, `testbed.operations.port` awaits, `simulation.users.user_client` lives
in virtual time. A driver without a response throws `NoAnswer` into the generator, or an exception
of its own that ends the operation.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from client.core.retries import MAYBE_DONE
from protocol.errors import ErrorCode
from protocol.frames.message_codec import Request
from protocol.message import Message
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic

METADATA_VERSION = 11

Answer: TypeAlias = Any
"""The response to a request; the request decides its class."""

M = TypeVar("M")


@dataclass(frozen=True, slots=True)
class RequestStep:
    """A request that an operation sends to a broker.

    It is sent in `version`, or in the highest version below it that the broker serves.
    """

    request: Request
    version: int
    to: int | None = None
    """The id of the broker; None: any broker."""
    optional: bool = False
    """Whether the response is None if the broker does not serve the API, instead of an error."""


Steps: TypeAlias = Generator["RequestStep | float", Answer, M]


class NoAnswer(Exception):
    """A broker did not answer a request, for example because it has died."""

    def __init__(self, text: str = "", *, was_sent: bool) -> None:
        """Make the error; `was_sent`: the broker may have carried out the request."""
        super().__init__(text)
        self.was_sent = was_sent


class ErrorAnswer(Exception):
    """A broker answered a request with an error code."""

    def __init__(self, code: int, message: str | None = None, text: str = "") -> None:
        super().__init__(text)
        self.code = code
        self.message = message


def check(code: int, message: str | None = None) -> None:
    """Check a response's error code. Raises ErrorAnswer if it is not 0."""
    if code:
        raise ErrorAnswer(code, message)


def error_of(answer: Answer) -> int:
    """Return the first error code in a response or in any of its parts.

    0 if there is no error, or `answer` is None.
    """
    for name in () if answer is None else type(answer).__slots__:
        value = getattr(answer, name)
        if name == "error_code" and value:
            return int(value)
        for part in value if isinstance(value, list) else ():
            code = error_of(part) if isinstance(part, Message) else 0
            if code:
                return code
    return 0


def never(_error: NoAnswer) -> bool:
    """Return False: do not retry after a broker has not answered."""
    return False


class Attempts:
    """The tries of one operation: how long and after which errors it retries, and their outcome."""

    def __init__(
        self,
        now_s: Callable[[], float],
        end_s: float,
        pause_s: Callable[[], float],
        asks_again: Callable[[NoAnswer], bool] = never,
        also: Collection[int] = (),
        coordinators: dict[tuple[int, str], int] | None = None,
    ) -> None:
        """Begin an operation that retries until `end_s`, by the clock `now_s` (seconds).

        `pause_s` returns the seconds before the next try. `asks_again` returns whether to retry
        after a broker has not answered. `also`: error codes after which each request is retried.
        `coordinators`: the ids of coordinators that have answered before, by kind and key.
        """
        self._now_s = now_s
        self._end_s = end_s
        self._pause_s = pause_s
        self._asks_again = asks_again
        self._also = also
        self.coordinators = {} if coordinators is None else coordinators
        self.last: ErrorCode | None = None
        """The last error code in a response; None if there was none."""
        self.unsure = False
        """Whether a broker may have carried out a failed try all the same."""

    @property
    def is_over(self) -> bool:
        """Whether there is no time for another try."""
        return self._now_s() >= self._end_s

    def settled(
        self,
        once: Callable[[], Steps[M]],
        retried: Collection[int] = (),
        code_of: Callable[[M], int] = error_of,
    ) -> Steps[M]:
        """Run `once` and return its result; run it again while there is time and its error is in
        `retried` or `also`.

        `code_of` returns the error code of a result. The last result is returned also if it has an
        error. Updates `last` and `unsure`. Raises NoAnswer, unless `asks_again` allows a retry.
        """
        while True:
            try:
                answer = yield from once()
            except NoAnswer as error:
                if self.is_over or not self._asks_again(error):
                    raise
            else:
                code = code_of(answer)
                if code:
                    self.last = ErrorCode(code)
                    self.unsure |= code in MAYBE_DONE
                if self.is_over or (code not in retried and code not in self._also):
                    return answer
            yield self._pause_s()

    def request(self, step: RequestStep) -> Steps[Answer]:
        """Yield a step whose request may change something, and return the response. Raises
        NoAnswer.

        If the request was sent and not answered, set `unsure`.
        """
        try:
            return (yield step)
        except NoAnswer as error:
            self.unsure |= error.was_sent
            raise


def metadata_request(names: Collection[str] | None) -> MetadataRequest:
    """Return a Metadata request for some topics, None: for all. It never creates a topic."""
    topics = None if names is None else [MetadataRequestTopic(name=name) for name in names]
    return MetadataRequest(topics, allow_auto_topic_creation=False)
