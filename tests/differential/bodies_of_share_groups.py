"""Bodies of the requests of share consumers and of the administrators of share groups.

A member has a connection of its own, which its share sessions use. The epoch of a session is a
symbol of what the broker answered before. See `bodies_of_data` for the form.
"""

from __future__ import annotations

import random

from tests.differential import values
from tests.differential.bodies_of_data import Made, partitions, topic_id, topic_names
from tests.differential.sequence import Body

NEVER_THERE = "~never"
ACCEPT, RELEASE, REJECT, RENEW = 1, 2, 3, 4
FINAL_EPOCH = -1
WAIT_MS = 60
"""In this time a leader has read the state of a group. Without it, what is answered is a race."""


def _topics(rng: random.Random) -> list[str]:
    """Mostly the topic that exists: Kafka's answer for an unknown one is no answer."""
    return ["~t0"] if rng.random() < 0.95 else topic_names(rng)


def _group(rng: random.Random) -> str:
    return rng.choice(values.GROUPS)


def share_group_heartbeat(rng: random.Random, version: int) -> Made:
    """Make a member join, leave, or name an epoch that is not its own.

    It subscribes to nothing that exists, because partitions are assigned some time after the
    answer: see the grid `shares` for members that have partitions.
    """
    epoch = rng.choice((0, 0, 0, -1, 1, 2, 99, -2))
    member = rng.choice(("~m0", "~m1", "~m2", ""))
    body: Body = {"group_id": _group(rng), "member_id": member, "member_epoch": epoch}
    if rng.random() < (0.9 if epoch == 0 else 0.2):
        body["subscribed_topic_names"] = rng.choice(([], [NEVER_THERE]))
    if rng.random() < 0.1:
        body["rack_id"] = rng.choice(("r", ""))
    return body, None


def share_group_describe(rng: random.Random, version: int) -> Made:
    groups = list({_group(rng): 0, _group(rng): 0})
    return {"group_ids": groups, "include_authorized_operations": rng.random() < 0.3}, None


def _batch(rng: random.Random, version: int) -> Body:
    first = rng.choice((0, 0, 0, 1, 2, 3, 6))
    last = first + rng.choice((0, 0, 1, 2, 4))
    kinds = (0, ACCEPT, ACCEPT, RELEASE, REJECT, *((RENEW,) if version >= 2 else ()))
    count = rng.choice((1, 1, last - first + 1))
    return {
        "first_offset": first,
        "last_offset": last,
        "acknowledge_types": [rng.choice(kinds) for _ in range(count)],
    }


def _partition(rng: random.Random, version: int, number: int, batches: tuple[int, ...]) -> Body:
    return {
        "partition_index": number,
        "acknowledgement_batches": [_batch(rng, version) for _ in range(rng.choice(batches))],
    }


def _session(rng: random.Random, first: float) -> tuple[Body, int]:
    """A group, a member and the next epoch of its session, or one at which a session begins."""
    connection, group = rng.choice(values.MEMBERS), _group(rng)
    epoch: Body | int = {"$": "share_session_epoch", "of": f"{group}/{connection}"}
    kind = rng.random()
    if kind < first:
        epoch = 0
    elif kind > 0.94:
        epoch = FINAL_EPOCH
    member = f"~m{connection}"
    return {"group_id": group, "member_id": member, "share_session_epoch": epoch}, connection


def share_fetch(rng: random.Random, version: int) -> Made:
    """Begin a session, go on with it, or close it; with acknowledgements in between."""
    body, connection = _session(rng, first=0.25)
    fresh = body["share_session_epoch"] == 0
    renews = version >= 2 and not fresh and rng.random() < 0.08
    limits = (0, 0, 0, 0) if renews else (
        1, 1 << 20, rng.choice((500, 500, 1, 3)), rng.choice((500, 500, 1, 2)),
    )  # fmt: skip
    body |= {
        "max_wait_ms": 0 if renews else WAIT_MS,
        "min_bytes": limits[0],
        "max_bytes": limits[1],
    }
    body |= {"max_records": limits[2], "batch_size": limits[3]}
    if version >= 2:
        body |= {"share_acquire_mode": rng.choice((0, 0, 1)), "is_renew_ack": renews}
    batches = (0,) if fresh and rng.random() < 0.9 else (0, 0, 1, 2)
    body["topics"] = [
        {
            "topic_id": topic_id(name),
            "partitions": [_partition(rng, version, n, batches) for n in partitions(rng)],
        }
        for name in _topics(rng)
    ]
    if not fresh and rng.random() < 0.3:
        body["topics"] = []
    if not fresh and rng.random() < 0.15:
        body["forgotten_topics_data"] = [
            {"topic_id": topic_id(name), "partitions": partitions(rng)} for name in _topics(rng)
        ]
    return body, connection


def share_acknowledge(rng: random.Random, version: int) -> Made:
    body, connection = _session(rng, first=0.05)
    body["topics"] = [
        {
            "topic_id": topic_id(name),
            "partitions": [_partition(rng, version, n, (1, 1, 2)) for n in partitions(rng)],
        }
        for name in _topics(rng)
    ]
    if version >= 2:
        body["is_renew_ack"] = rng.random() < 0.15
    return body, connection


def describe_share_group_offsets(rng: random.Random, version: int) -> Made:
    groups = []
    for group in {_group(rng): 0, _group(rng): 0}:
        topics: list[Body] | None = [
            {"topic_name": name, "partitions": partitions(rng)} for name in topic_names(rng)
        ]
        groups.append({"group_id": group, "topics": topics if rng.random() < 0.6 else None})
    return {"groups": groups}, None


def alter_share_group_offsets(rng: random.Random, version: int) -> Made:
    def item(number: int) -> Body:
        return {"partition_index": number, "start_offset": rng.choice((0, 0, 1, 3, 100))}

    topics = [
        {"topic_name": name, "partitions": [item(n) for n in partitions(rng)]}
        for name in topic_names(rng)
    ]
    return {"group_id": _group(rng), "topics": topics}, None


def delete_share_group_offsets(rng: random.Random, version: int) -> Made:
    topics = [{"topic_name": name} for name in topic_names(rng)]
    return {"group_id": _group(rng), "topics": topics}, None


BODIES = {
    "SHARE_GROUP_HEARTBEAT": share_group_heartbeat,
    "SHARE_GROUP_DESCRIBE": share_group_describe,
    "SHARE_FETCH": share_fetch,
    "SHARE_ACKNOWLEDGE": share_acknowledge,
    "DESCRIBE_SHARE_GROUP_OFFSETS": describe_share_group_offsets,
    "ALTER_SHARE_GROUP_OFFSETS": alter_share_group_offsets,
    "DELETE_SHARE_GROUP_OFFSETS": delete_share_group_offsets,
}
