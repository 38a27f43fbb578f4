"""A checkpoint goes on only with the topic, cluster and settings that it was made with."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

from pipeline.errors import PipelineError
from pipeline.tables.stream_identity import StreamIdentity, claim, refuse_differences

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


def test_a_checkpoint_goes_on_with_the_topic_of_its_id_alone(tmp_path: Path) -> None:
    checkpoint, table = tmp_path / "cp", tmp_path / "t"
    for folder, name in ((checkpoint, "stream.json"), (table, "_stream.json")):
        folder.mkdir()
        (folder / name).write_text(json.dumps({"stream_id": "x", **asdict(MINE)}))

    def goes_on(topic_id: str | None) -> bool:
        spark: Any = None
        return not claim(spark, str(checkpoint), str(table), MINE, topic_id, lambda: None)

    assert goes_on(None), "the brokers give none"
    assert not (checkpoint / "topic.json").exists()
    assert goes_on("A"), "of a checkpoint of an older version the id is kept now"
    assert json.loads((checkpoint / "topic.json").read_text()) == {"topic_id": "A"}
    assert goes_on("A") and goes_on(None)
    again = (
        "cdr was deleted and made again since checkpoint .*its id was A, it is B now.*: name ano"
    )
    with pytest.raises(PipelineError, match=again):
        goes_on("B")
