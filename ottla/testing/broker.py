"""A real broker for a test: there in a moment, gone with whoever wanted it.

    with Broker() as broker:
        Producer({"bootstrap.servers": broker.bootstrap_servers})

It is a process of its own, forked from the host (`ottla.testing.host`). Every call is synchronous;
from a coroutine, `async with Broker()` and `await asyncio.to_thread(broker.restart)`.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Unpack

from ottla.testing.channel import CALL_TIMEOUT_S, Channel
from ottla.testing.contents import Contents
from ottla.testing.errors import SHOW_THE_CALLER, BrokerGone, Misuse, OttlaError, StartFailed
from ottla.testing.faults import Failing, Fault, Faults
from ottla.testing.frames import Json
from ottla.testing.own_process import STOP_TIMEOUT_S, OwnProcess
from ottla.testing.ports import HOST, HeldPort, held
from ottla.testing.standing import place
from ottla.testing.time_travel import advance, in_ms

__tracebackhide__ = SHOW_THE_CALLER

START_TIMEOUT_S = 90.0


@dataclass(frozen=True)
class Membership:
    """A broker's place in a `Cluster`."""

    node_id: int
    cluster_id: str
    controller: Sequence[HeldPort]
    """Where it is asked as a controller; empty where it is none."""


class Broker(Contents):
    """One broker. It keeps its port and its data when it is started again.

    `properties`  server keys above the single-node profile, such as `{"num.partitions": "3"}`; in
                  a temporary folder `__consumer_offsets` and `__transaction_state` have one
                  partition where nothing else is set
    `data_dir`    an existing folder to keep; else a temporary one, removed by `close()`
    `port`        0 takes a free one
    `keep_data`   leave the temporary folder where it is
    """

    def __init__(
        self,
        properties: Mapping[str, str] | None = None,
        *,
        data_dir: Path | str | None = None,
        port: int = 0,
        start_timeout_s: float = START_TIMEOUT_S,
        keep_data: bool = False,
        member: Membership | None = None,
    ) -> None:
        """`member` is for `Cluster`."""
        self.properties = {key: str(value) for key, value in (properties or {}).items()}
        self._port = held(port)
        self._ports = (self._port, *(member.controller if member is not None else ()))
        self._member = member
        name = "broker" if member is None else f"node-{member.node_id}"
        self._process = OwnProcess(name, self._ports, data_dir, keep_data=keep_data)
        self._start_timeout_s = start_timeout_s
        self._channel: Channel | None = None
        self._starting: tuple[Channel, int, float] | None = None
        self._ahead_ms = 0.0
        self._as_new: Json = None
        """What it was at its first start: for a reset."""

    @property
    def node_id(self) -> int:
        """Its `node.id`."""
        by_itself = 1 if self._member is None else self._member.node_id
        old_name = self.properties.get("broker.id", by_itself)
        return int(self.properties.get("node.id", old_name))

    @property
    def port(self) -> int:
        """Where clients connect."""
        return self._port.number

    @property
    def ports(self) -> Sequence[int]:
        """Where clients connect, and where controllers do, where it is one of several."""
        return [one.number for one in self._ports]

    @property
    def bootstrap_servers(self) -> str:
        """`host:port` for a client."""
        return f"{HOST}:{self.port}"

    @property
    def pid(self) -> int:
        """The process id while it runs."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether its process lives."""
        return self._process.running

    @property
    def data_dir(self) -> Path:
        """The folder of its data."""
        return self._process.data_dir

    @property
    def log_file(self) -> Path:
        """The file of what it prints and logs."""
        return self._process.log_file

    def start(self) -> Broker:
        """Start and return once it accepts connections. Raises StartFailed, with what it said."""
        self.begin_start()
        return self.finish_start()

    def begin_start(self) -> None:
        """The first half of `start`: its process is there. A node of several waits for others."""
        deadline = time.monotonic() + self._start_timeout_s
        ours, theirs = socket.socketpair()
        with theirs, contextlib.ExitStack() as undoing:
            channel = Channel(ours, f"the broker on {self.bootstrap_servers}")
            undoing.callback(channel.close)
            self._process.begin(theirs)
            number = channel.begin("start", self._start_arguments(), deadline)
            undoing.pop_all()
        self._let_go()
        self._starting = channel, number, deadline

    def finish_start(self) -> Broker:
        """The second half: it accepts connections."""
        assert self._starting is not None, "begin_start() comes first"
        (channel, number, deadline), self._starting = self._starting, None
        try:
            told = channel.result(number, "start", deadline)
        except OttlaError as error:
            text = f"the broker did not start: {error}; it said:\n{self.output()}"
            channel.close()
            self.kill()
            raise StartFailed(text) from None
        self._channel = channel
        self._as_new = self._as_new or told["as_new"]
        return self

    def stop(self, timeout_s: float = STOP_TIMEOUT_S) -> int:
        """Stop it as SIGTERM does and wait; its exit code. StopFailed if it does not end."""
        try:
            return self._process.stop(timeout_s)
        finally:
            self._let_go()

    def begin_stop(self) -> None:
        """The first half of `stop`: it is told to."""
        self._process.begin_stop()

    def kill(self) -> None:
        """End it as `kill -9` does: nothing is flushed, nobody is told."""
        self._process.kill()
        self._let_go()

    def pause(self) -> None:
        """Stop its process where it is: it holds its connections and answers nothing."""
        self._process.pause()

    def resume(self) -> None:
        """Let it go on after `pause`."""
        self._process.resume()

    def restart(self) -> Broker:
        """Stop it if it runs, and start it on the same port and data."""
        self.stop()
        return self.start()

    def call(
        self, op: str, args: Mapping[str, Json] | None = None, *, timeout_s: float = CALL_TIMEOUT_S
    ) -> Json:
        """Return the answer of an operation (`testbed/operations`) of the control channel."""
        if self._channel is None:
            raise Misuse("the broker is not running: start() it")
        try:
            return self._channel.call(op, args, timeout_s=timeout_s)
        except BrokerGone as error:
            self._process.see_its_end()
            raise BrokerGone(f"{error}; it said:\n{self.output()}") from None

    @property
    def faults(self) -> Faults:
        """What goes wrong with its requests, on demand."""
        return Faults(lambda: [self.call], lambda topic: self.existing_topic(topic).name)

    def fail(self, api: str, error: str, **how: Unpack[Failing]) -> Fault:
        """Let requests fail with an error; the other faults, and all about them, are in `faults`:
        `fail("Produce", "NOT_LEADER_OR_FOLLOWER", times=2, topic="orders")`."""
        return self.faults.fail(api, error, **how)

    def disconnect_all(self) -> int:
        """Close the connections of all clients now, once; how many there were."""
        return self.faults.disconnect_all()

    @property
    def is_ahead(self) -> bool:
        """Whether its clocks were moved."""
        return self._ahead_ms > 0

    def advance(
        self, *, days: float = 0, hours: float = 0, minutes: float = 0, seconds: float = 0
    ) -> None:
        """Move its clocks, and have done what is due until then; see `ottla.testing.time_travel`.

        They stay ahead, over a restart too; those of a broker that does not run are so when it is
        started.
        """
        by = timedelta(days, seconds, 0, 0, minutes, hours)
        if self._channel is None:
            self._ahead_ms += in_ms(by)
        else:
            self._ahead_ms = advance(self.call, by)

    def output(self, offset: int = 0) -> str:
        """The last lines that it printed and logged, over all its starts.

        `offset` leaves out what stands before it in the file (`output_size`).
        """
        return self._process.output(offset)

    @property
    def output_size(self) -> int:
        """How many bytes it has printed and logged so far."""
        return self._process.output_size

    def close(self) -> None:
        """Stop it whatever its state, and remove the temporary folder."""
        try:
            self._process.close(gently=not self._process.is_temporary)
        finally:
            self._let_go()

    def _start_arguments(self) -> dict[str, Json]:
        controllers = "".join(f",CONTROLLER://{HOST}:{one.number}" for one in self._ports[1:])
        keys = {
            "listeners": f"PLAINTEXT://{HOST}:{self.port}{controllers}",
            "log.dirs": str(self.data_dir),
            **self.properties,
        }
        return {
            "place": place(),
            "properties": keys,
            "cluster_id": None if self._member is None else self._member.cluster_id,
            "durable": not self._process.is_temporary or "log.dirs" in self.properties,
            "ahead_ms": self._ahead_ms,
            "as_new": self._as_new,
        }

    def _let_go(self) -> None:
        if self._channel is not None:
            self._channel.close()
            self._channel = None

    def __repr__(self) -> str:
        return f"<Broker {self.node_id} on {self.bootstrap_servers}>"

    def __enter__(self) -> Broker:
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    async def __aenter__(self) -> Broker:
        return await asyncio.to_thread(self.__enter__)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await asyncio.to_thread(self.close)
