from __future__ import annotations

from typing import Any

import pytest

from broker.apis.share_group_state import DECIDED_A_SLICE
from broker.share.state import state_api
from broker.share.state.share_log import SharePartitionKey
from broker.share.state.state_api import StateApi
from ottla.plugins.authorizer import CLUSTER_NAME, Operation, Resource
from protocol.api_keys import STABLE_VERSIONS
from protocol.errors import ErrorCode
from protocol.messages import initialize_share_group_state as initialization
from protocol.messages import read_share_group_state as reading
from protocol.messages import write_share_group_state as writing
from tests.unit.broker.share.share_brokers import TOPIC_ID, ShareBroker, ShareCluster
from tests.unit.controller.rights_fixture import rights_of

OTHER_ID = b"o" * 16


def entry_of(api: StateApi, partition: int) -> Any:
    """Return a partition's entry in a request, valid after an initialization."""
    key = SharePartitionKey("g", TOPIC_ID, partition)
    if api is state_api.INITIALIZE:
        return state_api.initialize_entry(key, 1, 5)
    if api is state_api.READ:
        return state_api.read_entry(key, 0)
    if api is state_api.WRITE:
        return writing.PartitionData(partition, 1, 0, 5, 2, [writing.StateBatch(5, 6, 2, 1)])
    return state_api.delete_entry(key) if api is state_api.DELETE else state_api.summary_entry(key)


def request_of(api: StateApi, *partitions: int, topic_id: bytes = TOPIC_ID) -> Any:
    entries = [entry_of(api, partition) for partition in partitions]
    return api.request("g", [api.asked_topic(topic_id, entries)])


def errors_of(response: Any) -> list[tuple[int, ErrorCode]]:
    (topic,) = response.results
    return [(row.partition, ErrorCode(row.error_code)) for row in topic.partitions]


@pytest.fixture
def broker() -> ShareBroker:
    return ShareCluster(1).brokers[1]


def test_the_versions_are_those_of_kafka(broker: ShareBroker) -> None:
    for key, api in broker.apis.items():
        assert (api.oldest, api.latest) == STABLE_VERSIONS[key]


def test_a_state_is_initialized_written_read_and_deleted(broker: ShareBroker) -> None:
    assert errors_of(broker.ask(request_of(state_api.INITIALIZE, 0))) == [(0, ErrorCode.NONE)]
    assert errors_of(broker.ask(request_of(state_api.WRITE, 0))) == [(0, ErrorCode.NONE)]
    ((row,),) = (topic.partitions for topic in broker.ask(request_of(state_api.READ, 0)).results)
    assert (row.state_epoch, row.start_offset, row.error_message) == (1, 5, None)
    (batch,) = row.state_batches
    assert (batch.first_offset, batch.last_offset) == (5, 6)
    assert (batch.delivery_state, batch.delivery_count) == (2, 1)
    ((row,),) = (topic.partitions for topic in broker.ask(request_of(state_api.SUMMARY, 0)).results)
    assert (row.state_epoch, row.leader_epoch) == (1, 0)
    assert (row.start_offset, row.delivery_complete_count) == (5, 2)
    assert errors_of(broker.ask(request_of(state_api.DELETE, 0))) == [(0, ErrorCode.NONE)]
    response = broker.ask(request_of(state_api.READ, 0))
    assert errors_of(response) == [(0, ErrorCode.INVALID_REQUEST)]
    assert response.results[0].partitions[0].error_message
    assert response.results[0].partitions[0].start_offset == 0


def test_the_first_versions_have_no_number_of_final_records(broker: ShareBroker) -> None:
    broker.ask(request_of(state_api.INITIALIZE, 0))
    broker.ask(request_of(state_api.WRITE, 0), 0)
    for version, count in ((0, -1), (1, 0)):
        response = broker.ask(request_of(state_api.SUMMARY, 0), version)
        assert response.results[0].partitions[0].delivery_complete_count == count


@pytest.mark.parametrize("api", state_api.APIS, ids=lambda api: api.key.name)
def test_each_partition_has_its_own_answer(broker: ShareBroker, api: StateApi) -> None:
    count = 3 * DECIDED_A_SLICE
    broker.cluster.topic_partitions = count
    broker.ask(request_of(state_api.INITIALIZE, *range(count)))
    broker.cluster.topic_partitions = count - 1
    request = request_of(api, -1, *range(count))
    request.topics.append(api.asked_topic(OTHER_ID, [entry_of(api, count)]))
    first, second = broker.ask(request).results
    assert (first.topic_id, second.topic_id) == (TOPIC_ID, OTHER_ID)
    codes = [row.error_code for row in first.partitions]
    assert [row.partition for row in first.partitions] == [-1, *range(count)]
    invalid, unknown = ErrorCode.INVALID_REQUEST, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert codes == [invalid, *[ErrorCode.NONE] * (count - 1), unknown]
    assert all(row.error_message for row in first.partitions if row.error_code)
    assert second.partitions[0].error_code != ErrorCode.NONE


@pytest.mark.parametrize("api", state_api.APIS, ids=lambda api: api.key.name)
def test_only_brokers_may_ask(broker: ShareBroker, api: StateApi) -> None:
    broker.rights = rights_of(set())
    response = broker.ask(request_of(api, 0, 1))
    denied = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert errors_of(response) == [(0, denied), (1, denied)]
    assert response.results[0].partitions[0].error_message == "Cluster authorization failed."
    assert broker.cluster.log.appends == 0
    broker.rights = rights_of({(Operation.CLUSTER_ACTION, Resource.CLUSTER, CLUSTER_NAME)})
    assert (
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        not in dict(errors_of(broker.ask(request_of(api, 0, 1)))).values()
    )


@pytest.mark.parametrize("api", state_api.APIS, ids=lambda api: api.key.name)
def test_an_incomplete_request_has_an_empty_answer(broker: ShareBroker, api: StateApi) -> None:
    assert broker.ask(api.request("g", [])).results == []
    without_group = request_of(api, 0)
    without_group.group_id = ""
    assert broker.ask(without_group).results == []
    half = request_of(api, 0)
    half.topics.append(api.asked_topic(OTHER_ID, []))
    is_initialization = api is state_api.INITIALIZE
    assert len(broker.ask(half).results) == is_initialization
    assert (broker.cluster.log.appends > 0) == is_initialization


def test_a_broker_that_does_not_lead_says_so(broker: ShareBroker) -> None:
    for partition in range(4):
        broker.coordinator.on_resigned(partition)
    for api in state_api.APIS:
        assert errors_of(broker.ask(request_of(api, 0))) == [(0, ErrorCode.NOT_COORDINATOR)]


def test_of_two_entries_for_a_partition_the_last_answer_counts(broker: ShareBroker) -> None:
    later, earlier = (initialization.PartitionData(0, epoch, 5) for epoch in (2, 1))
    topics = [initialization.InitializeStateData(TOPIC_ID, [later, earlier])]
    response = broker.ask(initialization.InitializeShareGroupStateRequest("g", topics))
    assert errors_of(response) == [(0, ErrorCode.FENCED_STATE_EPOCH)]
    response = broker.ask(request_of(state_api.READ, 0))
    assert response.results[0].partitions[0].state_epoch == 2


@pytest.mark.parametrize("batch", [(5, 4, 2, 1), (5, 6, 9, 1), (5, 6, 2, -1)])
def test_a_batch_that_cannot_be_is_refused(broker: ShareBroker, batch: Any) -> None:
    broker.ask(request_of(state_api.INITIALIZE, 0))
    entry = writing.PartitionData(0, 1, 0, 5, 2, [writing.StateBatch(*batch)])
    request = writing.REQUEST("g", [writing.WriteStateData(TOPIC_ID, [entry])])
    assert errors_of(broker.ask(request)) == [(0, ErrorCode.INVALID_REQUEST)]


def test_a_handler_that_fails_has_the_error_for_each_partition(broker: ShareBroker) -> None:
    for api in state_api.APIS:
        refuse = broker.apis[api.key].refuse
        assert refuse is not None
        response = refuse(request_of(api, 0, 2), ErrorCode.UNKNOWN_SERVER_ERROR)
        failed = ErrorCode.UNKNOWN_SERVER_ERROR
        assert errors_of(response) == [(0, failed), (2, failed)]
        assert isinstance(response, reading.RESPONSE) == (api is state_api.READ)
