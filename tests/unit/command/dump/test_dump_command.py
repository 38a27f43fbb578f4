"""`ottla dump-log`: words and what is printed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command.cli import run_cli
from command.dump import dump_command
from command.dump.dump_command import readable
from protocol.records import Record
from tests.batches import build_batch


@pytest.fixture
def partition(tmp_path: Path) -> Path:
    folder = tmp_path / "orders-0"
    folder.mkdir()
    batch = build_batch([Record(-1, 1_764_144_000_123, b"k", b"\xff")])
    (folder / "00000000000000000000.log").write_bytes(bytes(batch))
    (folder / "partition.metadata").write_text("version: 0\n")
    return folder


def test_a_folder(partition: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["dump-log", str(partition), "--records"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"Dumping {partition}/00000000000000000000.log"
    assert "CreateTime: 2025-11-26T08:00:00.123Z" in lines[1] and lines[2].startswith("| offset: 0")
    assert lines[3:] == [f"Dumping {partition}/partition.metadata", "version: 0"]


def test_one_file_has_no_heading_and_times_may_be_numbers(
    partition: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_cli(["dump-log", str(partition / "00000000000000000000.log"), "--ms"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("baseOffset: 0") and "CreateTime: 1764144000123" in line


def test_json(partition: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["dump-log", str(partition), "--records", "--json"]) == 0
    batch, record, line = map(json.loads, capsys.readouterr().out.splitlines())
    assert batch["file"].endswith(".log") and batch["CreateTime"] == 1_764_144_000_123
    assert (record["key"], record["payload_base64"]) == ("k", "/w==")
    assert line["file"].endswith("partition.metadata") and line["text"] == "version: 0"


def test_follow(
    partition: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        """Somebody writes meanwhile; then Ctrl-C."""
        waits.append(seconds)
        if len(waits) > 1:
            raise KeyboardInterrupt
        with (partition / "00000000000000000000.log").open("ab") as log:
            log.write(bytes(build_batch([Record(-1, 5, None, b"more")], base_offset=1)))

    monkeypatch.setattr(dump_command.time, "sleep", sleep)
    assert run_cli(["dump-log", "--follow", str(partition), "--json"]) == 0
    found = [json.loads(line)["baseOffset"] for line in capsys.readouterr().out.splitlines()]
    assert found == [0, 1] and len(waits) == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--follow", "a", "b"], "--follow takes one segment"),
        (["--follow", "a"], "name a segment (.log)"),
        (["--decode", "x", "a"], "'x' is not one of"),
        (["nothing.log"], "nothing.log: No such file"),
        ([], "Missing argument 'PATH...'"),
    ],
)
def test_what_is_wrong_is_one_line(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_cli(["dump-log", *words]) == 2
    out, error = capsys.readouterr()
    assert out == "" and error.count("\n") == 1 and said in error


def test_times() -> None:
    assert readable(0) == "1970-01-01T00:00:00.000Z"
    assert readable(253_402_300_799_999) == "9999-12-31T23:59:59.999Z"
    for outside in (253_402_300_800_000, 2**62, -(2**63)):
        assert readable(outside) == str(outside)
