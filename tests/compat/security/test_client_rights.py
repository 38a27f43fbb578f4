"""What a program needs to read as a member of a group, and to copy in a transaction: just what
Apache Kafka's documentation names, and with one right less the error that Kafka gives.

Whoever lacks a right may still describe what it is about, so that the client gets as far as the
request that needs it. An Apache Kafka with the same ACLs was seen to give the same errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import pytest

from controller.metadata.acl import Acl
from ottla.plugins.authorizer import Operation, Resource
from ottla.testing.broker_process import HOST
from protocol.errors import ErrorCode
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.records import Record
from tests.acls import add, allow
from tests.batches import build_batch
from tests.clients.wire_client import WireClient
from tests.compat.security.python_tasks import COPIES, READS
from tests.compat.security.ways import PLAIN, SASL_PLAINTEXT, Way
from tests.tools.ports import free_port

if TYPE_CHECKING:
    from ottla.testing.broker_process import BrokerProcess


PASSWORD = "secret"


class Need(NamedTuple):
    """One right, and what the client is told without it."""

    operation: Operation
    resource: Resource
    name: str
    error: ErrorCode


_SOURCE = Need(Operation.READ, Resource.TOPIC, "in", ErrorCode.TOPIC_AUTHORIZATION_FAILED)
_GROUP = Need(Operation.READ, Resource.GROUP, "g-", ErrorCode.GROUP_AUTHORIZATION_FAILED)
NEEDS = {
    "read": {"group": _GROUP, "topic": _SOURCE},
    "copy": {
        "id": Need(
            Operation.WRITE,
            Resource.TRANSACTIONAL_ID,
            "t-",
            ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ),
        "target": Need(
            Operation.WRITE, Resource.TOPIC, "out", ErrorCode.TOPIC_AUTHORIZATION_FAILED
        ),
        "group": _GROUP,
        "source": _SOURCE,
    },
}


class Case(NamedTuple):
    """One client, what it does, and which of the rights for that it lacks."""

    client: str
    task: str
    lacking: str

    def __str__(self) -> str:
        return f"{self.client}-{self.task}-{self.lacking or 'all'}"

    def acls(self) -> list[Acl]:
        """Of the user that is named after the case, as are its group and transactional id."""
        return [
            allow(
                f"User:{self}",
                Operation.DESCRIBE if key == self.lacking else need.operation,
                need.resource,
                f"{need.name}{self}" if need.name.endswith("-") else need.name,
            )
            for key, need in NEEDS[self.task].items()
        ]


CASES = [
    Case(client, task, lacking)
    for client in READS
    for task, needs in NEEDS.items()
    for lacking in ("", *needs)
]


def _properties(port: int) -> dict[str, str]:
    users = " ".join(f'user_{name}="{PASSWORD}"' for name in ("admin", *map(str, CASES)))
    jaas = f"org.apache.kafka.common.security.plain.PlainLoginModule required {users};"
    return {
        "listeners": f"CLEAR://{HOST}:{port}",
        "advertised.listeners": f"CLEAR://{HOST}:{port}",
        "listener.security.protocol.map": "CLEAR:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "CLEAR",
        "sasl.mechanism.inter.broker.protocol": PLAIN,
        "listener.name.clear.sasl.enabled.mechanisms": PLAIN,
        "listener.name.clear.plain.sasl.jaas.config": jaas,
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:admin",
        "group.initial.rebalance.delay.ms": "0",
        "offsets.topic.num.partitions": "2",
        "transaction.state.log.num.partitions": "2",
    }


@pytest.fixture(scope="module")
def servers(ottla_broker_factory: Callable[..., BrokerProcess]) -> Iterator[str]:
    """A broker that knows everybody's rights, with a record in the topic `in`."""
    port = free_port()
    process = ottla_broker_factory(_properties(port))
    with WireClient(port) as admin:
        admin.log_in(PLAIN, "admin", PASSWORD)
        add(admin, *(acl for case in CASES for acl in case.acls()))
        topics = [CreatableTopic(name, 1, 1) for name in ("in", "out")]
        made = admin.call(CreateTopicsRequest(topics, 20_000), 7)
        assert [one.error_code for one in made.topics] == [0, 0]
        batch = build_batch([Record(-1, 0, None, b"v")])
        data = [TopicProduceData("in", partition_data=[PartitionProduceData(0, batch)])]
        (topic,) = admin.call(ProduceRequest(None, -1, 20_000, data), 9).responses
        assert topic.partition_responses[0].error_code == 0
    yield f"{HOST}:{port}"
    process.close()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_client_is_told_which_right_it_lacks(servers: str, case: Case) -> None:
    user = str(case)
    way = Way(servers, SASL_PLAINTEXT, PLAIN, user=user, password=PASSWORD)
    if case.task == "read":
        told = READS[case.client](way, "in", f"g-{user}")
    else:
        told = COPIES[case.client](way, "in", "out", f"g-{user}", f"t-{user}")
    expected = NEEDS[case.task][case.lacking].error if case.lacking else ErrorCode.NONE
    assert told == expected
