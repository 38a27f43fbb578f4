"""Moves replicas between the log directories of this broker (KIP-113).

Owns each move from the request to the exchange: what the log has is copied into a `-future` folder,
a chunk at a time, the slower the lower `replica.alter.log.dirs.io.max.bytes.per.second` is; what
the log cuts off is cut off there; and once the copy holds all, and is as durable, it takes the
log's place. The partition serves meanwhile. A move survives a restart.

Never: names folders (`storage.directories.future_logs`), or lets a batch through unchecked: a copy
takes what a follower would.

Kafka's classes: `ReplicaAlterLogDirsManager`, `ReplicaAlterLogDirsThread`, and of `ReplicaManager`
`alterReplicaLogDirs` 4.3.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from broker.replication.partition import Partition
from broker.replication.replication_quota import UNLIMITED
from ground.ports import Blocking, Scheduler
from protocol.errors import ErrorCode
from storage.directories.log_manager import LogManager
from storage.log.fetch_data import UNDEFINED_EPOCH, UNDEFINED_OFFSET
from storage.log.log_dir_failure import DescriptorsLack, LogDirFailure, is_lack_of_descriptors
from storage.log.unified_log import UnifiedLog

_log = logging.getLogger(f"ottla.{__name__}")

CHUNK_BYTES = 1 << 20
RETRY_MS = 1_000


@dataclass(slots=True, eq=False)
class _Move:
    partition: Partition
    future: UnifiedLog
    flushed: bool = False
    """Whether what it held when it had caught up first is on stable storage."""


class ReplicaMover:
    """See the module."""

    def __init__(
        self,
        logs: LogManager,
        scheduler: Scheduler,
        blocking: Blocking,
        moved: Callable[[Partition], None],
    ) -> None:
        """`moved(partition)` runs when its log lies in the other directory."""
        self._logs = logs
        self._scheduler = scheduler
        self._blocking = blocking
        self._moved = moved
        self._moves: dict[Partition, _Move] = {}
        self._stopped = False
        self._rate: int = UNLIMITED
        self._free_ms = 0.0

    def limit(self, rate: int) -> None:
        """All moves together copy at most `rate` bytes a second."""
        self._rate = rate

    def __len__(self) -> int:
        """Moves under way."""
        return len(self._moves)

    def move(self, partition: Partition, log_dir: str) -> None:
        """Begin to move `partition` to `log_dir`; a move elsewhere that is under way ends.

        Nothing to do where it lies, or is on its way, there. Raises LogDirFailure, DescriptorsLack
        where there is no room for one more copy, LogPlaceTaken where there is none for its folder.
        """
        future = self._logs.future_logs.get((partition.topic, partition.index))
        if future is not None and future.log_dir != log_dir:
            self.cancel(partition)
            future = None
        log = partition.log
        if log.log_dir == log_dir:
            self.cancel(partition)
            return
        if future is None:
            descriptors = self._logs.descriptors
            if not descriptors.has_room_for_move:
                text = f"{len(self._moves)} moves are under way, ulimit -n {descriptors.limit}"
                raise DescriptorsLack(log_dir, f"{partition!r} is not moved: {text}")
            future = self._logs.future_logs.create(log, log_dir, log.config)
            _log.info("%r moves from %s to %s", partition, log.log_dir, log_dir)
        self._begin(partition, future)

    def resume(self, partition: Partition) -> None:
        """Go on with a move that the last stop interrupted, if there was one."""
        future = self._logs.future_logs.get((partition.topic, partition.index))
        if future is not None and partition not in self._moves:
            if future.log_dir == partition.log.log_dir:
                self.cancel(partition)
            else:
                self._begin(partition, future)

    def _begin(self, partition: Partition, future: UnifiedLog) -> None:
        if partition not in self._moves:
            move = self._moves[partition] = _Move(partition, future)
            self._again(move, 0)

    def cancel(self, partition: Partition) -> None:
        """Drop the copy of a partition: it is not wanted any more."""
        self._moves.pop(partition, None)
        self._logs.future_logs.drop((partition.topic, partition.index))

    def stop(self) -> None:
        """Copy nothing more."""
        self._stopped = True

    # ---- one step --------------------------------------------------------------------------------

    def _again(self, move: _Move, delay_ms: float) -> None:
        self._scheduler.call_later(delay_ms, lambda: self._step(move))

    def _is_live(self, move: _Move) -> bool:
        if self._stopped or self._moves.get(move.partition) is not move:
            return False
        if move.partition.deleted or move.future.offline or move.partition.log.offline:
            # What is on disk of the copy goes on at the next start, if its log is there then.
            del self._moves[move.partition]
            return False
        return True

    def _step(self, move: _Move) -> None:
        if not self._is_live(move):
            return
        wait_ms = self._free_ms - self._scheduler.monotonic_ms()
        if wait_ms > 0:
            self._again(move, wait_ms)
            return
        log, future = move.partition.log, move.future
        try:
            align(log, future)
            if future.log_end_offset < log.log_end_offset:
                self._copy(move)
            elif not move.flushed or future.recovery_point < log.recovery_point:
                self._flush(move)
            else:
                self._exchange(move)
        except DescriptorsLack:
            self._again(move, RETRY_MS)
        except LogDirFailure as failure:
            _log.error("%r: the move ends: %s", move.partition, failure)
            self._moves.pop(move.partition, None)

    def _copy(self, move: _Move) -> None:
        log, future = move.partition.log, move.future
        chunk = max(1, min(CHUNK_BYTES, self._rate))
        read = log.read(future.log_end_offset, chunk)
        if read.error or not len(read.records):
            _log.warning("%r: cannot be copied: %s", move.partition, read.error.name)
            self._again(move, RETRY_MS)
            return
        records = read.records
        if isinstance(records, bytes) or move.flushed:
            # Flushed once, the copy lacks only what came meanwhile: it catches up in this go, in
            # which nothing is appended.
            self._take(move, records if isinstance(records, bytes) else records.read())
            return
        cut = log.flusher.truncations

        def done(data: bytes | None, error: Exception | None) -> None:
            if not self._is_live(move):
                return
            if data is None or log.flusher.truncations != cut or move.partition.log is not log:
                _log.warning("%r: a read for the move failed: %s", move.partition, error)
                self._again(move, RETRY_MS if error else 0)
            else:
                self._take(move, data)

        self._blocking.submit(records.read, done)

    def _take(self, move: _Move, data: bytes) -> None:
        log, future = move.partition.log, move.future
        info = future.append_as_follower(memoryview(bytearray(data)), log.latest_epoch)
        if info.error is ErrorCode.KAFKA_STORAGE_ERROR and future.offline:
            self._moves.pop(move.partition, None)
            return
        if info.error or not info.size:
            _log.warning("%r: a chunk is refused: %s", move.partition, info.error_message)
            self._again(move, RETRY_MS)
            return
        future.update_high_watermark(log.high_watermark)
        if self._rate < UNLIMITED:
            now_ms = self._scheduler.monotonic_ms()
            self._free_ms = max(self._free_ms, now_ms) + info.size * 1000 / self._rate
        if move.flushed and info.size < CHUNK_BYTES // 2:
            self._step(move)
        else:
            self._again(move, 0)

    def _flush(self, move: _Move) -> None:
        def done(error: Exception | None) -> None:
            move.flushed = error is None
            self._again(move, RETRY_MS if is_lack_of_descriptors(error) else 0)

        move.future.flush(done)

    def _exchange(self, move: _Move) -> None:
        partition, log, future = move.partition, move.partition.log, move.future
        future.update_high_watermark(log.high_watermark)
        if log.log_start_offset > future.log_start_offset:
            future.increment_log_start_offset(log.log_start_offset)
        future.update_config(log.config)
        self._logs.replace_with_future((partition.topic, partition.index))
        del self._moves[partition]
        partition.replace_log(future)
        _log.info("%r has moved to %s", partition, future.log_dir)
        self._moved(partition)


def align(log: UnifiedLog, future: UnifiedLog) -> None:
    """Cut off `future` what `log` does not have, or not any more (KIP-101). Raises LogDirFailure.

    A copy that lies before the log start, or has nothing in common with the log, begins anew.
    """
    if future.log_end_offset < log.log_start_offset:
        future.truncate_fully_and_start_at(log.log_start_offset)
        return
    if future.latest_epoch == UNDEFINED_EPOCH:
        if future.log_end_offset > log.log_end_offset:
            future.truncate_fully_and_start_at(log.log_start_offset)
        return
    while future.latest_epoch != UNDEFINED_EPOCH:
        mine = future.latest_epoch
        theirs = log.end_offset_for_epoch(mine)
        if theirs.end_offset == UNDEFINED_OFFSET:  # a later epoch than all that the log knows
            theirs = log.end_offset_for_epoch(log.latest_epoch)
        if theirs.end_offset == UNDEFINED_OFFSET:
            future.truncate_fully_and_start_at(log.log_start_offset)
            return
        if theirs.leader_epoch == mine and future.log_end_offset <= theirs.end_offset:
            return
        own = future.end_offset_for_epoch(theirs.leader_epoch)
        target = theirs.end_offset
        if own.end_offset != UNDEFINED_OFFSET:
            target = min(target, own.end_offset)
        if not future.truncate_to(target) and future.latest_epoch == mine:
            future.truncate_fully_and_start_at(log.log_start_offset)
            return
