"""The configs of groups, such as those of share groups (KIP-932, KIP-1191)."""

from __future__ import annotations

from collections.abc import Mapping

from controller.metadata.image import ResourceType
from ottla.testing.frames import Json
from protocol.errors import ErrorCode
from protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from testbed.operations.port import OperationWorld, check
from testbed.operations.topics import everywhere

DESCRIBE_CONFIGS_VERSION = 1
ALTER_CONFIGS_VERSION = 1
TIMEOUT_S = 10.0
_SET, _DELETE = 0, 1
_LETTER_TOPIC = "errors.deadletterqueue.topic.name"
_LETTERS_ALLOWED = "errors.deadletterqueue.group.enable"


async def configure(
    world: OperationWorld,
    group: str,
    configs: Mapping[str, str | None],
    timeout_s: float = TIMEOUT_S,
) -> None:
    """Set configs of a group (None: the default again), and return when every broker has them. The
    group need not exist. Raises OperationError if a config is rejected or the time is over."""
    settings = [
        AlterableConfig(key, _DELETE if value is None else _SET, value)
        for key, value in configs.items()
    ]
    resource = AlterConfigsResource(ResourceType.GROUP, group, settings)
    request = IncrementalAlterConfigsRequest([resource])
    answer = await world.ask(None, request, ALTER_CONFIGS_VERSION)
    for result in answer.responses:
        check(result.error_code, f"group {group} was not configured", result.error_message)

    async def lacking(node: int) -> str | None:
        """Return which config the node lacks, None if it has all."""
        current = await _configs(world, ResourceType.GROUP, group, node)
        for key, value in configs.items():
            if value is not None and current.get(key) != value:
                return f"node {node} says that {key} of group {group} is {current.get(key)}"
        return None

    await everywhere(world, lacking, timeout_s)


async def dead_letters(world: OperationWorld, group: str) -> dict[str, Json]:
    """Return the name of a share group's dead letter "topic", "" if it has none, and the "problem"
    because of which the brokers write no letters, null if there is none. Raises OperationError."""
    name = (await _configs(world, ResourceType.GROUP, group)).get(_LETTER_TOPIC) or ""
    problem = None if name else f"the group has no {_LETTER_TOPIC}"
    configs = await _configs(world, ResourceType.TOPIC, name) if name else {}
    if configs.get(_LETTERS_ALLOWED) == "false":
        problem = f"topic {name} has {_LETTERS_ALLOWED}=false"
    return {"topic": name, "problem": problem}


async def _configs(
    world: OperationWorld, kind: int, name: str, node: int | None = None
) -> dict[str, str | None]:
    """Return the configs of a group or topic at a node (None: any node), with defaults; none if
    there is no such topic. Raises OperationError."""
    request = DescribeConfigsRequest([DescribeConfigsResource(kind, name, None)])
    (result,) = (await world.ask(node, request, DESCRIBE_CONFIGS_VERSION)).results
    if result.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        return {}
    check(result.error_code, f"the configs of {name} are not shown", result.error_message)
    return {config.name: config.value for config in result.configs}
