"""The output of ShareRounds.java, which has Java's share consumer in each of its modes."""

from __future__ import annotations

SEEN = """\
implicit: 0x1 1x1 2x1 3x1 4x1; then nothing
explicit: 0x1 1x1 2x1 3x1; then 1x2 3x2 {0 committed}
explicit, not all acknowledged: IllegalStateException
renew: 0x1 1x1 for 2000 ms; then 0x1, {0 committed}
commitSync: {0 committed}; then {}
commitAsync: [0 [0, 1, 2] null]
callback at close: [0 [0, 1, 2] null]
after the lock: 0x2; then {0 InvalidRecordStateException}
close: 2x2 3x2
batch_optimized: [10]
record_limit: [3, 3, 3, 1]
two members: each record once, to both members
delivery limit: 0x1 1x1; then 0x2 1x2; then 2x1
read_uncommitted: [aborted, committed, 0]
read_committed: [committed, 0]
"""
"""Of each script of ShareRounds.java: `5x2` is the second delivery of offset 5."""
