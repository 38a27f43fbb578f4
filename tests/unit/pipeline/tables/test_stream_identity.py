"""A checkpoint goes on only with the topic, cluster and settings that it was made with."""

from __future__ import annotations

from dataclasses import asdict, replace

import pytest

pytest.importorskip("pyspark")

from pipeline.errors import PipelineError
from pipeline.tables.stream_identity import StreamIdentity, refuse_differences

MINE = StreamIdentity("cdr", "id", "1 hour", "1 hour", "15 minutes", "results", "dead")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"topic": "other"}, "is of topic cdr, not of other"),
        ({"cluster_id": "new"}, r"is of another cluster \(id; this one is new\)"),
        ({"window": "5 minutes"}, "was made with --window '1 hour', not '5 minutes'"),
        ({"results_topic": "r2"}, "was made with --results-topic"),
    ],
)
def test_a_difference_is_named(change: dict[str, str], words: str) -> None:
    with pytest.raises(PipelineError, match=words):
        refuse_differences("cp", asdict(MINE), replace(MINE, **change))


def test_the_same_goes_on() -> None:
    refuse_differences("cp", {"stream_id": "x", **asdict(MINE)}, MINE)
