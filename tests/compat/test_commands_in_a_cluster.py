"""Commands that ask several nodes: whoever leads a partition, and who leads it next."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from ottla.launcher import ottla_command
from ottla.testing import Cluster
from tests.compat.ottla_command import WITHIN_S, Ottla
from tests.tools.waiting import wait_until

COUNT = 200_000
REPLICATED = {"min.insync.replicas": "2"}


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster(3, REPLICATED) as running:
        yield running


@pytest.fixture
def ottla(cluster: Cluster) -> Ottla:
    return Ottla(cluster.bootstrap_servers)


def feed(producing: subprocess.Popen[bytes], first: int, end: int) -> None:
    assert producing.stdin is not None
    for start in range(first, end, 1000):
        producing.stdin.write(b"".join(b"%d\n" % one for one in range(start, start + 1000)))
        producing.stdin.flush()


def test_a_leader_that_dies_while_records_are_written(cluster: Cluster, ottla: Ottla) -> None:
    """Each line is there once, and those of a partition are in order."""
    ottla("topic", "create", "t", "-p", "3", "-r", "3")
    command = ottla_command("produce", "t")
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=ottla.env
    ) as producing:
        assert producing.stdin is not None and producing.stderr is not None
        feed(producing, 0, COUNT // 2)
        cluster.leader("t", 1).kill()
        feed(producing, COUNT // 2, COUNT)
        producing.stdin.close()
        assert producing.wait(WITHIN_S) == 0, producing.stderr.read()
    by_partition: dict[str, list[int]] = {}
    for line in ottla("consume", "t", "-w").splitlines():
        place, _, _, value = line.decode().replace("\t", " ").split(" ")
        by_partition.setdefault(place, []).append(int(value))
    found = [value for values in by_partition.values() for value in values]
    assert len(found) == COUNT and sorted(found) == list(range(COUNT))
    assert all(values == sorted(values) for values in by_partition.values())


def test_a_reader_goes_on_at_the_next_leader(cluster: Cluster, ottla: Ottla) -> None:
    ottla("topic", "create", "t", "-p", "1", "-r", "3")
    ottla("produce", "t", data=b"before\n")
    command = ottla_command("consume", "t", "--follow")
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=ottla.env) as following:
        assert following.stdout is not None
        assert following.stdout.readline() == b"before\n"
        cluster.leader("t").kill()
        ottla("produce", "t", data=b"after\n")
        assert following.stdout.readline() == b"after\n"
        following.terminate()
    ottla("status", code=1)


def test_groups_and_topics_of_all_nodes(cluster: Cluster, ottla: Ottla) -> None:
    ottla("topic", "create", "t", "-p", "6", "-r", "3")
    names = [f"group-{one}" for one in range(6)]
    ottla("produce", "t", data=b"x\n" * 10)
    for name in names:
        ottla("group", "reset", name, "--topic", "t", "--to", "start", "--execute")
    assert [one["group"] for one in ottla.objects("group", "list")] == names
    assert {one["lag"] for one in ottla.objects("group", "describe", *names)} == {10}
    (topic,) = ottla.objects("topic", "describe", "t")
    partitions = topic["partitions"]
    assert isinstance(partitions, list)
    assert {one["leader"] for one in partitions} == {1, 2, 3}
    assert all(sorted(one["isr"]) == [1, 2, 3] for one in partitions)
    ottla("config", "set", "--broker", "2", "log.cleaner.threads=2")
    for broker, source in (("2", "broker"), ("3", "default")):
        (shown,) = ottla.objects("config", "show", "--broker", broker, "log.cleaner.threads")
        assert shown["source"] == source


def test_a_topic_with_too_few_in_sync_is_waited_for(cluster: Cluster, ottla: Ottla) -> None:
    ottla("topic", "create", "t", "-p", "1", "-r", "3")
    leader = cluster.leader("t")
    others = [one for one in cluster.brokers if one is not leader]
    command = ottla_command("produce", "t")
    others[0].kill()
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=ottla.env
    ) as producing:
        assert producing.stdin is not None
        producing.stdin.write(b"one\n")
        producing.stdin.close()
        wait_until(lambda: leader.requests("Produce"), "a Produce that is refused")
        others[0].restart()
        assert producing.wait(WITHIN_S) == 0
    assert ottla("consume", "t") == b"one\n"
