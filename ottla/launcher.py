"""How a process of Ottla starts another one, and knows that it serves.

`ottla.__main__` is the program that is started; it reaches the command line, which starts processes
in its turn. So what both ends share is here.
"""

from __future__ import annotations

import sys
from pathlib import Path

READY = "is ready: connect to"
"""Part of the line that `ottla serve` prints once it takes connections."""
_PROGRAM = Path(__file__).resolve().with_name("__main__.py")


def ottla_command(*arguments: str) -> list[str]:
    """Return the command line of `ottla` with `arguments`: this installation, this interpreter."""
    return [sys.executable, "-P", str(_PROGRAM), *arguments]
