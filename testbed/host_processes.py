"""The processes that a host has started: brokers forked from it, and commands.

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
"""The code for a process that this host did not start."""
_FAILED = 70
_END_TIMEOUT_S = 5.0
_POLL_S = 0.002


class HostProcesses:
    """The processes of one host, by pid, with their exit codes."""

    def __init__(self) -> None:
        self._host_pid = os.getpid()
        self._codes: dict[int, int | None] = {}
        """By pid: the exit code, None while the process runs."""
        self._popened: dict[int, subprocess.Popen[bytes]] = {}

    def fork(self, work: Callable[[], int], log: str) -> int:
        """Fork this process and return the child's pid. The child does `work`, exits with the code
        that it returns, and appends its output to the file `log`."""
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
        """Start a command that ends with this process, and return its pid. `environment` None: that
        of this process. `fds` stay open in it. Output is appended to the file `log`. Raises OSError
        if it cannot be run."""
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
        """Return a process's exit code, or minus the signal that killed it; None while it runs, as
        the last `reap` has seen it. UNKNOWN if this host did not start it."""
        return self._codes.get(pid, UNKNOWN)

    def signal(self, pid: int, number: int) -> bool | None:
        """Send a signal. Return True if the process was alive, False if it had ended, None if this
        host did not start it."""
        if pid not in self._codes:
            return None
        if self._codes[pid] is not None:
            return False
        os.kill(pid, number)  # not reaped yet, so no other process has this pid
        return True

    def reap(self) -> None:
        """Record the exit codes of processes that have ended, for `code`."""
        for pid, code in list(self._codes.items()):
            if code is None:
                self._codes[pid] = self._exit_code(pid)

    def end_all(self) -> None:
        """Kill the processes that still run, and wait up to 5 s for their end."""
        self.reap()
        running = [pid for pid, code in self._codes.items() if code is None]
        for pid in running:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        deadline = time.monotonic() + _END_TIMEOUT_S
        while running and time.monotonic() < deadline:
            running = [pid for pid in running if self._exit_code(pid) is None]
            time.sleep(_POLL_S)

    def _exit_code(self, pid: int) -> int | None:
        """Return the exit code of a child, and reap it; None while it runs."""
        process = self._popened.get(pid)
        if process is not None:
            return process.poll()
        ended_pid, status = os.waitpid(pid, os.WNOHANG)
        return os.waitstatus_to_exitcode(status) if ended_pid else None


def _be_the_copy(host_pid: int, work: Callable[[], int], log: str) -> NoReturn:
    """Do `work` in the forked process, with its output in the file `log`, and exit with the code
    that it returns. If it raises, print the traceback and exit with code 70."""
    code = _FAILED
    try:
        die_with_parent(host_pid)()
        _redirect(log)
        code = work()
    except BaseException:  # noqa: BLE001 - it goes to the log, and never back into the host's code
        import traceback

        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _redirect(log: str) -> None:
    """Append this process's standard output and error output to the file `log`; its standard input
    is empty."""
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    for number in (1, 2):
        os.dup2(output, number)
    os.close(output)
    os.close(nothing)
