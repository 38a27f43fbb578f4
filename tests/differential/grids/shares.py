"""Share groups whose members have partitions: walks of a few members over the same records.

Partitions are assigned, and records that a session held become available, some time after the
answer, so steps of these sequences wait a little.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from tests.differential.generate import Versions, random_step
from tests.differential.grids.steps import create, produce
from tests.differential.sequence import Body, Sequence, Step

WALKS = 60
STEPS = 30
ASSIGNED_S = 0.4
"""How long the initialization of a group's partitions takes, at most."""
RELEASED_S = 0.03
"""How long the records of a closed session are held, at most."""
WEIGHTS = {
    **{"SHARE_FETCH": 40, "SHARE_ACKNOWLEDGE": 30, "PRODUCE": 6, "SHARE_GROUP_HEARTBEAT": 4},
    **{"DESCRIBE_SHARE_GROUP_OFFSETS": 6, "SHARE_GROUP_DESCRIBE": 3, "DELETE_RECORDS": 2},
    **{"ALTER_SHARE_GROUP_OFFSETS": 2, "DELETE_SHARE_GROUP_OFFSETS": 2, "DELETE_GROUPS": 1},
    **{"LIST_GROUPS": 1, "END_TXN": 1, "ADD_PARTITIONS_TO_TXN": 1},
}
CONFIGS = (
    {},
    {"share.delivery.count.limit": "2"},
    {"share.isolation.level": "read_committed"},
    {"share.partition.max.record.locks": "100"},
)


def grid(versions: Versions) -> Iterator[Sequence]:
    for number in range(WALKS):
        yield _walk(number, versions)


def share_heartbeat(connection: int = 0, **body: object) -> Step:
    """ShareGroupHeartbeat of `~g0`, as the member that this connection is."""
    made = {"group_id": "~g0", "member_id": f"~m{connection}", "member_epoch": 0}
    return Step("SHARE_GROUP_HEARTBEAT", 1, made | body, connection)


def share_fetch(connection: int = 0, **body: object) -> Step:
    """The first ShareFetch of a session with both partitions of `~t0`."""
    partitions = [{"partition_index": number} for number in (0, 1)]
    topic = {"topic_id": {"$": "topic_id", "of": "~t0"}, "partitions": partitions}
    made: Body = {"group_id": "~g0", "member_id": f"~m{connection}", "share_session_epoch": 0}
    made |= {"max_wait_ms": 200, "min_bytes": 1, "max_records": 500, "batch_size": 500}
    return Step("SHARE_FETCH", 2, made | {"topics": [topic]} | body, connection)


def ready_group(**configs: str) -> list[Step]:
    """`~g0` with the one member of connection 0, which has both partitions of `~t0`.

    Their leader has read the group's state before there are records, so that the next fetch gets
    records of both partitions.
    """
    entries = {"share.auto.offset.reset": "earliest", **configs}
    resource = {
        "resource_type": 32,
        "resource_name": "~g0",
        "configs": [
            {"name": name, "config_operation": 0, "value": value} for name, value in entries.items()
        ],
    }
    again = share_heartbeat(subscribed_topic_names=["~t0"])
    again.pause_s = ASSIGNED_S
    return [
        create("~t0"),
        Step("INCREMENTAL_ALTER_CONFIGS", 1, {"resources": [resource]}),
        share_heartbeat(subscribed_topic_names=["~t0"]),
        again,
        share_fetch(),
        produce([{"n": 3}]),
        produce([{"n": 1}], partition=1),
        produce([{"n": 2}], partition=1),
    ]


def _walk(number: int, versions: Versions) -> Sequence:
    rng = random.Random(f"shares {number}")
    steps = ready_group(**CONFIGS[number % len(CONFIGS)])
    length = len(steps) + STEPS
    while len(steps) < length:
        api = rng.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        step = random_step(rng, api, versions[api][1] if rng.random() < 0.7 else versions[api][0])
        if step is not None:
            step.pause_s = RELEASED_S
            steps.append(step)
    return Sequence(f"shares walk {number}", steps)
