"""The progress of a command as one line: a bar if the size is known, and rates.

    [##########              ]  41 %  410,000 records  52.1 MB  381,000/s

Pure text; the caller passes the time `now`, in seconds.
"""

from __future__ import annotations

from client.tables import size_text

_WIDTH = 24


class Progress:
    """The progress of work that began at `started`; `total_bytes` None: the size is not known."""

    def __init__(self, total_bytes: int | None, started: float) -> None:
        self._total = total_bytes
        self._started = started

    def line(self, records: int, done_bytes: int, now: float) -> str:
        """Return the line after `records` records and `done_bytes` bytes."""
        elapsed_s = max(now - self._started, 1e-6)
        rate = f"{records:,} records  {size_text(done_bytes)}  {records / elapsed_s:,.0f}/s"
        if not self._total:
            return rate
        share = min(done_bytes / self._total, 1.0)
        filled = int(share * _WIDTH)
        return f"[{'#' * filled}{' ' * (_WIDTH - filled)}] {share:4.0%}  {rate}"
