"""The process in which a user's simulated clusters run, one after the other, led over a channel.

Its one channel is a socket pair to the process of the tests. The process ends when the channel is
closed. It has no event loop and no thread: it does one operation at a time.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import socket
from collections.abc import Callable

from ottla.testing.frames import (
    HELLO,
    BrokenFrame,
    Json,
    JsonFrameReader,
    JsonMessage,
    check_hello,
    encode,
)
from simulation.sim_trace import Failure
from simulation.users.user_run import UserRun
from testbed.parent_death import die_with_parent

_READ_BYTES = 1 << 18
_COLLECT_EVERY = 8
"""The number of runs between garbage collections: a finished cluster is full of reference
cycles."""


class Worker:
    """The loop over the channel's requests, with the current run."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._reader = JsonFrameReader()
        self._greeted = False
        self._run: UserRun | None = None
        self._runs = 0
        self._operations: dict[str, Callable[[JsonMessage], Json]] = {
            "begin": self._begin,
            "step": self._step,
            "finish": self._finish,
            "drop": self._drop,
        }

    def serve(self) -> None:
        """Serve requests until the other end of the channel is closed or sends a broken frame; then
        close this end."""
        with contextlib.suppress(BrokenFrame, ConnectionError):
            self._channel.sendall(encode(HELLO))
            while data := self._channel.recv(_READ_BYTES):
                for message in self._reader.feed(data):
                    self._receive(message)
        self._channel.close()

    def _receive(self, message: JsonMessage) -> None:
        """Check the first message as a greeting. Carry out each later message, and send the result,
        the run's failure or the error to the channel."""
        if not self._greeted:
            check_hello(message)
            self._greeted = True
            return
        answer: JsonMessage = {"id": message["id"]}
        try:
            answer["result"] = self._operations[message["op"]](message["args"])
        except Failure as failure:
            answer["result"] = self._failed(failure)
        except Exception as error:  # noqa: BLE001 - the caller gets it as an error
            answer["error"] = {"kind": "failed", "text": f"{message['op']}: {error!r}"}
        self._channel.sendall(encode(answer))

    # --- operations ----------------------------------------------------------------------------

    def _begin(self, args: JsonMessage) -> Json:
        """Drop the run before, begin a new run, and return its state. Raises Failure."""
        self._run = None
        self._runs += 1
        if self._runs % _COLLECT_EVERY == 0:
            gc.collect()
        self._run = UserRun(
            args["seed"],
            brokers=args["brokers"],
            faults=args["faults"],
            properties=args["properties"],
            limit_ms=args["limit_ms"],
            keep_trace=args["keep_trace"],
        )
        self._run.begin()
        return self._state_of(self._run)

    def _step(self, args: JsonMessage) -> Json:
        """Cancel and begin operations, let virtual time pass until an operation is done, and return
        the run's state. Raises Failure."""
        run = self._running()
        for number in args["cancel"]:
            run.cancel(number)
        for client in args["hang_up"]:
            run.hang_up(client)
        for number, client, op, op_args in args["submit"]:
            run.submit(number, client, op, op_args)
        run.advance()
        return self._state_of(run)

    def _finish(self, _args: JsonMessage) -> Json:
        """Finish the run, and return its state, logs, offsets and counts. Raises Failure."""
        run = self._running()
        reading = run.finish()
        logs = [
            [topic, partition, records]
            for topic, partitions in reading.logs.items()
            for partition, records in partitions.items()
        ]
        return {
            **self._state_of(run),
            "logs": logs,
            "offsets": reading.offsets,
            "faults": run.nemesis.counts,
            "requests": run.requests,
            "events": run.world.events_run,
        }

    def _drop(self, _args: JsonMessage) -> Json:
        """Drop the run unfinished: its result is not needed."""
        self._run = None
        return None

    def _running(self) -> UserRun:
        """Return the current run. Raises AssertionError before the first `begin`."""
        assert self._run is not None, "begin comes first"
        return self._run

    def _state_of(self, run: UserRun) -> dict[str, Json]:
        """Return the run's time and checksum, and the operations done, faults and trace lines since
        the last call."""
        return {
            "now_ms": run.world.now_ms,
            "done": run.take_done(),
            "happened": run.take_happened(),
            "over": run.over,
            "checksum": run.trace.checksum(),
            "trace": run.trace.take_kept(),
        }

    def _failed(self, failure: Failure) -> Json:
        """Return the run's state, with the broken invariant and the reason."""
        run = self._running()
        return {**self._state_of(run), "failure": [failure.invariant, failure.reason]}


def serve(channel: socket.socket) -> int:
    """Serve the channel until its other end is closed, and return 0, the exit code of the process.

    The process dies with its parent, and collects garbage only between runs.
    """
    gc.disable()
    logging.root.addHandler(logging.NullHandler())
    die_with_parent(os.getppid())()
    Worker(channel).serve()
    return 0
