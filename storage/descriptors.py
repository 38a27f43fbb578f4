"""How the file descriptors of a node are divided between what needs them.

    partitions     one each, for the active segment, as long as the log is here
    connections    one each, and a second one while a full socket is waited for
    old segments   what is left (`storage.closed_files`)
    the node       its loop, sockets, locks, the metadata log, jobs that write small files, the
                   cleaner's pipes, connections to other nodes: `OWN_USE`

A reserve is kept from the partitions (`ottla.reserved.file.descriptors`), so that the rest goes on
when nobody may make another one. Connections may take what partitions do not use.

Owns the sums. Never: opens or counts anything itself; who does tells by `logs` and `connections`.
Kafka has no such bound: its process stops where descriptors end.
"""

from __future__ import annotations

from collections.abc import Callable

from storage.closed_files import UNLIMITED, ClosedFiles

DESCRIPTORS_PER_LOG = 1
OWN_USE = 64
CLOSED_FILES_MIN = 32
CONNECTIONS_MIN = 128
_CONNECTIONS_SHARE = 4


def default_reserve(limit: int) -> int:
    """What is kept from the partitions of a process that may open `limit` files."""
    return OWN_USE + CLOSED_FILES_MIN + max(CONNECTIONS_MIN, limit // _CONNECTIONS_SHARE)


class Descriptors:
    """See the module. All numbers are descriptors, but for those of logs."""

    def __init__(self, limit: int = UNLIMITED, reserved: int = 0) -> None:
        """`limit` is RLIMIT_NOFILE, `ulimit -n`; `reserved` is kept from the partitions."""
        self.limit = limit
        self.reserved = reserved
        self.logs: Callable[[], int] = lambda: 0
        """Open logs of partitions, copies under way into another directory too."""
        self.connections: Callable[[], int] = lambda: 0
        """Open connections of clients and other nodes to this one."""
        self.closed_files = ClosedFiles(self._room_for_closed_files)

    @property
    def logs_max(self) -> int:
        """How many logs of partitions there may be now."""
        kept = max(self.reserved, OWN_USE + CLOSED_FILES_MIN + self.connections())
        return max(0, self.limit - kept) // DESCRIPTORS_PER_LOG

    @property
    def connections_max(self) -> int:
        """How many connections there may be now."""
        logs = self.logs() * DESCRIPTORS_PER_LOG
        return max(1, self.limit - OWN_USE - CLOSED_FILES_MIN - logs)

    def needed_for(self, logs: int) -> int:
        """The limit that a node with `logs` logs needs."""
        return self.reserved + logs * DESCRIPTORS_PER_LOG

    def _room_for_closed_files(self) -> int:
        taken = OWN_USE + self.logs() * DESCRIPTORS_PER_LOG + 2 * self.connections()
        return max(CLOSED_FILES_MIN, self.limit - taken)
