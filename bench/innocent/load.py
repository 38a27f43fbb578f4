"""`python -m bench.innocent.load NAME PORT`: one load in a process of its own.

It prints `ready` when the load is under way, `whole` when all of it was there once, and at SIGTERM
a line of JSON with what it has done since `ready`. What it makes (topics, groups) stays.
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

from bench.innocent.askers import metadata_of_all, topics_come_and_go
from bench.innocent.members import commits, rejoining_group
from bench.innocent.senders import slow_senders, throttled_flood
from bench.innocent.sockets import connection_storm, stalled_readers
from bench.innocent.told import Told

LOADS: Mapping[str, Callable[[int, Told], None]] = {
    "throttled-flood": throttled_flood,
    "connection-storm": connection_storm,
    "slow-senders": slow_senders,
    "stalled-readers": stalled_readers,
    "metadata": metadata_of_all,
    "topics": topics_come_and_go,
    "rejoining": rejoining_group,
    "commits": commits,
}
"""Each loads the broker on a port until it is interrupted, and tells how far it is."""


class Over(BaseException):
    """The end of the load."""


def end(_number: int, _frame: FrameType | None) -> NoReturn:
    """Of whatever it waits for."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise Over


def main(words: Sequence[str]) -> int:
    """Load until SIGTERM."""
    name, port = words[0], int(words[1])
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    told = Told(time.perf_counter, lambda line: print(line, flush=True))
    signal.signal(signal.SIGTERM, end)
    with contextlib.suppress(Over):
        LOADS[name](port, told)
    print(json.dumps({"units": told.units, "seconds": told.seconds}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
