"""`ottla.testing.Broker` and `Cluster` as they are: real processes, forked from a real host."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
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

from ottla.testing import Broker, Cluster, own_process
from ottla.testing.broker_process import BrokerProcess
from ottla.testing.errors import BrokerGone, Misuse, NotPossible, OttlaError, StartFailed
from ottla.testing.host import HostProcess, the_host
from ottla.testing.ports import HOST
from ottla.testing.remote import RunningCluster
from tests.tools.waiting import wait_until

WITHIN_S = 90


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


def run_program(text: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-P", "-c", text],
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert done.returncode == 0, done.stderr
    return done


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
    with socket.create_connection((HOST, broker.port), timeout=60):
        wait_until(
            lambda: psutil.Process(broker.pid).status() == psutil.STATUS_STOPPED, "a paused broker"
        )
    broker.resume()
    assert broker.call("ping")
    broker.pause()
    assert broker.stop() == 0, "and it can be stopped"


def test_a_wrong_property_is_one_line() -> None:
    one = Broker({"num.partions": "3"})
    with pytest.raises(StartFailed, match="did you mean num.partitions"), one:
        pass
    assert not one.running and not one.log_file.exists(), "it was closed"


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
    assert (tmp_path / "mine" / ".kafka_cleanshutdown").exists(), "its end was a clean stop"
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


POLICY = """
from ottla.plugins.policies import CreateTopicPolicy, PolicyViolation

class Never(CreateTopicPolicy):
    def validate(self, topic):
        raise PolicyViolation("not here")
"""


def test_it_stands_where_the_tests_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a class of their own project, which the host has never heard of."""
    assert the_host().running
    (tmp_path / "own_policy.py").write_text(POLICY)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    properties = {"create.topic.policy.class.name": "own_policy:Never", "log.dirs": "here"}
    with Broker(properties) as broker:
        with pytest.raises(OttlaError, match="not here"):
            broker.topic("orders")
        assert (tmp_path / "here" / "meta.properties").exists()


UNITTEST = """
import os, unittest
from ottla.testing import Broker
from ottla.testing.broker_process import BrokerProcess
from ottla.testing.errors import Misuse
from ottla.testing.host import the_host

class TestIt(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.broker = cls.enterClassContext(Broker())

    def tearDown(self):
        self.assertEqual(self.broker.call("ping"), {"pid": self.broker.pid})

    def test_two(self):
        with Broker() as another:
            self.assertNotEqual(another.port, self.broker.port)

    def test_a_forked_process_must_not(self):
        pid = os.fork()
        if pid == 0:
            try:
                self.broker.call("ping")
            except Misuse as error:
                os._exit("belongs to the process that started it" not in str(error))
            finally:
                os._exit(2)
        self.assertEqual(os.waitpid(pid, 0)[1], 0)

left = Broker().start(), BrokerProcess().start()
print(the_host().pid, *(one.pid for one in left), left[0].log_file.parent.parent, flush=True)
unittest.main()
"""


def test_with_unittest_nothing_is_left() -> None:
    """Neither of brokers that nobody closes; a process that was forked ends none of them."""
    done = run_program(UNITTEST)
    assert "Ran 2 tests" in done.stderr
    *pids, folder = done.stdout.split()
    assert len(pids) == 3 and not any(psutil.pid_exists(int(pid)) for pid in pids)
    assert not Path(folder).exists()


def test_a_cluster_survives_a_node() -> None:
    with Cluster(3) as cluster:
        produce(cluster.bootstrap_servers, b"one")
        cluster.leader("orders").kill()
        assert cluster.topics() == ["orders"]
        produce(cluster.bootstrap_servers, b"two")
        cluster.start()
        assert sorted(consume(cluster.bootstrap_servers, 2)) == [b"one", b"two"]


def test_a_cluster_of_two_has_one_controller_and_a_broker_beside_it() -> None:
    with Cluster(2) as cluster:
        orders = cluster.topic("orders")
        orders.seed([b"one"])
        assert [one.value for one in orders.consume(1)] == [b"one"]


def test_helpers_find_their_way_when_a_node_is_killed() -> None:
    with Cluster(3) as cluster:
        orders = cluster.topic("orders")
        orders.seed([b"one"])
        cluster.leader(orders).kill()
        orders.seed([b"two"])
        assert cluster.leader(orders).running
        assert [one.value for one in orders.consume(2)] == [b"one", b"two"]
        cluster.start()
        cluster.leader(orders).kill()
        assert cluster.topic("others").name in cluster.topics()
        folders = [one.data_dir for one in cluster.brokers]
    assert [one for one in folders if one.exists()] == []


def test_a_running_cluster_is_asked_like_any_client(broker: Broker) -> None:
    one = RunningCluster(broker.bootstrap_servers)
    one.begin_test()
    orders = one.topic("orders")
    orders.seed(["x"])
    assert [record.value for record in orders.consume(1)] == [b"x"]
    for refused in (one.requests, one.reset):
        with pytest.raises(
            NotPossible, match=f"{refused.__name__} needs .* the tests have started"
        ):
            refused()
    one.drop_topics()
    assert broker.topics() == []
    one.close()


def test_the_end_of_one_is_seen_though_another_was_begun_with_it() -> None:
    """No broker has the channel of another."""
    host, pairs = the_host(), [socket.socketpair() for _ in range(2)]
    channel, deadline = host._process.channel, time.monotonic() + WITHIN_S
    folder = host.folder("two")
    arguments = {"log": str(folder / "log")}
    begun = [channel.begin("start", arguments, deadline, (theirs.fileno(),)) for _, theirs in pairs]
    pids = [channel.result(number, "start", deadline) for number in begun]
    for _, theirs in pairs:
        theirs.close()
    os.kill(pids[1], signal.SIGKILL)
    pairs[1][0].settimeout(60)
    while pairs[1][0].recv(1000):
        pass
    assert psutil.Process(pids[0]).status() != psutil.STATUS_ZOMBIE
    for ours, _ in pairs:
        ours.close()
    assert [host.wait(pid, WITHIN_S) for pid in pids] == [0, -signal.SIGKILL]
    host.drop(folder)


def test_a_host_that_was_killed_takes_its_brokers_along() -> None:
    host = HostProcess()
    ours, theirs = socket.socketpair()
    folder = host.folder("one")
    with ours, theirs:
        pid = host.start(theirs, folder / "log")
        os.kill(host.pid, signal.SIGKILL)
        wait_until(lambda: not psutil.pid_exists(pid), "the end of the broker")
    host.close()
    assert folder.exists()
    os.utime(folder.parent, (1, 1))
    another = HostProcess()
    another.folder("two")
    assert not folder.exists(), "the next host removes what it left"
    another.close()


def test_a_broker_whose_host_is_gone_can_be_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    host = HostProcess()
    monkeypatch.setattr(own_process, "the_host", lambda: host)
    one = Broker().start()
    pid, folder = one.pid, one.log_file.parent.parent
    os.kill(host.pid, signal.SIGKILL)
    wait_until(lambda: not psutil.pid_exists(pid), "the end of the broker")
    assert not one.running
    one.close()
    host.close()
    shutil.rmtree(folder)


def test_without_fork_it_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTTLA_TESTING_FORK", "0")
    program = (
        "from ottla.testing import Broker\n"
        "with Broker() as one:\n"
        "    assert one.call('ping') == {'pid': one.pid}\n"
        "    print('there')\n"
    )
    assert run_program(program).stdout == "there\n"


class Telling(BrokerProcess):
    """`ottla serve`, which tells what it imports."""

    def _command(self) -> list[str]:
        python, *rest = super()._command()
        return [python, "-X", "importtime", *rest]


def test_serve_has_none_of_it() -> None:
    with Telling() as one:
        listening = psutil.Process(one.pid).net_connections("all")
        one.stop()
        imported = one.log_file.read_text()
    assert "broker.process.server" in imported
    assert re.findall(r"\| +((?:broker|ottla)\.testing.*)", imported) == []
    assert {port.laddr[1] for port in listening if port.status == "LISTEN"} == {one.port}
