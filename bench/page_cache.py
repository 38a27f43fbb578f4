"""Fills the page cache before a load, on virtual machines that return free memory to their host.

The host of a virtual machine with free page reporting (virtio-balloon) takes back its free pages,
and each page that the machine uses again costs time: 0.75 to 1.5 s a GB on the machine of the
project's figures, where a broker receives, checks and writes that GB in 0.6 s. Every load that
writes then measures the host, for all peers alike, and all ratios drift towards 1. A machine that
has run for a while has no such pages, because its page cache has filled all memory. So this module
fills it with the holes of a sparse file. The kernel evicts those pages for written data, at a cost
of a tenth of a core at 1 GB/s.

It is filled again before each window, because deleted topics free memory, which the host may
reclaim. The kernel allocates from the small zones for old devices (3 of 24 GB on that machine) only
while the largest zone is full, which is never for long. A fill that waited for them would read the
whole file each time, and data written later would come from them. So their free memory is locked,
once, and only the largest zone is filled again. A zone is full when the kernel evicts pages for the
next allocation: 400 MB left free took the first second of a window. Other machines need none of
this. Linux only.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

STEP_BYTES = 128 << 20
LOCKED_STEP_BYTES = 32 << 20
ROOM_BYTES = 64 << 20
"""The bytes of a zone that may stay free beyond the kernel's own reserve."""
LARGEST_ROOM, SMALL_ROOM, SMALL_TOTAL = "largest zone room", "small zones room", "small zones total"
STEPS_AT_ONCE = 4
_POPULATE_READ = 22  # madvise: MADV_POPULATE_READ, Linux 5.14
_MAP_LOCKED = 0x2000
_CANNOT_LOCK = "memory cannot be locked: try `ulimit -l unlimited` or --keep-page-cache"
_CANNOT_FILL = "the page cache cannot be filled (Linux 5.14 can): try --keep-page-cache"
_BALLOON = "0x0005"  # virtio device id
_REPORTING = 5  # its feature VIRTIO_BALLOON_F_REPORTING
_madvise = ctypes.CDLL(None, use_errno=True).madvise
_madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)

Memory = Callable[[], dict[str, int]]
"""A function that returns /proc/meminfo and the zones of /proc/zoneinfo, in bytes."""


class PageCache:
    """The machine's page cache, filled with one sparse file; `close` releases all of it."""

    def __init__(self, memory: Memory | None = None) -> None:
        self._memory = memory or read_memory
        self._file = tempfile.TemporaryFile(prefix="ottla-bench-page-cache-")  # noqa: SIM115
        self._size = self._memory()["MemTotal"] // STEP_BYTES * STEP_BYTES
        self._file.truncate(self._size)
        self._mapped = mmap.mmap(self._file.fileno(), self._size)
        self._at = 0
        self._locked: list[mmap.mmap] = []
        # The host handles the pages of all cores in parallel.
        self._threads = ThreadPoolExecutor(os.cpu_count())

    def fill(self) -> int:
        """Fill until memory is nearly full, and return the bytes read.

        One call reads the file at most once.
        """
        read_bytes = 0
        while read_bytes < self._size and self._has_room(LARGEST_ROOM):
            # The pages behind the last stop were evicted first.
            steps = [(self._at + i * STEP_BYTES) % self._size for i in range(STEPS_AT_ONCE)]
            for _ in self._threads.map(self._populate, steps):
                read_bytes += STEP_BYTES
            self._at = (steps[-1] + STEP_BYTES) % self._size
        self._lock_small_zones()
        return read_bytes

    @property
    def locked_bytes(self) -> int:
        """The bytes that no peer can use."""
        return sum(map(len, self._locked))

    def _lock_small_zones(self) -> None:
        """Lock the small zones' free memory: the kernel uses it while the largest zone is full."""
        most = 2 * self._memory()[SMALL_TOTAL] // LOCKED_STEP_BYTES
        while len(self._locked) < most and self._has_room(SMALL_ROOM):
            flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_LOCKED
            try:
                self._locked.append(mmap.mmap(-1, LOCKED_STEP_BYTES, flags=flags))
            except OSError as error:
                raise OSError(error.errno, _CANNOT_LOCK) from error

    def _populate(self, offset: int) -> None:
        """Read one step into the page cache, without the GIL, and unmap it."""
        with memoryview(self._mapped) as view:
            first = ctypes.addressof(ctypes.c_char.from_buffer(view, offset))
            for advice in (_POPULATE_READ, mmap.MADV_DONTNEED):
                if _madvise(first, STEP_BYTES, advice) != 0:
                    raise OSError(ctypes.get_errno(), _CANNOT_FILL)

    def _has_room(self, zone: str) -> bool:
        memory = self._memory()
        # The pages of this file stay available. On a file system in memory they would not.
        return memory[zone] > ROOM_BYTES and 2 * memory["MemAvailable"] > memory["MemTotal"]

    def close(self) -> None:
        """Release the file and the locked memory."""
        self._threads.shutdown()
        for mapped in (self._mapped, *self._locked):
            mapped.close()
        self._file.close()


def gives_free_memory_back(devices: Path = Path("/sys/bus/virtio/devices")) -> bool:
    """Return whether the balloon of this virtual machine gives free pages back to the host."""
    try:
        return any(
            (device / "device").read_text().strip() == _BALLOON
            and (device / "features").read_text()[_REPORTING] == "1"
            for device in devices.iterdir()
        )
    except (OSError, IndexError):
        return False


def read_memory() -> dict[str, int]:
    """Return the machine's memory, as `Memory` describes."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    named = (line.split()[:2] for line in lines)
    memory = {name.rstrip(":"): int(value) << 10 for name, value in named}
    return memory | zones(Path("/proc/zoneinfo").read_text())


def zones(zoneinfo: str) -> dict[str, int]:
    """Return the room of the zone with the most pages and of all others, in bytes.

    Room is the memory that is allocated before the kernel evicts: the free pages beyond the
    watermark up to which it evicts (`high`) and those reserved for users of no other zone.
    """
    zone_values: list[dict[str, int]] = []
    for words in map(str.split, zoneinfo.splitlines()):
        if words[:1] == ["Node"]:
            zone_values.append({})
        elif words[:1] == ["protection:"]:
            zone_values[-1]["protected"] = max(int(word.strip("(),")) for word in words[1:])
        elif len(words) == 2 and words[0] in ("managed", "high", "nr_free_pages"):
            zone_values[-1][words[0]] = int(words[1])
    *small, largest = sorted(zone_values, key=lambda zone: zone["managed"])
    return {
        LARGEST_ROOM: _free_bytes(largest),
        SMALL_ROOM: sum(map(_free_bytes, small)),
        SMALL_TOTAL: sum(zone["managed"] for zone in small) * mmap.PAGESIZE,
    }


def _free_bytes(zone: dict[str, int]) -> int:
    """Return how many bytes of a zone are free above what the kernel keeps."""
    kept = zone.get("high", 0) + zone.get("protected", 0)
    return max(0, zone.get("nr_free_pages", 0) - kept) * mmap.PAGESIZE
