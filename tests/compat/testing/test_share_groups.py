"""The helpers beside confluent-kafka's share consumer: a share group's state, deliveries and dead
letters, and what is said if they are not as expected.

They run at a cluster that runs already, too (`--broker=apache-kafka`).
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import AcknowledgeType, Message, ShareConsumer

from ottla.testing import Broker
from ottla.testing.errors import Misuse, OttlaError
from ottla.testing.records import Record
from ottla.testing.topic import NotAsExpected
from tests.tools.waiting import wait_until

COMMIT_S = 60.0
LETTER_TOPIC = "errors.deadletterqueue.topic.name"


class Workers:
    """A share group whose members acknowledge each record explicitly."""

    def __init__(self, ottla: Broker) -> None:
        self.ottla = ottla
        self.jobs = ottla.topic("jobs")
        self.group = f"{self.jobs.name}-workers"
        ottla.configure_group(self.group, {"share.auto.offset.reset": "earliest"})
        self._members: list[ShareConsumer] = []

    def member(self) -> ShareConsumer:
        member = ShareConsumer(
            {
                "bootstrap.servers": self.ottla.bootstrap_servers,
                "group.id": self.group,
                "share.acknowledgement.mode": "explicit",
            }
        )
        member.subscribe([self.jobs.name])
        self._members.append(member)
        return member

    def close(self) -> None:
        for member in self._members:
            member.close()
        self._members.clear()


@pytest.fixture
def workers(ottla: Broker) -> Iterator[Workers]:
    group = Workers(ottla)
    yield group
    group.close()


def polled(member: ShareConsumer) -> dict[bytes, Message]:
    """Return the records of the first poll that has any, by value."""
    records: list[Message] = []

    def has_records() -> bool:
        records.extend(member.poll(0.5))
        return bool(records)

    wait_until(has_records, "records come")
    return {record.value() or b"": record for record in records}


def values(records: list[Record]) -> list[str]:
    return [record.text() for record in records]


def test_how_far_a_share_group_is(ottla: Broker, workers: Workers) -> None:
    jobs, group = workers.jobs, workers.group
    jobs.seed(["one", "two", "three"])
    ottla.wait_for_group(group, state="Dead")
    member = workers.member()
    records = polled(member)
    ottla.wait_for_group(group, members=1)
    with pytest.raises(NotAsExpected) as told:
        ottla.wait_idle(group, timeout=0.05)
    assert str(told.value).splitlines() == [
        f"group {group}: all records finished expected within 0.05 s: it is Stable with 1 member "
        "(rdkafka)",
        f"  {jobs.name}-0: finished nothing, end 3, lag 3",
    ]
    member.acknowledge(records[b"one"])
    member.acknowledge(records[b"three"], AcknowledgeType.REJECT)
    member.commit_sync(COMMIT_S)
    ottla.assert_committed(group, jobs, lag=1, offsets={0: 1})
    with pytest.raises(NotAsExpected, match="a lag of 0 in jobs.*: it is Stable with 1 member .*"):
        ottla.assert_committed(group, jobs, timeout=0.05)
    with pytest.raises(NotAsExpected, match=f"{jobs.name}-0: finished before 1, end 3, lag 1"):
        ottla.wait_idle(group, timeout=0.05)
    with pytest.raises(OttlaError, match=f"{group} is a share group, which never rebalances"):
        ottla.rebalance(group)
    member.acknowledge(records[b"two"])
    member.commit_sync(COMMIT_S)
    ottla.wait_idle(group, topics=[jobs])
    ottla.assert_committed(group, jobs, offsets={0: 3})
    workers.close()
    ottla.wait_for_group(group, members=0, state="Empty")
    ottla.delete_group(group)
    ottla.wait_for_group(group, state="Dead")


def test_what_became_of_each_record(ottla: Broker, workers: Workers) -> None:
    jobs, group = workers.jobs, workers.group
    jobs.seed(["slow", "good", "bad", "late"])
    ottla.assert_delivered(group, jobs, state="available", deliveries=0, count=4)
    member = workers.member()
    records = polled(member)
    member.acknowledge(records[b"slow"], AcknowledgeType.RELEASE)
    member.acknowledge(records[b"good"])
    member.acknowledge(records[b"bad"], AcknowledgeType.REJECT)
    member.commit_sync(COMMIT_S)
    found = ottla.assert_delivered(group, jobs, state="available", deliveries=1)
    assert values(found) == ["slow"]
    assert values(ottla.assert_delivered(group, jobs, count=2)) == ["good", "bad"]
    ottla.assert_delivered(group, jobs, value="good", state="acknowledged", deliveries=1)
    ottla.assert_delivered(group, jobs, value="bad", state="archived", deliveries=1)
    with pytest.raises(NotAsExpected) as told:
        ottla.assert_delivered(group, jobs, value="slow", deliveries=2, timeout=0)
    assert str(told.value).splitlines() == [
        f"group {group}: a record of jobs with value='slow' finished after 2 deliveries expected "
        "within 0 s, 0 found: it is Stable with 1 member (rdkafka)",
        f"  {jobs.name}-0@0 key=null value=b'slow': available, 1 delivery ended; a member may have "
        "it locked",
    ]
    member.acknowledge(records[b"late"])
    for record in polled(member).values():
        member.acknowledge(record)
    member.commit_sync(COMMIT_S)
    jobs.seed(["last"])
    for record in polled(member).values():
        member.acknowledge(record)
    member.commit_sync(COMMIT_S)
    ottla.assert_delivered(group, jobs, count=5)
    with pytest.raises(NotAsExpected, match="value=b'bad': finished, as all records before it"):
        ottla.assert_delivered(group, jobs, value="bad", state="archived", timeout=0)


def test_records_that_became_dead_letters(ottla: Broker, workers: Workers) -> None:
    jobs, group = workers.jobs, workers.group
    jobs.seed([("k", "good"), ("k", "bad")])
    with pytest.raises(NotAsExpected, match=f"0 found: the group has no {LETTER_TOPIC}\n.*'bad'$"):
        ottla.assert_dead_letter(group, jobs, value="bad", timeout=0)
    dlq = ottla.topic("dlq.jobs")
    ottla.configure_group(group, {LETTER_TOPIC: dlq.name, "share.delivery.count.limit": 2})
    with pytest.raises(NotAsExpected, match="has errors.deadletterqueue.group.enable=false"):
        ottla.assert_dead_letter(group, jobs, value="bad", timeout=0)


def test_a_poison_record_becomes_a_dead_letter(ottla: Broker, workers: Workers) -> None:
    jobs, group = workers.jobs, workers.group
    dlq = ottla.topic("dlq.jobs", configs={"errors.deadletterqueue.group.enable": "true"})
    ottla.configure_group(group, {LETTER_TOPIC: dlq.name, "share.delivery.count.limit": 2})
    jobs.seed([("k", "good"), ("k", "bad")])
    member = workers.member()
    for _ in range(2):
        for value, record in polled(member).items():
            kind = AcknowledgeType.RELEASE if value == b"bad" else AcknowledgeType.ACCEPT
            member.acknowledge(record, kind)
        member.commit_sync(COMMIT_S)
    (letter,) = ottla.assert_dead_letter(group, jobs, value="bad")
    assert letter.topic == dlq.name and letter.header("__dlq.errors.delivery.count") == b"2"
    ottla.assert_dead_letter(group, jobs, count=1)
    ottla.wait_idle(group)
    with pytest.raises(NotAsExpected) as told:
        ottla.assert_dead_letter(group, jobs, value="good", timeout=0)
    assert str(told.value).splitlines() == [
        f"group {group}: a record of jobs with value='good' among the dead letters expected within "
        f"0 s, 0 found: topic {dlq.name} has 1 dead letter of the group",
        f"  {jobs.name}-0@0 key=b'k' value=b'good'",
    ]


def test_what_cannot_be_asked(ottla: Broker, workers: Workers) -> None:
    jobs, group = workers.jobs, workers.group
    with pytest.raises(Misuse, match="no record is ever done: the states are finished, available"):
        ottla.assert_delivered(group, jobs, state="done")
    with pytest.raises(NotAsExpected, match="it is not there .*\n  no such record is in jobs"):
        ottla.assert_delivered(group, jobs, timeout=0)
    with pytest.raises(NotAsExpected, match="\n  there is no topic nowhere"):
        ottla.assert_delivered(group, "nowhere", timeout=0)
    with pytest.raises(OttlaError, match=r"group .* was not configured: INVALID_CONFIG"):
        ottla.configure_group(group, {"share.delivery.count.limit": -1})


def test_members_that_are_left_over_are_removed(ottla: Broker, workers: Workers) -> None:
    workers.member()
    ottla.wait_for_group(workers.group, members=1)
    ottla.delete_group(workers.group)
