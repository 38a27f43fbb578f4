"""A user's produce interceptor, which checks the records of each batch of a Produce request.

Owns: passing the records to it, in slices between which the loop does other work; and the rule that
a record is rejected if the interceptor fails. Never: answers, appends, or changes a record.

An invalid batch is not checked: appending it to the log fails with the reason.
"""

from __future__ import annotations

from typing import TypeAlias, cast

from broker.plugins.loop_calls import LoopCalls
from ground.sliced_work import Steps
from ottla.plugins.interceptor import ProducedRecord, ProduceInterceptor
from protocol.frames.frame_memory import Allocate
from protocol.record_batch import Bytes, CorruptBatch
from protocol.record_scan import Scanned, scan_records
from protocol.records import headers_at
from storage.log.batch_body import BatchBody
from storage.log.log_append_info import AppendOrigin
from storage.log.log_validator import split_batches
from storage.log.refusal import AppendRefusal

RECORDS_PER_SLICE = 100
"""The records checked in one turn of the loop: half a millisecond if the interceptor is quick."""
REFUSALS_MAX = 100
"""The rejected records of a batch after which the rest of it is not checked."""
TEXT_CHARACTERS_MAX = 1_000

RecordErrors: TypeAlias = list[tuple[int, str]]
"""The rejected records of a batch: the index of each, and the reason."""


class Interceptor:
    """The caller of a user's `ProduceInterceptor`."""

    def __init__(
        self, interceptor: ProduceInterceptor, calls: LoopCalls, allocate: Allocate = bytearray
    ) -> None:
        self._interceptor = interceptor
        self._calls = calls
        self._allocate = allocate

    def check(self, topic: str, partition: int, records: memoryview) -> Steps[RecordErrors]:
        """Check the records that a client sent for one partition, in slices; the steps' result is
        the rejected ones, at most REFUSALS_MAX of a batch.

        The result has no errors for an invalid batch. `records` must not change until the end.
        """
        batches = split_batches(records, AppendOrigin.CLIENT)
        if isinstance(batches, AppendRefusal):
            return []
        errors: RecordErrors = []
        for position, header in batches:
            body = BatchBody(records[position:], header, self._allocate)
            try:
                yield from body.open()
                index = 0
                for scanned in scan_records(header, body.view):
                    if scanned is None:
                        continue
                    text = self._refusal_of(topic, partition, scanned, body.view)
                    if text is not None:
                        errors.append((index, text[:TEXT_CHARACTERS_MAX]))
                        if len(errors) == REFUSALS_MAX:
                            break
                    index += 1
                    if not index % RECORDS_PER_SLICE:
                        yield None
            except CorruptBatch:
                errors = []
            yield from body.close()
        return errors

    def _refusal_of(self, topic: str, partition: int, scanned: Scanned, body: Bytes) -> str | None:
        """Return the reason for which the interceptor rejects a record, or None if it accepts it.

        An error of the plug-in and a wrong type of answer reject the record, and are logged.
        """
        _, timestamp, key_length, key_end, value_length, value_end = scanned
        key = None if key_length < 0 else bytes(body[key_end - key_length : key_end])
        value = None if value_length < 0 else bytes(body[value_end - value_length : value_end])
        headers = headers_at(body, value_end) if body[value_end] else ()
        record = ProducedRecord(topic, partition, key, value, headers, timestamp)
        calls = self._calls
        began_ms = calls.clock_ms()
        try:
            refusal = cast(object, self._interceptor.refusal(record))
        except Exception as error:  # noqa: BLE001  any error of a plug-in rejects the record
            calls.failed(error)
            refusal = "The interceptor failed."
        calls.ended(began_ms)
        if refusal is None or isinstance(refusal, str):
            return refusal
        calls.invalid_answer(f"gave {type(refusal).__name__} for an answer, neither str nor None")
        return "The interceptor gave no answer."
