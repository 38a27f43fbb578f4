"""The part of the table about share groups: their members, offsets, states and records.

Brokers ask a share coordinator. Without a group, the answer of a broker that may ask is empty,
whether it coordinates or not. A member that asks for no record is answered at once. With an
authorizer, Kafka fails for a topic id that does not exist, so there is none.
"""

from __future__ import annotations

from tests.authorization.denials.rows import Body, Row
from tests.authorization.denials.words import (
    ALTER_CONFIGS,
    CLUSTER_ACTION,
    DELETE,
    DESCRIBE,
    DESCRIBE_CONFIGS,
    ON_BOTH_TOPICS,
    READ,
    by_id,
    group,
    topic,
)
from tests.differential.sequence import Step


def of_no_group(api: str, version: int, **partition: int) -> Row:
    body = {"group_id": "", "topics": by_id(partitions=[{"partition": 0, **partition}])}
    return Row(api, version, body, (CLUSTER_ACTION,))


def joined(*names: str) -> Body:
    return {
        "group_id": "~g",
        "member_id": "m",
        "member_epoch": 0,
        "subscribed_topic_names": list(names),
    }


def offsets(of_topics: list[Body] | None) -> Body:
    return {"groups": [{"group_id": "~g", "topics": of_topics}]}


# Of a topic that is not there, Kafka asks no share coordinator.
GONE = topic(DESCRIBE, "~gone")
NAMED: Body = {"topic_name": "~gone", "partitions": [0]}
ALTERED: Body = {
    "topic_name": "~gone",
    "partitions": [{"partition_index": 0, "start_offset": 0}],
}
DESCRIBED: Body = {"group_ids": ["~g"], "include_authorized_operations": True}

MEMBER = {"group_id": "~g", "member_id": "m"}
NO_RECORDS = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 1, "max_records": 0}
OPENS = {
    **MEMBER,
    **NO_RECORDS,
    "share_session_epoch": 0,
    "topics": by_id(partitions=[{"partition_index": 0}])[:1],
}
ACCEPTS = [{"first_offset": 0, "last_offset": 0, "acknowledge_types": [1]}]
ACCEPTED = by_id(partitions=[{"partition_index": 0, "acknowledgement_batches": ACCEPTS}])[:1]
IN_A_SESSION = {**MEMBER, "share_session_epoch": 1, "topics": ACCEPTED}
OPENED = (Step("SHARE_FETCH", 2, OPENS),)

ROWS_OF_SHARES: tuple[Row, ...] = (
    Row(
        *("SHARE_GROUP_HEARTBEAT", 1, joined("~t", "~gone")),
        (group(READ), *ON_BOTH_TOPICS[DESCRIBE]),
    ),
    Row(
        *("SHARE_GROUP_DESCRIBE", 1, {"group_ids": ["~g", "~nogroup"]}),
        (group(DESCRIBE), group(DESCRIBE, "~nogroup")),
    ),
    Row(
        *("SHARE_GROUP_DESCRIBE", 1, DESCRIBED),
        tuple(group(one) for one in (DESCRIBE, READ, DELETE, DESCRIBE_CONFIGS, ALTER_CONFIGS)),
        "with operations",
        (Step("SHARE_GROUP_HEARTBEAT", 1, joined("~gone")),),
    ),
    Row("DESCRIBE_SHARE_GROUP_OFFSETS", 1, offsets([NAMED]), (group(DESCRIBE), GONE)),
    Row("DESCRIBE_SHARE_GROUP_OFFSETS", 1, offsets(None), (group(DESCRIBE),), "of all topics"),
    Row(
        *("ALTER_SHARE_GROUP_OFFSETS", 0, {"group_id": "~g", "topics": [ALTERED]}),
        (group(READ), topic(READ, "~gone")),
    ),
    Row("DELETE_SHARE_GROUP_OFFSETS", 0, {"group_id": "~g", "topics": []}, (group(DELETE),)),
    Row("SHARE_FETCH", 2, OPENS, (group(READ), topic(READ))),
    Row(
        *("SHARE_FETCH", 2, {**IN_A_SESSION, **NO_RECORDS}, (group(READ), topic(READ))),
        "with acknowledgements",
        OPENED,
    ),
    Row("SHARE_ACKNOWLEDGE", 2, IN_A_SESSION, (group(READ), topic(READ)), "", OPENED),
    of_no_group("INITIALIZE_SHARE_GROUP_STATE", 0, state_epoch=1, start_offset=0),
    of_no_group("READ_SHARE_GROUP_STATE", 0, leader_epoch=1),
    of_no_group("WRITE_SHARE_GROUP_STATE", 1, state_epoch=1, leader_epoch=1, start_offset=0),
    of_no_group("DELETE_SHARE_GROUP_STATE", 0),
    of_no_group("READ_SHARE_GROUP_STATE_SUMMARY", 1, leader_epoch=1),
)
