"""The peak memory of a process during a block: its resident, and of that its anonymous memory."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

EVERY_S = 0.05


@dataclass(frozen=True, slots=True)
class ProcessMemory:
    """Memory in MiB. `anonymous` is heap and stacks, without mapped files."""

    resident: float
    anonymous: float

    def at_least(self, other: ProcessMemory) -> ProcessMemory:
        """Return the larger value of each kind."""
        return ProcessMemory(
            max(self.resident, other.resident), max(self.anonymous, other.anonymous)
        )


def memory_of(pid: int) -> ProcessMemory:
    """Return a process's memory now. Raises OSError if there is no such process."""
    values = {}
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name in ("VmRSS", "RssAnon"):
            values[name] = int(value.split()[0]) / 1024
    if len(values) < 2:
        raise ProcessLookupError(f"process {pid} has ended")
    return ProcessMemory(values["VmRSS"], values["RssAnon"])


class MemoryPeak:
    """A `with` block that reads memory twenty times a second; `peak` is the largest reading."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self.peak = memory_of(pid)
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._sample_until_over, daemon=True)

    def _sample_until_over(self) -> None:
        """Raise `peak` every EVERY_S seconds until it is over or the process has ended."""
        while not self._is_over.wait(EVERY_S):
            try:
                self.peak = self.peak.at_least(memory_of(self._pid))
            except OSError:
                return  # the process has ended, which the bench reports

    def __enter__(self) -> MemoryPeak:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._is_over.set()
        self._thread.join()
