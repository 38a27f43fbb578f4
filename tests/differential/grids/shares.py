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
    yield from _known()
    for number in range(WALKS):
        yield _walk(number, versions)


def _known() -> Iterator[Sequence]:
    """Yield a sequence for each deliberate difference that the other grids may miss."""
    group = {"group_ids": ["~g0"]}
    refused = {"topic_name": "~t0", "partitions": [{"partition_index": 9, "start_offset": 1}]}
    few = {"max_records": 1, "share_session_epoch": {"$": "share_session_epoch", "of": "~g0/0"}}
    stories = {
        "a partition twice": [*ready_group(), share_fetch(1, topics=[_topic(0, 0)])],
        "what is not in flight": [
            *ready_group(),
            share_fetch(),
            _acknowledges([(0, 2, 1)]),
            _acknowledges([(1, 1, 1), (2, 3, 3)]),
        ],
        "few records": [
            *ready_group(),
            share_fetch(2, max_records=1, share_acquire_mode=1),
            _acknowledges([(6, 6, 1)]),
            share_fetch(topics=[], **few),
        ],
        "a deleted topic": [
            *ready_group(),
            Step("DELETE_TOPICS", 5, {"topic_names": ["~t0"], "timeout_ms": 30_000}),
            share_fetch(topics=[], **few),
        ],
        "refused offsets": [
            create("~t0"),
            Step("ALTER_SHARE_GROUP_OFFSETS", 0, {"group_id": "~g0", "topics": [refused]}),
            Step("SHARE_GROUP_DESCRIBE", 1, group),
        ],
        "no state": [
            create("~t0"),
            *_joins_and_leaves(),
            Step(
                "DELETE_SHARE_GROUP_OFFSETS",
                0,
                {"group_id": "~g0", "topics": [{"topic_name": "~t0"}]},
            ),
        ],
    }
    for name, steps in stories.items():
        yield Sequence(f"shares known {name}", steps, probes=False)


def _joins_and_leaves() -> list[Step]:
    return [share_heartbeat(subscribed_topic_names=["~never"]), share_heartbeat(member_epoch=-1)]


def _topic(*partitions: int, batches: list[Body] | None = None) -> Body:
    return {
        "topic_id": {"$": "topic_id", "of": "~t0"},
        "partitions": [
            {"partition_index": one, "acknowledgement_batches": batches or []} for one in partitions
        ],
    }


def _acknowledges(batches: list[tuple[int, int, int]]) -> Step:
    """ShareAcknowledge of `~t0-0` by the member of connection 0."""
    made = [
        {"first_offset": first, "last_offset": last, "acknowledge_types": [kind]}
        for first, last, kind in batches
    ]
    body = {"group_id": "~g0", "member_id": "~m0", "topics": [_topic(0, batches=made)]}
    body["share_session_epoch"] = {"$": "share_session_epoch", "of": "~g0/0"}
    return Step("SHARE_ACKNOWLEDGE", 1, body, 0)


def share_heartbeat(connection: int = 0, **body: object) -> Step:
    """ShareGroupHeartbeat of `~g0`, as the member that this connection is."""
    made = {"group_id": "~g0", "member_id": f"~m{connection}", "member_epoch": 0}
    return Step("SHARE_GROUP_HEARTBEAT", 1, made | body, connection)


def share_fetch(connection: int = 0, **body: object) -> Step:
    """The first ShareFetch of a session with both partitions of `~t0`."""
    made: Body = {"group_id": "~g0", "member_id": f"~m{connection}", "share_session_epoch": 0}
    made |= {"max_wait_ms": 200, "min_bytes": 1, "max_records": 500, "batch_size": 500}
    return Step("SHARE_FETCH", 2, made | {"topics": [_topic(0, 1)]} | body, connection)


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
