"""`python -m broker` and the console script `ottla`.

Owns what a process is before the server runs in it. A signal ends it at once and quietly, for
nothing is open yet; and nothing is collected.
"""

from __future__ import annotations

import gc
import os
import signal
import sys


def main() -> None:
    """Run the command line and end the process with its exit code."""
    if sys.argv[1:2] == ["serve"]:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, _end_before_the_start)
        # What modules make stays. To look through it for garbage a hundred times over, while they
        # are loaded, is a tenth of the start; `broker.server.run` turns the collector on again.
        gc.disable()
        from broker.read_ahead import read_modules_ahead

        read_modules_ahead()
    try:
        from broker.cli import run_cli

        code = run_cli(sys.argv[1:])
    except KeyboardInterrupt:  # while modules are loaded
        code = 130
    sys.exit(code)


def _end_before_the_start(*_: object) -> None:
    os._exit(0)


if __name__ == "__main__":
    main()
