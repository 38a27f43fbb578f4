"""`python -m bench.innocent.load NAME PORT`: one load in a process of its own.

It prints `ready` when the load has begun, `whole` when all of it was done once, and at SIGTERM a
line of JSON with its work since `ready`. Its topics and groups stay.
"""

from __future__ import annotations

import contextlib
import json
import resource
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import NoReturn

from bench.innocent.members import commits, rejoining_group
from bench.innocent.progress import LoadProgress
from bench.innocent.senders import slow_senders, throttled_flood
from bench.innocent.sockets import connection_storm, stalled_readers
from bench.innocent.topics import metadata_of_all, topics_come_and_go

LOADS: Mapping[str, Callable[[int, LoadProgress], None]] = {
    "throttled-flood": throttled_flood,
    "connection-storm": connection_storm,
    "slow-senders": slow_senders,
    "stalled-readers": stalled_readers,
    "metadata": metadata_of_all,
    "topics": topics_come_and_go,
    "rejoining": rejoining_group,
    "commits": commits,
}
"""Functions that load the broker on a port until an interrupt, and report their progress."""


class Over(BaseException):
    """The end of the load, raised in whatever it waits for."""


def end(_number: int, _frame: FrameType | None) -> NoReturn:
    """Raise Over, once."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise Over


def main(words: Sequence[str]) -> int:
    """Run the load until SIGTERM, and print its work."""
    name, port = words[0], int(words[1])
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    progress = LoadProgress(time.perf_counter, lambda line: print(line, flush=True))
    signal.signal(signal.SIGTERM, end)
    with contextlib.suppress(Over):
        LOADS[name](port, progress)
    print(json.dumps({"units": progress.units, "seconds": progress.seconds}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
