"""A node's configuration from the command line: a file, overrides, or neither.

This module does the input for `broker.config.parse`: it reads the file and the places that config
providers name, and turns every failure into one line. It does the same for the client configuration
of a command.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from broker.config.listener_security import ClientSecurity
from broker.config.parse import accepted_keys, parse_config, single_node_config
from broker.config.properties import (
    PropertiesError,
    lines_of_keys,
    parse_properties,
    repeated_keys,
)
from broker.config.refusals.advice import advice
from broker.config.refusals.faults import all_faults
from broker.config.refusals.zookeeper import is_zookeeper_file, single_node_lines
from broker.config.start_error import StartError
from broker.config.support import is_of_zookeeper
from broker.config.values import BrokerConfig
from ground.config_def import ConfigError


def load_config(
    path: str | None,
    overrides: Iterable[str],
    below: Mapping[str, str] | None = None,
    jaas_file: str | None = None,
) -> BrokerConfig:
    """Return the configuration of a file, with overrides.

    `overrides` (`key=value`) take precedence over the file at `path`, and `below` has defaults for
    keys in neither. Without a path the single-node profile applies. `jaas_file`, or else the
    environment variable KAFKA_OPTS, may name a JAAS file, which applies to listeners without a JAAS
    text of their own.
    Raises StartError with a line for each fault, which names the file and the key.
    """
    override_pairs = [_parsed_override(text) for text in overrides]
    override_texts = dict(override_pairs)
    texts: dict[str, str] = {}
    lines: dict[str, list[int]] = {}
    warnings = _repeated_overrides([key for key, _ in override_pairs])
    try:
        if path is None:
            texts = _with_provided_values({**(below or {}), **override_texts})
            texts.update(_logins_of_jaas_file(texts, jaas_file))
            return single_node_config(texts, warnings)
        text = _read_text(path, " (ottla config example prints such a file)")
        texts, repeated = _parsed(path, text)
        lines = lines_of_keys(text)
        warnings = [*repeated, *warnings]
        texts = _with_provided_values({**(below or {}), **texts, **override_texts})
        texts.update(_logins_of_jaas_file(texts, jaas_file))
        return parse_config(texts, warnings=warnings)
    except ConfigError as error:
        if path is not None and is_zookeeper_file(texts):
            raise StartError(*_zookeeper_faults(path, texts, lines), *warnings) from error
        faults = all_faults(texts, error, accepted_keys(texts))
        sentences = []
        for fault in faults:
            place = (
                ""
                if path is None or fault.name in override_texts
                else _place(path, fault.name, lines)
            )
            option = "--override " if path is None else ""
            sentences.append(f"{place}{fault}{advice(fault, texts, option)}")
        # Warnings come last: a repeated key may explain why another value counts.
        raise StartError(*sentences, *warnings) from error


def _zookeeper_faults(
    path: str, texts: Mapping[str, str], lines: Mapping[str, list[int]]
) -> list[str]:
    """Return the lines that say how the file becomes one of a single node, without ZooKeeper, and
    after them the faults that it would still have."""
    added = single_node_lines(texts)
    removed = [
        f"{key} (line {', '.join(map(str, lines[key]))})"
        for key in texts
        if key in lines and (key in added or is_of_zookeeper(key))
    ]
    sentences = [
        f"{path}: this file is for Kafka with ZooKeeper, which Apache Kafka 4.0 removed. Remove "
        f"{', '.join(removed)}, and add these lines of a single node:",
        *(f"{key}={value}" for key, value in added.items()),
    ]
    rest = {key: text for key, text in {**texts, **added}.items() if not is_of_zookeeper(key)}
    try:
        parse_config(rest)
    except ConfigError as error:
        for fault in all_faults(rest, error, accepted_keys(rest)):
            sentences.append(f"{_place(path, fault.name, lines)}{fault}{advice(fault, rest)}")
    return sentences


def _place(path: str, key: str, lines: Mapping[str, list[int]]) -> str:
    """Return the file, and the line of the key that counts if the file has the key."""
    return f"{path}: line {lines[key][-1]}: " if key in lines else f"{path}: "


def load_client_security(path: str) -> tuple[ClientSecurity, list[str]]:
    """Return the security of a command from a file of client keys, and lines with warnings.

    Raises StartError with one line that names the file and the key.
    """
    from broker.config.security.client_properties import client_security, client_warnings

    texts, repeated = _parsed(path, _read_text(path))
    try:
        texts = _with_provided_values(texts)
        return client_security(texts), [*repeated, *client_warnings(texts)]
    except ConfigError as error:
        raise StartError(f"{path}: {error}") from error


class Machine:
    """The files and the environment of this machine, for config providers."""

    def read(self, path: str) -> str:
        """Return a file's text, decoded as UTF-8 or, if that fails, as Latin-1. Raises OSError."""
        data = Path(path).read_bytes()
        try:
            return data.decode("utf-8-sig")  # an editor's byte order mark is not part of the text
        except UnicodeDecodeError:
            return data.decode("latin-1")  # what Java writes

    def exists(self, path: str) -> bool:
        return Path(path).exists()

    def variable(self, name: str) -> str | None:
        return os.environ.get(name)


def _with_provided_values(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the values with each `${...}` of a config provider resolved.

    Raises ConfigError. Reads files and environment variables, but only if `config.providers` is
    set.
    """
    if "config.providers" not in texts:
        return dict(texts)
    from broker.config.security.config_providers import with_variables_resolved

    return with_variables_resolved(texts, Machine())


def _logins_of_jaas_file(texts: Mapping[str, str], path: str | None) -> dict[str, str]:
    """Return the keys that a JAAS file adds to `texts`, none if no listener has SASL.

    Without `path`, the file is that of the environment variable KAFKA_OPTS, if there is any.

    Raises ConfigError if the protocols of listeners are wrong, and StartError if the file is
    unreadable or malformed.
    """
    java_options = os.environ.get("KAFKA_OPTS", "")
    if path is None and "java.security.auth.login.config" not in java_options:
        return {}
    from broker.config.security.jaas import JaasError, parse_jaas_sections
    from broker.config.security.jaas_file import (
        JAAS_FILE_BYTES_MAX,
        jaas_path,
        keys_of_logins,
        sasl_listeners,
    )

    hint = "" if path is not None else " (KAFKA_OPTS names it as the JAAS file)"
    path = path or jaas_path(java_options)
    if path is None or not sasl_listeners(texts):
        return {}
    text = _read_text(path, hint)
    if len(text) > JAAS_FILE_BYTES_MAX:
        raise StartError(f"{path}: a JAAS file has at most {JAAS_FILE_BYTES_MAX >> 10} KiB")
    try:
        return keys_of_logins(texts, parse_jaas_sections(text))
    except JaasError as error:
        raise StartError(f"{path}: {error}") from error


def _parsed_override(text: str) -> tuple[str, str]:
    """Return the key and the value of `key=value`. Raises StartError for other text."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise StartError(f"--override {text}: write it as key=value")
    return key.strip(), value.strip()


def _repeated_overrides(keys: list[str]) -> list[str]:
    """Return a warning for each key that was given more than once."""
    return [
        f"--override {key} is given {keys.count(key)} times: the last one counts"
        for key in dict.fromkeys(keys)
        if keys.count(key) > 1
    ]


def _read_text(path: str, hint: str = "") -> str:
    """Return a file's text. Raises StartError, which ends with `hint` if there is no such file."""
    try:
        text = Machine().read(path)
    except OSError as error:
        more = hint if isinstance(error, FileNotFoundError) else ""
        raise StartError(f"{path}: {error.strerror or error}{more}") from error
    if "\0" in text:
        raise StartError(f"{path}: this is no text file")
    return text


def _parsed(path: str, text: str) -> tuple[dict[str, str], list[str]]:
    """Return the keys and values of a file, and a warning for each repeated key.

    Raises StartError if the file is malformed.
    """
    try:
        return parse_properties(text), [
            f"{path}: {key} stands in the lines {', '.join(map(str, lines[:-1]))} and {lines[-1]}: "
            "the last one counts"
            for key, lines in repeated_keys(text).items()
        ]
    except PropertiesError as error:
        raise StartError(f"{path}: {error}") from error
