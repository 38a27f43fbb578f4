"""A client's operation without I/O: a generator that says what to send, and gets the answers.

It yields an `Ask`, and is resumed with the answer, or a number of seconds, and is resumed when they
have passed. Whoever has connections and a clock drives it: `client.cluster` blocks,
`testbed.operations.port` awaits, `simulation.users.user_client` lives in virtual time. A driver
that gets no answer throws `NoAnswer`, or an exception of its own that ends the operation.
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
"""The message that answers a request: of which class, the request says."""

M = TypeVar("M")


@dataclass(frozen=True, slots=True)
class Ask:
    """A request of the version that is meant, or of the highest below it that both sides know."""

    request: Request
    version: int
    to: int | None = None
    """The broker, by its id; None: any."""
    optional: bool = False
    """Whether the answer is None where the broker does not serve the API."""


Steps: TypeAlias = Generator["Ask | float", Answer, M]


class NoAnswer(Exception):
    """A broker that was asked did not answer: it has just gone, or nobody knows of that yet."""

    def __init__(self, text: str = "", *, was_sent: bool) -> None:
        """`was_sent`: it may have done what it was asked for."""
        super().__init__(text)
        self.was_sent = was_sent


class ErrorAnswer(Exception):
    """A broker refused what was asked for."""

    def __init__(self, code: int, message: str | None = None, what: str = "") -> None:
        super().__init__(what)
        self.code = code
        self.message = message


def check(code: int, message: str | None = None) -> None:
    """Raises ErrorAnswer where `code` is an error."""
    if code:
        raise ErrorAnswer(code, message)


def error_of(answer: Answer) -> int:
    """The first error of an answer, whether it is of the whole or of a part; 0 where all is well,
    or there is no answer."""
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
    """Ask nobody again who did not answer."""
    return False


class Attempts:
    """How long one operation is tried, and what came of that so far."""

    def __init__(
        self,
        now_s: Callable[[], float],
        end_s: float,
        pause_s: Callable[[], float],
        asks_again: Callable[[NoAnswer], bool] = never,
        also: Collection[int] = (),
        coordinators: dict[tuple[int, str], int] | None = None,
    ) -> None:
        """`pause_s`: how long to wait before the next try. `asks_again`: whether there is one after
        a broker has not answered; `also`: errors after which there is one, whatever was asked.
        `coordinators`: those that have answered before, by kind and key."""
        self._now_s = now_s
        self._end_s = end_s
        self._pause_s = pause_s
        self._asks_again = asks_again
        self._also = also
        self.coordinators = {} if coordinators is None else coordinators
        self.last: ErrorCode | None = None
        """The error that was answered last."""
        self.unsure = False
        """Whether a try that failed may have been carried out all the same."""

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
        """The answer, asked for again as long as there is time and its error is one of `retried`.

        Raises NoAnswer.
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

    def ask(self, ask: Ask) -> Steps[Answer]:
        """The answer to what the operation is about. Raises NoAnswer."""
        try:
            return (yield ask)
        except NoAnswer as error:
            self.unsure |= error.was_sent
            raise


def metadata_request(names: Collection[str] | None) -> MetadataRequest:
    """About topics, or about all where `names` is None; no topic is made by it."""
    topics = None if names is None else [MetadataRequestTopic(name=name) for name in names]
    return MetadataRequest(topics, allow_auto_topic_creation=False)
