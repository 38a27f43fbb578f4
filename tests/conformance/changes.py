"""The changes of Apache Kafka since the release before, as users and operators see them.

They were found by recording the answers of both releases; `docs/compatibility.md` lists them.
"""

from __future__ import annotations

from typing import NamedTuple

from tests.tools.kafka_release import PREVIOUS, RELEASE


class Change(NamedTuple):
    """A change of Apache Kafka, and whether Ottla follows it."""

    subject: str
    before: str
    now: str
    ottla: str


SAME, NOT_SERVED = "as Kafka", "not served"

CHANGES = (
    Change(
        "ApiVersions v5 (KIP-1242)",
        "v0–4",
        "names the cluster and node that the client means; another broker answers "
        "REBOOTSTRAP_REQUIRED. Not compared by controllers, nor before a login by SASL",
        SAME,
    ),
    Change(
        "TxnOffsetCommit v6 (KIP-1319)",
        "v0–5, topic names",
        "topic ids. Offsets of a transaction are stored with the topic's id in all versions",
        SAME,
    ),
    Change(
        "DeleteGroups v3", "v0–2", "an error message for each group, used by streams groups", SAME
    ),
    Change(
        "StreamsGroupHeartbeat and StreamsGroupDescribe v1, StreamsGroupTopologyDescriptionUpdate",
        "v0 of the first two",
        "the topology of a Kafka Streams application can be stored and described",
        NOT_SERVED,
    ),
    Change("UnregisterController (KIP-1312)", "", "removes the registration of a controller", SAME),
    Change(
        "host of an ACL (KIP-1276)",
        "an address or `*`; any other text is accepted and never matches",
        "also a network, such as `10.1.0.0/16`. CreateAcls rejects an empty host and a malformed "
        "network",
        SAME,
    ),
    Change(
        "AlterClientQuotas with NaN, or an infinite `request_percentage` or "
        "`controller_mutation_rate`",
        "accepted",
        "INVALID_REQUEST: `must be a finite number`",
        SAME,
    ),
    Change(
        "change of a broker's configs without the right",
        "CLUSTER_AUTHORIZATION_FAILED with a text, after name and values of the broker are checked",
        "the same code without a text, before these checks",
        SAME,
    ),
    Change(
        "vote for an assignor in a consumer group (KIP-848)",
        "counts at the next rebalance",
        "starts a new epoch at once if the vote has another winner",
        SAME,
    ),
    Change(
        "consumer group whose last member leaves",
        "the next member waits for `consumer.assignment.interval.ms`; the assignment epoch stays "
        "behind the group epoch",
        "the next member gets its partitions at once; the assignment epoch is the group epoch",
        SAME,
    ),
    Change(
        "JoinGroup of protocol type `consumer` with metadata that is not a valid subscription",
        "UNKNOWN_SERVER_ERROR after the rebalance, or no answer; from a consumer group at once",
        "joins a classic group; INCONSISTENT_GROUP_PROTOCOL from a consumer group",
        SAME,
    ),
    Change(
        "metrics of groups",
        "",
        "`classic-group-count` by state, `offset-count`; `streams-group-topology-description-…`",
        "the first two",
    ),
)


def changes_table() -> str:
    """Return the section of the page."""
    before, now = (release.rpartition(".")[0] for release in (PREVIOUS, RELEASE))
    lines = [
        f"## What changed between {before} and {now}\n\n",
        "New configs and feature levels aside, these changes are visible to clients and operators. "
        "The\nrecorded answers to all other requests are the same in both releases.\n\n",
        f"| subject | Kafka {before} | Kafka {now} | Ottla |\n",
        "| --- | --- | --- | --- |\n",
    ]
    lines += [f"| {' | '.join(change)} |\n" for change in CHANGES]
    return "".join([*lines, "\n"])
