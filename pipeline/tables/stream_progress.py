"""The progress of a running query, as a line for users.

Pure: makes numbers of Spark's progress and the topic's ends. A `Teller` keeps the last line of each
query: it returns a line once for each batch, and again if the distance to the topic's end has
changed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class QueryView:
    """A query after its latest batch."""

    name: str
    batch: int
    rows: int
    rows_per_s: float
    behind: int
    """The number of records of the topic that no batch has read yet."""
    late: int
    """The number of rows that the watermark dropped in this batch, and that are in no sum."""
    watermark: str
    began: str = ""
    """The time at which the batch was triggered, as Spark's text; these texts sort by time."""
    seconds: float = 0.0
    """The time that the batch took in seconds, from its trigger to its commit."""
    written: int | None = None
    """The number of rows that the sink wrote; None if the sink does not count them."""

    def line(self) -> str:
        """Return a line about the batch, for users."""
        dropped = f", {self.late:,} TOO LATE FOR THE WATERMARK" if self.late else ""
        mark = f", watermark {self.watermark[:16].replace('T', ' ')}" if self.watermark else ""
        refused = f" read, {self.written:,} refused" if self.written is not None else ""
        return (
            f"{self.name}: batch {self.batch}, {self.rows:,} records{refused} in "
            f"{self.seconds:.1f} s, {self.rows_per_s:,.0f}/s, {self.behind:,} behind{mark}{dropped}"
        )


class Teller:
    """The lines about queries. Keeps for each query the begin of the last batch, and its distance
    to the topic's end."""

    def __init__(self) -> None:
        self._said: dict[str, tuple[str, int]] = {}

    def line(self, view: QueryView) -> str | None:
        """Return the line of a view, None if nothing has changed since the last one. The batches of
        a query must come in their order."""
        began, behind = self._said.get(view.name, ("", None))
        idle = not view.rows and view.behind == behind
        if view.began < began or (view.began == began and view.behind == behind) or idle:
            return None
        self._said[view.name] = (view.began, view.behind)
        return view.line()


def look(name: str, progress: Any, topic: str, ends: Mapping[int, int]) -> QueryView:
    """Return the view of a `StreamingQueryProgress`; `ends` are the end offsets of the topic."""
    fields = json.loads(progress.json)
    source = fields["sources"][0]
    # The Python of Spark 4.0 gives the offsets as text, its JSON as an object.
    offsets = source["endOffset"]
    read = json.loads(offsets) if isinstance(offsets, str) else offsets
    reached = (read or {}).get(topic, {})
    behind = sum(
        max(0, end - int(reached.get(str(partition), 0))) for partition, end in ends.items()
    )
    written = fields.get("sink", {}).get("numOutputRows")
    late = sum(
        operator.get("numRowsDroppedByWatermark", 0) for operator in fields["stateOperators"]
    )
    return QueryView(
        name=name,
        batch=fields["batchId"],
        rows=int(_of_sources(fields, "numInputRows")),
        rows_per_s=_of_sources(fields, "processedRowsPerSecond"),
        behind=behind,
        late=late,
        watermark=_watermark(fields.get("eventTime", {}).get("watermark", "")),
        began=fields.get("timestamp", ""),
        seconds=fields.get("durationMs", {}).get("triggerExecution", 0) / 1000,
        written=None if written is None or written < 0 else written,
    )


def _watermark(text: str) -> str:
    """Return Spark's watermark, empty for 1970, which Spark gives before the first batch with
    events is done."""
    return "" if text.startswith("1970-01-01T00:00:00") else text


def _of_sources(fields: Mapping[str, Any], name: str) -> float:
    """Return the sum of a number over all sources. Through Spark Connect, each source has only its
    own number."""
    if name in fields:
        return float(fields[name] or 0)
    return float(sum(source.get(name) or 0 for source in fields["sources"]))
