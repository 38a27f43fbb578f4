"""What a person reads of a job: its lines, and what it is at while Spark is silent for long.

Never asks Spark anything.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

EVERY_S = 3.0
Say = Callable[[str], None]


def teller(job: str) -> Say:
    """Lines of progress of one job."""

    def say(text: str) -> None:
        print(f"{job}: {text}", file=sys.stderr, flush=True)

    return say


@contextmanager
def busy(say: Say, what: str, every_s: float = EVERY_S) -> Iterator[None]:
    """While the block lasts, say each `every_s` seconds what is done, and for how long by now.

    A block that is over sooner says nothing. No line comes after its end.
    """
    ended = threading.Event()
    given = (say, what, every_s, ended)
    thread = threading.Thread(target=_tell, args=given, name="tells", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _tell(say: Say, what: str, every_s: float, ended: threading.Event) -> None:
    began = time.monotonic()
    while not ended.wait(every_s):
        say(f"  … {what}, {time.monotonic() - began:.0f} s")
