from __future__ import annotations

from typing import Any

import pytest

from broker.apis.producer_id_manager import RETRY_BACKOFF_MS, ProducerIdManager
from broker.requests.context import Respond
from ground.sim_scheduler import SimScheduler
from protocol.errors import ErrorCode
from protocol.messages.allocate_producer_ids import AllocateProducerIdsResponse

WAITING_MAX = 3


class World:
    """A manager, and a controller that answers when a test says so."""

    def __init__(self) -> None:
        self.scheduler = SimScheduler()
        self.asked: list[tuple[Any, Respond]] = []
        self.given: list[int | None] = []
        self.manager = ProducerIdManager(self.scheduler, 1, lambda: 42, self._allocate, WAITING_MAX)

    def _allocate(self, request: Any, respond: Respond) -> None:
        self.asked.append((request, respond))

    def take(self, count: int = 1) -> None:
        for _ in range(count):
            self.manager.next_id(self.given.append)

    def answer(self, start: int, count: int) -> None:
        response = AllocateProducerIdsResponse(producer_id_start=start, producer_id_len=count)
        self.asked.pop(0)[1](response)

    def refuse(self, error: ErrorCode) -> None:
        self.asked.pop(0)[1](AllocateProducerIdsResponse(error_code=error))


@pytest.fixture
def world() -> World:
    return World()


def test_the_first_clients_wait_for_a_block(world: World) -> None:
    world.take(2)
    assert world.given == []
    (request, _) = world.asked[0]
    assert (request.broker_id, request.broker_epoch) == (1, 42)
    world.answer(1000, 10)
    assert world.given == [1000, 1001]
    assert world.asked == []


def test_the_next_block_is_asked_for_at_nine_tenths(world: World) -> None:
    world.take()
    world.answer(0, 10)
    world.take(7)
    assert world.asked == []
    world.take()
    assert len(world.asked) == 1
    world.take()
    world.answer(50, 10)
    world.take(2)
    assert world.given == [*range(10), 50, 51]


def test_a_client_beyond_the_block_waits_for_the_next(world: World) -> None:
    world.take(3)
    world.answer(0, 2)
    assert world.given == [0, 1]
    world.answer(7, 2)
    assert world.given == [0, 1, 7]


def test_too_many_waiting_are_told_to_try_again(world: World) -> None:
    world.take(WAITING_MAX + 1)
    assert world.given == [None]
    world.answer(0, 10)
    assert world.given == [None, 0, 1, 2]


def test_without_the_controller_clients_try_again_and_it_is_not_asked_at_once(
    world: World,
) -> None:
    world.take()
    world.refuse(ErrorCode.NOT_CONTROLLER)
    assert world.given == [None]
    world.take()
    assert world.given == [None, None]
    assert world.asked == []
    world.scheduler.run_for(RETRY_BACKOFF_MS)
    world.take()
    assert len(world.asked) == 1
    world.answer(5, 10)
    assert world.given == [None, None, 5]
