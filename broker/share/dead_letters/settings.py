"""The configs of a share group that concern its dead letters.

A value that this version cannot read counts as not set. Never decides whether a record gets a dead
letter (`broker.share.delivery`), or checks the topic's name (`destinations.py`). Follows KIP-1191
and Kafka's `GroupConfig`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from broker.config.keys import GROUP_CONFIG_DEF
from controller.metadata.image import MetadataImage, ResourceType
from ground.config_def import ConfigError, ConfigValue

TOPIC_NAME = "errors.deadletterqueue.topic.name"
COPY_RECORD = "errors.deadletterqueue.copy.record.enable"


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


def _value(configs: Mapping[str, str], name: str) -> ConfigValue:
    """Return the group's value of a config, or its default."""
    key = GROUP_CONFIG_DEF[name]
    try:
        return key.parse(configs.get(name, key.default))
    except ConfigError:
        return key.parse(key.default)
