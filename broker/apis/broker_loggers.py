"""The loggers of this process as the BROKER_LOGGER resource: names, levels, changes (KIP-412).

Owns nothing: the levels are those of Python's `logging`, under Kafka's names for them. A change
lasts until the process ends, as in Kafka. Never changes a handler or logs anything.

Follows Kafka's `LoggingController`; `root` is the root logger's name.
"""

from __future__ import annotations

import logging

ROOT = "root"
TRACE = 5

# Kafka's level → Python's, the finest first.
LEVELS = {
    "TRACE": TRACE,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
}


class BrokerLoggers:
    """All loggers that exist in this process."""

    def names(self) -> list[str]:
        """Return the loggers' names, sorted, the root logger first."""
        loggers = logging.root.manager.loggerDict
        named = [name for name, logger in loggers.items() if isinstance(logger, logging.Logger)]
        return [ROOT, *sorted(named)]

    def exists(self, name: str) -> bool:
        """Return whether a logger of this name exists."""
        logger = logging.root.manager.loggerDict.get(name)
        return name == ROOT or isinstance(logger, logging.Logger)

    def level(self, name: str) -> str:
        """Return Kafka's name of the effective level, which is the logger's own or inherited."""
        effective = _logger(name).getEffectiveLevel()
        level = "TRACE"
        for kafka_name, number in LEVELS.items():
            if number <= effective:
                level = kafka_name
        return level

    def set_level(self, name: str, level: str) -> None:
        """Set the logger's own level; `level` is a key of LEVELS."""
        _logger(name).setLevel(LEVELS[level])

    def clear_level(self, name: str) -> None:
        """Let the logger inherit its level again. Not for the root logger, which has no parent."""
        assert name != ROOT
        _logger(name).setLevel(logging.NOTSET)


def _logger(name: str) -> logging.Logger:
    """Return the logger of this name; `root` is the root logger. A new name creates a logger."""
    return logging.getLogger(None if name == ROOT else name)
