"""The loggers of this process as the BROKER_LOGGER resource: names, levels, changes (KIP-412).

Owns nothing: the levels are those of Python's `logging`, under Kafka's names for them. A change
lasts until the process ends, as in Kafka. Adjusts no handler and writes no line.

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
        """Sorted, the root logger first."""
        known = logging.root.manager.loggerDict
        named = [name for name, one in known.items() if isinstance(one, logging.Logger)]
        return [ROOT, *sorted(named)]

    def exists(self, name: str) -> bool:
        """Whether some module logs under `name`."""
        one = logging.root.manager.loggerDict.get(name)
        return name == ROOT or isinstance(one, logging.Logger)

    def level(self, name: str) -> str:
        """The level in force, the logger's own or inherited, by Kafka's name."""
        effective = _logger(name).getEffectiveLevel()
        found = "TRACE"
        for kafka_name, number in LEVELS.items():
            if number <= effective:
                found = kafka_name
        return found

    def set_level(self, name: str, level: str) -> None:
        """Give the logger a level of its own; `level` is one of LEVELS."""
        _logger(name).setLevel(LEVELS[level])

    def clear_level(self, name: str) -> None:
        """Let the logger inherit its level again. Not for the root, which has nobody above it."""
        assert name != ROOT
        _logger(name).setLevel(logging.NOTSET)


def _logger(name: str) -> logging.Logger:
    return logging.getLogger(None if name == ROOT else name)
