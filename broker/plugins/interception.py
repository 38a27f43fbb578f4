"""An interceptor of one's own, as Produce asks it about the records of one batch after the other.

Owns: how records come to it, in slices with all else of the loop between them; and that one that
fails refuses. Never: answers, appends, or changes a record.

A batch that is no batch is left alone: the log says what is wrong with it.
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
from storage.log.refusal import Refusal

RECORDS_PER_SLICE = 100
"""Between two turns of the loop: half a millisecond where the interceptor is quick."""
REFUSALS_TOLD_MAX = 100
"""Of one batch: what is behind them is not looked at."""
TEXT_CHARACTERS_MAX = 1_000

RecordErrors: TypeAlias = list[tuple[int, str]]
"""Index in the batch, and why, of each record that is refused."""


class Interceptor:
    """See the module."""

    def __init__(
        self, interceptor: ProduceInterceptor, calls: LoopCalls, allocate: Allocate = bytearray
    ) -> None:
        self._interceptor = interceptor
        self._calls = calls
        self._allocate = allocate

    def look(self, topic: str, partition: int, records: memoryview) -> Steps[RecordErrors]:
        """What is refused of what was sent for one partition. `records` must stay as they are
        until the end."""
        batches = split_batches(records, AppendOrigin.CLIENT)
        if isinstance(batches, Refusal):
            return []
        errors: RecordErrors = []
        for position, header in batches:
            body = BatchBody(records[position:], header, self._allocate)
            try:
                yield from body.open()
                index = 0
                for found in scan_records(header, body.view):
                    if found is None:
                        continue
                    text = self._refusal(topic, partition, found, body.view)
                    if text is not None:
                        errors.append((index, text[:TEXT_CHARACTERS_MAX]))
                        if len(errors) == REFUSALS_TOLD_MAX:
                            break
                    index += 1
                    if not index % RECORDS_PER_SLICE:
                        yield None
            except CorruptBatch:
                errors = []
            yield from body.close()
        return errors

    def _refusal(self, topic: str, partition: int, found: Scanned, body: Bytes) -> str | None:
        _, timestamp, key_length, key_end, value_length, value_end = found
        key = None if key_length < 0 else bytes(body[key_end - key_length : key_end])
        value = None if value_length < 0 else bytes(body[value_end - value_length : value_end])
        headers = headers_at(body, value_end) if body[value_end] else ()
        record = ProducedRecord(topic, partition, key, value, headers, timestamp)
        calls = self._calls
        began_ms = calls.clock_ms()
        try:
            text = cast(object, self._interceptor.refusal(record))
        except Exception as error:  # noqa: BLE001  a plug-in's: whatever it is, it refuses
            calls.failed(error)
            text = "The interceptor failed."
        calls.ended(began_ms)
        if text is None or isinstance(text, str):
            return text
        calls.misled(f"gave {type(text).__name__} for an answer, neither str nor None")
        return "The interceptor gave no answer."
