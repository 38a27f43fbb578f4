"""Blocks of producer ids for brokers; no id is in two blocks.

Follows KIP-730 and Kafka's `ProducerIdControlManager`.
"""

from __future__ import annotations

from typing import NamedTuple

from controller.decisions.cluster_control import epoch_fault
from controller.decisions.decision import Decision, DecisionView
from protocol.errors import ApiError, ErrorCode
from protocol.messages.metadata_records import ProducerIdsRecord

BLOCK_SIZE = 1000


class ProducerIdsBlock(NamedTuple):
    """A block of `size` producer ids that starts at `first`."""

    first: int
    size: int


def allocate_producer_ids(
    view: DecisionView, broker_id: int, broker_epoch: int
) -> Decision[ProducerIdsBlock]:
    """Return the decision that gives `broker_id` the next block of BLOCK_SIZE ids, which is the
    reply. The reply is STALE_BROKER_EPOCH for another epoch, UNKNOWN_SERVER_ERROR after the last
    block. Ids that the broker does not use are lost."""
    error = epoch_fault(view.image, broker_id, broker_epoch)
    if error is not None:
        return Decision(error)
    first = view.image.next_producer_id
    if first > 2**63 - 1 - BLOCK_SIZE:
        text = "Exhausted all producerIds as the next block's end producerId has exceeded "
        return Decision(ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, text + "the int64 type limit"))
    record = ProducerIdsRecord(broker_id, broker_epoch, first + BLOCK_SIZE)
    return Decision(ProducerIdsBlock(first, BLOCK_SIZE), [record])
