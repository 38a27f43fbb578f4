"""The processes of compaction: one for each round, which ends with the round.

`ProcessRunner` starts `storage.cleaning.cleaner_worker`, sends it the job over a pipe and returns
its answer to the loop. A thread waits for the answer. There are up to `log.cleaner.threads` such
threads and none before the first job, so that a broker that compacts nothing has neither thread nor
process for it.

Owns: the processes. Never: reads or writes a log. A process that ends without an answer, for
instance because it was killed, is reported as `CleanerDied`; the next round starts another process.
A process ends with the broker, because its input ends then.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading

from broker.loop.scheduler import BlockingPool
from storage.cleaning.cleaner_job import (
    CleaningFailed,
    CleanJob,
    CleanResult,
    decode_result,
    encode_job,
)
from storage.cleaning.cleaner_ports import CleanCallback, CleanerDied

_WORKER = "storage.cleaning.cleaner_worker"


class ProcessRunner:
    """A `storage.cleaning.log_cleaner.CleanerRunner` that runs jobs in processes."""

    def __init__(self, loop: asyncio.AbstractEventLoop, threads: int) -> None:
        """Create a runner without processes or threads yet. `threads` is the number of rounds that
        may run at once, at least 1."""
        self._pool = BlockingPool(loop, max(threads, 1), "ottla-cleaner")
        self._lock = threading.Lock()  # a job is started on its thread, and killed from the loop
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._stopped = False

    @property
    def outstanding(self) -> int:
        """The number of jobs that are not done."""
        return self._pool.outstanding

    def resize(self, threads: int) -> None:
        """Set the number of rounds that may run at once."""
        self._pool.resize(max(threads, 1))

    def submit(self, job: CleanJob, done: CleanCallback) -> None:
        """Run the job in a process, then call `done(result, error)` on the loop."""
        self._pool.submit(lambda: self._run_process(job), done)

    def cancel(self, directory: str) -> None:
        """Kill the process of the folder's job, if it runs; its `done` then gets CleanerDied."""
        with self._lock:
            process = self._running.get(directory)
            if process is not None:
                process.kill()

    def stop(self) -> None:
        """Kill all processes, and start no more."""
        with self._lock:
            self._stopped = True
            for process in self._running.values():
                process.kill()

    async def close(self, timeout_s: float) -> bool:
        """Kill all processes and wait for the threads. Return False if a thread has not ended after
        `timeout_s`."""
        self.stop()
        return await self._pool.close(timeout_s)

    def _run_process(self, job: CleanJob) -> CleanResult:
        """Run the job in a process of its own, block until that ends, and return its result.

        Raises CleanerDied if the process ends without an answer or the broker stops. Raises the
        CleaningFailed or OSError that the process answers.
        """
        with self._lock:
            if self._stopped:
                raise CleanerDied("the broker stops")
            process = self._running[job.directory] = _start()
        try:
            answer = _ask(process, job)
        finally:
            with self._lock:
                del self._running[job.directory]
            process.kill()  # no effect if it has ended
            process.wait()
        return _result_of(answer, process.returncode)


def _start() -> subprocess.Popen[bytes]:
    """Start a worker process, with the search path for modules of this process."""
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(path for path in sys.path if path))
    return subprocess.Popen(  # noqa: S603  our own interpreter, our own module
        [sys.executable, "-P", "-m", _WORKER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        start_new_session=True,  # a terminal's signals go to the broker alone, which ends this one
    )


def _ask(process: subprocess.Popen[bytes], job: CleanJob) -> bytes:
    """Send the job, and return the line of its answer, b"" if the process died. The process's input
    stays open meanwhile, because the process ends at the end of its input."""
    assert process.stdin is not None and process.stdout is not None
    try:
        with process.stdin, process.stdout:
            process.stdin.write(encode_job(job).encode() + b"\n")
            process.stdin.flush()
            return process.stdout.readline()
    except BrokenPipeError:
        return b""


def _result_of(answer: bytes, code: int | None) -> CleanResult:
    """Return the result that the process wrote.

    Raises CleanerDied if it wrote nothing, else the CleaningFailed or OSError that it wrote.
    """
    if not answer:
        raise CleanerDied(f"its process ended with {code}")
    fields = json.loads(answer)
    if "failed" in fields:
        raise CleaningFailed(fields["failed"])
    if "errno" in fields:
        raise OSError(fields["errno"], fields["text"], fields["path"])
    return decode_result(fields["result"])
