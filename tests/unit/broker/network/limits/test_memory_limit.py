"""What the system tells of its memory, as files of three kinds of machines."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker.network.limits.memory_limit import memory_limit_bytes

GIB = 1024**3
MACHINE = {"proc/meminfo": "MemTotal:        8388608 kB\nMemFree:          100 kB\n"}
V2 = {
    "proc/self/cgroup": "0::/system.slice/ottla.service\n",
    "sys/fs/cgroup/system.slice/ottla.service/memory.max": "max\n",
    "sys/fs/cgroup/system.slice/memory.max": f"{2 * GIB}\n",
}
V1 = {
    "proc/self/cgroup": "3:cpu,cpuacct:/docker/a\n2:memory:/docker/a\n1:name=systemd:/docker/a\n",
    "sys/fs/cgroup/memory/memory.limit_in_bytes": f"{GIB}\n",
    "sys/fs/cgroup/cpu,cpuacct/docker/a/memory.limit_in_bytes": "5\n",
}
UNLIMITED_V1 = {
    "proc/self/cgroup": "2:memory:/\n",
    "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
}


@pytest.mark.parametrize(
    ("files", "limit"),
    [
        (MACHINE, 8 * GIB),
        (MACHINE | V2, 2 * GIB),
        (MACHINE | V1, GIB),
        (MACHINE | UNLIMITED_V1, 8 * GIB),
        ({}, GIB),
    ],
)
def test_the_least_of_what_the_system_tells(
    tmp_path: Path, files: dict[str, str], limit: int
) -> None:
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert memory_limit_bytes(tmp_path) == limit
