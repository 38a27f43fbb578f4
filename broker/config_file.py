"""A node's configuration from what the command line names: a file, overrides, or neither.

The shell around `broker.config`: reads the one file and turns every failure into one line.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from broker.config import BrokerConfig
from broker.properties import PropertiesError, parse_properties
from broker.start_error import StartError
from storage.config_def import ConfigError


def load_config(path: str | None, overrides: Iterable[str]) -> BrokerConfig:
    """The configuration of `path` with `overrides` (`key=value`) above it.

    Without a path the single-node profile applies. Raises StartError with one line that names the
    file and the key.
    """
    above = dict(_parsed_override(text) for text in overrides)
    try:
        if path is None:
            return BrokerConfig.single_node(above)
        return BrokerConfig({**_read(path), **above})
    except ConfigError as error:
        where = f"{path}: " if path is not None and error.name not in above else ""
        raise StartError(f"{where}{error}") from error


def _parsed_override(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise StartError(f"--override {text}: write it as key=value")
    return key.strip(), value.strip()


def _read(path: str) -> dict[str, str]:
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise StartError(f"{path}: {error.strerror or error}") from error
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("latin-1")  # what Java writes
    try:
        return parse_properties(text)
    except PropertiesError as error:
        raise StartError(f"{path}: {error}") from error
