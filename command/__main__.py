"""The program that the launcher `ottla` runs; in a checkout also `python -m command`.

Owns the process until the server runs in it. Before that, a signal ends the process at once and
without output, because nothing is open yet; a SIGHUP that `nohup` ignores stays ignored. The
garbage collector is off.
"""

from __future__ import annotations

import gc
import os
import signal
import sys

from broker.process.standard_streams import flush_standard_streams, is_heard, open_standard_streams


def main() -> None:
    """Run the command line and end the process with its exit code."""
    open_standard_streams()
    if sys.argv[1:2] == ["serve"]:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            if is_heard(number):
                signal.signal(number, _end_before_the_start)
        # The objects that modules create stay. Searching them for garbage a hundred times, while
        # modules are loaded, takes a tenth of the start. `broker.process.server.run` turns the
        # collector on again.
        gc.disable()
        from broker.process.read_ahead import read_modules_ahead

        read_modules_ahead()
    try:
        from command.cli import run_cli

        code = run_cli(sys.argv[1:])
    except KeyboardInterrupt:  # while modules are loaded
        code = 130
    flush_standard_streams()
    sys.exit(code)


def _end_before_the_start(*_: object) -> None:
    """End the process at once with exit code 0, whatever the signal."""
    os._exit(0)


if __name__ == "__main__":
    main()
