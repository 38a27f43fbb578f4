"""The MBeans of a broker's network, handlers, quotas and groups, as Apache Kafka has them.

`python -m tests.golden.metric_names` records `metric_names_kafka.json` anew: Kafka's own
JmxTool lists them on a broker whose clients are over each kind of quota. One row each: domain,
type, the name or else the attribute, and the tags. Each is looked for in `/metrics` by
`tests/unit/broker/node/metrics/test_node_metrics_kafka.py`.
"""

from __future__ import annotations

import json
import re
import subprocess
import time
from pathlib import Path

from protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntityData,
    AlterClientQuotasRequestEntryData,
    OpData,
)
from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.records import Record
from tests.batches import build_batch
from tests.clients.wire_client import WireClient
from tests.kept_json import write_json
from tests.tools.apache_kafka import HOST, ApacheKafka
from tests.tools.java_tools import FAST_START, java_home_bin, kafka_classpath
from tests.tools.ports import free_port

RECORDED = Path(__file__).parent / "metric_names_kafka.json"
TYPES = (
    "Acceptor",
    "ControllerMutation",
    "Fetch",
    "GroupMetadataManager",
    "KafkaRequestHandlerPool",
    "Processor",
    "Produce",
    "Request",
    "RequestChannel",
    "SocketServer",
    "group-coordinator-metrics",
    "socket-server-metrics",
)
COORDINATOR_S = 60.0
QUOTAS = {
    "producer_byte_rate": 1000.0,
    "consumer_byte_rate": 1000.0,
    "request_percentage": 1.0,
    "controller_mutation_rate": 0.5,
}
_LINE = re.compile(r"(kafka[\w.]*):type=([^,:]+)((?:,[^:]*)?):([^=]+)=")

Row = tuple[str, str, str, tuple[str, ...]]


def recorded() -> list[Row]:
    """Domain, type, name or attribute, and tags."""
    rows = json.loads(RECORDED.read_text())
    return [(domain, kind, name, tuple(tags)) for domain, kind, name, tags in rows]


def rows_of(listing: str) -> list[Row]:
    """What JmxTool has printed of TYPES, each once."""
    found = set()
    for line in listing.splitlines():
        match = _LINE.match(line)
        if match is None or match[2] not in TYPES:
            continue
        tags = dict(one.split("=", 1) for one in match[3].strip(",").split(",") if one)
        name = tags.pop("name", None) or match[4]
        found.add((match[1], match[2], name, tuple(sorted(tags))))
    return sorted(found)


def set_quotas(client: WireClient) -> None:
    """For all users, and all addresses."""
    users = [AlterClientQuotasRequestEntityData("user", None)]
    addresses = [AlterClientQuotasRequestEntityData("ip", None)]
    entries = [
        AlterClientQuotasRequestEntryData(users, [OpData(*one) for one in QUOTAS.items()]),
        AlterClientQuotasRequestEntryData(addresses, [OpData("connection_creation_rate", 100.0)]),
    ]
    answer = client.call(AlterClientQuotasRequest(entries), 1)
    assert [one.error_code for one in answer.entries] == [0, 0]


def use_up(port: int) -> None:
    """Of each quota; a connection each, for who is over one is not read."""
    batch = memoryview(build_batch([Record(-1, 1_700_000_000_000, b"k", bytes(20_000))]))
    data = [TopicProduceData("t", partition_data=[PartitionProduceData(0, batch)])]
    topics = [FetchTopic("t", partitions=[FetchPartition(0, partition_max_bytes=100_000)])]
    for request, version in (
        (CreateTopicsRequest([CreatableTopic("t", 1, 1)], 10_000), 5),
        (ProduceRequest(None, 1, 60_000, data), 7),
        (ProduceRequest(None, 1, 60_000, data), 7),
        (FetchRequest(max_bytes=100_000, topics=topics), 11),
        (CreateTopicsRequest([CreatableTopic("u", 1, 1)], 10_000), 5),
    ):
        client = WireClient(port, "c")
        client.call(request, version)
        client.close()


def use_groups(port: int) -> None:
    """One that the broker assigns, and offsets without a group."""
    offsets = [OffsetCommitRequestTopic("t", partitions=[OffsetCommitRequestPartition(0, 5)])]
    joining = ConsumerGroupHeartbeatRequest("g", "m", 0, rebalance_timeout_ms=9_000)
    joining.subscribed_topic_names, joining.topic_partitions = ["t"], []
    with WireClient(port, "c") as client:
        client.call(FindCoordinatorRequest("g", 0), 2)
        deadline = time.monotonic() + COORDINATOR_S
        while client.call(joining, 1).error_code:
            assert time.monotonic() < deadline, "no coordinator"
            time.sleep(0.2)
        client.call(OffsetCommitRequest("s", -1, "", topics=offsets), 8)


def main() -> None:
    """Ask a Kafka, and write down what it says."""
    port = free_port()
    remote = "-Dcom.sun.management.jmxremote"
    options = {
        f"{remote}.port": port,
        f"{remote}.rmi.port": port,
        "-Djava.rmi.server.hostname": HOST,
    }
    options |= {f"{remote}.authenticate": "false", f"{remote}.ssl": "false"}
    jvm = [*FAST_START, remote, *(f"{key}={value}" for key, value in options.items())]
    java = java_home_bin()
    assert java is not None, "there is no Java"
    with ApacheKafka(jvm_options=jvm, heap="512M") as kafka:
        client = WireClient(kafka.port, "c")
        set_quotas(client)
        client.close()
        use_up(kafka.port)
        use_groups(kafka.port)
        url = f"service:jmx:rmi:///jndi/rmi://{HOST}:{port}/jmxrmi"
        tool = [java, "-cp", kafka_classpath(), "org.apache.kafka.tools.JmxTool", "--jmx-url", url]
        tool += ["--one-time", "--report-format", "properties"]
        listing = subprocess.run(tool, capture_output=True, text=True, timeout=120, check=True)
    rows = rows_of(listing.stdout)
    write_json(RECORDED, rows)


if __name__ == "__main__":
    main()
