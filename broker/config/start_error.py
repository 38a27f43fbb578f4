"""The error that prevents a start and is no bug: a sentence for the user at the terminal.

`command.cli` prints it as `ottla: …` and ends with exit code 2.
"""

from __future__ import annotations


class StartError(Exception):
    """A node cannot start as it is configured or installed; `str()` says why and what to do.

    `lines` has a line for each reason.
    """

    def __init__(self, *lines: str) -> None:
        super().__init__("; ".join(lines))
        self.lines = lines
