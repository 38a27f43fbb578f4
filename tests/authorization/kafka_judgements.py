"""What Apache Kafka says about random sets of ACLs, and the same questions to our authorizer.

The questions are requests that tell what one may do: the bits of `IncludeAuthorizedOperations` for
topics, groups and the cluster, and whether an idempotent producer is let in. Owns the recordings
`judgements_kafka.json` and, of entries with ranges of addresses, `range_judgements_kafka.json`: per
set its entries, and per connection one number for each question, the bits or, below zero, the
error.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controller.authorization.rights import OPERATIONS_OF, Rights
from controller.authorization.standard_authorizer import StandardAuthorizer
from controller.metadata.acl import Acl, AclsImage
from ottla.plugins.authorizer import CLUSTER_NAME, Asker, Operation, Resource
from protocol.errors import ErrorCode
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.describe_cluster import DescribeClusterRequest
from protocol.messages.describe_groups import DescribeGroupsRequest
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.authorization.random_acls import ALLOW, HOSTS, HOSTS_OF_RANGES, WITH_RANGES, entry
from tests.authorization.reference import Entry
from tests.authorization.secured_kafka import ADMIN, secured_kafka, until
from tests.clients.wire_client import WireClient
from tests.kept_json import write_json
from tests.tools.apache_kafka import HOST

SETS = 20
NAMES = ("a", "ab", "abc", "b")
WHO = ("alice", "bob", None)
RESOURCES = (int(Resource.TOPIC), int(Resource.GROUP), int(Resource.CLUSTER))
EVERYONE = "allow.everyone.if.no.acl.found"
NOT_ASKED = -(2**31)


@dataclass(frozen=True)
class Recording:
    """A file of judgements, and what they are about."""

    file: str
    seed: int
    hosts: tuple[str, ...]
    """Where the clients are."""
    hosts_of_entries: tuple[str, ...] = ()
    """As `entry` takes them."""

    @property
    def path(self) -> Path:
        return Path(__file__).parent / self.file

    @property
    def connections(self) -> list[tuple[str | None, str]]:
        return [(user, host) for user in WHO for host in self.hosts]


ADDRESSES = Recording("judgements_kafka.json", 43, HOSTS)
RANGES = Recording("range_judgements_kafka.json", 44, HOSTS_OF_RANGES, WITH_RANGES)


def sets(recording: Recording) -> list[list[Entry]]:
    """Those that are asked about: many entries, most of them about something that can be seen."""
    chance = random.Random(recording.seed)
    found = []
    for _ in range(SETS):
        drawn = [
            entry(chance, RESOURCES[:2] * 2 + RESOURCES, recording.hosts_of_entries)
            for _ in range(chance.randint(0, 45))
        ]
        found.append(sorted({_seen(chance, one) for one in drawn}))
    return found


def _seen(chance: random.Random, drawn: Entry) -> Entry:
    resource, name, pattern, principal, host, operation, permission = drawn
    operation = chance.choice((operation, int(chance.choice(OPERATIONS_OF[Resource(resource)]))))
    permission = permission if chance.random() < 0.6 else ALLOW
    return resource, name, pattern, principal, host, operation, permission


def judged(entries: list[Entry], everyone: bool, user: str | None, host: str) -> list[int]:
    """What our authorizer says to the questions of one connection."""
    image = AclsImage().changed({n.to_bytes(16): Acl(*one) for n, one in enumerate(entries)})
    judge = StandardAuthorizer(lambda: image, ["User:admin"], everyone)
    asker = Asker(f"User:{user or 'ANONYMOUS'}", host, "SASL", "SASL_PLAINTEXT", None, 3, 12)
    rights = Rights(judge, asker)
    answers = []
    for resource, denied in (
        (Resource.TOPIC, ErrorCode.TOPIC_AUTHORIZATION_FAILED),
        (Resource.GROUP, ErrorCode.GROUP_AUTHORIZATION_FAILED),
    ):
        for name in NAMES:
            shown = rights.allows(Operation.DESCRIBE, resource, name)
            answers.append(rights.operations(resource, name) if shown else -denied)
    shown = rights.allows_on_cluster(Operation.DESCRIBE)
    answers.append(rights.operations(Resource.CLUSTER, CLUSTER_NAME) if shown else 0)
    idempotent = rights.allows_on_cluster(Operation.IDEMPOTENT_WRITE) or rights.allows_any(
        Operation.WRITE, Resource.TOPIC
    )
    return [*answers, 0 if idempotent else -ErrorCode.CLUSTER_AUTHORIZATION_FAILED]


def recorded(
    recording: Recording,
) -> Iterator[tuple[list[Entry], bool, str | None, str, list[int]]]:
    """Entries, whether everyone may where no entry is, user, host, Kafka's answers."""
    for one in json.loads(recording.path.read_text()):
        entries = [tuple(of) for of in one["entries"]]
        for (user, host), answers in zip(recording.connections, one["answers"], strict=True):
            yield entries, one["everyone"], user, host, answers


def record(recording: Recording) -> None:
    """Ask two of them."""
    kept = [one for everyone in (False, True) for one in _ask_kafka(recording, everyone)]
    write_json(recording.path, kept)


def _ask_kafka(recording: Recording, everyone: bool) -> Iterator[dict[str, Any]]:
    everywhere = any(":" in host for host in recording.hosts)
    bound_to = "[::]" if everywhere else HOST
    with secured_kafka({EVERYONE: str(everyone).lower()}, bound_to=bound_to) as kafka:
        with kafka.client("SASL", ADMIN) as admin:
            _prepare(admin)
        clients = [
            kafka.client("SASL" if user else "PLAINTEXT", user, host)
            for user, host in recording.connections
        ]
        for entries in sets(recording):
            kafka.set_acls(entries)
            answers = [_ask(client) for client in clients]
            yield {"everyone": everyone, "entries": entries, "answers": answers}
        for client in clients:
            client.close()


def _prepare(admin: WireClient) -> None:
    """The topics are there, and the coordinator of groups serves."""
    admin.call(CreateTopicsRequest([CreatableTopic(name, 1, 1) for name in NAMES], 5_000), 7)
    until(lambda: admin.call(FindCoordinatorRequest("a", 0), 2).error_code == 0)
    asked = DescribeGroupsRequest(list(NAMES))
    until(lambda: all(one.error_code == 0 for one in admin.call(asked, 5).groups))
    until(lambda: admin.call(InitProducerIdRequest(None, 60_000), 4).error_code == 0)
    until(lambda: _topics(admin) == [0, 0, 0, 0])


def _topics(client: WireClient) -> list[int]:
    request = MetadataRequest([MetadataRequestTopic(name=name) for name in NAMES], False)
    by_name = {one.name: one.error_code for one in client.call(request, 12).topics}
    return [by_name[name] for name in NAMES]


def _ask(client: WireClient) -> list[int]:
    names = [MetadataRequestTopic(name=name) for name in NAMES]
    topics = client.call(MetadataRequest(names, False, False, True), 12).topics
    told = {one.name: _told(one.error_code, one.topic_authorized_operations) for one in topics}
    answers = [told[name] for name in NAMES]
    groups = client.call(DescribeGroupsRequest(list(NAMES), True), 5).groups
    told = {one.group_id: _told(one.error_code, one.authorized_operations) for one in groups}
    answers += [told[name] for name in NAMES]
    cluster = client.call(DescribeClusterRequest(True), 0)
    answers.append(_told(cluster.error_code, cluster.cluster_authorized_operations))
    return [*answers, -client.call(InitProducerIdRequest(None, 60_000), 4).error_code]


def _told(error: int, operations: int) -> int:
    assert error or operations != NOT_ASKED
    return -error or operations
