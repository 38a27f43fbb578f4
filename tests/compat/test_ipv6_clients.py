"""Clients that come by IPv6: the ACLs of their address, and how the others see them. Kafka
tells `0:0:0:0:0:0:0:1` where Python tells `::1`."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, Producer
from confluent_kafka.admin import AdminClient

from controller.metadata.acl_filter import AclFilter
from ottla.plugins.authorizer import Operation, Resource
from tests.acls import add, allow, deny, described, remove
from tests.clients.confluent_outcomes import produce_outcomes
from tests.clients.wire_client import WireClient
from tests.tools.ports import free_port

IN_FULL = "0:0:0:0:0:0:0:1"
ANYBODY = "User:*"
WITHIN_S = 60

pytestmark = pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6")


@pytest.fixture
def port(ottla_broker_factory: Callable[..., Any]) -> Iterator[int]:
    """Of a listener on `[::1]`; nobody is denied what no ACL speaks about."""
    number = free_port()
    properties = {
        "listeners": f"V6://[::1]:{number},CONTROLLER://127.0.0.1:0",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,V6:PLAINTEXT",
        "inter.broker.listener.name": "V6",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "true",
    }
    with closing(ottla_broker_factory(properties=properties)):
        yield number


def written(port: int, topic: str) -> bool:
    """Whether a record gets in; otherwise it must be denied."""
    producer = Producer({"bootstrap.servers": f"[::1]:{port}"})
    (error,) = produce_outcomes(producer, topic, b"x", timeout_s=WITHIN_S)
    assert error is None or error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
    return error is None


@pytest.mark.parametrize("spelling", [IN_FULL, "::1", "0::0001"])
def test_an_acl_counts_for_its_address_in_each_spelling(port: int, spelling: str) -> None:
    with WireClient(port, host="::1") as admin:
        everywhere = allow(ANYBODY, None, Resource.TOPIC, "denied")
        denied = deny(ANYBODY, Operation.WRITE, Resource.TOPIC, "denied", host=spelling)
        allowed = allow(ANYBODY, None, Resource.TOPIC, "allowed", host=spelling)
        elsewhere = allow(ANYBODY, None, Resource.TOPIC, "elsewhere", host="::2")
        add(admin, everywhere, denied, allowed, elsewhere)
        assert not written(port, "denied")
        assert written(port, "allowed")
        assert not written(port, "elsewhere")
        assert described(admin) == {everywhere, denied, allowed, elsewhere}
        remove(admin, AclFilter(*denied._replace(host="::1")))
        assert described(admin) == {everywhere, allowed, elsewhere}
        assert written(port, "denied")


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_members_of_a_group_are_told_with_their_address_as_in_kafka(
    port: int, protocol: str
) -> None:
    assert written(port, "t")
    servers = {"bootstrap.servers": f"[::1]:{port}"}
    earliest = {"group.id": "g", "group.protocol": protocol, "auto.offset.reset": "earliest"}
    with closing(Consumer({**servers, **earliest})) as consumer:
        consumer.subscribe(["t"])
        deadline = time.monotonic() + WITHIN_S
        while (record := consumer.poll(1)) is None or record.error():
            assert time.monotonic() < deadline
        admin = AdminClient(servers)
        group = admin.describe_consumer_groups(["g"])["g"].result(WITHIN_S)
        assert [member.host for member in group.members] == [f"/{IN_FULL}"]
