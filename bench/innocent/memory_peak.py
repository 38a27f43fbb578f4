"""The memory of a process while something happens to it: resident, and of that anonymous."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

EVERY_S = 0.05


@dataclass(frozen=True, slots=True)
class Memory:
    """MiB. `anonymous` is heap and stacks, without files that are mapped."""

    resident: float
    anonymous: float

    def at_least(self, other: Memory) -> Memory:
        """The larger of each."""
        return Memory(max(self.resident, other.resident), max(self.anonymous, other.anonymous))


def memory_of(pid: int) -> Memory:
    """Now. OSError where there is no such process."""
    told = {}
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name in ("VmRSS", "RssAnon"):
            told[name] = int(value.split()[0]) / 1024
    if len(told) < 2:
        raise ProcessLookupError(f"process {pid} has ended")
    return Memory(told["VmRSS"], told["RssAnon"])


class MemoryPeak:
    """Looks twenty times a second during the `with` block; `peak` is the most that it saw."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self.peak = memory_of(pid)
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def _look(self) -> None:
        while not self._is_over.wait(EVERY_S):
            try:
                self.peak = self.peak.at_least(memory_of(self._pid))
            except OSError:
                return  # it has ended, and the bench says so

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
