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

    def line(self) -> str:
        """For a person."""
        dropped = f", {self.late:,} TOO LATE FOR THE WATERMARK" if self.late else ""
        mark = f", watermark {self.watermark[:16].replace('T', ' ')}" if self.watermark else ""
        return (
            f"{self.name}: batch {self.batch}, {self.rows:,} records at {self.rows_per_s:,.0f}/s, "
            f"{self.behind:,} behind{mark}{dropped}"
        )


class Teller:
    """Of each query what was said last."""

    def __init__(self) -> None:
        self._said: dict[str, tuple[int, int]] = {}

    def line(self, view: QueryView) -> str | None:
        """Its line where something changed since the last one."""
        state = (view.batch, view.behind)
        if self._said.get(view.name) == state:
            return None
        self._said[view.name] = state
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
    late = sum(one.get("numRowsDroppedByWatermark", 0) for one in found["stateOperators"])
    return QueryView(
        name=name,
        batch=found["batchId"],
        rows=found["numInputRows"],
        rows_per_s=found.get("processedRowsPerSecond") or 0.0,
        behind=behind,
        late=late,
        watermark=found.get("eventTime", {}).get("watermark", ""),
    )
