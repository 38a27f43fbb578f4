"""The function by which the executors send rows to a topic: `mapInArrow` calls it in each task.

The executors get this module by value: they need confluent-kafka and pyarrow, not this package.
Uses `pipeline.sender`, because Spark's own sink sets no timestamps. Rows are sent at least once: if
Spark runs a task again, the task sends its rows again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import pyarrow  # by its name: executors get this module by value

from pipeline.sender import NO_TIMESTAMP, Sender

COLUMNS = ("key", "value", "headers", "timestamp_ms", "partition", "misfit")
"""The columns of a row: bytes, bytes, a list of `{key, value}`, ms since 1970 or null, -1 for any
partition; `misfit` is a line that is no row, which goes to the dead letters as it is."""
SENT = "sent BIGINT, refused BIGINT"
"""The columns of the row that each partition returns: numbers of records and of dead letters."""
_FLUSH_EVERY = 100_000
_REASON = b"not in the form of the other rows"


@dataclass(frozen=True, slots=True)
class SendRows:
    """A function from a partition of rows with the columns `COLUMNS` to a row `SENT`."""

    settings: Mapping[str, str]
    """The settings of confluent-kafka, from `Connection.client()`."""
    topic: str
    dead_letters: str
    same_partitions: bool
    source: str
    """The value of the dead letters' header `source`."""

    def __call__(self, batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        """Send the rows of a partition. Raises PipelineError if a record was not stored."""
        good, bad = Sender(self.settings, self.topic), None
        count = 0
        for batch in batches:
            for row in zip(*(batch.column(name).to_pylist() for name in COLUMNS), strict=True):
                key, value, headers, timestamp_ms, partition, misfit = row
                count += 1
                if count % _FLUSH_EVERY == 0:
                    good.flush()
                if misfit is not None:
                    bad = bad or Sender(self.settings, self.dead_letters)
                    said = [("reason", _REASON), ("source", self.source.encode())]
                    bad.send(None, misfit.encode(), NO_TIMESTAMP, said)
                    continue
                good.send(
                    key,
                    value,
                    NO_TIMESTAMP if timestamp_ms is None else timestamp_ms,
                    [(header["key"], header["value"]) for header in headers or ()],
                    partition if self.same_partitions else -1,
                )
        good.flush()
        if bad is not None:
            bad.flush()
        done = {"sent": [good.acknowledged], "refused": [bad.acknowledged if bad else 0]}
        yield pyarrow.RecordBatch.from_pydict(done)
