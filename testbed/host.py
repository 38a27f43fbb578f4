"""The host of brokers under test: one for each process of tests, which forks a broker at once.

All modules are loaded, and there is one thread and no event loop, so that a fork is safe and takes
milliseconds. Owns the brokers' processes and the folder that holds all their files. Its one channel
is a socket pair to the process of the tests. When that process ends, in whatever way, the host
kills the brokers that still run, removes the folder and exits.

Where a fork cannot be trusted (macOS), a broker is started as a new process with the same channel.
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

from ottla.testing.frames import (
    HELLO,
    BrokenFrame,
    Json,
    JsonFrameReader,
    JsonMessage,
    check_hello,
    encode,
)
from testbed.host_folders import HostFolders
from testbed.host_processes import HostProcesses
from testbed.preload import load_broker, load_more

_READ_BYTES = 1 << 16
_FDS_MAX = 16
_CHECK_PARENT_S = 1.0
_ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

Arguments = Mapping[str, Json]


class OperationRefused(Exception):
    """An operation's refusal; its text is sent to the process of the tests."""


@dataclass(slots=True)
class _Wait:
    """A call that is answered at the end of a process."""

    number: Json
    pid: int


class Host:
    """The host's loop over its channel, its processes and signals."""

    def __init__(self, pair: socket.socket, script: str, can_fork: bool) -> None:
        """`script`: the file that a new Python process runs to become a host or a broker.

        `can_fork`: whether brokers are forked; if not, each is a new process.
        """
        self._pair = pair
        self._script = script
        self._can_fork = can_fork
        self._parent_pid = os.getppid()
        self._selector = selectors.DefaultSelector()
        self._reader = JsonFrameReader()
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
        """Serve calls until the process of the tests has ended or a signal ends the host. Then kill
        all processes and remove the folders."""
        with self.watching(), contextlib.suppress(BrokenFrame, ConnectionError):
            self._pair.sendall(encode(HELLO))
            while self.turn():
                pass

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Watch the channel and signals, so that `turn` may be called within. On exit, kill all
        processes, remove the folders, reset the signal handlers, and close the channel."""
        for end in (self._woken, self._wake):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in _ENDING:
            signal.signal(number, self._on_end_signal)
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

    def _on_end_signal(self, *_: object) -> None:
        """Make `turn` return False after a signal to end."""
        self._ending = True

    def turn(self) -> bool:
        """Import the next module; if none is left, wait up to a second for calls and signals. Carry
        out the calls that came, and record ended processes. Return False if the host has to end:
        the tests' process is gone, or a signal came."""
        more = next(self._to_load, None)
        ready = {key.fileobj for key, _ in self._selector.select(0 if more else _CHECK_PARENT_S)}
        if self._woken in ready:
            os.read(self._woken, 4096)
        self._reap()
        if self._pair in ready:
            return self._receive()
        return os.getppid() == self._parent_pid and not self._ending

    def _receive(self) -> bool:
        """Read the bytes that have arrived, with their descriptors, and carry out the operations
        that are complete.

        Returns False if the peer has closed. Raises BrokenFrame, and ConnectionError.
        """
        data, fds, _, _ = socket.recv_fds(self._pair, _READ_BYTES, _FDS_MAX)
        self._fds += fds
        for message in self._reader.feed(data):
            if self._greeted:
                self._carry_out(message)
            else:
                check_hello(message)
                self._greeted = True
        return bool(data)

    def _carry_out(self, message: JsonMessage) -> None:
        """Carry out an operation, and send its result, or an error if it fails, to the process of
        the tests.

        The answer to a wait is sent at the end of that process. Closes the message's descriptors.
        """
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
        except Exception as error:  # noqa: BLE001 - the caller gets it as an error; other brokers go on
            text = (
                str(error) if isinstance(error, OperationRefused | OSError) else f"{op}: {error!r}"
            )
            self._answer({"id": number, "error": {"kind": "failed", "text": text}})
        finally:
            for fd in fds:
                os.close(fd)

    def _answer(self, message: JsonMessage) -> None:
        """Send an answer to the process of the tests. Raises ConnectionError."""
        self._pair.sendall(encode(message))

    # --- operations -----------------------------------------------------------------------------

    def _load(self, _args: Arguments) -> Json:
        """Import the modules that a broker needs at its start, so that the next fork has them;
        `turn` imports the rest. Does nothing if brokers are not forked, or in a second call."""
        if self._can_fork and not self._loaded:
            self._loaded = True
            load_broker()
            self._to_load = load_more()
        return None

    def _folder(self, args: Arguments) -> Json:
        """Create a folder for the files of one broker, and return its path; with "keep" it stays
        after the host."""
        return self._folders.make(args["name"], keep=bool(args.get("keep")))

    def _drop(self, args: Arguments) -> Json:
        """Remove a broker's folder, unless it was created with "keep"."""
        self._folders.remove(args["folder"])
        return None

    def _start(self, args: Arguments) -> Json:
        """Start a broker's process, which takes the channel that came with the call. Return its
        pid; its output is appended to the file "log"."""
        (channel,) = args["fds"]
        if not self._can_fork:
            command = [sys.executable, "-P", self._script, "child", str(channel)]
            return self._processes.spawn(command, args["log"], fds=(channel,))
        self._load({})
        return self._processes.fork(lambda: self._be_a_broker(channel), args["log"])

    def _run_command(self, args: Arguments) -> Json:
        """Start any command, such as `ottla serve`, and return its pid; its output is appended to
        the file "log". Raises OSError."""
        return self._processes.spawn(
            args["command"], args["log"], environment=args.get("environment")
        )

    def _signal(self, args: Arguments) -> Json:
        """Send a signal to a process of this host, and return whether it was alive.

        Raises OperationRefused if this host did not start it.
        """
        was_alive = self._processes.signal(args["pid"], args["signal"])
        if was_alive is None:
            raise OperationRefused(f"no process {args['pid']} was started here")
        return was_alive

    # --- processes ------------------------------------------------------------------------------

    def _be_a_broker(self, channel: int) -> int:
        """Serve as a broker in a forked process, after closing the files and sockets of the host,
        and return the exit code."""
        _forget_signals()
        self._selector.close()
        self._pair.close()
        self._folders.leave()
        for fd in (self._woken, self._wake):
            os.close(fd)
        from testbed.child import serve

        return serve(socket.socket(fileno=channel))

    def _reap(self) -> None:
        """Record the exit codes of processes that have ended, and answer the calls that wait for
        them."""
        self._processes.reap()
        for wait in list(self._waits):
            code = self._processes.code(wait.pid)
            if code is not None:
                self._waits.remove(wait)
                self._answer({"id": wait.number, "result": code})


def _forget_signals() -> None:
    """Reset the handlers of SIGCHLD and of the signals to end to their defaults, and the wakeup
    descriptor."""
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, *_ENDING):
        signal.signal(number, signal.SIG_DFL)
