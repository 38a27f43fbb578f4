"""Who is asked what, what happens on the way, and how it is told."""

from __future__ import annotations

from typing import Any

import pytest

from broker.config.start_error import StartError
from broker.network.outgoing.blocking_client import ApiNotServed
from client import cluster as module
from client.cluster import ClusterClient, partitions_of
from client.refusals import Refused
from protocol.errors import ProtocolError
from protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from protocol.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from protocol.messages.find_coordinator import FindCoordinatorResponse
from protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from protocol.messages.metadata import MetadataResponse, MetadataResponseBroker
from tests.unit.client.scripted import ScriptedCluster, ScriptedNode, topic_of

BROKERS = [MetadataResponseBroker(1, "one", 9092), MetadataResponseBroker(2, "two", 9093)]


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, int], Any]:
    """Address → what a connection to it is; an exception is raised."""
    reachable: dict[tuple[str, int], Any] = {}

    def connect(host: str, port: int, *_: object, **__: object) -> Any:
        found = reachable.get((host, port), ConnectionRefusedError(111, "Connection refused"))
        if isinstance(found, Exception):
            raise found
        return found

    monkeypatch.setattr(module, "BlockingClient", connect)
    monkeypatch.setattr(module, "PAUSE_S", 0)
    return reachable


def test_the_first_that_answers_is_asked(network: dict[tuple[str, int], Any]) -> None:
    network["two", 9093] = ScriptedNode([MetadataResponse(brokers=BROKERS)])
    with ClusterClient("one:9092,two:9093", None) as cluster:
        assert cluster.metadata([]).brokers == BROKERS
        assert cluster.broker_ids == [1, 2]
    assert network["two", 9093].closed


def test_a_broker_that_was_seen_is_asked_where_those_named_are_away(
    network: dict[tuple[str, int], Any],
) -> None:
    network["boot", 9092] = ScriptedNode([MetadataResponse(brokers=BROKERS)])
    network["one", 9092] = network["two", 9093] = ScriptedNode()
    with ClusterClient("boot:9092", None) as cluster:
        cluster.metadata([])
        seen = cluster.addresses
    assert seen == [("boot", 9092), ("one", 9092), ("two", 9093)]
    assert (
        ClusterClient("two:9093", None, known_addresses=seen).addresses == seen[:1]
    )  # who answered, first
    del network["boot", 9092]
    assert (
        ClusterClient("two:9093", None, known_addresses=seen).addresses == seen[2:]
    )  # those named, then
    assert ClusterClient("boot:9092", None, known_addresses=seen).addresses == seen[1:2]
    with pytest.raises(StartError, match=r"\(boot:9092: [^;]*\)$"):
        ClusterClient("boot:9092", None)


def test_nobody_answers(network: dict[tuple[str, int], Any]) -> None:
    with pytest.raises(StartError, match=r"localhost:9092: Connection refused.*ottla serve"):
        ClusterClient("localhost:9092", None)
    network["localhost", 9092] = TimeoutError()
    for servers in ("localhost", "there:9092", "localhost:9093,there:9092"):
        with pytest.raises(StartError, match=r"^no broker answers \([^;]*(; [^;]*)?\)$"):
            ClusterClient(servers, None)


def test_a_broker_that_is_not_where_it_says(network: dict[tuple[str, int], Any]) -> None:
    network["boot", 9092] = ScriptedNode([MetadataResponse(brokers=BROKERS)] * 2)
    cluster = ClusterClient("boot:9092", None)
    with pytest.raises(StartError, match="broker 2 says .* two:9093.*advertised.listeners"):
        cluster.node(2)
    with pytest.raises(StartError, match="broker 7 is not alive"):
        cluster.node(7)


def test_a_connection_is_kept_until_it_is_dropped(network: dict[tuple[str, int], Any]) -> None:
    network["boot", 9092] = ScriptedNode([MetadataResponse(brokers=BROKERS)])
    network["two", 9093] = node = ScriptedNode([DescribeGroupsResponse()])
    cluster = ClusterClient("boot:9092", None)
    cluster.call_at(2, DescribeGroupsRequest(["g"]), DescribeGroupsResponse)
    assert cluster.node(2) is node
    cluster.drop(2)
    assert node.closed


def test_answers_that_nobody_waits_for_any_more(network: dict[tuple[str, int], Any]) -> None:
    network["boot", 9092] = ScriptedNode([MetadataResponse(brokers=BROKERS)])
    network["two", 9093] = node = ScriptedNode([ListGroupsResponse(), DescribeGroupsResponse()])
    cluster = ClusterClient("boot:9092", None)
    cluster.node(2).send(ListGroupsRequest())
    cluster.call_at(2, DescribeGroupsRequest(["g"]), DescribeGroupsResponse)
    assert not node.waiting


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ApiNotServed("no"), "has no DescribeGroups: is it a broker's port"),
        (TimeoutError(), r"DescribeGroups was sent to boot:9092 .* \(no answer within 30 s"),
        (ProtocolError("odd bytes"), "odd bytes"),
        (ConnectionResetError(104, "reset"), r"DescribeGroups .* \(.*reset\)$"),
    ],
)
def test_what_goes_wrong_on_the_way(
    network: dict[tuple[str, int], Any], error: Exception, said: str
) -> None:
    network["boot", 9092] = node = ScriptedNode([error])
    cluster = ClusterClient("boot:9092", None)
    with pytest.raises(StartError, match=said):
        cluster.call(DescribeGroupsRequest(), DescribeGroupsResponse)
    assert not node.closed


def test_a_change_without_an_answer_may_be_done(network: dict[tuple[str, int], Any]) -> None:
    network["boot", 9092] = ScriptedNode([ConnectionResetError(104, "reset")])
    cluster = ClusterClient("boot:9092", None)
    with pytest.raises(StartError, match=r"reset\); whether it was done is not known"):
        cluster.call(DeleteGroupsRequest(["g"]), DeleteGroupsResponse)


def test_metadata_of_another_where_one_has_died(network: dict[tuple[str, int], Any]) -> None:
    network["boot", 9092] = ScriptedNode([MetadataResponse(brokers=BROKERS), ConnectionError()])
    network["two", 9093] = ScriptedNode([MetadataResponse(brokers=BROKERS[1:])])
    cluster = ClusterClient("boot:9092", None)
    cluster.metadata([])
    cluster.metadata([])
    assert cluster.broker_ids == [2]


def test_topics_that_there_are_not() -> None:
    cluster = ScriptedCluster([topic_of("orders")])
    assert list(cluster.topics(["orders", "orders"])) == ["orders"]
    like = r"no topic order; did you mean orders\? .*ottla topic create order makes it"
    with pytest.raises(Refused, match=like):
        cluster.topics(["order"])
    cluster.known["secret"] = topic_of("secret")
    cluster.known["secret"].error_code = 29
    with pytest.raises(Refused, match="Describe on secret"):
        cluster.topics(["secret"])


def test_a_leader_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = ScriptedCluster([topic_of("t", [1, -1])])

    def elect(_: float) -> None:
        cluster.known["t"] = topic_of("t", [1, 2])

    monkeypatch.setattr(module.time, "sleep", elect)
    assert cluster.led_topics(["t"])["t"].partitions[1].leader_id == 2
    cluster.known["t"] = topic_of("t", [1, 9])
    monkeypatch.setattr(module, "LEADERS_WITHIN_S", -1)
    with pytest.raises(Refused, match="no leader for t-1"):
        cluster.led_topics(["t"])
    assert list(cluster.led_topics(["t"], [("t", 0)])) == ["t"]
    with pytest.raises(Refused, match="no leader for t-1"):
        cluster.led_topics(["t"], [("t", 0), ("t", 1)])


def test_a_coordinator_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [FindCoordinatorResponse(error_code=15), FindCoordinatorResponse(node_id=2)]
    cluster = ScriptedCluster(answers={"FindCoordinatorRequest": lambda _: answers.pop(0)})
    monkeypatch.setattr(module.time, "sleep", lambda _: None)
    assert cluster.coordinator("g") == 2
    answers.append(FindCoordinatorResponse(error_code=30))
    with pytest.raises(Refused, match="Describe on group g"):
        cluster.coordinator("g")


def test_a_coordinator_that_moves_is_found_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    codes = [16, 14, 0]
    cluster = ScriptedCluster(
        answers={"ListGroupsRequest": lambda _: ListGroupsResponse(error_code=codes.pop(0))}
    )
    monkeypatch.setattr(module.time, "sleep", lambda _: None)
    request = ListGroupsRequest()
    cluster.at_coordinator("g", request, ListGroupsResponse)
    assert len(cluster.asked_for("FindCoordinatorRequest")) == 3 and codes == []


def test_partitions_by_their_leaders() -> None:
    topics = {"b": topic_of("b", [2]), "a": topic_of("a", [1, 2, -1])}
    every = partitions_of(topics)
    assert every == [("a", 0), ("a", 1), ("a", 2), ("b", 0)]
    assert ScriptedCluster().by_leader(topics, every) == {1: [("a", 0)], 2: [("a", 1), ("b", 0)]}
