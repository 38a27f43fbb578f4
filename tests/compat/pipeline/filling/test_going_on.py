"""The job `table` at a broker that stops, a topic that loses records, and the audit after it.

One format of each test in `make test`, all of them in `make test-long`.
"""

from __future__ import annotations

import contextlib
import io
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from ottla.testing.broker_process import BrokerProcess
from tests.compat.pipeline.small_frames import ON_SPARK
from tests.tools.waiting import wait_until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = ON_SPARK
TIMEOUT_S = 120


@pytest.fixture(scope="module")
def broker() -> Iterator[BrokerProcess]:
    """A broker that a test may stop."""
    with BrokerProcess() as started:
        yield started


class Job:
    """The jobs `table` and `audit` in this process, for one topic of one partition."""

    def __init__(
        self,
        spark: SparkSession,
        monkeypatch: pytest.MonkeyPatch,
        broker: BrokerProcess,
        path: Path,
        form: str = "delta",
    ) -> None:
        self.broker = broker
        if not broker.running:
            broker.start()  # the test before this one failed while the broker was stopped
        self.path = path / "t"
        self.topic = path.name
        self._form = form
        monkeypatch.setattr("pipeline.spark.session.check", lambda _: None)
        monkeypatch.setattr("pipeline.spark.session.make_session", lambda *_: spark)
        monkeypatch.setattr(spark, "stop", lambda: None)
        settings = {"bootstrap.servers": broker.bootstrap_servers, "log_level": 0}
        self.admin = AdminClient(settings)
        (made,) = self.admin.create_topics([NewTopic(self.topic, 1, 1)]).values()
        made.result(TIMEOUT_S)

    def send(self, number: int) -> None:
        producer = Producer({"bootstrap.servers": self.broker.bootstrap_servers, "log_level": 0})
        for value in range(number):
            producer.produce(self.topic, str(value).encode(), partition=0)
        assert producer.flush(TIMEOUT_S) == 0

    def delete_before(self, offset: int) -> None:
        place = TopicPartition(self.topic, 0, offset)
        (deleted,) = self.admin.delete_records([place]).values()
        deleted.result(TIMEOUT_S)

    def fill(self, *words: str) -> tuple[int, list[str]]:
        """Return the exit code, and the lines without those of a slow machine."""
        table = ["table", "--to", self._form, "--table", str(self.path)]
        code, said = self._run([*table, *words])
        return code, [line for line in said if ":   … " not in line]

    def audit(self) -> tuple[int, list[str]]:
        table = ["audit", "--table", str(self.path), "--table-format", self._form]
        return self._run([*table, "--report", str(self.path.with_name("report.html"))])

    def _run(self, words: list[str]) -> tuple[int, list[str]]:
        from pipeline.command import main

        servers = self.broker.bootstrap_servers
        said = io.StringIO()
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            code = main([*words, "--topic", self.topic, "--bootstrap-server", servers])
        return code, said.getvalue().splitlines()


def formats() -> pytest.MarkDecorator:
    """Run a test with each format; with those other than Delta it is long."""
    others = [pytest.param(form, marks=pytest.mark.long) for form in ("iceberg", "parquet")]
    return pytest.mark.parametrize("form", ["delta", *others])


@pytest.fixture
def job(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, broker: BrokerProcess, tmp_path: Path
) -> Job:
    return Job(spark, monkeypatch, broker, tmp_path)


def test_a_broker_that_stops_while_the_job_runs_for_ever(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    codes: list[int] = []
    monkeypatch.setattr("pipeline.jobs.table.teller", lambda _: said.append)

    def heard(words: str) -> bool:
        return any(words in line for line in said)

    job.send(3)
    running = threading.Thread(target=lambda: codes.append(job.fill("--for-ever")[0]), daemon=True)
    running.start()
    wait_until(lambda: heard("run 1: 3 offsets"), "run 1: 3 offsets")
    job.broker.stop()
    wait_until(lambda: heard("waiting: "), "waiting: no broker answers, or no leader")
    job.broker.start()
    job.send(2)
    wait_until(lambda: heard("run 2: 2 offsets"), "run 2: 2 offsets")
    (deleted,) = job.admin.delete_topics([job.topic]).values()
    deleted.result(TIMEOUT_S)
    running.join(TIMEOUT_S)
    assert codes == [2], "a topic that is gone does not come back"
    lines = [line for line in said if line.startswith(("waiting", "answered"))]
    assert lines[1].startswith("answered after") and lines[1].endswith("s: going on")


@formats()
def test_deleted_offsets_are_skipped_and_the_audit_knows_them(
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
    broker: BrokerProcess,
    tmp_path: Path,
    form: str,
) -> None:
    job = Job(spark, monkeypatch, broker, tmp_path, form)
    job.send(5)
    assert job.fill()[0] == 0
    job.send(5)
    job.delete_before(8)
    code, said = job.fill()
    assert code == 2 and "offsets 5 to 7" in said[-1] and "--skip-lost" in said[-1]
    code, said = job.fill("--skip-lost")
    assert code == 0
    assert f"run 2: 2 offsets of 1 partitions into {job.path}: 2 rows, without " in said[-1]
    assert f"offsets 5 to 7 of {job.topic}-0, which were deleted before, in" in said[-1]
    # Nothing is left to load: the commit has the gap alone.
    job.send(3)
    job.delete_before(13)
    code, said = job.fill("--skip-lost")
    assert code == 0 and "run 3: 0 offsets" in said[-1] and "offsets 10 to 12" in said[-1]
    assert job.fill("--skip-lost")[1] == [f"table: nothing new in {job.topic}"]
    job.send(1)
    assert job.fill()[0] == 0
    code, said = job.audit()
    assert code == 0, said
    text = "\n".join(said)
    assert f"offsets 5 to 7 of {job.topic}-0 were skipped at 2" in text
    assert f"offsets 10 to 12 of {job.topic}-0 were skipped at 2" in text
    assert (
        "nothing else lost" in text and "6 offsets were skipped that the topic had deleted" in text
    )


@formats()
def test_a_table_begins_where_it_is_told_to_and_goes_on_there(
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
    broker: BrokerProcess,
    tmp_path: Path,
    form: str,
) -> None:
    job = Job(spark, monkeypatch, broker, tmp_path, form)
    job.send(5)
    code, said = job.fill("--from", "0:9")
    assert (code, said[-1]) == (
        2,
        f"ottla-pipeline: --from 0:9: {job.topic}-0 begins at offset 0 and ends at 5",
    )
    code, said = job.fill("--from", "latest")
    assert code == 0 and "run 1: 0 offsets" in said[-1]
    job.send(2)
    code, said = job.fill()
    assert code == 0 and "run 2: 2 offsets" in said[-1]
    code, said = job.fill("--from", "earliest")
    assert code == 2 and f"{job.path} holds the topic up to 0:7 (run 2): leave --from" in said[-1]
    code, said = job.audit()
    assert code == 0, said
    assert f"  compared with the topic where both have records: {job.topic}-0 from 5" in said


def test_a_log_that_was_cut_off_and_has_grown_again_is_refused(job: Job, tmp_path: Path) -> None:
    """An unclean election cuts a log off, as does a folder that is restored from a copy."""
    folder, copy = job.broker.data_dir / f"{job.topic}-0", tmp_path / "copy"
    job.send(2)
    job.broker.stop()
    shutil.copytree(folder, copy)
    job.broker.start()
    job.send(3)
    assert job.fill()[0] == 0
    job.broker.restart()
    job.send(1)
    assert job.fill()[0] == 0, "another leader alone is no loss"
    job.broker.stop()
    shutil.rmtree(folder)
    shutil.copytree(copy, folder)
    job.broker.start()
    job.send(10)
    code, said = job.fill()
    assert code == 2 and "the topic has lost its newest records" in said[-1]
    assert f"{job.topic}-0 (loaded to offset 6); name another --table" in said[-1]
