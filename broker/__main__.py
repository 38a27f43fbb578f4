"""`python -m broker` and the console script `ottla`.

Owns what a signal means until the server itself listens for it: nothing is open yet, so the
process ends at once and quietly.
"""

from __future__ import annotations

import os
import signal
import sys


def main() -> None:
    """Run the command line and end the process with its exit code."""
    if sys.argv[1:2] == ["serve"]:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, _end_before_the_start)
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
