"""The processes that a host has begun: brokers that were forked from it, and commands.

Owns them: each ends with the host at the latest.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn

from testbed.parent_death import die_with_parent

UNKNOWN = -1
"""The code of a process that was never begun here."""
_FAILED = 70
_END_TIMEOUT_S = 5.0
_POLL_S = 0.002


class HostProcesses:
    """See the module."""

    def __init__(self) -> None:
        self._host_pid = os.getpid()
        self._codes: dict[int, int | None] = {}
        """By pid: how it ended, None while it runs."""
        self._popened: dict[int, subprocess.Popen[bytes]] = {}

    def fork(self, work: Callable[[], int], log: str) -> int:
        """A copy of this process that does `work`, whose exit code is what that returns; its pid.
        What it prints goes to the end of the file `log`."""
        pid = os.fork()
        if pid == 0:
            _be_the_copy(self._host_pid, work, log)
        self._codes[pid] = None
        return pid

    def spawn(
        self,
        command: Sequence[str],
        log: str,
        *,
        environment: Mapping[str, str] | None = None,
        fds: Sequence[int] = (),
    ) -> int:
        """A command; its pid. Raises OSError where it cannot be run."""
        with open(log, "ab") as output:
            process = subprocess.Popen(  # noqa: S603 - our own interpreter and file
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
                pass_fds=fds,
                preexec_fn=die_with_parent(self._host_pid),
            )
        self._popened[process.pid] = process
        self._codes[process.pid] = None
        return process.pid

    def code(self, pid: int) -> int | None:
        """How one has ended: its exit code, or minus the signal; None while it runs."""
        return self._codes.get(pid, UNKNOWN)

    def signal(self, pid: int, number: int) -> bool | None:
        """Send a signal; whether the process was still there. None: it was not begun here."""
        if pid not in self._codes:
            return None
        if self._codes[pid] is not None:
            return False
        os.kill(pid, number)  # not reaped yet, so nobody else has the number
        return True

    def reap(self) -> None:
        """Note who has ended."""
        for pid, code in list(self._codes.items()):
            if code is None:
                self._codes[pid] = self._ended(pid)

    def end_all(self) -> None:
        """Kill what still runs, and wait for that."""
        self.reap()
        running = [pid for pid, code in self._codes.items() if code is None]
        for pid in running:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        deadline = time.monotonic() + _END_TIMEOUT_S
        while running and time.monotonic() < deadline:
            running = [pid for pid in running if self._ended(pid) is None]
            time.sleep(_POLL_S)

    def _ended(self, pid: int) -> int | None:
        process = self._popened.get(pid)
        if process is not None:
            return process.poll()
        found, status = os.waitpid(pid, os.WNOHANG)
        return os.waitstatus_to_exitcode(status) if found else None


def _be_the_copy(host_pid: int, work: Callable[[], int], log: str) -> NoReturn:
    """After the fork: nothing returns into what the host was about to do."""
    code = _FAILED
    try:
        die_with_parent(host_pid)()
        _redirect(log)
        code = work()
    except BaseException:  # noqa: BLE001 - it goes to the log, and never back into the host
        import traceback

        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _redirect(log: str) -> None:
    """What the process prints goes into its own file."""
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    for number in (1, 2):
        os.dup2(output, number)
    os.close(output)
    os.close(nothing)
