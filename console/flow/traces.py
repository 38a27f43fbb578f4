"""Filters for the traces of several nodes: by rights, and followers' copies by their appends. Pure.

A trace without topics is left out, and so is a trace with a topic that the login may not describe.
A follower's copy belongs to an append of the leader if the copy contains the append's first offset.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

Json = dict[str, Any]
MayDescribe = Callable[[str], bool]


def topics_of(trace: Json) -> list[str]:
    """Return the topics in the stations of a trace, each once."""
    return list(
        dict.fromkeys(station["topic"] for station in trace["stations"] if "topic" in station)
    )


def seen_traces(node_id: int, traces: Iterable[Json], may_describe: MayDescribe) -> list[Json]:
    """Return the traces of a node that the login may see, with `node`, `id` and `topics` added."""
    seen = []
    for trace in traces:
        topics = topics_of(trace)
        if topics and all(may_describe(topic) for topic in topics):
            own = {"node": node_id, "id": f"{node_id}-{trace['number']}", "topics": topics}
            seen.append(trace | own)
    return seen


class CopiesWanted:
    """A matcher of followers' copies to the last APPENDS_MAX appends of the shown traces.

    The nodes are read in turn, so a copy can arrive before its append: the last COPIES_MAX copies
    without an append are kept for the next call.
    """

    APPENDS_MAX = 400
    COPIES_MAX = 3_000

    def __init__(self) -> None:
        self._appends: dict[tuple[str, int], dict[int, None]] = {}
        self._order: deque[tuple[tuple[str, int], int]] = deque()
        self._early: deque[tuple[int, Json]] = deque(maxlen=self.COPIES_MAX)

    def add(self, traces: Iterable[Json]) -> None:
        """Remember the appends of these traces."""
        for trace in traces:
            for station in trace["stations"]:
                if station["name"] == "appended":
                    self._add((station["topic"], station["partition"]), station["first_offset"])

    def _add(self, partition: tuple[str, int], offset: int) -> None:
        offsets = self._appends.setdefault(partition, {})
        if offset in offsets:
            return
        offsets[offset] = None
        self._order.append((partition, offset))
        if len(self._order) > self.APPENDS_MAX:
            oldest, first = self._order.popleft()
            del self._appends[oldest][first]
            if not self._appends[oldest]:
                del self._appends[oldest]

    def matching(self, copies: Iterable[tuple[int, Json]]) -> list[Json]:
        """Return the copies that contain remembered appends, with `node` and `offsets` added.

        `copies` are pairs of a node id and a copy; `offsets` are the first offsets of the appends.
        """
        matched, candidates = [], [*self._early, *copies]
        self._early.clear()
        for node_id, copy in candidates:
            offsets = self._appends.get((copy["topic"], copy["partition"]), {})
            inside = [at for at in offsets if copy["first_offset"] <= at < copy["end_offset"]]
            if inside:
                matched.append(copy | {"node": node_id, "offsets": inside})
            else:
                self._early.append((node_id, copy))
        return matched
