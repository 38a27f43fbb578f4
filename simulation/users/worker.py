"""The process in which a user's simulated clusters are: one after the other, led over a channel.

Its one channel is a socket pair to the process of the tests, of which it knows no more than
requests and answers; at its end it ends. It has no event loop and no thread: while a run goes on
nothing else happens here.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import socket
from collections.abc import Callable

from ottla.testing.frames import HELLO, BrokenFrame, FrameReader, Json, Message, check_hello, encode
from simulation.sim_trace import Failure
from simulation.users.user_run import UserRun
from testbed.parent_death import die_with_parent

_READ_BYTES = 1 << 18
_COLLECT_EVERY = 8
"""Runs: a cluster that is over is a heap of circles."""


class Worker:
    """See the module."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._reader = FrameReader()
        self._greeted = False
        self._run: UserRun | None = None
        self._runs = 0
        self._operations: dict[str, Callable[[Message], Json]] = {
            "begin": self._begin,
            "step": self._step,
            "finish": self._finish,
            "drop": self._drop,
        }

    def serve(self) -> None:
        """Until the other end is closed."""
        with contextlib.suppress(BrokenFrame, ConnectionError):
            self._channel.sendall(encode(HELLO))
            while data := self._channel.recv(_READ_BYTES):
                for message in self._reader.feed(data):
                    self._take(message)
        self._channel.close()

    def _take(self, message: Message) -> None:
        if not self._greeted:
            check_hello(message)
            self._greeted = True
            return
        answer: Message = {"id": message["id"]}
        try:
            answer["result"] = self._operations[message["op"]](message["args"])
        except Failure as failure:
            answer["result"] = self._failed(failure)
        except Exception as error:  # noqa: BLE001 - told to whoever asked
            answer["error"] = {"kind": "failed", "text": f"{message['op']}: {error!r}"}
        self._channel.sendall(encode(answer))

    # --- operations ----------------------------------------------------------------------------

    def _begin(self, args: Message) -> Json:
        """A new run; the one before is over."""
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
        return self._told(self._run)

    def _step(self, args: Message) -> Json:
        """Begin and give up operations, then let time pass until one is done."""
        run = self._running()
        for number in args["cancel"]:
            run.cancel(number)
        for client in args["hang_up"]:
            run.hang_up(client)
        for number, client, op, given in args["submit"]:
            run.submit(number, client, op, given)
        run.advance()
        return self._told(run)

    def _finish(self, _args: Message) -> Json:
        """The end of a run: what is in the logs then."""
        run = self._running()
        reading = run.finish()
        logs = [
            [topic, partition, records]
            for topic, partitions in reading.logs.items()
            for partition, records in partitions.items()
        ]
        return {
            **self._told(run),
            "logs": logs,
            "offsets": reading.offsets,
            "faults": run.nemesis.counts,
            "requests": run.requests,
            "events": run.world.events_run,
        }

    def _drop(self, _args: Message) -> Json:
        """Nobody wants to know how this run would end."""
        self._run = None
        return None

    def _running(self) -> UserRun:
        assert self._run is not None, "begin comes first"
        return self._run

    def _told(self, run: UserRun) -> dict[str, Json]:
        return {
            "now_ms": run.world.now_ms,
            "done": run.take_done(),
            "happened": run.take_happened(),
            "over": run.over,
            "checksum": run.trace.checksum(),
            "trace": run.trace.take_kept(),
        }

    def _failed(self, failure: Failure) -> Json:
        run = self._running()
        return {**self._told(run), "failure": [failure.invariant, failure.reason]}


def serve(channel: socket.socket) -> int:
    """Be that process; its exit code."""
    gc.disable()
    logging.root.addHandler(logging.NullHandler())
    die_with_parent(os.getppid())()
    Worker(channel).serve()
    return 0
