"""Ids are given once, requests end in their time, nothing makes the broker fail."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ground.sim_scheduler import SimScheduler
from protocol.messages.fetch import FetchRequest
from protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from protocol.messages.join_group import JoinGroupRequest
from protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from protocol.messages.sync_group import SyncGroupRequest
from simulation.invariants.control_invariants import (
    EachRequestEnds,
    IdsAreUnique,
    NoServerError,
    NothingIsLeft,
)
from simulation.invariants.invariant import Promises
from simulation.sim_trace import Violation
from tests.unit.simulation.exchanges import answered_exchange


def test_a_producer_id_and_a_broker_epoch_are_given_once() -> None:
    one = IdsAreUnique(SimScheduler(), Promises())
    one.received(
        answered_exchange(InitProducerIdRequest(None), InitProducerIdResponse(producer_id=5))
    )
    with pytest.raises(Violation, match="I15: producer id 5 is client's"):
        one.received(
            answered_exchange(InitProducerIdRequest(None), InitProducerIdResponse(producer_id=5))
        )
    one.received(answered_exchange(InitProducerIdRequest("a"), InitProducerIdResponse(0, 0, 6, 1)))
    with pytest.raises(Violation, match="is given epoch 1 of producer id 6"):
        one.received(
            answered_exchange(InitProducerIdRequest("a"), InitProducerIdResponse(0, 0, 6, 1))
        )
    served: Any = SimpleNamespace(epochs=[3, 3])
    with pytest.raises(Violation, match="broker epochs"):
        one.node_served(served)


@pytest.mark.parametrize(
    ("request_", "limit_ms"),
    [
        (FetchRequest(max_wait_ms=100), 800.0),
        (ListGroupsRequest(), 5_000.0),
        (JoinGroupRequest("g", 6_000, 9_000), 14_000.0),
        (SyncGroupRequest("g"), 13_000.0),
    ],
)
def test_a_request_ends_in_its_time(request_: Any, limit_ms: float) -> None:
    world = SimScheduler()
    one = EachRequestEnds(world, Promises())
    exchange = answered_exchange(request_)
    one.handled(exchange)
    world.run_for(limit_ms - 1)
    with pytest.raises(Violation, match="I20: #1 .* of client has no answer"):
        world.run_for(2.0)


def test_an_answer_a_death_and_a_fault_on_purpose_end_the_wait() -> None:
    dead: Any = SimpleNamespace(address="broker-1")
    for end in (
        lambda one, exchange: one.answered(exchange),
        lambda one, exchange: one.node_ended(dead, "killed"),
        lambda one, exchange: one.promises.interfere(),
    ):
        world = SimScheduler()
        one = EachRequestEnds(world, Promises())
        exchange = answered_exchange(ListGroupsRequest())
        one.handled(exchange)
        end(one, exchange)
        world.run_for(60_000.0)


def test_a_server_error_and_a_closed_connection_are_failures_unless_on_purpose() -> None:
    one = NoServerError(SimScheduler(), Promises())
    wrong = answered_exchange(ListGroupsRequest(), ListGroupsResponse(error_code=-1))
    with pytest.raises(Violation, match="I19: UNKNOWN_SERVER_ERROR for LIST_GROUPS"):
        one.received(wrong)
    wrong.refused = "no frame"
    with pytest.raises(Violation, match="I19: LIST_GROUPS of client: no frame"):
        one.answered(wrong)
    one.promises.interfere()
    one.received(wrong)
    one.answered(wrong)


def test_nothing_waits_for_nobody() -> None:
    one = NothingIsLeft(SimScheduler(), Promises())
    replicas = SimpleNamespace(
        produce_purgatory=[], fetch_purgatory=[], sessions=[], partitions=lambda: []
    )
    broker: Any = SimpleNamespace(is_broker=True, address="broker-1", replicas=replicas)
    one.node_served(broker)
    one.at_end(None)
    replicas.fetch_purgatory.append(object())
    with pytest.raises(Violation, match="I19: 1 operations wait in broker-1 for nobody"):
        one.at_end(None)
