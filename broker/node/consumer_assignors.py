"""The assignors of consumer groups that a node's configuration names.

Owns how built-in assignors and users' own classes are combined.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from broker.config.plugins import CONSUMER_ASSIGNORS, PythonClass, consumer_assignors
from broker.config.values import BrokerConfig
from broker.groups.consumer.assignors.assignors import (
    BUILT_IN,
    Assignors,
    AsyncAssignor,
    SlicedOnTheLoop,
)
from controller.metadata.image import MetadataImage
from ground.config_def import ConfigError
from ground.sliced_work import SlicedWork

if TYPE_CHECKING:
    from broker.plugins.node_plugins import NodePlugins


def assignors_of_node(
    config: BrokerConfig,
    plugins: NodePlugins | None,
    work: SlicedWork,
    image: Callable[[], MetadataImage],
) -> Assignors:
    """Return the assignors of `group.consumer.assignors`.

    Raises ConfigError if a class cannot be loaded, or has the same name as another assignor.
    """
    assignors: dict[str, AsyncAssignor] = {}
    for setting in consumer_assignors(config.group_consumer_assignors):
        if isinstance(setting, PythonClass):
            assert plugins is not None
            assignor = _plugin_assignor(setting, plugins, image)
        else:
            assignor = SlicedOnTheLoop(BUILT_IN[setting](), work)
        if assignor.name in assignors:
            text = (
                f"{CONSUMER_ASSIGNORS}: {setting} calls itself {assignor.name}, as another one does"
            )
            raise ConfigError(CONSUMER_ASSIGNORS, text)
        assignors[assignor.name] = assignor
    return Assignors(list(assignors.values()))


def _plugin_assignor(
    setting: PythonClass, plugins: NodePlugins, image: Callable[[], MetadataImage]
) -> AsyncAssignor:
    """Return the assignor of a Python class."""
    from broker.groups.consumer.assignors.plugin_assignor import PluginAssignor

    assignor, calls = plugins.assignor(setting)
    return PluginAssignor(assignor, calls, plugins.compute, image)
