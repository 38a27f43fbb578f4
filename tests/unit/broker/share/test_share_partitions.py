from __future__ import annotations

from collections.abc import Callable

import pytest

from broker.share.delivery.acquisition import AcquireRequest, StoredBatch
from broker.share.delivery.settings import DeliverySettings
from broker.share.delivery.share_partition import AcknowledgedBatch, DeadLetter
from broker.share.record_state import AcknowledgeType, RecordState
from broker.share.share_partitions import SharePartitions
from broker.share.state.share_coordinator import (
    ShareCoordinator,
    ShareCoordinatorSettings,
    ShareTopic,
)
from broker.share.state.share_log import SharePartitionKey
from broker.share.state.share_state_shard import StateAnswer, WriteRequest
from broker.share.state_batches import StateBatch
from ground.sim_scheduler import SimScheduler
from protocol.errors import ErrorCode
from tests.unit.broker.coordinator.in_memory_coordinator_log import InMemoryCoordinatorLog

KEY = SharePartitionKey("g", b"t" * 16, 0)
STORED = [StoredBatch(first, first + 4) for first in range(0, 50, 5)]
ACCEPT, RELEASE, REJECT = (
    AcknowledgeType.ACCEPT,
    AcknowledgeType.RELEASE,
    AcknowledgeType.REJECT,
)
Done = Callable[[ErrorCode, StateAnswer], None]


class Broker:
    """The share-partitions of a broker before a share coordinator; `epoch` is the leader's."""

    def __init__(self, coordinator: ShareCoordinator, scheduler: SimScheduler, epoch: int) -> None:
        self.coordinator = coordinator
        self.scheduler = scheduler
        self.epoch: int | ErrorCode = epoch
        self.start: int | ErrorCode = 0
        self.settings = DeliverySettings()
        self.woken: list[SharePartitionKey] = []
        self.letters: list[tuple[DeadLetter, Callable[[], None]]] = []
        self.answers: list[ErrorCode] = []
        self.held: list[Callable[[], None]] | None = None
        self.partitions = SharePartitions(
            scheduler,
            self,
            self,
            lambda _: self.settings,
            self.woken.append,
            lambda _, letter, done: self.letters.append((letter, done)),
        )

    def read(self, key: SharePartitionKey, leader_epoch: int, done: Done) -> None:
        """`StateStore`: read, or hold the call."""
        self._call(lambda: self.coordinator.read(key, leader_epoch, done))

    def write(self, key: SharePartitionKey, request: WriteRequest, done: Done) -> None:
        """`StateStore`: write, or hold the call."""
        self._call(lambda: self.coordinator.write(key, request, done))

    def _call(self, call: Callable[[], None]) -> None:
        if self.held is None:
            call()
        else:
            self.held.append(call)

    def go_on(self) -> None:
        """Make the calls that were held."""
        held, self.held = self.held or [], None
        for call in held:
            call()

    def leader_epoch(self, key: SharePartitionKey) -> int | ErrorCode:
        """Return the epoch of the test, as `LedLog` does."""
        return self.epoch

    def initial_offset(
        self, key: SharePartitionKey, done: Callable[[int | ErrorCode], None]
    ) -> None:
        """`LedLog`: the earliest, or what the test says."""
        done(self.start)

    def answer(self, error: ErrorCode, message: str | None) -> None:
        self.answers.append(error)

    def load(self) -> None:
        self.partitions.load(KEY, self.answer)

    def fetch(self, member: str = "m", records: int = 5) -> list[tuple[int, int, int]]:
        """Acquire records; nothing if the share-partition is not ready."""
        ready = self.partitions.ready(KEY)
        if ready is None:
            return []
        offset = ready.partition.next_fetch_offset()
        request = AcquireRequest(member, records, 500, offset)
        read = [batch for batch in STORED if batch.last >= offset]
        ranges = ready.partition.acquire(request, read, self.scheduler.monotonic_ms())
        self.partitions.acquired(KEY)
        return list[tuple[int, int, int]](ranges)

    def acknowledge(
        self, first: int, last: int, kind: AcknowledgeType = ACCEPT, member: str = "m"
    ) -> None:
        batch = AcknowledgedBatch(first, last, (kind,))
        self.partitions.acknowledge(KEY, member, [batch], self.answer)

    def persisted(self) -> list[StateBatch]:
        """Return the batches that the share coordinator has."""
        answers: list[StateAnswer] = []
        assert isinstance(self.epoch, int)
        self.coordinator.read(KEY, self.epoch, lambda _, answer: answers.append(answer))
        return list(answers[0].batches)


@pytest.fixture
def broker() -> Broker:
    scheduler = SimScheduler()
    topic = ShareTopic(lambda: 1, lambda *_: True, lambda *_: None)
    coordinator = ShareCoordinator(
        ShareCoordinatorSettings(), scheduler, InMemoryCoordinatorLog(), topic
    )
    coordinator.on_elected(0, 1)
    coordinator.initialize(KEY, 1, -1, lambda *_: None)
    broker = Broker(coordinator, scheduler, epoch=3)
    broker.load()
    broker.woken.clear()
    return broker


def test_a_share_partition_is_ready_when_its_state_is_read(broker: Broker) -> None:
    broker.partitions.drop(KEY)
    broker.held, broker.woken = [], []
    broker.partitions = SharePartitions(
        broker.scheduler,
        broker,
        broker,
        lambda _: broker.settings,
        broker.woken.append,
        lambda *_: None,
    )
    broker.load()
    broker.load()
    assert broker.partitions.ready(KEY) is None and len(broker.held) == 1
    broker.go_on()
    assert broker.woken == [KEY]
    assert broker.fetch() == [(0, 4, 1)]


def test_an_acknowledgement_is_answered_when_it_is_written(broker: Broker) -> None:
    broker.fetch()
    broker.held = []
    broker.acknowledge(0, 4)
    assert broker.answers == []
    broker.go_on()
    assert broker.answers == [ErrorCode.NONE] and broker.woken == [KEY]
    assert broker.persisted() == [StateBatch(0, 4, RecordState.ACKNOWLEDGED, 1)]


def test_what_is_not_held_is_refused(broker: Broker) -> None:
    broker.fetch()
    broker.acknowledge(0, 4, member="other")
    broker.partitions.drop(KEY)
    broker.acknowledge(0, 4)
    assert broker.answers == [
        ErrorCode.INVALID_RECORD_STATE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]


def test_a_lock_expires_by_its_timer(broker: Broker) -> None:
    broker.fetch("a")
    broker.scheduler.run_for(29_900)
    broker.fetch("b")
    assert broker.woken == []
    broker.scheduler.run_for(200)
    assert broker.woken
    assert broker.fetch("c") == [(0, 4, 2)]
    assert broker.persisted() == [StateBatch(0, 4, RecordState.AVAILABLE, 1)]
    broker.scheduler.run_for(30_100)
    assert {run.state for run in broker.persisted()} == {RecordState.AVAILABLE}


def test_a_lock_expires_also_after_an_acknowledgement_that_failed(broker: Broker) -> None:
    """While a change is being written, no lock runs; the timer has ended when the write fails."""
    broker.fetch(records=5)
    broker.scheduler.run_for(29_000)
    broker.acknowledge(0, 4, RELEASE)
    broker.fetch("b", records=5)
    broker.held = []
    broker.acknowledge(0, 4, member="b")
    broker.scheduler.run_for(2_000)
    broker.coordinator.on_resigned(0)
    broker.go_on()
    assert broker.answers[-1] is not ErrorCode.NONE
    broker.coordinator.on_elected(0, 2)
    broker.scheduler.run_for(28_000)
    assert broker.fetch("c") == [(0, 4, 3)]


def test_a_session_that_ends_releases_its_records(broker: Broker) -> None:
    broker.fetch("a")
    broker.partitions.release(KEY, "a")
    assert broker.fetch("b") == [(0, 4, 2)]


def test_a_later_leader_fences_this_one(broker: Broker) -> None:
    broker.fetch()
    later = Broker(broker.coordinator, broker.scheduler, epoch=4)
    later.load()
    broker.acknowledge(0, 4)
    assert broker.answers == [ErrorCode.NOT_LEADER_OR_FOLLOWER]
    assert broker.partitions.ready(KEY) is None and broker.woken == [KEY]
    assert later.fetch() == [(0, 4, 1)]


def test_a_failover_goes_on_with_what_is_persisted(broker: Broker) -> None:
    broker.fetch(records=15)
    broker.acknowledge(5, 9)
    later = Broker(broker.coordinator, broker.scheduler, epoch=4)
    later.load()
    assert later.fetch() == [(0, 4, 1)]
    later.acknowledge(0, 4)
    assert later.fetch(records=50) == [(10, 49, 1)]


def test_a_load_that_fails_is_tried_again(broker: Broker) -> None:
    broker.partitions.drop(KEY)
    broker.coordinator.on_resigned(0)
    broker.load()
    assert broker.answers == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    broker.coordinator.on_elected(0, 2)
    broker.load()
    assert broker.fetch() == [(0, 4, 1)]


def test_a_partition_that_is_not_led_is_not_loaded(broker: Broker) -> None:
    broker.partitions.drop_partition(KEY.topic_id, 0)
    broker.epoch = ErrorCode.NOT_LEADER_OR_FOLLOWER
    broker.load()
    assert broker.answers == [ErrorCode.NOT_LEADER_OR_FOLLOWER]
    assert broker.partitions.keys() == []


def test_a_group_without_a_start_is_loaded_again(broker: Broker) -> None:
    broker.partitions.drop(KEY)
    broker.start = ErrorCode.OFFSET_NOT_AVAILABLE
    broker.load()
    assert broker.answers == [ErrorCode.OFFSET_NOT_AVAILABLE]
    assert broker.partitions.of_partition(KEY.topic_id, 0) == []
    broker.start = 7
    broker.load()
    assert broker.partitions.of_partition(KEY.topic_id, 0) == [KEY]
    assert broker.fetch(records=1) == [(7, 9, 1)]


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.FENCED_STATE_EPOCH, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.GROUP_ID_NOT_FOUND),
        (ErrorCode.INVALID_REQUEST, ErrorCode.UNKNOWN_SERVER_ERROR),
        (ErrorCode.SASL_AUTHENTICATION_FAILED, ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_clients_see_other_errors_than_the_coordinators(
    broker: Broker, error: ErrorCode, told: ErrorCode
) -> None:
    broker.partitions.drop(KEY)
    broker.held, requests = [], []
    broker.read = lambda *request: requests.append(request)  # type: ignore[method-assign]
    broker.load()
    requests[0][2](error, StateAnswer(message="why"))
    assert broker.answers == [told]


def test_an_empty_group_is_forgotten(broker: Broker) -> None:
    broker.fetch()
    broker.partitions.drop_group("g")
    assert broker.partitions.keys() == []
    broker.scheduler.run_for(60_000)


def test_a_group_that_comes_back_is_loaded_after_its_writes(broker: Broker) -> None:
    """No later leader epoch fences these writes: a state that is read before them lacks them."""
    broker.fetch(records=10)
    broker.held = []
    broker.acknowledge(0, 4)
    broker.acknowledge(5, 9)
    broker.partitions.drop_group("g")
    broker.load()
    assert len(broker.held) == 2, "two writes, and no read yet"
    broker.go_on()
    assert broker.fetch() == [(10, 14, 1)]


def test_a_group_that_comes_back_in_a_later_epoch_is_loaded_at_once(broker: Broker) -> None:
    broker.fetch()
    broker.held = []
    broker.acknowledge(0, 4)
    broker.partitions.drop_group("g")
    broker.epoch = 4
    broker.load()
    write, read = broker.held
    read()
    write()
    assert broker.answers == [ErrorCode.NOT_LEADER_OR_FOLLOWER]
    broker.held = None
    assert broker.fetch() == [(0, 4, 1)]


def test_a_rejected_record_is_archived_after_its_dead_letter(broker: Broker) -> None:
    broker.settings = DeliverySettings(has_dead_letters=True)
    broker.fetch()
    broker.acknowledge(0, 1, REJECT)
    ((letter, done),) = broker.letters
    assert (letter.first, letter.last, letter.is_rejected) == (0, 1, True)
    assert broker.persisted()[0].state is RecordState.ARCHIVING
    done()
    assert broker.persisted() == [StateBatch(0, 1, RecordState.ARCHIVED, 1)]


def test_dead_letters_are_written_again_after_a_failover(broker: Broker) -> None:
    broker.settings = DeliverySettings(has_dead_letters=True)
    broker.fetch()
    broker.acknowledge(0, 1, REJECT)
    later = Broker(broker.coordinator, broker.scheduler, epoch=4)
    later.settings = broker.settings
    later.load()
    assert [(letter.first, letter.last) for letter, _ in later.letters] == [(0, 1)]


def test_the_log_start_moves_all_groups_of_a_partition(broker: Broker) -> None:
    broker.partitions.log_start_moved(KEY.topic_id, 0, 25)
    assert broker.woken == [KEY]
    assert broker.fetch() == [(25, 29, 1)]
