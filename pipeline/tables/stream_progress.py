"""What a running query tells of itself, as one line for a person.

Pure: from Spark's progress and the topic's ends to numbers. `Teller` keeps what was said: a line
comes once a batch, and again when the distance to the topic's end has changed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class QueryView:
    """One query after its latest batch."""

    name: str
    batch: int
    rows: int
    rows_per_s: float
    behind: int
    """Records of the topic that no batch has read yet."""
    late: int
    """Rows that the watermark dropped in this batch: they are in no sum."""
    watermark: str
    began: str = ""
    """When it was triggered, as Spark writes it: such texts stand in the order of their times."""
    seconds: float = 0.0
    """How long the batch took, from its trigger to its commit."""
    written: int | None = None
    """Rows that the sink took; None where it does not count them."""

    def line(self) -> str:
        """For a person."""
        dropped = f", {self.late:,} TOO LATE FOR THE WATERMARK" if self.late else ""
        mark = f", watermark {self.watermark[:16].replace('T', ' ')}" if self.watermark else ""
        refused = f" read, {self.written:,} refused" if self.written is not None else ""
        return (
            f"{self.name}: batch {self.batch}, {self.rows:,} records{refused} in "
            f"{self.seconds:.1f} s, {self.rows_per_s:,.0f}/s, {self.behind:,} behind{mark}{dropped}"
        )


class Teller:
    """Of each query what was said last: when that batch began, and how far behind it was."""

    def __init__(self) -> None:
        self._said: dict[str, tuple[str, int]] = {}

    def line(self, view: QueryView) -> str | None:
        """Its line where something changed since the last one; the batches come in their order."""
        began, behind = self._said.get(view.name, ("", None))
        idle = not view.rows and view.behind == behind
        if view.began < began or (view.began == began and view.behind == behind) or idle:
            return None
        self._said[view.name] = (view.began, view.behind)
        return view.line()


def look(name: str, progress: Any, topic: str, ends: Mapping[int, int]) -> QueryView:
    """From a `StreamingQueryProgress`; `ends` are the topic's."""
    found = json.loads(progress.json)
    source = found["sources"][0]
    # The Python of Spark 4.0 gives the offsets as text, its JSON as an object.
    offsets = source["endOffset"]
    read = json.loads(offsets) if isinstance(offsets, str) else offsets
    reached = (read or {}).get(topic, {})
    behind = sum(max(0, end - int(reached.get(str(one), 0))) for one, end in ends.items())
    written = found.get("sink", {}).get("numOutputRows")
    late = sum(one.get("numRowsDroppedByWatermark", 0) for one in found["stateOperators"])
    return QueryView(
        name=name,
        batch=found["batchId"],
        rows=int(_of_sources(found, "numInputRows")),
        rows_per_s=_of_sources(found, "processedRowsPerSecond"),
        behind=behind,
        late=late,
        watermark=_watermark(found.get("eventTime", {}).get("watermark", "")),
        began=found.get("timestamp", ""),
        seconds=found.get("durationMs", {}).get("triggerExecution", 0) / 1000,
        written=None if written is None or written < 0 else written,
    )


def _watermark(said: str) -> str:
    """Spark says 1970 where it has none yet: before the first batch with events is done."""
    return "" if said.startswith("1970-01-01T00:00:00") else said


def _of_sources(found: Mapping[str, Any], name: str) -> float:
    """Of all sources together; through Spark Connect each says it for itself alone."""
    if name in found:
        return float(found[name] or 0)
    return float(sum(one.get(name) or 0 for one in found["sources"]))
