"""What an image sets, and what one request is told."""

from __future__ import annotations

from math import inf, nan
from typing import Any

import pytest

from broker.quotas.client_quota_manager import QuotaKind
from broker.quotas.client_quotas import CONNECTION_RATE, MutationQuotas, NodeQuotas, RequestLimits
from broker.quotas.sampled_rate import Window
from controller.metadata.client_quotas import QuotaEntity
from protocol.api_keys import ApiKey
from protocol.messages.create_topics import CreateTopicsResponse
from protocol.messages.fetch import FetchResponse
from protocol.messages.heartbeat import HeartbeatResponse
from protocol.messages.produce import ProduceResponse
from protocol.messages.sasl_handshake import SaslHandshakeResponse

ALICE: QuotaEntity = (("user", "alice"),)
FIVE = Window(5, 1000)


class Clock:
    now_ms = 1_000_000.0

    def __call__(self) -> float:
        return self.now_ms


class Asker:
    def __init__(self, principal: str = "User:alice") -> None:
        self.principal = principal


class Node(NodeQuotas):
    """With quotas of alice, and one request after the other."""

    def __init__(self, **values: float) -> None:
        self.clock = Clock()
        super().__init__(FIVE, FIVE, self.clock)
        if values:
            self.apply_image({ALICE: values})

    def request(
        self, key: ApiKey = ApiKey.HEARTBEAT, version: int = 4, size: int = 100
    ) -> RequestLimits:
        found = self.of(Asker(), "c", key, version, size)
        assert found is not None
        return found


def test_nothing_is_limited_until_something_is_set_and_when_it_is_removed() -> None:
    node, heard = Node(), []
    node.on_change(lambda: heard.append(node.enabled))
    assert not node.enabled
    quotas = {ALICE: {"producer_byte_rate": 100.0}}
    node.apply_image(quotas)
    node.apply_image(quotas)
    assert heard == [True]
    node.apply_image({ALICE: {"producer_byte_rate": 100.0}, (("user", "bob"),): {"x": 1.0}})
    node.apply_image({})
    assert heard == [True, True, False]


def test_only_requests_that_a_quota_limits_are_looked_at() -> None:
    node = Node(producer_byte_rate=100.0)
    assert node.of(Asker(), "c", ApiKey.PRODUCE, 9, 10) is not None
    assert node.of(Asker(), None, ApiKey.PRODUCE, 9, 10) is not None
    assert node.of(Asker(), "c", ApiKey.FETCH, 9, 10) is None
    assert node.of(Asker(), "c", ApiKey.HEARTBEAT, 4, 10) is None
    assert node.of(Asker("User:bob"), "c", ApiKey.PRODUCE, 9, 10) is None
    assert Node(request_percentage=1.0).of(Asker(), "c", ApiKey.WRITE_TXN_MARKERS, 1, 9) is None


def test_bytes_of_a_produce_count_whole_and_are_told_in_its_answer() -> None:
    node = Node(producer_byte_rate=100.0)
    first, second = ProduceResponse(), ProduceResponse()
    assert node.request(ApiKey.PRODUCE, 9, 400).answered(first) == 0
    assert node.request(ApiKey.PRODUCE, 9, 100).answered(second) == 1000
    assert (first.throttle_time_ms, second.throttle_time_ms) == (0, 1000)
    assert node.request(ApiKey.PRODUCE, 9, 100).answered(None) == 2000  # acks=0


def test_a_fetch_that_has_to_wait_takes_nothing() -> None:
    node = Node(consumer_byte_rate=100.0)
    fetch = node.request(ApiKey.FETCH, 12)
    assert fetch.most_fetched() == 400
    assert fetch.fetched(400) == 0
    assert fetch.answered(FetchResponse()) == 0
    for _ in range(3):
        fetch, response = node.request(ApiKey.FETCH, 12), FetchResponse()
        assert fetch.fetched(100) == 1000
        assert fetch.answered(response) == response.throttle_time_ms == 1000
    assert Node(request_percentage=1.0).request(ApiKey.FETCH, 12).most_fetched() == inf


@pytest.mark.parametrize("key", [ApiKey.HEARTBEAT, ApiKey.PRODUCE])
def test_the_time_of_a_request_counts_until_it_is_handled(key: ApiKey) -> None:
    node = Node(request_percentage=1.0)
    request = node.request(key)
    node.clock.now_ms += 1  # a tenth of a percent
    assert request.answered(HeartbeatResponse()) == 0
    node.clock.now_ms += 38  # its bytes are written
    request.handled()
    request = node.request(key)
    node.clock.now_ms += 1
    assert request.answered(HeartbeatResponse()) == 0  # 4 % over 4 s
    request.handled()
    request = node.request(key)
    node.clock.now_ms += 2
    assert request.answered(HeartbeatResponse()) == 4200 - 4041  # 4.2 % over 4.041 s
    request.handled()


def test_what_a_request_waits_for_is_not_its_time() -> None:
    node = Node(request_percentage=1.0)
    request = node.request()
    node.clock.now_ms += 1
    request.handled()
    node.clock.now_ms += 2000
    assert request.answered(HeartbeatResponse()) == 0
    (one,) = node.managers[QuotaKind.REQUEST].measurements(node.clock())
    assert one.level == pytest.approx(0.1 / 4)


def test_nobody_waits_longer_than_a_slice_for_time() -> None:
    node = Node(request_percentage=0.01)
    request = node.request()
    node.clock.now_ms += 500
    response = HeartbeatResponse()
    assert request.answered(response) == response.throttle_time_ms == 1000


def test_the_larger_wait_is_told() -> None:
    node = Node(request_percentage=0.01, producer_byte_rate=100.0)
    request = node.request(ApiKey.PRODUCE, 9, 1000)
    node.clock.now_ms += 500
    assert request.answered(ProduceResponse()) == 6000
    for kind, average_ms in ((QuotaKind.PRODUCE, 6000), (QuotaKind.REQUEST, 0)):
        (one,) = node.managers[kind].measurements(node.clock())
        assert one.throttle_ms == average_ms


def test_partitions_are_refused_where_that_can_be_told() -> None:
    node = Node(controller_mutation_rate=1.0)
    old = node.request(ApiKey.CREATE_TOPICS, 5)
    assert old.take_partitions(8)  # of five that there are
    response = CreateTopicsResponse()
    assert old.answered(response) == response.throttle_time_ms == 3000
    new = node.request(ApiKey.CREATE_TOPICS, 6)
    assert not new.take_partitions(1)
    node.clock.now_ms += 500
    assert new.answered(CreateTopicsResponse()) == 2500
    node.clock.now_ms += 2500
    assert node.request(ApiKey.DELETE_TOPICS, 5).take_partitions(100)
    assert not node.request(ApiKey.CREATE_PARTITIONS, 3).take_partitions(1)
    assert node.request(ApiKey.CREATE_PARTITIONS, 2).take_partitions(1)
    assert Node(request_percentage=1.0).request(ApiKey.CREATE_TOPICS).take_partitions(10**6)


def test_a_controller_limits_mutations_alone() -> None:
    node = Node(controller_mutation_rate=1.0, request_percentage=1.0)
    found = node.of_controller(Asker(), "c", ApiKey.CREATE_TOPICS, 7)
    assert found is not None
    node.clock.now_ms += 10_000
    assert found.answered(CreateTopicsResponse()) == 0
    assert node.of_controller(Asker(), "c", ApiKey.ALTER_CONFIGS, 2) is None
    only_time = Node(request_percentage=1.0)
    assert only_time.of_controller(Asker(), "c", ApiKey.CREATE_TOPICS, 7) is None
    assert Node().of_controller(Asker(), "c", ApiKey.CREATE_TOPICS, 7) is None
    direct = MutationQuotas(node)
    assert direct.enabled
    assert direct.of(Asker(), "c", ApiKey.CREATE_TOPICS, 7, 100) is not None
    assert direct.of(Asker(), "c", ApiKey.FETCH, 17, 100) is None


def test_what_the_controller_has_told_of_a_request_is_waited_for() -> None:
    response = CreateTopicsResponse(throttle_time_ms=700)
    assert Node(request_percentage=1.0).request(ApiKey.CREATE_TOPICS, 7).answered(response) == 700


def test_an_answer_that_cannot_tell_is_waited_for_too() -> None:
    node = Node(request_percentage=0.01)
    request = node.request(ApiKey.SASL_HANDSHAKE, 1)
    node.clock.now_ms += 500
    assert request.answered(SaslHandshakeResponse()) == 1000


def test_a_nodes_request_takes_nothing() -> None:
    node = Node(consumer_byte_rate=1.0, request_percentage=0.01)
    request = node.request(ApiKey.FETCH, 12)
    request.exempt()
    node.clock.now_ms += 500
    assert request.answered(FetchResponse()) == 0
    request.handled()
    assert not any(len(one) for one in node.managers.values())


def test_connection_rates_of_addresses_are_taken_over() -> None:
    node = Node()
    rate = {"connection_creation_rate": 5.0}
    entities: dict[QuotaEntity, Any] = {(("ip", "10.1"),): rate, (("ip", None),): rate}
    node.apply_image({**entities, (("ip", "a.host"),): rate})
    assert node.addresses.limits == {"10.0.0.1": 5.0, None: 5.0}
    assert not node.enabled  # no request is looked at
    node.apply_image({})
    assert not node.addresses.enabled


def test_of_quotas_for_one_address_in_two_spellings_the_lowest_counts() -> None:
    node = Node()
    address = "0:0:0:0:0:0:0:1"
    short, full = (("ip", "::1"),), (("ip", address),)
    node.apply_image({short: {CONNECTION_RATE: 5.0}, full: {CONNECTION_RATE: 9.0}})
    assert node.addresses.limits == {address: 5.0}
    node.apply_image({full: {CONNECTION_RATE: 9.0}})
    assert node.addresses.limits == {address: 9.0}
    node.apply_image({full: {CONNECTION_RATE: nan}})
    assert node.addresses.limits == {}


def test_what_is_no_number_limits_nobody() -> None:
    node = Node(producer_byte_rate=nan)
    assert not node.enabled


def test_a_wait_is_never_longer_than_can_be_told() -> None:
    node = Node(producer_byte_rate=5e-324)
    response = ProduceResponse()
    assert node.request(ApiKey.PRODUCE, 9, 100).answered(response) == 2**31 - 1


def test_what_was_used_can_be_forgotten_and_what_is_set_stays() -> None:
    node = Node(producer_byte_rate=100.0)
    node.apply_image(
        {ALICE: {"producer_byte_rate": 100.0}, (("ip", None),): {CONNECTION_RATE: 0.5}}
    )
    assert node.request(ApiKey.PRODUCE, 9, 1000).answered(ProduceResponse()) == 6000
    assert node.addresses.opened("10.0.0.1", 0) == 0
    node.forget()
    assert node.request(ApiKey.PRODUCE, 9, 400).answered(ProduceResponse()) == 0
    assert len(node.addresses) == 0 and node.addresses.enabled
