"""The end of a process together with its parent, however the parent ends.

Linux signals a process when its parent dies (`prctl(PR_SET_PDEATHSIG)`). On other systems only the
end of file on the control channel ends it.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable

_PR_SET_PDEATHSIG = 1


def die_with_parent(parent_pid: int) -> Callable[[], None]:
    """Return a function for the new process to call; then the kernel kills the process when its
    parent dies. On systems other than Linux it does nothing. Call this in the parent: loading a
    library after a fork is dangerous."""
    if not sys.platform.startswith("linux"):
        return lambda: None
    prctl = ctypes.CDLL(None, use_errno=True).prctl

    def arrange() -> None:
        """Have the kernel kill this process when its parent dies. If the parent has died already,
        exit with code 1."""
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent_pid:  # the parent died before this
            os._exit(1)

    return arrange
