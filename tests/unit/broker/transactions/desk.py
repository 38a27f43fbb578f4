"""A transaction coordinator on a log in memory, with markers that a test answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from broker.config.parse import single_node_config
from broker.coordinator.coordinator_partitions import partition_for
from broker.transactions.marker_sender import Leader, MarkerSender, NoLeaderReason
from broker.transactions.transaction_coordinator import TransactionCoordinator
from broker.transactions.transaction_metadata import TransactionMetadata
from ground.sim_scheduler import SimScheduler
from ground.topic_partition import TopicPartition
from protocol.errors import ErrorCode
from protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from tests.unit.broker.coordinator.in_memory_coordinator_log import InMemoryCoordinatorLog

PARTITIONS = 4
A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
TIMEOUT_MS = 60_000
HOLD_MS = 50

T = TypeVar("T")
Respond = Callable[[WriteTxnMarkersResponse], None]
Answer = tuple[ErrorCode, tuple[int, int]]


class Desk:
    """What a broker gives its coordinator; `auto` writes markers by itself."""

    def __init__(self, *, version: int = 2, auto: bool = True) -> None:
        self.scheduler = SimScheduler()
        self.log = InMemoryCoordinatorLog()
        self.version = version
        self.auto = auto
        self.producer_ids = iter(range(1_000, 2_000))
        self.give_ids = True
        self.marker_error = ErrorCode.NONE
        self.asked: list[tuple[WriteTxnMarkersRequest, Respond]] = []
        self.epoch = 0
        self.start()

    def start(self) -> None:
        """A new process, or the next leader, with the log that there is."""
        self.markers = MarkerSender(
            self.scheduler,
            None,
            1,
            self._leader_of,
            self._write_markers,
            30_000,
            lambda node_id, request: None,
        )
        self.coordinator = TransactionCoordinator(
            single_node_config(),
            self.scheduler,
            self.log,
            self.markers,
            self._next_id,
            lambda: PARTITIONS,
            lambda: self.version,
        )
        self.epoch += 1
        for partition in range(PARTITIONS):
            self.coordinator.on_elected(partition, self.epoch)

    def _next_id(self, give: Callable[[int | None], None]) -> None:
        give(next(self.producer_ids) if self.give_ids else None)

    def _leader_of(self, partition: TopicPartition) -> Leader | NoLeaderReason:
        return NoLeaderReason.FOR_GOOD if partition.topic == "deleted" else (1, "", 0)

    def _write_markers(self, request: WriteTxnMarkersRequest, respond: Respond) -> None:
        self.asked.append((request, respond))
        if self.auto:
            self.answer_markers()

    def answer_markers(self) -> list[WritableTxnMarker]:
        """Answer what was asked, all with `marker_error`; the markers."""
        asked, self.asked = self.asked, []
        for request, respond in asked:
            respond(answered(request, self.marker_error))
        return [marker for request, _ in asked for marker in request.markers]

    # -- requests ------------------------------------------------------------------------------

    def init(
        self, name: str = "t", expected: tuple[int, int] | None = None, timeout: int = TIMEOUT_MS
    ) -> Answer | None:
        answers: list[Answer] = []
        self.coordinator.init_producer_id(
            name, timeout, expected, lambda error, identity: answers.append((error, identity))
        )
        return self._first(answers)

    def add(
        self,
        identity: tuple[int, int],
        *partitions: TopicPartition,
        name: str = "t",
        version: int = 2,
        answers: list[ErrorCode] | None = None,
    ) -> ErrorCode | None:
        """With `answers`, the request may be held, and its answer comes there."""
        hold_ms = 0 if answers is None else HOLD_MS
        answers = [] if answers is None else answers
        added = list(partitions or (A0,))
        self.coordinator.add_partitions(name, identity, added, version, answers.append, hold_ms)
        return self._first(answers)

    def end(
        self, identity: tuple[int, int], committed: bool, version: int = 2, name: str = "t"
    ) -> Answer | None:
        answers: list[Answer] = []
        self.coordinator.end(
            name,
            identity,
            committed,
            version,
            lambda error, after: answers.append((error, after)),
        )
        return self._first(answers)

    @staticmethod
    def _first(answers: list[T]) -> T | None:
        assert len(answers) < 2
        return answers[0] if answers else None

    def settle(self) -> None:
        """Let what is scheduled for now, and shortly, happen."""
        self.scheduler.run_for(1_000)

    def metadata(self, name: str = "t") -> TransactionMetadata:
        """The newest version of an id, committed or not."""
        shard = self.coordinator._shard_for(name)
        assert not isinstance(shard, ErrorCode)
        return shard.transactions[name].current

    @property
    def partition(self) -> int:
        """Of the id `t`."""
        return partition_for("t", PARTITIONS)


def answered(request: WriteTxnMarkersRequest, error: ErrorCode) -> WriteTxnMarkersResponse:
    """`error` for every partition of `request`."""
    return WriteTxnMarkersResponse(
        [
            WritableTxnMarkerResult(
                marker.producer_id,
                [
                    WritableTxnMarkerTopicResult(
                        topic.name,
                        [
                            WritableTxnMarkerPartitionResult(index, int(error))
                            for index in topic.partition_indexes
                        ],
                    )
                    for topic in marker.topics
                ],
            )
            for marker in request.markers
        ]
    )
