"""What the page asks about the quorum: how it stands, its features, its log.

The log's records are shown to who may act for the cluster: that is what fetching them takes. Its
epochs are shown to who may describe it.
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
    """Voters, observers, features; why there is no quorum to be seen."""

    features: Features
    quorum: Quorum | Absent = ABSENT
    absent: str | Absent = ABSENT


@dataclass(frozen=True, slots=True)
class QuorumEpoch:
    """An epoch of the quorum; who led it and since when is unknown if the record is gone."""

    epoch: int
    start: int
    leader: int | None
    time_ms: int | None


@dataclass(frozen=True, slots=True)
class QuorumEpochs:
    """The epochs that a log on this machine knows, the newest first; or why there is none."""

    rows: list[QuorumEpoch]
    folder: str | Absent = ABSENT
    absent: str | Absent = ABSENT


@dataclass(frozen=True, slots=True)
class MetadataRecord:
    """A record: `type` as Kafka names it, and its fields, or the words that stand for them."""

    offset: int
    epoch: int
    time_ms: int
    type: str
    version: int | None
    data: Any


@dataclass(frozen=True, slots=True)
class MetadataRecords:
    """The newest records, first; where they come from, first and where that has changed."""

    records: list[MetadataRecord] | Absent = ABSENT
    source: str | Absent = ABSENT
    moved: str | Absent = ABSENT
    absent: str | Absent = ABSENT


def _show(console: Console, _ask: Ask) -> QuorumShown:
    """Voters, observers, features; what cannot be had is told in its place."""
    found: Quorum | Absent = ABSENT
    absent: str | Absent = ABSENT
    with console.cluster() as cluster:
        try:
            found = _quorum(cluster)
        except Refused as error:
            absent = str(error)
        versions = cluster.call(ApiVersionsRequest("ottla", "1"), ApiVersionsResponse)
    return QuorumShown(features(versions), found, absent)


def _quorum(cluster: ClusterClient) -> Quorum:
    if not cluster.serves(ApiKey.DESCRIBE_QUORUM):
        raise Refused("this cluster has no metadata quorum: it does not use KRaft")
    return quorum(cluster.call(question(), DescribeQuorumResponse))


def _epochs(console: Console, _ask: Ask) -> QuorumEpochs:
    """The epochs that the log on this machine knows, the newest first."""
    with console.cluster() as cluster:
        _quorum(cluster)  # whether this login may
        folder = _folder(console, _described(cluster))
    if folder is None:
        return QuorumEpochs([], absent=_NO_FOLDER)
    return QuorumEpochs([QuorumEpoch(*one) for one in epochs(folder)], folder=str(folder))


def _records(console: Console, ask: Ask) -> Iterator[MetadataRecords | None]:
    """The newest metadata records, then each that comes: of the log on this machine, or else of the
    active controller. `noops`: those that only show that the leader lives, too."""
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
        yield from _told(tail, with_noops=ask.flag("noops"))


def _told(tail: MetadataTail | LeaderTail, *, with_noops: bool) -> Iterator[MetadataRecords | None]:
    shown, source = tail.read(with_noops=with_noops), tail.source
    yield MetadataRecords([MetadataRecord(*one) for one in shown], source)
    while True:
        time.sleep(EVERY_S)
        rows = tail.read(with_noops=with_noops)
        records = [MetadataRecord(*one) for one in rows] or ABSENT
        moved = tail.source if tail.source != source else ABSENT
        source = tail.source
        has_news = records is not ABSENT or moved is not ABSENT
        yield MetadataRecords(records, moved=moved) if has_news else None


def _fetching(console: Console) -> LeaderTail:
    """Raises Refused, StartError."""
    guard = command_guard(console.options.command_config)

    def find() -> Leader:
        with console.cluster() as cluster:
            answer = cluster.call(question(), DescribeQuorumResponse)
        quorum(answer)  # refuses what is an error
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
    """Raises Refused."""
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
