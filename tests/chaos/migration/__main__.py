"""A cluster of Apache Kafka that becomes Ottla node by node under load, and Kafka again.

    python -m tests.chaos.migration --rounds 10 --seed 1 --release 4.4

Each round follows the commands of docs/migration.md on three secured nodes with 100 topics, SCRAM
users, ACLs and quotas. Producers, members of classic, consumer and share groups, a copier with
transactions and open transactions go on meanwhile; every second round has a dynamic quorum. The
order of the nodes is random. Prints a line of JSON for each step and each round. The exit code is 0
if nothing was lost or came twice, each record kept its offset, and all else is as before.
"""

from __future__ import annotations

import argparse
import json
import logging
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.chaos.checker import check
from tests.chaos.cluster_view import ClusterView
from tests.chaos.copier import CopierOptions, CopierProcess
from tests.chaos.copy_audit import TargetWatch, audit, feed
from tests.chaos.groups.reading import Reading
from tests.chaos.groups.upgrade_member import CLASSIC, CONSUMER, UpgradeMember
from tests.chaos.history import Final, History
from tests.chaos.migration.commands import Page
from tests.chaos.migration.load import CONFLUENT, ManyTopics, ShareMember, Transactions
from tests.chaos.migration.scene import (
    COPIER,
    PREFIX,
    PROPERTIES,
    READER,
    SHARE_GROUP,
    WRITER,
    Scene,
)
from tests.chaos.replicas import compare
from tests.chaos.stock_producers import STOCK, StockProducer
from tests.tools.cluster_processes import KAFKA, ClusterProcesses, Program
from tests.tools.java_tools import kafka_classpath, run_tool
from tests.tools.kafka_release import BY_NUMBER
from tests.tools.waiting import wait_until

PARTITIONS = 3
TOPICS = 100
FED = 60
"""Records of each partition that the copier gets for each step."""
PATIENCE_S = 600.0
EXAMPLES = 5
VALUES_OF_A_PRODUCER = 10_000_000


class Load:
    """All clients of a round."""

    def __init__(self, cluster: ClusterProcesses, scene: Scene, topics: int, folder: Path) -> None:
        assert cluster.login is not None
        self._servers = cluster.bootstrap
        self._admin = cluster.login
        self._view = ClusterView(cluster)
        writer, self._reader, copier = (scene.login(u) for u in (WRITER, READER, COPIER))
        live = {maker: f"{PREFIX}{maker.client}" for maker in STOCK}
        self._source, self._target, opened = (f"{PREFIX}{n}" for n in ("from", "to", "open"))
        others = [*live.values(), self._source, self._target, opened]
        many = {f"{PREFIX}{number:03}": 2 for number in range(topics - len(others))}
        scene.create([*many.items(), *((topic, PARTITIONS) for topic in others)])
        self.producers: list[StockProducer] = [
            maker(self._servers, live[maker], PARTITIONS, number * VALUES_OF_A_PRODUCER, writer)
            for number, maker in enumerate(STOCK, 1)
        ]
        self.producers.append(ManyTopics(self._servers, many, 0, writer))
        self._classic, self._consumer = Reading("all"), Reading("all")
        self._readings = (
            (CLASSIC, self.producers[0], self._classic),
            (CONSUMER, self.producers[1], self._consumer),
        )
        self._members: list[UpgradeMember] = []
        self._share = ShareMember(self._servers, SHARE_GROUP, self.producers[2].topic, self._reader)
        self._settings = copier.of_librdkafka()
        self._copier = CopierProcess(
            CopierOptions(
                client=CONFLUENT,
                servers=self._servers,
                source=self._source,
                target=self._target,
                partitions=PARTITIONS,
                group=f"{PREFIX}copier",
                batch=10,
                settings=self._settings,
            ),
            folder / "copier.log",
        )
        self._fed = 0
        self._watch: TargetWatch | None = None
        self.transactions = Transactions(self._servers, opened, PREFIX, writer)
        self.keys = [p.key(n) for p in self.producers for n in range(p.partitions)]

    def start(self) -> None:
        """Start all clients, and wait until each makes progress."""
        for producer in self.producers:
            producer.start()
        for protocol, producer, reading in self._readings:
            where = (self._servers, f"{PREFIX}{protocol}", producer.topic)
            for place in range(2):
                member = UpgradeMember(*where, place, protocol, reading, self._reader)
                self._members.append(member)
        self._share.start()
        self._copier.start()
        where = (CONFLUENT, self._servers, self._target, PARTITIONS)
        self._watch = TargetWatch(*where, self._admin.of_librdkafka())
        self.go_on()

    def go_on(self) -> None:
        """Wait until each partition has an acknowledgement, each group and the copier a record,
        from now on."""
        since = time.monotonic()
        read = [reading.total_committed() for _, _, reading in self._readings]
        shared = len(self._share.deliveries)
        feed(
            *(self._servers, self._source, PARTITIONS, self._fed, self._fed + FED),
            self._settings,
        )
        self._fed += FED
        for producer in self.producers:
            for number in range(producer.partitions):
                wait_until(
                    lambda p=producer, n=number: p.last_acknowledgement(n) > since,
                    f"an acknowledgement of {producer.key(number)}, {producer.failure}",
                    limit_s=PATIENCE_S,
                )
        for (protocol, _, reading), before in zip(self._readings, read, strict=True):
            wait_until(
                lambda r=reading, n=before: r.total_committed() > n,
                f"a commit of the {protocol} group, {[m.failure for m in self._members]}",
                limit_s=PATIENCE_S,
            )
        wait_until(
            lambda: len(self._share.deliveries) > shared,
            f"a record of the share group, {self._share.failure}",
            limit_s=PATIENCE_S,
        )
        assert self._watch is not None
        self._watch.wait_for(self._fed * PARTITIONS, PATIENCE_S, self._copier.told)

    def read_all(self) -> dict[str, list[tuple[int, int]]]:
        """Return offset and value of each record, by partition."""
        return {final.key: final.records for final in self._view.read_all(self.keys)}

    def finish(self) -> tuple[list[str], dict[str, int]]:
        """Stop all clients, and return what was lost, came twice or is elsewhere, and counts."""
        for producer in self.producers:
            producer.stop()
        faults = [e for producer in self.producers for e in producer.errors]
        records = self.read_all()
        finals = [Final(key, found) for key, found in records.items()]
        events = [event for producer in self.producers for event in producer.history().events]
        # Values that were sent and never acknowledged may be there: no client relies on them.
        anomalies = [a for a in check(History([*events, *finals])) if a.kind != "phantom"]
        faults += map(str, anomalies)
        faults += self._finish_groups(records)
        faults += self._finish_copier()
        rows = self.transactions.rows(self._admin)
        faults += self.transactions.faults(rows)
        again = sum(count - 1 for count in self._share.deliveries.values())
        return faults, {
            "acknowledged": sum(producer.acknowledged() for producer in self.producers),
            "read by groups": self._classic.total_committed() + self._consumer.total_committed(),
            "copied": self._fed * PARTITIONS,
            "copiers": self._copier.lives,
            "in open transactions": len(rows),
            "delivered by the share group": len(self._share.deliveries),
            "delivered again": again,
        }

    def _finish_groups(self, records: dict[str, list[tuple[int, int]]]) -> list[str]:
        """Wait until each group has all records, and return what it read twice or skipped."""

        def written(producer: StockProducer) -> int:
            return sum(len(records[producer.key(n)]) for n in range(producer.partitions))

        for protocol, producer, reading in self._readings:
            wait_until(
                lambda r=reading, p=producer: r.total_committed() >= written(p),
                f"the end of the {protocol} group",
                limit_s=PATIENCE_S,
            )
        total = written(self.producers[2])
        wait_until(lambda: len(self._share.deliveries) >= total, "all of the share group")
        for member in self._members:
            member.close()
        self._share.stop()
        return [
            fault for _, _, reading in self._readings
            for fault in (*reading.read_again, *reading.skipped)
        ]  # fmt: skip

    def _finish_copier(self) -> list[str]:
        """Stop the copier, and return what is wrong with its target."""
        assert self._watch is not None
        self._copier.kill()
        self._watch.stop()
        found = audit(self._watch.seen, "copy", PARTITIONS, self._fed)
        return [] if found.clean else [f"copier: {found}"]

    def close(self) -> None:
        """End what runs, after an error."""
        self._copier.kill()


class Round:
    """A migration there and back."""

    def __init__(self, release: str, seed: int, topics: int, *, is_dynamic: bool) -> None:
        self._kafka = Program(KAFKA, release=release)
        self._rng = random.Random(seed)
        self._topics = topics
        self._is_dynamic = is_dynamic
        self._folder = Path(tempfile.mkdtemp(prefix="migration-"))
        (self._folder / "cluster").mkdir()
        self._begun = time.monotonic()
        self._cluster = ClusterProcesses(
            3,
            program=self._kafka,
            secured=True,
            properties=PROPERTIES,
            folder=self._folder / "cluster",
            start_timeout_s=PATIENCE_S,
        )

    def run(self) -> list[str]:
        """Run the round, and return its faults. The files stay if there are any."""
        try:
            with self._cluster:
                faults = self._migrate()
                self._cluster.stop()
            folders = {n: node.data_dir for n, node in self._cluster.nodes.items()}
            anomalies, batches = compare(folders)
            self._tell("disks", batches=batches)
            faults += [*map(str, anomalies), *self._cluster.unexpected_deaths()]
        except BaseException:
            self._tell("failed", kept=str(self._folder))
            raise
        if not faults:
            shutil.rmtree(self._folder, ignore_errors=True)
        return faults

    def _migrate(self) -> list[str]:
        scene = Scene(self._cluster, self._folder)
        load = Load(self._cluster, scene, self._topics, self._folder)
        try:
            return self._there_and_back(scene, load)
        finally:
            load.close()

    def _there_and_back(self, scene: Scene, load: Load) -> list[str]:
        if self._is_dynamic:
            self._make_quorum_dynamic()
        page = Page(self._cluster, self._kafka, self._folder)
        check = page.prepare()
        before = scene.description()
        self._tell("before", check=check, features=before["features"])
        load.start()
        for name in ("there", "there-aborted"):
            load.transactions.begin(name)
        load.transactions.begin("left", timeout_ms=60_000)
        on_kafka = load.read_all()
        self._each("ottla", page.replace, load)
        page.compare()
        load.transactions.commit("there")
        load.transactions.abort("there-aborted")
        for name in ("back", "back-aborted"):
            load.transactions.begin(name)
        faults = _differences("on Ottla", before, scene.description())
        on_ottla = load.read_all()
        faults += _moved("on Ottla", on_kafka, on_ottla)
        self._each("kafka", page.return_to_kafka, load)
        page.compare()
        load.transactions.commit("back")
        load.transactions.abort("back-aborted")
        faults += _differences("on Kafka again", before, scene.description())
        faults += _moved("on Kafka again", on_ottla, load.read_all())
        found, counts = load.finish()
        self._tell("finished", **counts)
        return faults + found + page.faults

    def _each(self, program: str, change: Any, load: Load) -> None:
        """Change the program of each node, in a random order."""
        order = self._rng.sample(sorted(self._cluster.nodes), 3)
        for node_id in order:
            change(node_id)
            load.go_on()
            self._tell(f"node {node_id} is {program}")

    def _make_quorum_dynamic(self) -> None:
        """Raise kraft.version, as soon as the voters have registered."""
        words = ("--bootstrap-server", self._cluster.bootstrap)
        words += ("--command-config", str(self._folder / "admin.properties"))
        path = kafka_classpath(self._kafka.release)

        def done() -> bool:
            upgrade = ("upgrade", "--feature", "kraft.version=1")
            return run_tool("kafka-features", *words, *upgrade, classpath=path).returncode == 0

        wait_until(done, "kraft.version 1", pause_s=2)

    def _tell(self, step: str, **values: object) -> None:
        seconds = round(time.monotonic() - self._begun)
        print(json.dumps({"step": step, "s": seconds, **values}), flush=True)


def _differences(when: str, before: dict[str, object], after: dict[str, object]) -> list[str]:
    """Return a line for each part of a description that has changed."""
    return [
        f"{when}: {part} was {before[part]}, is {after[part]}"
        for part in before
        if before[part] != after[part]
    ]


def _moved(
    when: str,
    before: dict[str, list[tuple[int, int]]],
    after: dict[str, list[tuple[int, int]]],
) -> list[str]:
    """Return a line for each partition whose earlier records are not the same any more."""
    return [
        f"{when}: the first {len(records)} records of {key} are others"
        for key, records in before.items()
        if after[key][: len(records)] != records
    ]


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.chaos.migration", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--release", choices=tuple(BY_NUMBER), default=next(iter(BY_NUMBER)))
    parser.add_argument("--topics", type=int, default=TOPICS)
    options = parser.parse_args()
    for client in ("aiokafka", "kafka"):  # they log each broken connection
        logging.getLogger(client).setLevel(logging.CRITICAL)
    wrong = 0
    for number in range(options.rounds):
        seed = options.seed + number
        release = BY_NUMBER[options.release]
        faults = Round(release, seed, options.topics, is_dynamic=seed % 2 == 0).run()
        result = {"round": number + 1, "seed": seed, "release": release, "faults": len(faults)}
        print(json.dumps({**result, "examples": faults[:EXAMPLES]}), flush=True)
        wrong += bool(faults)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
