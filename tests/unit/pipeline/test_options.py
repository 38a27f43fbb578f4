"""What an option takes, and every option of every job with wrong input.

That is refused before a broker is asked, Spark starts or anything is written.
"""

from __future__ import annotations

import argparse
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

from pipeline import command, options, topics
from pipeline.errors import PipelineError
from pipeline.spark import java, session

FROM = ("", "soon", "0:1,0:2", "0:1,", "0:-1", "-5", "5", "@", "@5w", "2026-13-01", "@2026-02-30")
WHOLE = ("0", "-1", "1.5", "many", "")
NUMBER = ("-1", "nan", "inf", "fast", "")
SHARE = ("-0.1", "1.1", "half", "")
TOPIC = ("a b", "a,b", "", "..", "ä" * 3, "x" * 250)
SPAN = ("banana", "soon", "1", "1 month", "0 hours", "")
PAIR = ("key", "=value", "")
NOT_THERE = ("/not/there",)

EVERYWHERE = {
    "--bootstrap-server": ("localhost", "localhost:", ":9092", "h:99999", ""),
    "--option": (*PAIR, "subscribe=x", "startingOffsets=latest", "kafka.bootstrap.servers=x"),
    "--command-config": NOT_THERE,
}
ON_SPARK = {
    "--conf": PAIR,
    "--master": ("lokal[2]", "local[0]", "spark://", "localhost:7077", "sc://h:1", ""),
    "--remote": ("localhost:15002", "spark://h:7077", "sc://", ""),
}
SPEC = {
    "--seed": ("x", ""),
    "--start": ("-1", "soon", "9999999999999"),
    "--hours": (*WHOLE, "9999999"),
    **dict.fromkeys(("--events", "--subscribers", "--cells"), WHOLE),
    **dict.fromkeys(("--late", "--duplicates", "--malformed"), SHARE),
}
FILES = {
    "--files": ("", *NOT_THERE),
    "--format": ("xml", ""),
    "--key": ("", ",", "a,a"),
    "--timestamp": ("",),
    "--order": ("", "a,"),
}
WRONG: dict[str, dict[str, tuple[str, ...]]] = {
    "generate": {
        **EVERYWHERE,
        **SPEC,
        "--topic": TOPIC,
        "--partitions": WHOLE,
        "--rate": NUMBER,
    },
    "stream": {
        **EVERYWHERE,
        **ON_SPARK,
        **dict.fromkeys(("--topic", "--results-topic", "--dead-letters"), TOPIC),
        "--table": ("", "FILE", "FILE/below"),
        "--checkpoint": ("", "FILE"),
        "--window": SPAN,
        "--watermark": ("soon", "-1 hour", "1 month", "", "1 second"),
        "--lateness": ("soon", "-1 hour", "", "2 hours"),
        "--alert-above": SHARE,
        "--batch-max": WHOLE,
        "--trigger": NUMBER,
        "--until-idle": NUMBER,
    },
    "load": {
        **EVERYWHERE,
        **ON_SPARK,
        "--topic": TOPIC,
        "--table": ("", "FILE"),
        "--batch-max": WHOLE,
        "--from": FROM,
        "--from-folder": ("", *NOT_THERE),
    },
    "table": {
        **EVERYWHERE,
        **ON_SPARK,
        "--topic": TOPIC,
        "--to": ("hudi", ""),
        **dict.fromkeys(("--table", "--dead-letters"), ("", "FILE", "FILE/below")),
        "--every": (*NUMBER, "0"),
        **dict.fromkeys(("--batch-max", "--file-size", "--keep-days"), WHOLE),
        "--merge-above": ("-1", "1.5", "many", ""),
        "--max-dead-letters": ("-1", "1.5", "100%", "-1%", "few", "%", ""),
        **dict.fromkeys(("--value-format", "--key-format"), ("xml", "")),
        **dict.fromkeys(("--schema", "--key-schema"), ("banana(", "/not/there", "")),
        "--new-fields": ("banana", "add"),
        "--registry": ("localhost:8081", ""),
        "--subject": ("s", ""),
        "--from": FROM,
        "--from-folder": ("", *NOT_THERE),
    },
    "replay": {
        **EVERYWHERE,
        **ON_SPARK,
        **FILES,
        "--topic": TOPIC,
        "--dead-letters": (*TOPIC, "t"),
        "--partitions": WHOLE,
        "--as-of-version": ("", "-1", "soon"),
        **dict.fromkeys(("--as-of-time", "--from-time", "--to-time"), ("", "soon", "25:00")),
    },
    "audit": {
        **EVERYWHERE,
        **ON_SPARK,
        "--as-of-version": ("", "-1", "soon"),
        "--as-of-time": ("", "soon", "25:00"),
        **SPEC,
        **FILES,
        **dict.fromkeys(("--topic", "--results-topic", "--dead-letters"), TOPIC),
        **dict.fromkeys(("--table", "--aggregates"), ("", *NOT_THERE)),
        "--table-dead-letters": ("", *NOT_THERE),
        "--table-format": ("", "avro"),
        "--window": SPAN,
        "--id-field": ("",),
        "--time-field": ("",),
        "--report": ("", "FOLDER", "FILE/page.html"),
        "--run": ("", "FILE", *NOT_THERE),
    },
}
# What a job cannot do without.
NEEDED = {
    "table": {"--topic": "t"},
    "replay": {"--topic": "t", "--files": "FOLDER", "--format": "json"},
}
FREE_TEXT = {"--note"}


@pytest.fixture(autouse=True)
def nobody_is_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def asked(*_: Any) -> Any:
        raise AssertionError("it was started, or a broker was asked")

    monkeypatch.setattr(session, "make_session", asked)
    monkeypatch.setattr(topics, "AdminClient", asked)
    monkeypatch.setattr(java, "check_java", lambda: None)
    monkeypatch.setattr(session, "check_java", lambda: None)
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    monkeypatch.delenv("SPARK_REMOTE", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "FILE").touch()
    (tmp_path / "FOLDER").mkdir()


def values(job: str) -> Iterator[argparse.Action]:
    """The options of a job that take a value."""
    subparsers = command.parser_for(job)._actions[-1]
    assert isinstance(subparsers.choices, dict)
    for action in subparsers.choices[job]._actions:
        if action.nargs != 0:
            yield action


@pytest.mark.parametrize("job", WRONG)
def test_no_option_is_left_out(job: str) -> None:
    assert {one.option_strings[-1] for one in values(job)} - FREE_TEXT == WRONG[job].keys()


def refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The line that says why; nothing but usage may stand before it."""
    before = set(Path().rglob("*"))
    try:
        code: Any = command.main(arguments)
    except SystemExit as stopped:  # argparse
        code = stopped.code
    said = capsys.readouterr().err.splitlines()
    assert code == 2, arguments
    assert len(said) == 1 or said[0].startswith("usage: ottla-pipeline "), said
    assert not any("Traceback" in line for line in said)
    assert set(Path().rglob("*")) == before, "something was written"
    return said[-1]


@pytest.mark.parametrize("job", WRONG)
def test_each_is_refused_with_a_line_that_names_it(
    job: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for option, wrong in WRONG[job].items():
        for value in wrong:
            given = {**NEEDED.get(job, {}), option: value}
            if job == "audit":
                given = {"--topic": "t", **given}
            if job == "audit" and option in FILES:
                given = {"--files": "FOLDER", "--format": "json", **given}
            line = refused([job, *(f"{name}={text}" for name, text in given.items())], capsys)
            assert option in line, line


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ("stream --evnts 5", "unrecognized arguments: --evnts 5"),
        ("generate --evnts 5", "unrecognized arguments: --evnts 5 (is it --events?)"),
        (
            "table --topic t --partition-by date",
            "unrecognized arguments: --partition-by date: a table is laid out by the records' "
            "timestamps, and load makes a folder for each hour",
        ),
        ("table --topic t --dry-run --for-ever", "not allowed with argument"),
        ("table --topic t --optical 5", "unrecognized arguments: --optical 5"),
        ("strem", "invalid choice: 'strem'"),
        ("stream --once --until-idle 5", "not allowed with argument"),
        ("load --master yarn --remote sc://h:1", "not allowed with argument"),
        ("stream --results-topic cdr", "are three topics"),
        ("stream --table x --checkpoint x", "--table and --checkpoint are two folders"),
        ("replay", "the following arguments are required: --topic"),
        ("replay --topic t", "name the files with --files"),
        ("replay --topic t --files FOLDER --key a", "are of --format parquet, json or csv"),
        ("replay --topic t --files FOLDER --format json --same-partitions", "is of a table"),
        ("replay --topic t --files FOLDER --format json --to-time 2026-03-02", "of a table"),
        (
            "replay --topic t --files FOLDER --as-of-version 1 --as-of-time 2026-03-02",
            "not both",
        ),
        ("replay --topic t --files FOLDER --as-of-version 1", "is of plain Parquet, which keeps"),
        ("audit --aggregates FOLDER --as-of-version 1", "are of a --table: name it"),
        ("audit --table FOLDER --topic t --as-of-version 1", "leave --topic out, which is read as"),
        ("audit --table FOLDER --as-of-time 2026-03-02", "is of plain Parquet, which keeps no"),
        ("audit --table s3a://b/t --as-of-version 1", "s3a://b/t: say which format it has"),
        (
            "audit --table FOLDER --table-format delta --as-of-version 1 --as-of-time 2026-03-02",
            "not both",
        ),
        ("audit", "name something with --topic, --table or --aggregates"),
        ("audit --aggregates FOLDER --files FOLDER", "are compared with a --topic or a --table"),
        ("generate --late 0.6 --malformed 0.6", "together not above 1"),
        ("audit --topic t --against-seed --late 0.6 --malformed 0.6", "together not above 1"),
        ("load --master yarn", "set HADOOP_CONF_DIR"),
        ("load --master spark://127.0.0.1:9", "no master of Spark answers (127.0.0.1:9: "),
        ("load --master k8s://https://127.0.0.1:9", "no Kubernetes answers"),
        ("load --conf spark.master=spark://127.0.0.1:9", "no master of Spark answers"),
        ("load --remote sc://127.0.0.1:9/;token=x", "no server of Spark Connect answers"),
    ],
)
def test_options_that_do_not_go_together(
    arguments: str,
    line: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(session, "find_spec", lambda _: True)
    assert line in refused(arguments.split(), capsys)


def test_files_of_csv_are_looked_at_before_spark(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "FOLDER" / "a.csv").write_text("id,n\n1,2\n")
    given = ["replay", "--topic", "t", "--files", "FOLDER", "--format", "csv", "--key", "nope"]
    line = "there is no column nope in these files: they have id, n"
    assert refused(given, capsys).endswith(line)
    (tmp_path / "FOLDER" / "b.csv").write_text("n,id\n2,1\n")
    assert "b.csv has other columns" in refused(given, capsys)


def test_the_environment_names_a_server_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "find_spec", lambda _: True)
    monkeypatch.setenv("SPARK_REMOTE", "sc://127.0.0.1:9")
    assert "no server of Spark Connect answers" in refused(["load"], capsys)
    monkeypatch.setattr(session, "find_spec", lambda _: None)
    assert "-m pip install 'pyspark[connect]==4.0.0'" in refused(["load"], capsys)
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    line = refused(["load", "--remote", "sc://h:1"], capsys)
    assert "under spark-submit give --master to spark-submit itself" in line


@pytest.mark.parametrize(
    ("read", "good", "wrong"),
    [
        (options.whole(1), ["1", "12"], ["0", "-1", "1.5", "x", ""]),
        (options.whole(0, 5), ["0", "5"], ["6", "-1"]),
        (options.number(0), ["0", "1e3", "0.5"], ["-0.1", "nan", "inf", "x", ""]),
        (options.number(0, 1), ["0", "1"], ["1.01"]),
        (options.topic, ["a.b_c-D9", "a" * 249], ["", ".", "..", "a b", "a,b", "ä", "a" * 250]),
        (options.servers, ["a:1", "a:1,b:2", "[::1]:9092"], ["a", "a:", "a:b", "a:99999", "a:1,,"]),
        (options.pair, ["a=b", "a="], ["a", "=b", ""]),
        (
            options.span,
            ["1 hour", "15 minutes", "1 day 12 hours", "2 WEEKS"],
            ["banana", "soon", "1", "hour", "0 seconds", "1 month", "-1 hour", "", "1 hour x"],
        ),
        (options.delay, ["0 seconds", "1 minute"], ["soon", "-1 second"]),
        (options.names, ["a", "a,b"], ["", ",", "a,", "a,a"]),
        (options.word, ["x"], ["", "  "]),
    ],
)
def test_what_is_taken_and_refused(
    read: Callable[[str], Any], good: list[str], wrong: list[str]
) -> None:
    for text in good:
        read(text)
    for text in wrong:
        with pytest.raises(ArgumentTypeError):
            read(text)


def test_spans_in_milliseconds() -> None:
    assert options.span_ms("1 hour 30 minutes") == 5_400_000
    assert options.span_ms("250 milliseconds") == 250


def test_paths_of_this_machine_and_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert options.is_local("a/b") and options.is_local("file:///a") and options.is_local("c:d")
    assert not options.is_local("s3a://b/a") and not options.is_local("hdfs:///a")
    for address in ("file:///a b/c", "file:/a b/c", "file://localhost/a b/c"):
        assert options.local(address) == Path("/a b/c")
    assert options.as_spark_has_it("a b") == f"file://{tmp_path}/a b"
    assert options.as_spark_has_it("s3a://b/a") == "s3a://b/a"


def test_a_table_is_a_folder_beside_others() -> None:
    assert options.table_place("s3a://bucket/t") == "s3a://bucket/t"
    assert options.table_place("file:/t") == "file:/t" and options.table_place("/t") == "/t"
    for path in ("s3a://bucket", "s3a://bucket/", "hdfs:///", "file:/", "/"):
        with pytest.raises(
            ArgumentTypeError, match="is no folder of a table: name one in it, .*/NAME"
        ):
            options.table_place(path)
    with pytest.raises(PipelineError, match="--files: 's3a://b' is no folder .*s3a://b/NAME"):
        options.check_table("--files", "s3a://b")


def test_a_path_is_no_pattern() -> None:
    assert options.exactly("/a [1]/{b,c}*?") == r"/a \[1\]/\{b,c\}\*\?"
    assert options.exactly("s3a://b/é %20#") == "s3a://b/é %20#"


def test_where_nothing_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.touch()
    options.check_folder("--t", str(tmp_path / "new" / "deep"))
    options.check_folder("--t", "s3a://bucket/x")
    options.check_file("--r", str(tmp_path / "new" / "page.html"))
    with pytest.raises(PipelineError, match="--t .*file/x: .*file is a file, a folder is wanted"):
        options.check_folder("--t", str(file / "x"))
    with pytest.raises(PipelineError, match="is a folder: name a file"):
        options.check_file("--r", str(tmp_path))
    monkeypatch.setattr(options.os, "access", lambda *_: False)
    with pytest.raises(PipelineError, match="cannot be written by this user"):
        options.check_folder("--t", str(tmp_path / "new"))


def test_files_that_must_be_there(tmp_path: Path) -> None:
    (tmp_path / "a.csv").touch()
    for path in ("", "/a.csv", "/*.csv", "/{a,b}.csv"):
        options.check_there("--files", f"{tmp_path}{path}")
    options.check_there("--files", "s3a://bucket/nobody-looks")
    for path in ("/b.csv", "/*.json"):
        with pytest.raises(PipelineError, match="--files .*there are no such files"):
            options.check_there("--files", f"{tmp_path}{path}")
