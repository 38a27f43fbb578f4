"""Configs as rows of a table: the value, its source, the values it overrides, its documentation.

Pure. Hides secrets, whatever a broker sends. The documentation is the cluster's own sentence, or
Ottla's if the cluster sent none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import unescape

from broker.config.documentation import config_documentation
from broker.config.keys import is_sensitive, key_of
from client.configs.settings import BROKER, SOURCES
from protocol.messages.describe_configs import DescribeConfigsResourceResult

TYPES = {
    0: "unknown",
    1: "boolean",
    2: "string",
    3: "int",
    4: "short",
    5: "long",
    6: "double",
    7: "list",
    8: "class",
    9: "password",
}
_PASSWORD = 9
_DEFAULT = 5
VALUE_CHARACTERS_MAX = 4096
_TAG = re.compile(r"<(/?[a-zA-Z]+)(?:\s[^<>]*)?/?>")


@dataclass(frozen=True, slots=True)
class ConfigSynonym:
    """A value of a config that another value overrides."""

    key: str
    value: str | None
    source: str


@dataclass(frozen=True, slots=True)
class ConfigRow:
    """A config. `by_ottla`: the documentation is Ottla's."""

    key: str
    value: str | None
    secret: bool
    source: str
    is_default: bool
    read_only: bool
    type: str
    documentation: str | None
    by_ottla: bool
    synonyms: list[ConfigSynonym]


def rows(kind: int, configs: Sequence[DescribeConfigsResourceResult]) -> list[ConfigRow]:
    """Return a row for each config, in the given order."""
    return [_row(kind, config) for config in configs]


def _row(kind: int, config: DescribeConfigsResourceResult) -> ConfigRow:
    secret = config.is_sensitive or config.config_type == _PASSWORD or _is_secret(kind, config.name)
    meaning = plain_text(config.documentation or "") or config_documentation(kind, config.name)
    return ConfigRow(
        key=config.name,
        value=None if secret else _cut(config.value),
        secret=secret,
        source=SOURCES.get(config.config_source, str(config.config_source)),
        is_default=config.config_source == _DEFAULT,
        read_only=config.read_only,
        type=TYPES.get(config.config_type, "unknown"),
        documentation=meaning,
        by_ottla=bool(meaning) and not config.documentation,
        synonyms=[
            ConfigSynonym(
                key=each.name,
                value=None if secret or _is_secret(kind, each.name) else _cut(each.value),
                source=SOURCES.get(each.source, str(each.source)),
            )
            for each in config.synonyms
        ],
    )


def plain_text(documentation: str) -> str:
    """Return documentation without its HTML, which Apache Kafka's has."""
    words = _TAG.sub(_instead, documentation)
    return " ".join(unescape(words).split())


def _instead(tag: re.Match[str]) -> str:
    return {"li": " • ", "p": " ", "br": " ", "ul": " "}.get(tag[1].lower(), "")


def _is_secret(kind: int, name: str) -> bool:
    """Return whether a broker's config is secret by Ottla's list, whatever the broker says."""
    return kind == BROKER and key_of(name) is not None and is_sensitive(name)


def _cut(value: str | None) -> str | None:
    if value is None or len(value) <= VALUE_CHARACTERS_MAX:
        return value
    return value[:VALUE_CHARACTERS_MAX] + " …"
