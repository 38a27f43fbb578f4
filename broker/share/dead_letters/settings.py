"""The configs of a share group that concern its dead letters.

Owns the names of these configs, and the condition under which a group has dead letters at all. A
value that this version cannot read counts as not set. Never checks the topic's name
(`destinations.py`). Follows KIP-1191 and Kafka's `GroupConfig`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from broker.config.keys import GROUP_CONFIG_DEF
from controller.metadata.image import MetadataImage, ResourceType
from ground.config_def import ConfigError, ConfigValue

TOPIC_NAME = "errors.deadletterqueue.topic.name"
COPY_RECORD = "errors.deadletterqueue.copy.record.enable"
SHARE_VERSION = "share.version"
_VERSION_WITH_DEAD_LETTERS = 2


class DeadLetterSettings(NamedTuple):
    """The configs of a group."""

    topic: str
    """The name of the group's dead-letter topic; empty if it has none."""
    copies_records: bool
    """True if a dead letter has the key and the value of the original record."""


def settings_of(image: MetadataImage, group_id: str) -> DeadLetterSettings:
    """Return the settings of a group; only its own configs count, because the broker has no
    defaults for them."""
    configs = image.config(ResourceType.GROUP, group_id)
    return DeadLetterSettings(str(_value(configs, TOPIC_NAME)), bool(_value(configs, COPY_RECORD)))


def has_dead_letters(image: MetadataImage, group_id: str) -> bool:
    """Return whether records that this group gives up go to a dead-letter topic: it names a topic,
    and `share.version` is 2."""
    version = image.features.get(SHARE_VERSION, 0)
    return version >= _VERSION_WITH_DEAD_LETTERS and bool(settings_of(image, group_id).topic)


def _value(configs: Mapping[str, str], name: str) -> ConfigValue:
    """Return the group's value of a config, or its default."""
    key = GROUP_CONFIG_DEF[name]
    try:
        return key.parse(configs.get(name, key.default))
    except ConfigError:
        return key.parse(key.default)
