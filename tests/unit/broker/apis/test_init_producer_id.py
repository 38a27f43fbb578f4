from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from broker.apis.init_producer_id import InitProducerIdApi
from broker.apis.producer_id_manager import ProducerIdManager
from broker.requests.context import Respond
from ground.sim_scheduler import SimScheduler
from ottla.plugins.authorizer import Operation, Resource
from protocol.errors import ErrorCode
from protocol.messages.allocate_producer_ids import AllocateProducerIdsResponse
from protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from tests.unit.broker.apis.api_fixture import ask
from tests.unit.controller.rights_fixture import Allowed, on_cluster, rights_of

VERSIONS = range(6)


class Server:
    def __init__(self) -> None:
        self.error = ErrorCode.NONE
        manager = ProducerIdManager(SimScheduler(), 1, lambda: 0, self._allocate, 10)
        self.transactional: list[Any] = []
        self.answer: tuple[ErrorCode, tuple[int, int]] = (ErrorCode.NONE, (77, 5))
        self.api = InitProducerIdApi(manager, lambda: self)

    def _allocate(self, _: Any, respond: Respond) -> None:
        respond(AllocateProducerIdsResponse(0, self.error, 4000, 1000))

    def init_producer_id(
        self,
        transactional_id: str,
        timeout_ms: int,
        expected: tuple[int, int] | None,
        reply: Callable[[ErrorCode, tuple[int, int]], None],
    ) -> None:
        self.transactional.append((transactional_id, timeout_ms, expected))
        reply(*self.answer)

    def init(self, request: InitProducerIdRequest, version: int = 5) -> tuple[int, int, int]:
        response = ask(self.api.handle, request, version)
        assert isinstance(response, InitProducerIdResponse)
        return response.error_code, response.producer_id, response.producer_epoch


@pytest.mark.parametrize("version", VERSIONS)
def test_an_idempotent_producer_gets_a_fresh_id(version: int) -> None:
    server = Server()
    assert server.init(InitProducerIdRequest(None), version) == (0, 4000, 0)
    assert server.init(InitProducerIdRequest(None), version) == (0, 4001, 0)


@pytest.mark.parametrize("version", range(3, 6))
def test_an_id_it_had_before_is_not_kept(version: int) -> None:
    request = InitProducerIdRequest(None, producer_id=9, producer_epoch=2)
    assert Server().init(request, version) == (0, 4000, 0)


@pytest.mark.parametrize(
    "request_", [{"producer_id": 9}, {"producer_epoch": 2}, {"transactional_id": ""}]
)
def test_requests_that_contradict_themselves(request_: dict[str, Any]) -> None:
    request = InitProducerIdRequest(**{"transactional_id": None, **request_})
    assert Server().init(request) == (ErrorCode.INVALID_REQUEST, -1, -1)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_transactional_id_is_its_coordinators(version: int) -> None:
    server = Server()
    request = InitProducerIdRequest("t", 60_000, 9, 2)
    assert server.init(request, version) == (0, 77, 5)
    assert server.transactional == [("t", 60_000, (9, 2) if version >= 3 else None)]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_fenced_producer_hears_of_it_in_words_that_it_knows(version: int) -> None:
    server = Server()
    server.answer = (ErrorCode.PRODUCER_FENCED, (-1, -1))
    known = ErrorCode.PRODUCER_FENCED if version >= 4 else ErrorCode.INVALID_PRODUCER_EPOCH
    assert server.init(InitProducerIdRequest("t", 60_000), version) == (known, -1, -1)


def test_without_ids_the_client_tries_again() -> None:
    server = Server()
    server.error = ErrorCode.NOT_CONTROLLER
    answer = server.init(InitProducerIdRequest(None))
    assert answer == (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, -1, -1)


WRITER = (Operation.WRITE, Resource.TOPIC, "any")


def test_no_id_is_given_away_to_one_who_may_write_nothing() -> None:
    server = Server()
    id_ = (Operation.WRITE, Resource.TRANSACTIONAL_ID, "t")
    no_cluster = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    no_id = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED

    def init(name: str | None, allowed: Iterable[Allowed]) -> tuple[int, int, int]:
        request = InitProducerIdRequest(name, 60_000)
        answer = ask(server.api.handle, request, 5, rights=rights_of(allowed))
        return answer.error_code, answer.producer_id, answer.producer_epoch

    assert init(None, {id_}) == (no_cluster, -1, -1)
    assert init("t", {WRITER, *on_cluster(Operation.IDEMPOTENT_WRITE)}) == (no_id, -1, -1)
    assert server.transactional == []
    assert init(None, {WRITER}) == (0, 4000, 0)
    assert init(None, on_cluster(Operation.IDEMPOTENT_WRITE)) == (0, 4001, 0)
    assert init("t", {id_}) == (0, 77, 5)
