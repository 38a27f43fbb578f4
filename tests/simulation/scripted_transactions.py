"""A transactional client that does what a test tells, and what a test asks of logs.

A `Transactor` is one life of a client: `init`, then transactions, each step until it is answered.
What it sends by `produce` and `ending` is under way, and may be held back by a cut link.
"""

from __future__ import annotations

import random
from typing import Any

from protocol.errors import ErrorCode
from protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from simulation.machines.sim_broker import SimBroker
from simulation.machines.simulated_nodes import TRANSACTIONS_TOPIC
from simulation.network.sim_network import Exchange
from simulation.sim_client import Waits
from storage.log.unified_log import UnifiedLog
from tests.simulation.cast import ACCOUNTS, COPIERS, SOURCE
from tests.simulation.producers import Batch, Sending
from tests.simulation.scenario import Scenario, ScriptedClient
from tests.simulation.transaction_manager import (
    TransactionManager,
    end_request,
    produce_request,
)
from tests.simulation.transactions import Ending, Moving, Txn

KEY = (SOURCE, 0)
PLACES = [(ACCOUNTS, 0), (ACCOUNTS, 1), (SOURCE, 0)]


class Stubborn(random.Random):
    """A client that never gives up: what it does rarely, it does not do."""

    def random(self) -> float:
        return 0.99

    def getrandbits(self, k: int) -> int:
        """What it chooses from is chosen as ever."""
        return super().getrandbits(k)


class Transactor:
    """See the module. `protocol` is 1 or 2."""

    def __init__(
        self,
        story: Scenario,
        name: str,
        *,
        protocol: int,
        transactional_id: str = "bank",
        timeout_ms: int = 10_000,
    ) -> None:
        self.story = story
        self.client = story.add(ScriptedClient, name)
        self.client.chance = Stubborn(name)
        self.protocol = protocol
        self.manager = TransactionManager(self.client, transactional_id, protocol, timeout_ms)
        self._sent = 0

    # --- until it is done -----------------------------------------------------------------------

    def init(self) -> None:
        """InitProducerId."""
        self.story.do(self.client.learn_all([ACCOUNTS, SOURCE]))
        self.story.do(self._find_group())
        self.story.do(self.manager.init())

    def _find_group(self) -> Waits:
        """Have the topic of committed offsets made."""
        response = None
        while response is None or response.error_code:
            yield self.client.pause_ms()
            response = yield from self.client.call(FindCoordinatorRequest(COPIERS), 3)

    def begin(self) -> Txn:
        return self.manager.begin()

    def write(self, txn: Txn, *places: tuple[str, int]) -> bool:
        """A value for each of some partitions; whether all are acknowledged."""
        result: bool = self.story.do(self._write(txn, list(places)))
        return result

    def _write(self, txn: Txn, places: list[tuple[str, int]]) -> Waits:
        if not (yield from self.manager.add(txn, places)):
            return False
        batches = [self.batch(txn, place) for place in places]
        return (yield from self.manager.produce(batches, [ACCOUNTS, SOURCE]))

    def move(self, txn: Txn, offset: int) -> ErrorCode:
        """AddOffsetsToTxn where it needs that, and TxnOffsetCommit for `KEY`, outside any group."""
        if not self.story.do(self.manager.add_offsets(txn, COPIERS)):
            return ErrorCode.PRODUCER_FENCED
        return self.commit_offset(txn, offset)

    def commit_offset(self, txn: Txn, offset: int) -> ErrorCode:
        """TxnOffsetCommit alone, once."""
        story = self.story
        txn.offsets[(COPIERS, KEY)] = offset
        part = TxnOffsetCommitRequestPartition(KEY[1], offset, -1, "")
        request = TxnOffsetCommitRequest(
            txn.transactional_id, COPIERS, txn.producer_id, txn.producer_epoch,
            topics=[TxnOffsetCommitRequestTopic(KEY[0], partitions=[part])],
        )  # fmt: skip
        version = 5 if self.protocol == 2 else 3
        about = Moving(txn, COPIERS, -1)
        exchange = self._send(request, version, story.coordinator(), about)
        story.run_until(lambda: exchange.outcome is not None, 10_000)
        return ErrorCode(exchange.response.topics[0].partitions[0].error_code)

    def end(self, txn: Txn, *, commit: bool = True) -> bool:
        """EndTxn, as often as it takes; whether it succeeded."""
        result: bool = self.story.do(self.manager.end(txn, commit))
        return result

    # --- once, and under way ----------------------------------------------------------------------

    def batch(self, txn: Txn, place: tuple[str, int]) -> Batch:
        self._sent += 1
        (topic,) = self.story.do(self.client.know(place[0]))
        value = f"{self.client.name}/{self._sent}".encode()
        return self.manager.batch(txn, topic, place[1], [value])

    def produce(self, batch: Batch) -> Exchange:
        """A Produce to the partition's leader."""
        leader = self.story.leader(batch.topic, batch.partition)
        about = Sending(batch, -1, idempotent=True)
        request = produce_request(batch, self.story.world.wall_ms())
        return self._send(request, self.manager.produce_version, leader, about)

    def ending(self, txn: Txn, *, commit: bool = True, to: SimBroker | None = None) -> Exchange:
        """An EndTxn to the coordinator."""
        node = to or self.story.transaction_coordinator()
        version = 5 if self.protocol == 2 else 3
        return self._send(end_request(txn, commit), version, node, Ending(txn, commit))

    def adding(self, txn: Txn, place: tuple[str, int]) -> Exchange:
        """An AddPartitionsToTxn to the coordinator."""
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=txn.transactional_id,
            v3_and_below_producer_id=txn.producer_id,
            v3_and_below_producer_epoch=txn.producer_epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(place[0], [place[1]])],
        )
        return self._send(request, 3, self.story.transaction_coordinator(), None)

    def _send(self, request: Any, version: int, to: SimBroker, about: Any) -> Exchange:
        connection = self.client.connection(to.address)
        assert connection is not None
        exchange: Exchange = connection.send(request, version, 8_000.0, about=about)
        return exchange


def error_of(story: Scenario, exchange: Exchange) -> ErrorCode | None:
    """What a Produce, an EndTxn or an AddPartitionsToTxn was told; None without an answer."""
    story.run_until(lambda: exchange.outcome is not None, 12_000)
    response = exchange.response
    if response is None:
        return None
    if hasattr(response, "responses"):
        return ErrorCode(response.responses[0].partition_responses[0].error_code)
    if hasattr(response, "results_by_topic_v3_and_below"):
        told = response.results_by_topic_v3_and_below[0].results_by_partition[0]
        return ErrorCode(told.partition_error_code)
    return ErrorCode(response.error_code)


def log_of(story: Scenario, node: SimBroker, topic: str, index: int) -> UnifiedLog:
    return story.replica(node, topic, index).log


def transaction_log(story: Scenario) -> UnifiedLog:
    """The coordinator's, where it leads."""
    return log_of(story, story.transaction_coordinator(), TRANSACTIONS_TOPIC, 0)


def leaders_log(story: Scenario, place: tuple[str, int]) -> UnifiedLog:
    return log_of(story, story.leader(*place), *place)


def is_stable(story: Scenario, *places: tuple[str, int]) -> bool:
    """Whether nothing is open there, and all is committed."""
    logs = [leaders_log(story, place) for place in places]
    return all(one.last_stable_offset == one.log_end_offset for one in logs)
