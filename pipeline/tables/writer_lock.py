"""A lock of the operating system that admits one stream to a checkpoint, and ends with its process.

It works on a single machine. Across machines, Spark rejects the second writer when that writes the
same batch (`pipeline.errors.TWO_STREAMS`). Owns the file `.lock` in a checkpoint.
"""

from __future__ import annotations

import fcntl
from typing import IO

from pipeline.errors import TWO_STREAMS, PipelineError
from pipeline.options import is_local, local

_FILE = ".lock"


def hold(folder: str) -> IO[str] | None:
    """Lock a folder while the returned file is open; return None off a local disk.

    Raises PipelineError if another process holds the lock.
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
