"""`ottla format`: what it does with folders of each state, and what it says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from broker.config.start_error import StartError
from broker.config.values import BrokerConfig
from broker.process.formatting import format_folders
from controller.storage_format import read_bootstrap
from ground.filesystem import LocalFilesystem
from protocol.messages.metadata_records import FeatureLevelRecord, UserScramCredentialRecord
from tests.unit.broker.process.server_fixture import config

CLUSTER = "AAAAAAAAAAAAAAAAAAAAAQ"
OTHER_CLUSTER = "AAAAAAAAAAAAAAAAAAAAAg"
LEVELS = {"metadata.version": 29, "streams.version": 1, "group.version": 0}


def config_of(*folders: Path) -> BrokerConfig:
    return config(folders[0])._replace(log_dirs=tuple(map(str, folders)))


def first_levels(folder: Path) -> dict[str, int]:
    records = read_bootstrap(LocalFilesystem(), str(folder))
    return {
        record.name: record.feature_level
        for record in records
        if isinstance(record, FeatureLevelRecord)
    }


def test_format_says_what_it_did_and_does_it_once(tmp_path: Path) -> None:
    one = config(tmp_path / "data")
    (line,) = format_folders(one, "AAAAAAAAAAAAAAAAAAAAAQ")
    assert "formatted" in line
    assert "AAAAAAAAAAAAAAAAAAAAAQ" in line
    (line,) = format_folders(one, None)
    assert "formatted before" in line


def test_users_come_with_the_first_formatting_only(tmp_path: Path) -> None:
    one = config(tmp_path / "data")

    def alice(random_bytes: Callable[[int], bytes]) -> UserScramCredentialRecord:
        return UserScramCredentialRecord("alice", 1, random_bytes(16), b"", b"", 4096)

    def wrong(_random_bytes: object) -> UserScramCredentialRecord:
        raise StartError("--add-scram: wrong")

    with pytest.raises(StartError, match="--add-scram: wrong"):
        format_folders(one, None, [wrong])
    assert not (tmp_path / "data").exists()
    format_folders(one, None, [alice])
    *_, first = read_bootstrap(LocalFilesystem(), str(tmp_path / "data"))
    assert (first.name, len(first.salt)) == ("alice", 16)
    with pytest.raises(StartError, match="formatted before, so --add-scram comes too late"):
        format_folders(one, None, [alice])


def test_a_folder_that_cannot_be_formatted_is_named_with_its_key() -> None:
    with pytest.raises(StartError, match=r"/proc/nowhere: .* \(log.dirs\); .*--data DIR"):
        format_folders(config(Path("/proc/nowhere")), None)


def test_the_metadata_begins_with_the_levels_that_are_chosen(tmp_path: Path) -> None:
    one = config(tmp_path / "data")
    formatted, levels, not_served = format_folders(one, CLUSTER, features=LEVELS)
    assert "formatted" in formatted
    assert levels == (
        "ottla: the metadata begins with metadata.version=29 (4.2-IV1), group.version=0, "
        "streams.version=1"
    )
    assert "streams.version=1 stays in the metadata, but Ottla does not serve streams groups" in (
        not_served
    )
    assert first_levels(tmp_path / "data") == {"metadata.version": 29, "streams.version": 1}
    with pytest.raises(StartError, match="--feature and --release-version come too late"):
        format_folders(one, None, features=LEVELS)
    (line,) = format_folders(one, None, features=LEVELS, ignore_formatted=True)
    assert "formatted before, left as it is" in line


def test_a_new_folder_is_formatted_beside_those_that_are(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    format_folders(config_of(old), CLUSTER)
    before = {path.name: path.read_bytes() for path in old.iterdir()}
    both = config_of(old, new)
    with pytest.raises(StartError, match="old is already formatted. Use --ignore-formatted to"):
        format_folders(both, CLUSTER)
    with pytest.raises(StartError, match=f"of cluster {CLUSTER}, not to .* {OTHER_CLUSTER}"):
        format_folders(both, OTHER_CLUSTER, ignore_formatted=True)
    assert not new.exists()
    left, formatted = format_folders(both, None, features=LEVELS, ignore_formatted=True)
    assert left == f"ottla: {old}: formatted before, left as it is"
    assert formatted == f"ottla: formatted {new} for node 1 of cluster {CLUSTER}"
    assert {path.name: path.read_bytes() for path in old.iterdir()} == before
    assert [path.name for path in new.iterdir()] == ["meta.properties"], "no second metadata"
    (line,) = format_folders(both, CLUSTER)
    assert "left as it is" in line


def test_ignoring_what_is_formatted_takes_no_folder_of_another_cluster(tmp_path: Path) -> None:
    format_folders(config(tmp_path), CLUSTER)
    with pytest.raises(StartError, match=f"belongs to cluster {CLUSTER}, not to {OTHER_CLUSTER}"):
        format_folders(config(tmp_path), OTHER_CLUSTER, ignore_formatted=True)
