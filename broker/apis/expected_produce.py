"""The Produce that is expected of a client that always asks again at once.

Where the broker looks for the next request instead of sleeping (`broker.network.busy_poll`), it has
time until the request comes, and little after that: the client's core is at rest a few
microseconds after its send, and to wake it takes longer than all else. So what the next request
will be like (the last one's bytes, but for its correlation id and its records), where its batch
goes, and what answers it, is looked up while nobody waits; and what follows an append comes behind
its answer.

Never decides what is right: what is not as expected is declined before anything is done, and goes
the way of `broker.apis.repeated_produce`, which answers alike. Tests hold both to the same answers.
"""

from __future__ import annotations

from struct import Struct

from broker.replication.partition import Partition
from broker.replication.replica_manager import ReplicaManager
from protocol.produce_codec import AnswerTemplate
from storage.log.plain_append import PreparedAppend


class ExpectedProduce:
    """One request, before it is there. Good for one, as long as nothing else is handled."""

    __slots__ = (
        "_answer_size",
        "_answer_start",
        "_answer_tail",
        "_log_start",
        "_message",
        "_pack",
        "_partition",
        "_prepared",
        "_records_bytes",
        "_replicas",
        "_same",
        "_unpack",
    )

    def __init__(
        self,
        replicas: ReplicaManager,
        partition: Partition,
        prepared: PreparedAppend,
        message: memoryview,
        records_at: int,
        records_end: int,
        template: AnswerTemplate,
    ) -> None:
        """`message` holds the last request of the same kind, and will hold the next one: a frame's
        size, and the frame."""
        self._replicas = replicas
        self._partition = partition
        self._prepared = prepared
        self._message = message
        self._records_bytes = records_end - records_at
        # Size, API key and version; correlation id; all up to the records; what is behind them.
        form = f">8si{records_at - 12}s{self._records_bytes}x{len(message) - records_end}s"
        self._unpack = Struct(form).unpack_from
        head, _, before, after = self._unpack(message)
        self._same = head, before, after
        self._pack, self._answer_size, self._answer_start, self._answer_tail = template
        self._log_start = partition.log.log_start_offset

    def answer(self) -> bytes | None:
        """The answer to the request that has come; None: nothing was done."""
        head, correlation_id, before, after = self._unpack(self._message)
        if (head, before, after) != self._same:
            return None
        offset = self._prepared.write()
        if offset < 0:
            return None
        answer: bytes = self._pack(
            self._answer_size, correlation_id, self._answer_start,
            offset, -1, self._log_start, self._answer_tail,
        )  # fmt: skip
        return answer

    def settle(self) -> None:
        """The answer is on its way: what follows from the append."""
        self._partition.settle(self._prepared, self._records_bytes)
        self._replicas.partition_changed(self._partition)
