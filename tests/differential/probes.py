"""The state that a sequence leaves: steps that ask for all of it, in every way there is.

Looks for the names in a sequence's steps: `~t…` are topics, `~g…` groups, `~x…` transactional ids.
Never asks for what belongs to another sequence, and changes nothing.
"""

from __future__ import annotations

import re
from typing import Any

from tests.differential.sequence import Body, Step

NAMED = re.compile(r"~([tgx])[A-Za-z0-9._-]*")
PARTITIONS = (0, 1, 2)
PROBE_CONNECTION = 9


def names_in(value: Any, found: dict[str, set[str]]) -> dict[str, set[str]]:
    """The names of this sequence's own things, by their first letter."""
    if isinstance(value, str):
        match = NAMED.fullmatch(value)
        if match:
            found.setdefault(match.group(1), set()).add(value)
    elif isinstance(value, dict):
        for item in value.values():
            names_in(item, found)
    elif isinstance(value, list):
        for item in value:
            names_in(item, found)
    return found


def probes_for(steps: list[Step]) -> list[Step]:
    """What is asked at the end of a sequence of these steps."""
    found: dict[str, set[str]] = {}
    for step in steps:
        names_in(step.body, found)
    topics, groups, txns = (sorted(found.get(kind, ())) for kind in "tgx")
    probes = []
    if topics:
        probes += _of_topics(topics)
    if groups:
        probes += _of_groups(groups)
    if txns:
        probes.append(_step("DESCRIBE_TRANSACTIONS", 0, transactional_ids=txns))
    return probes


def _step(api: str, version: int, **body: Any) -> Step:
    return Step(api, version, body, connection=PROBE_CONNECTION)


def _of_topics(topics: list[str]) -> list[Step]:
    return [
        _step(
            "METADATA",
            12,
            topics=[{"name": name} for name in topics],
            allow_auto_topic_creation=False,
        ),
        *(
            _step("LIST_OFFSETS", 8, isolation_level=level, topics=_offsets(topics, timestamp))
            for level, timestamp in ((0, -1), (1, -1), (0, -2), (0, -3))
        ),
        *(fetch_all(topics, level) for level in (0, 1)),
        _step(
            "DESCRIBE_PRODUCERS",
            0,
            topics=[{"name": name, "partition_indexes": list(PARTITIONS)} for name in topics],
        ),
        _step(
            "OFFSET_FOR_LEADER_EPOCH",
            4,
            replica_id=-1,
            topics=[
                {"topic": name, "partitions": [{"partition": n, "leader_epoch": 0} for n in (0, 1)]}
                for name in topics
            ],
        ),
        _step(
            "DESCRIBE_CONFIGS",
            4,
            resources=[{"resource_type": 2, "resource_name": name} for name in topics],
            include_synonyms=True,
        ),
    ]


def _offsets(topics: list[str], timestamp: int) -> list[Body]:
    return [
        {
            "name": n,
            "partitions": [{"partition_index": p, "timestamp": timestamp} for p in PARTITIONS],
        }
        for n in topics
    ]


def fetch_all(topics: list[str], level: int) -> Step:
    """Everything from the first offset, without a session."""
    partitions = [
        {"partition": n, "fetch_offset": 0, "partition_max_bytes": 1 << 20} for n in PARTITIONS
    ]
    return _step(
        "FETCH",
        12,
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=1 << 22,
        isolation_level=level,
        session_epoch=-1,
        topics=[{"topic": name, "partitions": partitions} for name in topics],
    )


def _of_groups(groups: list[str]) -> list[Step]:
    return [
        _step("DESCRIBE_GROUPS", 6, groups=groups, include_authorized_operations=True),
        _step("OFFSET_FETCH", 8, groups=[{"group_id": name, "topics": None} for name in groups]),
    ]
