"""How the job `table` reads its topic, repeats, and goes on after an outage."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("pyspark")

from pyspark.errors import PySparkException

from pipeline import sources
from pipeline.command import parser_for
from pipeline.errors import PipelineError, Unreachable
from pipeline.filling.outages import Outages
from pipeline.filling.run_plan import RunPlan
from pipeline.jobs import table
from pipeline.jobs.table import known
from pipeline.sources import TopicState
from pipeline.tables.dead_letter_limit import DeadLetterLimit
from pipeline.tables.progress import Progress
from pipeline.topics import Offsets, Position
from tests.unit.pipeline.columns.avro.fake_registry import fake_registry, record

AWAY = Unreachable("no broker answers at kafka:9092")


class Ended(BaseException):
    """The end of a loop that has none."""


def options_of(*words: str) -> Any:
    return parser_for("table").parse_args(["table", "--topic", "t", *words])


def test_it_reads_what_transactions_committed() -> None:
    assert sources.reading(options_of()).options["kafka.isolation.level"] == "read_committed"


class Turns:
    """Jobs whose runs end as `turns` says: with a number of offsets, or an error."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *turns: Any) -> None:
        self.turns = list(turns)
        self.opened = 0
        self.answers: list[Exception | None] = []
        """What asking the servers raises, at each question; nothing after the last."""
        monkeypatch.setattr(table, "Filling", self._open)
        monkeypatch.setattr(table, "_ask_servers", self._ask)
        monkeypatch.setattr(table, "IDLE_S", 0)
        monkeypatch.setattr("pipeline.filling.outages.PAUSE_S", 0)

    def _open(self, *_: Any) -> Any:
        self.opened += 1
        return SimpleNamespace(catch_up=self._catch_up)

    def _catch_up(self) -> int:
        turn = self.turns.pop(0) if self.turns else Ended()
        if isinstance(turn, BaseException):
            raise turn
        assert isinstance(turn, int)
        return turn

    def _ask(self, _: Any) -> None:
        answer = self.answers.pop(0) if self.answers else None
        if answer is not None:
            raise answer

    def run(self, *words: str) -> int:
        spark: Any = None
        return table.run(spark, options_of(*words))


@pytest.mark.parametrize("repeats", [("--for-ever",), ("--every", "0.001")])
def test_a_job_that_repeats_waits_for_a_broker_and_opens_its_table_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], repeats: tuple[str, ...]
) -> None:
    job = Turns(monkeypatch, 5, AWAY, 3)
    job.answers = [AWAY, AWAY]
    with pytest.raises(Ended):
        job.run(*repeats)
    assert job.opened == 2
    assert capsys.readouterr().err.splitlines() == [
        "table: waiting: no broker answers at kafka:9092",
        "table: answered after 0 s: going on",
    ]


def test_a_job_of_one_run_ends_with_the_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Unreachable, match="no broker answers"):
        Turns(monkeypatch, AWAY).run()


def test_another_error_ends_a_job_that_repeats(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PipelineError, match="made again"):
        Turns(monkeypatch, PipelineError("topic t was made again")).run("--for-ever")
    with pytest.raises(PySparkException, match="a disk is full"):
        Turns(monkeypatch, PySparkException("a disk is full")).run("--for-ever")
    with pytest.raises(ZeroDivisionError):
        Turns(monkeypatch, ZeroDivisionError()).run("--for-ever")
    gone = Turns(monkeypatch, AWAY)
    gone.answers = [AWAY, PipelineError("there is no topic t")]
    with pytest.raises(PipelineError, match="there is no topic t"):
        gone.run("--for-ever")


def test_an_error_of_spark_is_an_outage_if_no_broker_answers(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    job = Turns(monkeypatch, PySparkException("Job aborted"), 1)
    job.answers = [AWAY]
    with pytest.raises(Ended):
        job.run("--for-ever")
    late = "org.apache.kafka.common.errors.TimeoutException: Timeout of 60000ms expired"
    with pytest.raises(Ended):
        Turns(monkeypatch, PySparkException(late), 1).run("--for-ever")
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "table: waiting: no broker answers at kafka:9092"
    assert said[2].startswith("table: waiting: the broker stopped answering")


def test_servers_are_waited_for_before_spark_starts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    job = Turns(monkeypatch)
    job.answers = [AWAY, AWAY]
    table.check(options_of("--for-ever"))
    assert len(capsys.readouterr().err.splitlines()) == 2
    job.answers = [AWAY]
    with pytest.raises(Unreachable):
        table.check(options_of())


def test_a_registry_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(table.sources, "check", lambda _: None)
    with fake_registry() as served:
        latest = "/subjects/t-value/versions/latest"
        served.register("t-value", 1, record(("id", "int")))
        answers = [served.answers[latest]]
        served.answers[latest] = 503

        def comes_back(_: float) -> None:
            served.answers[latest] = answers[0]

        monkeypatch.setattr(table, "Outages", partial(Outages, sleep=comes_back))
        options = options_of("--value-format", "avro", "--registry", served.url, "--for-ever")
        table.check(options)
        first, second = capsys.readouterr().err.splitlines()
        assert first == f"table: waiting: --registry {served.url} answers 503 Service Unavailable"
        assert second.startswith("table: answered after")
        del served.answers[latest]
        with pytest.raises(PipelineError, match="has no subject t-value"):
            table.check(options)


def test_epochs_that_no_broker_gave_are_not_kept() -> None:
    assert known({0: 4, 1: None}) == {0: 4}


class Kept:
    """A table whose commits are kept here."""

    path = "/t"

    def __init__(self, *_: Any) -> None:
        self.commits: list[Progress] = []

    def progress(self) -> Progress | None:
        return self.commits[-1] if self.commits else None

    def append(self, _: Any, progress: Progress) -> None:
        self.commits.append(progress)

    def __getattr__(self, name: str) -> Any:
        return lambda *_: {}


class Log:
    """A topic of one partition, whose offsets and leaders a test changes."""

    def __init__(self, start: int, end: int) -> None:
        self.start, self.end, self.epoch = start, end, 1
        self.cut: list[int] = []
        self.validated: list[Any] = []

    def state(self) -> TopicState:
        return TopicState("c", "A", {0: Offsets(self.start, self.end, None, self.epoch)})

    def cut_off(self, positions: Any) -> list[int]:
        self.validated.append(positions)
        return self.cut


class Loading(table.Filling):
    """The job without its rows: what a commit would have is the batch."""

    before_batch: Any = None

    def _open(self, state: TopicState) -> None:
        self._columns: Any = "columns"
        for target in (self._table, self._letters):
            target.open(self._topic, state)
        if self._first is not None and not self._table.has_begun:
            self._table.begin(self._first.find(self._topic, state.offsets, lambda _: {}))

    def _load(self, batch: RunPlan, state: TopicState) -> int:
        if self.before_batch is not None:
            self.before_batch()
        epochs = known({one: state.offsets[one].leader_epoch for one in batch.ends})
        rows: Any = SimpleNamespace(schema=None)
        self._table.append(rows, batch.starts, batch.ends, batch.gaps, epochs)
        self._epochs.clear()
        return batch.offsets


@pytest.fixture
def loading(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that makes a job of options, with its log and its table."""

    def make(log: Log, *words: str) -> tuple[Loading, Kept, list[str]]:
        tables: list[Kept] = []

        def open_table(*_: Any) -> Kept:
            tables.append(Kept())
            return tables[-1]

        monkeypatch.setattr(table, "open_table", open_table)
        monkeypatch.setattr(table.sources, "source_of", lambda *_: log)
        monkeypatch.setattr("pipeline.filling.target.arranged", lambda rows: rows)
        said: list[str] = []
        spark: Any = None
        held: Any = SimpleNamespace(look=lambda _: None)
        limit = DeadLetterLimit(None, False, "/t-dead-letters")
        return Loading(spark, options_of(*words), said.append, held, limit), tables[0], said

    return make


def test_a_gap_is_committed_once_also_without_a_record_behind_it(loading: Any) -> None:
    log = Log(0, 10)
    job, kept, said = loading(log, "--skip-lost")
    assert job.catch_up() == 10
    log.start = log.end = 15
    assert job.catch_up() == 0 and job.catch_up() == 0
    log.end = 16
    assert job.catch_up() == 1
    assert [(one.starts, one.ends, len(one.gaps)) for one in kept.commits] == [
        ({0: 0}, {0: 10}, 0),
        ({0: 15}, {0: 15}, 1),
        ({0: 15}, {0: 16}, 1),
    ]
    assert said == [
        "10 offsets of t are new",
        "nothing new in t",
        "1 offsets of t are new",
    ]


def test_offsets_that_are_deleted_while_a_run_reads_them_are_skipped(loading: Any) -> None:
    log = Log(0, 30)

    def delete() -> None:
        if log.start < 20 and job._table.reached.run == 1:
            log.start = 20
            raise PySparkException("whatever Spark says")

    for words in ((), ("--skip-lost",)):
        log.start = 0
        job, kept, _ = loading(log, "--batch-max", "10", *words)
        job.before_batch = delete
        if not words:
            with pytest.raises(PySparkException):
                job.catch_up()
        else:
            job.catch_up()
            assert [one.ends for one in kept.commits] == [{0: 10}, {0: 30}]
            (gap,) = kept.commits[-1].gaps
            assert (gap.start, gap.end) == (10, 20)


def test_an_error_that_is_not_of_deleted_offsets_stays_one(loading: Any) -> None:
    def fail() -> None:
        raise PySparkException("a disk is full")

    job, kept, _ = loading(Log(0, 30), "--skip-lost")
    job.before_batch = fail
    with pytest.raises(PySparkException, match="a disk is full"):
        job.catch_up()
    assert kept.commits == []


def test_a_new_table_keeps_where_it_begins_though_nothing_is_there_yet(loading: Any) -> None:
    log = Log(3, 10)
    job, kept, said = loading(log, "--from", "latest")
    assert job.catch_up() == 0 and job.catch_up() == 0
    log.end = 12
    assert job.catch_up() == 2
    assert [(one.began, one.ends) for one in kept.commits] == [
        ({0: 10}, {0: 10}),
        ({0: 10}, {0: 12}),
    ]


def test_another_leader_is_asked_once_whether_the_log_was_cut_off(loading: Any) -> None:
    log = Log(0, 10)
    job, kept, _ = loading(log)
    job.catch_up()
    job.catch_up()
    assert log.validated == [], "of the same leader nothing is asked"
    log.epoch = 2
    job.catch_up()
    job.catch_up()
    assert log.validated == [{0: Position(10, 1)}]
    log.epoch, log.cut = 3, [0]
    with pytest.raises(
        PipelineError, match=r"lost its newest records .* t-0 \(loaded to offset 10"
    ):
        job.catch_up()
    assert log.validated[1:] == [{0: Position(10, 2)}]
    assert len(kept.commits) == 1 and kept.commits[0].epochs == {0: 1}
