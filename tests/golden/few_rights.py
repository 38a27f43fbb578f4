"""Users who may do a few things, and an Apache Kafka that lets them do just those.

The modules `…_rights_cases.py` list what such users ask, and record what Kafka answers. Owns the
Kafka; the answers are theirs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ottla.plugins.authorizer import CLUSTER_NAME, Operation, Resource
from protocol.errors import ProtocolError
from protocol.messages.create_acls import AclCreation, CreateAclsRequest
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.metadata import MetadataRequest

if TYPE_CHECKING:
    from tests.tools.apache_kafka import ApacheKafka

ADMIN = "admin"
"""The user who may do everything."""

NO_SUCH_ID = bytes(range(16))
"""The id of no topic."""

Ids = Mapping[str, bytes]
"""Topic → its id."""

Rights = Mapping[str, tuple[str, ...]]
"""User → what it may do, as in `Case`."""

Call = Callable[[Any, int], Any]
"""The answer to a request in a version."""

Ask = Callable[[Any, int, str], Any]
"""The answer to a request in a version, by the user of that name."""


class Case(NamedTuple):
    """A request by a user who has just these rights (`READ GROUP g`)."""

    name: str
    rights: tuple[str, ...]
    request: Any
    version: int


def answered(case: Case, user: str, ask: Ask, plain: Callable[[Case, Any], Any]) -> Any:
    """Return the answer to `user` in the form of `plain`, or "closed" if the broker hung up."""
    try:
        return plain(case, ask(case.request, case.version, user))
    except (ConnectionError, ProtocolError):
        return "closed"


def users(cases: Iterable[Case]) -> Iterator[tuple[str, Case]]:
    """Give each case a user of its own."""
    for number, case in enumerate(cases):
        yield f"c{number}", case


def rights_of(cases: Iterable[Case]) -> dict[str, tuple[str, ...]]:
    """Return what the users of these cases may do."""
    return {user: case.rights for user, case in users(cases)}


def acls(rights: Rights) -> list[AclCreation]:
    """Return the entries that give these rights."""
    return [_acl(user, right) for user, own in rights.items() for right in own]


def _acl(user: str, right: str) -> AclCreation:
    operation, resource, *names = right.split(" ")
    name = names[0] if names else CLUSTER_NAME
    kind, what = Resource[resource], Operation[operation]
    return AclCreation(kind, name, 3, f"User:{user}", "*", what, 3)


def as_admin(ask: Ask) -> Call:
    """Ask as the user who may do everything."""
    return lambda request, version: ask(request, version, ADMIN)


def make_topics(call: Call, topics: Mapping[str, int]) -> None:
    """Make topics of so many partitions, as the user who may do everything."""
    wanted = [CreatableTopic(name, count, 1) for name, count in topics.items()]
    made = call(CreateTopicsRequest(wanted, 30_000, False), 7)
    assert {topic.error_code for topic in made.topics} == {0}


def topics_now(call: Call) -> dict[str, bytes]:
    """Return names and ids of topics, as the user sees them who may do everything."""
    answer = call(MetadataRequest(None), 12)
    return {topic.name: topic.topic_id for topic in answer.topics}


def without_places(value: Any, drawn: tuple[str, ...]) -> Any:
    """An answer without what only one broker has; numbers of the fields `drawn` become true."""
    if isinstance(value, list):
        return [without_places(item, drawn) for item in value]
    if isinstance(value, memoryview):
        return f"{len(value)} bytes"
    if not isinstance(value, dict):
        return value
    return {
        key: item > 0 if key in drawn and isinstance(item, int) else without_places(item, drawn)
        for key, item in value.items()
        if key not in ("host", "port", "cluster_id")
    }


class GuardedKafka:
    """An Apache Kafka where these users log in, each by its name as password."""

    def __init__(self, rights: Rights) -> None:
        from tests.tools.apache_kafka import ApacheKafka
        from tests.tools.java_tools import FAST_START
        from tests.tools.ports import free_port

        self._acls = acls(rights)
        self._kafka = ApacheKafka(jvm_options=FAST_START, heap="512m")
        self._port = free_port()
        self._kafka._extra.update(_properties(self._kafka, self._port, [*rights]))

    def __enter__(self) -> GuardedKafka:
        self._kafka.__enter__()
        answer = self.ask(CreateAclsRequest(self._acls), 3, ADMIN)
        assert not any(result.error_code for result in answer.results), answer
        time.sleep(0.5)
        return self

    def __exit__(self, *error: object) -> None:
        self._kafka.__exit__(*error)

    def ask(self, request: Any, version: int, user: str) -> Any:
        """Log in and ask. Raises ConnectionError where Kafka closes the connection."""
        from tests.clients.wire_client import WireClient

        with WireClient(self._port) as wire:
            wire.log_in("PLAIN", user, user)
            return wire.call(request, version)


def _properties(kafka: ApacheKafka, sasl_port: int, names: list[str]) -> dict[str, str]:
    controller = f"127.0.0.1:{kafka.controller_port}"
    listeners = (
        f"PLAINTEXT://127.0.0.1:{kafka.port},SASL://127.0.0.1:{sasl_port},CONTROLLER://{controller}"
    )
    known = " ".join(f'user_{name}="{name}"' for name in (ADMIN, *names))
    jaas = (
        "org.apache.kafka.common.security.plain.PlainLoginModule required "
        f'username="{ADMIN}" password="{ADMIN}" {known};'
    )
    return {
        "listeners": listeners,
        "advertised.listeners": listeners,
        "listener.security.protocol.map": (
            "PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT,CONTROLLER:SASL_PLAINTEXT"
        ),
        "inter.broker.listener.name": "SASL",
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "sasl.mechanism.controller.protocol": "PLAIN",
        "listener.name.sasl.plain.sasl.jaas.config": jaas,
        "listener.name.controller.plain.sasl.jaas.config": jaas,
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": f"User:{ADMIN}",
    }
