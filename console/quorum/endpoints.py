"""The endpoints of the metadata quorum: its replicas, its features, its epochs and its records.

The records need ClusterAction on the cluster, like a Fetch of the metadata log. All else needs
Describe on the cluster.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from broker.config.start_error import StartError
from broker.network.outgoing.blocking_client import BlockingClient
from client.cluster import ClusterClient
from client.cluster_status import METADATA_TOPIC
from client.connection import command_guard, explain
from client.refusals import Refused, why
from console.answers import ABSENT, Absent
from console.clusters import TIMEOUT_S
from console.endpoints import Ask, Console, get, stream
from console.quorum.metadata_fetching import Leader, LeaderTail, leader_of
from console.quorum.metadata_folder import (
    MetadataTail,
    epochs,
    folders,
)
from console.quorum.metadata_quorum import Features, Quorum, features, question, quorum
from ottla.plugins.authorizer import Operation
from protocol.api_keys import ApiKey
from protocol.errors import ProtocolError
from protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from protocol.messages.describe_quorum import DescribeQuorumResponse

EVERY_S = 0.5


@dataclass(frozen=True, slots=True)
class QuorumShown:
    """The features, and the quorum; `absent` is the reason if the quorum cannot be shown."""

    features: Features
    quorum: Quorum | Absent = ABSENT
    absent: str | Absent = ABSENT


@dataclass(frozen=True, slots=True)
class QuorumEpoch:
    """An epoch of the quorum.

    `start` is its first offset, `time_ms` its start in ms since 1970. `leader` and `time_ms` are
    None if the epoch's first record is no longer in the log.
    """

    epoch: int
    start: int
    leader: int | None
    time_ms: int | None


@dataclass(frozen=True, slots=True)
class QuorumEpochs:
    """The epochs of the metadata log on this machine, the newest first.

    `folder` is the folder of the log; without one, `absent` is the reason.
    """

    rows: list[QuorumEpoch]
    folder: str | Absent = ABSENT
    absent: str | Absent = ABSENT


@dataclass(frozen=True, slots=True)
class MetadataRecord:
    """A metadata record: its type in Kafka's words, and its fields, or a text instead of them."""

    offset: int
    epoch: int
    time_ms: int
    type: str
    version: int | None
    data: Any


@dataclass(frozen=True, slots=True)
class MetadataRecords:
    """An event of the stream of metadata records, the oldest first.

    The first event has `source`, the place that the records come from. A later event has `moved`
    when this place has changed. `absent` is the reason if there are no records to show.
    """

    records: list[MetadataRecord] | Absent = ABSENT
    source: str | Absent = ABSENT
    moved: str | Absent = ABSENT
    absent: str | Absent = ABSENT


def _show(console: Console, _ask: Ask) -> QuorumShown:
    """Return the features, and the quorum or the reason why it cannot be shown."""
    shown_quorum: Quorum | Absent = ABSENT
    absent: str | Absent = ABSENT
    with console.cluster() as cluster:
        try:
            shown_quorum = _quorum(cluster)
        except Refused as error:
            absent = str(error)
        versions = cluster.call(ApiVersionsRequest("ottla", "1"), ApiVersionsResponse)
    return QuorumShown(features(versions), shown_quorum, absent)


def _quorum(cluster: ClusterClient) -> Quorum:
    if not cluster.serves(ApiKey.DESCRIBE_QUORUM):
        raise Refused("this cluster has no metadata quorum: it does not use KRaft")
    return quorum(cluster.call(question(), DescribeQuorumResponse))


def _epochs(console: Console, _ask: Ask) -> QuorumEpochs:
    """Return the epochs of the metadata log on this machine. Raises Refused."""
    with console.cluster() as cluster:
        _quorum(cluster)  # checks the right of the login
        folder = _folder(console, _described(cluster))
    if folder is None:
        return QuorumEpochs([], absent=_NO_FOLDER)
    return QuorumEpochs([QuorumEpoch(*epoch) for epoch in epochs(folder)], folder=str(folder))


def _records(console: Console, ask: Ask) -> Iterator[MetadataRecords | None]:
    """Yield the newest metadata records, then the new ones; None if there are none for a while.

    The records come from the log on this machine, or else from the active controller. The flag
    `noops` includes no-op records, which only show that the leader lives. Raises Refused.
    """
    with console.cluster() as cluster:
        answer = _described(cluster)
    _check_may_read(answer)
    folder = _folder(console, answer)
    try:
        tail = _fetching(console) if folder is None else MetadataTail(folder)
    except (Refused, StartError) as error:
        yield MetadataRecords(absent=f"{error}; and {_NO_FOLDER}")
        return
    with closing(tail):
        yield from _events(tail, with_noops=ask.flag("noops"))


def _events(
    tail: MetadataTail | LeaderTail, *, with_noops: bool
) -> Iterator[MetadataRecords | None]:
    shown, source = tail.read(with_noops=with_noops), tail.source
    yield MetadataRecords([MetadataRecord(*row) for row in shown], source)
    while True:
        time.sleep(EVERY_S)
        rows = tail.read(with_noops=with_noops)
        records = [MetadataRecord(*row) for row in rows] or ABSENT
        moved = tail.source if tail.source != source else ABSENT
        source = tail.source
        has_news = records is not ABSENT or moved is not ABSENT
        yield MetadataRecords(records, moved=moved) if has_news else None


def _fetching(console: Console) -> LeaderTail:
    """Return a tail that fetches records from the active controller. Raises Refused, StartError."""
    guard = command_guard(console.options.command_config)

    def find() -> Leader:
        with console.cluster() as cluster:
            answer = cluster.call(question(), DescribeQuorumResponse)
        quorum(answer)  # raises Refused for an error code
        return leader_of(answer)

    def connect(host: str, port: int) -> BlockingClient:
        try:
            return BlockingClient(host, port, TIMEOUT_S, guard=guard)
        except (OSError, ProtocolError) as error:
            reason = explain(error, TIMEOUT_S, guard, host)
            raise StartError(
                f"the console cannot connect to the active controller at {host}:{port} ({reason})"
            ) from error

    return LeaderTail(find, connect)


def _described(cluster: ClusterClient) -> DescribeClusterResponse:
    request = DescribeClusterRequest(include_cluster_authorized_operations=True)
    answer = cluster.call(request, DescribeClusterResponse)
    if answer.error_code:
        raise Refused(why(answer.error_code, answer.error_message, "Describe on the cluster"))
    return answer


def _folder(console: Console, answer: DescribeClusterResponse) -> Path | None:
    return next(iter(folders(console.options.data, answer.cluster_id)), None)


def _check_may_read(answer: DescribeClusterResponse) -> None:
    """Check that the login has ClusterAction on the cluster. Raises Refused."""
    if not answer.cluster_authorized_operations & (1 << Operation.CLUSTER_ACTION):
        raise Refused(
            "to read the metadata log, the console's login needs ClusterAction on the cluster"
        )


_NO_FOLDER = (
    f"no --data folder has this cluster's log of {METADATA_TOPIC}: start the console on a "
    "machine of a controller or broker, with --data FOLDER"
)

ENDPOINTS = (
    get("/api/quorum", _show),
    get("/api/quorum/epochs", _epochs),
    stream("/api/quorum/records", _records),
)
