"""`python -m storage.cleaner_worker`: one round of compaction, in a process of its own.

The broker starts it for a job, writes the job as a line to its standard input, and reads the
result, or why there is none, as a line from its standard output; then it ends. It is away from the
broker's interpreter lock, at the lowest priority, and its memory is gone with it. When its input
ends, because the broker died or gave the job up, it dies at once: what it leaves are `.cleaned`
files, which are nothing.

A shell: it has the disk, the clock and the pipe; the work is `storage.cleaning.cleaner`'s.
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
    """Waits where more bytes were read and written than a rate allows (Kafka's `Throttler`)."""

    def __init__(self, bytes_per_second: float) -> None:
        self._rate = bytes_per_second
        self._due = time.monotonic()

    def __call__(self, size: int) -> None:
        """So many bytes more were read or written."""
        now = time.monotonic()
        # What was not used is not kept for long, or a pause would be followed by a burst.
        self._due = max(self._due, now - _CREDIT_S) + size / self._rate
        ahead = self._due - now
        if ahead > _SHORTEST_PAUSE_S:
            time.sleep(ahead)


def _die_with_the_broker() -> None:
    while os.read(0, 4096):
        pass
    os._exit(1)


def main() -> None:
    """Do the one job."""
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
    os._exit(0)  # the thread still reads, and nothing is left to be done


if __name__ == "__main__":
    main()
