"""The part of the table that nodes ask each other: served on the controller's listener alone.

What one without ClusterAction gets is told; one with it is told that it has the wrong cluster, or
is nobody known, so that nothing changes. An Envelope needs rights of two: of who sends it, and of
whom it speaks for, most often the same one here.
"""

from __future__ import annotations

from protocol.api_keys import ApiKey, messages_of
from protocol.frames.message_codec import encode_request
from protocol.messages.consumer_protocol import DefaultPrincipalData
from protocol.primitives import MessageBuffer
from tests.authorization.denials.rows import ALICE, BROKER, CONTROLLER, Body, Need, Row
from tests.authorization.denials.words import (
    CLUSTER_ACTION,
    CREATE,
    DESCRIBE,
    FOREIGN_ID,
    cluster,
    topic,
    topics,
)
from tests.authorization.secured_kafka import ADMIN
from tests.differential.sequence import build

METADATA_TOPIC = "__cluster_metadata"
METADATA_TOPIC_ID = {"$hex": "00" * 15 + "01"}
ANOTHER_CLUSTER = "bm90IHRoaXMgY2x1c3Rlcg"
UNKNOWN, EPOCH = 97, 1
OF_UNKNOWN: Body = {"broker_id": UNKNOWN, "broker_epoch": EPOCH}


def only_nodes(
    api: str, version: int, body: Body, what: str = "", needs: tuple[Need, ...] = (CLUSTER_ACTION,)
) -> Row:
    return Row(api, version, body, needs, what, listeners=(CONTROLLER,))


def of_quorum(**partition: int) -> Body:
    """A request of the quorum's members, of another cluster."""
    listed = [{"topic_name": METADATA_TOPIC, "partitions": [{"partition_index": 0, **partition}]}]
    return {"cluster_id": ANOTHER_CLUSTER, "topics": listed}


def envelope(api: str, version: int, body: Body, of: str = ALICE) -> Body:
    """A request of somebody's, passed on."""
    request = build(messages_of(ApiKey[api]).request, body)
    principal = MessageBuffer()
    principal += b"\0\0"
    DefaultPrincipalData("User", of, False).write(principal, 0)
    return {
        "request_data": {"$hex": encode_request(request, version, 5, "me")[4:].hex()},
        "request_principal": {"$hex": bytes(principal.joined()).hex()},
        "client_host_address": {"$hex": "7f000001"},
    }


FETCHED = {"partition": 0, "last_fetched_epoch": 0, "partition_max_bytes": 1 << 20}
VALIDATED = {
    "topics": topics(names=("inside",), num_partitions=1, replication_factor=1),
    "timeout_ms": 5000,
    "validate_only": True,
}
QUORUM = {"topics": [{"topic_name": METADATA_TOPIC, "partitions": [{"partition_index": 0}]}]}

ROWS_OF_NODES: tuple[Row, ...] = (
    only_nodes(
        "UPDATE_RAFT_VOTER",
        0,
        {"cluster_id": ANOTHER_CLUSTER, "current_leader_epoch": EPOCH, "voter_id": UNKNOWN},
    ),
    only_nodes("VOTE", 2, of_quorum(replica_epoch=EPOCH, replica_id=UNKNOWN)),
    only_nodes("BEGIN_QUORUM_EPOCH", 1, of_quorum(leader_id=UNKNOWN, leader_epoch=EPOCH)),
    only_nodes("END_QUORUM_EPOCH", 1, of_quorum(leader_id=UNKNOWN, leader_epoch=EPOCH)),
    only_nodes(
        "FETCH",
        17,
        {
            "replica_state": {"replica_id": UNKNOWN, "replica_epoch": -1},
            "max_wait_ms": 0,
            "topics": [{"topic_id": METADATA_TOPIC_ID, "partitions": [FETCHED]}],
        },
        "of the metadata",
    ),
    only_nodes(
        "FETCH_SNAPSHOT",
        1,
        {
            "cluster_id": ANOTHER_CLUSTER,
            "replica_id": UNKNOWN,
            "max_bytes": 1 << 20,
            "topics": [
                {
                    "name": METADATA_TOPIC,
                    "partitions": [
                        {
                            "partition": 0,
                            "current_leader_epoch": EPOCH,
                            "snapshot_id": {"end_offset": 1 << 40, "epoch": EPOCH},
                        }
                    ],
                }
            ],
        },
    ),
    only_nodes("BROKER_REGISTRATION", 4, {"broker_id": UNKNOWN, "cluster_id": ANOTHER_CLUSTER}),
    only_nodes("BROKER_HEARTBEAT", 1, OF_UNKNOWN),
    only_nodes("ALTER_PARTITION", 3, {**OF_UNKNOWN, "topics": [{"topic_id": FOREIGN_ID}]}),
    only_nodes("ALLOCATE_PRODUCER_IDS", 0, OF_UNKNOWN),
    only_nodes("ASSIGN_REPLICAS_TO_DIRS", 0, OF_UNKNOWN),
    only_nodes("CONTROLLER_REGISTRATION", 0, {"controller_id": UNKNOWN}),
    only_nodes(
        *("ENVELOPE", 0, envelope("CREATE_TOPICS", 7, VALIDATED), "with Create on the cluster"),
        (CLUSTER_ACTION, cluster(CREATE)),
    ),
    only_nodes(
        *("ENVELOPE", 0, envelope("CREATE_TOPICS", 7, VALIDATED), "with Create on a topic"),
        (CLUSTER_ACTION, topic(CREATE, "inside")),
    ),
    only_nodes(
        *("ENVELOPE", 0, envelope("DESCRIBE_QUORUM", 2, QUORUM), "with a question"),
        (CLUSTER_ACTION, cluster(DESCRIBE)),
    ),
    only_nodes(
        *("ENVELOPE", 0, envelope("CREATE_TOPICS", 7, VALIDATED, "bob"), "for one without rights"),
        (CLUSTER_ACTION, cluster(CREATE)),
    ),
    only_nodes(
        *("ENVELOPE", 0, envelope("CREATE_TOPICS", 7, VALIDATED, ADMIN), "for a super user"),
    ),
    # What a broker's listener does not serve, whoever asks.
    *(
        Row(api, version, body, (CLUSTER_ACTION,), "on the wrong listener", listeners=(BROKER,))
        for api, version, body in (
            ("ENVELOPE", 0, envelope("CREATE_TOPICS", 7, VALIDATED)),
            ("VOTE", 2, of_quorum()),
            ("BROKER_HEARTBEAT", 1, OF_UNKNOWN),
            ("FETCH_SNAPSHOT", 1, {"topics": []}),
        )
    ),
    Row(
        "METADATA",
        12,
        {"topics": topics()},
        (topic(DESCRIBE),),
        "on the wrong listener",
        listeners=(CONTROLLER,),
    ),
)
