"""Many transactional producers, all of which die in the midst of a transaction (I10, T7).

`python -m tests.chaos.abandoned_transactions`: 200 producers of both protocols make transactions on
three nodes while coordinators are killed; then every one dies with a transaction open. Every last
stable offset has to reach its log's end within the transaction time-out and 15 s, and the history
has to be clean.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from dataclasses import dataclass, field
from typing import Any

from tests.chaos.checker import check, summary
from tests.chaos.cluster_view import ClusterView
from tests.chaos.exactly_once import NODES, PROPERTIES
from tests.chaos.facts import Anomaly
from tests.chaos.final_reads import SWEEP_S, read_everything
from tests.chaos.history import FAIL, OK, Fault, History, Send, Stable, Transaction
from tests.chaos.raw_client import RawClient, key_of
from tests.chaos.transactional_load import CommittedReader, TransactionalProducer, _Over
from tests.chaos.workload import RETRY_S, Shared
from tests.tools.cluster_processes import HOST, KAFKA, OTTLA, ClusterProcesses

TOPIC = "abandoned"
PARTITIONS = 12
KILLS_EVERY_S = 30.0
READERS = 3
DEFAULT_SWEEP_MS = "10000"
BEGINNINGS = 50


class AbandoningProducer(TransactionalProducer):
    """Its last transaction is left open, with records in it."""

    abandoned = 0

    async def end(self) -> None:
        for _ in range(BEGINNINGS):  # it may just have lost its epoch, and its coordinator
            if self._life is not None or await self._begin_life():
                break
            await asyncio.sleep(RETRY_S)
        if self._life is None:
            return
        life, number, begun = self._life, self.shared.next_transaction(), self.shared.now()
        keys = self.rng.sample(self.shared.keys, 2)
        sends: list[Send] = []
        try:
            if not self._version_2:
                await self._add_partitions(life, sorted(keys))
            for key in keys:
                await self._send(life, number, key, sends)
            type(self).abandoned += 1
        except _Over as reason:
            self._surprise("", f"the last transaction could not begin: {reason}")
        now = self.shared.now()
        for send in sends:
            self.history.add(send._replace(outcome=FAIL, t1=now, error="abandoned"))
        told = (self.name, number, *life, FAIL, begun, -1.0, now, "abandoned")
        self.history.add(Transaction(*told))


@dataclass
class AbandonedRun:
    """A run on a cluster that serves; afterwards `anomalies` and `result`."""

    cluster: ClusterProcesses
    producers: int
    seconds: float
    kills: int
    timeout_ms: int
    result: dict[str, Any] = field(default_factory=dict)
    anomalies: list[Anomaly] = field(default_factory=list)

    def run(self) -> dict[str, Any]:
        ClusterView(self.cluster).create_topic(TOPIC, PARTITIONS, NODES)
        history = asyncio.run(self._load())
        self.anomalies += check(history)
        ended = [one.outcome for one in history.of(Transaction)]
        self.result |= {
            "producers": self.producers,
            "committed": ended.count(OK),
            "aborted_or_left": ended.count(FAIL),
            "unclear": len(ended) - ended.count(OK) - ended.count(FAIL),
            "open_at_the_end": AbandoningProducer.abandoned,
            "kills": self.kills,
            "bound_s": self.timeout_ms / 1000 + SWEEP_S,
            "partitions_stable": sum(s.last_stable >= s.high_watermark for s in history.of(Stable)),
            "anomalies": summary(self.anomalies),
        }
        return self.result

    async def _load(self) -> History:
        AbandoningProducer.abandoned = 0
        addresses = {node.node_id: (HOST, node.client_door) for node in self.cluster.brokers}
        shared = Shared(addresses, [key_of(TOPIC, p) for p in range(PARTITIONS)], 1)
        producers = [AbandoningProducer(f"a{n}", shared, n % 2 > 0) for n in range(self.producers)]
        for producer in producers:
            producer.timeout_ms = self.timeout_ms
        readers = [CommittedReader(f"r{n}", shared) for n in range(READERS)]
        tasks = [asyncio.create_task(worker.run()) for worker in [*producers, *readers]]
        client = RawClient("runner", addresses, shared.rng("runner"))
        for kill in range(self.kills):
            await asyncio.sleep(self.seconds / (self.kills + 1))
            await self._kill_coordinator(client, shared, f"transactional-a{kill}")
        await asyncio.sleep(self.seconds / (self.kills + 1))
        shared.stopping.set()
        for done in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(done, BaseException):
                raise done
        died = time.monotonic()
        await client.metadata()
        self.anomalies += await read_everything(client, shared, self.timeout_ms / 1000)
        self.result["until_stable_s"] = round(shared.stable_at - died, 2)
        client.close()
        return shared.history

    async def _kill_coordinator(self, client: RawClient, shared: Shared, name: str) -> None:
        node = await client.coordinator(name, 1)
        if node is None:
            return
        begun = shared.now()
        await asyncio.to_thread(self.cluster.kill, node)
        await asyncio.sleep(2)
        await asyncio.to_thread(self.cluster.start_node, node)
        shared.history.add(Fault("kill-transaction-coordinator", [node], True, begun, shared.now()))

    @property
    def clean(self) -> bool:
        """Nothing is wrong, and there was something to be swept."""
        open_at_the_end = self.result["open_at_the_end"]
        return not self.anomalies and open_at_the_end > 0.8 * self.producers


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.chaos.abandoned_transactions", description=__doc__
    )
    parser.add_argument("--producers", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--timeout-ms", type=int, default=10_000)
    parser.add_argument("--peer", choices=(OTTLA, KAFKA), default=OTTLA)
    options = parser.parse_args()
    sweep = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": DEFAULT_SWEEP_MS}
    properties = {**PROPERTIES, **sweep}
    with ClusterProcesses(NODES, peer=options.peer, properties=properties) as cluster:
        kills = int(options.seconds // KILLS_EVERY_S)
        run = AbandonedRun(cluster, options.producers, options.seconds, kills, options.timeout_ms)
        told = {"peer": options.peer, "date": time.strftime("%Y-%m-%d"), **run.run()}
    print(json.dumps({**told, "clean": run.clean}, indent=1))
    return 0 if run.clean else 1


if __name__ == "__main__":
    sys.exit(main())
