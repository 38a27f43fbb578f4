"""A broker whose users log in with a password: Ottla or Apache Kafka, with the same settings.

Owns its process. Topics, records and quotas are made on the listener that takes everybody.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from ottla.testing.broker_process import BrokerProcess
from protocol.errors import ErrorCode
from protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntityData,
    AlterClientQuotasRequestEntryData,
    OpData,
)
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
)
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.records import Record
from tests.batches import build_batch
from tests.clients.wire_client import WireClient
from tests.compat.quota_rates.cells import VALUE_BYTES
from tests.compat.security.ways import PLAIN, SASL_PLAINTEXT, Way
from tests.retriable import RETRIABLE
from tests.tools.apache_kafka import HOST, ApacheKafka
from tests.tools.ports import free_port
from tests.tools.waiting import LIMIT_S, wait_until

Entity = Mapping[str, str | None]
"""`user` and `client-id`, or one of them; None is the default."""
EXACT, DEFAULT = 0, 1
OTTLA, KAFKA = "ottla", "kafka"
PASSWORD = "secret"
BATCH_RECORDS = 3
_JAAS = "org.apache.kafka.common.security.plain.PlainLoginModule required"


@dataclass(frozen=True, slots=True)
class Served:
    """A running broker: the port that takes everybody, and the one that users log in at."""

    port: int
    users_port: int

    def way(self, user: str) -> Way:
        """How a user comes in."""
        return Way(f"{HOST}:{self.users_port}", SASL_PLAINTEXT, PLAIN, user=user, password=PASSWORD)

    def make_topic(self, name: str) -> None:
        """Of one partition."""
        with WireClient(self.port) as client:
            topics = [CreatableTopic(name, 1, 1, [], [])]
            (made,) = client.call(CreateTopicsRequest(topics, 30_000), 5).topics
            assert made.error_code == 0, made.error_message

    def fill(self, name: str, size: int) -> None:
        """Records of `VALUE_BYTES` each, in batches of `BATCH_RECORDS`; at least `size` bytes."""
        record = Record(-1, int(time.time() * 1000), None, bytes(VALUE_BYTES))
        batch = bytes(build_batch([record] * BATCH_RECORDS))
        data = [TopicProduceData(name, partition_data=[PartitionProduceData(0, batch)])]
        with WireClient(self.port) as client:
            request = ProduceRequest(None, 1, 30_000, data)
            left = size // (BATCH_RECORDS * VALUE_BYTES) + 1
            deadline = time.monotonic() + LIMIT_S
            while left:
                (done,) = client.call(request, 9).responses[0].partition_responses
                if done.error_code == 0:
                    left -= 1
                else:  # the partition opens a little after it is made
                    assert ErrorCode(done.error_code) in RETRIABLE, done.error_code
                    assert time.monotonic() < deadline, done.error_code
                    time.sleep(0.01)

    def set_quota(self, entity: Entity, key: str, value: float | None) -> None:
        """None removes it. It holds as soon as DescribeClientQuotas tells it."""
        parts = [AlterClientQuotasRequestEntityData(*part) for part in entity.items()]
        change = OpData(key, value or 0.0, value is None)
        entry = AlterClientQuotasRequestEntryData(parts, [change])
        with WireClient(self.port) as client:
            answer = client.call(AlterClientQuotasRequest([entry], False), 1)
            assert answer.entries[0].error_code == 0, answer
            wait_until(lambda: self._quota(client, entity, key) == value, f"a quota of {value}")

    def _quota(self, client: WireClient, entity: Entity, key: str) -> float | None:
        asked = [
            ComponentData(kind, EXACT if name is not None else DEFAULT, name)
            for kind, name in entity.items()
        ]
        entries = client.call(DescribeClientQuotasRequest(asked, True), 1).entries
        told = [one.value for entry in entries for one in entry.values if one.key == key]
        return told[0] if told else None


def properties(users: Iterable[str], port: int, users_port: int) -> dict[str, str]:
    """Of a node with both listeners."""
    known = " ".join(f'user_{user}="{PASSWORD}"' for user in users)
    return {
        "listener.security.protocol.map": (
            "PLAINTEXT:PLAINTEXT,USERS:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT"
        ),
        "listeners": f"PLAINTEXT://{HOST}:{port},USERS://{HOST}:{users_port}",
        "listener.name.users.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.users.plain.sasl.jaas.config": f"{_JAAS} {known};",
    }


@contextmanager
def served(peer: str, users: Iterable[str], more: Mapping[str, str]) -> Iterator[Served]:
    """Start it, with further settings, and stop it."""
    port, users_port = free_port(), free_port()
    settings = {**properties(users, port, users_port), **more}
    if peer == OTTLA:
        with BrokerProcess(settings, port=port):
            yield Served(port, users_port)
        return
    controller_port = free_port()
    advertised = settings["listeners"]
    settings["listeners"] += f",CONTROLLER://{HOST}:{controller_port}"
    settings["advertised.listeners"] = advertised
    with ApacheKafka(port=port, controller_port=controller_port, properties=settings, heap="512m"):
        yield Served(port, users_port)
