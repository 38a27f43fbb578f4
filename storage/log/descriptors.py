"""How the file descriptors of a node are divided between what needs them.

    partitions     one each, for the active segment, as long as the log is here
    connections    one each, and a second one while a full socket is waited for
    old segments   what is left (`storage.log.closed_files`)
    moves          one each, for the copy under way into another log directory
    the node       its loop, sockets, locks, the metadata log, jobs that write small files, the
                   cleaner's pipes, connections to other nodes: `OWN_USE`

A reserve is kept from the partitions (`ottla.reserved.file.descriptors`), so that the rest goes on
when nobody may make another one. Connections may take what partitions do not use.

Owns the sums. Never: opens or counts anything itself; who does tells by `count_logs` and
`count_connections`. Kafka has no such bound: its process stops where descriptors end.
"""

from __future__ import annotations

from collections.abc import Callable

from storage.log.closed_files import UNLIMITED, ClosedFiles

DESCRIPTORS_PER_LOG = 1
OWN_USE = 64
SPARES = 16
"""Of those, kept open for what storage opens where there is nothing left (`LocalFilesystem`)."""
CLOSED_FILES_MIN = 32
MOVES_MIN = 16
CONNECTIONS_MIN = 128
_CONNECTIONS_SHARE = 4
_PROMISED = OWN_USE + CLOSED_FILES_MIN + MOVES_MIN


def default_reserve(limit: int) -> int:
    """What is kept from the partitions of a process that may open `limit` files."""
    return _PROMISED + max(CONNECTIONS_MIN, limit // _CONNECTIONS_SHARE)


def _none() -> int:
    return 0


class Descriptors:
    """See the module. Numbers are descriptors, but for those of logs."""

    def __init__(
        self, limit: int = UNLIMITED, reserve: Callable[[int], int] = default_reserve
    ) -> None:
        """`limit` is RLIMIT_NOFILE, `ulimit -n`; `reserve(limit)` is kept from the partitions."""
        self.limit = limit
        self._reserve = reserve
        self.reserved = reserve(limit)
        self.logs: Callable[[], int] = _none
        """Open logs of partitions."""
        self.moves: Callable[[], int] = _none
        """Copies of logs under way into another directory."""
        self.connections: Callable[[], int] = _none
        """Open connections of clients and other nodes to this one."""
        self.closed_files = ClosedFiles(self._room_for_closed_files)

    def count_logs(self, logs: Callable[[], int], moves: Callable[[], int]) -> None:
        """These two tell how many logs, and how many moves, there are."""
        self.logs, self.moves = logs, moves

    def count_connections(self, connections: Callable[[], int]) -> None:
        """This tells how many connections there are."""
        self.connections = connections

    @property
    def logs_max(self) -> int:
        """How many partitions may be here, now."""
        kept = max(self.reserved, _PROMISED + self.connections())
        return self._logs_beside(kept)

    def _logs_beside(self, kept: int) -> int:
        more_moves = max(0, self.moves() - MOVES_MIN)
        return max(0, self.limit - kept) // DESCRIPTORS_PER_LOG - more_moves

    @property
    def has_room(self) -> bool:
        """Whether one more log may be opened here. Connections that took more than their share are
        not asked: who decided that the log comes has done that."""
        return self.logs() < self._logs_beside(self.reserved)

    @property
    def has_room_for_move(self) -> bool:
        """Whether one more log may be copied into another directory."""
        return self.moves() < MOVES_MIN or self.logs() < self.logs_max

    @property
    def connections_max(self) -> int:
        """How many connections there may be now."""
        logs = (self.logs() + max(MOVES_MIN, self.moves())) * DESCRIPTORS_PER_LOG
        return max(1, self.limit - OWN_USE - CLOSED_FILES_MIN - logs)

    def limit_for(self, logs: int, moves: int = 0) -> int:
        """The least limit with which a node can have so many logs, and copies under way."""
        needed = (logs + max(0, moves - MOVES_MIN)) * DESCRIPTORS_PER_LOG
        limit = needed + self._reserve(needed)
        while limit - self._reserve(limit) < needed:  # a higher limit may have a larger reserve
            limit = needed + self._reserve(limit)
        return limit

    def _room_for_closed_files(self) -> int:
        logs = (self.logs() + self.moves()) * DESCRIPTORS_PER_LOG
        return max(CLOSED_FILES_MIN, self.limit - OWN_USE - logs - 2 * self.connections())
