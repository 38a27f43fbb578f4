"""One stream a checkpoint: a lock of the operating system, which goes with its process.

On one machine alone: across machines Spark refuses the second writer, once it writes the same
batch (`pipeline.errors.TWO_STREAMS`). Owns the file `.lock` in a checkpoint.
"""

from __future__ import annotations

import fcntl
from typing import IO

from pipeline.errors import TWO_STREAMS, PipelineError
from pipeline.options import is_local, local

_FILE = ".lock"


def hold(folder: str) -> IO[str] | None:
    """The lock of a folder, as long as the answer is kept; None where it is no local one.

    PipelineError where another process holds it.
    """
    if not is_local(folder):
        return None
    there = local(folder)
    there.mkdir(parents=True, exist_ok=True)
    held = (there / _FILE).open("w")
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        held.close()
        raise PipelineError(f"checkpoint {folder}: {TWO_STREAMS}") from error
    return held
