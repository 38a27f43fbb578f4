"""Partitions without a commit, of the topics of which a group has committed others."""

from __future__ import annotations

from client.groups.uncommitted import held, without_commit


def test_only_topics_of_the_group_count() -> None:
    committed = [("t", 1), ("gone", 0)]
    indexes = {"t": [2, 0, 1], "other": [0]}
    assert without_commit(committed, indexes) == [("t", 0), ("t", 2)]
    assert without_commit([], indexes) == []


def test_the_records_between_first_and_end_offsets() -> None:
    partitions = [("t", 0), ("t", 1), ("t", 2)]
    starts, ends = {("t", 0): 3, ("t", 1): 5}, {("t", 0): 10, ("t", 1): 5, ("t", 2): 9}
    assert held(partitions, starts, ends) == (3, 7)
