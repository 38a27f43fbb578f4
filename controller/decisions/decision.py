"""The result of a decision: the records that apply it, and the reply for the client.

A decider reads an image and returns a `Decision`; it changes nothing. If it may take long, as for
thousands of topics or partitions, it is a generator of steps that returns the `Decision`.
`controller.quorum_controller` appends the records, replays them, and sends the reply after they
are committed.

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
"""The limit above which a client's request is rejected whole (KAFKA-14204, KAFKA-14996)."""
MAX_CONFIG_BYTES_PER_OPERATION = 8 << 20
"""The limit on texts in one batch of the metadata log, because followers fetch a batch whole."""
MAX_PARTITIONS_PER_REQUEST = 10_000
TOO_MANY_RECORDS = ApiError(
    ErrorCode.POLICY_VIOLATION, "Unable to perform excessively large batch operation."
)


class DecisionView(NamedTuple):
    """The state that a decider may read: the effect of all earlier decisions, committed or not."""

    image: MetadataImage
    next_offset: int
    """The offset that the first record of this decision will have."""
    now_ms: float
    """The monotonic time in milliseconds."""


class Decision(NamedTuple, Generic[T]):
    """Records, and the reply to send after they are committed."""

    reply: T | ApiError
    records: Sequence[MetadataRecord] = ()
    atomic: bool = True
    """Whether all records must be in one batch, and so take effect together."""
    kraft_version: int | None = None
    """The level of `kraft.version` that the quorum writes into its log first; None: no change."""


Decided: TypeAlias = Decision[T] | Steps[Decision[T]]
"""A decision, or the steps of a long one. The view stays valid during the steps, because nothing
else is decided meanwhile."""
