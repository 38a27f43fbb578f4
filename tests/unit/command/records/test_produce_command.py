"""`ottla produce`: where records come from, and what is wrong with words."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from client.records.encoding import Producer
from command.records import produce_command
from command.records.produce_command import _chunks
from protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from protocol.records import Record, iterate_records
from tests.unit.client.scripted import ScriptedCluster, topic_of
from tests.unit.command.run_ottla import Ottla, ottla_on


class Written:
    """Stands for a Writer: keeps the records."""

    partitions = 2

    def __init__(self, *_: object) -> None:
        self.records: list[Record] = []
        self.flushes = 0

    @property
    def acknowledged(self) -> int:
        return len(self.records)

    def send(self, partition: int, records: int, build: Callable[[Producer], bytearray]) -> None:
        self.records += iterate_records(bytes(build(Producer(1, 0, 0))))

    def flush(self) -> None:
        self.flushes += 1


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Written:
    one = Written()
    monkeypatch.setattr(produce_command, "Writer", lambda *_: one)
    return one


def configs(request: DescribeConfigsRequest) -> DescribeConfigsResponse:
    """The limit of a topic, and that a broker creates topics."""
    (asked,) = request.resources
    values = {"max.message.bytes": "2000", "auto.create.topics.enable": "true"}
    found = [DescribeConfigsResourceResult(key, values[key]) for key in asked.configuration_keys]
    result = DescribeConfigsResult(0, None, asked.resource_type, asked.resource_name, found)
    return DescribeConfigsResponse(results=[result])


@pytest.fixture
def ottla(
    written: Written, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Ottla:
    cluster = ScriptedCluster([topic_of("t")], {"DescribeConfigsRequest": configs})
    cluster.creations.append(0)
    return ottla_on(cluster, [produce_command], monkeypatch, capfd)


def test_files_line_by_line_and_whole(ottla: Ottla, written: Written, tmp_path: Path) -> None:
    first, second = tmp_path / "1", tmp_path / "2"
    first.write_bytes(b"a\nb")
    second.write_bytes(b"c\n")
    assert ottla("produce", "t", str(first), str(second)) == (0, "", "")
    assert [one.value for one in written.records] == [b"a", b"b", b"c"]
    assert ottla("produce", "t", str(first), "--whole", "-k", "k") == (0, "", "")
    assert (written.records[-1].key, written.records[-1].value) == (b"k", b"a\nb")
    assert ottla("produce", "t", "--tombstone", "-k", "k") == (0, "", "")
    assert written.records[-1].value is None


def test_a_topic_that_a_broker_creates_is_reported(
    ottla: Ottla, written: Written, tmp_path: Path
) -> None:
    file = tmp_path / "lines"
    file.write_bytes(b"hello\n")
    created = "ottla: created topic greetings (2 partitions)\n"
    assert ottla("produce", "greetings", str(file), "-p", "0") == (0, "", created)
    assert ottla("produce", "greetings", str(file), "-p", "0") == (0, "", "")


def test_the_topics_limit_is_asked_for(ottla: Ottla, tmp_path: Path) -> None:
    file = tmp_path / "large"
    file.write_bytes(b"x" * 1_000_000)
    code, _, error = ottla("produce", "t", str(file))
    assert (
        code == 2
        and "line 1: a record of more than 524288 bytes is larger" in error
        and "2000" in error
    )


def test_a_whole_file_is_read_as_far_as_a_record_can_reach(ottla: Ottla, tmp_path: Path) -> None:
    file = tmp_path / "large"
    with file.open("wb") as opened:
        opened.truncate(1 << 42)
    code, _, error = ottla("produce", "t", "--whole", str(file))
    assert code == 2 and "line 1: a record of more than 524288 bytes is larger" in error


@pytest.mark.parametrize(
    ("words", "lines", "said"),
    [
        (["-K", ":"], b"k:a\nj:b\nno separator\nk:c\n", "line 3: there is no ':' behind a key"),
        (["-K", r"\t"], b"k\ta\nj\tb\nnone\n", r"line 3: there is no '\t' behind a key"),
        (["--json"], b'{"value": "a"}\n{"value": "b"}\n{broken\n', "line 3: this is not JSON"),
        ([], b"a\nb\n" + b"x" * 9_000_000, "line 3: a record of more than"),
    ],
)
def test_what_stands_before_a_bad_line_is_written_and_counted(
    ottla: Ottla,
    written: Written,
    tmp_path: Path,
    words: list[str],
    lines: bytes,
    said: str,
) -> None:
    file = tmp_path / "lines"
    file.write_bytes(lines)
    code, out, error = ottla("produce", "t", str(file), *words)
    assert (code, out, error.count("\n")) == (2, "", 1)
    assert said in error and "(2 records were written)" in error
    assert sorted(one.value or b"" for one in written.records) == [b"a", b"b"]


@pytest.mark.parametrize("second", ["nowhere", "a folder"])
def test_a_second_file_that_cannot_be_read_is_named_and_the_first_is_written(
    ottla: Ottla, written: Written, tmp_path: Path, second: str
) -> None:
    first = tmp_path / "first"
    first.write_bytes(b"a\n")
    name = str(tmp_path / "nowhere") if second == "nowhere" else str(tmp_path)
    code, out, error = ottla("produce", "t", str(first), name)
    assert (code, out, error.count("\n")) == (2, "", 1)
    assert f"{name}: " in error and "(1 records were written)" in error
    assert [one.value for one in written.records] == [b"a"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere"], "nowhere: No such file or directory"),
        (["--whole"], "--whole needs a FILE"),
        (["--tombstone"], "--tombstone needs a --key"),
        (["-K", ":", "-k", "x"], "--key-separator finds a key in each line"),
        (["-H", "x"], "NAME=VALUE"),
        (["-K", r"a\q"], r"--key-separator a\q: write a backslash as \\"),
        (["-p", "9"], "topic t has partitions 0 to 1, and no 9"),
        (["--compression", "zip"], "'zip' is not one of"),
    ],
)
def test_what_is_wrong_is_one_line(ottla: Ottla, words: list[str], said: str) -> None:
    code, out, error = ottla("produce", "t", *words)
    assert (code, out, error.count("\n")) == (2, "", 1) and said in error


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reading, writing = os.pipe()
    yield reading, writing
    os.close(reading)


def test_what_comes_slowly_goes_as_it_comes(
    pipe: tuple[int, int], written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, writing = pipe
    chunks = _chunks(reading, written)  # type: ignore[arg-type]
    os.write(writing, b"a\n")
    assert next(chunks) == b"a\n"

    def flush() -> None:
        """Let more come only now: before it waits, all that it has is written."""
        os.write(writing, b"b\n")
        os.close(writing)

    monkeypatch.setattr(written, "flush", flush)
    assert list(chunks) == [b"b\n"]


def test_much_at_once_is_read_in_large_pieces(tmp_path: Path, written: Written) -> None:
    file = tmp_path / "f"
    file.write_bytes(b"x" * 600_000)
    descriptor = os.open(file, os.O_RDONLY)
    sizes = [len(one) for one in _chunks(descriptor, written)]  # type: ignore[arg-type]
    os.close(descriptor)
    assert sum(sizes) == 600_000 and max(sizes) >= 256 * 1024 and written.flushes == 0


def test_a_terminal_is_told_how_far_it_is(
    ottla: Ottla, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    file = tmp_path / "f"
    file.write_bytes(b"a\nb\n")
    shown: Any = ottla("produce", "t", str(file))[2]
    assert "100%" in shown and "2 records" in shown
