"""Keeps free memory scarce before a load, where the machine gives free memory back to its host.

A virtual machine with free page reporting (virtio-balloon) has its host take back what is free, and
pays for each page that it uses again: 0.75 to 1.5 s a GB on the machine of the project's figures,
where a broker takes 0.6 s to take in, check and write that GB. Every load that writes then measures
the host, for all peers alike, and all ratios drift towards 1. A machine that has run for a while
has no such pages, for its page cache has filled all memory. So it is filled here, with the holes of
a sparse file; the kernel evicts those for what is written, with a tenth of a core at 1 GB/s.

It is filled again before each window: topics that are deleted make memory free, and the host may
reclaim. From the small zones for old devices (3 of 24 GB on that machine) memory is taken only once
the largest is full, which it never is for long; a fill that waited for them went through the whole
file each time, and what was written later came from them. So what is free of them is locked, once,
and only the largest is filled again. A zone is full when the kernel evicts for what comes next: 400
MB left free took the first second of a window. Nothing is done on other machines. Linux only.
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
"""What of a zone may stay free beyond what the kernel keeps of it."""
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
"""/proc/meminfo and what /proc/zoneinfo says of the zones, in bytes."""


class PageCache:
    """The machine's, filled with one sparse file; `close` gives all of it back."""

    def __init__(self, memory: Memory | None = None) -> None:
        self._memory = memory or read_memory
        self._file = tempfile.TemporaryFile(prefix="ottla-bench-page-cache-")  # noqa: SIM115
        self._size = self._memory()["MemTotal"] // STEP_BYTES * STEP_BYTES
        self._file.truncate(self._size)
        self._mapped = mmap.mmap(self._file.fileno(), self._size)
        self._at = 0
        self._locked: list[mmap.mmap] = []
        # The host takes pages back for each core at once.
        self._threads = ThreadPoolExecutor(os.cpu_count())

    def fill(self) -> int:
        """Until memory is nearly full, at most once through the file; how many bytes of that."""
        looked_at = 0
        while looked_at < self._size and self._has_room(LARGEST_ROOM):
            # Where it stopped the last time lies what was evicted the longest time ago.
            steps = [(self._at + i * STEP_BYTES) % self._size for i in range(STEPS_AT_ONCE)]
            for _ in self._threads.map(self._populate, steps):
                looked_at += STEP_BYTES
            self._at = (steps[-1] + STEP_BYTES) % self._size
        self._lock_small_zones()
        return looked_at

    @property
    def locked_bytes(self) -> int:
        """What no peer can use."""
        return sum(map(len, self._locked))

    def _lock_small_zones(self) -> None:
        """What is free of them: while the largest is full, memory is taken from them."""
        most = 2 * self._memory()[SMALL_TOTAL] // LOCKED_STEP_BYTES
        while len(self._locked) < most and self._has_room(SMALL_ROOM):
            flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_LOCKED
            try:
                self._locked.append(mmap.mmap(-1, LOCKED_STEP_BYTES, flags=flags))
            except OSError as error:
                raise OSError(error.errno, _CANNOT_LOCK) from error

    def _populate(self, offset: int) -> None:
        """Read one step into the page cache, without the GIL, and map it for no longer."""
        with memoryview(self._mapped) as view:
            first = ctypes.addressof(ctypes.c_char.from_buffer(view, offset))
            for advice in (_POPULATE_READ, mmap.MADV_DONTNEED):
                if _madvise(first, STEP_BYTES, advice) != 0:
                    raise OSError(ctypes.get_errno(), _CANNOT_FILL)

    def _has_room(self, zone: str) -> bool:
        told = self._memory()
        # What this reads is available still. On a file system in memory it would not be.
        return told[zone] > ROOM_BYTES and 2 * told["MemAvailable"] > told["MemTotal"]

    def close(self) -> None:
        """Forget the file, and what is locked."""
        self._threads.shutdown()
        for mapped in (self._mapped, *self._locked):
            mapped.close()
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


def read_memory() -> dict[str, int]:
    """See `Memory`."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    named = (line.split()[:2] for line in lines)
    told = {name.rstrip(":"): int(value) << 10 for name, value in named}
    return told | zones(Path("/proc/zoneinfo").read_text())


def zones(zoneinfo: str) -> dict[str, int]:
    """The room of the zone with the most pages, and of all others, in bytes.

    Room is what is taken before the kernel evicts: what is free beyond the watermark up to which
    it evicts (`high`) and what it protects for those who can use no other zone.
    """
    found: list[dict[str, int]] = []
    for words in map(str.split, zoneinfo.splitlines()):
        if words[:1] == ["Node"]:
            found.append({})
        elif words[:1] == ["protection:"]:
            found[-1]["protected"] = max(int(word.strip("(),")) for word in words[1:])
        elif len(words) == 2 and words[0] in ("managed", "high", "nr_free_pages"):
            found[-1][words[0]] = int(words[1])
    *small, largest = sorted(found, key=lambda zone: zone["managed"])
    return {
        LARGEST_ROOM: _room(largest),
        SMALL_ROOM: sum(map(_room, small)),
        SMALL_TOTAL: sum(zone["managed"] for zone in small) * mmap.PAGESIZE,
    }


def _room(zone: dict[str, int]) -> int:
    kept = zone.get("high", 0) + zone.get("protected", 0)
    return max(0, zone.get("nr_free_pages", 0) - kept) * mmap.PAGESIZE
