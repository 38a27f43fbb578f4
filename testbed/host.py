"""The host of brokers under test: one for each process of tests, which forks a broker at once.

It has every module loaded, one thread and no event loop, so a fork is whole and takes milliseconds.
It owns the processes of the brokers and the folder in which all their files are. Its one channel is
a socket pair to the process of the tests: when that ends, in whatever way, the host kills what
still runs, removes the folder and ends.

Where there is no fork to be trusted (macOS), a broker is a process of its own with the same
channel.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from ottla.testing.frames import HELLO, BrokenFrame, FrameReader, Json, Message, check_hello, encode
from testbed.host_folders import HostFolders
from testbed.host_processes import HostProcesses
from testbed.preload import load_broker, load_more

_READ_BYTES = 1 << 16
_FDS_MAX = 16
_CHECK_PARENT_S = 1.0
_ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

Arguments = Mapping[str, Json]


class NotDone(Exception):
    """What was asked cannot be done; told to whoever asked."""


@dataclass(slots=True)
class _Wait:
    """Somebody waits for the end of a process."""

    number: Json
    pid: int


class Host:
    """See the module."""

    def __init__(self, pair: socket.socket, script: str, can_fork: bool) -> None:
        """`script`: the file by which a process of ours is started."""
        self._pair = pair
        self._script = script
        self._can_fork = can_fork
        self._parent_pid = os.getppid()
        self._selector = selectors.DefaultSelector()
        self._reader = FrameReader()
        self._greeted = False
        self._fds: list[int] = []
        self._processes = HostProcesses()
        self._waits: list[_Wait] = []
        self._folders = HostFolders()
        self._loaded = False
        self._ending = False
        self._to_load: Iterator[str] = iter(())
        self._woken, self._wake = os.pipe()
        self._operations: dict[str, Callable[[Arguments], Json]] = {
            "load": self._load,
            "folder": self._folder,
            "start": self._start,
            "run": self._run_command,
            "signal": self._signal,
            "drop": self._drop,
        }

    def run(self) -> None:
        """Until the tests' process is gone."""
        with self.watching(), contextlib.suppress(BrokenFrame, ConnectionError):
            self._pair.sendall(encode(HELLO))
            while self.turn():
                pass

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """`turn` may be called within; at the end nothing is left of what it began."""
        for end in (self._woken, self._wake):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in _ENDING:
            signal.signal(number, self._asked_to_end)
        self._selector.register(self._pair, selectors.EVENT_READ)
        self._selector.register(self._woken, selectors.EVENT_READ)
        try:
            yield
        finally:
            self._processes.end_all()
            self._folders.remove_all()
            _forget_signals()
            self._selector.close()
            self._pair.close()
            for fd in (self._woken, self._wake):
                os.close(fd)

    def _asked_to_end(self, *_: object) -> None:
        """By a signal: it tidies up, as at the end of the tests' process."""
        self._ending = True

    def turn(self) -> bool:
        """Do what there is to do; whether the tests' process is still there."""
        more = next(self._to_load, None)
        ready = {key.fileobj for key, _ in self._selector.select(0 if more else _CHECK_PARENT_S)}
        if self._woken in ready:
            os.read(self._woken, 4096)
        self._reap()
        if self._pair in ready:
            return self._receive()
        return os.getppid() == self._parent_pid and not self._ending

    def _receive(self) -> bool:
        data, fds, _, _ = socket.recv_fds(self._pair, _READ_BYTES, _FDS_MAX)
        self._fds += fds
        for message in self._reader.feed(data):
            if self._greeted:
                self._take(message)
            else:
                check_hello(message)
                self._greeted = True
        return bool(data)

    def _take(self, message: Message) -> None:
        number, op, args = message["id"], message["op"], message["args"]
        count = message.get("fds", 0)
        fds, self._fds = self._fds[:count], self._fds[count:]
        try:
            if op == "wait":
                self._waits.append(_Wait(number, args["pid"]))
                self._reap()
            else:
                result = self._operations[op]({**args, "fds": fds})
                self._answer({"id": number, "result": result})
        except (BrokenFrame, ConnectionError):
            raise
        except Exception as error:  # noqa: BLE001 - told to whoever asked; other brokers go on
            text = str(error) if isinstance(error, NotDone | OSError) else f"{op}: {error!r}"
            self._answer({"id": number, "error": {"kind": "failed", "text": text}})
        finally:
            for fd in fds:
                os.close(fd)

    def _answer(self, message: Message) -> None:
        self._pair.sendall(encode(message))

    # --- operations -----------------------------------------------------------------------------

    def _load(self, _args: Arguments) -> Json:
        """Import all that a broker is, so that the next fork has it."""
        if self._can_fork and not self._loaded:
            self._loaded = True
            load_broker()
            self._to_load = load_more()
        return None

    def _folder(self, args: Arguments) -> Json:
        """A new folder for the files of one broker."""
        return self._folders.make(args["name"], keep=bool(args.get("keep")))

    def _drop(self, args: Arguments) -> Json:
        """Remove a folder."""
        self._folders.remove(args["folder"])
        return None

    def _start(self, args: Arguments) -> Json:
        """A broker's process with the channel that came with the call; its pid."""
        (channel,) = args["fds"]
        if not self._can_fork:
            command = [sys.executable, "-P", self._script, "child", str(channel)]
            return self._processes.spawn(command, args["log"], fds=(channel,))
        self._load({})
        return self._processes.fork(lambda: self._be_a_broker(channel), args["log"])

    def _run_command(self, args: Arguments) -> Json:
        """Any command, such as `ottla serve`; its pid."""
        return self._processes.spawn(
            args["command"], args["log"], environment=args.get("environment")
        )

    def _signal(self, args: Arguments) -> Json:
        """Send a signal to a process that was begun here; whether it was there."""
        there = self._processes.signal(args["pid"], args["signal"])
        if there is None:
            raise NotDone(f"no process {args['pid']} was started here")
        return there

    # --- processes ------------------------------------------------------------------------------

    def _be_a_broker(self, channel: int) -> int:
        """In a process that was forked: nothing of the host's is left. The exit code."""
        _forget_signals()
        self._selector.close()
        self._pair.close()
        self._folders.leave()
        for fd in (self._woken, self._wake):
            os.close(fd)
        from testbed.child import serve

        return serve(socket.socket(fileno=channel))

    def _reap(self) -> None:
        """Note who has ended, and tell those who wait for it."""
        self._processes.reap()
        for wait in list(self._waits):
            code = self._processes.code(wait.pid)
            if code is not None:
                self._waits.remove(wait)
                self._answer({"id": wait.number, "result": code})


def _forget_signals() -> None:
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, *_ENDING):
        signal.signal(number, signal.SIG_DFL)
