"""How far a command is, as one line: a bar where the end is known, and rates.

    [##########              ]  41 %  410,000 records  52.1 MB  381,000/s

Pure text; `now` comes in, in seconds.
"""

from __future__ import annotations

from client.tables import size_text

_WIDTH = 24


class Progress:
    """Of something that began at `started`."""

    def __init__(self, total_bytes: int | None, started: float) -> None:
        self._total = total_bytes
        self._started = started

    def line(self, records: int, done_bytes: int, now: float) -> str:
        """After so many records and bytes."""
        passed = max(now - self._started, 1e-6)
        rate = f"{records:,} records  {size_text(done_bytes)}  {records / passed:,.0f}/s"
        if not self._total:
            return rate
        part = min(done_bytes / self._total, 1.0)
        filled = int(part * _WIDTH)
        return f"[{'#' * filled}{' ' * (_WIDTH - filled)}] {part:4.0%}  {rate}"
