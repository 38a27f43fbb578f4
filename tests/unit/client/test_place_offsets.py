"""Places as offsets: within what a partition holds."""

from __future__ import annotations

from typing import Any

import pytest

from client.place_offsets import Span, offsets_at, spans
from client.places import END, START, Place
from protocol.messages.list_offsets import ListOffsetsResponse
from tests.unit.client.scripted import ScriptedCluster, offsets_of, topic_of

TOPICS = {"t": topic_of("t", [1, -1])}
HELD = {("t", 0): Span(3, 10)}


def test_what_partitions_hold() -> None:
    cluster = ScriptedCluster(answers={"ListOffsetsRequest": offsets_of})
    assert spans(cluster, TOPICS, [("t", 0), ("t", 1)]) == HELD


@pytest.mark.parametrize(
    ("place", "offset"),
    [
        (START, 3),
        (END, 10),
        (Place("offset", 6), 6),
        (Place("offset", 1), 3),
        (Place("offset", 11), 10),
        (Place("last", 2), 8),
        (Place("last", 99), 3),
    ],
)
def test_where_places_are(place: Place, offset: int) -> None:
    assert offsets_at(ScriptedCluster(), TOPICS, HELD, place) == {("t", 0): offset}


def test_a_time_is_asked_for_and_may_be_after_the_end() -> None:
    asked: list[int] = []

    def answer(request: Any) -> ListOffsetsResponse:
        found = offsets_of(request)
        asked.append(request.topics[0].partitions[0].timestamp)
        found.topics[0].partitions[0].offset = 7 if asked[-1] < 100 else -1
        return found

    cluster = ScriptedCluster(answers={"ListOffsetsRequest": answer})
    assert offsets_at(cluster, TOPICS, HELD, Place("time", 50)) == {("t", 0): 7}
    assert offsets_at(cluster, TOPICS, HELD, Place("time", 500)) == {("t", 0): 10}
    assert asked == [50, 500]
