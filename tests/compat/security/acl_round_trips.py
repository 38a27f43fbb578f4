"""ACLs with each client: made, listed, used and removed.

`ACL_ROUND_TRIPS[client](admin, user, topic)` has an admin make two ACLs, list what speaks about the
topic and remove it; before, between and after the user tries to write. It returns what it saw, in
the words of `EXPECTED`. Clients that are no Python have theirs in `tests/java/src/
AclRoundTrip.java` and `tests/go/franz/acls.go`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any

from tests.compat.security import ways
from tests.compat.security.ways import Way

AclRoundTrip = Callable[[Way, Way, str], list[str]]

TIMEOUT_S = 60
USER, ELSEWHERE = "bob", "10.9.9.9"
"""Who may write, and from where they may not read."""
PREFIX_LENGTH = 8
"""Of the topic's name, in the ACL that is for a prefix."""
DENIED, WRITTEN = "TOPIC_AUTHORIZATION_FAILED", "written"
BOTH = "ALLOW WRITE LITERAL *, DENY READ PREFIXED 10.9.9.9"
EXPECTED = [DENIED, f"listed {BOTH}", WRITTEN, f"removed {BOTH}", "left ", DENIED]


def _told(acls: list[Any], permission: str, pattern: Callable[[Any], Any]) -> str:
    texts = [
        f"{getattr(acl, permission).name} {acl.operation.name} {pattern(acl).name} {acl.host}"
        for acl in acls
    ]
    return ", ".join(sorted(texts))


def confluent(admin: Way, user: Way, topic: str) -> list[str]:
    """confluent-kafka."""
    from confluent_kafka.admin import (
        AclBinding,
        AclBindingFilter,
        AclOperation,
        AclPermissionType,
        AdminClient,
        ResourcePatternType,
        ResourceType,
    )

    client = AdminClient({**ways.librdkafka(admin), "log_level": 0})
    who, kind = f"User:{USER}", ResourceType.TOPIC
    literal, prefixed = ResourcePatternType.LITERAL, ResourcePatternType.PREFIXED
    allow, deny = AclPermissionType.ALLOW, AclPermissionType.DENY
    prefix = topic[:PREFIX_LENGTH]
    bindings = [
        AclBinding(kind, topic, literal, who, "*", AclOperation.WRITE, allow),
        AclBinding(kind, prefix, prefixed, who, ELSEWHERE, AclOperation.READ, deny),
    ]
    about = AclBindingFilter(
        kind,
        topic,
        ResourcePatternType.MATCH,
        who,
        None,
        AclOperation.ANY,
        AclPermissionType.ANY,
    )

    def told(acls: list[Any]) -> str:
        return _told(acls, "permission_type", lambda acl: acl.resource_pattern_type)

    def listed() -> str:
        return told(client.describe_acls(about).result(TIMEOUT_S))

    seen = [_written_by_confluent(user, topic)]
    for created in client.create_acls(bindings).values():
        created.result(TIMEOUT_S)
    seen += [f"listed {listed()}", _written_by_confluent(user, topic)]
    (removed,) = client.delete_acls([about]).values()
    seen.append(f"removed {told(removed.result(TIMEOUT_S))}")
    return [*seen, f"left {listed()}", _written_by_confluent(user, topic)]


def _written_by_confluent(user: Way, topic: str) -> str:
    from confluent_kafka import Producer

    from tests.clients.confluent_outcomes import produce_outcomes

    producer = Producer({**ways.librdkafka(user), "log_level": 0, "linger.ms": 0})
    (error,) = produce_outcomes(producer, topic, b"x", timeout_s=TIMEOUT_S)
    return error.name() if error else WRITTEN


def kafka_python(admin: Way, user: Way, topic: str) -> list[str]:
    """kafka-python."""
    from kafka.admin import (
        ACL,
        ACLFilter,
        ACLOperation,
        ACLPermissionType,
        ACLResourcePatternType,
        KafkaAdminClient,
        ResourcePattern,
        ResourcePatternFilter,
        ResourceType,
    )

    client = KafkaAdminClient(**ways.kafka_python(admin))
    who, kind = f"User:{USER}", ResourceType.TOPIC
    literal = ResourcePattern(kind, topic, ACLResourcePatternType.LITERAL)
    prefixed = ResourcePattern(kind, topic[:PREFIX_LENGTH], ACLResourcePatternType.PREFIXED)
    acls = [
        ACL(who, "*", ACLOperation.WRITE, ACLPermissionType.ALLOW, literal),
        ACL(who, ELSEWHERE, ACLOperation.READ, ACLPermissionType.DENY, prefixed),
    ]
    match = ResourcePatternFilter(kind, topic, ACLResourcePatternType.MATCH)
    about = ACLFilter(who, None, ACLOperation.ANY, ACLPermissionType.ANY, match)

    def told(acls: list[Any]) -> str:
        return _told(acls, "permission_type", lambda acl: acl.resource_pattern.pattern_type)

    def listed() -> str:
        found, error = client.describe_acls(about)
        assert not error.errno, error
        return told(found)

    with closing(client):
        seen = [_written_by_kafka_python(user, topic)]
        created = client.create_acls(acls)
        assert len(created["succeeded"]) == len(acls), created
        seen += [f"listed {listed()}", _written_by_kafka_python(user, topic)]
        ((_, removed, error),) = client.delete_acls([about])
        assert not error.errno, error
        seen.append(f"removed {told(removed)}")
        return [*seen, f"left {listed()}", _written_by_kafka_python(user, topic)]


def _written_by_kafka_python(user: Way, topic: str) -> str:
    from kafka import KafkaProducer
    from kafka.errors import TopicAuthorizationFailedError

    settings = {**ways.kafka_python(user), "enable_idempotence": False}
    producer = KafkaProducer(**settings, retry_backoff_ms=20)
    try:
        producer.send(topic, b"x").get(TIMEOUT_S)
    except TopicAuthorizationFailedError:
        return DENIED
    finally:
        producer.close(timeout=TIMEOUT_S)
    return WRITTEN


ACL_ROUND_TRIPS: dict[str, AclRoundTrip] = {
    "confluent-kafka": confluent,
    "kafka-python": kafka_python,
}
