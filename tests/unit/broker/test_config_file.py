"""A file, overrides, or neither become a configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker.config_file import load_config
from broker.start_error import StartError

WHOLE = (
    "node.id=2\nprocess.roles=broker,controller\ncontroller.quorum.voters=2@localhost:9093\n"
    "controller.listener.names=CONTROLLER\nlisteners=PLAINTEXT://:9092,CONTROLLER://:9093\n"
)


def test_overrides_win_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "a.properties"
    file.write_text(WHOLE + "num.partitions=3\n")
    config = load_config(str(file), ["num.partitions = 9", "log.dirs=/a=b"])
    assert (config.node_id, config.num_partitions, config.log_dirs) == (2, 9, ("/a=b",))


def test_the_profile_applies_without_a_file_only(tmp_path: Path) -> None:
    assert load_config(None, []).profile_name == "single-node"
    file = tmp_path / "a.properties"
    file.write_text("num.partitions=3\n")
    with pytest.raises(StartError, match='a.properties: Missing required configuration "node.id"'):
        load_config(str(file), [])


def test_an_override_that_is_wrong_does_not_blame_the_file(tmp_path: Path) -> None:
    file = tmp_path / "a.properties"
    file.write_text(WHOLE)
    with pytest.raises(StartError, match="^Invalid value x for configuration num.partitions"):
        load_config(str(file), ["num.partitions=x"])


def test_files_in_utf_8_and_latin_1(tmp_path: Path) -> None:
    for encoding in ("utf-8", "latin-1"):
        file = tmp_path / encoding
        file.write_text(WHOLE + "log.dirs=/données\n", encoding=encoding)
        assert load_config(str(file), []).log_dirs == ("/données",)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="Is a directory"):
        load_config(str(tmp_path), [])
    file = tmp_path / "a.properties"
    file.write_text("a=\\u1")
    with pytest.raises(StartError, match="a.properties: Malformed"):
        load_config(str(file), [])
