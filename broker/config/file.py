"""A node's configuration from what the command line names: a file, overrides, or neither.

The shell around `broker.config.parse`: reads the one file and turns every failure into one line.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from broker.config.parse import parse_config, single_node_config
from broker.config.properties import PropertiesError, parse_properties, repeated_keys
from broker.config.start_error import StartError
from broker.config.values import BrokerConfig
from storage.config_def import ConfigError


def load_config(path: str | None, overrides: Iterable[str]) -> BrokerConfig:
    """The configuration of `path` with `overrides` (`key=value`) above it.

    Without a path the single-node profile applies. Raises StartError with one line that names the
    file and the key.
    """
    given = [_parsed_override(text) for text in overrides]
    above = dict(given)
    warnings = _given_twice([key for key, _ in given])
    try:
        if path is None:
            return single_node_config(above, warnings)
        texts, repeated = _read(path)
        return parse_config({**texts, **above}, warnings=[*repeated, *warnings])
    except ConfigError as error:
        where = f"{path}: " if path is not None and error.name not in above else ""
        raise StartError(f"{where}{error}") from error


def _parsed_override(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise StartError(f"--override {text}: write it as key=value")
    return key.strip(), value.strip()


def _given_twice(keys: list[str]) -> list[str]:
    return [
        f"--override {key} is given {keys.count(key)} times: the last one counts"
        for key in dict.fromkeys(keys)
        if keys.count(key) > 1
    ]


def _read(path: str) -> tuple[dict[str, str], list[str]]:
    """The keys and values of a file, and a line for each key that is there more than once."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise StartError(f"{path}: {error.strerror or error}") from error
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("latin-1")  # what Java writes
    try:
        return parse_properties(text), [
            f"{path}: {key} stands in the lines {', '.join(map(str, lines[:-1]))} and {lines[-1]}: "
            "the last one counts"
            for key, lines in repeated_keys(text).items()
        ]
    except PropertiesError as error:
        raise StartError(f"{path}: {error}") from error
