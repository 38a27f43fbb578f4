"""Verification of partitions with coordinators that a test plays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from broker.config.parse import single_node_config
from broker.verification.add_partitions_to_txn_manager import AddPartitionsToTxnManager
from broker.verification.transaction_verification import TransactionSupportedOperation
from ground.ports import Answered, ChannelFailure
from ground.topic_partition import TopicPartition
from protocol.errors import ErrorCode
from protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)

Answer = Callable[[Mapping[TopicPartition, ErrorCode]], None]
OLD = TransactionSupportedOperation.DEFAULT_ERROR
GENERIC = TransactionSupportedOperation.GENERIC_ERROR_SUPPORTED
ADD = TransactionSupportedOperation.ADD_PARTITION
HERE, THERE = 1, 2
A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)


class Channel:
    def __init__(self, address: tuple[str, int], sent: list[Any]) -> None:
        self.address = address
        self.sent = sent
        self.closed = False
        self.waiting: list[Answered] = []

    def send(
        self, request: Any, done: Answered, timeout_ms: float, version: int | None = None
    ) -> None:
        assert not self.closed
        self.sent.append((self.address[0], request))
        self.waiting.append(done)

    def answer(self, response: Any, failure: ChannelFailure | None = None) -> None:
        self.waiting.pop(0)(response, failure)

    def close(self) -> None:
        self.closed = True
        while self.waiting:
            self.answer(None, ChannelFailure.LOST)


class World:
    """Transactional ids are coordinated at THERE; one that opens with "local" here."""

    def __init__(self, *, with_network: bool = True) -> None:
        self.config = single_node_config({"node.id": str(HERE)})
        self.sent: list[tuple[str, AddPartitionsToTxnRequest]] = []
        self.channels: list[Channel] = []
        self.asked_here: list[tuple[str, bool]] = []
        self.waiting_here: list[Answer] = []
        self.there: tuple[int, str, int] | None = (THERE, "there", 9092)
        self.successors: set[str] = set()
        """Transactional ids that have another coordinator now."""
        self.told: list[tuple[str, dict[TopicPartition, ErrorCode]]] = []
        self.manager = AddPartitionsToTxnManager(
            self.config, self if with_network else None, self.where, self.local
        )

    def channel(self, host: str, port: int, client_id: str) -> Channel:
        assert client_id == "AddPartitionsToTxnSenderThread-1"
        self.channels.append(Channel((host, port), self.sent))
        return self.channels[-1]

    def where(self, transactional_id: str) -> tuple[int, str, int] | None:
        if transactional_id in self.successors:
            return (THERE + 1, "successor", 9092)
        return (HERE, "here", 9092) if transactional_id.startswith("local") else self.there

    def local(
        self,
        name: str,
        identity: tuple[int, int],
        partitions: Sequence[TopicPartition],
        verify_only: bool,
        done: Answer,
    ) -> None:
        assert (identity, list(partitions)) == ((7, 0), [A0])
        self.asked_here.append((name, verify_only))
        self.waiting_here.append(done)

    def ask(
        self,
        name: str,
        epoch: int = 0,
        operation: TransactionSupportedOperation = GENERIC,
        partitions: tuple[TopicPartition, ...] = (A0,),
        label: str = "",
    ) -> None:
        def done(refused: Mapping[TopicPartition, ErrorCode]) -> None:
            self.told.append((label or name, dict(refused)))

        self.manager.add_or_verify(name, 7, epoch, partitions, operation, done)

    def names(self, index: int = -1) -> list[str]:
        return [one.transactional_id for one in self.sent[index][1].transactions]

    def taken(self) -> list[tuple[str, dict[TopicPartition, ErrorCode]]]:
        told, self.told = self.told, []
        return told


def answering(
    *results: tuple[str, Mapping[TopicPartition, ErrorCode]], error: ErrorCode = ErrorCode.NONE
) -> AddPartitionsToTxnResponse:
    return AddPartitionsToTxnResponse(
        error_code=int(error),
        results_by_transaction=[
            AddPartitionsToTxnResult(
                name,
                [
                    AddPartitionsToTxnTopicResult(
                        topic, [AddPartitionsToTxnPartitionResult(partition, int(code))]
                    )
                    for (topic, partition), code in codes.items()
                ],
            )
            for name, codes in results
        ],
    )


@pytest.fixture
def world() -> World:
    return World()


def test_a_verified_partition_has_no_error(world: World) -> None:
    world.ask("x", epoch=3, partitions=(A0, B0, A1))
    ((where, request),) = world.sent
    (one,) = request.transactions
    assert where == "there"
    assert (one.transactional_id, one.producer_id, one.producer_epoch) == ("x", 7, 3)
    assert [(topic.name, topic.partitions) for topic in one.topics] == [("a", [0, 1]), ("b", [0])]
    assert one.verify_only
    ok = ErrorCode.NONE
    world.channels[0].answer(answering(("x", {A0: ok, B0: ErrorCode.INVALID_TXN_STATE, A1: ok})))
    assert world.taken() == [("x", {B0: ErrorCode.INVALID_TXN_STATE})]
    world.ask("x")
    world.channels[0].answer(answering(("x", {A0: ok})))
    assert world.taken() == [("x", {})]


@pytest.mark.parametrize(("operation", "verify_only"), [(OLD, True), (GENERIC, True), (ADD, False)])
def test_the_second_protocol_adds(
    world: World, operation: TransactionSupportedOperation, verify_only: bool
) -> None:
    world.ask("x", operation=operation)
    assert world.sent[0][1].transactions[0].verify_only is verify_only


def test_one_request_at_a_time_to_a_broker_carries_all_that_wait(world: World) -> None:
    world.ask("x")
    world.ask("y")
    world.ask("z", operation=ADD)
    world.ask("local")
    assert [where for where, _ in world.sent] == ["there"]
    assert world.asked_here == [("local", True)]
    world.channels[0].answer(answering(("x", {})))
    assert [where for where, _ in world.sent] == ["there", "there"]
    assert world.names() == ["y", "z"]
    assert [one.verify_only for one in world.sent[-1][1].transactions] == [True, False]
    world.channels[0].answer(answering(("z", {A0: ErrorCode.INVALID_TXN_STATE}), ("y", {})))
    assert world.taken() == [("x", {}), ("y", {}), ("z", {A0: ErrorCode.INVALID_TXN_STATE})]
    assert len(world.sent) == 2
    assert len(world.channels) == 1


def test_a_coordinator_of_this_broker_needs_no_network() -> None:
    world = World(with_network=False)
    world.ask("local")
    assert not world.told
    world.waiting_here.pop()({A0: ErrorCode.NONE})
    assert world.taken() == [("local", {})]
    world.ask("x")
    assert world.taken() == [("x", {A0: ErrorCode.NETWORK_EXCEPTION})]


def test_without_a_coordinator(world: World) -> None:
    world.there = None
    world.ask("x", partitions=(A0, B0))
    unavailable = ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert world.taken() == [("x", {A0: unavailable, B0: unavailable})]
    assert not world.sent


def test_of_two_epochs_the_older_is_fenced(world: World) -> None:
    world.ask("first")
    world.ask("x", epoch=5, label="five")
    world.ask("x", epoch=6, label="six")
    assert world.taken() == [("five", {A0: ErrorCode.INVALID_PRODUCER_EPOCH})]
    world.ask("x", epoch=5, label="late")
    assert world.taken() == [("late", {A0: ErrorCode.INVALID_PRODUCER_EPOCH})]
    world.ask("x", epoch=6, partitions=(B0,), label="six again")
    assert world.taken() == [("six", {A0: ErrorCode.NETWORK_EXCEPTION})]
    world.channels[0].answer(answering(("first", {})))
    (one,) = world.sent[-1][1].transactions
    assert (one.producer_epoch, one.topics[0].name) == (6, "b")


@pytest.mark.parametrize(
    ("error", "old", "new"),
    [
        ("PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH", "INVALID_PRODUCER_EPOCH"),
        ("TRANSACTION_ABORTABLE", "INVALID_TXN_STATE", "TRANSACTION_ABORTABLE"),
        ("INVALID_PRODUCER_EPOCH", "INVALID_PRODUCER_EPOCH", "INVALID_PRODUCER_EPOCH"),
        ("INVALID_PRODUCER_ID_MAPPING",) * 3,
        ("CONCURRENT_TRANSACTIONS",) * 3,
        ("COORDINATOR_LOAD_IN_PROGRESS",) * 3,
    ],
)
def test_errors_become_what_the_client_understands(
    world: World, error: str, old: str, new: str
) -> None:
    for operation, expected in ((OLD, old), (GENERIC, new), (ADD, new)):
        world.ask("x", operation=operation)
        world.channels[0].answer(answering(("x", {A0: ErrorCode[error]})))
        assert world.taken() == [("x", {A0: ErrorCode[expected]})]


@pytest.mark.parametrize("failure", list(ChannelFailure))
def test_no_answer(world: World, failure: ChannelFailure) -> None:
    world.ask("x")
    world.ask("y")
    world.ask("x", label="x again")
    world.channels[0].answer(None, failure)
    refused = {A0: ErrorCode.NETWORK_EXCEPTION}
    assert world.taken() == [("x", refused), ("y", refused), ("x again", refused)]
    world.ask("z")
    assert world.names() == ["z"], "the next one is sent"


def test_what_waits_for_a_coordinator_that_moved_is_refused(world: World) -> None:
    world.ask("x")
    world.ask("y")
    world.manager.metadata_changed()
    assert world.taken() == [], "nothing has moved"
    world.there = (THERE + 1, "successor", 9092)
    world.manager.metadata_changed()
    refused = {A0: ErrorCode.NOT_COORDINATOR}
    assert world.taken() == [("x", refused), ("y", refused)]
    world.ask("x", label="x again")
    assert world.names() == ["x"] and world.sent[-1][0] == "successor"
    world.channels[-1].answer(answering(("x", {A0: ErrorCode.NONE})))
    assert world.taken() == [("x again", {})]


def test_what_has_not_moved_is_sent_at_once_when_what_was_under_way_has(world: World) -> None:
    world.ask("x")
    world.ask("y")
    world.successors = {"x"}
    world.manager.metadata_changed()
    assert world.channels[0].closed
    assert world.taken() == [("x", {A0: ErrorCode.NOT_COORDINATOR})]
    assert world.names() == ["y"]
    world.channels[-1].answer(answering(("y", {A0: ErrorCode.NONE})))
    assert world.taken() == [("y", {})]


def test_an_answer_that_comes_after_the_move_tells_nobody_twice(world: World) -> None:
    world.ask("x")
    world.ask("w")
    world.channels[0].answer(answering(("x", {A0: ErrorCode.NONE})))
    world.taken()
    world.ask("y")
    world.successors = {"y"}
    world.manager.metadata_changed()
    world.channels[0].answer(answering(("w", {A0: ErrorCode.NONE}), ("y", {A0: ErrorCode.NONE})))
    assert world.taken() == [("y", {A0: ErrorCode.NOT_COORDINATOR}), ("w", {})]


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, ErrorCode.INVALID_TXN_STATE),
        (ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_an_error_for_the_whole_request(world: World, error: ErrorCode, told: ErrorCode) -> None:
    world.ask("x")
    world.channels[0].answer(answering(error=error))
    assert world.taken() == [("x", {A0: told})]


def test_an_answer_that_leaves_one_out(world: World) -> None:
    world.ask("x")
    world.channels[0].answer(answering())
    assert world.taken() == [("x", {A0: ErrorCode.NETWORK_EXCEPTION})]


def test_a_coordinator_that_moved_is_asked_at_its_new_place(world: World) -> None:
    world.ask("x")
    world.there = (THERE, "elsewhere", 9092)
    world.ask("y")
    assert world.channels[0].closed
    assert world.taken() == [("x", {A0: ErrorCode.NETWORK_EXCEPTION})]
    assert [where for where, _ in world.sent] == ["there", "elsewhere"]
    assert world.names() == ["y"]


def test_a_coordinator_of_this_broker_may_take_its_time_over_one(world: World) -> None:
    for name in ("local-1", "local-2", "local-2"):
        world.ask(name)
    assert [name for name, _ in world.asked_here] == ["local-1", "local-2", "local-2"]
    while world.waiting_here:
        world.waiting_here.pop()({A0: ErrorCode.NONE})
    assert world.taken() == [("local-2", {}), ("local-2", {}), ("local-1", {})]


def test_a_coordinator_that_answers_at_once(world: World) -> None:
    def at_once(name: str, _i: object, _p: object, verify_only: bool, done: Answer) -> None:
        done({A0: ErrorCode.PRODUCER_FENCED if verify_only else ErrorCode.NONE})

    world.manager = AddPartitionsToTxnManager(world.config, world, world.where, at_once)
    world.ask("local-1", operation=ADD)
    world.ask("local-2")
    fenced = ErrorCode.INVALID_PRODUCER_EPOCH  # as a producer knows it
    assert world.taken() == [("local-1", {}), ("local-2", {A0: fenced})]


def test_a_coordinator_that_fails_is_asked_again_by_the_next(world: World) -> None:
    def fail(name: str, _i: object, _p: object, verify_only: bool, done: Answer) -> None:
        raise AssertionError("a bug")

    world.manager = AddPartitionsToTxnManager(world.config, world, world.where, fail)
    for _ in range(2):
        with pytest.raises(AssertionError, match="a bug"):
            world.ask("local")


def test_a_stop_answers_all(world: World) -> None:
    world.ask("x")
    world.ask("y")
    world.manager.shutdown()
    world.ask("z")
    assert world.taken() == [
        ("y", {A0: ErrorCode.COORDINATOR_NOT_AVAILABLE}),
        ("x", {A0: ErrorCode.NETWORK_EXCEPTION}),
        ("z", {A0: ErrorCode.COORDINATOR_NOT_AVAILABLE}),
    ]
    assert len(world.sent) == 1
