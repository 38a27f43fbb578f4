"""From where to where a load reads."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from pipeline.errors import PipelineError
from pipeline.jobs.load import to_read
from pipeline.topics import Offsets


def test_it_goes_on_where_the_table_ends_and_begins_new_partitions() -> None:
    offsets = {0: Offsets(0, 10), 1: Offsets(5, 8)}
    assert to_read("t", offsets, {}) == ({0: 0, 1: 5}, {0: 10, 1: 8})
    assert to_read("t", offsets, {0: 7}) == ({0: 7, 1: 5}, {0: 10, 1: 8})


def test_records_that_are_gone_are_named() -> None:
    with pytest.raises(PipelineError, match="offsets 3 to 4 of t-0 were deleted before"):
        to_read("t", {0: Offsets(5, 9)}, {0: 3})


def test_a_topic_that_was_made_anew_is_noticed() -> None:
    with pytest.raises(PipelineError, match="up to offset 12, the topic ends at 9: it was made"):
        to_read("t", {0: Offsets(0, 9)}, {0: 12})
