"""What one client notices of strangers whose requests are long: a command, for its numbers.

    python -m tests.chaos.long_requests                  # Ottla, three secured nodes
    python -m tests.chaos.long_requests --peer kafka     # Apache Kafka, with 512 MB for each node

quiet        nobody else asks
tags         50 connections, before any login, each send ApiVersions with 512 KB of tagged fields
expressions  a user without rights lists transactions by an expression of 30 KB, again and again
names        a user without rights asks for a million topics (3 MB), again and again
groups       the same for the offsets of 30,000 groups, and for their coordinators

One client that is logged in asks the same node for ApiVersions every 5 ms meanwhile; it is told how
long its round trips took, whether another node knew of fewer than three brokers, and what the
node's process held before and after. For a machine that has nothing else to do. Exit code 1: a
broker was fenced.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterator
from statistics import quantiles
from typing import Any

from protocol.api_keys import ApiKey
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.list_transactions import ListTransactionsRequest
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from protocol.primitives import uvarint
from tests.chaos.hostile_memory import resident_mb
from tests.clients.wire_client import WireClient
from tests.tools.cluster_processes import KAFKA, OTTLA, ClusterProcesses, NodeProcess
from tests.tools.cluster_security import (
    MECHANISM,
    PASSWORD,
    STRANGER,
    STRANGER_PASSWORD,
    USER,
)

SECONDS = 20
BETWEEN_S = 0.005
TAGS_BYTES = 524_000  # all but sasl.server.max.receive.size
CONNECTIONS = 50
SETTLE_S = 5

Attack = Callable[[ClusterProcesses, NodeProcess], None]
"""Asks until its process is killed."""


def _client(cluster: ClusterProcesses, node: NodeProcess, user: str, password: str) -> WireClient:
    assert cluster.login is not None
    client = WireClient(node.client_port, timeout_s=120, tls=cluster.login.tls)
    client.log_in(MECHANISM, user, password)
    return client


def _tags(cluster: ClusterProcesses, node: NodeProcess) -> None:
    count = TAGS_BYTES // 2
    head = struct.pack(">hhih", ApiKey.API_VERSIONS, 3, 1, 1) + b"x"
    frame = head + uvarint(count) + b"\x05\0" * count + b"\2x\2x\0"
    assert cluster.login is not None
    while True:
        connections = []
        for _ in range(CONNECTIONS):
            plain = socket.create_connection(("127.0.0.1", node.client_port), 60)
            connections.append(cluster.login.tls.wrap_socket(plain, server_hostname="localhost"))
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.sendall(struct.pack(">i", len(frame)) + frame)
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.recv(1)
            connection.close()


def _asks(*requests: tuple[Any, int]) -> Attack:
    def ask(cluster: ClusterProcesses, node: NodeProcess) -> None:
        while True:
            with (
                contextlib.suppress(OSError),
                _client(cluster, node, STRANGER, STRANGER_PASSWORD) as client,
            ):
                while True:
                    for request, version in requests:
                        client.call(request, version)

    return ask


def _attacks() -> dict[str, Attack | None]:
    bomb = ListTransactionsRequest(transactional_id_pattern=r"\pL" * 10_000)
    topics = MetadataRequest([MetadataRequestTopic(name="a")] * 1_000_000)
    names = [f"g{number}" for number in range(30_000)]
    groups = [OffsetFetchRequestGroup(name, topics=None) for name in names]
    return {
        "quiet": None,
        "tags": _tags,
        "expressions": _asks((bomb, 2)),
        "names": _asks((topics, 1)),
        "groups": _asks(
            (OffsetFetchRequest(groups=groups), 8),
            (FindCoordinatorRequest(coordinator_keys=names), 4),
        ),
    }


@contextlib.contextmanager
def _in_a_process(
    attack: Attack | None, cluster: ClusterProcesses, node: NodeProcess
) -> Iterator[None]:
    """Attack from a process: a thread would share the innocent client's interpreter lock."""
    child = 0 if attack is None else os.fork()
    if not child and attack is not None:
        attack(cluster, node)
    try:
        yield
    finally:
        if child:
            os.kill(child, 9)
            os.waitpid(child, 0)


def measure(cluster: ClusterProcesses, name: str, attack: Attack | None) -> dict[str, object]:
    """Let a client ask beside the attack, and return what it noticed."""
    node, other = cluster.brokers[:2]
    assert node.process is not None
    trips: list[float] = []
    fewest = len(cluster.brokers)
    with (
        _client(cluster, node, USER, PASSWORD) as innocent,
        _client(cluster, other, USER, PASSWORD) as witness,
    ):
        before_mb = resident_mb(node.process.pid)
        with _in_a_process(attack, cluster, node):
            end_s = time.monotonic() + SECONDS
            while time.monotonic() < end_s:
                began_s = time.perf_counter()
                innocent.call(ApiVersionsRequest("innocent", "1"), 3)
                trips.append((time.perf_counter() - began_s) * 1000)
                if len(trips) % 20 == 0:
                    fewest = min(fewest, len(witness.call(MetadataRequest([]), 9).brokers))
                time.sleep(BETWEEN_S)
        time.sleep(SETTLE_S)
        fewest = min(fewest, len(witness.call(MetadataRequest([]), 9).brokers))
    return {
        "attack": name,
        "peer": cluster.program.peer,
        "round_trips": len(trips),
        "p50_ms": round(quantiles(trips, n=100)[49], 2),
        "p99_ms": round(quantiles(trips, n=100)[98], 2),
        "max_ms": round(max(trips), 1),
        "fewest_brokers": fewest,
        "before_mb": before_mb,
        "after_mb": resident_mb(node.process.pid),
    }


def main() -> int:
    """Run each attack, and print what came of it as a line of JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--peer", choices=(OTTLA, KAFKA), default=OTTLA)
    attacks = _attacks()
    parser.add_argument("--attacks", default=",".join(attacks))
    options = parser.parse_args()
    fenced = 0
    with ClusterProcesses(3, peer=options.peer, secured=True, heap="512m") as cluster:
        for name in options.attacks.split(","):
            noticed = measure(cluster, name, attacks[name])
            fenced += noticed["fewest_brokers"] != len(cluster.brokers)
            print(json.dumps(noticed), flush=True)
    return 1 if fenced else 0


if __name__ == "__main__":
    sys.exit(main())
