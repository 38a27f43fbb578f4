"""Three real nodes, SASL_SSL for clients and between brokers, TLS for controllers: a client gets
rights, uses them by all ways, loses them, and is refused by each node, also after the active
controller has died.

    python -m tests.authorization cluster

Owns the cluster and what is asked of it. Never asserts more than it prints.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from ottla.plugins.authorizer import Operation, Resource
from protocol.messages.create_acls import AclCreation, CreateAclsRequest
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumRequestPartitionData,
    DescribeQuorumRequestTopicData,
)
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.records import Record
from tests.authorization.random_acls import ALLOW, LITERAL
from tests.batches import build_batch
from tests.clients.wire_client import WireClient
from tests.tools.cluster_processes import ClusterProcesses
from tests.tools.cluster_security import MECHANISM, NODE, NODE_PASSWORD, STRANGER, STRANGER_PASSWORD
from tests.tools.waiting import LIMIT_S, wait_until

SETTINGS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": f"User:{NODE};User:CN=broker",
    "min.insync.replicas": "2",
}
TOPIC, PARTITIONS = "guarded", 3
PRINCIPAL = f"User:{STRANGER}"
ASKED = 5
"""How often a node is asked once it has refused."""


class GuardedCluster:
    """The nodes, with a super user and a client on each."""

    def __init__(self, cluster: ClusterProcesses) -> None:
        self.cluster = cluster
        self.admins: dict[int, WireClient] = {}
        self.clients: dict[int, WireClient] = {}
        for node_id in cluster.nodes:
            self.connect(node_id)
        self.leaders: dict[int, int] = {}

    def connect(self, node_id: int) -> None:
        """Anew, as after the node's death."""
        for mine, name, password in (
            (self.admins, NODE, NODE_PASSWORD),
            (self.clients, STRANGER, STRANGER_PASSWORD),
        ):
            mine[node_id] = self._logged_in(node_id, name, password)

    def another_client(self, node_id: int) -> WireClient:
        """Return another connection of the user who is to be refused."""
        return self._logged_in(node_id, STRANGER, STRANGER_PASSWORD)

    def _logged_in(self, node_id: int, name: str, password: str) -> WireClient:
        assert self.cluster.login is not None
        client = WireClient(
            self.cluster.nodes[node_id].client_port, tls=self.cluster.login.tls, timeout_s=LIMIT_S
        )
        client.log_in(MECHANISM, name, password)
        return client

    def live(self) -> list[int]:
        return [one for one, node in self.cluster.nodes.items() if node.running]

    def admin(self) -> WireClient:
        return self.admins[self.live()[-1]]

    # --- what is changed -------------------------------------------------------------------------

    def create_topic(self) -> None:
        topic = CreatableTopic(TOPIC, PARTITIONS, 3)
        (one,) = self.admin().call(CreateTopicsRequest([topic], 10_000), 7).topics
        assert one.error_code == 0, one.error_code
        until(lambda: len(self.find_leaders()) == PARTITIONS)

    def find_leaders(self) -> dict[int, int]:
        asked = MetadataRequest([MetadataRequestTopic(name=TOPIC)], False)
        (topic,) = self.admin().call(asked, 12).topics
        self.leaders = {
            one.partition_index: one.leader_id
            for one in topic.partitions
            if one.leader_id >= 0 and one.leader_id in self.live()
        }
        return self.leaders

    def allow(self, operation: Operation) -> None:
        made = AclCreation(Resource.TOPIC, TOPIC, LITERAL, PRINCIPAL, "*", operation, ALLOW)
        (one,) = self.admin().call(CreateAclsRequest([made]), 3).results
        assert one.error_code == 0, one.error_message

    def take_away(self, operation: Operation) -> None:
        gone = DeleteAclsFilter(Resource.TOPIC, TOPIC, LITERAL, PRINCIPAL, "*", operation, ALLOW)
        (one,) = self.admin().call(DeleteAclsRequest([gone]), 3).filter_results
        assert len(one.matching_acls) == 1, one.error_message

    def active_controller(self) -> int:
        partition = DescribeQuorumRequestPartitionData(0)
        topic = DescribeQuorumRequestTopicData("__cluster_metadata", [partition])
        answer = self.admin().call(DescribeQuorumRequest([topic]), 2)
        return int(answer.topics[0].partitions[0].leader_id)

    # --- what is asked ---------------------------------------------------------------------------

    def produce(self, partition: int, who: dict[int, WireClient]) -> int:
        batch = build_batch([Record(-1, int(time.time() * 1000), b"k", b"v")])
        data = TopicProduceData(TOPIC, partition_data=[PartitionProduceData(partition, batch)])
        answer = who[self.leaders[partition]].call(ProduceRequest(None, -1, 10_000, [data]), 12)
        return int(answer.responses[0].partition_responses[0].error_code)

    def fetch_request(self, partition: int, offset: int, wait_ms: int) -> FetchRequest:
        part = FetchPartition(partition, fetch_offset=offset, partition_max_bytes=1 << 20)
        request = FetchRequest(max_wait_ms=wait_ms, min_bytes=1, max_bytes=1 << 20)
        request.topics = [FetchTopic(TOPIC, partitions=[part])]
        return request

    def fetch(
        self, partition: int, offset: int = 0, who: dict[int, WireClient] | None = None
    ) -> int:
        client = (who or self.clients)[self.leaders[partition]]
        return fetched(client.call(self.fetch_request(partition, offset, 0), 12))

    def create(self, node_id: int) -> int:
        """Whether a node passes on that the client creates a topic."""
        request = CreateTopicsRequest([CreatableTopic(f"by-{node_id}", 1, 1)], 10_000, True)
        (one,) = self.clients[node_id].call(request, 7).topics
        return int(one.error_code)


def fetched(answer: Any) -> int:
    """The error of the one partition, which has no records then."""
    ((part,),) = [topic.partitions for topic in answer.responses]
    assert not (part.error_code and part.records)
    return int(part.error_code)


def until(there: Callable[[], bool]) -> float:
    """Wait for it; how long that took."""
    begun = time.monotonic()
    wait_until(there, "what the nodes are to do", pause_s=0.002)
    return time.monotonic() - begun


def run() -> int:
    """The exit status: 0 where each was refused."""
    with ClusterProcesses(3, secured=True, properties=SETTINGS) as cluster:
        story = GuardedCluster(cluster)
        story.create_topic()
        for tell in (_without, _with_and_without_write, _parked, _after_the_controller_died):
            tell(story)
    return 0


def _without(story: GuardedCluster) -> None:
    told = {
        *(story.produce(one, story.clients) for one in story.leaders),
        *(story.fetch(one) for one in story.leaders),
        *(story.create(node_id) for node_id in story.live()),
    }
    assert told == {29}, told
    print("without rights: refused to write, read and create, by each node")


def _with_and_without_write(story: GuardedCluster) -> None:
    story.allow(Operation.WRITE)
    for partition in story.leaders:
        until(lambda p=partition: story.produce(p, story.clients) == 0)
        for _ in range(ASKED):
            assert story.produce(partition, story.clients) == 0
    story.take_away(Operation.WRITE)
    delays = [until(lambda p=one: story.produce(p, story.clients) == 29) for one in story.leaders]
    for partition in story.leaders:
        assert {story.produce(partition, story.clients) for _ in range(ASKED)} == {29}
    print(f"Write taken away: refused by each leader within {max(delays) * 1000:.0f} ms, for good")


def _parked(story: GuardedCluster) -> None:
    story.allow(Operation.READ)
    partition = 0
    until(lambda: story.fetch(partition) == 0)
    client = story.clients[story.leaders[partition]]
    end = _end(story, partition)
    client.send(story.fetch_request(partition, end, 600_000), 12)
    for _ in range(2):  # the second is behind what the node found with the first
        story.fetch(partition, end, story.admins)
    story.take_away(Operation.READ)
    with story.another_client(story.leaders[partition]) as other:
        until(lambda: story.fetch(partition, end, {story.leaders[partition]: other}) == 29)
    assert story.produce(partition, story.admins) == 0
    told = fetched(client.receive())
    assert told == 29, told
    print("Read taken away from a parked fetch: refused, and no record came")


def _end(story: GuardedCluster, partition: int) -> int:
    client = story.clients[story.leaders[partition]]
    answer = client.call(story.fetch_request(partition, 0, 0), 12)
    return int(answer.responses[0].partitions[0].high_watermark)


def _after_the_controller_died(story: GuardedCluster) -> None:
    dead = story.active_controller()
    story.cluster.kill(dead)
    until(lambda: len(story.find_leaders()) == PARTITIONS)
    told = {story.produce(one, story.clients) for one in story.leaders}
    told |= {story.create(node_id) for node_id in story.live()}
    assert told == {29}, told
    story.cluster.start_node(dead)
    story.connect(dead)
    assert story.create(dead) == 29
    print(f"the active controller, node {dead}, died and came back: refused by all of them")
