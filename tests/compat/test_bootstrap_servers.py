"""Files as Apache Kafka has them in `config/`: `controller.quorum.bootstrap.servers` alone."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from ottla.launcher import READY, ottla_command
from ottla.testing.broker_process import HOST
from protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumRequestPartitionData,
    DescribeQuorumRequestTopicData,
)
from tests.clients.wire_client import WireClient
from tests.tools.ports import free_port

CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg"
DEADLINE_S = 90
PROTOCOLS = "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_SSL:SASL_SSL"


LEADERLESS = "no leader of the quorum could be reached for 3 s"


def properties(file: Path, node_id: int, *roles: str, port: int, controller: int) -> Path:
    """The keys of Kafka's example for these roles, with ports and folder of a test's own."""
    at = {"broker": f"PLAINTEXT://{HOST}:{port}", "controller": f"CONTROLLER://{HOST}:{controller}"}
    listeners = ",".join(at[role] for role in roles)
    inside = ("inter.broker.listener.name=PLAINTEXT",) if "broker" in roles else ()
    mapped = (f"listener.security.protocol.map={PROTOCOLS}",) if "broker" in roles else ()
    file.write_text(
        "\n".join(
            (
                f"process.roles={','.join(roles)}",
                f"node.id={node_id}",
                f"controller.quorum.bootstrap.servers={HOST}:{controller}",
                f"listeners={listeners}",
                f"advertised.listeners={listeners}",
                "controller.listener.names=CONTROLLER",
                *inside,
                *mapped,
                "num.network.threads=3",
                "num.io.threads=8",
                "socket.send.buffer.bytes=102400",
                "socket.receive.buffer.bytes=102400",
                "socket.request.max.bytes=104857600",
                f"log.dirs={file.with_suffix('')}",
                "num.partitions=1",
                "num.recovery.threads.per.data.dir=2",
                "offsets.topic.replication.factor=1",
                "transaction.state.log.replication.factor=1",
                "transaction.state.log.min.isr=1",
                "share.coordinator.state.topic.replication.factor=1",
                "share.coordinator.state.topic.min.isr=1",
                "log.retention.hours=168",
                "log.segment.bytes=1073741824",
                "log.retention.check.interval.ms=300000",
            )
        )
        + "\n"
    )
    return file


def started(file: Path) -> subprocess.Popen[bytes]:
    with file.with_suffix(".out").open("ab") as out:
        command = ottla_command("serve", "--config", str(file))
        return subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)


def wait_until_ready(file: Path, times: int = 1) -> None:
    wait_until_said(file, READY, times)


def wait_until_said(file: Path, text: str, times: int = 1) -> str:
    """All that a node has printed, once `text` is in it so many times."""
    deadline = time.monotonic() + DEADLINE_S
    while (said := file.with_suffix(".out").read_text()).count(text) < times:
        assert time.monotonic() < deadline, said
        time.sleep(0.02)
    return said


def stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    assert process.wait(DEADLINE_S) == 0


def test_a_broker_and_controller_takes_itself_as_the_quorum(tmp_path: Path) -> None:
    port = free_port()
    roles = ("broker", "controller")
    file = properties(tmp_path / "server.properties", 1, *roles, port=port, controller=free_port())
    for times in (1, 2):  # the second start has the voters from the log
        process = started(file)
        wait_until_ready(file, times)
        stop(process)
    assert "warning" not in file.with_suffix(".out").read_text()
    assert (tmp_path / "server" / "__cluster_metadata-0" / f"{0:020d}-{0:010d}.checkpoint").exists()


@pytest.mark.parametrize("roles", [("controller",), ("broker", "controller")])
def test_a_controller_is_its_quorum_and_a_broker_finds_it(
    tmp_path: Path, roles: tuple[str, ...]
) -> None:
    """The broker starts first, and says what it waits for."""
    ports = {"port": free_port(), "controller": free_port()}
    file = tmp_path / "controller.properties"
    controller = properties(file, 1, *roles, port=free_port(), controller=ports["controller"])
    broker = properties(tmp_path / "broker.config.properties", 2, "broker", **ports)
    for file in (controller, broker):
        command = ottla_command("format", "--cluster-id", CLUSTER)
        done = subprocess.run([*command, "--config", str(file)], capture_output=True)
        assert done.returncode == 0, done.stderr
    processes = [started(broker)]
    try:
        said = wait_until_said(broker, LEADERLESS)
        assert f"{HOST}:{ports['controller']}: connection refused" in said
        processes.append(started(controller))
        wait_until_ready(broker)
        topic = DescribeQuorumRequestTopicData(
            "__cluster_metadata", [DescribeQuorumRequestPartitionData(0)]
        )
        with WireClient(ports["port"]) as client:
            answer = client.call(DescribeQuorumRequest([topic]), 2)
        (partition,) = answer.topics[0].partitions
        assert [one.replica_id for one in partition.current_voters] == [1]
        assert partition.current_voters[0].replica_directory_id != bytes(16), "in the log"
    finally:
        for process in processes:
            stop(process)
