"""Moves of replicas between the log directories of a broker (KIP-113).

Owns each move from the request to the swap. The log is copied into a `-future` folder in chunks, at
most `replica.alter.log.dirs.io.max.bytes.per.second` for all moves together. If the log is
truncated, the copy is truncated too. When the copy holds everything and is as durable as the log,
it replaces the log. The partition serves requests meanwhile. A move survives a restart.

Never names folders (`storage.directories.future_logs`), and never skips the checks that a follower
makes of the batches that it appends.

Follows Kafka's `ReplicaAlterLogDirsManager` and `ReplicaAlterLogDirsThread`, and
`alterReplicaLogDirs` of `ReplicaManager`.
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
    """Whether the copy is on stable storage up to the log end that it reached first."""


class ReplicaMover:
    """The moves of replicas between this broker's log directories."""

    def __init__(
        self,
        logs: LogManager,
        scheduler: Scheduler,
        blocking: Blocking,
        moved: Callable[[Partition], None],
    ) -> None:
        """Begin without moves. `moved(partition)` runs after the copy has replaced the partition's
        log."""
        self._logs = logs
        self._scheduler = scheduler
        self._blocking = blocking
        self._moved = moved
        self._moves: dict[Partition, _Move] = {}
        self._stopped = False
        self._rate: int = UNLIMITED
        self._free_ms = 0.0

    def limit(self, rate: int) -> None:
        """Limit all moves together to `rate` bytes a second."""
        self._rate = rate

    def __len__(self) -> int:
        """Return the number of moves under way."""
        return len(self._moves)

    def move(self, partition: Partition, log_dir: str) -> None:
        """Begin to move `partition` to `log_dir`, and cancel a move to any other directory.

        Do nothing if its log is already there, or on its way there. Raises LogDirFailure if the
        directory failed, DescriptorsLack if the process has no file descriptors for another copy,
        and LogPlaceTaken if something else occupies the folder of the copy.
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
        """Continue the partition's move that the last shutdown interrupted, if any. A copy in the
        log's own directory is deleted instead."""
        future = self._logs.future_logs.get((partition.topic, partition.index))
        if future is not None and partition not in self._moves:
            if future.log_dir == partition.log.log_dir:
                self.cancel(partition)
            else:
                self._begin(partition, future)

    def _begin(self, partition: Partition, future: UnifiedLog) -> None:
        """Begin to move a partition to its future log, unless a move is under way."""
        if partition not in self._moves:
            move = self._moves[partition] = _Move(partition, future)
            self._step_later(move, 0)

    def cancel(self, partition: Partition) -> None:
        """Cancel the move of a partition, if there is one, and delete its copy."""
        self._moves.pop(partition, None)
        self._logs.future_logs.drop((partition.topic, partition.index))

    def stop(self) -> None:
        """Stop all moves, before their next steps; the copies stay on disk for the next start."""
        self._stopped = True

    # ---- the steps of a move ---------------------------------------------------------------------

    def _step_later(self, move: _Move, delay_ms: float) -> None:
        """Take the next step of a move after `delay_ms`."""
        self._scheduler.call_later(delay_ms, lambda: self._advance(move))

    def _is_live(self, move: _Move) -> bool:
        """Return True if the move may go on.

        Ends it if the partition was deleted or a disk failed.
        """
        if self._stopped or self._moves.get(move.partition) is not move:
            return False
        if move.partition.deleted or move.future.offline or move.partition.log.offline:
            # The copy stays on disk, and the next start resumes the move if the log is there then.
            del self._moves[move.partition]
            return False
        return True

    def _advance(self, move: _Move) -> None:
        """Truncate the copy to what it shares with the log, then take the next step: copy, flush,
        or exchange the logs.

        A used-up rate limit or a lack of file descriptors delays the step. A failed disk ends the
        move.
        """
        if not self._is_live(move):
            return
        wait_ms = self._free_ms - self._scheduler.monotonic_ms()
        if wait_ms > 0:
            self._step_later(move, wait_ms)
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
            self._step_later(move, RETRY_MS)
        except LogDirFailure as failure:
            _log.error("%r: the move ends: %s", move.partition, failure)
            self._moves.pop(move.partition, None)

    def _copy(self, move: _Move) -> None:
        """Read the next chunk of the log, append it to the copy, and schedule the next step.

        The read runs on another thread until the copy was flushed once. A failed read, or a
        truncation meanwhile, leads to another attempt.
        """
        log, future = move.partition.log, move.future
        chunk = max(1, min(CHUNK_BYTES, self._rate))
        read = log.read(future.log_end_offset, chunk)
        if read.error or not len(read.records):
            _log.warning("%r: cannot be copied: %s", move.partition, read.error.name)
            self._step_later(move, RETRY_MS)
            return
        records = read.records
        if isinstance(records, bytes) or move.flushed:
            # The copy was flushed once and lacks only what was appended since. Copy that on this
            # thread, so that nothing is appended meanwhile.
            self._append_chunk(move, records if isinstance(records, bytes) else records.read())
            return
        cut = log.flusher.truncations

        def done(data: bytes | None, error: Exception | None) -> None:
            """Append the chunk that the thread has read; try again if the read failed or the log
            has changed."""
            if not self._is_live(move):
                return
            if data is None or log.flusher.truncations != cut or move.partition.log is not log:
                _log.warning("%r: a read for the move failed: %s", move.partition, error)
                self._step_later(move, RETRY_MS if error else 0)
            else:
                self._append_chunk(move, data)

        self._blocking.submit(records.read, done)

    def _append_chunk(self, move: _Move, data: bytes) -> None:
        """Append a chunk to the copy and schedule the next step at the pace of the limit. A
        rejected chunk is logged, and another attempt follows after RETRY_MS.

        The copy's failed disk ends the move.
        """
        log, future = move.partition.log, move.future
        info = future.append_as_follower(memoryview(bytearray(data)), log.latest_epoch)
        if info.error is ErrorCode.KAFKA_STORAGE_ERROR and future.offline:
            self._moves.pop(move.partition, None)
            return
        if info.error or not info.size:
            _log.warning("%r: a chunk is refused: %s", move.partition, info.error_message)
            self._step_later(move, RETRY_MS)
            return
        future.update_high_watermark(log.high_watermark)
        if self._rate < UNLIMITED:
            now_ms = self._scheduler.monotonic_ms()
            self._free_ms = max(self._free_ms, now_ms) + info.size * 1000 / self._rate
        if move.flushed and info.size < CHUNK_BYTES // 2:
            self._advance(move)
        else:
            self._step_later(move, 0)

    def _flush(self, move: _Move) -> None:
        """Flush the copy on another thread; the next step follows, later if descriptors lack."""

        def done(error: Exception | None) -> None:
            """Store whether the flush succeeded, and schedule the next step."""
            move.flushed = error is None
            self._step_later(move, RETRY_MS if is_lack_of_descriptors(error) else 0)

        move.future.flush(done)

    def _exchange(self, move: _Move) -> None:
        """Put the copy in place of the partition's log, end the move, and call the `moved` of the
        constructor. Raises LogDirFailure."""
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
    """Truncate `future` to what it shares with `log` (KIP-101). Raises LogDirFailure.

    If the copy ends before the log start, or has nothing in common with the log, it restarts empty
    at the log start.
    """
    if future.log_end_offset < log.log_start_offset:
        future.truncate_fully_and_start_at(log.log_start_offset)
        return
    if future.latest_epoch == UNDEFINED_EPOCH:
        if future.log_end_offset > log.log_end_offset:
            future.truncate_fully_and_start_at(log.log_start_offset)
        return
    while future.latest_epoch != UNDEFINED_EPOCH:
        copied_epoch = future.latest_epoch
        log_end = log.end_offset_for_epoch(copied_epoch)
        if log_end.end_offset == UNDEFINED_OFFSET:  # a later epoch than every epoch of the log
            log_end = log.end_offset_for_epoch(log.latest_epoch)
        if log_end.end_offset == UNDEFINED_OFFSET:
            future.truncate_fully_and_start_at(log.log_start_offset)
            return
        if log_end.leader_epoch == copied_epoch and future.log_end_offset <= log_end.end_offset:
            return
        future_end = future.end_offset_for_epoch(log_end.leader_epoch)
        target = log_end.end_offset
        if future_end.end_offset != UNDEFINED_OFFSET:
            target = min(target, future_end.end_offset)
        if not future.truncate_to(target) and future.latest_epoch == copied_epoch:
            future.truncate_fully_and_start_at(log.log_start_offset)
            return
