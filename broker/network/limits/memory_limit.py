"""The memory that this process may use: the machine's, or less if a control group limits it.

Owns nothing and watches nothing: the limit is read once, at the start. Never: how much memory is in
use.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

_UNKNOWN_BYTES = 1024 * 1024 * 1024
_ROOT = Path("/")


def memory_limit_bytes(root: Path = _ROOT) -> int:
    """Return the smallest of the machine's memory and the limits of this process's control groups.

    Reads control groups of version 1 and 2, with their parents. Returns 1 GiB if the system
    reports neither."""
    limits = [*_machine_memory(root), *_group_limits(root)]
    return min(limits, default=_UNKNOWN_BYTES)


def _machine_memory(root: Path) -> Iterator[int]:
    """Yield the bytes of the machine's memory, or nothing if the system does not say."""
    for line in _text_of(root / "proc/meminfo").splitlines():
        name, _, value = line.partition(":")
        if name == "MemTotal":
            yield int(value.split()[0]) * 1024
            return
    if root == _ROOT:  # macOS has no such file
        with contextlib.suppress(OSError, ValueError):
            yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _group_limits(root: Path) -> Iterator[int]:
    """Yield the limits in bytes of this process' control groups and the groups above them."""
    for line in _text_of(root / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if not controllers:
            top, name = root / "sys/fs/cgroup", "memory.max"
        elif "memory" in controllers.split(","):
            top, name = root / "sys/fs/cgroup/memory", "memory.limit_in_bytes"
        else:
            continue
        # In a container the path may be the host's, of which only the top folder is visible.
        group = top / path.lstrip("/")
        for folder in (group, *group.parents):
            limit = _text_of(folder / name).strip()
            if limit.isdecimal():  # else "max", or no such file
                yield int(limit)
            if folder == top:
                break


def _text_of(path: Path) -> str:
    """Return the file's text, or "" if it cannot be read."""
    try:
        return path.read_text()
    except OSError:
        return ""
