"""What operators do to a cluster while stock clients use it: none of them may notice.

A restart of one node after the other, a fourth broker that takes over partitions, and a storm of
clients that join a group. On real processes.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import random
import threading
import time
from collections.abc import Iterator

import psutil
import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from protocol.errors import ErrorCode
from protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol.messages.describe_groups import DescribeGroupsRequest
from protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from tests.chaos.checker import check
from tests.chaos.cluster_view import ClusterView
from tests.chaos.history import History
from tests.chaos.raw_client import Address, Connection, Hung, NotSent, RawClient
from tests.chaos.replicas import logged_faults
from tests.chaos.stock_producers import STOCK, Confluent, StockProducer
from tests.clients.wire_client import WireClient
from tests.tools.cluster_processes import HOST, ClusterProcesses, NodeProcess
from tests.tools.cluster_security import MECHANISM, PASSWORD, USER
from tests.tools.waiting import LIMIT_S, wait_until

pytestmark = pytest.mark.timeout(400)

PARTITIONS = 3
PROPERTIES = {"group.initial.rebalance.delay.ms": "0", "offsets.topic.num.partitions": "3"}


@pytest.fixture(scope="module")
def cluster(request: pytest.FixtureRequest) -> Iterator[ClusterProcesses]:
    secured = request.config.getoption("--secured")
    with ClusterProcesses(3, properties=PROPERTIES, secured=secured) as running:
        yield running
        assert running.unexpected_deaths() == []
        faults = [logged_faults(node.log_text()) for node in running.nodes.values()]
        assert not any(faults), faults


def wire_client(cluster: ClusterProcesses, node: NodeProcess) -> WireClient:
    """Logged in, where that is asked."""
    if cluster.login is None:
        return WireClient(node.client_door)
    client = WireClient(node.client_door, tls=cluster.login.tls)
    client.log_in(MECHANISM, USER, PASSWORD)
    return client


class Member(threading.Thread):
    """A confluent-kafka consumer in a group, its assignments counted."""

    def __init__(self, cluster: ClusterProcesses, topics: list[str], group: str) -> None:
        super().__init__(daemon=True)
        self.values: dict[str, list[int]] = {topic: [] for topic in topics}
        self.assignments = 0
        self.errors: list[str] = []
        self.positions: list[TopicPartition] = []
        self.committed: list[TopicPartition] = []
        self._topics = topics
        self._stopping = threading.Event()
        self._wanted: dict[str, int] = {}
        self._consumer = Consumer(
            {
                "bootstrap.servers": cluster.bootstrap,
                **({} if cluster.login is None else cluster.login.of_librdkafka()),
                "group.id": group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "error_cb": lambda _: None,
                "log_level": 0,
            }
        )

    def run(self) -> None:
        self._consumer.subscribe(self._topics, on_assign=self._assigned)
        beat = time.monotonic()
        while not self._stopping.is_set():
            self._take(0.1)
            if time.monotonic() - beat > 0.5 and self._consumer.assignment():
                beat = time.monotonic()
                self._consumer.commit(asynchronous=True)
        self._take_the_rest()
        try:
            self._consumer.commit(asynchronous=False)
        except KafkaException as error:
            if error.args[0].code() != KafkaError._NO_OFFSET:  # all of it is committed already
                self.errors.append(str(error))
        self.positions = self._consumer.position(self._consumer.assignment())
        self.committed = self._consumer.committed(self.positions, timeout=60)
        self._consumer.close()

    def _take_the_rest(self) -> None:
        """All that is wanted, and what there should not be behind it."""
        deadline = time.monotonic() + LIMIT_S
        while not self._has_all() and time.monotonic() < deadline:
            self._take(0.2)
        while self._take(1.0):
            pass

    def _has_all(self) -> bool:
        return all(len(self.values[topic]) >= count for topic, count in self._wanted.items())

    def _take(self, seconds: float) -> bool:
        message = self._consumer.poll(seconds)
        if message is None:
            return False
        error = message.error()
        if error is None:
            self.values[message.topic()].append(int(message.value()))
        elif error.fatal() or error.code() == KafkaError._AUTO_OFFSET_RESET:
            self.errors.append(str(error))
        return True

    def _assigned(self, consumer: Consumer, parts: list[TopicPartition]) -> None:
        self.assignments += 1

    def stop(self, wanted: dict[str, int]) -> None:
        """End it when it has read so many records of each topic."""
        self._wanted = wanted
        self._stopping.set()
        self.join(2 * LIMIT_S)
        assert not self.is_alive()


def progress(producers: list[StockProducer], count: int) -> None:
    """Until each producer has so many more acknowledgements."""
    before = [producer.acknowledged() for producer in producers]

    def all_go_on() -> bool:
        assert all(producer.failure is None for producer in producers)
        return all(
            producer.acknowledged() >= old + count
            for producer, old in zip(producers, before, strict=True)
        )

    wait_until(all_go_on, f"{count} acknowledgements of each producer", pause_s=0.05)


def finish(view: ClusterView, producers: list[StockProducer]) -> None:
    """Everything was delivered, once and in order."""
    for producer in producers:
        producer.stop()
    for producer in producers:
        assert producer.errors == [], producer.client
        assert producer.acknowledged() == producer.sent, producer.client
        keys = [f"{producer.topic}-{partition}" for partition in range(producer.partitions)]
        history = History([*producer.history().events, *view.read_all(keys)])
        assert check(history) == [], producer.client


# kafka-python leaves the socket of a refused connection to the garbage collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_one_node_after_the_other_is_restarted_under_stock_clients(
    cluster: ClusterProcesses, caplog: pytest.LogCaptureFixture
) -> None:
    """G1 too: the group sees no rebalance, and stands where it has read."""
    for client in ("kafka", "aiokafka"):  # what they log of refused connections keeps the sockets
        caplog.set_level(logging.CRITICAL + 1, client)
    view = ClusterView(cluster)
    producers: list[StockProducer] = []
    for number, maker in enumerate(STOCK):
        topic = f"roll-{maker.client}"
        view.create_topic(topic, PARTITIONS, min_insync_replicas="2")
        producers.append(maker(cluster.bootstrap, topic, PARTITIONS, number * 10**6, cluster.login))
    member = Member(cluster, [producer.topic for producer in producers], "roll")
    for one in (*producers, member):
        one.start()
    progress(producers, 50)
    wait_until(lambda: all(member.values.values()), "a record of each topic", pause_s=0.05)
    keys = {f"{p.topic}-{n}": 3 for p in producers for n in range(PARTITIONS)}
    for node_id in list(cluster.nodes):
        cluster.restart(node_id)
        view.full_isr(keys)
        progress(producers, 20)
    finish(view, producers)
    member.stop({producer.topic: producer.sent for producer in producers})
    gc.collect()  # here, where its warnings are expected
    assert member.errors == []
    assert member.assignments == 1, "the group was rebalanced"
    for producer in producers:
        got = member.values[producer.topic]
        assert len(got) == len(set(got)) == producer.sent, producer.client
    positions = {(p.topic, p.partition): p.offset for p in member.positions}
    assert {(p.topic, p.partition): p.offset for p in member.committed} == positions


def moves(cluster: ClusterProcesses, topic: str, replicas: dict[int, list[int]]) -> bool:
    """Ask for a reassignment; True if it is taken: not before the controller unfences a broker."""
    parts = [ReassignablePartition(number, to) for number, to in replicas.items()]
    request = AlterPartitionReassignmentsRequest(10_000, topics=[ReassignableTopic(topic, parts)])
    with wire_client(cluster, cluster.brokers[0]) as client:
        answer = client.call(request, 0)
    codes = {part.error_code for answered in answer.responses for part in answered.partitions}
    return (answer.error_code, codes) == (0, {0})


def test_a_fourth_broker_joins_and_takes_partitions_over(cluster: ClusterProcesses) -> None:
    view = ClusterView(cluster)
    topic = "growing"
    view.create_topic(topic, PARTITIONS, min_insync_replicas="2")
    producer = Confluent(cluster.bootstrap, topic, PARTITIONS, 10**8, cluster.login)
    member = Member(cluster, [topic], "growing")
    producer.start()
    member.start()
    progress([producer], 100)
    fourth = cluster.add_broker()
    cluster.start_node(fourth.node_id)
    # It leads the first partition from now on, follows in the second, and is not in the third.
    wanted = {0: [4, 1, 2], 1: [2, 3, 4], 2: [3, 1, 2]}
    wait_until(lambda: moves(cluster, topic, wanted), "a controller that takes it", pause_s=0.2)
    wait_until(
        lambda: all(
            nodes == wanted[int(key[-1])] and sorted(isr) == sorted(nodes)
            for key, (nodes, isr) in view.replicas(topic).items()
        ),
        "all replicas where they are to be, in sync",
        pause_s=0.2,
    )
    progress([producer], 100)
    # Whoever led the first partition is no replica of it any more, or the new one can take over.
    for node_id in (1, 2, 3):
        if view.leaders(topic)[f"{topic}-0"] == 4:
            break
        cluster.restart(node_id)
        view.full_isr({f"{topic}-{number}": 3 for number in wanted})
    finish(view, [producer])
    member.stop({topic: producer.sent})
    assert member.errors == []
    got = member.values[topic]
    assert len(got) == len(set(got)) == producer.sent
    assert cluster.terminate(fourth.node_id) == 0
    del cluster.nodes[fourth.node_id]


async def storm(address: Address, group: str, seconds: float, clients: int) -> int:
    """Clients that connect, join a group and hang up, over and over; how many joined."""
    deadline = time.monotonic() + seconds
    joined = 0

    async def client(number: int) -> None:
        nonlocal joined
        rng = random.Random(number)
        while time.monotonic() < deadline:
            connection = Connection(address, f"storm-{number}")
            protocols = [JoinGroupRequestProtocol("any", b"")]
            request = JoinGroupRequest(group, 6_000, 6_000, "", None, "storm", protocols)
            try:
                answer = await connection.call(request, 3, rng.uniform(0.05, 0.5))
                joined += answer.error_code == ErrorCode.NONE
            except (NotSent, Hung):
                pass
            joined += 1
            connection.close()

    await asyncio.gather(*(client(number) for number in range(clients)))
    return joined


def test_a_storm_of_joins_ends(cluster: ClusterProcesses) -> None:
    """G4: the group and the coordinator's memory stay bounded, and the group comes to an end."""
    view = ClusterView(cluster)
    group = "storm"
    coordinator = cluster.nodes[view.coordinator(group)]
    assert coordinator.process is not None
    process = psutil.Process(coordinator.process.pid)
    before = process.memory_info().rss
    address = (HOST, coordinator.client_door, cluster.login)
    attempts = asyncio.run(storm(address, group, 4, 100))
    assert attempts >= 100
    assert process.memory_info().rss - before < 64_000_000
    with wire_client(cluster, coordinator) as client:

        def is_over() -> bool:
            described = client.call(DescribeGroupsRequest([group]), 4).groups[0]
            return described.group_state in ("Empty", "Dead") and not described.members

        wait_until(is_over, "the group's end", pause_s=0.5)


def test_every_answer_names_the_same_leaders(cluster: ClusterProcesses) -> None:
    """Whatever came before, each broker says the same of every partition."""
    ClusterView(cluster).create_topic("same", PARTITIONS)

    async def ask() -> list[dict[str, tuple[int, int]]]:
        answers = []
        for node in cluster.brokers:
            if node.running:
                addresses = {node.node_id: (HOST, node.client_door, cluster.login)}
                client = RawClient("same", addresses, random.Random(1))
                await client.metadata(node.node_id)
                answers.append(dict(client.leaders))
                client.close()
        return answers

    def all_say_the_same() -> bool:
        first, *others = asyncio.run(ask())
        return bool(first) and all(other == first for other in others)

    wait_until(all_say_the_same, "the same leaders in every answer", pause_s=0.2)
