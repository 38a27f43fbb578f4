"""When the stream job begins, goes on and ends, with queries that only remember.

That its queries read and write, `tests/compat/spark/test_pipeline.py` shows.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("pyspark")

from pipeline.command import parser_for
from pipeline.errors import PipelineError
from pipeline.jobs import stream
from pipeline.jobs.stream import StreamJob
from pipeline.spark.connection import Connection

SECURE = Connection("k:1", {"kafka.security.protocol": "SSL", "minPartitions": "9"})


class Chain:
    """A frame, a writer, a query: every call answers with the same again."""

    @property
    def write(self) -> Chain:
        return self

    @property
    def writeStream(self) -> Chain:
        return self

    @property
    def schema(self) -> Any:
        return SimpleNamespace(names=["one"])

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: self


class Query:
    """A query at `reached` of partition 0, which may have failed."""

    def __init__(self, reached: int = 5, failed: Exception | None = None) -> None:
        self.name = "aggregates"
        self.isActive = True
        self._failed = failed
        progress = {
            "batchId": 1,
            "timestamp": "2026-03-02T12:00:00Z",
            "numInputRows": 5,
            "processedRowsPerSecond": 1.0,
            "sources": [{"endOffset": {"cdr": {"0": reached}}}],
            "stateOperators": [],
            "eventTime": {},
        }
        self.recentProgress = [SimpleNamespace(json=json.dumps(progress))]

    def exception(self) -> Exception | None:
        return self._failed

    def stop(self) -> None:
        self.isActive = False


def watched(ends: Callable[[str], dict[int, int]], topic_id: str | None = "A") -> Any:
    """The cluster as a running job looks at it."""
    return SimpleNamespace(ends=ends, topic_id=lambda topic: topic_id)


def job(monkeypatch: pytest.MonkeyPatch, *arguments: str, queries: Any = ()) -> StreamJob:
    table = SimpleNamespace(read_batch=lambda batch: None)
    monkeypatch.setattr(stream.aggregates, "AggregateTable", lambda *_: table)
    monkeypatch.setattr(stream, "LOOK_S", 0)
    cluster: Any = SimpleNamespace()
    monkeypatch.setattr(stream, "Cluster", lambda *_: watched(lambda topic: {0: 5}))
    settings: dict[str, str] = {}
    spark: Any = SimpleNamespace(conf=SimpleNamespace(set=settings.__setitem__), settings=settings)
    monkeypatch.setattr(
        stream, "Files", lambda _, path: SimpleNamespace(is_local=not path.startswith("hdfs:"))
    )
    options = parser_for("stream").parse_args(["stream", *arguments])
    made = StreamJob(spark, SECURE, cluster, options)
    made._queries = list(queries)
    return made


def never() -> bool:
    return False


def without_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every step of a query be taken by a `Chain`."""
    frame = Chain()
    for module, name in (
        (stream.kafka_source, "stream"),
        (stream.cdr, "events"),
        (stream.cdr, "dead_letters"),
        (stream.aggregates, "once"),
        (stream.aggregates, "summed"),
    ):
        monkeypatch.setattr(module, name, lambda *_: frame)


@pytest.mark.parametrize(("checkpoint", "number"), [("cp", 1), ("hdfs:///cp", 0)])
def test_only_a_checkpoint_on_this_machine_is_written_by_plain_renames(
    monkeypatch: pytest.MonkeyPatch, checkpoint: str, number: int
) -> None:
    without_frames(monkeypatch)
    started: Any = job(monkeypatch, "--checkpoint", checkpoint)
    started.prepare()
    started.start()
    started._spark.settings.pop("spark.sql.streaming.stopActiveRunOnRestart")
    assert len(started._spark.settings) == number


def test_it_ends_when_it_is_asked_to_and_stops_both(monkeypatch: pytest.MonkeyPatch) -> None:
    queries = [Query(), Query()]
    running = job(monkeypatch, queries=queries)
    assert running.watch(lambda: True) == "stopped; the same command goes on from here"
    running.stop()
    assert not any(query.isActive for query in queries)


@pytest.mark.parametrize(("given", "value"), [((), "false"), (("--take-over",), "true")])
def test_a_second_one_on_a_server_does_not_end_the_first_unasked(
    monkeypatch: pytest.MonkeyPatch, given: tuple[str, ...], value: str
) -> None:
    without_frames(monkeypatch)
    started: Any = job(monkeypatch, *given)
    started.prepare()
    started.start()
    assert started._spark.settings["spark.sql.streaming.stopActiveRunOnRestart"] == value


def test_it_waits_for_a_broker_that_is_away(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    running = job(monkeypatch, "--until-idle", "0", queries=[Query(), Query()])
    answers = iter([None, None, {0: 5}])

    def ends(topic: str) -> dict[int, int]:
        found = next(answers)
        if found is None:
            raise PipelineError("no broker answers at k:1")
        return found

    running._watched = watched(ends)
    assert running.watch(never) == "done: nothing new for 0 s"
    said = capsys.readouterr().err
    assert said.count("stream: waiting: no broker answers at k:1") == 1
    assert "stream: a broker answers again" in said


def test_a_cell_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    row = SimpleNamespace(id="C1", since="noon", drops=3, calls=20, drop_rate=0.15)
    frame: Any = SimpleNamespace(collect=lambda: [row])
    frame.orderBy = frame.limit = lambda *_: frame
    monkeypatch.setattr(stream.aggregates, "alerts", lambda _: frame)
    alerts = stream.Alerts()
    told = ["alert: cell C1 dropped 3 of 20 calls (15%) in the window from noon"]
    assert [alerts.new(frame), alerts.new(frame)] == [told, []]


def test_one_that_is_behind_is_not_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []

    def twice() -> bool:
        looks.append(1)
        return len(looks) > 20

    running = job(monkeypatch, "--until-idle", "0", queries=[Query(), Query(reached=4)])
    assert running.watch(twice).startswith("stopped")


@pytest.mark.parametrize("ended", [False, True])
def test_a_topic_that_is_made_again_under_it_ends_the_job(
    monkeypatch: pytest.MonkeyPatch, ended: bool
) -> None:
    queries = [Query(), Query()]
    running = job(monkeypatch, "--once", queries=queries)
    for query in queries:
        query.isActive = not ended
    running._topic_id = "an older one"
    with pytest.raises(PipelineError, match="cdr was deleted and made again while it was read: na"):
        running.watch(never)
    running._watched = watched(lambda topic: {0: 5}, topic_id=None)
    assert running._heard_ends() == {0: 5}, "a broker that gives no ids"


def test_a_query_that_fails_is_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    queries = [Query(), Query(failed=RuntimeError("x\nSome data may have been lost because …"))]
    with pytest.raises(PipelineError, match="^stream: records that the checkpoint .* begin again"):
        job(monkeypatch, queries=queries).watch(never)


def test_a_time_that_spark_cannot_read_is_told_with_its_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    failed = RuntimeError("aborted\njava.lang.ArithmeticException: long overflow")
    running: Any = job(monkeypatch, queries=[Query(), Query(failed=failed)])
    running._cluster.first_from = lambda topic, time_ms: {2: 7} if time_ms == 2**63 // 1000 else {}
    with pytest.raises(PipelineError, match="^stream: cdr-2 at offset 7 has a time that Spark's"):
        running.watch(never)
