"""Traces of several nodes laid side by side: whose they are, who may see them, what belongs
together. Pure.

A trace without a topic shows nobody anything, and one of topics of which the login may not describe
each is left out whole. A follower's copy belongs to an append of its leader if it has the offset.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

Json = dict[str, Any]
MayDescribe = Callable[[str], bool]


def topics_of(trace: Json) -> list[str]:
    """Those that its stations name, each once."""
    return list(dict.fromkeys(one["topic"] for one in trace["stations"] if "topic" in one))


def seen_traces(node_id: int, traces: Iterable[Json], may_describe: MayDescribe) -> list[Json]:
    """What may be shown of a node's traces; each knows its node and its topics."""
    found = []
    for trace in traces:
        topics = topics_of(trace)
        if topics and all(may_describe(topic) for topic in topics):
            own = {"node": node_id, "id": f"{node_id}-{trace['number']}", "topics": topics}
            found.append(trace | own)
    return found


class CopiesWanted:
    """Which copies of followers belong to appends that were shown: the last ones of these. Nodes
    are asked one after the other, so a copy may be told before its append: it is kept for a while.
    """

    APPENDS_MAX = 400
    COPIES_MAX = 3_000

    def __init__(self) -> None:
        self._appends: dict[tuple[str, int], dict[int, None]] = {}
        self._order: deque[tuple[tuple[str, int], int]] = deque()
        self._early: deque[tuple[int, Json]] = deque(maxlen=self.COPIES_MAX)

    def add(self, traces: Iterable[Json]) -> None:
        """They are shown."""
        for trace in traces:
            for one in trace["stations"]:
                if one["name"] == "appended":
                    self._add((one["topic"], one["partition"]), one["first_offset"])

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

    def of(self, copies: Iterable[tuple[int, Json]]) -> list[Json]:
        """Those that have one of these appends, of nodes by their ids, each with its offsets."""
        found, early = [], [*self._early, *copies]
        self._early.clear()
        for node_id, copy in early:
            offsets = self._appends.get((copy["topic"], copy["partition"]), {})
            having = [one for one in offsets if copy["first_offset"] <= one < copy["end_offset"]]
            if having:
                found.append(copy | {"node": node_id, "offsets": having})
            else:
                self._early.append((node_id, copy))
        return found
