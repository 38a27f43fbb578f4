"""The division of a node's file descriptors between their users.

    partitions     one each, for the active segment, as long as the log is here
    connections    one each, and a second one while the node waits for a full socket
    old segments   the rest (`storage.log.closed_files`)
    moves          one each, for the copy under way into another log directory
    the node       its loop, sockets, locks, the metadata log, jobs that write small files, the
                   cleaner's pipes, connections to other nodes: `OWN_USE`

Partitions may not use a reserve (`ottla.reserved.file.descriptors`), so that the other users still
work when no further partition may be created. Connections may use all that partitions leave.

Owns the sums. Never: opens or counts anything itself; the counts come from the functions passed to
`count_logs` and `count_connections`. Kafka has no such limit: its process stops without
descriptors.
"""

from __future__ import annotations

from collections.abc import Callable

from storage.log.closed_files import UNLIMITED, ClosedFiles

DESCRIPTORS_PER_LOG = 1
OWN_USE = 64
SPARES = 16
"""The descriptors, among OWN_USE, kept open for files that storage must open when no other is left
(`LocalFilesystem`)."""
CLOSED_FILES_MIN = 32
MOVES_MIN = 16
CONNECTIONS_MIN = 128
_CONNECTIONS_SHARE = 4
_PROMISED = OWN_USE + CLOSED_FILES_MIN + MOVES_MIN


def default_reserve(limit: int) -> int:
    """Return the reserve that partitions may not use, in a process that may open `limit` files."""
    return _PROMISED + max(CONNECTIONS_MIN, limit // _CONNECTIONS_SHARE)


def _none() -> int:
    """Return 0, until a function that counts is set."""
    return 0


class Descriptors:
    """The descriptors of one node. Numbers count descriptors, unless the name says logs."""

    def __init__(
        self, limit: int = UNLIMITED, reserve: Callable[[int], int] = default_reserve
    ) -> None:
        """Divide `limit` descriptors (RLIMIT_NOFILE, `ulimit -n`).

        Partitions may not use `reserve(limit)` of them.
        """
        self.limit = limit
        self._reserve = reserve
        self.reserved = reserve(limit)
        self.logs: Callable[[], int] = _none
        """The number of open logs of partitions."""
        self.moves: Callable[[], int] = _none
        """The number of copies of logs under way into another directory."""
        self.connections: Callable[[], int] = _none
        """The number of open connections of clients and other nodes to this one."""
        self.closed_files = ClosedFiles(self._room_for_closed_files)

    def count_logs(self, logs: Callable[[], int], moves: Callable[[], int]) -> None:
        """Use these functions for the numbers of open logs and of copies under way."""
        self.logs, self.moves = logs, moves

    def count_connections(self, connections: Callable[[], int]) -> None:
        """Use this function for the number of open connections."""
        self.connections = connections

    @property
    def logs_max(self) -> int:
        """The number of partitions that this node may host now."""
        kept = max(self.reserved, _PROMISED + self.connections())
        return self._logs_beside(kept)

    def _logs_beside(self, kept: int) -> int:
        """Return how many logs fit beside `kept` descriptors. Copies under way above MOVES_MIN take
        the place of logs."""
        more_moves = max(0, self.moves() - MOVES_MIN)
        return max(0, self.limit - kept) // DESCRIPTORS_PER_LOG - more_moves

    @property
    def has_room(self) -> bool:
        """Whether one more log may be opened here.

        Connections above their share are not counted: the controller did that, by `logs_max`,
        before it assigned the partition.
        """
        return self.logs() < self._logs_beside(self.reserved)

    @property
    def has_room_for_move(self) -> bool:
        """Whether one more log may be copied into another directory."""
        return self.moves() < MOVES_MIN or self.logs() < self.logs_max

    @property
    def connections_max(self) -> int:
        """The number of connections that may be open now."""
        logs = (self.logs() + max(MOVES_MIN, self.moves())) * DESCRIPTORS_PER_LOG
        return max(1, self.limit - OWN_USE - CLOSED_FILES_MIN - logs)

    def limit_for(self, logs: int, moves: int = 0) -> int:
        """Return the lowest `ulimit -n` with which a node can have `logs` logs and `moves` copies
        under way."""
        needed = (logs + max(0, moves - MOVES_MIN)) * DESCRIPTORS_PER_LOG
        limit = needed + self._reserve(needed)
        while limit - self._reserve(limit) < needed:  # a higher limit may have a larger reserve
            limit = needed + self._reserve(limit)
        return limit

    def _room_for_closed_files(self) -> int:
        """Return how many files of closed segments may be open now: what logs and connections
        leave, with two descriptors for each connection, but at least CLOSED_FILES_MIN."""
        logs = (self.logs() + self.moves()) * DESCRIPTORS_PER_LOG
        return max(CLOSED_FILES_MIN, self.limit - OWN_USE - logs - 2 * self.connections())
