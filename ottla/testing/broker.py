"""A real broker for a test, which starts in a moment and ends with the process of the tests.

    with Broker() as broker:
        Producer({"bootstrap.servers": broker.bootstrap_servers})

The broker is a process of its own, which the host process forks (`ottla.testing.host`). All calls
are synchronous; in a coroutine use `async with Broker()` and `await asyncio.to_thread(…)`.
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

from ottla.testing.channel import CALL_TIMEOUT_S, ProcessChannel
from ottla.testing.contents import Contents
from ottla.testing.errors import SHOW_THE_CALLER, BrokerGone, Misuse, OttlaError, StartFailed
from ottla.testing.faults import FailureOptions, Fault, Faults
from ottla.testing.frames import Json
from ottla.testing.own_process import STOP_TIMEOUT_S, OwnProcess
from ottla.testing.ports import HOST, HeldPort, held
from ottla.testing.standing import place
from ottla.testing.time_travel import advance, in_ms

__tracebackhide__ = SHOW_THE_CALLER

START_TIMEOUT_S = 90.0


@dataclass(frozen=True)
class Membership:
    """The place of a broker in a `Cluster`."""

    node_id: int
    cluster_id: str
    controller: Sequence[HeldPort]
    """The port of the node's controller; empty if the node is not a controller."""


class Broker(Contents):
    """A single broker. It keeps its port and its data when it is restarted.

    `properties`  server keys above the single-node profile, such as `{"num.partitions": "3"}`. In a
                  temporary folder, `__consumer_offsets` and `__transaction_state` have a single
                  partition unless another number is set
    `data_dir`    an existing folder for the data, which is kept; without it, a temporary folder,
                  which `close()` removes
    `port`        the port for clients; 0 picks a free one
    `keep_data`   do not remove the temporary folder
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
        """Reserve the port and create the folder; `start()` starts the process.

        `data_dir` None: a temporary folder, which `close()` removes unless `keep_data`. `port` 0:
        any free port. `member` is for `Cluster` only. Raises StartFailed if the port is in use.
        """
        self.properties = {key: str(value) for key, value in (properties or {}).items()}
        self._port = held(port)
        self._ports = (self._port, *(member.controller if member is not None else ()))
        self._member = member
        name = "broker" if member is None else f"node-{member.node_id}"
        self._process = OwnProcess(name, self._ports, data_dir, keep_data=keep_data)
        self._start_timeout_s = start_timeout_s
        self._channel: ProcessChannel | None = None
        self._starting: tuple[ProcessChannel, int, float] | None = None
        self._ahead_ms = 0.0
        self._first_state: Json = None
        """The configs, ACLs and log levels at the first start, which a reset restores."""

    @property
    def node_id(self) -> int:
        """The broker's `node.id`: from the properties, otherwise its number in the cluster,
        otherwise 1."""
        default_id = 1 if self._member is None else self._member.node_id
        broker_id = self.properties.get("broker.id", default_id)
        return int(self.properties.get("node.id", broker_id))

    @property
    def port(self) -> int:
        """The port to which clients connect."""
        return self._port.number

    @property
    def ports(self) -> Sequence[int]:
        """The port for clients and, if the node is a controller in a cluster, the port for
        controllers."""
        return [port.number for port in self._ports]

    @property
    def bootstrap_servers(self) -> str:
        """The `bootstrap.servers` of a client: `host:port`."""
        return f"{HOST}:{self.port}"

    @property
    def pid(self) -> int:
        """The process id of the last start, also if the process has ended by itself. Raises Misuse
        before `start` and after `stop` or `kill`."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether the broker's process is alive."""
        return self._process.running

    @property
    def data_dir(self) -> Path:
        """The folder of the broker's data."""
        return self._process.data_dir

    @property
    def log_file(self) -> Path:
        """The file with all that the broker prints and logs."""
        return self._process.log_file

    def start(self) -> Broker:
        """Start the broker, and return this object when it accepts connections. Raises Misuse if it
        runs already or was closed. Raises StartFailed, with the output, if it does not start in
        time."""
        self.begin_start()
        return self.finish_start()

    def begin_start(self) -> None:
        """Start the process without waiting until it accepts connections: the first half of
        `start`. A node of a cluster becomes ready only with other nodes. Raises Misuse if it runs
        already or was closed."""
        deadline = time.monotonic() + self._start_timeout_s
        ours, theirs = socket.socketpair()
        with theirs, contextlib.ExitStack() as cleanup:
            channel = ProcessChannel(ours, f"the broker on {self.bootstrap_servers}")
            cleanup.callback(channel.close)
            self._process.begin(theirs)
            number = channel.begin("start", self._start_arguments(), deadline)
            cleanup.pop_all()
        self._close_channel()
        self._starting = channel, number, deadline

    def finish_start(self) -> Broker:
        """Wait until the broker accepts connections, and return this object: the second half of
        `start`. If the start fails or takes too long, kills the process and raises StartFailed with
        its output."""
        assert self._starting is not None, "begin_start() comes first"
        (channel, number, deadline), self._starting = self._starting, None
        try:
            answer = channel.result(number, "start", deadline)
        except OttlaError as error:
            text = f"the broker did not start: {error}; it said:\n{self.output()}"
            channel.close()
            self.kill()
            raise StartFailed(text) from None
        self._channel = channel
        self._first_state = self._first_state or answer["initial_state"]
        return self

    def stop(self, timeout_s: float = STOP_TIMEOUT_S) -> int:
        """Stop the broker cleanly, as SIGTERM does, wait, and return its exit code; 0 if it does
        not run. Raises StopFailed, and kills it, if it does not end within `timeout_s` seconds."""
        try:
            return self._process.stop(timeout_s)
        finally:
            self._close_channel()

    def begin_stop(self) -> None:
        """Ask the broker to stop, as SIGTERM does, without waiting: the first half of `stop`. Does
        nothing if it does not run."""
        self._process.begin_stop()

    def kill(self) -> None:
        """End the process as `kill -9` does, and wait for its end: no flush, and no message to
        clients or other brokers. Does nothing if it does not run."""
        self._process.kill()
        self._close_channel()

    def pause(self) -> None:
        """Pause the process, as SIGSTOP does: it keeps its connections and answers no request.
        Raises Misuse if it was not started."""
        self._process.pause()

    def resume(self) -> None:
        """Let the process continue after `pause`. Raises Misuse if it was not started."""
        self._process.resume()

    def restart(self) -> Broker:
        """Stop the broker if it runs, start it with the same port and data, and return this object.
        Raises StopFailed, StartFailed."""
        self.stop()
        return self.start()

    def call(
        self, op: str, args: Mapping[str, Json] | None = None, *, timeout_s: float = CALL_TIMEOUT_S
    ) -> Json:
        """Return the answer of an operation (`testbed/operations`) of the control channel.

        Raises Misuse before `start` and after `stop` or `kill`, DeadlinePassed after `timeout_s`
        seconds, and the operation's own OttlaError. Raises BrokerGone, with the output, if the
        process has ended by itself.
        """
        if self._channel is None:
            raise Misuse("the broker is not running: start() it")
        try:
            return self._channel.call(op, args, timeout_s=timeout_s)
        except BrokerGone as error:
            self._process.wait_for_end()
            raise BrokerGone(f"{error}; it said:\n{self.output()}") from None

    @property
    def faults(self) -> Faults:
        """The faults that a test can add to the requests that this broker receives."""
        return Faults(lambda: [self.call], lambda topic: self.existing_topic(topic).name)

    def fail(self, api: str, error: str, **how: Unpack[FailureOptions]) -> Fault:
        """Let requests fail with an error: `fail("Produce", "NOT_LEADER_OR_FOLLOWER", times=2,
        topic="orders")`.

        Returns the fault, which lasts until `times` requests had it or it is lifted. See
        `ottla.testing.faults` for the arguments; `faults` has the other kinds of faults. Raises
        Misuse for an unknown API or error.
        """
        return self.faults.fail(api, error, **how)

    def disconnect_all(self) -> int:
        """Close the connections of all clients once, now. Return how many there were."""
        return self.faults.disconnect_all()

    @property
    def is_ahead(self) -> bool:
        """Whether `advance` has moved the broker's clocks."""
        return self._ahead_ms > 0

    def advance(
        self, *, days: float = 0, hours: float = 0, minutes: float = 0, seconds: float = 0
    ) -> None:
        """Move the broker's clocks forward, and do what becomes due until then; see
        `ottla.testing.time_travel`.

        The clocks stay ahead, also after a restart. If the broker does not run, its clocks are
        moved when it starts. Raises Misuse if the sum of the arguments is negative.
        """
        duration = timedelta(days, seconds, 0, 0, minutes, hours)
        if self._channel is None:
            self._ahead_ms += in_ms(duration)
        else:
            self._ahead_ms = advance(self.call, duration)

    def output(self, offset: int = 0) -> str:
        """Return the last 200 lines that the broker printed and logged, over all its starts.

        `offset` is the number of bytes to skip, such as an earlier `output_size`.
        """
        return self._process.output(offset)

    @property
    def output_size(self) -> int:
        """The number of bytes that the broker has printed and logged so far."""
        return self._process.output_size

    def close(self) -> None:
        """End the broker, whatever its state, and release its port. A further call does nothing.

        With `data_dir`, the broker is stopped cleanly, and the data is kept. Otherwise it is
        killed, and its temporary folder is removed unless `keep_data` was set. Raises StopFailed,
        and kills the broker, if a clean stop takes more than 10 s.
        """
        try:
            self._process.close(gently=not self._process.is_temporary)
        finally:
            self._close_channel()

    def _start_arguments(self) -> dict[str, Json]:
        """Return the arguments of the operation `start`, by which the new process becomes this
        broker."""
        controllers = "".join(f",CONTROLLER://{HOST}:{port.number}" for port in self._ports[1:])
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
            "initial_state": self._first_state,
        }

    def _close_channel(self) -> None:
        if self._channel is not None:
            self._channel.close()
            self._channel = None

    def __repr__(self) -> str:
        return f"<Broker {self.node_id} on {self.bootstrap_servers}>"

    def __enter__(self) -> Broker:
        """Start the broker, and return this object. If that fails, close the broker and raise the
        error."""
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
        """Start the broker in a thread, as `__enter__` does, so that the event loop goes on
        meanwhile."""
        return await asyncio.to_thread(self.__enter__)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the broker in a thread, so that the event loop goes on meanwhile."""
        await asyncio.to_thread(self.close)
