"""One metadata quorum of two Apache Kafka controllers and one Ottla controller.

Each kind leads the other, hands over when it is stopped, and takes over where it was killed. What
one of them commits, all have. ACLs that the one made the other one tells, adds to and removes.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from broker.config.authorizer import STANDARD_AUTHORIZER
from controller.metadata.acl import PatternType
from controller.metadata.acl_filter import AclFilter
from ottla.plugins.authorizer import Operation, Resource
from tests import acls
from tests.acls import allow, deny
from tests.clients.wire_client import WireClient
from tests.golden import raft_cases
from tests.tools.apache_kafka import HOST
from tests.tools.java_tools import FAST_START, JAVA_DIR, PROJECT_DIR, java_home_bin, kafka_classpath
from tests.tools.ports import free_port
from tests.tools.waiting import LIMIT_S, wait_until

pytestmark = pytest.mark.java

CLUSTER_ID = "mixed-quorum-cluster-0"
KAFKA = (1, 2)
OTTLA = 3
FIRST = allow("User:a", Operation.READ, Resource.TOPIC, "t")
SECOND = deny("User:*", None, Resource.GROUP, "ž", pattern=PatternType.PREFIXED)
THIRD = allow("User:a", Operation.ALTER, Resource.CLUSTER, "kafka-cluster", host="10.0.0.1")
FEATURES = ("group", "transaction", "share", "streams", "eligible.leader.replicas")
"""Of Kafka's defaults, those that Ottla does not know or need not: level 0."""


class MixedQuorum:
    """Three controllers on this machine."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ports = {node: free_port() for node in (*KAFKA, OTTLA)}
        self.processes: dict[int, subprocess.Popen[bytes]] = {}
        for node in self.ports:
            self._format(node)

    def _config(self, node: int) -> Path:
        return self.folder / f"{node}.properties"

    def _format(self, node: int) -> None:
        voters = ",".join(f"{n}@{HOST}:{port}" for n, port in self.ports.items())
        properties = {
            "process.roles": "controller",
            "node.id": node,
            "listeners": f"CONTROLLER://{HOST}:{self.ports[node]}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT",
            "controller.quorum.voters": voters,
            "authorizer.class.name": STANDARD_AUTHORIZER,
            "super.users": "User:ANONYMOUS",
            "log.dirs": self.folder / str(node),
        }
        lines = [f"{key}={value}\n" for key, value in properties.items()]
        self._config(node).write_text("".join(lines))
        if node == OTTLA:
            command = self._ottla("format", "--cluster-id", CLUSTER_ID)
        else:
            features = [w for name in FEATURES for w in ("--feature", f"{name}.version=0")]
            tool = ("format", "-t", CLUSTER_ID, *features, "-c", str(self._config(node)))
            command = self._java("kafka.tools.StorageTool", *tool)
        subprocess.run(command, check=True, capture_output=True, cwd=PROJECT_DIR)

    def _ottla(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "command", *words, "--config", str(self._config(OTTLA))]

    def _java(self, main_class: str, *words: str) -> list[str]:
        logging = f"-Dlog4j2.configurationFile={JAVA_DIR / 'log4j2-broker.properties'}"
        java = [java_home_bin() or "java", *FAST_START, logging, "-cp", kafka_classpath()]
        return [*java, main_class, *words]

    def start(self, node: int, *, asks_after_ms: int | None = None) -> None:
        """Start it; it waits so long for a leader before it asks for votes, if that is given."""
        config = str(self._config(node))
        if asks_after_ms is not None:
            with self._config(node).open("a") as properties:
                properties.write(f"controller.quorum.election.timeout.ms={asks_after_ms}\n")
        command = self._ottla("serve") if node == OTTLA else self._java("kafka.Kafka", config)
        with open(self.folder / f"{node}.log", "ab") as log:
            self.processes[node] = subprocess.Popen(
                command, stdout=log, stderr=log, cwd=PROJECT_DIR
            )

    def stop(self, node: int, kill: bool = False) -> None:
        process = self.processes.pop(node)
        if kill:
            process.kill()
        else:
            process.terminate()
        process.wait(90)

    def close(self) -> None:
        for node in list(self.processes):
            self.stop(node, kill=True)

    def ask(self, node: int) -> WireClient:
        """A connection to one of them."""
        return WireClient(self.ports[node], timeout_s=60)

    # --- what it says --------------------------------------------------------------------------

    def leader(self) -> tuple[int, dict[int, int]] | None:
        """Who leads with something committed, and where each voter's log ends."""
        for node in self.processes:
            try:
                client = WireClient(self.ports[node], timeout_s=10)
                try:
                    answer = client.call(raft_cases._describe(), 2)
                finally:
                    client.close()
            except OSError:
                continue
            told = answer.topics[0].partitions[0]
            if told.error_code == 0 and told.high_watermark > 0:
                return node, {v.replica_id: v.log_end_offset for v in told.current_voters}
        return None

    def wait_for_leader(self, limit_s: float = LIMIT_S) -> int:
        return self._wait(limit_s, lambda found: True)

    def wait_until_nobody_leads(self) -> None:
        """Who leads alone finds out: no majority fetches from it."""
        wait_until(lambda: self.leader() is None, "no leader where nobody follows")

    def wait_until_all_follow(self, limit_s: float = LIMIT_S) -> int:
        """All three have what there is, but for what is on its way at this moment."""
        return self._wait(limit_s, lambda ends: min(ends.values()) >= max(ends.values()) - 2 > 0)

    def _wait(self, limit_s: float, enough: Callable[[dict[int, int]], bool]) -> int:

        end = time.monotonic() + limit_s
        while time.monotonic() < end:
            found = self.leader()
            if found is not None and enough(found[1]):
                return found[0]
            time.sleep(0.05)
        tails = [(self.folder / f"{node}.log").read_text()[-1_500:] for node in self.ports]
        raise AssertionError("\n\n".join(["the quorum does not come together", *tails]))


@pytest.fixture
def quorum(tmp_path: Path) -> Iterator[MixedQuorum]:
    mixed = MixedQuorum(tmp_path)
    yield mixed
    mixed.close()


def test_each_leads_the_other(quorum: MixedQuorum) -> None:
    quorum.start(OTTLA)
    for node in KAFKA:
        quorum.start(node)
    leader = quorum.wait_until_all_follow()
    with quorum.ask(leader) as client:
        acls.add(client, FIRST, SECOND)

    # Kafka hands over to whoever is furthest, Kafka or Ottla, and follows again.
    if leader != OTTLA:
        quorum.stop(leader)
        assert quorum.wait_for_leader() != leader
        quorum.start(leader)
        quorum.wait_until_all_follow()

    # Both of Kafka die. The Kafka that comes back waits for long before it asks: Ottla is elected.
    # It waits as long once more, should Ottla hand over while it alone has the last record: no
    # longer than the test waits for a leader.
    for node in KAFKA:
        quorum.stop(node, kill=True)
    quorum.wait_until_nobody_leads()
    quorum.start(KAFKA[0], asks_after_ms=20_000)
    assert quorum.wait_for_leader() == OTTLA
    quorum.start(KAFKA[1])
    assert quorum.wait_until_all_follow() == OTTLA
    with quorum.ask(OTTLA) as client:
        assert acls.described(client) == {FIRST, SECOND}
        assert acls.remove(client, AclFilter(*FIRST)) == [FIRST]
        acls.add(client, SECOND, THIRD)

    # Ottla hands over on a controlled stop, and follows when it is back.
    quorum.stop(OTTLA)
    assert quorum.wait_for_leader() in KAFKA
    quorum.start(OTTLA)
    leader = quorum.wait_until_all_follow()
    assert leader in KAFKA
    with quorum.ask(leader) as client:
        assert acls.described(client) == {SECOND, THIRD}
        acls.add(client, FIRST)
    quorum.wait_until_all_follow()
    with quorum.ask(OTTLA) as client:
        acls.wait_until(client, {FIRST, SECOND, THIRD})
