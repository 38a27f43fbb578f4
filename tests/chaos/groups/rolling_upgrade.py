"""A live group of ten is upgraded member by member to the consumer protocol, and back, under load.

`python -m tests.chaos.groups.rolling_upgrade`, beside Apache Kafka (or `--peer ottla`): a producer
writes all the time, ten confluent-kafka members read and commit. One after another is closed and
started again with `group.protocol=consumer` (KIP-848), then one after another with the classic
protocol. Every record is read in turn, none after it was committed, and the group's type is what it
has to be on the way. Prints one line of JSON a peer, with the longest pauses by stage; the exit
code is 1 where a promise was broken.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from typing import Any

from confluent_kafka import ConsumerGroupType, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from ottla.testing.broker_process import BrokerProcess
from tests.chaos.groups.reading import Pauses, Reading
from tests.chaos.groups.upgrade_member import CLASSIC, CONSUMER, UpgradeMember
from tests.tools.apache_kafka import ApacheKafka
from tests.tools.cluster_processes import KAFKA, OTTLA

BOTH = "both"
GROUP, TOPIC = "upgraded", "upgrades"
MEMBERS, PARTITIONS = 10, 20
RECORDS_A_SECOND = 1_000
PATIENCE_S = 90.0
REST_S = 2.0
"""How long a group of one type goes on untouched."""
PROPERTIES = {
    "group.initial.rebalance.delay.ms": "0",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "500",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.session.timeout.ms": "45000",
}
"""Of both peers: a member of either protocol hears from its coordinator as often."""


@dataclass(slots=True)
class UpgradeReport:
    """What a run saw: pauses and times in seconds."""

    peer: str
    records: int = 0
    took_s: float = 0.0
    pauses: dict[str, Pauses] = field(default_factory=dict)
    """The longest by stage: of members, new members and partitions."""
    steps_s: dict[str, float] = field(default_factory=dict)
    """From the close of a member until all have partitions again, the longest of each way."""
    read_again: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)


class Load(threading.Thread):
    """Records to all partitions in turn, at an even rate, until `stop`."""

    def __init__(self, servers: str, topic: str, partitions: int) -> None:
        super().__init__(name="load", daemon=True)
        self.sent = 0
        self._topic, self._partitions = topic, partitions
        # Each record once, or what is counted at the end is more than was sent.
        settings = {"enable.idempotence": True, "linger.ms": 5, "log_level": 0}
        self._producer = Producer({"bootstrap.servers": servers, **settings})
        self._stopping = threading.Event()

    def run(self) -> None:
        began = time.monotonic()
        while not self._stopping.wait(0.01):
            due = int((time.monotonic() - began) * RECORDS_A_SECOND)
            for number in range(self.sent, due):
                self._producer.produce(
                    self._topic, b"%d" % number, partition=number % self._partitions
                )
            self.sent = max(self.sent, due)
            self._producer.poll(0)

    def stop(self) -> None:
        """All is written when it returns."""
        self._stopping.set()
        self.join(60)
        assert self._producer.flush(60) == 0


class Upgrade:
    """One run against one broker."""

    def __init__(self, servers: str, peer: str, members: int, rest_s: float) -> None:
        self.report = UpgradeReport(peer)
        self._servers = servers
        self._count = members
        self._rest_s = rest_s
        self._reading = Reading("first assignment")
        self._members: list[UpgradeMember] = []
        self._admin = AdminClient({"bootstrap.servers": servers})
        for made in self._admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)]).values():
            made.result(60)

    def run(self) -> UpgradeReport:
        """There and back. AssertionError where a promise was broken."""
        began = time.monotonic()
        load = Load(self._servers, TOPIC, PARTITIONS)
        load.start()
        try:
            self._members = [self._started(place, CLASSIC) for place in range(self._count)]
            self._until(self._all_have_some, "first assignment")
            self._rests(ConsumerGroupType.CLASSIC)
            self._roll(CONSUMER)
            self._rests(ConsumerGroupType.CONSUMER)
            self._roll(CLASSIC)
            self._rests(ConsumerGroupType.CLASSIC)
            load.stop()
            self._until(lambda: self._reading.total_committed() >= load.sent, "end of the topic")
        finally:
            for member in self._members:
                member.close()
        report = self.report
        report.records = load.sent
        report.took_s = round(time.monotonic() - began, 1)
        report.pauses = self._reading.pauses
        report.read_again = self._reading.read_again[:5]
        report.skipped = self._reading.skipped[:5]
        assert self._reading.total_committed() == load.sent, (
            self._reading.total_committed(),
            load.sent,
        )
        return report

    def _started(self, place: int, protocol: str) -> UpgradeMember:
        return UpgradeMember(self._servers, GROUP, TOPIC, place, protocol, self._reading)

    def _roll(self, protocol: str) -> None:
        """Each member in turn is replaced by one of `protocol`."""
        self._reading.stage = f"to {protocol}"
        for place in range(self._count):
            began = time.monotonic()
            old = self._members[place]
            old.close()
            self._members[place] = self._started(place, protocol)
            self._until(self._all_have_some, f"assignment after {old.name}")
            took_s = round(time.monotonic() - began, 2)
            steps = self.report.steps_s
            steps[protocol] = max(took_s, steps.get(protocol, 0.0))

    def _all_have_some(self) -> bool:
        shares = [member.has for member in self._members]
        return all(shares) and sum(shares) == PARTITIONS

    def _rests(self, kind: Any) -> None:
        """The group is of that type, and is left alone for a while."""
        self._is_of(kind)
        self._reading.stage = f"all {kind.name.lower()}"
        until = time.monotonic() + self._rest_s
        self._until(lambda: time.monotonic() > until, "rest")

    def _is_of(self, kind: Any) -> None:
        def listed() -> bool:
            found = self._admin.list_consumer_groups().result(60).valid
            return [one.type for one in found if one.group_id == GROUP] == [kind]

        self._until(listed, f"group of type {kind}")

    def _until(self, condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            broken = [one for one in self._members if one.failure is not None]
            assert not broken, [(one.name, one.failure) for one in broken]
            shares = {one.name: one.has for one in self._members}
            assert time.monotonic() < deadline, f"no {what}: {shares}"
            time.sleep(0.02)


def measure(
    peer: str, members: int = MEMBERS, rest_s: float = REST_S, **properties: str
) -> UpgradeReport:
    """One run against a broker of its own, with further `properties` (`_` stands for a dot)."""
    keys = {**PROPERTIES, **{name.replace("_", "."): value for name, value in properties.items()}}
    broker: AbstractContextManager[Any] = (
        ApacheKafka(properties=keys) if peer == KAFKA else BrokerProcess(keys)
    )
    with broker as running:
        servers = running.bootstrap if peer == KAFKA else running.bootstrap_servers
        return Upgrade(servers, peer, members, rest_s).run()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.groups.rolling_upgrade")
    parser.add_argument("--peer", choices=(OTTLA, KAFKA, BOTH), default=BOTH)
    parser.add_argument("--members", type=int, default=MEMBERS)
    options = parser.parse_args()
    wrong = 0
    for peer in [OTTLA, KAFKA] if options.peer == BOTH else [options.peer]:
        report = measure(peer, options.members)
        print(json.dumps(asdict(report)), flush=True)
        wrong += bool(report.read_again or report.skipped)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
