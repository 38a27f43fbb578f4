"""`python -m bench.consumer_groups.turns`: the loop's longest turns for a large group.

A group that the broker assigns, of 500 members and 5,000 partitions, joins and changes in every
possible way. After each change the node's metrics show its longest turn, in CPU time of the loop's
thread. Heartbeats come one after the other, as those of 500 processes do.

Then a member's heartbeat without changes is replayed, in groups of 1, 100 and 1,000 members in
turns. Only for Ottla, because Kafka has no loop. The status is 1 if a turn took more than 10 ms.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from statistics import median
from typing import TypeAlias

from bench import groups as classic
from bench.consumer_groups.group import ConsumerProtocolGroup, configure
from bench.consumer_groups.ledger import Ledger
from bench.consumer_groups.member import ConsumerProtocolMember
from bench.groups import find_coordinator
from bench.innocent.loop_turns import GOAL_S, beyond, longest, turns_of
from bench.peers import BenchPeer, start_peer
from bench.replayer import ReplayedConnection, replay_targets
from bench.wire import Wire, create_topic
from broker.loop.loop_turns import BOUNDS_S
from protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest

MEMBERS, PARTITIONS = 500, 5_000
SENT_AWAY = 100
LATER_PARTITIONS = 50
LATER = "later"
SETTINGS = {
    "consumer.assignment.interval.ms": "0",
    "consumer.heartbeat.interval.ms": "500",
    "consumer.session.timeout.ms": "15000",
}
DESCRIBE_VERSION = 1
SIZES = (1, 100, 1_000)
ROUNDS, WINDOW_S = 15, 0.5

Did: TypeAlias = Callable[[], object]


@dataclass(frozen=True, slots=True)
class ChangeCost:
    """The cost of a change.

    `longest_s`   an upper bound of the loop's CPU seconds in one turn
    `long_turns`  the number of turns above 10 ms
    `seconds`     the time until all of the change was done
    """

    what: str
    longest_s: float
    long_turns: int
    seconds: float


class Watch:
    """A list of changes, with the node's turns during each."""

    def __init__(self, peer: BenchPeer) -> None:
        self._peer = peer
        self.changes: list[ChangeCost] = []

    def change(self, what: str, do: Did) -> None:
        """Make a change and record its turns."""
        before, began = turns_of(self._peer.metrics_port), time.monotonic()
        do()
        seconds = time.monotonic() - began
        after = turns_of(self._peer.metrics_port)
        longest_s = longest(before, after) or 0.0
        self.changes.append(ChangeCost(what, longest_s, int(beyond(before, after) or 0), seconds))


def changes_of(peer: BenchPeer) -> list[ChangeCost]:
    """Make all changes of a large group, and return their costs."""
    create_topic(peer.port, classic.TOPIC, PARTITIONS)
    find_coordinator(peer.port)
    configure(peer.port, "changing", SETTINGS)
    watch = Watch(peer)
    watch.change("nothing", lambda: None)
    group = ConsumerProtocolGroup(peer.port, "changing", PARTITIONS, classic.TOPIC, LATER)

    def then_settles(do: Did) -> Did:
        """Return a function that changes the group and waits until it is stable."""

        def change() -> None:
            group.spread()
            do()
            group.settle()

        return change

    watch.change(f"{MEMBERS} members join", then_settles(lambda: group.add(MEMBERS)))
    watch.change("one leaves", then_settles(lambda: group.remove(dies=False)))
    watch.change("one comes", then_settles(group.add))
    watch.change("one dies", then_settles(lambda: group.remove(dies=True)))
    group.expect(PARTITIONS + LATER_PARTITIONS)
    new_topic = then_settles(lambda: create_topic(peer.port, LATER, LATER_PARTITIONS))
    watch.change(f"a new topic of {LATER_PARTITIONS} partitions", new_topic)
    watch.change("ConsumerGroupDescribe", lambda: described(peer.port, "changing", MEMBERS - 1))
    sent_away = then_settles(lambda: group.send_away(SENT_AWAY))
    watch.change(f"LeaveGroup of {SENT_AWAY} members", sent_away)
    watch.change("LeaveGroup of all that are left", group.close)
    _migrate(peer, watch)
    return watch.changes


def _migrate(peer: BenchPeer, watch: Watch) -> None:
    """Upgrade a classic group to one that the broker assigns, and downgrade it."""
    group = classic.ClassicProtocolGroup(peer.port, "migrating", MEMBERS, PARTITIONS // MEMBERS)
    with closing(group):
        group.settle()
        group.quiet()
        newcomer = ConsumerProtocolMember(
            peer.port, "migrating", [classic.TOPIC], MEMBERS, Ledger()
        )

        def comes() -> None:
            newcomer.beat()
            newcomer.answered()
            if not newcomer.epoch:
                raise RuntimeError("the group is no consumer group")

        def goes() -> None:
            newcomer.leave()
            newcomer.left()

        watch.change(f"upgrade: a consumer comes to {MEMBERS} classic members", comes)
        described(peer.port, "migrating", MEMBERS + 1)
        watch.change("downgrade: it leaves them", goes)


def described(port: int, name: str, members: int) -> None:
    """Send a ConsumerGroupDescribe. Raises RuntimeError if the number of members differs."""
    wire = Wire(port)
    (group,) = wire.ask(ConsumerGroupDescribeRequest([name]), DESCRIBE_VERSION).groups
    wire.close()
    if group.error_code or len(group.members) != members:
        raise RuntimeError(f"{name} has {len(group.members)} members, error {group.error_code}")


def heartbeats_of(peer: BenchPeer, rounds: int = ROUNDS) -> dict[int, float]:
    """Return, by size of the group, the broker's CPU seconds for a member's heartbeat.

    The heartbeat has no changes; the value is the median of `rounds` turns.
    """
    create_topic(peer.port, "beating", max(SIZES))
    groups = [_settled_group(peer.port, size) for size in SIZES]
    frames = [group.members[0].quiet_frame() for group in groups]
    costs_by_size: dict[int, list[float]] = {size: [] for size in SIZES}
    loads = list(zip(SIZES, frames, groups, strict=True))
    for number in range(rounds):
        for size, frame, group in loads if number % 2 == 0 else reversed(loads):
            cpu = peer.cpu_seconds()
            done = replay_targets([ReplayedConnection(peer.port, [frame])], WINDOW_S)
            costs_by_size[size].append((peer.cpu_seconds() - cpu) / done.answers)
            group.settle()
            group.quiet()
    for group in groups:
        group.close()
    return {size: median(costs) for size, costs in costs_by_size.items()}


def _settled_group(port: int, size: int) -> ConsumerProtocolGroup:
    """Return a stable group of this size, with no heartbeat on its way."""
    group = ConsumerProtocolGroup(port, f"beating-{size}", max(SIZES), "beating")
    group.add(size)
    group.settle()
    group.quiet()
    return group


def table(changes: list[ChangeCost], heartbeats: dict[int, float]) -> Iterator[str]:
    """Yield the lines of the table in Markdown."""
    yield "| change | longest turn, ms CPU | turns above 10 ms | took, s |"
    yield "| --- | --- | --- | --- |"
    for change in changes:
        is_bound = change.longest_s in BOUNDS_S
        longest_ms = f"{'≤ ' if is_bound else ''}{change.longest_s * 1e3:.3g}"
        yield f"| {change.what} | {longest_ms} | {change.long_turns} | {change.seconds:.2f} |"
    yield ""
    yield "| members of the group | broker CPU for a heartbeat, µs |"
    yield "| --- | --- |"
    for size, cost in heartbeats.items():
        yield f"| {size:,} | {cost * 1e6:.1f} |"


@contextmanager
def _running_node(name: str) -> Iterator[BenchPeer]:
    """Run a node for this context."""
    peer = start_peer(name, metrics=True)
    try:
        yield peer
    finally:
        peer.stop()


def main() -> int:
    """Print the turns' tables. Return 1 if a turn of a change is longer than GOAL_S."""
    parser = argparse.ArgumentParser(prog="python -m bench.consumer_groups.turns")
    parser.add_argument("--peer", default="ottla", help="ottla, or ottla@CHECKOUT")
    options = parser.parse_args()
    with _running_node(options.peer) as peer:
        changes = changes_of(peer)
    with _running_node(options.peer) as peer:
        find_coordinator(peer.port)
        heartbeats = heartbeats_of(peer)
    print("\n".join(table(changes, heartbeats)))
    return 1 if any(change.longest_s > GOAL_S for change in changes) else 0


if __name__ == "__main__":
    sys.exit(main())
