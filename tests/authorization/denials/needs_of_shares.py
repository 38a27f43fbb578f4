"""The part of the table that is about share groups: what brokers ask a share coordinator, and what
members ask the leaders of partitions.

Without a group, the answer of a broker that may ask is empty, whether it coordinates or not. A
member that asks for no record is answered at once. With an authorizer, Kafka fails for a topic id
that does not exist, so there is none.
"""

from __future__ import annotations

from tests.authorization.denials.rows import Row
from tests.authorization.denials.words import CLUSTER_ACTION, READ, by_id, group, topic
from tests.differential.sequence import Step


def of_no_group(api: str, version: int, **partition: int) -> Row:
    body = {"group_id": "", "topics": by_id(partitions=[{"partition": 0, **partition}])}
    return Row(api, version, body, (CLUSTER_ACTION,))


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
