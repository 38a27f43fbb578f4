"""`ottla group`, `config` and `status` on a share group; Kafka's own tool answers the same.

`pytest tests/compat/test_share_groups.py --broker=apache-kafka` runs it in front of Apache Kafka.
"""

from __future__ import annotations

import json
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.compat.ottla_command import Ottla
from tests.compat.share_scene import (
    BAD,
    RECORDS,
    RELEASES,
    SLOW,
    make_share_scene,
    member,
)
from tests.tools.kafka_tools import KafkaTools
from tests.tools.waiting import wait_until

pytestmark = [pytest.mark.java, pytest.mark.timeout(300)]


@pytest.fixture
def ottla(broker: str) -> Ottla:
    return Ottla(broker)


@pytest.fixture
def group(ottla: Ottla, broker: str) -> str:
    """The group of the scene, which reads the topic of the same name."""
    name = f"share-{uuid.uuid4().hex}"
    make_share_scene(broker, name, name)
    return name


def described(ottla: Ottla, group: str, *words: str) -> dict[str, object]:
    (found,) = ottla.objects("group", "describe", group, *words)
    return found


def only_partition(ottla: Ottla, group: str) -> dict[str, object]:
    partitions = described(ottla, group)["partitions"]
    assert isinstance(partitions, list) and len(partitions) == 1
    return dict(partitions[0])


def test_what_the_group_has_finished_and_what_holds_it_up(
    ottla: Ottla, group: str, tools: KafkaTools
) -> None:
    (listed,) = (
        one for one in ottla.objects("group", "list", "--type", "share") if one["group"] == group
    )
    assert (listed["type"], listed["state"]) == ("share", "Empty")
    row = only_partition(ottla, group)
    assert (row["start"], row["end"], row["lag"], row["members"]) == (SLOW, len(RECORDS), 1, 0)
    (line,) = (
        line
        for line in tools("kafka-share-groups", "--describe", "--group", group).lines
        if line.startswith(group)
    )
    assert line.split()[1:] == [group, "0", str(SLOW), "1"]
    ranges = described(ottla, group, "--deliveries")["deliveries"]
    assert isinstance(ranges, list)
    states = {one["first"]: (one["state"], one["deliveries"]) for one in ranges}
    state, deliveries = states[SLOW]
    assert state == "available" and deliveries >= RELEASES
    assert states[BAD] == ("archived", 1)
    status = json.loads(ottla("status", "--groups", "--json"))
    held_up = [one["trouble"] for one in status["share_groups"]["held_up"] if one["group"] == group]
    assert held_up[0] == "1 record waits, and the group has no members"


def test_a_group_with_members_is_shown_and_left_alone(
    ottla: Ottla, group: str, broker: str
) -> None:
    worker = member(broker, group, group)
    try:
        wait_until(lambda: only_partition(ottla, group)["members"] == 1, "the worker has joined")
        (shown,) = described(ottla, group)["members"]  # type: ignore[misc]
        assert (shown["member"], shown["assignment"]) == ("worker", {group: [0]})
        for words in (("reset", group, "-t", group, "--to", "start"), ("delete", group)):
            ottla("group", *words, "--execute", code=1)
            assert "stop them first" in ottla.said
    finally:
        worker.close()


def test_reset_and_delete(ottla: Ottla, group: str) -> None:
    reset = ("group", "reset", group, "-t", group, "--to", "start")
    assert ottla.objects(*reset)[0]["new"] == 0
    assert only_partition(ottla, group)["start"] == SLOW
    ottla(*reset, "--execute")
    row = only_partition(ottla, group)
    assert (row["start"], row["lag"]) == (0, len(RECORDS))
    ottla("group", "reset", group, "-t", group, "--to", "@2000-01-01", "--execute")
    assert only_partition(ottla, group)["start"] == 0
    ottla("group", "reset", group, "--all-topics", "--to", "end", "--execute")
    assert only_partition(ottla, group)["lag"] == 0
    ottla("group", "delete", group, "-t", group, "--execute")
    assert described(ottla, group)["partitions"] == []
    ottla("group", "delete", group, "--execute")
    ottla("group", "describe", group, code=1)
    assert f"no group {group}" in ottla.said


def test_two_workers_share_the_records_of_a_partition(ottla: Ottla) -> None:
    name = f"share-{uuid.uuid4().hex}"
    ottla("topic", "create", name, "-p", "1")
    ottla("config", "set", "--group", name, "share.auto.offset.reset=earliest")
    values = [str(number) for number in range(20)]
    ottla("produce", name, data="".join(f"{value}\n" for value in values).encode())
    worker = ("consume", name, "--share-group", name)
    printed = ottla(*worker, "-n", "7").split()
    assert len(printed) == 7 and only_partition(ottla, name)["lag"] == 13
    with ThreadPoolExecutor() as pool:
        outputs = list(pool.map(lambda _: ottla(*worker), range(2)))
    printed += [value for output in outputs for value in output.split()]
    assert sorted(printed) == sorted(value.encode() for value in values)
    assert only_partition(ottla, name)["lag"] == 0
