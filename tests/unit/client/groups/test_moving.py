"""Where a group would be moved to."""

from __future__ import annotations

import pytest

from client.groups.moving import Moved, planned
from client.places import END, LAST, OFFSET, START, Place
from client.refusals import Refused
from tests.unit.client.scripted import ScriptedCluster, offsets_of, topic_of


def cluster() -> ScriptedCluster:
    """Partition 0 holds 3 to 10, partition 1 holds 4 to 11."""
    return ScriptedCluster([topic_of("t", [1, 2])], {"ListOffsetsRequest": offsets_of})


def test_each_partition_has_a_place_of_its_own() -> None:
    wanted = {("t", 1): START, ("t", 0): Place(LAST, 2)}
    assert planned(cluster(), {("t", 0): 5}, wanted) == [
        Moved("t", 0, 5, 8),
        Moved("t", 1, None, 4),
    ]


def test_offsets_stay_within_what_is_there() -> None:
    wanted = {("t", 0): Place(OFFSET, 99), ("t", 1): Place(OFFSET, 0)}
    assert [one.new for one in planned(cluster(), {}, wanted)] == [10, 4]


def test_nothing_to_move_asks_nobody() -> None:
    asked = cluster()
    assert planned(asked, {}, {}) == []
    assert asked.asked == []


def test_a_topic_that_there_is_not() -> None:
    with pytest.raises(Refused, match="no topic gone"):
        planned(cluster(), {}, {("gone", 0): END})
