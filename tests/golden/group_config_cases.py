"""Configs of groups (resource type 32), with the answers that Apache Kafka gave.

`python -m tests.golden.group_config_cases` records `group_configs_kafka.json` anew, from a
broker with `SERVER` in its file: what it says of each change, each by itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from broker.config.keys import GROUP_CONFIG_DEF
from protocol.messages.alter_configs import (
    AlterableConfig as WholeConfig,
)
from protocol.messages.alter_configs import (
    AlterConfigsRequest,
)
from protocol.messages.alter_configs import (
    AlterConfigsResource as WholeResource,
)
from protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.list_config_resources import ListConfigResourcesRequest
from tests.kept_json import write_json

RECORDED = Path(__file__).parent / "group_configs_kafka.json"

GROUP = 32
SET, DELETE, APPEND, SUBTRACT = range(4)

SERVER = {
    "group.consumer.min.session.timeout.ms": "6000",
    "group.consumer.max.heartbeat.interval.ms": "50000",
    "group.consumer.min.assignment.interval.ms": "100",
    "group.consumer.session.timeout.ms": "46000",
    "group.share.min.session.timeout.ms": "6000",
    "group.share.max.heartbeat.interval.ms": "50000",
    "group.streams.min.session.timeout.ms": "6000",
    "group.streams.max.heartbeat.interval.ms": "50000",
}
"""Limits under which a session can be as short as a heartbeat."""

KEPT = {
    "consumer.session.timeout.ms": "50000",
    "share.isolation.level": "read_committed",
    "streams.num.warmup.replicas": "03",
}
"""What the group `kept` has; the last is internal: told only where it is set, as it was written."""


def changes() -> Iterator[Mapping[str, str]]:
    """What a group is to have, each alone."""
    for name, key in GROUP_CONFIG_DEF.items():
        for text in ("0", "1", "-1", "x", "", " 7000 ", "2147483647", "2147483648", "1e4", "true"):
            yield {name: text}
        if key.default is not None:
            yield {name: key.default}
    for text in ("earliest", "latest", "by_duration:PT1H", "by_duration:-PT1H", "by_duration:x"):
        yield {"share.auto.offset.reset": text}
    for text in ("read_committed", "READ_COMMITTED", "serializable"):
        yield {"share.isolation.level": text}
    for kind in ("consumer", "share", "streams"):
        session, heartbeat = f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"
        for longer, shorter in (("6000", "6000"), ("6001", "6000"), ("5999", "5000")):
            yield {session: longer, heartbeat: shorter}
        yield {session: "10000", heartbeat: "20000"}
        yield {heartbeat: "45000"}
        yield {heartbeat: "46000"}
        yield {heartbeat: "50001"}
    for text in ("a,b", "a,a", ",", "a,,b"):
        yield {"streams.rack.aware.assignment.tags": text}
    for text in ("dlq.x", "__x", " __x"):
        yield {"errors.deadletterqueue.topic.name": text}
    yield {"streams.assignor.name": "sticky"}
    yield {"streams.assignor.name": "x", "consumer.heartbeat.interval.ms": "1"}
    for text in ("99", "100", "15000", "15001"):
        yield {"consumer.assignment.interval.ms": text}
    yield {"colour": "red"}
    yield {"": "1"}
    yield {"colour": "red", "consumer.session.timeout.ms": "x"}
    yield {"session.timeout.ms": "10000"}
    yield {"group.consumer.session.timeout.ms": "50000"}
    yield {"retention.ms": "1"}
    yield {"consumer.session.timeout.ms": "x", "streams.session.timeout.ms": "1"}
    yield {"streams.session.timeout.ms": "1", "consumer.session.timeout.ms": "1"}


def cases() -> dict[str, Any]:
    """Requests that only validate, by a name that tells what they ask."""
    found: dict[str, Any] = {}
    for change in changes():
        found[json.dumps(dict(change))] = alteration("g", change)
    session = {"consumer.session.timeout.ms": "46001"}
    for name in ("", "kept", "a group/with any name", "x" * 300):
        found[f"group {name[:30]!r}"] = alteration(name, session)
    for operation in (DELETE, APPEND, SUBTRACT):
        found[f"operation {operation}"] = alteration("kept", session, operation)
    found["whole"] = _whole("kept", {"consumer.heartbeat.interval.ms": "5001"})
    found["whole, wrong"] = _whole("kept", {"consumer.heartbeat.interval.ms": "46000"})
    found["whole, empty name"] = _whole("", session)
    return found


def alteration(
    group: str, change: Mapping[str, str], operation: int = SET, *, only: bool = True
) -> IncrementalAlterConfigsRequest:
    """IncrementalAlterConfigs of a group; `only`: it is only validated."""
    configs = [AlterableConfig(name, operation, text) for name, text in change.items()]
    return IncrementalAlterConfigsRequest([AlterConfigsResource(GROUP, group, configs)], only)


def _whole(group: str, change: Mapping[str, str]) -> AlterConfigsRequest:
    configs = [WholeConfig(name, text) for name, text in change.items()]
    return AlterConfigsRequest([WholeResource(GROUP, group, configs)], True)


def code_and_text(response: Any) -> list[Any]:
    """Code and text of an answer."""
    (one,) = response.responses
    return [one.error_code, one.error_message]


def described(response: Any) -> Any:
    """By name: value, source, type and synonyms; or code and text of the refusal."""
    (result,) = response.results
    if result.error_code:
        return [result.error_code, result.error_message]
    return {
        one.name: [
            one.value,
            one.config_source,
            one.read_only,
            one.config_type,
            [f"{synonym.name}={synonym.value}@{synonym.source}" for synonym in one.synonyms],
        ]
        for one in result.configs
    }


def describe(group: str) -> DescribeConfigsRequest:
    """Everything of a group, with synonyms."""
    return DescribeConfigsRequest([DescribeConfigsResource(GROUP, group, None)], True, False)


DESCRIBED = ("kept", "nobody", "")


def record() -> None:
    """Ask a real broker."""
    import time

    from tests.golden.controller_cases import ask
    from tests.tools.apache_kafka import ApacheKafka
    from tests.tools.java_tools import FAST_START
    from tests.tools.ports import free_port

    port = free_port()
    with ApacheKafka(port=port, properties=SERVER, jvm_options=FAST_START, heap="512m"):
        kept = code_and_text(ask(port, alteration("kept", KEPT, only=False), 1))
        assert kept[0] == 0, kept
        time.sleep(1)  # until the broker has replayed it
        answers = {
            name: code_and_text(ask(port, request, 1 if request.API_KEY == 44 else 2))
            for name, request in cases().items()
        }
        rows = {group: described(ask(port, describe(group), 4)) for group in DESCRIBED}
        listed = ask(port, ListConfigResourcesRequest([GROUP]), 1)
    resources = [[one.resource_name, one.resource_type] for one in listed.config_resources]
    plain = {"answers": answers, "described": rows, "listed": resources}
    write_json(RECORDED, plain, sort_keys=True)


if __name__ == "__main__":
    record()
