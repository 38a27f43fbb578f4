"""What stops a start and is not a bug: one sentence for the person at the terminal.

`command.cli` prints it as `ottla: …` and ends with exit code 2.
"""

from __future__ import annotations


class StartError(Exception):
    """A node cannot start as it is configured or installed; `str()` says why and what to do.

    Several reasons are a line each.
    """

    def __init__(self, *lines: str) -> None:
        super().__init__("; ".join(lines))
        self.lines = lines
