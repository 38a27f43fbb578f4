"""How long nothing is acknowledged when a leader goes away: `python -m tests.chaos.failover_gap`.

For each way of going a topic of its own, six partitions, three replicas, acks=all,
min.insync.replicas=2, and the shipped configuration of the peer. The figure is the longest time
between two acknowledgements of one partition, the worst of all partitions. `raw` is a client that
asks for metadata again as soon as it is in doubt and waits one second for an answer; the others are
stock clients with their defaults: they wait 30 s and more for the answer of a broker that is paused
or cut off, whatever the cluster does, so that they are not asked that. What was acknowledged is
read back each time. With `--together` all clients produce at the same time, each to its own topic.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from protocol.errors import ErrorCode
from protocol.messages.init_producer_id import InitProducerIdRequest
from tests.chaos.checker import check
from tests.chaos.cluster_view import ClusterView
from tests.chaos.facts import Anomaly
from tests.chaos.history import History
from tests.chaos.raw_client import Hung, NotSent, RawClient, batch_of, key_of
from tests.chaos.stock_producers import STOCK, StockProducer
from tests.tools.cluster_processes import HOST, KAFKA, OTTLA, ClusterProcesses, named_nodes
from tests.tools.cluster_security import ClusterLogin
from tests.tools.link_proxy import CLIENT

PARTITIONS = 6
BEFORE_S = 2.0
PATIENCE_S = 90.0
ANSWER_S = 1.0
CASES = (
    "kill-leader",
    "kill-leader-and-controller",
    "stop-leader",
    "stop-leader-and-controller",
    "pause-leader",
    "cut-off-leader",
    "roll",
)
CUT_OFF = "cut-off-leader"
RAW_ONLY = ("pause-leader", CUT_OFF)


class RawProducer(StockProducer):
    """One connection a partition and one request at a time, sent again until it is acknowledged."""

    client = "raw"

    def __init__(
        self,
        bootstrap: str,
        topic: str,
        partitions: int,
        first_value: int,
        login: ClusterLogin | None = None,
    ) -> None:
        super().__init__(bootstrap, topic, partitions, first_value, login)
        ports = [int(address.rpartition(":")[2]) for address in bootstrap.split(",")]
        self._addresses = {index + 1: (HOST, port, login) for index, port in enumerate(ports)}

    def produce_until_stopped(self) -> None:
        asyncio.run(self._produce())

    async def _produce(self) -> None:
        await asyncio.gather(*(self._one(partition) for partition in range(self.partitions)))

    async def _one(self, partition: int) -> None:
        client = RawClient(f"raw-{partition}", self._addresses, random.Random(partition))
        key = key_of(self.topic, partition)
        producer_id = await self._id(client)
        sequence = 0
        while not self._stopping.is_set():
            value = self.first_value + self.sent * self.partitions + partition
            self.sent += 1
            batch = batch_of([value], producer_id, sequence, int(time.time() * 1000))
            while not await self._attempt(client, key, value, partition, batch):
                await client.metadata(timeout_s=0.5)
                await asyncio.sleep(0.02)
            sequence += 1
            await asyncio.sleep(0.01)
        client.close()

    async def _id(self, client: RawClient) -> int:
        while True:
            try:
                answer = await client.call(1, InitProducerIdRequest(None, 60_000), 4)
                if answer.error_code == ErrorCode.NONE:
                    await client.metadata()
                    return int(answer.producer_id)
            except (NotSent, Hung):
                pass
            await asyncio.sleep(0.1)

    async def _attempt(
        self, client: RawClient, key: str, value: int, partition: int, batch: bytes
    ) -> bool:
        leader = client.leader(key)
        if leader is None:
            return False
        try:
            async with asyncio.timeout(ANSWER_S):
                answer = await client.produce(leader, key, batch)
        except (NotSent, Hung, TimeoutError):
            return False
        code = ErrorCode(answer.error_code)
        if code is ErrorCode.NONE or code is ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
            self.delivered(value, partition, answer.base_offset if code == ErrorCode.NONE else -1)
            return True
        if code in (
            ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
            ErrorCode.UNKNOWN_PRODUCER_ID,
            ErrorCode.UNKNOWN_SERVER_ERROR,
        ):
            self.errors.append(f"{key}: {code.name}")
        return False


class Measured(NamedTuple):
    """One case with one client."""

    case: str
    client: str
    gap_s: float
    acknowledged: int
    errors: list[str]
    anomalies: list[Anomaly]


def measure(
    cluster: ClusterProcesses, case: str, makers: Sequence[type[StockProducer]], number: int
) -> list[Measured]:
    """Run one case on a cluster that is well, and leave it well."""
    view = ClusterView(cluster)
    leaders: dict[str, int] = {}
    producers = []
    for offset, maker in enumerate(makers):
        topic = f"gap-{number}-{maker.client}"
        leaders |= view.create_topic(topic, PARTITIONS, min_insync_replicas="2")
        first_value = (number * len(CASES) + offset) * 1_000_000
        where = (cluster.bootstrap, topic, PARTITIONS, first_value)
        producers.append(maker(*where, cluster.login))
    victim = _victim(view, case, leaders)
    for producer in producers:
        producer.start()
    try:
        for producer in producers:
            _until(lambda one=producer: one.acknowledged() >= 10 * PARTITIONS, producer)
        time.sleep(BEFORE_S)
        begun = time.monotonic()
        if case == "roll":
            _roll(cluster, view, leaders)
        else:
            _strike(cluster, case, victim)
        struck = time.monotonic()
        for producer in producers:
            _until(lambda one=producer: _goes_on(one, struck + 1), producer)
        gaps = [producer.longest_pause(begun - 1) for producer in producers]
    finally:
        _heal(cluster, victim)
        view.full_isr(dict.fromkeys(leaders, 3))
        for producer in producers:
            producer.stop()
    return [
        Measured(
            *(case, producer.client, round(gap_s, 2)),
            *(producer.acknowledged(), producer.errors[:5], _anomalies(view, producer)),
        )
        for producer, gap_s in zip(producers, gaps, strict=True)
    ]


def _roll(cluster: ClusterProcesses, view: ClusterView, leaders: dict[str, int]) -> None:
    """Restart the nodes one after the other, each when all replicas are in sync."""
    for node_id in list(cluster.nodes):
        cluster.restart(node_id)
        view.full_isr(dict.fromkeys(leaders, 3))


def _goes_on(producer: StockProducer, since: float) -> bool:
    return all(producer.last_acknowledgement(p) > since for p in range(PARTITIONS))


def _anomalies(view: ClusterView, producer: StockProducer) -> list[Anomaly]:
    keys = [f"{producer.topic}-{partition}" for partition in range(PARTITIONS)]
    history = History([*producer.history().events, *view.read_all(keys)])
    # Values that were sent and never acknowledged may be there too: nobody was told of them.
    return [a for a in check(history) if a.kind != "phantom"]


def _victim(view: ClusterView, case: str, leaders: dict[str, int]) -> int:
    controller = view.controller()
    if case.endswith("controller"):
        return controller
    return next(leader for leader in leaders.values() if leader != controller)


def _strike(cluster: ClusterProcesses, case: str, victim: int) -> None:
    if case.startswith("kill"):
        cluster.kill(victim)
    elif case.startswith("stop"):
        cluster.terminate(victim)
    elif case.startswith("pause"):
        cluster.pause(victim)
    else:
        assert cluster.links is not None
        others = [node for node in cluster.nodes if node != victim]
        ends = [*others, CLIENT]
        cluster.links.cut(*((victim, end) for end in ends), *((end, victim) for end in ends))


def _heal(cluster: ClusterProcesses, victim: int) -> None:
    node = cluster.nodes[victim]
    if cluster.links is not None:
        cluster.links.mend()
    if node.paused:
        cluster.resume(victim)
    if not node.running:
        cluster.start_node(victim)


def _until(condition: Callable[[], bool], producer: StockProducer) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert producer.failure is None, producer.failure
        assert time.monotonic() < deadline, f"{producer.client}: no acknowledgement any more"
        time.sleep(0.02)


def main() -> int:
    clients = {maker.client: maker for maker in (RawProducer, *STOCK)}
    parser = argparse.ArgumentParser(
        prog="python -m tests.chaos.failover_gap",
        description="How long nothing is acknowledged when a leader goes away.",
    )
    parser.add_argument("--peer", choices=(OTTLA, KAFKA), default=OTTLA)
    parser.add_argument(
        "--others", type=named_nodes, default={}, help="other nodes, as 2=kafka,3=kafka@RELEASE"
    )
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--clients", default="raw,confluent-kafka")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--together", action="store_true")
    options = parser.parse_args()
    makers = [clients[name] for name in options.clients.split(",")]
    casts = [makers] if options.together else [[maker] for maker in makers]
    turns = [
        (case, [one for one in cast if one is RawProducer or case not in RAW_ONLY])
        for _ in range(options.rounds)
        for cast in casts
        for case in options.cases.split(",")
    ]
    wrong = 0
    # The proxy is a part of this process, which clients keep busy: only where a link is cut.
    proxied = any(case == CUT_OFF for case, cast in turns if cast)
    with ClusterProcesses(3, peer=options.peer, others=options.others, proxied=proxied) as cluster:
        for number, (case, cast) in enumerate(turns, 1):
            for found in measure(cluster, case, cast, number) if cast else []:
                wrong += bool(found.anomalies or found.errors)
                print(json.dumps(found._asdict(), default=str), flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
