"""What is asked for before rows are sent, and when the topic is looked at."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest


def test_a_topic_that_is_made_again_meanwhile_holds_not_all_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its topic is asked for before the executors send, and once they have."""
    from pipeline.command import parser_for
    from pipeline.errors import PipelineError
    from pipeline.jobs import replay

    steps: list[str] = []

    def kept(topic: str, topic_id: str) -> None:
        steps.append(f"kept {topic} {topic_id}")
        raise PipelineError("made again")

    cluster = SimpleNamespace(
        ensure=lambda *_: True,
        topic_id=lambda topic: steps.append("id") or "A",
        check_kept=kept,
    )
    rows = SimpleNamespace(collect=lambda: steps.append("sent") or [])
    rows.select = rows.mapInArrow = lambda *_: rows
    monkeypatch.setattr(replay, "Cluster", lambda _: cluster)
    monkeypatch.setattr(replay, "_records_of", lambda *_: (rows, False))
    spark: Any = None
    options = parser_for("replay").parse_args(["replay", "--topic", "t", "--files", "f"])
    with pytest.raises(PipelineError, match="made again"):
        replay.run(spark, options)
    assert steps == ["id", "sent", "kept t A"]


def test_a_time_is_utc_where_it_names_no_zone() -> None:
    pytest.importorskip("pyspark")
    from argparse import ArgumentTypeError

    from pipeline.jobs.replay import moment

    assert moment("2026-03-02T12:00:00+02:00") == "2026-03-02 10:00:00.000000"
    assert moment("2026-03-02") == "2026-03-02 00:00:00.000000"
    with pytest.raises(ArgumentTypeError, match="'soon' is no time such as"):
        moment("soon")


def test_files_must_be_named() -> None:
    from pipeline.command import parser_for
    from pipeline.errors import PipelineError
    from pipeline.jobs.replay import check

    with pytest.raises(PipelineError, match="name the files with --files"):
        check(parser_for("replay").parse_args(["replay", "--topic", "t"]))
