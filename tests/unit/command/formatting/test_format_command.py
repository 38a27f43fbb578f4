"""`ottla format`: the options reach the formatting, and faults are one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from command.cli import run_cli
from controller.decisions.feature_control import INITIAL_FEATURES
from controller.storage_format import read_bootstrap
from ground.filesystem import LocalFilesystem
from protocol.messages.metadata_records import FeatureLevelRecord

CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg"
USER = "SCRAM-SHA-256=[name=alice,password=secret]"


def run(folder: Path, *options: str) -> int:
    return run_cli(["format", *options, "--override", f"log.dirs={folder}"])


def first_levels(folder: Path) -> dict[str, int]:
    records = read_bootstrap(LocalFilesystem(), str(folder))
    return {
        record.name: record.feature_level
        for record in records
        if isinstance(record, FeatureLevelRecord)
    }


@pytest.mark.parametrize(
    "options",
    [
        ("-r", "4.2", "-f", "group.version=0", "-f", "transaction.version=1"),
        (
            *("--release-version", "4.2", "--feature", "group.version=0"),
            "--feature=transaction.version=1",
        ),
        ("-f", "metadata.version=29", "-f", "group.version=0", "-f", "transaction.version=1"),
    ],
)
def test_levels_are_chosen_by_options(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...]
) -> None:
    assert run(tmp_path / "data", "--cluster-id", CLUSTER, *options) == 0
    assert first_levels(tmp_path / "data") == {
        "metadata.version": 29,
        "eligible.leader.replicas.version": 1,
        "share.version": 1,
        "transaction.version": 1,
    }
    formatted, levels = capsys.readouterr().out.splitlines()
    assert formatted.endswith(f"for node 1 of cluster {CLUSTER}")
    assert levels == (
        "ottla: the metadata begins with metadata.version=29 (4.2-IV1), "
        "eligible.leader.replicas.version=1, group.version=0, share.version=1, "
        "transaction.version=1"
    )


def test_without_options_nothing_is_said_of_levels(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path / "data") == 0
    assert first_levels(tmp_path / "data") == INITIAL_FEATURES
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_what_is_formatted_is_ignored_on_request(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, both = tmp_path / "a", f"{tmp_path / 'a'},{tmp_path / 'b'}"
    assert run(first) == 0
    assert run(Path(both)) == 2
    assert "Use --ignore-formatted to ignore this directory" in capsys.readouterr().err
    for option in ("-g", "--ignore-formatted"):
        assert run(Path(both), option) == 0
        assert "left as it is" in capsys.readouterr().out
    assert (tmp_path / "b" / "meta.properties").exists()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("-r", "9.9"), "--release-version: Unknown metadata.version '9.9'. Supported"),
        (("-f", "group.version"), "--feature: Can't parse feature=level string group.version:"),
        (
            ("-f", "kraft.version=1"),
            "--feature: Cannot set kraft.version to 1 unless controller.quorum.voters is empty",
        ),
        (
            ("-r", "3.4", "--add-scram", USER),
            "--add-scram: SCRAM is only supported in metadata.version 3.5-IV2 or later. Choose "
            "--release-version 3.5 or later",
        ),
        (("-f", "x=1", "--add-scram", "nonsense"), "--feature: Unsupported feature: x."),
    ],
)
def test_a_fault_is_one_line_and_formats_nothing(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    options: tuple[str, ...],
    says: str,
) -> None:
    assert run(tmp_path / "data", *options) == 2
    assert not (tmp_path / "data").exists()
    line = capsys.readouterr().err.splitlines()[-1]
    assert line.startswith(f"ottla: {says}")
    assert "secret" not in line


def test_a_dynamic_quorum_has_the_version_of_one(tmp_path: Path) -> None:
    file = tmp_path / "node.properties"
    file.write_text(
        "node.id=1\nprocess.roles=broker,controller\ncontroller.listener.names=C\n"
        "listeners=PLAINTEXT://localhost:9092,C://localhost:9093\n"
        f"controller.quorum.bootstrap.servers=localhost:9093\nlog.dirs={tmp_path / 'data'}\n"
    )
    command = ["format", "--config", str(file), "--feature"]
    assert run_cli([*command, "kraft.version=0"]) == 2
    assert run_cli([*command, "kraft.version=1"]) == 0
    assert first_levels(tmp_path / "data") == INITIAL_FEATURES
