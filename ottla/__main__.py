"""The launcher: `ottla`, `ottla-pipeline` and `python -m ottla`.

The packages of the server have plain names: broker, console, controller and others. A project
beside which Ottla is installed may have some of the same names, so none of ours is on its import
path. They lie under `ottla/_server`, in a checkout in the repository's root, and
only a process that is ours throughout puts that folder on its path: in front, so that it finds its
own.

It imports nothing of Ottla by name, so that it also runs by its path alone, which is how
`ottla.launcher` starts processes.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import cast

_HERE = os.path.dirname(os.path.abspath(__file__))


def main() -> None:
    """`ottla`: run the command line and end the process with its exit code."""
    use_server()
    import_module("command.__main__").main()


def pipeline() -> int:
    """`ottla-pipeline`: run one job; the exit code."""
    use_server()
    return cast(int, import_module("pipeline.command").main())


def use_server() -> None:
    """Let this process import the server. Only for a process that is ours throughout."""
    packed = os.path.join(_HERE, "_server")
    sys.path.insert(0, packed if os.path.isdir(packed) else os.path.dirname(_HERE))


if __name__ == "__main__":
    main()
