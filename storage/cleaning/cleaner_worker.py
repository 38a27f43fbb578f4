"""`python -m storage.cleaning.cleaner_worker`: one round of compaction, in a separate process.

The broker starts a process for each job, and writes the job as a line to its standard input. It
reads the result or the error as a line from the standard output; then the process ends. So
compaction does not hold the broker's interpreter lock, runs at the lowest priority, and returns its
memory to the system. When the input ends, because the broker died or cancelled the job, the process
exits at once. It leaves `.cleaned` files only, which no log uses.

A shell: it has the disk, the clock and the pipe; `storage.cleaning.cleaner` does the work.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time

from ground.filesystem import LocalFilesystem
from storage.cleaning.cleaner import clean
from storage.cleaning.cleaner_job import CleaningFailed, decode_job, encode_result

_NICEST = 19
_SHORTEST_PAUSE_S = 0.01
_CREDIT_S = 0.3


class IoThrottle:
    """A limit on the rate of bytes read and written: it sleeps if the rate is exceeded (Kafka's
    `Throttler`)."""

    def __init__(self, bytes_per_second: float) -> None:
        self._rate = bytes_per_second
        self._due = time.monotonic()

    def __call__(self, size: int) -> None:
        """Count `size` more bytes read or written, and sleep if they are ahead of the rate."""
        now = time.monotonic()
        # Unused allowance expires soon, because a burst would follow a pause otherwise.
        self._due = max(self._due, now - _CREDIT_S) + size / self._rate
        ahead = self._due - now
        if ahead > _SHORTEST_PAUSE_S:
            time.sleep(ahead)


def _die_with_the_broker() -> None:
    """Wait for the end of standard input, then exit the process with code 1."""
    while os.read(0, 4096):
        pass
    os._exit(1)


def main() -> None:
    """Run one job: read it as a line from standard input, and write its result as a line of JSON to
    standard output. Then exit the process with code 0.

    A damaged log, or an OSError, is a line of JSON too. Without a job return at once.
    """
    with contextlib.suppress(OSError):
        os.nice(_NICEST)
    line = sys.stdin.buffer.readline()
    if not line:
        return
    job = decode_job(line.decode())
    threading.Thread(target=_die_with_the_broker, daemon=True).start()
    answer: dict[str, object]
    try:
        result = clean(LocalFilesystem(), job, IoThrottle(job.io_bytes_per_second))
    except CleaningFailed as failure:
        answer = {"failed": str(failure)}
    except OSError as error:
        answer = {"errno": error.errno, "text": error.strerror, "path": error.filename}
    else:
        answer = {"result": encode_result(result)}
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()
    os._exit(0)  # the thread still reads standard input, and would keep the process alive


if __name__ == "__main__":
    main()
