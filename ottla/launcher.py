"""The way in which a process of Ottla starts another one, and notices that it accepts connections;
the command that adds packages to this installation.

`ottla.__main__` is the program that is started. It runs the command line, which starts processes
too. So what both sides need is in this module.
"""

from __future__ import annotations

import shlex
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


def install_command(*requirements: str) -> str:
    """Return the shell command that installs packages for this Python interpreter.

    It names the packages themselves, so it works from a checkout, a wheel or an environment of
    pipx.
    """
    return shlex.join([sys.executable or "python3", "-m", "pip", "install", *requirements])


def needs_packages(subject: str, *requirements: str) -> str:
    """Return the error text that begins with `subject`, such as "the console needs", and names the
    packages and the command that installs them."""
    return f"{subject} {' and '.join(requirements)}: {install_command(*requirements)}"
