"""Keeps free memory scarce before a load, where the machine gives free memory back to its host.

A virtual machine with free page reporting (virtio-balloon) has its host take back what is free, and
pays for each page that it uses again: 0.75 to 1.5 s a GB on the machine of the project's figures,
where a broker takes 0.6 s to take in, check and write that GB. Every load that writes then measures
the host, for all peers alike, and all ratios drift towards 1. A machine that has run for a while
has no such pages, for its page cache has filled all memory. So it is filled here, with the holes of
a sparse file; the kernel evicts those for what is written, with a tenth of a core at 1 GB/s.

It is filled again before each window: topics that are deleted make memory free, and the host may
reclaim. Nothing is done on other machines. Linux only.
"""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Callable
from pathlib import Path

STEP_BYTES = 128 << 20
FREE_BYTES = 600 << 20
"""What may stay free: the kernel keeps some, and begins to evict by itself below that."""
_POPULATE_READ = 22  # madvise: MADV_POPULATE_READ, Linux 5.14
_BALLOON = "0x0005"  # virtio device id
_REPORTING = 5  # its feature VIRTIO_BALLOON_F_REPORTING

Meminfo = Callable[[], dict[str, int]]
"""/proc/meminfo, in bytes."""


class PageCache:
    """The machine's, filled with one sparse file; `close` gives all of it back."""

    def __init__(self, meminfo: Meminfo | None = None) -> None:
        self._meminfo = meminfo or read_meminfo
        self._file = tempfile.TemporaryFile(prefix="ottla-bench-page-cache-")  # noqa: SIM115
        self._size = self._meminfo()["MemTotal"] // STEP_BYTES * STEP_BYTES
        self._file.truncate(self._size)
        self._at = 0

    def fill(self) -> int:
        """Until memory is nearly full, at most once through the file; how many bytes of that."""
        looked_at = 0
        while looked_at < self._size and self._has_room():
            with mmap.mmap(
                self._file.fileno(), STEP_BYTES, prot=mmap.PROT_READ, offset=self._at
            ) as step:
                step.madvise(_POPULATE_READ)
            # Where it stopped the last time lies what was evicted the longest time ago.
            self._at = (self._at + STEP_BYTES) % self._size
            looked_at += STEP_BYTES
        return looked_at

    def _has_room(self) -> bool:
        told = self._meminfo()
        # What this reads is available still. On a file system in memory it would not be.
        return told["MemFree"] > FREE_BYTES and 2 * told["MemAvailable"] > told["MemTotal"]

    def close(self) -> None:
        """Forget the file."""
        self._file.close()


def gives_free_memory_back(devices: Path = Path("/sys/bus/virtio/devices")) -> bool:
    """Whether this is a virtual machine whose host takes back free pages, as its balloon says."""
    try:
        return any(
            (one / "device").read_text().strip() == _BALLOON
            and (one / "features").read_text()[_REPORTING] == "1"
            for one in devices.iterdir()
        )
    except (OSError, IndexError):
        return False


def read_meminfo() -> dict[str, int]:
    """See `Meminfo`."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    named = (line.split()[:2] for line in lines)
    return {name.rstrip(":"): int(value) << 10 for name, value in named}
