"""The assignors of consumer groups that a node has, by its configuration.

Owns how those built in and somebody's own classes come together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from broker.config.plugins import CONSUMER_ASSIGNORS, PythonClass, consumer_assignors
from broker.config.values import BrokerConfig
from broker.groups.consumer.assignors.assignors import (
    BUILT_IN,
    AskedAssignor,
    Assignors,
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
    """Those that `group.consumer.assignors` names. Raises ConfigError where a class cannot be
    loaded, or has the name of another."""
    made: dict[str, AskedAssignor] = {}
    for named in consumer_assignors(config.group_consumer_assignors):
        if isinstance(named, PythonClass):
            assert plugins is not None
            one = _own(named, plugins, image)
        else:
            one = SlicedOnTheLoop(BUILT_IN[named](), work)
        if one.name in made:
            text = f"{CONSUMER_ASSIGNORS}: {named} calls itself {one.name}, as another one does"
            raise ConfigError(CONSUMER_ASSIGNORS, text)
        made[one.name] = one
    return Assignors(list(made.values()))


def _own(
    named: PythonClass, plugins: NodePlugins, image: Callable[[], MetadataImage]
) -> AskedAssignor:
    from broker.groups.consumer.assignors.plugin_assignor import PluginAssignor

    assignor, calls = plugins.assignor(named)
    return PluginAssignor(assignor, calls, plugins.compute, image)
