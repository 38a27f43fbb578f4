"""Bodies of the requests for classic groups: members come from connections, one each.

A member's id and the group's generation are symbols of what the broker said before. See
`bodies_of_data` for the form.
"""

from __future__ import annotations

import random

from tests.differential import values
from tests.differential.bodies_of_data import Made, named, topic_names, without_ids
from tests.differential.sequence import Body

PROTOCOLS = (
    ("consumer", ("range",)),
    ("consumer", ("range",)),
    ("consumer", ("range", "roundrobin")),
    ("consumer", ("roundrobin",)),
    ("connect", ("default",)),
)


def _group(rng: random.Random) -> str:
    return rng.choice(values.GROUPS)


def member_id(group: str, connection: int) -> Body:
    return {"$": "member", "of": f"{group}/{connection}"}


def generation(group: str) -> Body:
    return {"$": "generation", "of": group}


def _instance(rng: random.Random, connection: int, version: int, since: int) -> Body:
    if version < since or rng.random() < 0.75:
        return {}
    return {"group_instance_id": f"~i{rng.choice((connection, 0))}"}


def join_group(rng: random.Random, version: int) -> Made:
    connection, group = rng.choice(values.MEMBERS), _group(rng)
    kind, protocols = rng.choice(PROTOCOLS)
    known = rng.random() < 0.7
    return {
        "group_id": group,
        "session_timeout_ms": 30_000,
        "rebalance_timeout_ms": 60_000,
        "member_id": member_id(group, connection) if known else "",
        "protocol_type": kind,
        "protocols": [
            {"name": one, "metadata": {"$hex": f"00{connection:02x}"}} for one in protocols
        ],
        **_instance(rng, connection, version, 5),
    }, connection


def sync_group(rng: random.Random, version: int) -> Made:
    connection, group = rng.choice(values.MEMBERS), _group(rng)
    assignments = [
        {"member_id": member_id(group, one), "assignment": {"$hex": f"aa{one:02x}"}}
        for one in values.MEMBERS
        if rng.random() < 0.7
    ]
    body = {
        "group_id": group,
        "generation_id": generation(group),
        "member_id": member_id(group, connection),
        "assignments": assignments,
        **_instance(rng, connection, version, 3),
    }
    if version >= 5:
        body |= {"protocol_type": rng.choice((None, "consumer")), "protocol_name": None}
        if rng.random() < 0.5:
            body["protocol_name"] = "range"
    return body, connection


def heartbeat(rng: random.Random, version: int) -> Made:
    connection, group = rng.choice(values.MEMBERS), _group(rng)
    return {
        "group_id": group,
        "generation_id": generation(group),
        "member_id": member_id(group, connection),
        **_instance(rng, connection, version, 3),
    }, connection


def leave_group(rng: random.Random, version: int) -> Made:
    connection, group = rng.choice(values.MEMBERS), _group(rng)
    if version < 3:
        return {"group_id": group, "member_id": member_id(group, connection)}, connection
    members = [
        {"member_id": member_id(group, connection), **_instance(rng, connection, version, 3)}
        for _ in range(rng.choice((1, 1, 2)))
    ]
    return {"group_id": group, "members": members}, connection


def offset_commit(rng: random.Random, version: int) -> Made:
    connection, group = rng.choice(values.MEMBERS), _group(rng)
    simple = rng.random() < 0.4

    def committed(p: int) -> Body:
        return {
            "partition_index": p,
            "committed_offset": rng.choice((0, 1, 5, 100)),
            "committed_leader_epoch": rng.choice((-1, 0, 3)),
            "committed_metadata": rng.choice(("", "m", None)),
        }

    topics = named(rng, committed)
    return {
        "group_id": group,
        "generation_id_or_member_epoch": -1 if simple else generation(group),
        "member_id": "" if simple else member_id(group, connection),
        "topics": topics,
        **({} if simple else _instance(rng, connection, version, 7)),
    }, connection


def offset_fetch(rng: random.Random, version: int) -> Made:
    group = _group(rng)
    topics = [
        {"name": name, "topic_id": {"$": "topic_id", "of": name}, "partition_indexes": [0, 1]}
        for name in topic_names(rng)
    ]
    stable = version >= 7 and rng.random() < 0.5
    if version < 8:
        plain = without_ids(topics) if version < 2 or rng.random() < 0.6 else None
        return {"group_id": group, "topics": plain, "require_stable": stable}, None
    chosen = topics if rng.random() < 0.6 else None
    groups = [{"group_id": name, "topics": chosen} for name in {group: 0, _group(rng): 0}]
    return {"groups": groups, "require_stable": stable}, None


def describe_groups(rng: random.Random, version: int) -> Made:
    groups = list({_group(rng): 0, _group(rng): 0})
    flag = version >= 3 and rng.random() < 0.3
    return {"groups": groups, "include_authorized_operations": flag}, None


def consumer_group_heartbeat(rng: random.Random, version: int) -> Made:
    """A member that comes, goes, or says an epoch that is not its own: what a group of this kind
    holds follows from its own members alone, and who is there depends on the sequence."""
    member = rng.choice(("~m1", "~m2", "~m3", "" if version >= 1 else "~m4"))
    epoch = rng.choice((0, 0, 0, -1, -2, -3, 99))
    body: Body = {"group_id": _group(rng), "member_id": member, "member_epoch": epoch}
    if epoch == 0 and rng.random() < 0.9:
        body["rebalance_timeout_ms"] = 60_000
        body["subscribed_topic_names"] = []
        body["topic_partitions"] = []
    if rng.random() < 0.15:
        body["server_assignor"] = rng.choice(("uniform", "range", "x", ""))
    if rng.random() < 0.15:
        body["instance_id"] = rng.choice(("~i1", "~i2", ""))
    if rng.random() < 0.1:
        body["rack_id"] = rng.choice(("r", ""))
    if version >= 1 and rng.random() < 0.1:
        body["subscribed_topic_regex"] = rng.choice(("", "("))
    return body, None


def consumer_group_describe(rng: random.Random, version: int) -> Made:
    groups = list({_group(rng): 0, _group(rng): 0})
    return {"group_ids": groups, "include_authorized_operations": rng.random() < 0.3}, None


def list_groups(rng: random.Random, version: int) -> Made:
    body: Body = {}
    if version >= 4:
        states = ([], [], ["Stable"], ["Empty", "Dead"], ["empty"], ["NoSuchState"])
        body["states_filter"] = rng.choice(states)
    if version >= 5:
        body["types_filter"] = rng.choice(([], [], ["classic"], ["Classic"], ["consumer"], ["x"]))
    return body, None


def delete_groups(rng: random.Random, version: int) -> Made:
    return {"groups_names": list({_group(rng): 0, _group(rng): 0})}, None


def offset_delete(rng: random.Random, version: int) -> Made:
    topics = without_ids(named(rng, lambda p: {"partition_index": p}))
    return {"group_id": _group(rng), "topics": topics}, None


def find_coordinator(rng: random.Random, version: int) -> Made:
    key = rng.choice((*values.GROUPS, *values.TRANSACTIONAL_IDS, ""))
    kind = rng.choice((0, 0, 1, 1, 2, 3, -1)) if version >= 1 else 0
    return {"key": key, "key_type": kind, "coordinator_keys": [key]}, None


BODIES = {
    "JOIN_GROUP": join_group,
    "SYNC_GROUP": sync_group,
    "HEARTBEAT": heartbeat,
    "LEAVE_GROUP": leave_group,
    "CONSUMER_GROUP_HEARTBEAT": consumer_group_heartbeat,
    "CONSUMER_GROUP_DESCRIBE": consumer_group_describe,
    "OFFSET_COMMIT": offset_commit,
    "OFFSET_FETCH": offset_fetch,
    "DESCRIBE_GROUPS": describe_groups,
    "LIST_GROUPS": list_groups,
    "DELETE_GROUPS": delete_groups,
    "OFFSET_DELETE": offset_delete,
    "FIND_COORDINATOR": find_coordinator,
}
