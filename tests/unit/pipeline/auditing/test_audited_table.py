"""What a table must hold by its commits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("pyspark")

from pipeline.auditing.audited_table import AuditedTable, loaded_ranges
from pipeline.tables.progress import Progress
from pipeline.topics import Offsets

FIRST = Progress("t", "id", 0, {}, {}).following({0: 3}, {0: 9})
SECOND = FIRST.following({0: 9, 1: 0}, {0: 12, 1: 4})


def test_all_commits_say_what_must_be_there() -> None:
    assert loaded_ranges([FIRST, SECOND], SECOND, {}) == ({0: (3, 12), 1: (0, 4)}, [])


def test_what_the_oldest_commits_said_is_seen_in_the_rows() -> None:
    assert loaded_ranges([SECOND], SECOND, {0: 5, 1: 2}) == ({0: (5, 12), 1: (2, 4)}, [])
    assert loaded_ranges([], SECOND, {0: 5}) == ({0: (5, 12), 1: (4, 4)}, [])


def audited(progress: Progress, loaded: dict[int, tuple[int, int]]) -> AuditedTable:
    frame: Any = None
    return AuditedTable(frame, 1, loaded, [], progress, keeps_values=True, keeps_keys=True)


def test_topic_and_table_are_compared_where_both_have_records() -> None:
    there = audited(FIRST, {0: (3, 9), 1: (5, 6)})
    assert there.common_starts({0: Offsets(3, 9), 1: Offsets(0, 6), 2: Offsets(0, 2)}) == {}, (
        "partition 1 lacks what the topic has from 0 on, and no option says why"
    )
    assert there.common_starts({0: Offsets(5, 9)}) == {0: 5}, "the topic has deleted some"
    began = audited(replace(FIRST, began={0: 3, 1: 0, 2: 4}), {0: (3, 9), 1: (0, 6)})
    offsets = {0: Offsets(0, 9), 1: Offsets(0, 6), 2: Offsets(0, 4), 3: Offsets(0, 1)}
    assert began.common_starts(offsets) == {0: 3, 2: 4}
    assert began.common_starts({0: Offsets(7, 9)}) == {0: 7}
