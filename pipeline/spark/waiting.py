"""The lines of a job, for users, also about its present step while Spark prints nothing for long.

Never calls Spark.
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
    """Return a function that prints a line of progress of a job to stderr."""

    def say(text: str) -> None:
        print(f"{job}: {text}", file=sys.stderr, flush=True)

    return say


@contextmanager
def busy(say: Say, what: str, every_s: float = EVERY_S) -> Iterator[None]:
    """Say every `every_s` seconds what the job does, and for how long, until the block ends.

    A block that ends sooner says nothing. No line comes after its end.
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
