"""`kill -9` of a group's coordinator at each point of a hand-over.

`python -m tests.chaos.groups.hand_over_kills --kills 50`: three nodes, and a consumer group
(KIP-848) of two to four members that commit all the time. Members come and go; at a step of the
hand-over that follows, the node that coordinates the group is killed, and started again once the
others have taken the group over. No partition is ever with two members, every acknowledged commit
is there for whoever reads it, nobody is fenced, and each time the group comes to rest with all
partitions given out evenly. Prints one line of JSON; an AssertionError says what was broken, and
the exit code is then 1.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from protocol.errors import ErrorCode
from protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from tests.chaos.cluster_view import ClusterView
from tests.chaos.groups.consumer_member import LEAVE_POINTS, POINTS, ConsumerMember
from tests.chaos.groups.ledger import Ledger
from tests.chaos.raw_client import Address, Hung, NotSent, RawClient
from tests.tools.cluster_processes import (
    HOST,
    KAFKA,
    OTTLA,
    ROOT,
    ClusterProcesses,
    Program,
    named_nodes,
)

GROUP, TOPIC = "handed-over", "hand-overs"
PARTITIONS = 6
FEWEST, MOST = 2, 4
PATIENCE_S = 90.0
LOG_TOPIC = "__consumer_offsets"
PROPERTIES = {
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "100",
    "group.consumer.assignment.interval.ms": "0",
    "offsets.topic.num.partitions": "3",
}


@dataclass(slots=True)
class HandOverReport:
    """What a run saw."""

    kills: dict[str, int] = field(default_factory=dict)
    hand_overs: int = 0
    commits: int = 0
    longest_to_rest_s: float = 0.0


class Killer:
    """Kills the coordinator when the step comes that it waits for."""

    def __init__(self, kill: Callable[[int], None]) -> None:
        self._kill = kill
        self._awaited: str | None = None
        self.killed: int | None = None

    def wait_for(self, step: str) -> None:
        """The next time that it comes."""
        self._awaited, self.killed = step, None

    def at(self, step: str, node: int) -> None:
        """A step has come."""
        if step == self._awaited:
            self._awaited, self.killed = None, node
            self._kill(node)


class Run:
    """One group on one cluster."""

    def __init__(self, cluster: ClusterProcesses, rng: random.Random) -> None:
        self.ledger = Ledger()
        self.report = HandOverReport()
        self._cluster = cluster
        self._rng = rng
        self._view = ClusterView(cluster)
        self._killer = Killer(cluster.kill)
        self._members: dict[ConsumerMember, asyncio.Task[None]] = {}
        self._came = 0
        self._addresses: dict[int, Address] = {
            node.node_id: (HOST, node.client_door, cluster.login) for node in cluster.brokers
        }
        self._topic_id = b""

    async def kills(self, points: Sequence[str]) -> None:
        """At one point after the other."""
        self._topic_id = await self._id()
        for _ in range(FEWEST):
            self._comes()
        await self._rests()
        for step in points:
            await self._strike(step)
        await self._judge()

    async def stop(self) -> None:
        """End the members that are left."""
        for task in self._members.values():
            task.cancel()
        await asyncio.gather(*self._members.values(), return_exceptions=True)

    # -- one kill --------------------------------------------------------------------------------

    async def _strike(self, step: str) -> None:
        leaves = step in LEAVE_POINTS
        if len(self._members) == (FEWEST if leaves else MOST):
            await (self._come_and_rest() if leaves else self._leave_and_rest())
        self._killer.wait_for(step)
        if leaves:
            self._leaves()
        else:
            self._comes()
        await self._until(lambda: self._killer.killed is not None, step)
        began = time.monotonic()
        killed = self._killer.killed
        assert killed is not None
        self.report.kills[step] = self.report.kills.get(step, 0) + 1
        before = {member: member.beats for member in self._members}
        await self._until(
            lambda: all(one.beats > before.get(one, 0) for one in self._members), "new coordinator"
        )
        await self._rests()
        self.report.longest_to_rest_s = max(
            self.report.longest_to_rest_s, round(time.monotonic() - began, 2)
        )
        await asyncio.to_thread(self._cluster.start_node, killed)
        await asyncio.to_thread(self._view.full_isr, self._log_keys())

    def _log_keys(self) -> dict[str, int]:
        count = int(PROPERTIES["offsets.topic.num.partitions"])
        return {f"{LOG_TOPIC}-{number}": 3 for number in range(count)}

    async def _come_and_rest(self) -> None:
        self._comes()
        await self._rests()

    async def _leave_and_rest(self) -> None:
        self._leaves()
        await self._rests()

    def _comes(self) -> None:
        self._came += 1
        member = ConsumerMember(
            f"member-{self._came:03}",
            self._addresses,
            self.ledger,
            GROUP,
            (TOPIC, self._topic_id),
            self._killer.at,
            random.Random(self._rng.random()),
        )
        self._members[member] = asyncio.create_task(member.run())

    def _leaves(self) -> None:
        self._rng.choice(list(self._members)).leave()

    # -- waiting and judging ---------------------------------------------------------------------

    async def _rests(self) -> None:
        """Until all partitions are given out evenly, and everybody knows where they stand."""
        await self._until(self._is_at_rest, "rest")

    def _is_at_rest(self) -> bool:
        leaving = [one for one in self._members if one.is_leaving]
        if leaving or not all(member.is_at_rest for member in self._members):
            return False
        sizes = [len(member.owned) for member in self._members]
        epochs = {member.epoch for member in self._members}
        return sum(sizes) == PARTITIONS and max(sizes) - min(sizes) <= 1 and len(epochs) == 1

    async def _until(self, condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            for member, task in list(self._members.items()):
                assert member.fenced == [], member.fenced
                if task.done():
                    task.result()
                    del self._members[member]
            assert self.ledger.wrong == [], self.ledger.wrong
            assert time.monotonic() < deadline, f"no {what}: {self._shown()}"
            await asyncio.sleep(0.01)

    def _shown(self) -> str:
        return ", ".join(f"{one.name} at {one.epoch}: {one.owned}" for one in self._members)

    async def _judge(self) -> None:
        assert self.ledger.wrong == [], self.ledger.wrong
        described = (await self._ask(ConsumerGroupDescribeRequest([GROUP]), 1)).groups[0]
        assert described.group_state == "Stable", described
        shares = {
            one.member_id: sorted(
                part for topic in one.assignment.topic_partitions for part in topic.partitions
            )
            for one in described.members
        }
        assert shares == {member.name: sorted(member.owned) for member in self._members}
        await self.stop()
        topics = [OffsetFetchRequestTopics(TOPIC, partition_indexes=list(range(PARTITIONS)))]
        asked = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(GROUP, None, -1, topics)])
        for part in (await self._ask(asked, 9)).groups[0].topics[0].partitions:
            assert part.committed_offset > 0, f"nobody has committed for {part.partition_index}"
            self.ledger.read(part.partition_index, part.committed_offset, "the judge")
        assert self.ledger.wrong == [], self.ledger.wrong
        self.report.hand_overs = self.ledger.hand_overs
        self.report.commits = self.ledger.commits

    async def _id(self) -> bytes:
        request = MetadataRequest([MetadataRequestTopic(name=TOPIC)])
        with self._client() as client:
            answer = await client.call(min(self._addresses), request, 12)
        topic_id: bytes = answer.topics[0].topic_id
        return topic_id

    async def _ask(self, request: Any, version: int) -> Any:
        """What the coordinator says, when it can."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            with self._client() as client:
                try:
                    node = await client.coordinator(GROUP)
                    if node is not None:
                        answer = await client.call(node, request, version)
                        if answer.groups[0].error_code == ErrorCode.NONE:
                            return answer
                except (NotSent, Hung):
                    pass
            assert time.monotonic() < deadline, f"no answer to {type(request).__name__}"
            await asyncio.sleep(0.1)

    @contextmanager
    def _client(self) -> Iterator[RawClient]:
        client = RawClient("judge", self._addresses, random.Random(1))
        try:
            yield client
        finally:
            client.close()


def run(cluster: ClusterProcesses, points: Sequence[str], seed: int) -> HandOverReport:
    """Kill the coordinator at each of `points`. AssertionError where a promise was broken."""
    view = ClusterView(cluster)
    view.create_topic(TOPIC, PARTITIONS)
    view.coordinator(GROUP)  # makes the group's log

    async def all_of_it() -> HandOverReport:
        one = Run(cluster, random.Random(seed))
        try:
            await one.kills(points)
        finally:
            await one.stop()
        return one.report

    return asyncio.run(all_of_it())


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.groups.hand_over_kills")
    parser.add_argument("--kills", type=int, default=50, help="how many (default 50)")
    parser.add_argument("--seed", type=int, default=None, help="of who leaves, and of moments")
    parser.add_argument("--peer", choices=(OTTLA, KAFKA), default=OTTLA)
    parser.add_argument(
        "--others", type=named_nodes, default={}, help="other nodes, as 2=kafka,3=kafka@RELEASE"
    )
    parser.add_argument("--checkout", type=Path, default=ROOT, help="whose Ottla runs")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.randrange(10**6)
    print(f"seed {seed}", flush=True)
    with ClusterProcesses(
        3,
        program=Program(options.peer, options.checkout),
        others=options.others,
        properties=PROPERTIES,
    ) as cluster:
        points = list(itertools.islice(itertools.cycle(POINTS), options.kills))
        report = run(cluster, points, seed)
        deaths = cluster.unexpected_deaths()
    print(
        json.dumps(
            {**asdict(report), "peer": options.peer, "others": options.others, "deaths": deaths}
        )
    )
    return 1 if deaths else 0


if __name__ == "__main__":
    sys.exit(main())
