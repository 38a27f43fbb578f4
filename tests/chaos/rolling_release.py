"""Three nodes rolled from one program to another, back and over again, while clients produce.

    python -m tests.chaos.rolling_release                       # from the release of Kafka before
    python -m tests.chaos.rolling_release --old ottla@CHECKOUT  # from an earlier Ottla
    python -m tests.chaos.rolling_release --old ottla --new kafka

A roll restarts one node after the other as the new program, on the same folder, and waits for full
in-sync sets in between. The levels of features stay those of the old program until the new one runs
everywhere; then `metadata.version` is raised to the highest level that all nodes support. Producers
with acks=all run through all of it, and all that was acknowledged is read back. At the end a node
starts as the old program again, which has to refuse metadata of a level that it does not know.
Prints a line of JSON for each step; exit 1 if a record is lost, or a step took the wrong course.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any

from protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from tests.chaos.checker import check
from tests.chaos.cluster_view import ClusterView
from tests.chaos.failover_gap import RawProducer
from tests.chaos.history import History
from tests.chaos.stock_producers import Confluent, StockProducer
from tests.clients.wire_client import WireClient
from tests.tools.apache_kafka import answers_api_versions
from tests.tools.cluster_processes import KAFKA, ClusterProcesses, Program
from tests.tools.kafka_release import PREVIOUS
from tests.tools.waiting import wait_until

PARTITIONS = 6
METADATA_VERSION = "metadata.version"
FEATURES = {"share.version": 0, "streams.version": 0}
UPGRADE = 1


class Roll:
    """A cluster that changes its program, and the producers that go on."""

    def __init__(self, cluster: ClusterProcesses) -> None:
        self._cluster = cluster
        self._view = ClusterView(cluster)
        self._keys: dict[str, int] = {}
        self._producers: list[StockProducer] = []

    def produce(self) -> None:
        """Start a producer of each kind, each for a topic of its own."""
        for number, maker in enumerate((RawProducer, Confluent)):
            topic = f"rolled-{maker.client}"
            leaders = self._view.create_topic(topic, PARTITIONS, min_insync_replicas="2")
            self._keys |= dict.fromkeys(leaders, 3)
            producer = maker(self._cluster.bootstrap, topic, PARTITIONS, number * 10_000_000)
            producer.start()
            self._producers.append(producer)
        self.go_on()

    def go_on(self) -> None:
        """Wait until each partition has had acknowledgements from now on."""
        since = time.monotonic()
        for producer in self._producers:
            for partition in range(PARTITIONS):
                wait_until(
                    lambda p=producer, n=partition: p.last_acknowledgement(n) > since,
                    f"an acknowledgement of {producer.topic}-{partition}",
                    limit_s=120,
                )

    def to(self, program: Program) -> None:
        """Restart each node as `program`."""
        for node_id in self._cluster.nodes:
            self.one_to(node_id, program)
            self._view.full_isr(self._keys, patience_s=180)
        self.go_on()

    def one_to(self, node_id: int, program: Program, *, wait: bool = True) -> None:
        """Stop a node if it runs, and start it as `program`."""
        node = self._cluster.nodes[node_id]
        if node.running:
            self._cluster.terminate(node_id)
        node.program = program
        self._cluster.start_node(node_id, wait=wait)

    def features(self) -> tuple[dict[str, int], dict[str, tuple[int, int]]]:
        """Return the finalized levels, and the levels that every node supports."""
        finalized: dict[str, int] = {}
        common: dict[str, tuple[int, int]] = {}
        for number, node in enumerate(self._cluster.brokers):
            answer = self._ask(node.client_door, ApiVersionsRequest("roll", "1"), 4)
            assert isinstance(answer, ApiVersionsResponse)
            finalized = {f.name: f.max_version_level for f in answer.finalized_features}
            ranges = {f.name: (f.min_version, f.max_version) for f in answer.supported_features}
            known = ranges if number == 0 else common
            common = {
                name: (max(low, ranges[name][0]), min(high, ranges[name][1]))
                for name, (low, high) in known.items()
                if name in ranges
            }
        return finalized, common

    def raise_level(self) -> int:
        """Finalize the highest `metadata.version` that all nodes support, and return it."""
        level = self.features()[1][METADATA_VERSION][1]
        update = FeatureUpdateKey(METADATA_VERSION, level, upgrade_type=UPGRADE)
        request = UpdateFeaturesRequest(60_000, [update])
        answer = self._ask(self._cluster.brokers[0].client_door, request, 1)
        assert answer.error_code == 0, answer
        wait_until(lambda: self.features()[0][METADATA_VERSION] == level, f"level {level}")
        return level

    def finish(self) -> dict[str, Any]:
        """Stop the producers, read everything back, and return what was found."""
        for producer in self._producers:
            producer.stop()
        events = [event for producer in self._producers for event in producer.history().events]
        history = History([*events, *self._view.read_all(list(self._keys))])
        # Values that were sent and never acknowledged may be there: no client relies on them.
        anomalies = [str(a) for a in check(history) if a.kind != "phantom"]
        errors = [error for producer in self._producers for error in producer.errors]
        count = sum(producer.acknowledged() for producer in self._producers)
        return {"acknowledged": count, "errors": errors[:5], "anomalies": anomalies[:5]}

    def refusal(self, node_id: int, program: Program) -> str | None:
        """Restart a node as `program`, and wait until it serves or ends. Return its last lines if
        it ended, None if it serves."""
        node = self._cluster.nodes[node_id]
        log_start = len(node.log_text())
        self.one_to(node_id, program, wait=False)
        wait_until(
            lambda: not node.running or answers_api_versions(node.client_door),
            f"the end or the start of node {node_id}",
            limit_s=180,
        )
        return None if node.running else node.log_text()[log_start:].strip()[-600:]

    @staticmethod
    def _ask(port: int, request: Any, version: int) -> Any:
        with WireClient(port) as client:
            return client.call(request, version)


def run(old: Program, new: Program) -> bool:
    """Roll to the new program, back, and to the new one for good. Return whether all went well."""
    good = True

    def told(step: str, **values: Any) -> None:
        print(
            json.dumps({"step": step, "s": round(time.monotonic() - begun), **values}), flush=True
        )

    begun = time.monotonic()
    with ClusterProcesses(
        3, program=old, features=FEATURES if old.peer == KAFKA else {}
    ) as cluster:
        roll = Roll(cluster)
        roll.produce()
        before = roll.features()[0]
        told("produces", levels=before)
        for step, program in (("rolled", new), ("back", old), ("rolled again", new)):
            roll.to(program)
            levels = roll.features()[0]
            good &= levels == before
            told(step, levels=levels)
        level = roll.raise_level()
        roll.go_on()
        told("raised", level=level)
        if level > before[METADATA_VERSION]:
            words = roll.refusal(1, old)
            good &= words is not None
            told("the old program is refused", words=words)
            roll.one_to(1, new)
            roll.go_on()
        found = roll.finish()
        told("read back", **found)
    return good and not found["anomalies"] and not found["errors"]


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.chaos.rolling_release", description=__doc__.splitlines()[0]
    )
    named = "ottla, ottla@CHECKOUT, kafka or kafka@RELEASE"
    before = Program(KAFKA, release=PREVIOUS)
    parser.add_argument("--old", type=Program.named, default=before, metavar="PROGRAM", help=named)
    parser.add_argument("--new", type=Program.named, default=Program(), metavar="PROGRAM")
    options = parser.parse_args()
    return 0 if run(options.old, options.new) else 1


if __name__ == "__main__":
    sys.exit(main())
