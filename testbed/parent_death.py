"""A process that ends with the one that started it, however that ends.

Linux tells a process when its parent dies (`prctl(PR_SET_PDEATHSIG)`). Elsewhere only the end of
file on its channel does.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable

_PR_SET_PDEATHSIG = 1


def die_with_parent(parent_pid: int) -> Callable[[], None]:
    """To be called in the new process. Made in the parent, where loading a library is no danger."""
    if not sys.platform.startswith("linux"):
        return lambda: None
    prctl = ctypes.CDLL(None, use_errno=True).prctl

    def arrange() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent_pid:  # it died before
            os._exit(1)

    return arrange
