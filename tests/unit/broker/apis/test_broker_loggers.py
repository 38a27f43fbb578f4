from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from broker.apis.broker_loggers import ROOT, BrokerLoggers

NAME = "ottla.test_broker_loggers"


@pytest.fixture
def loggers() -> Iterator[BrokerLoggers]:
    logging.getLogger(NAME)
    root_level = logging.root.level
    yield BrokerLoggers()
    logging.root.setLevel(root_level)
    logging.getLogger(NAME).setLevel(logging.NOTSET)


def test_names_begin_with_the_root(loggers: BrokerLoggers) -> None:
    names = loggers.names()
    assert names[0] == ROOT
    assert NAME in names
    assert names[1:] == sorted(names[1:])


def test_a_package_between_two_loggers_is_none(loggers: BrokerLoggers) -> None:
    logging.getLogger("ottla_gap.between.below")
    assert loggers.exists("ottla_gap.between.below")
    assert not loggers.exists("ottla_gap.between")
    assert not loggers.exists("nobody")
    assert loggers.exists(ROOT)


@pytest.mark.parametrize("level", ["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"])
def test_levels_go_by_kafkas_names(loggers: BrokerLoggers, level: str) -> None:
    loggers.set_level(NAME, level)
    assert loggers.level(NAME) == level


def test_a_cleared_level_is_inherited(loggers: BrokerLoggers) -> None:
    loggers.set_level(ROOT, "ERROR")
    loggers.set_level(NAME, "DEBUG")
    assert logging.getLogger(NAME).isEnabledFor(logging.DEBUG)
    loggers.clear_level(NAME)
    assert loggers.level(NAME) == "ERROR"
    assert not logging.getLogger(NAME).isEnabledFor(logging.WARNING)
    with pytest.raises(AssertionError):
        loggers.clear_level(ROOT)
