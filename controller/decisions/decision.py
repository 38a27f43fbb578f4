"""What a decision gives: the records that make it true, and the reply that tells of it.

A decider reads an image and returns a `Decision`; it changes nothing. One on thousands of topics or
partitions gives the steps to it instead. `controller.quorum_controller` appends the records,
replays them, and sends the reply once they are committed.

Follows Kafka's `ControllerResult`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from controller.metadata.image import MetadataImage
from controller.metadata.records import MetadataRecord
from ground.sliced_work import Steps
from protocol.errors import ApiError, ErrorCode

T = TypeVar("T")

MAX_RECORDS_PER_OPERATION = 10_000
"""A user's request that would need more is refused whole (KAFKA-14204, KAFKA-14996)."""
MAX_CONFIG_BYTES_PER_OPERATION = 8 << 20
"""As much text as one batch of the metadata log should hold, which followers fetch whole."""
MAX_PARTITIONS_PER_REQUEST = 10_000
TOO_MANY_RECORDS = ApiError(
    ErrorCode.POLICY_VIOLATION, "Unable to perform excessively large batch operation."
)


class View(NamedTuple):
    """What a decider may look at: all that was decided before it, committed or not yet."""

    image: MetadataImage
    next_offset: int
    """Offset that the first record of this decision will have."""
    now_ms: float
    """Monotonic."""


class Decision(NamedTuple, Generic[T]):
    """Records, and the reply for when they are committed."""

    reply: T | ApiError
    records: Sequence[MetadataRecord] = ()
    atomic: bool = True
    """Whether all records must come true together, in one batch."""


Decided: TypeAlias = Decision[T] | Steps[Decision[T]]
"""A decision, or what has to be done for one in slices: the view stays true, for nothing else is
decided meanwhile."""
