"""What a table must hold by its commits."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from pipeline.auditing.audited_table import told
from pipeline.tables.progress import Progress

FIRST = Progress("t", "id", 0, {}, {}).following({0: 3}, {0: 9})
SECOND = FIRST.following({0: 9, 1: 0}, {0: 12, 1: 4})


def test_all_commits_say_what_must_be_there() -> None:
    assert told([FIRST, SECOND], SECOND, {}) == ({0: (3, 12), 1: (0, 4)}, [])


def test_what_the_oldest_commits_said_is_seen_in_the_rows() -> None:
    assert told([SECOND], SECOND, {0: 5, 1: 2}) == ({0: (5, 12), 1: (2, 4)}, [])
    assert told([], SECOND, {0: 5}) == ({0: (5, 12), 1: (4, 4)}, [])
