"""`controller.metadata.version`: numbers as `kafka-features` prints them."""

from __future__ import annotations

import pytest

from controller.metadata.version import (
    LATEST_LEVEL,
    LEVELS,
    MINIMUM_LEVEL,
    has_scram,
    level_name,
    record_version,
    release_level,
)
from protocol.messages import metadata_records as m


@pytest.mark.parametrize(
    ("name", "level"),
    [
        ("3.3-IV3", 7),
        ("3.4-IV0", 8),
        ("3.6-IV1", 13),
        ("3.7-IV2", 17),
        ("4.0-IV1", 23),
        ("4.0-IV3", 25),
        ("4.2-IV1", 29),
        ("4.3-IV0", 30),
        ("4.4-IV2", 33),
    ],
)
def test_levels(name: str, level: int) -> None:
    assert LEVELS[name] == level
    assert level_name(level) == name


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("4.2-IV1", 29),
        ("4.2", 29),
        ("4.2.1", 29),
        ("4.2.0-SNAPSHOT", 29),
        ("4.2.0-IV7", 29),
        ("4.2..1", 29),
        ("4.2-IV0", 28),
        ("4.2-IV0.1", 28),
        ("4.2", 29),
        ("4.0", 25),
        ("3.7", 19),
        ("3.3", 7),
        *((text, None) for text in ("4.2.", "4.2..", "4", "", " 4.2", "4.2 ", "4.2-iv0", "v4.2")),
        *((text, None) for text in ("4.2-SNAPSHOT", "4.2-IV2", "4..3", "3.2", "0.10.2", "30")),
    ],
)
def test_releases_as_kafka_storage_reads_them(text: str, level: int | None) -> None:
    assert release_level(text) == level


def test_scram_comes_with_3_5() -> None:
    assert not has_scram(LEVELS["3.5-IV1"])
    assert has_scram(LEVELS["3.5-IV2"])


def test_bounds() -> None:
    assert (min(LEVELS.values()), max(LEVELS.values())) == (MINIMUM_LEVEL, LATEST_LEVEL)
    assert level_name(99) == "99"


@pytest.mark.parametrize(("level", "version"), [(7, 0), (16, 0), (17, 1), (22, 1), (23, 2)])
def test_partition_records(level: int, version: int) -> None:
    assert record_version(m.PartitionRecord(), level) == version
    assert record_version(m.PartitionChangeRecord(), level) == version


@pytest.mark.parametrize(("level", "version"), [(7, 1), (8, 2), (17, 3), (29, 3), (30, 4)])
def test_registrations(level: int, version: int) -> None:
    assert record_version(m.RegisterBrokerRecord(), level) == version


def test_registration_changes_take_the_lowest_version_that_can_say_it() -> None:
    change = m.BrokerRegistrationChangeRecord
    assert record_version(change(1, 2, fenced=-1), 30) == 0
    assert record_version(change(1, 2, in_controlled_shutdown=1), 30) == 1
    assert record_version(change(1, 2, log_dirs=[bytes(16)]), 30) == 2
    assert record_version(change(1, 2, cordoned_log_dirs=[]), 30) == 3


def test_other_records() -> None:
    assert record_version(m.TopicRecord(), 30) == 0
