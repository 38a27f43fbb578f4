"""Groups with the Python clients and Java's: members that die, come back, are many or few.

Of both protocols: where a client's name ends in `/consumer`, the broker assigns (KIP-848). Every
test runs with two Python clients, others each time. The Java client takes part where it shows
most; `--long` runs every test with every client, in groups of both protocols.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

import pytest
from confluent_kafka import KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from protocol.errors import ErrorCode
from protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from tests.clients.group_conversation import describing
from tests.clients.wire_client import WireClient
from tests.compat.group_member import (
    CLIENTS,
    CONSUMER_PROTOCOL,
    JAVA,
    STRATEGIES,
    GroupMember,
    set_session,
    until,
)
from tests.tools.waiting import wait_until

_turns = itertools.count()


def clients(*always: str, of: Sequence[str] = CLIENTS) -> list[Any]:
    """Return the clients `of`; all are long but those of `always` and two Python clients in turn.

    The turn passes from test to test, so that each client has its share in `make test`.
    """
    python = [name for name in of if not name.startswith(JAVA)]
    turn = next(_turns)
    kept = {*always, *(python[(turn + place) % len(python)] for place in range(2) if python)}
    return [pytest.param(name, marks=marks(name, name in kept)) for name in of]


def marks(client: str, always: bool) -> list[pytest.MarkDecorator]:
    """Return the marks of a client's case, which is long unless it runs always."""
    java = [pytest.mark.java] if client.startswith(JAVA) else []
    return java if always else [*java, pytest.mark.long]


JAVA_CONSUMER = JAVA + CONSUMER_PROTOCOL
SHORT_SESSION_MS = 6_000
CLASSIC = [name for name in CLIENTS if not name.endswith(CONSUMER_PROTOCOL)]
ASSIGNED = [name for name in CLIENTS if name.endswith(CONSUMER_PROTOCOL)]
KEPT = ("kafka-python", "aiokafka")
"""Clients whose first strategy is tried in `make test`."""
STRATEGY_MATRIX = [
    pytest.param(name, strategy, marks=marks(name, always=name in KEPT and not place))
    for name in CLIENTS
    for place, strategy in enumerate(STRATEGIES[name])
]


@pytest.fixture
def admin(broker: str) -> AdminClient:
    """An administrator."""
    return AdminClient({"bootstrap.servers": broker})


def create(admin: AdminClient, partitions: int, prefix: str = "groups") -> str:
    """A new topic."""
    name = f"{prefix}-{uuid4().hex[:8]}"
    for future in admin.create_topics([NewTopic(name, partitions, 1)]).values():
        future.result(60)
    return name


def produce(broker: str, topic: str, partitions: int, count: int = 5, tag: str = "v") -> set[str]:
    """`count` records in each partition; their values."""
    producer = Producer({"bootstrap.servers": broker})
    values = set()
    for partition in range(partitions):
        for number in range(count):
            value = f"{tag}-{partition}-{number}"
            producer.produce(topic, value, partition=partition)
            values.add(value)
    assert producer.flush(60) == 0
    return values


def shared(members: Sequence[GroupMember], topic: str, partitions: int) -> bool:
    """Whether the members own all partitions, each of them some, and none twice."""
    owned = [one for member in members for one in member.assigned]
    everything = sorted((topic, partition) for partition in range(partitions))
    return sorted(owned) == everything and all(member.assigned for member in members)


def values_of(*members: GroupMember) -> set[str]:
    """What the members read."""
    return {record[3] for member in members for record in member.records}


def generation(broker: str, group: str) -> str:
    """State and members' ids of a group."""
    with WireClient(int(broker.rsplit(":", 1)[1])) as wire:
        described = wire.call(ConsumerGroupDescribeRequest([group]), 1).groups[0]
        if described.error_code == ErrorCode.GROUP_ID_NOT_FOUND:
            described = wire.call(describing(group), 5).groups[0]
    return f"{described.group_state} {sorted(m.member_id for m in described.members)}"


@pytest.mark.parametrize("client", clients(JAVA_CONSUMER))
def test_three_members_and_one_is_killed(client: str, broker: str, admin: AdminClient) -> None:
    topic = create(admin, 6)
    set_session(broker, topic, SHORT_SESSION_MS)
    options = {"session_ms": SHORT_SESSION_MS}
    members = [GroupMember(client, broker, topic, topic, **options) for _ in range(3)]
    try:
        until(lambda: shared(members, topic, 6), "share for each of three")
        wanted = produce(broker, topic, 6)
        until(lambda: values_of(*members) == wanted, "records")
        killed, *left = members
        killed.kill()
        until(lambda: shared(left, topic, 6), "share for each of two")
        more = produce(broker, topic, 6, tag="after")
        until(lambda: more <= values_of(*left), "records after the death")
    finally:
        for member in members:
            member.close()


@pytest.mark.parametrize("client", clients())
def test_a_static_member_restarts_without_a_rebalance(
    client: str, broker: str, admin: AdminClient
) -> None:
    topic = create(admin, 4)
    with GroupMember(client, broker, topic, topic, instance="one") as one:
        two = GroupMember(client, broker, topic, topic, instance="two")
        until(lambda: shared([one, two], topic, 4), "share for each of two")
        before, changes = list(two.assigned), one.assignments
        if client.endswith(CONSUMER_PROTOCOL):
            two.close()  # the instance is in use until its member leaves or its session is over
        else:
            two.kill()
        with GroupMember(client, broker, topic, topic, instance="two") as again:
            until(lambda: again.assigned == before, "the same share")
            wanted = produce(broker, topic, 4)
            until(lambda: values_of(one, again) == wanted, "records")
            assert one.assignments == changes


@pytest.mark.parametrize("client", clients(of=CLASSIC))
def test_a_second_member_of_one_instance_fences_the_first(
    client: str, broker: str, admin: AdminClient
) -> None:
    topic = create(admin, 2)
    # kafka-python says so only when it commits.
    options = {"instance": "me", "auto_commit": True}
    with GroupMember(client, broker, topic, topic, **options) as first:
        until(lambda: shared([first], topic, 2), "share")
        with GroupMember(client, broker, topic, topic, **options) as second:
            until(lambda: shared([second], topic, 2), "share of the second")
            if client != "aiokafka":  # it logs the error, and rejoins
                until(lambda: first.failed is not None, "end of the first")
                assert "fenced" in str(first.failed).lower()


@pytest.mark.parametrize("client", clients(of=ASSIGNED))
def test_a_second_member_of_one_instance_is_not_let_in(
    client: str, broker: str, admin: AdminClient
) -> None:
    topic = create(admin, 2)
    with GroupMember(client, broker, topic, topic, instance="me") as first:
        until(lambda: shared([first], topic, 2), "share")
        with GroupMember(client, broker, topic, topic, instance="me") as second:
            until(lambda: second.failed is not None, "end of the second")
            assert "instance" in str(second.failed).lower()
        wanted = produce(broker, topic, 2)
        until(lambda: values_of(first) == wanted, "records of the first")


@pytest.mark.parametrize("client", clients())
def test_what_is_paused_is_read_when_it_is_resumed(
    client: str, broker: str, admin: AdminClient
) -> None:
    topic = create(admin, 2)
    with GroupMember(client, broker, topic, topic) as member:
        until(lambda: shared([member], topic, 2), "share")
        first = produce(broker, topic, 2)
        until(lambda: values_of(member) == first, "records")
        member.obey("pause 0")
        wanted = first | produce(broker, topic, 2, tag="later")
        others = {value for value in wanted if not value.startswith("later-0-")}
        until(lambda: values_of(member) >= others, "records of the other partition")
        assert values_of(member) == others
        member.obey("resume 0")
        until(lambda: values_of(member) == wanted, "records of both")


@pytest.mark.parametrize("client", clients())
def test_members_restart_one_after_another(client: str, broker: str, admin: AdminClient) -> None:
    topic = create(admin, 4)
    members = [GroupMember(client, broker, topic, topic) for _ in range(2)]
    every = list(members)
    wanted: set[str] = set()
    try:
        until(lambda: shared(members, topic, 4), "share for each of two")
        for turn in range(2):
            wanted |= produce(broker, topic, 4, tag=f"turn{turn}")
            until(lambda now=set(wanted): values_of(*every) == now, "records")
            for member in members:
                member.commit("sync")
            members.pop(0).close()
            members.append(GroupMember(client, broker, topic, topic))
            every.append(members[-1])
            until(lambda: shared(members, topic, 4), "share for each of two again")
        wanted |= produce(broker, topic, 4, tag="last")
        until(lambda: values_of(*every) == wanted, "records after the restarts")
        read = [record[:3] for member in every for record in member.records]
        assert len(read) == len(set(read)), "what was committed is not read again"
    finally:
        for member in every:
            member.close()


@pytest.mark.parametrize(("client", "strategy"), STRATEGY_MATRIX)
def test_strategies(client: str, strategy: str, broker: str, admin: AdminClient) -> None:
    topic = create(admin, 5)
    options = {"strategy": strategy}
    with GroupMember(client, broker, topic, topic, **options) as one:
        until(lambda: shared([one], topic, 5), "all for one")
        with GroupMember(client, broker, topic, topic, **options) as two:
            until(lambda: shared([one, two], topic, 5), "share for each of two")
            wanted = produce(broker, topic, 5)
            until(lambda: values_of(one, two) == wanted, "records")
        until(lambda: shared([one], topic, 5), "all for one again")


@pytest.mark.parametrize("how", ["sync", "async", "auto"])
@pytest.mark.parametrize("client", clients())
def test_a_commit_is_where_the_next_one_goes_on(
    client: str, how: str, broker: str, admin: AdminClient
) -> None:
    topic = create(admin, 1)
    wanted = produce(broker, topic, 1, 10)
    options = {"auto_commit": how == "auto"}
    with GroupMember(client, broker, topic, topic, **options) as member:
        until(lambda: values_of(member) == wanted, "records")
        if how != "auto":
            member.commit(how)
        until(lambda: committed(broker, topic) == 10, "committed offset")
    more = produce(broker, topic, 1, 3, tag="later")
    with GroupMember(client, broker, topic, topic, **options) as member:
        until(lambda: more <= values_of(member), "records after the commit")
        assert values_of(member) == more


def committed(broker: str, topic: str) -> int:
    """Committed offset of partition 0 of the group that is named as its topic."""
    from confluent_kafka import Consumer

    consumer = Consumer({"bootstrap.servers": broker, "group.id": topic})
    try:
        offset: int = consumer.committed([TopicPartition(topic, 0)], timeout=60)[0].offset
        return offset
    finally:
        consumer.close()


@pytest.mark.parametrize("client", clients(JAVA_CONSUMER))
def test_a_pattern_sees_a_new_topic(client: str, broker: str, admin: AdminClient) -> None:
    prefix = f"pattern-{uuid4().hex[:8]}"
    first = create(admin, 1, prefix)
    with GroupMember(client, broker, prefix, pattern=f"{prefix}.*") as member:
        until(lambda: member.assigned == [(first, 0)], "assignment of the first topic")
        second = create(admin, 1, prefix)
        both = sorted([(first, 0), (second, 0)])
        until(lambda: sorted(member.assigned) == both, "assignment of the new topic")
        wanted = produce(broker, second, 1)
        until(lambda: values_of(member) == wanted, "records of the new topic")


@pytest.mark.parametrize("client", clients())
def test_growth_of_partitions_reaches_the_group(
    client: str, broker: str, admin: AdminClient
) -> None:
    topic = create(admin, 1)
    with GroupMember(client, broker, topic, topic) as member:
        until(lambda: shared([member], topic, 1), "assignment")
        for future in admin.create_partitions([NewPartitions(topic, 3)]).values():
            future.result(60)
        until(lambda: shared([member], topic, 3), "assignment of the new partitions")


@pytest.mark.parametrize("client", clients())
def test_where_to_start_without_an_offset(client: str, broker: str, admin: AdminClient) -> None:
    topic = create(admin, 1)
    old = produce(broker, topic, 1, tag="old")
    options: dict[str, Any] = {}
    with (
        GroupMember(client, broker, f"{topic}-e", topic, reset="earliest", **options) as earliest,
        GroupMember(client, broker, f"{topic}-l", topic, reset="latest", **options) as latest,
        GroupMember(client, broker, f"{topic}-n", topic, reset="none", **options) as none,
    ):
        until(lambda: values_of(earliest) == old, "old records")
        until(lambda: latest.assigned == [(topic, 0)], "assignment")
        new: set[str] = set()

        def reads_new() -> bool:  # latest is wherever the log ends when it asks
            new.update(produce(broker, topic, 1, 1, tag=f"new{len(new)}"))
            return bool(values_of(latest))

        until(reads_new, "new records")
        until(lambda: new <= values_of(earliest), "new records, too")
        assert not values_of(latest) & old
        until(lambda: none.failed is not None, "refusal to guess")
        assert not none.records


@pytest.mark.parametrize("client", clients())
def test_members_that_close_leave_the_group_empty(
    client: str, broker: str, admin: AdminClient
) -> None:
    topic = create(admin, 2)
    with GroupMember(client, broker, topic, topic) as member:
        until(lambda: shared([member], topic, 2), "assignment")
        assert generation(broker, topic).startswith("Stable")
    until(lambda: generation(broker, topic).startswith("Empty"), "empty group", 40)
    for future in admin.delete_consumer_groups([topic]).values():
        future.result(60)
    assert generation(broker, topic).startswith("Dead")


@pytest.mark.parametrize("client", clients(JAVA_CONSUMER, of=[JAVA, JAVA_CONSUMER]))
def test_copies_in_transactions_come_once(client: str, broker: str, admin: AdminClient) -> None:
    """Two members copy with their offsets in transactions; one leaves, one takes over."""
    topic, copies = create(admin, 2), create(admin, 1, "copies")

    def copier(number: int) -> GroupMember:
        copying = {"copies_to": copies, "transactional_id": f"{topic}-{number}"}
        return GroupMember(client, broker, topic, topic, **copying)

    def copied() -> list[str]:
        return read_committed(broker, copies)

    with copier(0) as one, copier(1) as two:
        until(lambda: shared([one, two], topic, 2), "share for each of two")
        wanted = produce(broker, topic, 2, 20)
        until(lambda: values_of(one, two) == wanted, "records")
        two.close()
        until(lambda: shared([one], topic, 2), "all for one")
        wanted |= produce(broker, topic, 2, 20, tag="after")
        until(lambda: len(copied()) >= len(wanted), "copies")
        assert one.failed is None and two.failed is None
    assert sorted(copied()) == sorted(wanted)


def read_committed(broker: str, topic: str) -> list[str]:
    """All values of partition 0 that are committed."""
    from confluent_kafka import Consumer

    consumer = Consumer(
        {
            "bootstrap.servers": broker,
            "group.id": "nobody",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
    )
    try:
        place = TopicPartition(topic, 0, 0)
        consumer.assign([place])
        found: list[str] = []
        while True:
            message = wait_until(lambda: consumer.poll(1), "a record, or the end of them")
            if (error := message.error()) is not None:
                assert error.code() == KafkaError._PARTITION_EOF, error
                return found
            found.append((message.value() or b"").decode())
    finally:
        consumer.close()
