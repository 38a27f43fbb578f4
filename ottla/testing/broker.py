"""A real broker for a test: there in a moment, gone with whoever wanted it.

    with Broker() as broker:
        Producer({"bootstrap.servers": broker.bootstrap_servers})

It is a process of its own, forked from the host (`ottla.testing.host`). Every call is synchronous;
from a coroutine, `async with Broker()` and `await asyncio.to_thread(broker.restart)`.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import time
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Unpack

from ottla.testing.channel import CALL_TIMEOUT_S, Channel
from ottla.testing.contents import Contents
from ottla.testing.errors import (
    BrokerGone,
    DeadlinePassed,
    Misuse,
    OttlaError,
    StartFailed,
    StopFailed,
)
from ottla.testing.faults import Fault, Faults, Meant
from ottla.testing.frames import Json
from ottla.testing.host import HostProcess, the_host
from ottla.testing.log_lines import last_lines
from ottla.testing.ports import HOST, HeldPort, held
from ottla.testing.standing import place
from ottla.testing.time_travel import advance, in_ms

START_TIMEOUT_S = 30.0
_STOP_TIMEOUT_S = 30.0
_END_TIMEOUT_S = 5.0


class Broker(Contents):
    """One broker. It keeps its port and its data when it is started again.

    `properties`  server keys above the single-node profile, such as `{"num.partitions": "3"}`
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
        cluster_id: str | None = None,
        name: str = "broker",
        controller_port: Sequence[HeldPort] = (),
    ) -> None:
        self.properties = {key: str(value) for key, value in (properties or {}).items()}
        self._host: HostProcess = the_host()
        self._folder = self._host.folder(name, keep=keep_data)
        self._port = held(port)
        self._ports = (self._port, *controller_port)
        self.data_dir = Path(data_dir).absolute() if data_dir is not None else self._folder / "data"
        self.log_file = self._folder / "broker.log"
        self._start_timeout_s = start_timeout_s
        self._cluster_id = cluster_id
        self._pid: int | None = None
        self._channel: Channel | None = None
        self._starting: tuple[Channel, int, float] | None = None
        self._last_output = ""
        self._ahead_ms = 0.0
        self._closed = False

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
        if self._pid is None:
            raise Misuse("the broker is not running: start() it")
        return self._pid

    @property
    def running(self) -> bool:
        """Whether its process lives."""
        return self._pid is not None and self._host.running and self._host.signal(self._pid, _NONE)

    def start(self) -> Broker:
        """Start and return once it accepts connections. Raises StartFailed, with what it said."""
        self.begin_start()
        return self.finish_start()

    def begin_start(self) -> None:
        """The first half of `start`: its process is there. A node of several waits for others."""
        if self.running:
            raise Misuse("the broker is running already: stop() or restart() it")
        if self._closed:
            raise Misuse("the broker was closed, and its data removed: make a new one")
        self._forget()
        deadline = time.monotonic() + self._start_timeout_s
        ours, theirs = socket.socketpair()
        with theirs:
            channel = Channel(ours, f"the broker on {self.bootstrap_servers}")
            # Under way before there is anybody to read it.
            number = channel.begin("start", self._start_arguments(), deadline)
            for port in self._ports:
                port.lend()
            self._pid = self._host.start(theirs, self.log_file)
        self._starting = channel, number, deadline

    def finish_start(self) -> Broker:
        """The second half: it accepts connections."""
        assert self._starting is not None, "begin_start() comes first"
        (channel, number, deadline), self._starting = self._starting, None
        try:
            channel.result(number, "start", deadline)
        except OttlaError as error:
            text = f"the broker did not start: {error}; it said:\n{self.output()}"
            channel.close()
            self.kill()
            raise StartFailed(text) from None
        self._channel = channel
        return self

    def stop(self, timeout_s: float = _STOP_TIMEOUT_S) -> int:
        """Stop it as SIGTERM does and wait; its exit code. StopFailed if it does not end."""
        if self._pid is None:
            return 0
        self.begin_stop()
        try:
            code = self._host.wait(self._pid, timeout_s)
        except DeadlinePassed:
            self.kill()
            raise StopFailed(
                f"the broker did not stop within {timeout_s} s; it said:\n{self.output()}"
            ) from None
        self._forget()
        return code

    def begin_stop(self) -> None:
        """The first half of `stop`: it is told to."""
        if self._pid is not None:
            self._host.signal(self._pid, signal.SIGCONT)  # one that is paused stops, too
            self._host.signal(self._pid, signal.SIGTERM)

    def kill(self) -> None:
        """End it as `kill -9` does: nothing is flushed, nobody is told."""
        if self._pid is not None:
            self._host.signal(self._pid, signal.SIGKILL)
            self._host.wait(self._pid, _STOP_TIMEOUT_S)
            self._forget()

    def pause(self) -> None:
        """Stop its process where it is: it holds its connections and answers nothing."""
        self._host.signal(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on after `pause`."""
        self._host.signal(self.pid, signal.SIGCONT)

    def restart(self) -> Broker:
        """Stop it if it runs, and start it on the same port and data."""
        self.stop()
        return self.start()

    def call(
        self, op: str, args: Mapping[str, Json] | None = None, *, timeout_s: float = CALL_TIMEOUT_S
    ) -> Json:
        """One operation of the broker's control channel (`broker/testing/operations`)."""
        if self._channel is None:
            raise Misuse("the broker is not running: start() it")
        try:
            return self._channel.call(op, args, timeout_s=timeout_s)
        except BrokerGone as error:
            self._see_its_end()
            raise BrokerGone(f"{error}; it said:\n{self.output()}") from None

    @property
    def faults(self) -> Faults:
        """What goes wrong with its requests, on demand."""
        return Faults(lambda: [self.call], lambda topic: self.existing_topic(topic).name)

    def fail(self, api: str, error: str, **meant: Unpack[Meant]) -> Fault:
        """Let requests fail with an error; the other faults, and all about them, are in `faults`:
        `fail("Produce", "NOT_LEADER_OR_FOLLOWER", times=2, topic="orders")`."""
        return self.faults.fail(api, error, **meant)

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
        if not self._closed:
            self._last_output = last_lines(self.log_file)
        return last_lines(self.log_file, offset) if offset else self._last_output

    @property
    def output_size(self) -> int:
        """How much it has printed and logged so far."""
        return self.log_file.stat().st_size if self.log_file.exists() else 0

    def close(self) -> None:
        """Stop it whatever its state, and remove the temporary folder."""
        if self._closed:
            return
        self.output()
        self._closed = True
        try:
            if self._host.running:
                self.kill() if self._temporary else self.stop(timeout_s=10)
                self._host.drop(self._folder)
        finally:
            self._forget()
            for port in self._ports:
                port.release()

    @property
    def _temporary(self) -> bool:
        return self.data_dir.parent == self._folder

    def _start_arguments(self) -> dict[str, Json]:
        controllers = "".join(f",CONTROLLER://{HOST}:{one.number}" for one in self._ports[1:])
        keys = {
            "listeners": f"PLAINTEXT://{HOST}:{self.port}{controllers}",
            "log.dirs": str(self.data_dir),
            **self.properties,
        }
        durable = not self._temporary or "log.dirs" in self.properties
        return {
            "place": place(),
            "properties": keys,
            "cluster_id": self._cluster_id,
            "durable": durable,
            "ahead_ms": self._ahead_ms,
        }

    def _see_its_end(self) -> None:
        """Its channel is closed: its process ends, or has ended. Its port is free then."""
        if self._pid is not None and self._host.running:
            with contextlib.suppress(DeadlinePassed):
                self._host.wait(self._pid, _END_TIMEOUT_S)

    def _forget(self) -> None:
        self._pid = None
        if self._channel is not None:
            self._channel.close()
            self._channel = None
        for port in self._ports:
            port.take_again()

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


_NONE = 0
"""No signal: only whether the process is there."""
