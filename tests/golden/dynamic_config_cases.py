"""Changes to a running broker's configs, with the answers that Apache Kafka gave.

`python -m tests.golden.dynamic_config_cases` records `dynamic_configs_kafka.json` anew from a
real broker with one listener more than it needs: what it says of each change (code and text), each
by itself, and what DescribeConfigs tells after those of `SETTLED`.
`tests/unit/broker/apis/test_alter_configs_kafka.py` asks Ottla the same.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from broker.config.keys import BROKER_CONFIG_DEF, OTTLA_CONFIG_DEF
from ground.config_def import ConfigKey, ConfigType
from protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.kept_json import write_json

RECORDED = Path(__file__).parent / "dynamic_configs_kafka.json"

BROKER = 4
LEVELS = {"broker": "1", "cluster": ""}
EXTRA_LISTENER = "EXTERNAL"

THREADS = {
    "background.threads": 10,
    "log.cleaner.threads": 1,
    "num.io.threads": 8,
    "num.network.threads": 3,
    "num.recovery.threads.per.data.dir": 2,
    "num.replica.fetchers": 1,
}
"""What is in force for each number of threads."""

_VALUES: Mapping[str, tuple[str, ...]] = {
    "max.connections": ("0", "1", "-1", "x", "2147483648"),
    "max.connections.per.ip": ("0", "1", "-1", "x"),
    "max.connections.per.ip.overrides": (
        "127.0.0.3:4",
        "127.0.0.3:4,127.0.0.4:0",
        "localhost:4",
        " 127.0.0.3 : 4 ",
        "x",
        "a:b",
        "127.0.0.3:-1",
        "no-such-host.invalid:3",
        "127.0.0.3:4,",
        "127.0.0.3:4,127.0.0.3:5",
        ":5",
        "::1:5",
        "127.0.0.3:",
        "",
    ),
    "max.connection.creation.rate": ("0", "1", "5", "-1", "x"),
    "metric.reporters": (
        "",
        "no.such.Reporter",
        "org.apache.kafka.common.metrics.JmxReporter",
    ),
    "log.cleaner.dedupe.buffer.size": ("2000000", "1048576", "1048577", "5", "-1"),
    "log.cleaner.io.buffer.size": ("0", "1000", "-1"),
    "log.cleaner.io.buffer.load.factor": ("0.5", "2", "-1"),
    "log.cleaner.io.max.bytes.per.second": ("1000000", "0.5", "0", "-1", "x"),
    "log.cleaner.backoff.ms": ("0", "-1"),
    "log.retention.ms": ("-1", "0", "1", "5", "-2"),
    "log.retention.bytes": ("-1", "5"),
    "log.roll.ms": ("0", "1", "-1"),
    "log.roll.jitter.ms": ("0", "-1"),
    "log.segment.bytes": ("1048576", "13", "-1"),
    "log.index.size.max.bytes": ("3", "4"),
    "log.cleanup.policy": ("compact", "compact,delete", "foo", ""),
    "log.cleaner.min.cleanable.ratio": ("0", "1", "1.1"),
    "log.message.timestamp.type": ("LogAppendTime", "x"),
    "log.local.retention.ms": ("-2", "-1", "5", "604800001"),
    "log.local.retention.bytes": ("-2", "-1", "5"),
    "compression.type": ("zstd", "x"),
    "message.max.bytes": ("0", "5", "-1"),
    "max.decompressed.message.bytes": ("0", "1", "2147483639", "-1", "x"),
    "log.remote.copy.lag.ms": ("-2", "-1", "604800001"),
    "log.remote.copy.lag.bytes": ("-2", "-1", "5"),
    "min.insync.replicas": ("0", "2"),
    "unclean.leader.election.enable": ("true", "x"),
    "producer.id.expiration.ms": ("1", "0", "x"),
    "transaction.partition.verification.enable": ("false", "x"),
    "num.partitions": ("2",),
    "listeners": ("PLAINTEXT://127.0.0.1:1", "x"),
    "advertised.listeners": ("PLAINTEXT://127.0.0.1:1",),
    "principal.builder.class": ("no.such.Builder",),
    "cordoned.log.dirs": ("/nowhere", "*"),
    "leader.replication.throttled.rate": ("1000", "0", "-1", "x"),
    "follower.replication.throttled.rate": ("1000",),
    "replica.alter.log.dirs.io.max.bytes.per.second": ("1000", "-5"),
    "of.some.plugin": ("x",),
    "quota.window.num": ("5",),
    "controller.quota.window.num": ("5",),
}
_OF_LISTENER: Mapping[str, tuple[str, ...]] = {
    "max.connections": ("0", "1", "-1", "x"),
    "max.connection.creation.rate": ("0", "1", "5", "-1", "x"),
    "max.connections.per.ip": ("5",),
    "num.network.threads": ("1", "2", "6", "7", "0"),
    "connections.max.idle.ms": ("5",),
    "log.retention.ms": ("5",),
    "no.such.key": ("5",),
}
_LISTENERS = ("plaintext", "external", "controller", "nobody")

_TOGETHER: tuple[Mapping[str, str], ...] = (
    {"max.connections.per.ip": "0", "max.connections.per.ip.overrides": "127.0.0.3:4"},
    {"max.connections.per.ip": "0", "max.connections.per.ip.overrides": ""},
    {"log.cleaner.threads": "2", "log.cleaner.dedupe.buffer.size": "2000000"},
    {"num.io.threads": "99", "node.id": "9"},
    {"node.id": "9", "broker.id": "9"},
    {"num.io.threads": "99", "num.network.threads": "99"},
    {"background.threads": "99", "num.replica.fetchers": "99"},
    {"num.io.threads": "x", "node.id": "9"},
    {"listeners": "x", "node.id": "9"},
    {"listeners": "PLAINTEXT://127.0.0.1:1", "principal.builder.class": "x"},
    {"ssl.keystore.location": "/x", "node.id": "9"},
    {"ssl.keystore.location": "/x", "num.io.threads": "x"},
    {"max.connections": "x", "num.io.threads": "y"},
    {"log.retention.ms": "0", "num.io.threads": "99"},
)

STATIC = 4
"""The source of what the broker's file sets."""
OF_THE_MACHINE = {
    "advertised.listeners": "PLAINTEXT://127.0.0.1:1,EXTERNAL://127.0.0.1:3",
    "controller.quorum.bootstrap.servers": "127.0.0.1:2",
    "listeners": "PLAINTEXT://127.0.0.1:1,CONTROLLER://127.0.0.1:2,EXTERNAL://127.0.0.1:3",
    "log.dirs": "data",
}
"""Keys of the recorded broker's file that are told of in other words: they are of the machine."""

_MORE_THREADS: tuple[Mapping[str, str], ...] = tuple(
    {name: text}
    for name, texts in (
        ("log.cleaner.threads", ("0", "1", "2", "3", "4", "8", "9")),
        ("num.io.threads", ("4", "5", "20", "21")),
        ("num.network.threads", ("1", "2", "8", "9")),
        ("listener.name.external.num.network.threads", ("1", "2", "10", "11")),
        ("background.threads", ("5", "6", "24", "25")),
    )
    for text in texts
)
"""Tried after `SETTLED`, where numbers of threads are others."""

SETTLED: Mapping[str, Mapping[str, str]] = {
    "cluster": {
        "background.threads": "12",
        "log.cleaner.backoff.ms": "20000",
        "log.cleaner.io.buffer.load.factor": "0.80",
        "log.cleaner.io.buffer.size": " 600000 ",
        "log.cleaner.min.cleanable.ratio": "0.50",
        "log.cleanup.policy": "compact, delete",
        "log.cleaner.threads": "2",
        "log.retention.ms": "7000000",
        "max.connection.creation.rate": "500",
        "max.connections": "900",
        "max.connections.per.ip": "800",
        "max.connections.per.ip.overrides": "127.0.0.3:4, 127.0.0.4:5",
        "message.max.bytes": "2000000",
        "num.io.threads": "9",
        "num.network.threads": "4",
        "num.replica.fetchers": "2",
        "listener.name.external.max.connections": "70",
        "listener.name.external.num.network.threads": "5",
    },
    "broker": {
        "log.cleaner.dedupe.buffer.size": "0134217729",
        "log.cleaner.io.max.bytes.per.second": "5000000",
        "log.preallocate": " TRUE ",
        "log.roll.ms": "600000000",
        "max.connections": "700",
        "num.io.threads": "10",
        "num.recovery.threads.per.data.dir": "3",
        "listener.name.external.max.connection.creation.rate": "60",
        "listener.name.external.max.connections": "60",
        "listener.name.plaintext.max.connections": "50",
    },
}
"""What is set for all brokers, and then for the one, before it is described."""


def another_value(key: ConfigKey) -> str:
    """One that is not the key's default, and most often valid."""
    if key.name in THREADS:
        return str(THREADS[key.name] * 2)
    default = key.default
    if key.type in (ConfigType.INT, ConfigType.LONG, ConfigType.SHORT):
        number = int(default or 1)
        return str(number - 1 if number > 2**31 - 2 else number + 1)
    if key.type is ConfigType.DOUBLE:
        return "0.25"
    if key.type is ConfigType.BOOLEAN:
        return "false" if default == "true" else "true"
    return "x"


def _one_key(name: str, texts: tuple[str, ...]) -> Iterator[Mapping[str, str]]:
    yield from ({name: text} for text in texts)


def changes() -> Iterator[Mapping[str, str]]:
    """Each of the sets of keys that is tried, alone, on both levels."""
    for name, key in BROKER_CONFIG_DEF.items():
        if name not in OTTLA_CONFIG_DEF:
            yield {name: another_value(key)}
    for name, now in THREADS.items():
        texts = (now // 2 - 1, now // 2, now, now * 2 + 1, 0, -1)
        yield from _one_key(name, tuple(dict.fromkeys(map(str, texts))))
        yield {name: "x"}
    for name, values in _VALUES.items():
        yield from _one_key(name, values)
    for listener in _LISTENERS:
        for key_name, values in _OF_LISTENER.items():
            yield from _one_key(f"listener.name.{listener}.{key_name}", values)
    yield from _TOGETHER


def settled_cases() -> dict[str, IncrementalAlterConfigsRequest]:
    """The same, after `SETTLED`."""
    return _named(_MORE_THREADS)


def cases() -> dict[str, IncrementalAlterConfigsRequest]:
    """By a name that tells level and change."""
    return _named(changes())


def _named(
    changes: Iterable[Mapping[str, str]],
) -> dict[str, IncrementalAlterConfigsRequest]:
    tried = list(changes)
    return {
        f"{level} {json.dumps(dict(change))}": _request(resource, change, validate_only=True)
        for level, resource in LEVELS.items()
        for change in tried
    }


def _request(
    resource: str, change: Mapping[str, str], *, validate_only: bool
) -> IncrementalAlterConfigsRequest:
    configs = [AlterableConfig(name, 0, text) for name, text in change.items()]
    return IncrementalAlterConfigsRequest(
        [AlterConfigsResource(BROKER, resource, configs)], validate_only
    )


def describe(resource: str) -> DescribeConfigsRequest:
    """Everything of a resource, with synonyms."""
    return DescribeConfigsRequest([DescribeConfigsResource(BROKER, resource, None)], True, False)


def code_and_text(response: Any) -> list[Any]:
    """Code and text of an answer."""
    (one,) = response.responses
    return [one.error_code, one.error_message]


def rows(response: Any) -> dict[str, list[Any]]:
    """By name: value, source, read only, sensitive, type, and `name=value@source` of synonyms.
    What is of a machine is left out."""
    (result,) = response.results
    assert result.error_code == 0, result.error_message
    return {
        one.name: [
            one.value,
            one.config_source,
            one.read_only,
            one.is_sensitive,
            one.config_type,
            [f"{synonym.name}={synonym.value}@{synonym.source}" for synonym in one.synonyms],
        ]
        for one in result.configs
        if one.name not in OF_THE_MACHINE
    }


def record() -> None:
    """Ask a real broker."""
    from tests.golden.controller_cases import ask
    from tests.tools.apache_kafka import ApacheKafka
    from tests.tools.java_tools import FAST_START
    from tests.tools.ports import free_port

    port, controller, external = free_port(), free_port(), free_port()
    addresses = (
        f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller},"
        f"{EXTRA_LISTENER}://127.0.0.1:{external}"
    )
    kafka = ApacheKafka(
        port=port,
        controller_port=controller,
        properties={
            "listeners": addresses,
            "advertised.listeners": addresses,
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,"
            f"{EXTRA_LISTENER}:PLAINTEXT",
        },
        jvm_options=FAST_START,
        heap="512m",
    )
    with kafka:
        first = {level: rows(ask(port, describe(name), 4)) for level, name in LEVELS.items()}
        answers = {case: code_and_text(ask(port, request, 1)) for case, request in cases().items()}
        for level, change in SETTLED.items():
            request = _request(LEVELS[level], change, validate_only=False)
            assert code_and_text(ask(port, request, 1))[0] == 0, level
        while rows(ask(port, describe("1"), 4))["num.io.threads"][0] != "10":
            time.sleep(0.1)
        time.sleep(1)  # until the broker has applied all of them
        then = {level: rows(ask(port, describe(name), 4)) for level, name in LEVELS.items()}
        later = {
            case: code_and_text(ask(port, request, 1)) for case, request in settled_cases().items()
        }
    plain = {
        "answers": answers,
        "answers_settled": later,
        "described": first,
        "described_settled": then,
    }
    write_json(RECORDED, plain, sort_keys=True)


if __name__ == "__main__":
    record()
