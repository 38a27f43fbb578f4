"""Brokers that are wrong on purpose: each breaks one promise that the invariants must notice.

A mutant is a context in which the real classes have one method replaced. `MUTANTS` names each with
the invariants that may catch it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any
from unittest.mock import patch

from broker.apis import list_offsets
from broker.apis.produce.answers import refuse_produce
from broker.apis.produce.api import ProduceApi
from broker.apis.producer_id_manager import ProducerIdManager
from broker.coordinator.coordinator_runtime import ShardContext
from broker.groups.classic.group import ClassicGroup
from broker.replication import partition as partitions
from broker.replication import partition_reads
from broker.replication.fetch_session import FetchSession
from broker.replication.partition import Partition
from broker.replication.replica_manager import ReplicaManager
from broker.requests.prepared import PreparedRequests
from controller.quorum_controller import QuorumController
from controller.raft.raft_log import RaftLog
from ground.sliced_work import Steps, in_one_go
from protocol.errors import ErrorCode
from storage.directories.log_manager import LogManager
from storage.directories.offset_checkpoints import OffsetCheckpoint
from storage.log import batch_scan, log_segment
from storage.log.checkpoints import LOG_START_CHECKPOINT
from storage.log.producer_state import ProducerStateManager
from storage.log.unified_log import UnifiedLog
from tests.simulation.simulation import Failure, Simulation

OFFSET_KEYS = (b"\0\0", b"\0\1")
"""How the key of an offset commit begins in the log of a coordinator."""

Mutant = Callable[[], AbstractContextManager[None]]


@contextmanager
def ack_before_write() -> Iterator[None]:
    """acks=1 and all are answered, and the append comes ten milliseconds later."""
    real = ProduceApi.handle

    def handle(self: ProduceApi, context: Any, request: Any, respond: Any, *more: Any) -> None:
        if request.acks == 0 or request.transactional_id is not None:
            real(self, context, request, respond, *more)
            return
        for topic in request.topic_data:
            for data in topic.partition_data:
                data.records = memoryview(bytearray(data.records))
        answer = refuse_produce(request, ErrorCode.NONE)
        self._scheduler.call_later(
            10.0, lambda: real(self, context, request, lambda _response: None)
        )
        respond(answer)

    with (
        patch.object(ProduceApi, "handle", handle),
        patch.object(PreparedRequests, "find", lambda *_: None),  # all go the general way
    ):
        yield


@contextmanager
def producers_forgotten_at_start() -> Iterator[None]:
    """The state that finds duplicates is not rebuilt when a log is opened."""
    with (
        patch.object(ProducerStateManager, "replay", lambda self, header, marker=None: None),
        patch.object(ProducerStateManager, "restore", lambda self, entry: None),
    ):
        yield


@contextmanager
def no_deduplication() -> Iterator[None]:
    """A batch that was appended before is appended again."""
    with (
        patch.object(ProducerStateManager, "find_duplicate", lambda self, header: None),
        patch.object(ProducerStateManager, "check", lambda self, *_args, **_options: None),
    ):
        yield


@contextmanager
def stale_generation_commits() -> Iterator[None]:
    """An offset commit is taken whatever its member and generation are."""

    def commit_error(*_arguments: Any, **_options: Any) -> ErrorCode:
        return ErrorCode.NONE

    with patch.object(ClassicGroup, "commit_error", commit_error):
        yield


@contextmanager
def commit_acknowledged_before_append() -> Iterator[None]:
    """Offsets are answered for, and written 0.4 s later."""
    real = ShardContext._append

    def append(self: ShardContext, records: Any, transaction: Any) -> Steps[ErrorCode]:
        if records[0][0][:2] not in OFFSET_KEYS:
            return (yield from real(self, records, transaction))
        late = partial(in_one_go, real(self, records, transaction))
        self._scheduler.call_later(400.0, lambda: late() and None)
        return ErrorCode.NONE

    with patch.object(ShardContext, "_append", append):
        yield


@contextmanager
def log_start_not_kept() -> Iterator[None]:
    """Log starts are not checkpointed, not even by a clean stop."""
    real, real_now = OffsetCheckpoint.write, OffsetCheckpoint.write_now

    def kept(checkpoint: OffsetCheckpoint, offsets: Any) -> Any:
        return {} if checkpoint.path.endswith(LOG_START_CHECKPOINT) else offsets

    def write(self: OffsetCheckpoint, offsets: Any) -> None:
        real(self, kept(self, offsets))

    def write_now(self: OffsetCheckpoint, offsets: Any) -> None:
        real_now(self, kept(self, offsets))

    with (
        patch.object(OffsetCheckpoint, "write", write),
        patch.object(OffsetCheckpoint, "write_now", write_now),
    ):
        yield


@contextmanager
def reads_above_the_high_watermark() -> Iterator[None]:
    """The high watermark stays behind, and readers get everything all the same."""

    def behind(self: Partition) -> None:
        if len(self.isr) == 1:
            self.log.update_high_watermark(
                max(self.log.high_watermark, self.log.log_end_offset - 1)
            )

    def read(
        log: UnifiedLog, epoch: int, offset: int, max_bytes: int, _upper: int, *more: Any
    ) -> Any:
        return partition_reads.read_log(log, epoch, offset, max_bytes, log.log_end_offset, *more)

    def upper(log: UnifiedLog, _isolation: int) -> int:
        return log.log_end_offset

    with (
        patch.object(Partition, "_advance_high_watermark", behind),
        patch.object(partitions, "read_log", read),
        patch.object(list_offsets, "upper_offset", upper),
    ):
        yield


@contextmanager
def fetches_are_not_woken() -> Iterator[None]:
    """Whoever waits for data, without a session, waits to the end of its time."""

    def partition_changed(self: ReplicaManager, partition: Partition) -> None:
        for listener in list(partition.listeners):
            listener.partition_changed(partition)
        self.produce_purgatory.check(partition)

    with patch.object(ReplicaManager, "partition_changed", partition_changed):
        yield


@contextmanager
def sessions_are_not_woken() -> Iterator[None]:
    """A fetch session does not hear of what changes."""
    with patch.object(FetchSession, "partition_changed", lambda self, partition: None):
        yield


@contextmanager
def recovery_cuts_a_good_batch() -> Iterator[None]:
    """After an unclean stop the last batch of a segment is taken for a torn one."""

    def valid_batches(file: Any, position: int) -> Iterator[Any]:
        found = list(batch_scan.valid_batches(file, position))
        yield from found[:-1]

    with patch.object(log_segment, "valid_batches", valid_batches):
        yield


@contextmanager
def old_logs_are_taken_for_new() -> Iterator[None]:
    """A topic made anew under an old name finds the deleted one's log, which was left there."""

    def delete(self: LogManager, partition: tuple[str, int]) -> bool:
        return True

    def get_or_create(self: LogManager, partition: Any, *arguments: Any, **options: Any) -> Any:
        known = self.get(partition)
        return known if known is not None else real(self, partition, *arguments, **options)

    real = LogManager.get_or_create
    with (
        patch.object(LogManager, "delete", delete),
        patch.object(LogManager, "get_or_create", get_or_create),
    ):
        yield


@contextmanager
def metadata_answered_before_commit() -> Iterator[None]:
    """The controller's replies leave at once."""
    real = QuorumController._run

    def run(self: QuorumController, command: Any) -> None:
        real(self, command)
        while self._pending_replies:
            pending_reply = self._pending_replies.popleft()
            pending_reply.reply(pending_reply.value)

    with patch.object(QuorumController, "_run", run):
        yield


@contextmanager
def metadata_not_fsynced() -> Iterator[None]:
    """What the quorum flushes is in memory still."""

    def flush(self: RaftLog, done: Callable[[Exception | None], None]) -> None:
        self._environment.blocking.submit(lambda: None, lambda _, error: done(error))

    with patch.object(RaftLog, "flush", flush):
        yield


@contextmanager
def groups_not_loaded() -> Iterator[None]:
    """A coordinator begins empty: what is in its log is not replayed."""
    with patch.object(ShardContext, "_replay_record", lambda self, shard, record: None):
        yield


@contextmanager
def producer_ids_start_anew() -> Iterator[None]:
    """Each life of the broker gives the same ids again."""

    def next_id(self: ProducerIdManager, give: Any) -> None:
        self._used += 1
        give(self._used)

    with patch.object(ProducerIdManager, "next_id", next_id):
        yield


@contextmanager
def offsets_go_twice() -> Iterator[None]:
    """After a restart the log's end is one record too early."""
    real = UnifiedLog.__init__

    def init(self: UnifiedLog, *arguments: Any, **options: Any) -> None:
        real(self, *arguments, **options)
        if self.log_end_offset > 5 and not self.partition.topic.startswith("__"):
            self.log_end_offset -= 1

    with patch.object(UnifiedLog, "__init__", init):
        yield


ANY_SEEDS = (0, 1, 2, 5, 6, 7, 10, 11, 12, 15)
POWER_LOSS_SEEDS = (4, 9, 14, 19, 24, 29)

MUTANTS: dict[str, tuple[Mutant, tuple[str, ...], tuple[int, ...]]] = {
    "ack before write": (ack_before_write, ("I1", "I2", "I3", "I20"), ANY_SEEDS),
    "producer state not rebuilt at start": (
        producers_forgotten_at_start,
        ("I3", "I4"),
        ANY_SEEDS,
    ),
    "no deduplication": (no_deduplication, ("I3", "I4"), ANY_SEEDS),
    "generation not checked on commit": (stale_generation_commits, ("I17",), ANY_SEEDS),
    "commit acknowledged before append": (
        commit_acknowledged_before_append,
        ("I17", "I16"),
        ANY_SEEDS,
    ),
    "log start not persisted": (log_start_not_kept, ("I5",), ANY_SEEDS),
    "reads above the high watermark": (reads_above_the_high_watermark, ("I6", "I1"), ANY_SEEDS),
    "fetches not woken": (fetches_are_not_woken, ("I20",), ANY_SEEDS),
    "fetch sessions not woken": (sessions_are_not_woken, ("I20",), ANY_SEEDS),
    "recovery cuts a good batch": (
        recovery_cuts_a_good_batch,
        ("I1", "I2", "I3", "I13", "I15", "I17", "crash", "assertion"),
        ANY_SEEDS,
    ),
    "deleted topic's log used again": (
        old_logs_are_taken_for_new,
        ("I1", "I2", "I4", "I5", "I20"),
        ANY_SEEDS,
    ),
    "metadata answered before its commit": (
        metadata_answered_before_commit,
        ("I13", "I20"),
        ANY_SEEDS,
    ),
    # "crash": the node itself refuses to start with a hole in its metadata log.
    "metadata not fsynced": (
        metadata_not_fsynced,
        ("I13", "I15", "I5", "crash"),
        POWER_LOSS_SEEDS,
    ),
    "groups not loaded at start": (groups_not_loaded, ("I17", "I16"), ANY_SEEDS),
    "producer ids given twice": (producer_ids_start_anew, ("I15",), ANY_SEEDS),
    "log end too early after a restart": (
        offsets_go_twice,
        ("I1", "I2", "I3", "I4", "I5", "assertion"),
        ANY_SEEDS,
    ),
}
"""Mutant → how to make it, the invariants that catch it, and the seeds to try."""


def first_failure(name: str) -> Failure | None:
    """The first of a mutant's seeds that fails; None where nobody notices."""
    make, _, seeds = MUTANTS[name]
    for seed in seeds:
        try:
            with make():
                Simulation(seed).run()
        except Failure as failure:
            return failure
    return None


def table() -> list[str]:
    """A line of Markdown for each mutant: what caught it, in which seed, after how many events."""
    return table_of(MUTANTS, first_failure)


def table_of(names: Iterable[str], failure_of: Callable[[str], Failure | None]) -> list[str]:
    """The same for any mutants."""
    lines = ["| mutant | invariant | seed | events |", "| --- | --- | --- | --- |"]
    for name in names:
        failure = failure_of(name)
        caught = ("nobody noticed", "", "")
        if failure is not None:
            caught = (failure.invariant, str(failure.seed), str(failure.events))
        lines.append(f"| {name} | {' | '.join(caught)} |")
    return lines
