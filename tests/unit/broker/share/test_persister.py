from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from broker.share import persister as persister_module
from broker.share import state_calls
from broker.share.persister import ATTEMPTS_MAX, CALLS_MAX, Persister
from broker.share.record_state import RecordState
from broker.share.state.share_coordinator import StateReply
from broker.share.state.share_log import SharePartitionKey
from broker.share.state.share_state_shard import StateAnswer, WriteRequest
from broker.share.state_batches import StateBatch
from protocol.errors import ErrorCode
from protocol.messages.initialize_share_group_state import InitializeShareGroupStateRequest
from protocol.messages.read_share_group_state import StateBatch as ReadBatch
from protocol.messages.write_share_group_state import WriteShareGroupStateRequest
from tests.unit.broker.share.share_brokers import TOPIC_ID, Reply, ShareCluster
from tests.unit.controller.rights_fixture import rights_of

KEYS = [SharePartitionKey("g", TOPIC_ID, partition) for partition in range(3)]
KEY = KEYS[0]
BATCH = StateBatch(5, 6, RecordState.ACKNOWLEDGED, 1)
WRITE = WriteRequest(1, 0, 5, 2, (BATCH,))
NONE = ErrorCode.NONE


class Caller:
    """A caller of the persister of a broker, and the replies in their order."""

    def __init__(self, cluster: ShareCluster, node_id: int) -> None:
        self.cluster = cluster
        self.persister: Persister = cluster.brokers[node_id].persister
        self.replies: list[Reply] = []

    def reply(self, error: ErrorCode, answer: StateAnswer) -> None:
        self.replies.append((error, answer))

    def initialize(self, *keys: SharePartitionKey) -> None:
        for key in keys:
            self.persister.initialize(key, 1, 5, self.reply)

    def settle(self, ms: float = 60_000) -> list[ErrorCode]:
        """Let time pass, and return the errors of all replies since the last call."""
        self.cluster.scheduler.run_for(ms)
        errors = [error for error, _ in self.replies]
        self.replies, self.last = [], self.replies[-1:]
        return errors

    def result(self, call: Callable[[StateReply], None]) -> Reply:
        """Return the reply to a call."""
        call(self.reply)
        assert self.replies == [], "a reply comes later"
        self.settle()
        return self.last[0]

    def sent(self) -> list[tuple[int, Any]]:
        """Return the requests to other brokers since the last call."""
        sent, self.cluster.sent = self.cluster.sent, []
        return sent


@pytest.fixture
def cluster() -> ShareCluster:
    return ShareCluster()


@pytest.fixture
def there(cluster: ShareCluster) -> Caller:
    """A caller on a broker that does not lead."""
    return Caller(cluster, 2)


@pytest.mark.parametrize("node_id", [1, 2])
def test_all_calls_have_the_answers_of_the_coordinator(cluster: ShareCluster, node_id: int) -> None:
    caller = Caller(cluster, node_id)
    call = caller.persister
    assert caller.result(lambda reply: call.initialize(KEY, 1, 5, reply)) == (
        NONE,
        StateAnswer(*()),
    )
    assert caller.result(lambda reply: call.write(KEY, WRITE, reply))[0] is NONE
    error, state = caller.result(lambda reply: call.read(KEY, 0, reply))
    assert (error, state.state_epoch, state.start_offset, state.batches) == (NONE, 1, 5, (BATCH,))
    error, state = caller.result(lambda reply: call.summary(KEY, reply))
    assert (error, state) == (NONE, StateAnswer(1, 0, 5, 2))
    error, refused = caller.result(
        lambda reply: call.write(KEY, WRITE._replace(state_epoch=0), reply)
    )
    assert error is ErrorCode.FENCED_STATE_EPOCH and refused.message
    assert caller.result(lambda reply: call.delete(KEY, reply))[0] is NONE
    assert caller.result(lambda reply: call.read(KEY, 0, reply))[0] is ErrorCode.INVALID_REQUEST
    assert bool(caller.sent()) == (node_id != 1)


def test_the_calls_of_a_turn_share_a_request(there: Caller) -> None:
    there.initialize(*KEYS)
    there.persister.initialize(SharePartitionKey("h", TOPIC_ID, 0), 1, 5, there.reply)
    for key in KEYS:
        there.persister.summary(key, there.reply)
    assert there.settle() == [NONE] * 7
    sent = [
        (type(request), request.group_id, [row.partition for row in request.topics[0].partitions])
        for _, request in there.sent()
    ]
    assert len(sent) == 3
    assert sent[0] == (InitializeShareGroupStateRequest, "g", [0, 1, 2])
    assert sent[1] == (InitializeShareGroupStateRequest, "h", [0])


def test_one_request_of_a_kind_is_under_way_and_no_key_is_twice_in_it(
    there: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_calls, "PARTITIONS_PER_REQUEST", 2)
    there.initialize(*KEYS)
    there.settle()
    there.sent()
    for batch in (BATCH, BATCH._replace(first=7, last=7)):
        for key in KEYS:
            there.persister.write(key, WRITE._replace(batches=(batch,)), there.reply)
    there.cluster.scheduler.run_for(0.5)
    assert len(there.cluster.sent) == 1
    assert there.settle() == [NONE] * 6
    requests = [request for _, request in there.sent()]
    rows = [[row.partition for row in request.topics[0].partitions] for request in requests]
    assert rows == [[0, 1], [2, 0], [1, 2]]
    assert all(isinstance(request, WriteShareGroupStateRequest) for request in requests)
    there.persister.read(KEY, 0, there.reply)
    there.settle()
    assert there.last[0][1].batches == (BATCH._replace(last=7),)


def test_a_missing_topic_is_asked_for_once_and_waited_for(there: Caller) -> None:
    there.cluster.has_topic = False
    there.initialize(*KEYS)
    assert there.settle(20) == [] and there.cluster.created == 1
    there.cluster.has_topic = True
    there.persister.metadata_changed()
    assert there.settle(5) == [NONE] * 3
    assert there.cluster.created == 1


@pytest.mark.parametrize("node_id", [1, 2])
def test_calls_end_after_some_attempts(cluster: ShareCluster, node_id: int) -> None:
    caller = Caller(cluster, node_id)
    cluster.has_topic = False
    caller.initialize(KEY)
    begun_ms = cluster.scheduler.now_ms
    cluster.scheduler.run_until(lambda: bool(caller.replies), limit_ms=60_000)
    assert 20_000 < cluster.scheduler.now_ms - begun_ms < 35_000
    assert cluster.created == ATTEMPTS_MAX
    ((error, answer),) = caller.replies
    assert error is ErrorCode.COORDINATOR_NOT_AVAILABLE and answer.message


@pytest.mark.parametrize("node_id", [1, 2])
def test_an_error_that_may_pass_is_retried(cluster: ShareCluster, node_id: int) -> None:
    caller = Caller(cluster, node_id)
    cluster.topic_partitions = 0
    caller.initialize(KEY)
    assert caller.settle(1_000) == []
    cluster.topic_partitions = 3
    assert caller.settle() == [NONE]


def test_a_loading_coordinator_is_waited_for(there: Caller) -> None:
    there.cluster.log.hold_loads = True
    there.cluster.lead(1)
    there.initialize(*KEYS)
    assert there.settle(500) == []
    there.cluster.log.finish_loads()
    assert there.settle() == [NONE] * 3


def test_a_lost_connection_is_retried_and_a_dead_broker_left(there: Caller) -> None:
    cluster = there.cluster
    cluster.dead.add(1)
    there.initialize(*KEYS)
    assert there.settle(1_000) == []
    assert {node for node, _ in there.sent()} == {1}
    cluster.lead(3)
    assert there.settle(10) == [NONE] * 3
    assert {node for node, _ in there.sent()} == {3}


def test_a_broker_that_hangs_is_left_as_soon_as_another_leads(there: Caller) -> None:
    cluster = there.cluster
    there.initialize(*KEYS)
    there.settle()
    cluster.hanging.add(1)
    there.persister.write(KEY, WRITE, there.reply)
    there.persister.read(KEYS[1], 0, there.reply)
    assert there.settle(5_000) == []
    cluster.lead(2)
    assert there.settle(10) == [NONE] * 2
    assert cluster.links[0].is_closed
    cluster.hanging.clear()
    cluster.lead(1)
    there.persister.read(KEY, 0, there.reply)
    assert there.settle() == [NONE]
    assert there.last[0][1].batches == (BATCH,)


def test_what_still_belongs_to_a_hanging_broker_waits_for_its_answer(there: Caller) -> None:
    cluster = there.cluster
    places = {key: cluster.brokers[1].coordinator.partition_for(key) for key in KEYS}
    moved = next(place for place in places.values() if place != places[KEY])
    cluster.hanging.add(1)
    there.initialize(*KEYS)
    there.settle(100)
    cluster.lead(3, moved)
    count = [*places.values()].count(moved)
    assert there.settle(10) == [NONE] * count
    assert not cluster.links[0].is_closed
    cluster.hanging.clear()
    assert there.settle() == [NONE] * (3 - count), "after the time-out it is asked again"


@pytest.mark.parametrize(
    ("fault", "error"),
    [("hanging", ErrorCode.REQUEST_TIMED_OUT), ("dead", ErrorCode.NETWORK_EXCEPTION)],
)
def test_without_any_answer_the_caller_gets_the_reason(
    there: Caller, fault: str, error: ErrorCode
) -> None:
    getattr(there.cluster, fault).add(1)
    there.initialize(KEY)
    assert there.settle(400_000) == [error]
    assert "broker 1" in str(there.last[0][1].message)
    assert len(there.sent()) == ATTEMPTS_MAX


def test_a_broker_that_does_not_take_this_node_for_a_broker_is_reported(there: Caller) -> None:
    there.cluster.brokers[1].rights = rights_of(())
    there.initialize(*KEYS)
    assert there.settle() == [ErrorCode.CLUSTER_AUTHORIZATION_FAILED] * 3
    assert there.cluster.brokers[2].refused_by == [(1, "INITIALIZE_SHARE_GROUP_STATE")]


def test_an_answer_that_lacks_a_partition(there: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_calls.state_api, "answers_in", lambda *_: iter(()))
    there.initialize(KEY)
    assert there.settle() == [ErrorCode.UNKNOWN_SERVER_ERROR]


@pytest.mark.parametrize(
    ("field", "value"), [("error_code", 999), ("state_batches", [ReadBatch(0, 1, 9, 1)])]
)
def test_an_answer_with_an_unknown_state_or_error(there: Caller, field: str, value: object) -> None:
    there.initialize(KEY)
    there.settle()
    coordinator = there.cluster.brokers[1]
    handle = coordinator.handle

    def spoiled(request: Any, version: int, respond: Callable[[Any], None]) -> None:
        def spoil(response: Any) -> None:
            setattr(response.results[0].partitions[0], field, value)
            respond(response)

        handle(request, version, spoil)

    coordinator.handle = spoiled  # type: ignore[method-assign]
    there.persister.read(KEY, 0, there.reply)
    assert there.settle() == [ErrorCode.UNKNOWN_SERVER_ERROR]


def test_without_a_network_other_brokers_are_not_reached(cluster: ShareCluster) -> None:
    caller = Caller(cluster, 2)
    caller.persister._remote._network = None
    caller.initialize(KEY)
    assert caller.settle() == [ErrorCode.NETWORK_EXCEPTION]


@pytest.mark.parametrize("node_id", [1, 2])
def test_a_stop_answers_all_calls(cluster: ShareCluster, node_id: int) -> None:
    caller = Caller(cluster, node_id)
    cluster.hanging.add(1)
    cluster.log.commit_at_once = False
    caller.initialize(*KEYS)
    cluster.scheduler.run_for(100)
    cluster.has_topic = False
    caller.initialize(KEY)
    cluster.scheduler.run_for(10)
    caller.initialize(KEY)
    caller.persister.shutdown()
    cluster.brokers[node_id].coordinator.shutdown()
    caller.initialize(KEY)
    errors = caller.settle()
    assert len(errors) == 6
    assert set(errors) <= {ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR}
    assert all(link.is_closed for link in cluster.links)


def test_the_calls_have_a_limit(there: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    assert CALLS_MAX > 0
    monkeypatch.setattr(persister_module, "CALLS_MAX", 2)
    there.initialize(*KEYS)
    assert there.settle() == [ErrorCode.COORDINATOR_NOT_AVAILABLE, NONE, NONE]
    there.initialize(*KEYS[:2])
    assert there.settle() == [NONE, NONE], "the calls before have ended"


def test_many_calls_of_this_broker_take_several_turns(cluster: ShareCluster) -> None:
    caller = Caller(cluster, 1)
    cluster.topic_partitions = 100
    keys = [SharePartitionKey("g", TOPIC_ID, partition) for partition in range(100)]
    caller.initialize(*keys)
    appends = [0]
    while len(caller.replies) < len(keys):
        assert cluster.scheduler.step()
        appends.append(cluster.log.appends)
    most = max(after - before for before, after in zip(appends, appends[1:], strict=False))
    assert 1 < most < 20
