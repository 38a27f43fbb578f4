"""Who may look into a node's data folders."""

from __future__ import annotations

import logging
import os
import stat
from pathlib import Path

import pytest

from broker.config.parse import single_node_config
from broker.config.values import BrokerConfig
from broker.node.preparation.storage_folders import format_storage
from broker.process.data_folders import private_folders, warn_of_readers
from ground.filesystem import LocalFilesystem


def config(folder: Path, **overrides: str) -> BrokerConfig:
    return single_node_config({"log.dirs": str(folder), **overrides})


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def secured(folder: Path) -> BrokerConfig:
    return config(
        folder,
        **{"listener.security.protocol.map": "PLAINTEXT:SSL,CONTROLLER:PLAINTEXT"},
    )


def test_a_new_folder_is_for_its_owner_alone(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    one = config(folder)
    format_storage(one, LocalFilesystem(private=private_folders(one)), os.urandom, 1)
    assert mode(folder) == 0o700
    assert mode(folder / "bootstrap.checkpoint") == 0o600
    again = LocalFilesystem(private=private_folders(one))
    again.make_dirs(f"{folder}/t-0")
    assert mode(folder / "t-0") == 0o700


def test_an_open_folder_stays_so_but_for_the_metadata(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir(0o755)
    one = config(folder)
    filesystem = LocalFilesystem(private=private_folders(one))
    format_storage(one, filesystem, os.urandom, 1)
    filesystem.make_dirs(f"{folder}/__cluster_metadata-0")
    filesystem.open(f"{folder}/__cluster_metadata-0/0.log", create=True).close()
    filesystem.replace_atomically(f"{folder}/__cluster_metadata-0/0-0.checkpoint", b"x")
    filesystem.make_with_room(f"{folder}/__cluster_metadata-0/1.log", 10)
    filesystem.make_dirs(f"{folder}/t-0")
    filesystem.open(f"{folder}/t-0/0.log", create=True).close()
    assert mode(folder) == 0o755
    assert mode(folder / "bootstrap.checkpoint") == 0o600
    assert mode(folder / "__cluster_metadata-0") == 0o700
    for name in ("0.log", "1.log", "0-0.checkpoint"):
        assert mode(folder / "__cluster_metadata-0" / name) == 0o600
    assert mode(folder / "t-0" / "0.log") & stat.S_IRGRP
    assert mode(folder / "meta.properties") & stat.S_IRGRP


def test_a_secured_node_warns_of_a_folder_that_others_can_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "data"
    with caplog.at_level(logging.WARNING):
        warn_of_readers(secured(folder))  # not there yet
        folder.mkdir(0o700)
        warn_of_readers(secured(folder))
        folder.chmod(0o750)
        warn_of_readers(config(folder))
        assert caplog.messages == []
        warn_of_readers(secured(folder))
    (line,) = caplog.messages
    assert f"chmod 700 {folder}" in line
    assert mode(folder) == 0o750
