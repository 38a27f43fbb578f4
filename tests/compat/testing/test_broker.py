"""`ottla.testing.Broker` and `Cluster` as they are: real processes, forked from a real host."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from confluent_kafka import Consumer, Producer

from ottla.testing import Broker, Cluster
from ottla.testing.errors import BrokerGone, Misuse, StartFailed
from ottla.testing.host import HostProcess, the_host
from ottla.testing.ports import HOST

WITHIN_S = 20


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker() as one:
        yield one


def produce(servers: str, value: bytes) -> None:
    failed: list[object] = []
    producer = Producer({"bootstrap.servers": servers})
    producer.produce("orders", value, on_delivery=lambda error, _: failed.append(error))
    assert producer.flush(WITHIN_S) == 0 and failed == [None]


def consume(servers: str, count: int) -> list[bytes]:
    consumer = Consumer(
        {"bootstrap.servers": servers, "group.id": "g", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe(["orders"])
    found = [one.value() for one in consumer.consume(count, WITHIN_S) if one.error() is None]
    consumer.close()
    return found


def run_program(text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-P", "-W", "error", "-c", text, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done


def until(condition: object) -> None:
    deadline = time.monotonic() + WITHIN_S
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_a_client_writes_and_reads(broker: Broker) -> None:
    produce(broker.bootstrap_servers, b"one")
    assert consume(broker.bootstrap_servers, 1) == [b"one"]
    assert broker.call("ping") == {"pid": broker.pid}
    assert psutil.Process(broker.pid).ppid() == the_host().pid


def test_killed_it_refuses_and_comes_back_on_its_port_with_its_data(broker: Broker) -> None:
    produce(broker.bootstrap_servers, b"one")
    port, pid = broker.port, broker.pid
    broker.kill()
    assert not broker.running and not psutil.pid_exists(pid)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((HOST, port))
    with pytest.raises(Misuse, match=r"start\(\) it"):
        broker.call("ping")
    broker.start()
    assert broker.port == port
    assert consume(broker.bootstrap_servers, 1) == [b"one"]


def test_nobody_else_gets_the_port_of_a_broker_that_is_down(broker: Broker) -> None:
    broker.stop()
    with socket.socket() as other, pytest.raises(OSError, match="in use"):
        other.bind((HOST, broker.port))
    broker.start()


def test_a_crash_is_told_with_what_the_broker_said(broker: Broker) -> None:
    os.kill(broker.pid, signal.SIGABRT)
    with pytest.raises(BrokerGone, match="has ended(.|\n)*Fatal Python error: Aborted"):
        broker.call("ping")
    assert not broker.running
    broker.restart()
    assert broker.call("ping")


def test_paused_it_takes_connections_and_answers_nothing(broker: Broker) -> None:
    broker.pause()
    with socket.create_connection((HOST, broker.port), timeout=5):
        until(lambda: psutil.Process(broker.pid).status() == psutil.STATUS_STOPPED)
    broker.resume()
    assert broker.call("ping")
    broker.pause()
    assert broker.stop() == 0, "and it can be stopped"


def test_a_wrong_property_is_one_line() -> None:
    one = Broker({"num.partions": "3"})
    with pytest.raises(StartFailed, match="did you mean num.partitions"):
        one.start()
    assert not one.running
    one.close()


def test_a_port_that_is_taken_is_told() -> None:
    with socket.socket() as other:
        other.bind((HOST, 0))
        other.listen()
        with pytest.raises(StartFailed, match=r"is not free \(Address already in use\)"):
            Broker(port=other.getsockname()[1])


def test_folders(tmp_path: Path) -> None:
    with Broker() as own:
        folder = own.data_dir.parent
        assert own.data_dir.is_dir() and own.log_file.parent == folder
        assert folder.stat().st_mode & 0o77 == 0
    assert not folder.exists()
    with Broker(data_dir=tmp_path / "mine") as other:
        produce(other.bootstrap_servers, b"one")
    assert (tmp_path / "mine" / "meta.properties").exists()
    with Broker(data_dir=tmp_path / "mine") as other:
        assert consume(other.bootstrap_servers, 1) == [b"one"]


async def test_with_coroutines() -> None:
    async with Broker() as one:
        assert (await asyncio.to_thread(one.call, "ping"))["pid"] == one.pid
    assert not one.running


def test_calls_of_several_threads_are_answered_side_by_side(broker: Broker) -> None:
    async def both() -> list[object]:
        return await asyncio.gather(*(asyncio.to_thread(broker.call, "ping") for _ in range(20)))

    assert asyncio.run(both()) == [{"pid": broker.pid}] * 20


FORKING = """
import os
from ottla.testing import Broker
from ottla.testing.errors import Misuse
with Broker() as broker:
    if os.fork() == 0:
        try:
            broker.call("ping")
        except Misuse as error:
            print(error, flush=True)
        os._exit(0)
    os.wait()
    print(broker.call("ping") == {"pid": broker.pid})
"""


def test_a_forked_process_is_told_that_it_must_not() -> None:
    told, fine = run_program(FORKING).stdout.splitlines()
    assert "belongs to the process that started it" in told and fine == "True"


POLICY = """
from ottla.plugins.policies import CreateTopicPolicy, PolicyViolation

class Never(CreateTopicPolicy):
    def validate(self, topic):
        raise PolicyViolation("not here")
"""
WITH_POLICY = """
import os, pathlib, sys
from ottla.testing import Broker
from ottla.testing.errors import OttlaError
with Broker() as first:  # the host is there
    os.chdir(sys.argv[1])
    sys.path.append(sys.argv[1])
    properties = {"create.topic.policy.class.name": "python:own_policy.Never"}
    with Broker(properties, data_dir="here") as broker:
        try:
            broker.topic("orders")
        except OttlaError as error:
            print(error)
    print(pathlib.Path("here", "meta.properties").exists())
"""


def test_it_stands_where_the_tests_do(tmp_path: Path) -> None:
    """With a class of their own project, which the host has never heard of."""
    (tmp_path / "own_policy.py").write_text(POLICY)
    said, there = run_program(WITH_POLICY, str(tmp_path)).stdout.splitlines()
    assert "not here" in said and there == "True"


UNITTEST = """
import unittest
from ottla.testing import Broker

class TestIt(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.broker = cls.enterClassContext(Broker())

    def test_one(self):
        self.assertTrue(self.broker.call("ping"))

    def test_two(self):
        with Broker() as another:
            self.assertNotEqual(another.port, self.broker.port)

unittest.main()
"""


def test_it_is_of_use_in_unittest() -> None:
    assert "OK" in run_program(UNITTEST).stderr


def test_a_cluster_survives_a_node() -> None:
    with Cluster(3) as cluster:
        produce(cluster.bootstrap_servers, b"one")
        cluster.broker(2).kill()
        produce(cluster.bootstrap_servers, b"two")
        cluster.start()
        assert sorted(consume(cluster.bootstrap_servers, 2)) == [b"one", b"two"]
        orders = cluster.existing_topic("orders")
        before = cluster.leader_of(orders)
        assert cluster.elect(orders) is cluster.leader_of(orders) is not before
        controller = cluster.controller
        apart = cluster.brokers.index(controller) + 1
        with cluster.cut(apart):
            until(lambda: cluster.controller is not controller)
        assert cluster.elect_controller().running
        folders = [one.data_dir for one in cluster.brokers]
    assert [one for one in folders if one.exists()] == []


# --- nothing is left ------------------------------------------------------------------------------

PROGRAM = """
import os, signal, sys, time
from ottla.testing import Broker
from ottla.testing.broker_process import BrokerProcess
from ottla.testing.host import the_host
brokers = [Broker().start(), Broker().start(), BrokerProcess().start()]
print(the_host().pid, *(one.pid for one in brokers), brokers[0].log_file.parent.parent, flush=True)
if sys.argv[1] == "exit":
    sys.exit()
time.sleep(60)
"""


@pytest.mark.parametrize("how", ["exit", "SIGKILL", "SIGINT"])
def test_nothing_is_left_of_a_process_of_tests(how: str) -> None:
    program = subprocess.Popen(
        [sys.executable, "-P", "-c", PROGRAM, how],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with program:
        assert program.stdout is not None
        *pids, folder = program.stdout.readline().split()
        if how != "exit":
            program.send_signal(getattr(signal, how))
    until(lambda: not any(psutil.pid_exists(int(pid)) for pid in pids))
    until(lambda: not Path(folder).exists())


def test_a_host_that_was_killed_takes_its_brokers_along() -> None:
    host = HostProcess()
    ours, theirs = socket.socketpair()
    folder = host.folder("one")
    with ours, theirs:
        pid = host.start(theirs, folder / "log")
        os.kill(host.pid, signal.SIGKILL)
        until(lambda: not psutil.pid_exists(pid))
    host.close()
    assert folder.exists()
    os.utime(folder.parent, (1, 1))
    another = HostProcess()
    another.folder("two")
    assert not folder.exists(), "the next host removes what it left"
    another.close()


def test_without_fork_it_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTTLA_TESTING_FORK", "0")
    program = (
        "from ottla.testing import Broker\n"
        "with Broker() as one:\n"
        "    assert one.call('ping') == {'pid': one.pid}\n"
        "    print('there')\n"
    )
    assert run_program(program).stdout == "there\n"
