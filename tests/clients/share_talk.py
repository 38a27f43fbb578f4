"""Requests of share-group members, and their answers as lines that can be compared.

`m: 0 0-3x2 of 0-3` says: member `m` got partition 0, has acquired the offsets 0 to 3 for the second
time, and the stored batch 0 to 3 was sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from protocol.errors import ErrorCode
from protocol.messages import share_acknowledge, share_fetch
from protocol.record_batch import iterate_batches

GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)
MIB = 1 << 20

Batch = tuple[int, ...]
"""First offset, last offset, and the type or the types of an acknowledgement."""
Acks = dict[int, Sequence[Batch]]


def fetch_request(
    topic_id: bytes,
    group: str | None,
    member: str | None,
    epoch: int,
    partitions: Iterable[int] = (),
    acks: Acks | None = None,
    forgotten: Iterable[int] = (),
    **options: Any,
) -> share_fetch.ShareFetchRequest:
    """Return a ShareFetch for partitions of a topic; with epoch 0 for partition 0, unless
    `partitions` names others."""
    acks = acks or {}
    named = list(partitions) or ([0] if epoch == 0 else [])
    wanted = [
        share_fetch.FetchPartition(
            index,
            acknowledgement_batches=[
                share_fetch.AcknowledgementBatch(first, last, types)
                for first, last, *types in acks.get(index, ())
            ],
        )
        for index in dict.fromkeys([*named, *acks])
    ]
    fields: dict[str, Any] = {
        "max_wait_ms": 500,
        "min_bytes": 1,
        "max_bytes": MIB,
        "max_records": 500,
        "batch_size": 500,
        **options,
    }
    return share_fetch.ShareFetchRequest(
        group,
        member,
        epoch,
        topics=[share_fetch.FetchTopic(topic_id, wanted)] if wanted else [],
        forgotten_topics_data=[share_fetch.ForgottenTopic(topic_id, list(forgotten))]
        if forgotten
        else [],
        **fields,
    )


def acknowledge_request(
    topic_id: bytes,
    group: str | None,
    member: str | None,
    epoch: int,
    batches: Sequence[Batch],
    index: int = 0,
    **options: Any,
) -> share_acknowledge.ShareAcknowledgeRequest:
    """Return a ShareAcknowledge for a partition of a topic."""
    requested = [
        share_acknowledge.AcknowledgementBatch(first, last, types)
        for first, last, *types in batches
    ]
    partitions = [share_acknowledge.AcknowledgePartition(index, requested)]
    topics = [share_acknowledge.AcknowledgeTopic(topic_id, partitions)]
    return share_acknowledge.ShareAcknowledgeRequest(group, member, epoch, topics=topics, **options)


def shown(response: Any) -> str:
    """Return an answer as a line: its error, or each partition with what it has, by its index."""
    if response.error_code:
        return ErrorCode(response.error_code).name
    partitions = sorted(
        (partition for topic in response.responses for partition in topic.partitions),
        key=lambda partition: partition.partition_index,
    )
    return "; ".join(map(_shown_partition, partitions)) or "nothing"


def _shown_partition(partition: Any) -> str:
    """Return a partition as text: error, acquired ranges, stored batches, acknowledgement."""
    parts = [str(partition.partition_index)]
    if partition.error_code:
        parts.append(ErrorCode(partition.error_code).name)
    for acquired in getattr(partition, "acquired_records", ()):
        times = f"x{acquired.delivery_count}" if acquired.delivery_count > 1 else ""
        parts.append(f"{acquired.first_offset}-{acquired.last_offset}{times}")
    records = getattr(partition, "records", b"") or b""
    stored = [
        f"{header.base_offset}-{header.last_offset}"
        for _, header in iterate_batches(memoryview(records), allow_partial_tail=True)
    ]
    if stored:
        parts.append(f"of {','.join(stored)}")
    if getattr(partition, "acknowledge_error_code", 0):
        parts.append(f"not acknowledged: {ErrorCode(partition.acknowledge_error_code).name}")
    return " ".join(parts)
