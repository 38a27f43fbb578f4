"""Run the matrix.

    python -m tests.compat.command_matrix --peer ottla --peer kafka --peer kafka-3.9

Prints an object of JSON a peer; the exit code is 1 where anything differs.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ottla.testing.broker_process import BrokerProcess
from tests.compat.command_matrix import secured
from tests.compat.command_matrix.matrix import Matrix
from tests.compat.ottla_command import Ottla
from tests.tools.apache_kafka import ApacheKafka
from tests.tools.java_tools import FAST_START, kafka_39_classpath
from tests.tools.kafka_tools import KafkaTools

PEERS = ("ottla", "kafka", "kafka-3.9")


@contextmanager
def node_of(peer: str) -> Iterator[tuple[str, Path]]:
    """A single node of the peer that judges by ACLs: where it listens, and its data folder."""
    if peer == "ottla":
        with BrokerProcess(secured.AUTHORIZED) as broker:
            yield broker.bootstrap_servers, broker.data_dir
        return
    with ApacheKafka(
        jvm_options=FAST_START,
        heap="512m",
        classpath=kafka_39_classpath() if peer == "kafka-3.9" else None,
        features=None if peer == "kafka-3.9" else {"streams.version": 0},
        properties=secured.AUTHORIZED,
    ) as kafka:
        yield kafka.bootstrap, kafka.data_dir


def run(matrix: Matrix, data_dir: Path, *, can_migrate: bool) -> None:
    """All rows."""
    matrix.topics()
    matrix.quotas()
    matrix.groups("classic")
    if matrix.has_consumer_groups:
        matrix.groups("consumer")
    matrix.cluster()
    matrix.errors()
    secured.users(matrix)
    secured.acls(matrix)
    secured.folders(matrix, data_dir)
    secured.migration(matrix, is_ready=can_migrate)
    secured.profiles(matrix)
    secured.errors(matrix)
    matrix.removal()


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.compat.command_matrix", description=__doc__)
    parser.add_argument("--peer", action="append", choices=PEERS)
    faults = 0
    for peer in parser.parse_args().peer or PEERS:
        began = time.monotonic()
        with node_of(peer) as (bootstrap, data_dir), KafkaTools(bootstrap) as tools:
            matrix = Matrix(Ottla(bootstrap), tools, has_consumer_groups=peer != "kafka-3.9")
            run(matrix, data_dir, can_migrate=peer != "kafka-3.9")
        took = round(time.monotonic() - began)
        told = {"peer": peer, "rows": matrix.rows, "faults": matrix.faults, "seconds": took}
        print(json.dumps(told, indent=2), flush=True)
        faults += len(matrix.faults)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
