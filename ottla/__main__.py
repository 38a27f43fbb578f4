"""The launcher: `ottla`, `ottla-pipeline` and `python -m ottla`.

The server's packages have plain names: broker, console, controller and others. A project beside
which Ottla is installed may have packages with the same names, so the server's packages are not on
that project's import path. They lie in `ottla/_server`, or in a checkout in the repository's root.
Only a process that runs nothing but Ottla puts that folder on its path. It comes first there, so
that the process finds the server's packages before others of the same name.

This module imports nothing of Ottla by name, so it also runs by its path alone. That is how
`ottla.launcher` starts processes.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module

_INTERRUPTED = 130
_HERE = os.path.dirname(os.path.abspath(__file__))


def main() -> None:
    """Run the command `ottla` with the arguments in `sys.argv`, and end the process with its exit
    code: after Ctrl-C during the imports 0 for `ottla serve`, else 130. Puts the server's packages
    on the import path first."""
    try:
        use_server()
        import_module("command.__main__").main()
    except KeyboardInterrupt:
        sys.exit(0 if sys.argv[1:2] == ["serve"] else _INTERRUPTED)


def pipeline() -> int:
    """Run one job of the command `ottla-pipeline` with the arguments in `sys.argv`, and return its
    exit code. Puts the server's packages on the import path first."""
    use_server()
    return int(import_module("pipeline.command").main())


def use_server() -> None:
    """Put the folder of the server's packages first on `sys.path`: `ottla/_server` in an
    installation, the repository's root in a checkout. Call it only in a process that runs nothing
    but Ottla."""
    packed = os.path.join(_HERE, "_server")
    sys.path.insert(0, packed if os.path.isdir(packed) else os.path.dirname(_HERE))


if __name__ == "__main__":
    main()
