"""Configs of topics and groups: every key with every odd value, set, appended, subtracted, deleted.

The keys are those of the definitions that Ottla ships. Broker configs are validated only.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

from tests.differential.generate import Versions
from tests.differential.grids.steps import create
from tests.differential.sequence import Sequence, Step

VALUES: tuple[str | None, ...] = (
    *(None, "", " ", "-1", "0", "1", "9", "1.5", " 1 ", "x", "true", "TRUE", "false", "yes"),
    *(
        "2147483647",
        "2147483648",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775808",
    ),
    *("1e3", "0x10", "0x1p-1", "NaN", "Infinity", "0.5", "1f", "1d", "+1", "-0", "007", "1,2", ","),
    *("compact", "delete", "gzip", "zstd", "CreateTime", "earliest", "*", "0:1", "0:1,1:2"),
)
TOPIC, BROKER, GROUP = 2, 4, 32


def _keys(package: str, name: str) -> list[str]:
    text = (files(package) / "definitions" / name).read_text()
    try:
        listed: list[Any] = json.loads(text)
    except json.JSONDecodeError:
        listed = [json.loads(line) for line in text.splitlines() if line.strip()]
    return [one["name"] for one in listed]


def grid(versions: Versions) -> Iterator[Sequence]:
    latest = versions["INCREMENTAL_ALTER_CONFIGS"][1]
    for key in _keys("storage", "topic-configs.json"):
        yield Sequence(f"created with {key}", [_created(key, value) for value in VALUES], setup=0)
        yield Sequence(f"altered {key}", [create("~t0"), *_altered(TOPIC, "~t0", key, latest)],
                       setup=1)  # fmt: skip
    for key in _keys("broker", "group-configs.json"):
        yield Sequence(f"altered {key}", _altered(GROUP, "~g0", key, latest), setup=0)
        for value in VALUES:
            steps = [_alter(GROUP, "~g0", key, 0, value, latest), _describe(GROUP, "~g0")]
            yield Sequence(f"group config {key}={value}", steps)
    for key, value in (
        *(
            ("cleanup.policy", one)
            for one in ("compact,delete", "delete,compact", "compact,compact")
        ),
        *(("retention.ms", "1000"), ("min.cleanable.dirty.ratio", "0x1p-1"), ("flush.ms", " 7 ")),
    ):
        for operation in (0, 1, 2, 3):
            steps = [create("~t0"), _alter(TOPIC, "~t0", key, operation, value, latest)]
            yield Sequence(
                f"config {key}={value} by {operation}", [*steps, _describe(TOPIC, "~t0")]
            )
    yield from _described(versions["DESCRIBE_CONFIGS"])


def _created(key: str, value: str | None) -> Step:
    one = {"name": "~t0", "num_partitions": 1, "replication_factor": 1}
    topics = [{**one, "configs": [{"name": key, "value": value}]}]
    return Step("CREATE_TOPICS", 7, {"topics": topics, "timeout_ms": 30_000, "validate_only": True})


def _altered(kind: int, name: str, key: str, version: int) -> list[Step]:
    """Validated only, by both APIs and every operation."""
    steps = []
    for value in VALUES:
        configs = [{"name": key, "value": value}]
        resource = {"resource_type": kind, "resource_name": name, "configs": configs}
        steps.append(Step("ALTER_CONFIGS", 2, {"resources": [resource], "validate_only": True}))
        steps += [
            _alter(kind, name, key, operation, value, version, True) for operation in (0, 1, 2, 3)
        ]
    return steps


def _alter(
    kind: int,
    name: str,
    key: str,
    operation: int,
    value: str | None,
    version: int,
    only: bool = False,
) -> Step:
    configs = [{"name": key, "config_operation": operation, "value": value}]
    resource = {"resource_type": kind, "resource_name": name, "configs": configs}
    body = {"resources": [resource], "validate_only": only}
    return Step("INCREMENTAL_ALTER_CONFIGS", version, body)


def _describe(kind: int, name: str, version: int = 4, **body: Any) -> Step:
    resource = {"resource_type": kind, "resource_name": name, "configuration_keys": None, **body}
    return Step("DESCRIBE_CONFIGS", version, {"resources": [resource], "include_synonyms": True})


def _described(versions: tuple[int, int]) -> Iterator[Sequence]:
    steps = [create("~t0", retention_ms="5", cleanup_policy="compact")]
    for version in range(versions[0], versions[1] + 1):
        for kind in (-1, 0, 1, 2, 3, 4, 8, 16, 32, 64):
            for name in ("~t0", "~t9", "", "1", "2", "x", "root"):
                keys = ["no.such", "retention.ms", "num.partitions"]
                steps.append(_describe(kind, name, version, configuration_keys=keys))
    yield Sequence("configs described", steps, setup=1)
