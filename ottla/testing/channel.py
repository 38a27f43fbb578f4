"""The client's half of the control channel: calls with a deadline, from any thread.

Owns one end of a socket pair. There is no thread of its own: of those who wait for an answer one
reads, and hands the others theirs. A process that was forked from this one must not use it.
"""

from __future__ import annotations

import array
import os
import select
import socket
import threading
import time
from collections.abc import Mapping, Sequence

from ottla.testing.errors import SHOW_THE_CALLER, BrokerGone, DeadlinePassed, Misuse, error_of
from ottla.testing.frames import HELLO, BrokenFrame, FrameReader, Json, Message, check_hello, encode

__tracebackhide__ = SHOW_THE_CALLER

CALL_TIMEOUT_S = 60.0
_READ_BYTES = 1 << 18
_GONE = "its process is gone"


class Channel:
    """Calls to whoever holds the other end, which is `who` in messages."""

    def __init__(self, end: socket.socket, who: str) -> None:
        end.setblocking(False)
        self._socket = end
        self._who = who
        self._owner_pid = os.getpid()
        self._sending = threading.Lock()
        self._changed = threading.Condition()
        self._reader = FrameReader()
        self._reading = False
        self._greeted = False
        self._answers: dict[int, Message] = {}
        self._waiting: set[int] = set()
        self._next_id = 1
        self._end: str | None = None
        """Why nothing comes any more."""
        self._send(encode(HELLO), (), time.monotonic() + CALL_TIMEOUT_S)

    @property
    def gone(self) -> bool:
        """Whether the other end is known to be closed."""
        return self._end is not None

    def call(
        self,
        op: str,
        args: Mapping[str, Json] | None = None,
        *,
        timeout_s: float = CALL_TIMEOUT_S,
        fds: Sequence[int] = (),
    ) -> Json:
        """The result of one operation; descriptors in `fds` go with it.

        Raises OttlaError: what the other end says, BrokerGone where it has ended, DeadlinePassed.
        """
        deadline = time.monotonic() + timeout_s
        return self.result(self.begin(op, args, deadline, fds), op, deadline)

    def tell(self, op: str) -> None:
        """Send a call whose answer nobody waits for."""
        number = self.begin(op, {}, time.monotonic() + CALL_TIMEOUT_S)
        with self._changed:
            self._waiting.discard(number)

    def begin(
        self,
        op: str,
        args: Mapping[str, Json] | None,
        deadline: float,
        fds: Sequence[int] = (),
    ) -> int:
        """Send a call, whose answer `result` waits for; its id."""
        if os.getpid() != self._owner_pid:
            raise Misuse(
                f"{self._who} belongs to the process that started it, not to one forked from that: "
                "start brokers in the process that uses them, or pass bootstrap_servers on"
            )
        with self._changed:
            number = self._next_id
            self._next_id += 1
            self._waiting.add(number)
        message = {"id": number, "op": op, "args": dict(args or {})}
        if fds:
            message["fds"] = len(fds)
        self._send(encode(message), fds, deadline)
        return number

    def result(self, number: int, op: str, deadline: float) -> Json:
        """The answer to a call that was begun; see `call`."""
        answer = self._answer(number, op, deadline)
        error = answer.get("error")
        if error is not None:
            raise error_of(str(error["kind"]), str(error["text"]))
        return answer.get("result")

    def close(self) -> None:
        """Let the other end see the end of file."""
        with self._changed:
            self._end = self._end or "the channel was closed"
            self._changed.notify_all()
        self._socket.close()

    def _answer(self, number: int, op: str, deadline: float) -> Message:
        with self._changed:
            try:
                while number not in self._answers:
                    if self._end is not None:
                        raise BrokerGone(f"{self._who} has ended: {self._end}")
                    left = deadline - time.monotonic()
                    if left <= 0:
                        raise DeadlinePassed(f"{self._who} did not answer to {op} in time")
                    if self._reading:
                        self._changed.wait(left)
                    else:
                        self._read_once(left)
                return self._answers.pop(number)
            finally:
                self._waiting.discard(number)

    def _read_once(self, timeout_s: float) -> None:
        """Read what comes next; the lock, which is held, is given back meanwhile."""
        self._reading = True
        self._changed.release()
        data, end = b"", None
        try:
            data, end = self._received(timeout_s)
        finally:
            self._changed.acquire()
            self._reading = False
            self._changed.notify_all()
        try:
            for message in self._reader.feed(data):
                self._take(message)
        except BrokenFrame as error:
            end = str(error)
        self._end = self._end or end

    def _received(self, timeout_s: float) -> tuple[bytes, str | None]:
        """Bytes, and why there will be no more."""
        try:
            if not _comes(self._socket, select.POLLIN, timeout_s):
                return b"", None
            data = self._socket.recv(_READ_BYTES)
        except (BlockingIOError, InterruptedError):
            return b"", None
        except (OSError, ValueError):
            return b"", _GONE
        return data, None if data else _GONE

    def _take(self, message: Message) -> None:
        if not self._greeted:
            check_hello(message)
            self._greeted = True
        elif message.get("id") in self._waiting:  # nobody waits for one whose deadline has passed
            self._answers[message["id"]] = message

    def _send(self, data: bytes, fds: Sequence[int], deadline: float) -> None:
        with self._sending:
            if self._end is not None:
                raise BrokerGone(f"{self._who} has ended: {self._end}")
            view = memoryview(data)
            while view:
                try:
                    sent = self._socket.sendmsg([view], _with_fds(fds))
                except BlockingIOError:
                    self._wait_until_writable(deadline)
                    continue
                except OSError as error:
                    raise BrokerGone(f"{self._who} has ended: {self._end or _GONE}") from error
                view, fds = view[sent:], ()

    def _wait_until_writable(self, deadline: float) -> None:
        if not _comes(self._socket, select.POLLOUT, deadline - time.monotonic()):
            self._end = "it takes nothing any more"  # half a frame may be under way
            raise DeadlinePassed(f"{self._who} takes nothing")


def _comes(end: socket.socket, event: int, timeout_s: float) -> bool:
    """Whether the event came in time. Unlike select(), for descriptors of any number."""
    poll = select.poll()
    poll.register(end, event)
    return bool(poll.poll(max(timeout_s, 0) * 1000))


def _with_fds(fds: Sequence[int]) -> list[tuple[int, int, array.array[int]]]:
    if not fds:
        return []
    return [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))]
