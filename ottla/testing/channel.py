"""The client's half of the control channel: calls with a deadline, from any thread.

It owns one end of a socket pair, and no thread. If several threads wait for answers, one of them
reads and passes the others their answers. A process that was forked from this one must not use it.
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
from ottla.testing.frames import (
    HELLO,
    BrokenFrame,
    Json,
    JsonFrameReader,
    JsonMessage,
    check_hello,
    encode,
)

__tracebackhide__ = SHOW_THE_CALLER

CALL_TIMEOUT_S = 60.0
_READ_BYTES = 1 << 18
_GONE = "its process is gone"


class ProcessChannel:
    """Calls to the process at the other end of a socket pair. Error messages call that process
    `peer_name`."""

    def __init__(self, end: socket.socket, peer_name: str) -> None:
        """Use the socket `end` of a pair, set it to non-blocking, and send the greeting. Error
        messages call the process at the other end `peer_name`. Raises BrokerGone."""
        end.setblocking(False)
        self._socket = end
        self._peer_name = peer_name
        self._owner_pid = os.getpid()
        self._sending = threading.Lock()
        self._changed = threading.Condition()
        self._reader = JsonFrameReader()
        self._reading = False
        self._greeted = False
        self._answers: dict[int, JsonMessage] = {}
        self._waiting: set[int] = set()
        self._next_id = 1
        self._end_reason: str | None = None
        """Why no further answer can come; None while the channel is open."""
        self._send(encode(HELLO), (), time.monotonic() + CALL_TIMEOUT_S)

    @property
    def gone(self) -> bool:
        """Whether no further answer can come: this end was closed, or the other end is known to be
        closed or stuck."""
        return self._end_reason is not None

    def call(
        self,
        op: str,
        args: Mapping[str, Json] | None = None,
        *,
        timeout_s: float = CALL_TIMEOUT_S,
        fds: Sequence[int] = (),
    ) -> Json:
        """Send a call, wait for its answer, and return the result. The descriptors in `fds` are
        sent with the call.

        Raises the OttlaError that the other end answers, BrokerGone if its process has ended, or
        DeadlinePassed after `timeout_s` seconds.
        """
        deadline = time.monotonic() + timeout_s
        return self.result(self.begin(op, args, deadline, fds), op, deadline)

    def tell(self, op: str) -> None:
        """Send a call and return without waiting; its answer is dropped. Raises BrokerGone if the
        other end is closed, Misuse in a process forked from the owner."""
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
        """Send a call, and return its id, with which `result` waits for the answer. `deadline` is a
        time of `time.monotonic()`.

        Raises BrokerGone if the other end is closed, DeadlinePassed if it does not read in time,
        Misuse in a process forked from the owner.
        """
        if os.getpid() != self._owner_pid:
            raise Misuse(
                f"{self._peer_name} belongs to the process that started it, not to one forked from "
                "that: start brokers in the process that uses them, or pass bootstrap_servers on"
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
        """Wait until `deadline` for the answer of a call that `begin` sent, and return its result.
        Raises as `call` does."""
        answer = self._await_answer(number, op, deadline)
        error = answer.get("error")
        if error is not None:
            raise error_of(str(error["kind"]), str(error["text"]))
        return answer.get("result")

    def close(self) -> None:
        """Close this end, so that the other end reads the end of the file. Calls that wait for an
        answer raise BrokerGone."""
        with self._changed:
            self._end_reason = self._end_reason or "the channel was closed"
            self._changed.notify_all()
        self._socket.close()

    def _await_answer(self, number: int, op: str, deadline: float) -> JsonMessage:
        """Return the answer to this number; one of the waiting threads reads for all.

        Raises DeadlinePassed, or BrokerGone if the peer ends.
        """
        with self._changed:
            try:
                while number not in self._answers:
                    if self._end_reason is not None:
                        raise BrokerGone(f"{self._peer_name} has ended: {self._end_reason}")
                    left = deadline - time.monotonic()
                    if left <= 0:
                        raise DeadlinePassed(f"{self._peer_name} did not answer to {op} in time")
                    if self._reading:
                        self._changed.wait(left)
                    else:
                        self._read_once(left)
                return self._answers.pop(number)
            finally:
                self._waiting.discard(number)

    def _read_once(self, timeout_s: float) -> None:
        """Wait once for data, at most `timeout_s`, and accept the messages that are complete. At
        the end of the channel, set `_end_reason`. The caller holds the lock, which is released
        while this waits."""
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
                self._accept(message)
        except BrokenFrame as error:
            end = str(error)
        self._end_reason = self._end_reason or end

    def _received(self, timeout_s: float) -> tuple[bytes, str | None]:
        """Return the bytes that came within `timeout_s`, and why no more can come (None if more
        can)."""
        try:
            if not _poll(self._socket, select.POLLIN, timeout_s):
                return b"", None
            data = self._socket.recv(_READ_BYTES)
        except (BlockingIOError, InterruptedError):
            return b"", None
        except (OSError, ValueError):
            return b"", _GONE
        return data, None if data else _GONE

    def _accept(self, message: JsonMessage) -> None:
        """Store an answer that a thread waits for, and drop any other. The first message is the
        greeting; raises BrokenFrame if its version is wrong."""
        if not self._greeted:
            check_hello(message)
            self._greeted = True
        elif message.get("id") in self._waiting:  # an answer after its deadline is dropped
            self._answers[message["id"]] = message

    def _send(self, data: bytes, fds: Sequence[int], deadline: float) -> None:
        """Send the data, and the descriptors with its first bytes.

        Raises BrokerGone if the peer has ended, DeadlinePassed if it does not read in time.
        """
        with self._sending:
            if self._end_reason is not None:
                raise BrokerGone(f"{self._peer_name} has ended: {self._end_reason}")
            view = memoryview(data)
            while view:
                try:
                    sent = self._socket.sendmsg([view], _with_fds(fds))
                except BlockingIOError:
                    self._wait_until_writable(deadline)
                    continue
                except OSError as error:
                    raise BrokerGone(
                        f"{self._peer_name} has ended: {self._end_reason or _GONE}"
                    ) from error
                view, fds = view[sent:], ()

    def _wait_until_writable(self, deadline: float) -> None:
        """Wait until the peer takes data.

        Ends the channel and raises DeadlinePassed if it does not in time.
        """
        if not _poll(self._socket, select.POLLOUT, deadline - time.monotonic()):
            # the other end may have got half a frame
            self._end_reason = "it takes nothing any more"
            raise DeadlinePassed(f"{self._peer_name} takes nothing")


def _poll(end: socket.socket, event: int, timeout_s: float) -> bool:
    """Return whether the event came within `timeout_s`. Unlike `select()`, this takes descriptors
    of any number."""
    poll = select.poll()
    poll.register(end, event)
    return bool(poll.poll(max(timeout_s, 0) * 1000))


def _with_fds(fds: Sequence[int]) -> list[tuple[int, int, array.array[int]]]:
    """Return the ancillary data by which `sendmsg` passes these descriptors; empty if there are
    none."""
    if not fds:
        return []
    return [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))]
