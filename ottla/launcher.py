"""The way in which a process of Ottla starts another one, and notices that it accepts connections.

`ottla.__main__` is the program that is started. It runs the command line, which starts processes
too. So what both sides need is in this module.
"""

from __future__ import annotations

import sys
from pathlib import Path

READY = "is ready: connect to"
"""The part of `ottla serve`'s output that appears as soon as the broker accepts connections."""
_PROGRAM = Path(__file__).resolve().with_name("__main__.py")


def ottla_command(*arguments: str) -> list[str]:
    """Return the command line that runs `ottla` with `arguments`, as a list of words. It names this
    Python interpreter and this installation, and does not search the working directory for
    modules."""
    return [sys.executable, "-P", str(_PROGRAM), *arguments]
