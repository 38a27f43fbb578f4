"""The part of the table that brokers ask a share coordinator.

Without a group, the answer of a broker that may ask is empty, whether it coordinates or not.
"""

from __future__ import annotations

from tests.authorization.denials.rows import Row
from tests.authorization.denials.words import CLUSTER_ACTION, by_id


def of_no_group(api: str, version: int, **partition: int) -> Row:
    body = {"group_id": "", "topics": by_id(partitions=[{"partition": 0, **partition}])}
    return Row(api, version, body, (CLUSTER_ACTION,))


ROWS_OF_SHARES: tuple[Row, ...] = (
    of_no_group("INITIALIZE_SHARE_GROUP_STATE", 0, state_epoch=1, start_offset=0),
    of_no_group("READ_SHARE_GROUP_STATE", 0, leader_epoch=1),
    of_no_group("WRITE_SHARE_GROUP_STATE", 1, state_epoch=1, leader_epoch=1, start_offset=0),
    of_no_group("DELETE_SHARE_GROUP_STATE", 0),
    of_no_group("READ_SHARE_GROUP_STATE_SUMMARY", 1, leader_epoch=1),
)
